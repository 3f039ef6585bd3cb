import { validateHeaderName, validateHeaderValue } from 'node:http'
import { join, parse } from 'node:path'
import { refuse } from '../../errors.ts'
import { isLoopbackHost } from '../../lib/net/address.ts'
import { parsedJson } from '../../lib/text/json.ts'
import { isInDirectories } from './file-sink.ts'
import type { SinkTarget } from './sink.ts'

export type DeviceLimits = {
  readonly directories: readonly string[]
  /** The `host:port` of HTTP devices. */
  readonly hosts: readonly string[]
  /** The number of this process, if it is one of several of this server. */
  readonly worker?: number | undefined
}

const executable = 0o111
const permissions = 0o777
/** Only the server may change what it has recorded. */
const writableByOthers = 0o022
const maxHeaders = 50
/** Set by the device itself, or a way to change what a request is. */
const ownHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Where a device of this type writes. Throws `invalid`. docs/contract/audit.md#devices */
export function sinkTarget(
  type: string,
  options: Readonly<Record<string, string>>,
  limits: DeviceLimits,
): SinkTarget {
  if (type === 'file') return fileTarget(options, limits)
  if (type === 'http') return httpTarget(options, limits)
  throw refuse('invalid', `unknown backend type: "${type}"`)
}

/**
 * The rules for the options of a device that is to be enabled, beside those of `sinkTarget`: a device of an earlier
 * version may break them. Throws `invalid`. docs/contract/audit.md#enabling-a-device
 */
export function checkNewTarget(
  type: string,
  { file_path, path = file_path, mode }: Readonly<Record<string, string>>,
) {
  if (type !== 'file') return
  if (/\p{Cc}/u.test(path ?? '')) throw refuse('invalid', 'file_path contains a control character')
  if ((octal(mode) & writableByOthers) !== 0)
    throw refuse('invalid', 'mode lets the group or others write to the file')
}

function fileTarget(
  { file_path, path = file_path, mode }: Readonly<Record<string, string>>,
  { directories, worker }: DeviceLimits,
): SinkTarget {
  if (path === undefined || path === '') throw refuse('invalid', 'file_path is required')
  if (path === 'stdout' && worker !== undefined)
    throw refuse('invalid', 'stdout cannot be shared by several processes (GATEHOUSE_WORKERS)')
  if (path === 'stdout' || path === 'discard') return { kind: path }
  if (!isInDirectories(path, directories)) throw refuse('invalid', 'file_path is not in an allowed directory')
  return { kind: 'file', path: fileOf(path, worker), mode: modeOf(mode), directories }
}

/** Each process writes a file of its own: `audit.log` is `audit-2.log` in the second one. */
function fileOf(path: string, worker: number | undefined): string {
  if (worker === undefined) return path
  const { dir, name, ext } = parse(path)
  return join(dir, `${name}-${worker}${ext}`)
}

const modeOf = (text: string | undefined): number =>
  octal(text) & permissions & ~executable & ~writableByOthers

function octal(text = '0600'): number {
  if (!/^[0-7]{1,5}$/.test(text)) throw refuse('invalid', 'mode is not an octal number')
  return Number.parseInt(text, 8)
}

function httpTarget({ uri, headers }: Readonly<Record<string, string>>, { hosts }: DeviceLimits): SinkTarget {
  const url = uri === undefined ? null : URL.parse(uri)
  if (url === null) throw refuse('invalid', 'uri is not a URL')
  const isPlain = url.protocol === 'http:'
  if (!isPlain && url.protocol !== 'https:') throw refuse('invalid', 'uri must begin with https://')
  if (isPlain && !isLoopbackHost(bareHost(url)))
    throw refuse('invalid', 'uri must begin with https:// unless its host is a loopback address')
  if (url.username !== '' || url.password !== '') throw refuse('invalid', 'uri must not contain a password')
  const port = url.port === '' ? (isPlain ? '80' : '443') : url.port
  if (!hosts.includes(`${url.hostname}:${port}`)) throw refuse('invalid', 'uri is not an allowed host')
  return { kind: 'http', uri: url.href, headers: headersOf(headers) }
}

/** Without the brackets of an IPv6 address. */
const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

function headersOf(text: string | undefined): Record<string, string> {
  const found = text === undefined || text === '' ? {} : parsedObject(text)
  const entries = Object.entries(found)
  if (entries.length > maxHeaders) throw refuse('invalid', `headers has more than ${maxHeaders} entries`)
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), headerValue(name, value)]))
}

function parsedObject(text: string): object {
  const found = parsedJson(text)
  if (typeof found === 'object' && found !== null && !Array.isArray(found)) return found
  throw refuse('invalid', 'headers is not a JSON object')
}

function headerValue(name: string, value: unknown): string {
  try {
    if (typeof value !== 'string' || ownHeaders.has(name.toLowerCase())) throw new TypeError(name)
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return value
  } catch (cause) {
    throw refuse('invalid', 'headers has a name or value that is not allowed', { cause })
  }
}
