import type { LeasedSecret } from '../core/leases/lease.ts'
import type { IssuedLease } from '../core/leases/lease-store.ts'
import type { WrapInfo, WrappedResponse } from '../core/wrapping/wrapper.ts'
import { refuse } from '../errors.ts'
import { FieldError } from '../lib/fields.ts'
import { isJsonNumber, type JsonValue, numberText } from '../lib/json.ts'
import type { LongText } from '../lib/long-text.ts'
import { type Call, type Converted, callOf } from './call.ts'
import type { MadeByCall } from './audit-trail.ts'
import { madeBy, note, noteRaw } from './audited-reply.ts'
import { envelope, longEnvelope, type Reply, wrappedEnvelope } from './envelope.ts'
import type { Answer, RoutedRequest, Served } from './exchange.ts'

/** What a request needs around its handler. */
export type Host = {
  /** Counts a request as inside its mount until the returned function is called. */
  enter(call: Call): () => void
  /**
   * Gives a secret a lease that ends with the caller's token. If that fails, revokes the secret and throws.
   */
  lease(call: Call, secret: LeasedSecret): Promise<IssuedLease>
  /** Stores a response behind a wrapping token. If that fails, revokes what the call has created. */
  wrap(call: Call, response: WrappedResponse, made: MadeByCall): Promise<WrapInfo>
  /** Revokes a new token or secret that its caller will not receive. */
  takeBack(call: Call, made: MadeByCall): Promise<void>
}

/** Produces the response to an admitted request: fields, handler, envelope. Throws refusals. */
export async function answerRequest(
  host: Host,
  request: RoutedRequest,
  { operation, handle, rules }: Served,
): Promise<Answer> {
  const call = callOf(request.raw)
  if (call.converted === undefined) {
    try {
      call.converted = rules.convert(call)
    } catch (error) {
      throw error instanceof FieldError ? refuse('invalid', `Field validation failed: ${error.text}`) : error
    }
  }
  const leave = host.enter(call)
  let result: Reply | undefined
  try {
    result = await handle(rules.exchange(request))
    // inside the mount: its removal waits for this lease and revokes it
    if (result?.secret !== undefined) result = await withLease(host, call, result, result.secret)
  } finally {
    leave()
  }
  if (result?.raw !== undefined) return rawAnswer(host, call, result.raw)
  if (result?.wrapInfo !== undefined) return wrappedAnswer(call, result.wrapInfo, {})
  const own = warningsOf(call.converted)
  const isMissing = result?.status === 404
  const warnings = isMissing ? (result?.warnings ?? []) : [...(result?.warnings ?? []), ...own]
  if (operation === 'list' && !isMissing) return listAnswer(host, call, result, warnings)
  if (operation === 'scan' && result?.data && result.paged !== true)
    result = { ...result, data: page(result.data, call.sent) }
  if (result !== undefined && result.status !== 304 && call.trail !== undefined)
    note(call.trail, result, warnings)
  if (result === undefined) {
    if (operation === 'read') throw refuse('missing', '')
    return { status: 204, contentType: 'application/json' }
  }
  if (result.status === 202 && result.warnings === undefined)
    return { status: 202, contentType: 'application/json' }
  if (result.status === 304) return { status: 304, headers: result.headers }
  const body = bodyOf(call, { ...result, warnings })
  if (call.wrapTtl > 0)
    return wrapped(host, call, { body: String(body), status: isMissing ? 404 : 200 }, madeBy(result))
  return { status: result.status ?? 200, contentType: 'application/json', headers: result.headers, body }
}

const bodyOf = (call: Call, reply: Reply): string | LongText =>
  reply.longData === undefined ? envelope(call, reply) : longEnvelope(call, reply, reply.longData)

/** A secret is sent with its lease, or not at all. docs/contract/leases.md#lifetime-and-renewal */
async function withLease(
  host: Host,
  call: Call,
  reply: Reply,
  secret: NonNullable<Reply['secret']>,
): Promise<Reply> {
  const { warnings, ...lease } = await host.lease(call, secret)
  return { ...reply, lease, warnings: [...(reply.warnings ?? []), ...warnings] }
}

function warningsOf({ unknown, replaced }: Converted): string[] {
  const warnings: string[] = []
  if (unknown.length > 0)
    warnings.push(`Endpoint ignored these unrecognized parameters: [${unknown.join(' ')}]`)
  if (replaced.length > 0) {
    warnings.push(
      `Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [${replaced.toSorted().join(' ')}]`,
    )
  }
  return warnings
}

/**
 * An empty list without warnings is 404. Applies `after` and `limit`. docs/contract/http.md#verbs-and-paths
 */
