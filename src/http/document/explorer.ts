import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { explorerUrl } from '../exchange/mount-router.ts'
import type { Answer, NodeExchange, NodeRoute } from '../resource/node-resource.ts'

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const types = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  png: 'image/png',
}

/** What the page loads from the package of Swagger UI. */
const packaged = new Map<string, keyof typeof types>([
  ['swagger-ui.css', 'css'],
  ['index.css', 'css'],
  ['favicon-32x32.png', 'png'],
  ['swagger-ui-bundle.js', 'js'],
  ['swagger-ui-standalone-preset.js', 'js'],
])

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Gatehouse API</title>
<link rel="icon" href="/docs/static/favicon-32x32.png">
<link rel="stylesheet" href="/docs/static/swagger-ui.css">
<link rel="stylesheet" href="/docs/static/index.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/static/swagger-ui-bundle.js"></script>
<script src="/docs/static/swagger-ui-standalone-preset.js"></script>
<script src="/docs/static/swagger-initializer.js"></script>
</body>
</html>
`

const initializer = `SwaggerUIBundle({
  url: '/docs/json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  docExpansion: 'none',
  persistAuthorization: false,
  validatorUrl: null,
  layout: 'StandaloneLayout',
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  plugins: [SwaggerUIBundle.plugins.DownloadUrl],
})
`

/**
 * `/docs`: a page that shows the API document and can send requests. Everything it needs comes from this server. Each file
 * is read once, so that requests that wait for their clients share it.
 */
export function explorerResource(
  { httpErrors }: Pick<FastifyInstance, 'httpErrors'>,
  document: () => Promise<object>,
): NodeRoute {
  const answers = new Map<string, Promise<Answer>>()
  const handle = async ({ call: { verb, path } }: NodeExchange): Promise<Answer> => {
    if (verb !== 'GET' && verb !== 'HEAD') throw httpErrors.methodNotAllowed()
    const known = answers.get(path)
    if (known !== undefined) return known
    const answer = fileAt(path, document)
    if (answer === undefined) throw httpErrors.notFound()
    answers.set(path, answer)
    // after a failure, the next request tries again
    answer.catch(() => answers.delete(path))
    return answer
  }
  return { url: explorerUrl, handle }
}

function fileAt(path: string, document: () => Promise<object>): Promise<Answer> | undefined {
  if (path === 'docs' || path === 'docs/') return answerOf('html', Promise.resolve(page))
  if (path === 'docs/json') return answerOf('json', document().then(JSON.stringify))
  if (path === 'docs/static/swagger-initializer.js') return answerOf('js', Promise.resolve(initializer))
  const name = path.replace(/^docs\/static\//, '')
  const type = name === path ? undefined : packaged.get(name)
  return type && answerOf(type, readPackaged(name))
}

const answerOf = async (type: keyof typeof types, content: Promise<string | Buffer>): Promise<Answer> => ({
  status: 200,
  contentType: types[type],
  headers: { 'content-security-policy': policy, 'x-content-type-options': 'nosniff' },
  body: Buffer.from(await content),
})

const require = createRequire(import.meta.url)

const readPackaged = (name: string): Promise<Buffer> =>
  readFile(join(require.resolve('@fastify/swagger-ui'), '../static', name))
