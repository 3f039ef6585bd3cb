import type { Readable } from 'node:stream'
import type { LeasedSecret } from '../../core/leases/lease.ts'
import { fixedPaths } from '../../core/mounts/mount-path.ts'
import type { AuthBlock, IssuedToken } from '../../core/tokens/acts/auth-block.ts'
import type { WrapInfo } from '../../core/wrapping/wrapper.ts'
import { stringifyJson } from '../../lib/text/json.ts'
import type { Call } from './call.ts'

/** Whoever gets one destroys its stream or reads it to the end. */
export type StreamedBody = {
  /** Undefined for a body that goes on until the client or the server ends it. */
  readonly bytes?: number
  readonly stream: Readable
}

/** The response to a request. Header names are in lower case. */
export type Answer = {
  readonly status: number
  readonly contentType?: string
  /** In addition to the common headers, or instead of them. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | Buffer
  /** A body that is sent as it is read, instead of `body`. */
  readonly stream?: StreamedBody | undefined
}

/** What a handler returns; `undefined` means nothing. docs/contract/http.md#answers */
export type Reply = {
  data?: object | null
  /** `data` as JSON text, if it is already serialised. */
  dataText?: string
  warnings?: readonly string[]
  auth?: AuthBlock
  /** A revocable secret: it gets a lease before it is sent. */
  secret?: LeasedSecret
  /** The token of `auth`, for the audit log. */
  issued?: IssuedToken
  /** A created or renewed lease; `duration` in seconds. */
  lease?: ShownLease
  /** The accessor of the credential in `data`. If the response is wrapped, its caller sees it. */
  secretAccessor?: string
  /**
   * 202: the work continues in the background. 304: the client's copy is current, and only `headers` are
   * sent. 404: `data` says what is known of something that is gone; the warnings are the handler's own.
   */
  status?: 202 | 304 | 404
  /** Sent in addition to the common headers, or instead of them; not with a wrapped response. */
  headers?: Readonly<Record<string, string>>
  /** For a list: `after` and `limit` are already applied. */
  paged?: true
  /** The token that unwraps the response. */
  wrapInfo?: WrapInfo
  /** Sent as it is, without envelope. */
  raw?: Answer
}

/** The parts of a request that its response repeats. */
export type Answered = Pick<Call, 'requestId' | 'path' | 'namespaceInPath'> & {
  readonly mount: { readonly type: string } | undefined
}

/** What a response says about a lease. */
type ShownLease = { readonly id: string; readonly renewable: boolean; readonly duration: number }

const copied = new Set([
  'sys/audit',
  'sys/auth',
  'sys/config/cors',
  'sys/config/auditing/request-headers',
  'sys/capabilities',
  'sys/capabilities-accessor',
  'sys/capabilities-self',
  'sys/ha-status',
  'sys/key-status',
  'sys/mounts',
  'sys/policy',
  'sys/rekey/backup',
  'sys/rekey/recovery-key-backup',
  'sys/rotate/root/backup',
  'sys/rotate/recovery/backup',
  'sys/remount',
  'sys/rotate',
  'sys/rotate/keyring',
])
const copiedBelow = [
  'sys/audit/',
  'sys/audit-hash/',
  'sys/auth/',
  'sys/config/auditing/request-headers/',
  'sys/mounts/',
  'sys/policy/',
]

/** Whether this path repeats the keys of `data` at the top level. docs/contract/http.md#answers */
function copiesData(call: Answered): boolean {
  if (!call.path.startsWith(fixedPaths.system) || call.namespaceInPath) return false
  const path = call.path
  return copied.has(path) || copiedBelow.some((prefix) => path.startsWith(prefix))
}

/** The success body that all routes share, as text ending in a newline. Constant parts are literals. */
export function envelope(call: Answered, reply: Reply): string {
  const { data = null } = reply
  const text = reply.dataText ?? (data === null ? 'null' : stringifyJson(data))
  const copies = data !== null && copiesData(call) ? topLevelCopies(data) : ''
  return `{${copies}${headOf(call, reply)}${text}${tailOf(call, reply)}}\n`
}

const headOf = ({ requestId }: Answered, { lease }: Reply): string =>
  `"request_id":"${requestId}",${lease === undefined ? noLease : leaseText(lease)},"data":`

const tailOf = ({ mount }: Answered, { warnings = [], auth }: Reply): string =>
  `,"wrap_info":null,"warnings":${warnings.length === 0 ? 'null' : JSON.stringify(warnings)},"auth":${auth === undefined ? 'null' : JSON.stringify(auth)},"mount_type":"${mount?.type ?? ''}"`

const leaseText = ({ id, renewable, duration }: ShownLease): string =>
  `"lease_id":${JSON.stringify(id)},"renewable":${renewable},"lease_duration":${duration}`

const noLease = '"lease_id":"","renewable":false,"lease_duration":0'

/** The response that replaces a wrapped one. docs/contract/wrapping.md#wrapping */
export function wrappedEnvelope(info: WrapInfo, warnings: readonly string[]): string {
  const head = `"request_id":"",${noLease},"data":null`
  const told = warnings.length === 0 ? 'null' : JSON.stringify(warnings)
  return `{${head},"wrap_info":${JSON.stringify(info)},"warnings":${told},"auth":null,"mount_type":""}\n`
}

const ownKeys = new Set(
  [
    'request_id',
    'lease_id',
    'renewable',
    'lease_duration',
    'data',
    'wrap_info',
    'warnings',
    'auth',
    'mount_type',
  ].map((key) => key.toUpperCase()),
)

/**
 * The keys of `data` except those that equal one of the envelope's in any case, because Go's clients take
 * `Auth` for `auth`.
 */
function topLevelCopies(data: object): string {
  const text = stringifyJson(
    Object.fromEntries(Object.entries(data).filter(([key]) => !ownKeys.has(key.toUpperCase()))),
  ).slice(1, -1)
  return text === '' ? '' : `${text},`
}
