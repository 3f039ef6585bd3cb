import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { StartError } from '../../errors.ts'
import { systemCode } from '../../lib/system/private-file.ts'
import { Pace } from './pace.ts'

/** Much more than a list of a million names. */
const maxBodyBytes = 256 * 1024 * 1024
const answerMs = 120_000
const mostAttempts = 6
/** At the start: an address that is wrong should be told soon. */
const checkAttempts = 3
/** A failure may pass, or come again each time. */
const mostOfFailures = 4
const firstPauseMs = 200
const maxPauseMs = 10_000
/** However long a server asks to wait. */
const longestWishMs = 60_000
/** Of one request, because of too many: minutes. */
const mostRateRefusals = 200
const maxReasonLength = 500

/** The object of a request or a response. Numbers that JavaScript would change are `JsonNumber`s. */
export type Body = { readonly [key: string]: unknown }

/** The server refused one request; the text has its status and its errors. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** For `catch`: returns `otherwise` if the server refused the request with one of these statuses, by default any. */
export const ifRefused =
  <T>(otherwise: T, isMeant = (_status: number) => true) =>
  (error: unknown): T => {
    if (error instanceof RefusedRequest && isMeant(error.status)) return otherwise
    throw error
  }

/** Servers without a path refuse it with different statuses, but never with 403. */
export const ifMissing = <T>(otherwise: T) => ifRefused(otherwise, (status) => status !== 403)

type Sent = {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: string
  /** A POST that writes nothing. */
  readonly isRead?: boolean
}

type Received = { readonly status: number; readonly headers: Headers; readonly text: string }

export type Answer = { readonly data: Body; readonly warnings: readonly string[] }

/** An object as it is: a copy would lose the key `__proto__`. */
export const bodyShape = z.custom<Body>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)
const envelope = z.object({ data: bodyShape.nullish(), warnings: z.array(z.string()).nullish() })
const listed = z.object({ keys: z.array(z.string()) })
const errorBody = z.object({ errors: z.array(z.string()) })

/**
 * A running Vault, OpenBao or Gatehouse, seen in one namespace. Requests that the server did not process are
 * repeated, and reads that failed. A server that limits the rate is asked as fast as it allows. Throws a
 * `RefusedRequest` if the server refuses a request, and a `StartError` with code 3 if it cannot be reached.
 */
export class RemoteServer {
  readonly #name: string
  readonly #url: URL
  readonly #token: string
  readonly #namespace: string
  readonly #pace: Pace

  /** `name` is what messages call the server; `namespace` is empty or ends in `/`. */
  constructor(name: string, url: URL, token: string, { namespace = '', pace = new Pace() } = {}) {
    this.#name = name
    this.#url = url
    this.#token = token
    this.#namespace = namespace
    this.#pace = pace
  }

