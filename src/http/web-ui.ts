import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { namesTag } from '../lib/entity-tag.ts'
import type { Answer } from './exchange.ts'
import { withQuery } from './with-query.ts'

/** What release/ui.ts has built, and its list. */
const folder = new URL('../../dist/ui/', import.meta.url)
const listName = 'files.json'
const pageName = 'index.html'

/** The built files by their paths below `/ui/`, with the encodings that each exists in beside the plain one. */
type FileList = Readonly<
  Record<string, { readonly type: string; readonly encodings: readonly Encoding[]; readonly hash: string }>
>

type Encoding = 'br' | 'gzip'
const suffixes = { br: '.br', gzip: '.gz' } as const

export type UiRequest = {
  readonly verb: string
  /** The path of the request, without a query. */
  readonly path: string
  /** Without its question mark. */
  readonly query: string
  header(name: string): string | undefined
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** Everything a page could ask for; none of it is granted. */
const powers = [
  ...['accelerometer', 'autoplay', 'camera', 'display-capture', 'encrypted-media', 'fullscreen'],
  ...['gamepad', 'geolocation', 'gyroscope', 'hid', 'identity-credentials-get', 'idle-detection'],
  ...['magnetometer', 'microphone', 'midi', 'otp-credentials', 'payment', 'picture-in-picture'],
  ...['publickey-credentials-create', 'publickey-credentials-get', 'screen-wake-lock', 'serial'],
  ...['storage-access', 'usb', 'window-management', 'xr-spatial-tracking'],
]

const pageHeaders = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': powers.map((name) => `${name}=()`).join(', '),
}

const errors = (status: number, text?: string): Answer => ({
  status,
  contentType: 'application/json',
  body: `${JSON.stringify({ errors: text === undefined ? [] : [text] })}\n`,
})

/**
 * The web UI: the files of a folder that the build has made. It needs neither storage nor key, and reads a file
 * when it is requested. docs/ui.md
 */
export class WebUi {
  #files: Promise<FileList> | undefined

  /** Serves `/ui` and everything below it. */
  async answer(request: UiRequest): Promise<Answer> {
    if (request.verb !== 'GET' && request.verb !== 'HEAD') return errors(405)
    const below = request.path.replace(/^\/?ui/, '')
    if (below === '') return { status: 307, headers: { location: withQuery('/ui/', request.query) } }
    const files = await this.#list()
    if (files === undefined) return errors(404, 'the web UI is not built: run npm run build')
    const name = below.slice(1)
    // a provider sends people back below ui/vault/, where Vault's UI has its views
    if (name === '' || name === 'vault' || name.startsWith('vault/')) return page(files, name, request)
    const file = Object.hasOwn(files, name) ? files[name] : undefined
    if (file === undefined || name === pageName) return errors(404)
    const encoding = chosenEncoding(request.header('accept-encoding'), file.encodings)
    const headers = {
      ...pageHeaders,
      'cache-control': 'public, max-age=31536000, immutable',
      ...encodedAs(encoding),
    }
    return { status: 200, contentType: file.type, headers, body: await readBuilt(name, encoding) }
  }

  /** Undefined if there is none. */
  async #list(): Promise<FileList | undefined> {
    // only release/ui.ts writes it
    this.#files ??= readFile(new URL(listName, folder), 'utf8').then((text) => JSON.parse(text) as FileList)
    try {
      return await this.#files
    } catch {
      this.#files = undefined
      return undefined
    }
  }
}

/** The page names its files relative to itself, so that it works below any prefix of a proxy. */
async function page(files: FileList, name: string, request: UiRequest): Promise<Answer> {
  const depth = name.split('/').length - 1
  const { hash = '', encodings = [] } = files[pageName] ?? {}
  // it is compressed as it was built
  const encoding = depth === 0 ? chosenEncoding(request.header('accept-encoding'), encodings) : undefined
  const tag = createHash('sha256').update(`${hash} ${depth} ${encoding}`).digest('base64url').slice(0, 22)
  const headers = {
    ...pageHeaders,
    'cache-control': 'no-cache',
    etag: `"${tag}"`,
    ...encodedAs(encoding),
  }
  if (namesTag(request.header('if-none-match'), headers.etag)) return { status: 304, headers }
  const built = await readBuilt(pageName, encoding)
  const body = depth === 0 ? built : built.toString('utf8').replaceAll('="./', `="${'../'.repeat(depth)}`)
  return { status: 200, contentType: 'text/html; charset=utf-8', headers, body }
}

const readBuilt = (name: string, encoding: Encoding | undefined): Promise<Buffer> =>
  readFile(new URL(encoding === undefined ? name : name + suffixes[encoding], folder))

const encodedAs = (encoding: Encoding | undefined) => ({
  vary: 'Accept-Encoding',
  ...(encoding !== undefined && { 'content-encoding': encoding }),
})

/** The best encoding that the client accepts. RFC 9110 §12.5.3 */
function chosenEncoding(accepted = '', offered: readonly Encoding[]): Encoding | undefined {
  const weights = new Map(
    accepted.split(',').map((part) => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
      return [name, Number(parameters.find((text) => text.startsWith('q='))?.slice(2) ?? 1)]
    }),
  )
  return offered.find((name) => (weights.get(name) ?? weights.get('*') ?? 0) > 0)
}
