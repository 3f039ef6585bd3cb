import { createHash, randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'vite'
import { isCurrent, sourcesFile, stateOf } from './sources.ts'
import { uiFolder, uiSources } from './ui-sources.ts'

const root = join(import.meta.dirname, '..')

const typeOf: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const toGzip = promisify(gzip)
const toBrotli = promisify(brotliCompress)

/** One of the built files, and its path below `/ui/`. */
type BuiltFile = { readonly name: string; readonly content: Buffer }

/**
 * Builds the web UI into `dist/ui`, with what src/http/document/web-ui.ts needs to serve it: a compressed form of each file
 * and a list. Does nothing if its sources are unchanged.
 */
export async function buildUi(): Promise<void> {
  const sources = uiSources()
  if (isCurrent(uiFolder, sources)) return
  const startedAt = Date.now()
  const made = await build({
    configFile: join(root, 'ui/vite.config.ts'),
    logLevel: 'error',
    build: { write: false },
  })
  if (!Array.isArray(made) && !('output' in made)) throw new Error('the build of the UI only watches')
  const files = [made]
    .flat()
    .flatMap(({ output }) =>
      output.map((file) => ({
        name: file.fileName,
        content: Buffer.from(file.type === 'chunk' ? file.code : file.source),
      })),
    )
  const fresh = `${uiFolder}.${randomUUID()}`
  const list = await Promise.all(files.map((file) => writeFiles(fresh, file)))
  await writeFile(join(fresh, 'files.json'), JSON.stringify(Object.fromEntries(list)))
  await writeFile(
    join(fresh, sourcesFile),
    JSON.stringify(stateOf(sources, Object.values(sources), startedAt)),
  )
  await rm(uiFolder, { recursive: true, force: true })
  await rename(fresh, uiFolder)
}

async function writeFiles(folder: string, { name, content }: BuiltFile) {
  const path = join(folder, name)
  await mkdir(dirname(path), { recursive: true })
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11 }
  const forms = { br: await toBrotli(content, { params }), gzip: await toGzip(content, { level: 9 }) }
  await Promise.all([
    writeFile(path, content),
    writeFile(`${path}.br`, forms.br),
    writeFile(`${path}.gz`, forms.gzip),
  ])
  const type = typeOf[extname(name)]
  if (type === undefined) throw new Error(`the UI has a file of an unknown type: ${name}`)
  const hash = createHash('sha256').update(content).digest('hex')
  return [name, { type, encodings: ['br', 'gzip'], hash }] as const
}
