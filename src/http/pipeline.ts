import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { HttpError } from '@fastify/sensible'
import { refuse, ServiceError } from '../errors.ts'
import { countedAddress } from '../lib/address.ts'
import { type AccessLine, accessLine } from './access-log.ts'
import type { UnreadRequest } from './admission.ts'
import { bodyBytes, isSmall, writeAnswer } from './answer-writer.ts'
import { BodyBudget, checkAnnouncedSize, overloaded, readBody } from './body-reader.ts'
import { answerIsMade, type Call, callOf, type EarlyReply } from './call.ts'
import type { CommonHeaders } from './common-headers.ts'
import { type CorsRules, lookAtOrigin } from './cors.ts'
import type { Endpoint } from './endpoint.ts'
import { bugReply, type ErrorReply, errorBody, errorReply, failureText } from './error-reply.ts'
import type { Auditing } from './auditing.ts'
import type { Answer } from './exchange.ts'
import { dropUnusedFields, forgetHead, headBytes } from './request-headers.ts'
import { isKnownVerb } from './mount-router.ts'
import { type Prepared, type PreparedAnswers, writePrepared } from './prepared-answers.ts'
import { Places, type PlacesLimits } from './places.ts'
import type { RequestTracing, RequestSpan } from './request-span.ts'
import type { RequestsInProgress } from './requests-in-progress.ts'
import { isOverQuota, type RateLimits } from './rate-limits.ts'

export type PipelineParts = {
  readonly prepared: Pick<PreparedAnswers, 'find'> | undefined
  readonly common: CommonHeaders
  readonly limits: {
    readonly maxBodyBytes: number
    /** On paths that need no token. */
    readonly maxOpenBodyBytes: number
    readonly maxBufferedBytes: number
    readonly places: PlacesLimits
  }
  /** Writes the audit entries; undefined while the server is sealed. */
  readonly audit: Pick<Auditing, 'isOn' | 'around' | 'limited' | 'shows'> | undefined
  /** Undefined while the server is sealed. */
  readonly limiter:
    | Pick<
        RateLimits,
        'isOn' | 'isAudited' | 'checkHead' | 'decidesByRole' | 'checkRefusedLogins' | 'noteRefusedLogin'
      >
    | undefined
  /** The CORS rules; undefined while CORS is off. docs/contract/http.md#pages-of-other-origins */
  cors(): CorsRules | undefined
  /** Called for every internal error. */
  onBug(error: unknown, requestId: string): void
  /** Called when a request has ended, answered or aborted; one-use tokens are revoked here. */
  afterRequest(call: Call): void
  /** Called for every finished request, for the log; undefined while the access log is off. */
  readonly onAccess: ((line: AccessLine) => void) | undefined
  readonly inProgress: RequestsInProgress
  /** Undefined without traces. */
  readonly tracing?: RequestTracing | undefined
  /** Called for every response and every early refusal; undefined without metrics. */
  readonly measure: Measure | undefined
  /** A request or connection was refused because there were too many. */
  onOverload(): void
}

/** Counts requests. */
type Measure = {
  request(measured: { method: string; route: string; code: number; seconds: number }): void
  refused(reason: 'size' | 'timeout' | 'malformed' | 'overload' | 'handshake'): void
  rateLimited(quota: string): void
}

/** A request that is read, and where it goes. */
type Beginning = {
  readonly response: ServerResponse
  readonly call: Call
  readonly endpoint: Endpoint
  readonly hasBody: boolean
}

/**
 * The one path of every request, from its route to the bytes of its response: counting, what the head alone
 * decides, the body, the endpoint's response, refusals, and the writer. docs/decisions/0009-one-pipeline.md
 */
export class Pipeline {
  readonly #parts: PipelineParts
  readonly #budget: BodyBudget
  readonly #places: Places
  #isClosing = false

  constructor(parts: PipelineParts) {
    this.#parts = parts
    this.#budget = new BodyBudget(parts.limits.maxBufferedBytes)
    this.#places = new Places(parts.limits.places)
  }

  /** Number of requests in progress. */
  get inFlight(): number {
    return this.#places.taken
  }

  /** From now on each response closes its connection. */
  endConnections(): void {
    this.#isClosing = true
  }

