import type { FastifyReply, FastifyRequest } from 'fastify'
import type { WrapInfo } from '../../core/wrapping/wrapper.ts'
import { refuse } from '../../errors.ts'
import { isJsonNumber, type JsonValue, numberText } from '../../lib/text/json.ts'
import type { MadeByCall } from '../exchange/audit-trail.ts'
import { type Call, callOf } from '../exchange/call.ts'
import { type Answer, type Reply, wrappedEnvelope } from '../exchange/envelope.ts'
import type { Outcome, Served } from '../exchange/exchange.ts'
import type { Host } from '../exchange/host.ts'
import { wrapFormatWarnings } from '../exchange/request-headers.ts'
import { type Payload, put } from '../steps/answer.ts'
import { madeBy, note, noteRaw } from '../steps/audited-reply.ts'
import { ConvertedFields } from '../steps/convert-fields.ts'

/**
 * Fastify's handler of one verb: calls the plugin's, and returns what it replies. An empty text is no body. Throws
 * refusals.
 */
export const handlerOf =
  (host: Host, { operation, handle, rules }: Served) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<Reply | Payload> => {
    const call = callOf(request.raw)
    call.converted = convertedOf(request)
    rules.checkUndeclared(call)
    const result = await insideMount(host, call, () => handle(rules.exchange(request, call)))
    if (result?.raw !== undefined) return rawAnswer(reply, call, result.raw)
    reply.header('content-type', 'application/json')
    if (result?.wrapInfo !== undefined) return wrappedText(request, result.wrapInfo, {})
    const isMissing = result?.status === 404
    const isList = operation === 'list' && !isMissing
    if (result === undefined && !isList) {
      if (operation === 'read') throw refuse('missing', '')
      return put(reply, { status: 204 })
    }
    if (result?.status === 202 && result.warnings === undefined) return put(reply, { status: 202 })
    const told = isMissing ? result : withWarnings(result, rules.warnings(call))
    const made = isList ? listed(told, call) : scanned(told, call, operation)
    if (made.status === 304) return notModified(reply, made)
    const telling = call.wrapTtl > 0 ? undefined : host.bannerFor(call)
    const banner = telling && (await telling)
    const shown = banner === undefined ? made : withWarnings(made, [banner])
    if (call.trail !== undefined) note(call.trail, shown, shown.warnings ?? [])
    if (call.wrapTtl > 0) call.wraps = isList ? {} : madeBy(shown)
    reply.code(shown.status ?? 200)
    if (shown.headers !== undefined && !isList) reply.headers(shown.headers)
    return shown
  }

const withWarnings = (reply: Reply = {}, more: readonly string[]): Reply =>
  more.length === 0 ? reply : { ...reply, warnings: [...(reply.warnings ?? []), ...more] }

/** The fields that Fastify has validated; none on paths that declare none. */
function convertedOf({ body, query }: FastifyRequest): ConvertedFields | undefined {
  if (body instanceof ConvertedFields) return body
  return query instanceof ConvertedFields ? query : undefined
}

/** A secret is sent with its lease, or not at all. docs/contract/leases.md#lifetime-and-renewal */
export async function insideMount(host: Host, call: Call, work: () => Outcome): Promise<Reply | undefined> {
  const leave = host.enter(call)
  try {
    const result = await work()
    if (result?.secret === undefined) return result
    // inside the mount: its removal waits for this lease and revokes it
    const { warnings, ...lease } = await host.lease(call, result.secret)
    return { ...result, lease, warnings: [...(result.warnings ?? []), ...warnings] }
  } finally {
    leave()
  }
}

function notModified(reply: FastifyReply, { headers }: Reply): Payload {
  reply.removeHeader('content-type')
  return put(reply, { status: 304, headers })
}

/**
 * An empty list without warnings is 404. Applies `after` and `limit`. docs/contract/http.md#verbs-and-paths
 */
function listed(result: Reply, call: Call): Reply {
  const data = result.paged === true ? (result.data ?? {}) : page(result.data ?? {}, call.sent)
  const keys = 'keys' in data ? data.keys : undefined
  const hasNone = !Array.isArray(keys) || keys.length === 0
  const hasWarnings = (result.warnings ?? []).length > 0
  if (call.wrapTtl > 0 && hasNone && !hasWarnings) throw refuse('missing', 'unsupported path')
  const empty = hasNone && Object.keys(data).every((key) => key === 'keys')
  if (empty && !hasWarnings) throw refuse('missing', '')
  return { ...result, data: empty ? {} : data }
}

const scanned = (result: Reply, call: Call, operation: Served['operation']): Reply =>
  operation === 'scan' && result.data && result.paged !== true
    ? { ...result, data: page(result.data, call.sent) }
    : result

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

/**
 * What is sent instead of a wrapped response. The audit log shows neither content nor lease of that one.
 * docs/contract/wrapping.md#wrapping
 */
export function wrappedText({ raw }: FastifyRequest, wrapInfo: WrapInfo, made: MadeByCall): string {
  const { trail } = callOf(raw)
  if (trail !== undefined) {
    trail.reply = { wrapInfo, ...(trail.reply.warnings && { warnings: trail.reply.warnings }) }
    trail.made = { ...made, wrappingAccessor: wrapInfo.accessor }
  }
  return wrappedEnvelope(wrapInfo, wrapFormatWarnings(raw))
}

/** A JSON document with status 200 or 404 is wrapped like any response; other raw responses cannot be. */
function rawAnswer(reply: FastifyReply, call: Call, raw: Answer): Payload {
  const { status, contentType, stream } = raw
  // whatever becomes of the answer, the stream ends with the request
  if (stream !== undefined) call.release = () => stream.stream.destroy()
  if (call.trail !== undefined) noteRaw(call.trail, call.path, raw)
  if (call.wrapTtl > 0 && (status === 200 || status === 404) && contentType === 'application/json')
    call.wraps = {}
  return put(reply, raw)
}
