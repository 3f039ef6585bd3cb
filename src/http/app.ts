import type { IncomingMessage, ServerResponse } from 'node:http'
import sensible, { HttpError } from '@fastify/sensible'
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify'
import type { LeasedSecret } from '../core/leases/lease.ts'
import type { IssuedLease } from '../core/leases/lease-store.ts'
import type { WrapInfo } from '../core/wrapping/wrapper.ts'
import { refuse, ServiceError } from '../errors.ts'
import { type AccessLine, accessLine, routeTemplate } from './access-log.ts'
import type { Admit } from './admission.ts'
import { announcedSizeRefusal, BodyBudget, overloaded, readBody } from './body-reader.ts'
import { answerIsMade, type Call, callOf, type EarlyReply } from './call.ts'
import { bodyBeside, commonHeaders, firstHeaders } from './common-headers.ts'
import { allowOrigin, type CorsRules, type CorsVerdict, corsVerdict } from './cors.ts'
import { DirectReads } from './direct-reads.ts'
import type { MadeByCall } from './envelope.ts'
import { bugReply, type ErrorReply, errorBody, errorReply } from './error-reply.ts'
import type { RouteRules } from './exchange.ts'
import { HelpPages } from './help.ts'
import { largeAnswer, sendJson, sendText } from './json-reply.ts'
import { type ListServerOptions, listVerb } from './list-verb.ts'
import { carrierOf, isKnownVerb, noRoute } from './mount-router.ts'
import type { DocumentedPlace } from './openapi.ts'
import type { RawStatus } from './raw-errors.ts'
import type { ReadyRead } from './ready-read.ts'
import { routerOptions } from './router-options.ts'

export type AppParts = {
  server: ListServerOptions
  limits: {
    maxBodyBytes: number
    /** On paths that need no token. */
    maxOpenBodyBytes: number
    maxBufferedBytes: number
    maxInFlight: number
  }
  route(request: IncomingMessage): string
  /** The CORS rules; undefined while CORS is off. docs/contract/http.md#pages-of-other-origins */
  cors(): CorsRules | undefined
  /** Tried first; requests it does not serve take the usual path. */
  readyRead: ReadyRead
  /** docs/contract/http.md#the-order-of-refusals */
  admit: Admit
  /** Called for every internal error. */
  onBug(error: unknown, requestId: string): void
  /** A request is inside a mount until the returned function is called. */
  enter(call: Call): () => void
  /** Gives a secret a lease that ends with the caller's token. */
  lease(call: Call, secret: LeasedSecret): Promise<IssuedLease>
  /** Stores a response behind a wrapping token. If that fails, revokes what the call has made. */
  wrap(call: Call, body: string, made: MadeByCall): Promise<WrapInfo>
  /** The OpenAPI document of one path. */
  describe(place: DocumentedPlace, path: string): Promise<object | null>
  /** Called when a request has ended, answered or aborted; one-use tokens are revoked here. */
  afterRequest(call: Call): void
  /** Called for every finished request, for the log; undefined while the access log is off. */
  onAccess: ((line: AccessLine) => void) | undefined
  /** Called for every response and every early refusal; undefined without metrics. */
  measure: Measure | undefined
}

/** Counts requests. */
export type Measure = {
  request(measured: { method: string; route: string; code: number; seconds: number }): void
  refused(reason: 'size' | 'timeout' | 'malformed' | 'overload'): void
}

declare module 'fastify' {
  interface FastifyInstance {
    /** From now on each response closes its connection. */
    endConnections(): void
    /** Number of requests in progress. */
    inFlight(): number
    /** Counts a request as inside its mount until the returned function is called. */
    enterMount(call: Call): () => void
    /** Gives a secret a lease. If that fails, revokes the secret and throws. */
    leaseSecret(call: Call, secret: LeasedSecret): Promise<IssuedLease>
    /** Stores a response behind a wrapping token. If that fails, revokes what the call has made. */
    wrapAnswer(call: Call, body: string, made: MadeByCall): Promise<WrapInfo>
    /**
     * Counts a large response until its client has received it. Throws if too many bytes are held already.
     */
    holdAnswer(call: Call, body: string): void
    readonly helpPages: HelpPages
    /** The OpenAPI document of one path; null when the document does not know it. */
    describePath(place: DocumentedPlace, path: string): Promise<object | null>
  }
}

/**
 * Fields and answers are ours to judge and to write; given this, Fastify does not even load its own
 * compilers, a tenth of the start.
 */
