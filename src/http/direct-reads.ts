import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { RouteOptions } from 'fastify'
import findMyWay from 'find-my-way'
import type { Admit } from './admission.ts'
import { type Answer, answerRequest, type House, type Served } from './answer.ts'
import { answerIsMade, type Call, callOf } from './call.ts'
import { firstHeaders } from './common-headers.ts'
import type { ErrorReply } from './error-reply.ts'
import { carrierOf } from './mount-router.ts'
import type { RouteRules } from './resource.ts'
import { routerOptions } from './router-options.ts'

export type DirectReadsParts = {
  readonly house: House
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
 * Reads and lists of mounts, without Fastify's hooks and reply between the connection and the rules of the house: the same admission, the same
 * handlers, the same answers, for half of the price. Decision 0008. What it does not take goes the usual way.
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
    const { url, served } = (found?.store ?? {}) as Partial<Known>
    if (url === undefined || served === undefined) return false
    this.#parts.begin(call, response, url)
    this.#answer(request, response, found?.params, served).catch((error: unknown) => {
      answerIsMade(call)
      this.#parts.onBug(error, call)
      response.destroy()
    })
    return true
  }

  async #answer(request: IncomingMessage, response: ServerResponse, params: unknown, served: Served): Promise<void> {
    const call = callOf(request)
    const { status, contentType, headers, body } = await this.#answerTo(request, params, served)
    response.statusCode = status
    answerIsMade(call)
    // with the others of this turn of the event loop, as Fastify's: see `onSend` in app.ts
    await endOfTurn()
    if (response.destroyed) return
    const all = { ...firstHeaders(call.requestId, request.headers['x-vault-namespace']), ...headers }
    if (contentType !== undefined) all['content-type'] = contentType
    if (body !== undefined) all['content-length'] = String(Buffer.byteLength(body))
    else if (status !== 204 && status !== 304) all['content-length'] = '0'
    if (this.#parts.isClosing()) all['connection'] = 'close'
    response.writeHead(status, all).end(body)
  }

  async #answerTo(request: IncomingMessage, params: unknown, served: Served): Promise<Answer> {
    const { admit, house, refusal } = this.#parts
    const routed = { raw: request, params }
    try {
      await admit({ ...routed, body: undefined }, served.rules)
      return await answerRequest(house, routed, served)
    } catch (error) {
      return refusalAnswer(refusal(error, callOf(request), served.rules))
    }
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
