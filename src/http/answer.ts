import type { FastifyInstance } from 'fastify'
import { refuse } from '../errors.ts'
import { FieldError } from '../lib/fields.ts'
import { isJsonNumber, type JsonValue, numberText } from '../lib/json.ts'
import { type Call, type Converted, callOf } from './call.ts'
import { envelope, type MadeByCall, type Reply, wrappedEnvelope } from './envelope.ts'
import type { Answer, RoutedRequest, Served } from './exchange.ts'

/** What the house does around a handler. */
export type House = Pick<FastifyInstance, 'enterMount' | 'leaseSecret' | 'wrapAnswer' | 'holdAnswer'>

/** From an admitted request to its answer: fields, handler, envelope. Throws what it is refused with. */
export async function answerRequest(house: House, request: RoutedRequest, { operation, handle, rules }: Served): Promise<Answer> {
  const call = callOf(request.raw)
  if (call.converted === undefined) {
    try {
      call.converted = rules.convert(call)
    } catch (error) {
      throw error instanceof FieldError ? refuse('invalid', `Field validation failed: ${error.text}`) : error
    }
  }
  const leave = house.enterMount(call)
  let result: Reply | undefined
  try {
    result = await handle(rules.exchange(request))
    // inside the mount: whoever removes it waits for the lease and ends it
    if (result?.secret !== undefined) result = await withLease(house, call, result, result.secret)
  } finally {
    leave()
  }
  if (result?.raw !== undefined) return rawAnswer(house, call, result.raw)
  if (result?.wrapInfo !== undefined) return json(wrappedEnvelope(result.wrapInfo))
  const own = warningsOf(call.converted)
  const warnings = result?.warnings === undefined ? own : [...result.warnings, ...own]
  if (operation === 'list') return listAnswer(house, call, result, warnings)
  if (operation === 'scan' && result?.data) result = { ...result, data: page(result.data, call.sent) }
  if (result === undefined) {
    if (operation === 'read') throw refuse('missing', '')
    return { status: 204, contentType: 'application/json' }
  }
  if (result.status === 202 && result.warnings === undefined) return { status: 202, contentType: 'application/json' }
  if (result.status === 304) return { status: 304, headers: result.headers }
  const body = envelope(call, { ...result, warnings })
  house.holdAnswer(call, body)
  if (call.wrapTtl > 0) return wrapped(house, call, body, { accessor: result.auth?.accessor, leaseId: result.secret && result.lease?.id })
  return { status: result.status ?? 200, contentType: 'application/json', headers: result.headers, body }
}

/** docs/contract/leases.md#lifetime-and-renewal: a secret goes out with the lease it was given, or not at all. */
async function withLease(house: House, call: Call, reply: Reply, secret: NonNullable<Reply['secret']>): Promise<Reply> {
  const { warnings, ...lease } = await house.leaseSecret(call, secret)
  return { ...reply, lease, warnings: [...(reply.warnings ?? []), ...warnings] }
}

function warningsOf({ unknown, replaced }: Converted): string[] {
  const warnings: string[] = []
  if (unknown.length > 0) warnings.push(`Endpoint ignored these unrecognized parameters: [${unknown.join(' ')}]`)
  if (replaced.length > 0) {
    warnings.push(
      `Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [${replaced.toSorted().join(' ')}]`,
    )
  }
  return warnings
}

/** docs/contract/http.md#verbs-and-paths: a list of nothing is 404, unless there is something to say; `after` and `limit` cut it. */
async function listAnswer(house: House, call: Call, result: Reply | undefined, warnings: string[]): Promise<Answer> {
  const data = result?.paged === true ? (result.data ?? {}) : page(result?.data ?? {}, call.sent)
  const keys = 'keys' in data ? data.keys : undefined
  if (call.wrapTtl > 0 && (!Array.isArray(keys) || keys.length === 0)) throw refuse('missing', 'unsupported path')
  const empty = (!Array.isArray(keys) || keys.length === 0) && Object.keys(data).every((key) => key === 'keys')
  if (empty && warnings.length === 0) throw refuse('missing', '')
  const body = envelope(call, { ...result, data: empty ? {} : data, warnings })
  house.holdAnswer(call, body)
  return call.wrapTtl > 0 ? wrapped(house, call, body) : json(body)
}

function page(data: object, sent: Readonly<Record<string, JsonValue>>): object {
  if (!('keys' in data) || !Array.isArray(data.keys) || (sent['after'] === undefined && sent['limit'] === undefined)) return data
  const after = typeof sent['after'] === 'string' ? sent['after'] : ''
  const limit = limitOf(sent['limit'])
  const rest = after === '' ? data.keys : behind(data.keys, after)
  const keys: unknown[] = limit > 0 ? rest.slice(0, limit) : rest
  if (!('key_info' in data) || typeof data.key_info !== 'object' || data.key_info === null) return { ...data, keys }
  const shown = new Set(keys)
  return { ...data, keys, key_info: Object.fromEntries(Object.entries(data.key_info).filter(([key]) => shown.has(key))) }
}

/** What follows a name in a list, which need not be in order to its end; of a name that is not in it, what is greater. */
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

const json = (body: string): Answer => ({ status: 200, contentType: 'application/json', body })

/** docs/contract/wrapping.md#wrapping: the answer is kept, and a token for it goes out. */
async function wrapped(house: House, call: Call, body: string, made: MadeByCall = {}): Promise<Answer> {
  return json(wrappedEnvelope(await house.wrapAnswer(call, body, made)))
}

/** A document may be wrapped like any answer; a page for a browser, or a status that says all, may not. */
async function rawAnswer(house: House, call: Call, { status, contentType, body, cacheControl, headers }: NonNullable<Reply['raw']>): Promise<Answer> {
  if (call.wrapTtl > 0 && status === 200 && contentType === 'application/json') return wrapped(house, call, body)
  return { status, contentType, headers: cacheControl === undefined ? headers : { ...headers, 'cache-control': cacheControl }, body }
}