  in(namespace: string): RemoteServer {
    return new RemoteServer(this.#name, this.#url, this.#token, { namespace, pace: this.#pace })
  }

  /** Throws a `StartError` with code 3 if the server cannot be used with this token. */
  async check(): Promise<void> {
    try {
      await this.#request('GET', 'auth/token/lookup-self', {}, checkAttempts)
    } catch (cause) {
      if (!(cause instanceof RefusedRequest)) throw cause
      const what = cause.status === 403 ? 'rejects the token' : `cannot be used: ${cause.message}`
      throw new StartError(3, `${this.#name} ${what}`, { cause })
    }
  }

  /** The `data` of a path; undefined if nothing is there. */
  async read(path: string, query: Readonly<Record<string, string>> = {}): Promise<Body | undefined> {
    return (await this.#request('GET', path, { query }))?.data
  }

  /** The names at a path, none if nothing is there. */
  async list(path: string, query: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
    const answer = await this.#request('GET', path, { query: { list: 'true', ...query } })
    return listed.safeParse(answer?.data).data?.keys ?? []
  }

  async write(path: string, body: Body): Promise<Answer> {
    const answer = await this.#request('POST', path, { body: JSON.stringify(body) })
    return answer ?? { data: {}, warnings: [] }
  }

  /** The `data` of a search, which takes a body and writes nothing; empty if nothing is found. */
  async find(path: string, body: Body): Promise<Body> {
    const sent = { body: JSON.stringify(body), isRead: true }
    return (await this.#request('POST', path, sent))?.data ?? {}
  }

  /** Undefined for a 404 of a read. */
  async #request(
    method: 'GET' | 'POST',
    path: string,
    sent: Sent,
    attempts = mostAttempts,
  ): Promise<Answer | undefined> {
    const isRead = method === 'GET' || sent.isRead === true
    let pauseMs = firstPauseMs
    let refusals = 0
    for (let left = attempts - 1; ; left -= 1) {
      const waitMs = this.#pace.turn(Date.now())
      if (waitMs > 0) await sleep(waitMs)
      const { status, headers, text, failure } = await this.#send(method, path, sent)
      if (status === 429 && refusals < mostRateRefusals) {
        this.#pace.tooFast(Date.now(), wishedMs(headers))
        refusals += 1
        left += 1
        continue
      }
      if (failure === undefined) this.#pace.answered()
      const isRepeated =
        failure === undefined
          ? isBusy(status, text) || (isRead && hasFailed(status) && attempts - left < mostOfFailures)
          : mayRepeat(isRead, failure)
      if (isRepeated && left > 0) {
        await sleep(Math.max(pauseMs, Math.min(wishedMs(headers), longestWishMs)))
        pauseMs = Math.min(2 * pauseMs, maxPauseMs)
        continue
      }
      if (failure !== undefined && lost.has(systemCode(failure)) && !isRead)
        throw new RefusedRequest(0, `the connection was lost: ${systemCode(failure)}`)
      if (failure !== undefined) throw this.#unreachable(failure)
      const request = `${method} ${JSON.stringify(path)}`
      const reason = status < 300 ? '' : this.#reasonOf(request, { status, headers, text })
      if (status === 503 && !isLocked(text)) throw this.#unusable(reason)
      if (status === 404 && isRead) return undefined
      if (status >= 300) throw new RefusedRequest(status, reason)
      return this.#answerOf(text)
    }
  }

  async #send(method: string, path: string, { query = {}, body }: Sent) {
    const url = new URL(this.#url)
    url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/${encodedPath(path)}`
    url.search = new URLSearchParams(query).toString()
    const headers = {
      'x-vault-token': this.#token,
      'x-vault-request': 'true',
      ...(this.#namespace === '' ? {} : { 'x-vault-namespace': inHeader(this.#namespace) }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const none = { status: 0, headers: new Headers(), text: '' }
    try {
      const signal = AbortSignal.timeout(answerMs)
      // a redirect would send the token elsewhere
      const response = await fetch(url, { method, headers, body: body ?? null, redirect: 'manual', signal })
      const text = await boundedText(response)
      return { status: response.status, headers: response.headers, text, failure: undefined }
    } catch (error) {
      const cause = error instanceof TypeError && error.cause !== undefined ? error.cause : error
      return { ...none, failure: cause }
    }
  }

  #answerOf(text: string): Answer {
    if (text.trim() === '') return { data: {}, warnings: [] }
    const { data: read } = envelope.safeParse(parsed(text))
    if (read === undefined) throw this.#unusable('it does not answer like Vault')
    return { data: read.data ?? {}, warnings: read.warnings ?? [] }
  }

  /** Without the token, which a server may repeat, and without what would control a terminal. */
  #reasonOf(request: string, { status, headers, text }: Received): string {
    const said = errorBody.safeParse(parsed(text)).data?.errors.join('; ') ?? redirection(status, headers)
    const errors = this.#withoutToken(said)
      .replaceAll(/[\s\p{Cc}]+/gu, ' ')
      .trim()
    const reason = `HTTP ${status}: ${errors === '' ? `no reason is given for ${request}` : errors}`
    return reason.length > maxReasonLength ? `${reason.slice(0, maxReasonLength)}…` : reason
  }

  /** That of a development server is a word. */
  #withoutToken(text: string): string {
    return this.#token.length < 8 ? text : text.replaceAll(this.#token, '<token>')
  }

  #unreachable(cause: unknown): StartError {
    const code = systemCode(cause)
    const why = code === 'Error' && cause instanceof Error ? cause.message : code
    return new StartError(3, `${this.#name} cannot be reached: ${why}`, { cause })
  }

  #unusable(reason: string): StartError {
    return new StartError(3, `${this.#name} cannot be used: ${reason}`)
  }
}

/** Encodes each segment of a path. Names that a server lists must not lead to other paths. */
function encodedPath(path: string): string {
  const segments = path.split('/')
  if (!path.isWellFormed()) throw new RefusedRequest(0, 'a path that is not Unicode')
  if (segments.includes('.') || segments.includes('..'))
    throw new RefusedRequest(0, 'a path with the segment . or .. is another path')
  return segments.map(encodeURIComponent).join('/')
}

/** `fetch` sends each character of a header as one byte. */
const inHeader = (text: string): string => Buffer.from(text).toString('latin1')

/** How long a server asks to wait; 0 if it does not say so in seconds. */
const wishedMs = (headers: Headers): number => 1000 * Number(headers.get('retry-after') ?? 0) || 0

/** Of the server, or of a proxy before it. A write may have been processed. */
const hasFailed = (status: number) => status === 500 || status === 502 || status === 504

const isBusy = (status: number, text: string) => (status === 503 && !isLocked(text)) || status === 412

/** An operator has locked the namespace: the rest of the server can be used. */
const isLocked = (text: string) => text.includes('API access to this namespace has been locked')

/** The connection ended after the request was sent: it may have been processed. */
const lost: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** What took long, and would again. */
const lasting: ReadonlySet<string> = new Set(['TimeoutError', 'ANSWER_TOO_LARGE'])

/** Whether a request may be sent again after a failure of its connection. */
const mayRepeat = (isRead: boolean, failure: unknown) =>
  isRead ? !lasting.has(systemCode(failure)) : systemCode(failure) === 'ECONNREFUSED'

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > maxBodyBytes) throw Object.assign(new Error('too large'), { code: 'ANSWER_TOO_LARGE' })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Keeps the digits of numbers. Undefined if the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown, { source }: { source?: string }) =>
      typeof value === 'number' && source !== undefined && String(value) !== source
        ? JSON.rawJSON(source)
        : value,
    )
  } catch {
    return undefined
  }
}

/** A standby redirects to the active server, and plain HTTP often to HTTPS. */
function redirection(status: number, headers: Headers): string {
  const to = URL.parse(headers.get('location') ?? '')
  return status >= 300 && status < 400 && to !== null ? `it redirects to ${to.origin}` : ''
}

/** What is set in an object: without null, empty texts and empty lists. */
export function givenFields(body: Body): Record<string, unknown> {
  const isGiven = (value: unknown) =>
    value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(body).filter(([, value]) => isGiven(value)))
}
