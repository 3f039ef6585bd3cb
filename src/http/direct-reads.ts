import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RouteOptions } from 'fastify'
import findMyWay from 'find-my-way'
import type { Admit } from './admission.ts'
import { answerRequest, type Host } from './answer.ts'
import { answerIsMade, type Call, callOf } from './call.ts'
import { bodyBeside, firstHeaders } from './common-headers.ts'
import type { ErrorReply } from './error-reply.ts'
import type { Answer, RouteRules, Served } from './exchange.ts'
import { carrierOf } from './mount-router.ts'
import { routerOptions } from './router-options.ts'

export type DirectReadsParts = {
  readonly host: Host
  readonly admit: Admit
  /** Hangs the call on a request and gives the path of its route. */
  route(request: IncomingMessage): string
  /** Counts a request as under way until it is over, which `url`, the template of its route, is noted of. */
  begin(call: Call, response: ServerResponse, url: string): void
  /** What a request is told that was refused, or failed. */
  refusal(error: unknown, call: Call, rules: RouteRules): ErrorReply
  /** Told of an answer that could not be written. */
  onBug(error: unknown, call: Call): void
  isClosing(): boolean
}

/** Methods of the router whose requests have no body: reads and lists. */
const methods = [carrierOf.read, carrierOf.list, carrierOf.scan] as const
type ReadMethod = (typeof methods)[number]

const isRead = (method: string): method is ReadMethod => (methods as readonly string[]).includes(method)

/** Whoever sends one of these sends a body, or is a page of another origin. */
const unusual = ['content-length', 'transfer-encoding', 'origin'] as const

/**
 * Reads and lists of mounts, without Fastify's hooks and reply between the connection and the rules: the same
 * admission, the same handlers, the same answers, for three quarters of the price. Decision 0008. What it
 * does not take goes the usual way.
 */
export class DirectReads {
  readonly #parts: DirectReadsParts
  readonly #router = findMyWay(routerOptions)

  constructor(parts: DirectReadsParts) {
    this.#parts = parts
  }

  /** Learns a route, as Fastify does: also those it leaves to Fastify, so that both find the same. */
  add({ method, url, config }: Pick<RouteOptions, 'method' | 'url' | 'config'>): void {
    for (const verb of [method].flat()) {
      if (isRead(verb)) this.#router.on(verb, url, foundOnly, { url, served: config?.served } satisfies Known)
    }
  }

  /** False, with no more done than finding its route, for a request that is not served here. */
  serve(request: IncomingMessage, response: ServerResponse): boolean {
    const { headers } = request
    if (unusual.some((name) => headers[name] !== undefined)) return false
    request.url = this.#parts.route(request)
    const call = callOf(request)
    const method = request.method ?? ''
    if (call.early !== undefined || !isRead(method)) return false
    const found = this.#router.find(method, request.url)
    const known: Known | undefined = found?.store
    if (known?.served === undefined) return false
    const { url, served } = known
    this.#parts.begin(call, response, url)
    this.#answer(request, response, found?.params, served).catch((error: unknown) =>
      this.#giveUp(error, call, response),
    )
    return true
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    params: unknown,
    served: Served,
  ): Promise<void> {
    const { admit, host, refusal } = this.#parts
    const call = callOf(request)
    let answer: Answer
    try {
      await admit({ raw: request, params, body: undefined }, served.rules)
      answer = await answerRequest(host, { raw: request, params }, served)
    } catch (error) {
      answer = refusalAnswer(refusal(error, call, served.rules))
    }
    response.statusCode = answer.status
    answerIsMade(call)
    // with the others of this turn of the event loop, as those of Fastify: see `onSend` in app.ts
    setImmediate(() => {
      try {
        this.#send(request, response, answer)
      } catch (error) {
        this.#giveUp(error, call, response)
      }
    })
  }

  #send(
    request: IncomingMessage,
    response: ServerResponse,
    { status, contentType, headers, body }: Answer,
  ): void {
    if (response.destroyed) return
    const namespace = request.headers['x-vault-namespace']
    const all = { ...firstHeaders(callOf(request).requestId, namespace), ...headers }
    if (contentType !== undefined) all['content-type'] = contentType
    if (body !== undefined) all['content-length'] = String(Buffer.byteLength(body))
    else if (status !== 204 && status !== 304) all['content-length'] = '0'
    if (this.#parts.isClosing()) all['connection'] = 'close'
    response.writeHead(status, all).end(bodyBeside(namespace, body))
  }

  #giveUp(error: unknown, call: Call, response: ServerResponse): void {
    answerIsMade(call)
    this.#parts.onBug(error, call)
    response.destroy()
  }
}

type Known = { readonly url: string; readonly served: Served | undefined }

/** The router is asked where a path leads, it calls nothing. */
const foundOnly = () => undefined

const refusalAnswer = ({ status, body, retryAfter }: ErrorReply): Answer => ({
  status,
  contentType: 'application/json',
  headers: retryAfter === undefined ? undefined : { 'retry-after': retryAfter },
  body,
})