  /** Receives a request from its connection: sends a prepared response, or has the request routed. */
  receive(request: IncomingMessage, response: ServerResponse, route: RequestListener): void {
    try {
      if (!this.#answersAtOnce(request, response)) route(request, response)
    } catch (error) {
      // a bug must end this connection, not the process
      this.#parts.onBug(error, request.call?.requestId ?? '')
      response.destroy()
    }
  }

  /** Answers a routed request. Never throws. */
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    { params, endpoint }: { params: unknown; endpoint: Endpoint },
  ): void {
    const call = callOf(request)
    const span = this.#parts.tracing?.begin(request.headers)
    this.#begin(call, response, endpoint.label, span)
    this.#take(call, headBytes(request))
    const answer = () => this.#answer({ raw: request, params, body: undefined }, response, call, endpoint)
    const answered = span === undefined ? answer() : span.run(answer)
    answered.catch((error: unknown) => this.#giveUp(error, call, response))
  }

  /** Counts a response until its client has received it. Throws if it is large and too many bytes are held already. */
  #hold(call: Call, answer: Answer): Answer {
    if (!isSmall(answer.body) && this.#budget.isSpent) throw overloaded()
    this.#take(call, bodyBytes(answer.body))
    return answer
  }

  #preparedFor(request: IncomingMessage): Prepared | undefined {
    const { onAccess, measure, prepared, audit, limiter } = this.#parts
    if (prepared === undefined || onAccess !== undefined || this.#parts.tracing !== undefined)
      return undefined
    if (audit?.isOn === true || limiter?.isOn === true || this.#isBusy) return undefined
    const started = performance.now()
    const found = prepared.find(request)
    if (found === undefined) return undefined
    const { route, status: code } = found
    measure?.request({ method: 'GET', route, code, seconds: (performance.now() - started) / 1000 })
    return found
  }

  #answersAtOnce(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.isBeyondLimits === true || request.hasOldCopies === true) return false
    const found = this.#preparedFor(request)
    if (found === undefined) return false
    this.#budget.take(found.bytes)
    response.once('close', () => this.#budget.give(found.bytes))
    atEndOfTurn(() => this.#writePrepared(response, found))
    return true
  }

  #writePrepared(response: ServerResponse, found: Prepared): void {
    if (response.destroyed || response.req.stream?.destroyed === true) return
    try {
      if (this.#closes(response)) response.shouldKeepAlive = false
      writePrepared(response, found)
      forgetHead(response.req)
    } catch (error) {
      this.#parts.onBug(error, '')
      response.destroy()
    }
  }

  get #isBusy(): boolean {
    return this.#isClosing || this.#places.areTaken
  }

  /**
   * A request ends when its response is complete and its connection is done with it, in either order. So the
   * work for a client that left is logged with the status it would have received.
   */
  #begin(call: Call, response: ServerResponse, route: string, span: RequestSpan | undefined): void {
    const started = performance.now()
    const { inProgress } = this.#parts
    let pending = 2
    inProgress.begin(call)
    const end = () => {
      pending -= 1
      if (pending > 0) return
      inProgress.end(call)
      this.#leavePlace(call)
      this.#budget.give(call.heldBytes)
      call.release?.()
      this.#report(call, { route, status: response.statusCode, ms: performance.now() - started })
      if (span !== undefined) span.end(tracedRequest(call, route, response.statusCode))
      this.#parts.afterRequest(call)
    }
    call.answered = end
    response.once('close', end)
  }

  #report(call: Call, came: { route: string; status: number; ms: number }): void {
    const { measure, onAccess } = this.#parts
    const method = isKnownVerb(call.verb) ? call.verb : 'other'
    measure?.request({ method, route: came.route, code: came.status, seconds: came.ms / 1000 })
    onAccess?.(accessLine(call, came))
  }

