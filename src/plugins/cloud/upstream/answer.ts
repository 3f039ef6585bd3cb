import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { parsedJson } from '../../../lib/text/json.ts'
import { UpstreamError, type UpstreamOperation, type UpstreamService } from './upstream-error.ts'

export type UpstreamAnswer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type RequestKind = {
  readonly service: UpstreamService
  readonly operation: UpstreamOperation
  /** Whether the request is idempotent. If not, sending it twice creates two objects. */
  readonly repeatable: boolean
}

const longestText = 500

const errorBody = z.object({
  error: z.object({
    code: z.string().catch(''),
    message: z.string().catch(''),
    innerError: z.object({ 'request-id': z.string() }).optional().catch(undefined),
    details: z.array(z.object({ code: z.string() })).catch([]),
  }),
})

const loginErrorBody = z.object({
  error: z.string(),
  error_description: z.string().catch(''),
  error_codes: z.array(z.number()).catch([]),
})

/** Every error has a text, whatever the body is. The bodies of the services: simulators/directory/README.md. */
export function failureOf(kind: RequestKind, answer: UpstreamAnswer, now: number): UpstreamError {
  const { status, headers } = answer
  const retryAfterMs = retryAfter(headers['retry-after'], now)
  const said = kind.service === 'login' ? loginFailure(answer.body) : serviceFailure(answer.body)
  const isRedirect = status >= 300 && status < 400
  return new UpstreamError({
    service: kind.service,
    operation: kind.operation,
    status,
    code: isRedirect ? 'redirect_refused' : clean(said.code),
    text: isRedirect
      ? `answered with a redirect (${status}), which is not followed`
      : clean(said.text) || `answered with status ${status}`,
    details: said.details,
    retryAfterMs,
    requestId: headerText(headers['request-id']) ?? headerText(headers['x-ms-request-id']) ?? said.requestId,
    lost: !kind.repeatable && mayHaveHappened(status, retryAfterMs),
  })
}

/** A successful answer with an unusable body: truncated, empty or a proxy's page. */
export const unusableAnswer = (kind: RequestKind, status: number): UpstreamError =>
  new UpstreamError({
    ...kind,
    status,
    code: 'unusable_answer',
    text: 'the answer cannot be read',
    lost: !kind.repeatable,
  })

/** Reads the body of a successful answer. Throws `unusableAnswer`. */
export function readAnswer<Schema extends z.ZodType>(
  kind: RequestKind,
  answer: UpstreamAnswer,
  schema: Schema,
): z.output<Schema> {
  const parsed = schema.safeParse(parsedJson(answer.body.toString()))
  if (!parsed.success) throw unusableAnswer(kind, answer.status)
  return parsed.data
}

/**
 * A server may fail after it has performed a request, but with 503 and `Retry-After` it has not begun. RFC 9110
 * §10.2.3
 */
const mayHaveHappened = (status: number, retryAfterMs: number | undefined): boolean =>
  status === 408 || (status >= 500 && !(status === 503 && retryAfterMs !== undefined))

type Said = { code: string; text: string; details: string[]; requestId: string | undefined }

function serviceFailure(body: Buffer): Said {
  const parsed = errorBody.safeParse(parsedJson(body.toString()))
  if (!parsed.success) return { code: '', text: '', details: [], requestId: undefined }
  const { code, message, details, innerError } = parsed.data.error
  return {
    code,
    text: message,
    details: details.map((detail) => detail.code).slice(0, 10),
    requestId: innerError?.['request-id'],
  }
}

function loginFailure(body: Buffer): Said {
  const parsed = loginErrorBody.safeParse(parsedJson(body.toString()))
  if (!parsed.success) return { code: '', text: '', details: [], requestId: undefined }
  const [number] = parsed.data.error_codes
  const text = parsed.data.error_description.split(/ Trace ID:|[\r\n]/, 1)[0] ?? ''
  const code = number === undefined ? parsed.data.error : `AADSTS${number}`
  return {
    code,
    text: text.startsWith(`${code}: `) ? text.slice(code.length + 2) : text,
    details: [parsed.data.error],
    requestId: undefined,
  }
}

/** In seconds. Larger values are treated as this one, which means never. */
const longestRetryAfter = 999_999_999

/** Milliseconds, of seconds or a date. Ignores other values. RFC 9110 §10.2.3 */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d+$/.test(header)) return Math.min(Number(header), longestRetryAfter) * 1000
  const at = /^[A-Z][a-z]{2}, /.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

const headerText = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' && /^[\w.:-]{1,100}$/.test(header) ? header : undefined

/** For responses and logs: shortened, without control characters, and without tokens that a service may repeat. */
export const clean = (text: string): string =>
  text
    .slice(0, longestText)
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .replace(/eyJ[\w-]{16,}[\w.-]*/g, '…')
    .trim()