async function listAnswer(
  host: Host,
  call: Call,
  result: Reply | undefined,
  warnings: readonly string[],
): Promise<Answer> {
  if (result?.longData !== undefined) return longListAnswer(host, call, { ...result, warnings })
  const data = result?.paged === true ? (result.data ?? {}) : page(result?.data ?? {}, call.sent)
  const keys = 'keys' in data ? data.keys : undefined
  const hasNone = !Array.isArray(keys) || keys.length === 0
  if (call.wrapTtl > 0 && hasNone && warnings.length === 0) throw refuse('missing', 'unsupported path')
  const empty = hasNone && Object.keys(data).every((key) => key === 'keys')
  if (empty && warnings.length === 0) throw refuse('missing', '')
  if (call.trail !== undefined) note(call.trail, { ...result, data }, warnings)
  const body = envelope(call, { ...result, data: empty ? {} : data, warnings })
  return call.wrapTtl > 0 ? wrapped(host, call, { body, status: 200 }) : json(body)
}

async function longListAnswer(host: Host, call: Call, reply: Reply): Promise<Answer> {
  if (call.trail !== undefined) note(call.trail, reply, reply.warnings ?? [])
  const body = bodyOf(call, reply)
  return call.wrapTtl > 0 ? wrapped(host, call, { body: String(body), status: 200 }) : json(body)
}

function page(data: object, sent: Readonly<Record<string, JsonValue>>): object {
  if (
    !('keys' in data) ||
    !Array.isArray(data.keys) ||
    (sent['after'] === undefined && sent['limit'] === undefined)
  )
    return data
  const after = typeof sent['after'] === 'string' ? sent['after'] : ''
  const limit = limitOf(sent['limit'])
  const rest = after === '' ? data.keys : behind(data.keys, after)
  const keys: unknown[] = limit > 0 ? rest.slice(0, limit) : rest
  if (!('key_info' in data) || typeof data.key_info !== 'object' || data.key_info === null)
    return { ...data, keys }
  const shown = new Set(keys)
  return {
    ...data,
    keys,
    key_info: Object.fromEntries(Object.entries(data.key_info).filter(([key]) => shown.has(key))),
  }
}

/** The names after `after` in list order; if `after` is not in the list, the names greater than it. */
function behind(keys: readonly unknown[], after: string): unknown[] {
  const at = keys.indexOf(after)
  return at >= 0 ? keys.slice(at + 1) : keys.filter((key) => typeof key === 'string' && key > after)
}

/** `limit` of a list; 0 for all. */
export function limitOf(sent: JsonValue | undefined): number {
  if (sent === undefined || sent === 'max' || sent === '' || sent === null) return 0
  const text = isJsonNumber(sent) ? numberText(sent) : sent
  if (typeof text !== 'string' || !/^[+-]?\d{1,15}$/.test(text)) {
    throw refuse(
      'invalid',
      `Field validation failed: error converting input for field "limit": '' cannot parse value as 'int': strconv.ParseInt: invalid syntax`,
    )
  }
  return Number(text)
}

const json = (body: string | LongText): Answer => ({ status: 200, contentType: 'application/json', body })

/** Stores the response and returns a wrapping token for it. docs/contract/wrapping.md#wrapping */
async function wrapped(
  host: Host,
  call: Call,
  response: WrappedResponse,
  made: MadeByCall = {},
): Promise<Answer> {
  return wrappedAnswer(call, await host.wrap(call, response, made), made)
}

/** The audit log shows neither content nor lease of a wrapped response. */
function wrappedAnswer(call: Call, wrapInfo: WrapInfo, made: MadeByCall): Answer {
  const { trail } = call
  if (trail !== undefined) {
    trail.reply = { wrapInfo, ...(trail.reply.warnings && { warnings: trail.reply.warnings }) }
    trail.made = { ...made, wrappingAccessor: wrapInfo.accessor }
  }
  return json(wrappedEnvelope(wrapInfo))
}

/** Wraps a JSON document with status 200 or 404 like any response; other raw responses cannot be wrapped. */
async function rawAnswer(
  host: Host,
  call: Call,
  { status, contentType, body, cacheControl, headers, stream }: NonNullable<Reply['raw']>,
): Promise<Answer> {
  // whatever becomes of the answer, the stream ends with the request
  if (stream !== undefined) call.release = () => stream.stream.destroy()
  if (call.trail !== undefined) noteRaw(call.trail, call.path, { status, contentType, body })
  if (call.wrapTtl > 0 && (status === 200 || status === 404) && contentType === 'application/json')
    return wrapped(host, call, { body: String(body), status })
  return {
    status,
    contentType,
    headers: cacheControl === undefined ? headers : { ...headers, 'cache-control': cacheControl },
    ...(stream === undefined ? { body } : { stream }),
  }
}