  async #answer(
    request: UnreadRequest,
    response: ServerResponse,
    call: Call,
    endpoint: Endpoint,
  ): Promise<void> {
    let answer: Answer | undefined
    try {
      answer = this.#settledByHead(request.raw, call, endpoint)
      if (answer !== undefined) this.#hold(call, answer)
      else {
        const hasBody = announcesBody(request.raw)
        if (hasBody) await this.#awaitBody(request, response, call, endpoint)
        const takePlace = () => this.#enter(request.raw, { response, call, endpoint, hasBody })
        // a login over the limit of its role must not wait for a place
        if (this.#parts.limiter?.decidesByRole(call) === true) call.takePlace = takePlace
        else {
          const begun = takePlace()
          if (begun !== undefined) await begun
        }
        answer = await this.#served(request, call, endpoint)
      }
    } catch (error) {
      const shown = isOverQuota(error) ? await this.#recorded(error, request.raw, call) : error
      answer = this.#refusal(shown, call, endpoint)
      this.#take(call, bodyBytes(answer.body))
    }
    if (call.isRefusedLogin) this.#parts.limiter?.noteRefusedLogin(call)
    this.#send(request.raw, response, answer)
  }

  /** The refusal, or what prevents its audit entry. */
  async #recorded(refusal: ServiceError, raw: IncomingMessage, call: Call): Promise<unknown> {
    const { audit, limiter } = this.#parts
    if (audit?.isOn !== true || limiter?.isAudited !== true) return refusal
    return audit.limited(raw, call, refusal).then(
      () => refusal,
      (error: unknown) => error,
    )
  }

  /** Admission and the endpoint's response, with their audit entries. */
  async #served(request: UnreadRequest, call: Call, endpoint: Endpoint): Promise<Answer> {
    const { audit } = this.#parts
    if (audit?.isOn === true)
      return audit.around(request.raw, call, {
        admit: () => endpoint.admit?.(request, call),
        answer: async () => this.#hold(call, await endpoint.answer(request, call)),
        textOf: (error) => failureText(error, endpoint.showsBareCauses(call)),
      })
    await endpoint.admit?.(request, call)
    return this.#hold(call, await endpoint.answer(request, call))
  }

  async #awaitBody(
    request: UnreadRequest,
    response: ServerResponse,
    call: Call,
    endpoint: Endpoint,
  ): Promise<void> {
    const isKept = (header: string) => this.#parts.audit?.shows(header) === true
    this.#take(call, -dropUnusedFields(request.raw, isKept))
    if (withBody.has(call.operation)) request.body = await this.#readBody(request.raw, call, endpoint)
    // the answer waits for the rest anyway, and a request that is still arriving takes no place
    else if (this.#closes(response)) await dropBody(request.raw)
  }

  /** Decides what the head alone decides, in the order of docs/contract/http.md#the-order-of-refusals */
  #settledByHead(request: IncomingMessage, call: Call, endpoint: Endpoint): Answer | undefined {
    const { early } = call
    const { limiter } = this.#parts
    const cors = this.#parts.cors()
    const crossing = cors === undefined ? undefined : lookAtOrigin(cors, request.headers, call)
    if (early?.kind === 'empty') return earlyAnswer(early)
    if (announcesBody(request)) checkAnnouncedSize(request, this.#maxBytes(call, endpoint))
    if (early !== undefined && !isServed(early)) return earlyAnswer(early)
    if (limiter?.isOn === true) limiter.checkHead(call)
    if (call.mount?.table === 'auth' && endpoint.isOpen(call)) limiter?.checkRefusedLogins(call)
    if (crossing !== undefined) return crossing
    if (early !== undefined) return earlyAnswer(early)
    if (request.isBeyondLimits === true && !endpoint.isExempt(call)) throw overloaded()
    refuseOldCopies(request, call, endpoint)
    return undefined
  }

  #maxBytes(call: Call, endpoint: Endpoint): number {
    const { maxBodyBytes, maxOpenBodyBytes } = this.#parts.limits
    return endpoint.isOpen(call) ? maxOpenBodyBytes : maxBodyBytes
  }

  #readBody(request: IncomingMessage, call: Call, endpoint: Endpoint): Promise<Buffer | undefined> {
    const limits = {
      maxBytes: this.#maxBytes(call, endpoint),
      budget: this.#budget,
      headBytes: headBytes(request),
      exempt: endpoint.isExempt(call),
    }
    return new Promise((resolve, reject) => {
      readBody(
        request,
        limits,
        (bytes) => this.#take(call, bytes),
        (error, body) => (error === null ? resolve(body) : reject(error)),
      )
    })
  }

  #take(call: Call, bytes: number): void {
    this.#budget.take(bytes)
    call.heldBytes += bytes
  }

  /** Takes a place for a request. Returns a promise if that, or its body before, may have taken long. */
  #enter(raw: IncomingMessage, { response, call, endpoint, hasBody }: Beginning): Promise<void> | undefined {
    const place = endpoint.isExempt(call) ? undefined : this.#takePlace(call, response)
    if (place === undefined && !hasBody) return undefined
    return (async () => {
      if (place !== undefined) await place
      await raw.checkCopies?.(raw)
      refuseOldCopies(raw, call, endpoint)
    })()
  }

  /** Returns a promise if the request has to wait for its place. */
  #takePlace(call: Call, response: ServerResponse): Promise<void> | undefined {
    const begin = () => {
      call.isUnderWay = true
      call.setAside = () => {
        this.#places.give()
        return () => this.#places.retake()
      }
    }
    const place = this.#places.take(countedAddress(call.remoteAddress), (listener) =>
      response.once('close', listener),
    )
    if (place !== undefined) return place.then(begin)
    begin()
    return undefined
  }

  #leavePlace(call: Call): void {
    if (!call.isUnderWay) return
    call.isUnderWay = false
    this.#places.give()
  }

  #refusal(error: unknown, call: Call, endpoint: Endpoint): Answer {
    if (error instanceof ServiceError) {
      if (call.reason === '') call.reason = error.reason ?? ''
      if (error.kind === 'overloaded') {
        this.#parts.measure?.refused('overload')
        this.#parts.onOverload()
      } else if (error.kind === 'too-large') this.#parts.measure?.refused('size')
    }
    const { status, body, retryAfter } = this.#replyFor(error, endpoint.showsBareCauses(call), call)
    return {
      status,
      contentType: 'application/json',
      headers: retryAfter === undefined ? undefined : { 'retry-after': retryAfter },
      // only for requests that reached a handler, not for a wrong verb or a sealed server
      body: endpoint.namesRequest(call) && call.converted !== undefined ? naming(body, call.requestId) : body,
    }
  }

  #replyFor(error: unknown, open: boolean, call: Call): ErrorReply {
    if (error instanceof ServiceError) {
      if (error.kind === 'internal' && !error.isPromised) this.#parts.onBug(error, call.requestId)
      return errorReply(error, open)
    }
    // a status without a text
    if (error instanceof HttpError && error.statusCode < 500)
      return { status: error.statusCode, body: errorBody(), retryAfter: undefined }
    this.#parts.onBug(error, call.requestId)
    return bugReply(open)
  }

  #send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
    const call = callOf(request)
    response.statusCode = answer.status
    // a client that does not take its response must not keep others from theirs
    if (answer.stream === undefined) this.#leavePlace(call)
    answerIsMade(call)
    const write = () => {
      try {
        writeAnswer(request, response, answer, { closes: this.#isClosing, common: this.#parts.common })
        forgetHead(request)
      } catch (error) {
        this.#giveUp(error, call, response)
      }
    }
    if (request.complete || !this.#closes(response)) atEndOfTurn(write)
    else whenRead(request, () => atEndOfTurn(write))
  }

  /** Over HTTP/2, a response ends no connection. */
  #closes(response: ServerResponse): boolean {
    return response.req.stream === undefined && (this.#isClosing || !response.shouldKeepAlive)
  }

  #giveUp(error: unknown, call: Call, response: ServerResponse): void {
    answerIsMade(call)
    this.#parts.onBug(error, call.requestId)
    response.destroy()
  }
}

