import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { ProtectiveHeader } from '../../core/settings/ui-headers.ts'
import { namesTag } from '../../lib/net/entity-tag.ts'
import type { Answer } from '../exchange/envelope.ts'
import type { UsedField } from '../exchange/request-headers.ts'
import { withQuery } from '../exchange/with-query.ts'

/** What release/ui.ts has built, and its list. */
const builtFolder = new URL('../../../dist/ui/', import.meta.url)
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
  header(name: UsedField): string | undefined
  /** Headers that operators have set, names in lower case: in addition to those of the UI, or instead of them. */
  readonly added: Readonly<Record<string, string>>
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

const pageHeaders: Record<ProtectiveHeader, string> = {
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

/** One build in memory, so that its page and its files stay together while another one replaces them on disk. */
type Build = {
  readonly files: FileList
  /** By the names of the files on disk. */
  readonly contents: ReadonlyMap<string, Buffer>
  /** What its list says, in which each file has its hash: another build has another one. */
  readonly list: string
}

/**
 * The web UI: the files of a folder that the build has made. It needs neither storage nor key. The first request reads
 * them all; another build counts once it is complete. docs/ui.md
 */
export class WebUi {
  readonly #folder: URL
  /** The latest build, and the one before it for pages that are open. */
  #builds: readonly Build[] = []
  #reading: Promise<void> | undefined

  constructor(folder = builtFolder) {
    this.#folder = folder
  }

  /** Serves `/ui` and everything below it. */
  async answer(request: UiRequest): Promise<Answer> {
    const answer = await this.#answer(request)
    return { ...answer, headers: { ...answer.headers, ...request.added } }
  }

  async #answer(request: UiRequest): Promise<Answer> {
    if (request.verb !== 'GET' && request.verb !== 'HEAD') return errors(405)
    const below = request.path.replace(/^\/?ui/, '')
    if (below === '') return { status: 307, headers: { location: withQuery('/ui/', request.query) } }
    const name = below.slice(1)
    // a provider sends people back below ui/vault/, where Vault's UI has its views
    if (name === '' || name === 'vault' || name.startsWith('vault/')) {
      await this.#refresh()
      const [latest] = this.#builds
      return latest === undefined ? notBuilt : page(latest, name, request)
    }
    return name === pageName ? errors(404) : await this.#file(name, request)
  }

  /** Another worker process may have served the page of a build that this one has not read. */
  async #file(name: string, request: UiRequest): Promise<Answer> {
    let build = this.#buildWith(name)
    if (build === undefined) {
      await this.#refresh()
      build = this.#buildWith(name)
    }
    const file = build?.files[name]
    if (build === undefined || file === undefined) return this.#builds.length === 0 ? notBuilt : errors(404)
    const encoding = chosenEncoding(request.header('accept-encoding'), file.encodings)
    const headers = {
      ...pageHeaders,
      'cache-control': 'public, max-age=31536000, immutable',
      ...encodedAs(encoding),
    }
    return { status: 200, contentType: file.type, headers, body: contentOf(build, name, encoding) }
  }

  #buildWith(name: string): Build | undefined {
    return this.#builds.find(({ files }) => Object.hasOwn(files, name))
  }

  /** Reads the build on disk unless it is known. Never rejects: one that is incomplete does not count. */
  #refresh(): Promise<void> {
    this.#reading ??= this.#read()
      .catch(() => {})
      .finally(() => {
        this.#reading = undefined
      })
    return this.#reading
  }

  async #read(): Promise<void> {
    const list = await listIn(this.#folder)
    if (this.#builds[0]?.list === list) return
    const fresh = await readBuild(this.#folder, list)
    // otherwise it was replaced meanwhile
    if ((await listIn(this.#folder)) === list) this.#builds = [fresh, ...this.#builds.slice(0, 1)]
  }
}

const notBuilt = errors(404, 'the web UI is not built: run npm run build')

// inode and times would not do: in the executable, Node makes up new ones at each look
const listIn = (folder: URL): Promise<string> => readFile(new URL(listName, folder), 'utf8')

async function readBuild(folder: URL, list: string): Promise<Build> {
  // only release/ui.ts writes it
  const files = JSON.parse(list) as FileList
  const names = Object.entries(files).flatMap(([name, { encodings }]) => [
    name,
    ...encodings.map((encoding) => name + suffixes[encoding]),
  ])
  const read = async (name: string) => [name, await readFile(new URL(name, folder))] as const
  return { files, contents: new Map(await Promise.all(names.map(read))), list }
}

/** More than the views of a path of a secret have; each makes the page longer. */
const mostDepth = 32

/** The page names its files relative to itself, so that it works below any prefix of a proxy. */
function page(build: Build, name: string, request: UiRequest): Answer {
  const depth = name.split('/').length - 1
  if (depth > mostDepth) return errors(404)
  const { hash = '', encodings = [] } = build.files[pageName] ?? {}
  // it is compressed as it was built
  const encoding = depth === 0 ? chosenEncoding(request.header('accept-encoding'), encodings) : undefined
  // a browser that gets 304 keeps some headers that it has, such as the Content-Security-Policy
  const tag = createHash('sha256')
    .update(JSON.stringify([hash, depth, encoding, request.added]))
    .digest('base64url')
    .slice(0, 22)
  const headers = { ...pageHeaders, 'cache-control': 'no-cache', etag: `"${tag}"`, ...encodedAs(encoding) }
  if (namesTag(request.header('if-none-match'), headers.etag)) return { status: 304, headers }
  const built = contentOf(build, pageName, encoding)
  const body = depth === 0 ? built : built.toString('utf8').replaceAll('="./', `="${'../'.repeat(depth)}`)
  return { status: 200, contentType: 'text/html; charset=utf-8', headers, body }
}

function contentOf({ contents }: Build, name: string, encoding: Encoding | undefined): Buffer {
  const content = contents.get(encoding === undefined ? name : name + suffixes[encoding])
  if (content === undefined) throw new Error(`the web UI lacks ${name}`)
  return content
}

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