const noCompilers = {
  compilersFactory: { buildValidator: () => () => () => true, buildSerializer: () => () => JSON.stringify },
  // a whole ajv function is declared where Fastify calls the result only
} as unknown as NonNullable<FastifyServerOptions['schemaController']>

/**
 * Fastify as Gatehouse needs it: every verb, one body rule, no answer of its own shape. docs/contract/http.md
 */
export function createApp(parts: AppParts): FastifyInstance {
  let inFlight = 0
  let closing = false
  const isBusy = () => closing || inFlight >= parts.limits.maxInFlight
  /** Sends a prepared response without running any hook. */
  function readAtOnce(request: IncomingMessage, response: ServerResponse): boolean {
    const started = performance.now()
    if (parts.onAccess !== undefined || !parts.readyRead(request, response)) return false
    parts.measure?.request({
      method: 'GET',
      route: readyRoute,
      code: response.statusCode,
      seconds: (performance.now() - started) / 1000,
    })
    return true
  }
  const app = fastify({
    ...listVerb(
      { ...parts.server, onRefused: (status) => parts.measure?.refused(refusedReason[status]) },
      (request, response) =>
        !isBusy() &&
        request.isBeyondLimits !== true &&
        (readAtOnce(request, response) || reads.serve(request, response)),
    ),
    // a request that already has a call is already routed
    rewriteUrl: (request) => (request.call === undefined ? parts.route(request) : (request.url ?? '/')),
    bodyLimit: Number.MAX_SAFE_INTEGER,
    routerOptions,
    exposeHeadRoutes: false,
    genReqId: (raw: IncomingMessage) => callOf(raw).requestId,
    requestIdHeader: false,
    frameworkErrors: (_error, _request, reply) =>
      sendError(reply as unknown as FastifyReply, { status: 400, body: errorBody(), retryAfter: undefined }),
    schemaController: noCompilers,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
  })
  // loaded with the plugins, before the first request
  void app.register(sensible)
  for (const method of ['SEARCH', 'REPORT', 'SOURCE']) app.addHttpMethod(method)
  app.removeAllContentTypeParsers()
  const budget = new BodyBudget(parts.limits.maxBufferedBytes)
  const maxBytesOf = (request: FastifyRequest) =>
    isOpen(request) ? parts.limits.maxOpenBodyBytes : parts.limits.maxBodyBytes
  app.addContentTypeParser('*', (request, payload, done) => {
    const call = callOf(payload)
    const taken = (bytes: number) => {
      budget.take(bytes)
      call.bodyBytes += bytes
    }
    readBody(
      payload,
      { maxBytes: maxBytesOf(request), budget, exempt: isExempt(request.url, call) },
      taken,
      done,
    )
  })
  /**
   * A request is over when its answer is made and its connection is done with it, in either order: work for a
   * client that left still counts, and is told of with the status it came to.
   */
  function begin(call: Call, response: ServerResponse, url: string | undefined): void {
    const started = performance.now()
    let pending = 2
    const end = () => {
      pending -= 1
      if (pending > 0) return
      if (call.isUnderWay) inFlight -= 1
      budget.give(call.bodyBytes)
      tell(call, { route: routeLabel(url), status: response.statusCode, ms: performance.now() - started })
      parts.afterRequest(call)
    }
    call.answered = end
    response.once('close', end)
  }
  /** From now on, when all of it has arrived, a request counts as under way. */
  function handle(call: Call): void {
    call.isUnderWay = true
    inFlight += 1
    call.setAside = () => {
      inFlight -= 1
      return () => {
        inFlight += 1
      }
    }
  }
  function tell(call: Call, came: { route: string; status: number; ms: number }): void {
    parts.measure?.request({
      method: methodLabel(call.verb),
      route: came.route,
      code: came.status,
      seconds: came.ms / 1000,
    })
    parts.onAccess?.(accessLine(call, came))
  }
  function refusal(error: unknown, call: Call, rules: RouteRules | undefined): ErrorReply {
    if (error instanceof ServiceError) {
      if (error.kind === 'overloaded') parts.measure?.refused('overload')
      else if (error.kind === 'too-large') parts.measure?.refused('size')
    }
    const answer = replyFor(error, rules?.open === true, (bug) => parts.onBug(bug, call.requestId))
    // only for requests that reached a handler, not for a wrong verb or a sealed server
    const isNamed = rules?.namesRequest === true && call.converted !== undefined
    return isNamed ? naming(answer, call.requestId) : answer
  }
  const reads = new DirectReads({
    host: app,
    admit: parts.admit,
    route: parts.route,
    begin: (call, response, url) => {
      begin(call, response, url)
      handle(call)
    },
    refusal,
    onBug: (error, call) => parts.onBug(error, call.requestId),
    isClosing: () => closing,
  })
  app.addHook('onRoute', (route) => reads.add(route))
  app.decorate('endConnections', () => {
    closing = true
  })
  app.decorate('inFlight', () => inFlight)
  app.decorate('enterMount', parts.enter)
  app.decorate('leaseSecret', parts.lease)
  app.decorate('wrapAnswer', parts.wrap)
  app.decorate('holdAnswer', (call: Call, body: string) => {
    if (body.length < largeAnswer) return
    if (budget.isSpent) throw overloaded()
    const bytes = Buffer.byteLength(body)
    budget.take(bytes)
    call.bodyBytes += bytes
  })
  app.decorate('helpPages', new HelpPages())
  app.decorate('describePath', parts.describe)
  app.setErrorHandler((error, request, reply) => {
    // Fastify wants to hang up behind a body it could not read: a client that is still writing would lose its
    // answer
    if (reply.hasHeader('connection')) reply.removeHeader('connection')
    return sendError(reply, refusal(error, callOf(request.raw), request.routeOptions.config.rules))
  })
  app.addHook('onRequest', (request, reply, done) => {
    const call = callOf(request.raw)
    reply.headers(firstHeaders(call.requestId, request.headers['x-vault-namespace']))
    begin(call, reply.raw, request.routeOptions.url)
    const cors = parts.cors()
    const crossing = cors === undefined ? undefined : lookAtOrigin(cors, request, call)
    if (call.early?.kind === 'empty') return sendEarly(reply, call.early)
    const tooLarge = announcedSizeRefusal(request.raw, maxBytesOf(request))
    if (tooLarge !== undefined) return done(tooLarge)
    if (call.early !== undefined && !isServed(call.early)) return sendEarly(reply, call.early)
    if (crossing !== undefined && crossing !== 'served') return sendEarly(reply, crossingReply[crossing])
    if (call.early !== undefined) return sendEarly(reply, call.early)
    if (request.raw.isBeyondLimits === true && !isExempt(request.url, call)) return done(overloaded())
    done()
  })
  // the whole request is here
  app.addHook('preValidation', async (request) => {
    const call = callOf(request.raw)
    if (!isExempt(request.url, call)) {
      if (inFlight >= parts.limits.maxInFlight) throw overloaded()
      handle(call)
    }
    const { rules } = request.routeOptions.config
    if (rules !== undefined) await parts.admit(request, rules)
  })
  app.addHook('preClose', (done) => {
    closing = true
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    const call = callOf(request.raw)
    if (closing) reply.header('connection', 'close')
    if (call.crossOrigin !== undefined) allowOrigin(reply, call.crossOrigin)
    answerIsMade(call)
    // Answers made in one turn of the event loop go out one behind the other at its end, not each between two
    // others' work: their readers, once woken, find the next one without going back to sleep. Measured with
    // 32 connections: a third less CPU a request.
    const goOn = () => setImmediate(done, null, bodyBeside(request.headers['x-vault-namespace'], payload))
    if (request.raw.complete || (reply.raw.shouldKeepAlive && !closing)) goOn()
    else whenRead(request.raw, goOn)
  })
  app.setNotFoundHandler(() => {
    throw app.httpErrors.notFound()
  })
  app.route({
    method: Object.values(carrierOf),
    url: noRoute,
    schema: { hide: true },
    config: {
      rules: {
        open: false,
        caller: 'none',
        sudo: false,
        precheck: undefined,
        follows: undefined,
        refusedCaller: undefined,
        canonical: undefined,
        dropsSlash: false,
        namesRequest: false,
        whileRemoved: false,
        wrapsWithoutToken: false,
        exists: undefined,
        convert: () => ({ values: {}, unknown: [], replaced: [] }),
        exchange: noExchange,
      },
    },
    handler: (request) => {
      throw refuse('missing', `no handler for route "${callOf(request.raw).path}". route entry not found.`)
    },
  })
  return app
}