/**
 * Responses of one turn of the event loop are sent together at its end: their readers, once woken, find the next one
 * without going back to sleep. Measured with 32 connections: a third less CPU per request.
 */
const atEndOfTurn = (write: () => void): void => void setImmediate(write)

const tracedRequest = (call: Call, route: string, status: number): Parameters<RequestSpan['end']>[0] => ({
  ...{ route, status, requestId: call.requestId, reason: call.reason },
  method: isKnownVerb(call.verb) ? call.verb : 'other',
  mount: call.mount?.path ?? '',
  namespace: call.namespace?.path ?? '',
})

/** The operations that may have a body. */
const withBody: ReadonlySet<string | undefined> = new Set(['write', 'patch', 'delete', 'preflight'])

const announcesBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/** Drops a body that the verb has no use for. */
const dropBody = (request: IncomingMessage): Promise<void> =>
  new Promise((resolve, reject) =>
    whenRead(request, () => (request.complete ? resolve() : reject(refuse('invalid', '')))),
  )

/**
 * Reads and drops the rest of a request before a response that closes the connection: closing it while the
 * client still writes could discard the response. BODY_TIMEOUT bounds the wait.
 */
function whenRead(request: IncomingMessage, goOn: () => void): void {
  // one that announces no body has nothing to read, and no `close` follows
  if (request.destroyed) {
    goOn()
    return
  }
  request.once('close', goOn)
  request.resume()
}

/**
 * Whether the head decides the request without refusing it: CORS comes first.
 * docs/contract/http.md#the-order-of-refusals
 */
const isServed = ({ kind }: EarlyReply): boolean => kind === 'redirect' || kind === 'text'

function earlyAnswer(early: EarlyReply): Answer {
  switch (early.kind) {
    case 'errors':
      return { status: early.status, contentType: 'application/json', body: errorBody() }
    case 'refusal':
      return { status: early.status, contentType: 'application/json', body: errorBody(early.text) }
    case 'redirect':
      return { status: 307, headers: { location: early.location } }
    case 'text':
      return { status: early.status, contentType: 'text/plain', body: early.text }
    case 'empty':
      return { status: early.status }
    case 'bug':
      throw early.error
  }
}

/** Adds the request id to a refusal. */
const naming = (body: string, requestId: string): string =>
  body.replace(/\}\n$/, `,"request_id":"${requestId}"}\n`)

function refuseOldCopies(request: IncomingMessage, call: Call, endpoint: Endpoint): void {
  if (request.hasOldCopies !== true || endpoint.isExempt(call)) return
  throw refuse('unavailable', 'storage is unavailable', { reason: 'old_copies' })
}