/**
 * Reads and drops the rest of a request before a response that closes the connection: closing it while the
 * client still writes could discard the response. BODY_TIMEOUT bounds the wait.
 */
function whenRead(request: IncomingMessage, goOn: () => void): void {
  request.once('close', goOn)
  request.resume()
}

/** Sets the CORS headers of the response on the call. */
function lookAtOrigin(rules: CorsRules, { headers }: FastifyRequest, call: Call): CorsVerdict | undefined {
  const { origin } = headers
  if (origin === undefined || origin === '') return undefined
  const verdict = corsVerdict(rules, origin, {
    verb: call.verb,
    wanted: headers['access-control-request-method'],
  })
  if (verdict === 'served') call.crossOrigin = { origin, headers: rules.answer }
  else if (verdict === 'preflight') call.crossOrigin = { origin, headers: rules.preflight }
  return verdict
}

const crossingReply: Record<Exclude<CorsVerdict, 'served'>, EarlyReply> = {
  refused: { kind: 'refusal', status: 403, text: 'origin not allowed' },
  preflight: { kind: 'empty', status: 200 },
  'bad-preflight': { kind: 'empty', status: 405 },
}

/**
 * Settled by the head, and no refusal: what other origins get is looked at first.
 * docs/contract/http.md#the-order-of-refusals
 */
const isServed = ({ kind }: EarlyReply): boolean => kind === 'redirect' || kind === 'text'

/** On a path that needs no token, or that looks at the token itself and takes no body worth mentioning. */
const isOpen = ({ routeOptions: { config } }: FastifyRequest): boolean => config.rules?.open !== false

/** Served under any load: state, sealing, and revoking tokens and leases. docs/contract/http.md#limits */
const isExempt = (url: string, call: Call) =>
  url.startsWith('/-/node/') || url.startsWith('/-/health/') || isRevoking(call)

function isRevoking({ mount, below }: Call): boolean {
  if (mount?.plugin === 'token') return below.startsWith('revoke')
  return mount?.plugin === 'system' && /^(?:leases\/)?revoke/.test(below)
}

const noExchange = () => {
  throw new Error('nothing is mounted here')
}

function replyFor(error: unknown, open: boolean, onBug: (error: unknown) => void): ErrorReply {
  if (error instanceof ServiceError) {
    if (error.kind === 'internal') onBug(error)
    return errorReply(error, open)
  }
  // a status without a text, as `app.httpErrors` makes them
  if (error instanceof HttpError && error.statusCode < 500)
    return { status: error.statusCode, body: errorBody(), retryAfter: undefined }
  if (isClientError(error)) return { status: 400, body: errorBody(), retryAfter: undefined }
  onBug(error)
  return bugReply(open)
}

/** Whether Fastify reports a request that it could not read. */
const isClientError = (error: unknown): boolean =>
  error instanceof Error &&
  'statusCode' in error &&
  typeof error.statusCode === 'number' &&
  error.statusCode < 500

/** Metric label of requests that are refused before a handler sees them. */
const refusedReason: Record<RawStatus, 'size' | 'timeout' | 'malformed'> = {
  ...{ 400: 'malformed', 405: 'malformed', 417: 'malformed', 408: 'timeout' },
  ...{ 413: 'size', 414: 'size', 431: 'size' },
}

/** The one path with prepared responses. */
const readyRoute = '/system/internal/ui/unauthenticated-messages'

const methodLabel = (verb: string): string => (isKnownVerb(verb) ? verb : 'other')

const labelByUrl = new Map<string, string>()

/** As `routeTemplate`; there are as many as routes. */
function routeLabel(url: string | undefined): string {
  if (url === undefined) return 'none'
  let label = labelByUrl.get(url)
  if (label === undefined) {
    label = routeTemplate(url)
    labelByUrl.set(url, label)
  }
  return label
}

/** Adds the request id to a refusal. */
const naming = (answer: ErrorReply, requestId: string): ErrorReply => ({
  ...answer,
  body: answer.body.replace(/\}\n$/, `,"request_id":"${requestId}"}\n`),
})

function sendError(reply: FastifyReply, { status, body, retryAfter }: ErrorReply): FastifyReply {
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  return sendJson(reply.headers(commonHeaders), status, body)
}

function sendEarly(reply: FastifyReply, early: EarlyReply): FastifyReply {
  switch (early.kind) {
    case 'errors':
      return reply.getHttpError(early.status)
    case 'refusal':
      return sendError(reply, { status: early.status, body: errorBody(early.text), retryAfter: undefined })
    case 'redirect':
      return reply.code(307).header('location', early.location).send()
    case 'text':
      return sendText(reply, early.status, 'text/plain', early.text)
    case 'empty':
      return reply.code(early.status).send()
  }
}
