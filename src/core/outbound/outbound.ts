import { X509Certificate } from 'node:crypto'
import { lookup as resolve } from 'node:dns'
import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  type RequestOptions,
  request as requestPlain,
} from 'node:http'
import { request as requestTls, Agent as TlsAgent } from 'node:https'
import type { LookupFunction } from 'node:net'
import { checkServerIdentity, type SecureContext } from 'node:tls'
import { StartError } from '../../errors.ts'
import { type Address, parseAddress, reachableAddresses } from '../../lib/net/address.ts'
import { networkSet } from '../../lib/net/cidr.ts'
import { contextsOf } from './authorities.ts'
import { decode, encodingsIn } from './content-encoding.ts'
import { causeOf, isUntrusted } from './outbound-cause.ts'

export type OutboundOptions = {
  /** PEM certificates that replace the system's roots for this request. */
  caPem?: string | undefined
  /** The certificate must be valid for one of these instead of the URL's host, unless the list is empty. */
  serverNames?: readonly string[] | undefined
  /** Includes name resolution, redirects and the body. */
  timeoutMs?: number
  maxBytes?: number
  signal?: AbortSignal | undefined
  accept?: string
  /** In addition to `accept` and `user-agent`. */
  headers?: Readonly<Record<string, string>>
  /** What the request is counted as; by default `provider`. */
  service?: OutboundService
}

/** What metrics call a service. docs/monitoring.md#metrics */
type OutboundService =
  | 'keys'
  | 'discovery'
  | 'provider'
  | 'login'
  | 'directory'
  | 'resource-manager'
  | 'metadata'
  | 'kubernetes'

/** A request that has ended. `refused`: a status from 400 to 499. */
type OutboundEvent = {
  readonly service: OutboundService
  readonly outcome: 'ok' | 'refused' | 'failed' | 'timeout'
  readonly seconds: number
}

/** A request of any method. The time limit includes everything. */
export type OutboundExchange = {
  service: OutboundService
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body?: string | undefined
  /** From `connections`, or `connectionsTo`. */
  agent: Agent
  timeoutMs: number
  maxBytes: number
  signal?: AbortSignal | undefined
}

/** A GET to a service of the machine itself, which the operator or the platform has named. */
export type DirectRequest = Omit<OutboundExchange, 'method' | 'body' | 'agent'> & {
  /** Until the connection is established. */
  connectMs: number
  /** Called once the connection is established. */
  onConnect?(): void
}

export type OutboundResponse = {
  readonly status: number
  readonly statusText: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Begins the span of a request; undefined if there is nothing to trace. */
export type OutboundTrace = (request: {
  readonly service: string
  readonly method: string
  readonly host: string
}) =>
  | { readonly headers: Readonly<Record<string, string>>; end(outcome: OutboundEvent['outcome']): void }
  | undefined

export type OutboundRules = {
  /** Networks (`10.0.0.0/8`) and addresses to which connections are refused. */
  deny: readonly string[]
  /** The proxy for https requests, and the hosts that bypass it. */
  httpsProxy?: string | undefined
  noProxy?: string | undefined
  /** Called before a request is sent; returns headers to add. */
  trace?: OutboundTrace | undefined
  /** Called when a request has ended. */
  onEnd?: ((event: OutboundEvent) => void) | undefined
}

/** A request failed. The message names the host and the cause, never the URL's user information. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
}

/** The address is in a denied network; nothing was sent. */
export class DeniedAddressError extends OutboundError {}

/** The response is too large. */
export class AnswerTooLargeError extends OutboundError {}

const ownHeaders = { 'user-agent': 'gatehouse', 'accept-encoding': 'identity' }
const maxRedirects = 3
/** Shorter than the idle timeout of servers, so that no connection is used while the server closes it. */
const idleConnectionMs = 4_000
const connectionsPerHost = 64
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** The redirects that repeat a POST; other redirects of a POST are not followed. */
const redirectsOfPost: ReadonlySet<number> = new Set([307, 308])

/**
 * Sends all outgoing requests: http or https, without cookies, with limits on time and size, and never to a
 * denied network. It checks the address that it actually connects to, also after each redirect; redirects
 * must stay on the same scheme, host and port. The system's resolver cannot be interrupted, but requests
 * still end at their time limit. With a proxy, the proxy resolves names. docs/contract/jwt.md#limits,
 * docs/settings.md
 */
export class OutboundClient {
  readonly #isDenied: (address: Address) => boolean
  readonly #proxyAgent: { env: Record<string, string>; host: string } | undefined
  readonly #onEnd: OutboundRules['onEnd']
  readonly #trace: OutboundRules['trace']
  /** For an agent from `connections`: agents that trust other authorities with the same names. */
  readonly #alternatives = new WeakMap<TlsAgent, readonly TlsAgent[]>()

  constructor({ deny, httpsProxy, noProxy, onEnd, trace }: OutboundRules) {
    this.#onEnd = onEnd
    this.#trace = trace
    this.#isDenied = networkSet(deny)
    if (httpsProxy !== undefined && httpsProxy !== '') {
      const proxy = URL.parse(httpsProxy.includes('://') ? httpsProxy : `http://${httpsProxy}`)
      if (proxy === null || !/^https?:$/.test(proxy.protocol))
        throw new StartError(2, 'HTTPS_PROXY: must be a URL like http://proxy:3128')
      this.#proxyAgent = { env: { HTTPS_PROXY: proxy.href, NO_PROXY: noProxy ?? '' }, host: bareHost(proxy) }
    }
  }

  /** Returns any response, whatever its status. Throws `OutboundError`. */
  get(url: string, options: OutboundOptions = {}): Promise<OutboundResponse> {
    return this.#send(url, options, undefined)
  }

  /** Like `get`; the headers must include the content type. */
  post(url: string, body: string, options: OutboundOptions = {}): Promise<OutboundResponse> {
    return this.#send(url, options, body)
  }

  /**
   * An agent with persistent connections, for services that are called often; the same rules apply. Trusts
   * the certificates in addition to the system's. Idle connections time out and do not keep the process
   * alive.
   */
  connections(caPem: string | undefined): TlsAgent {
    if (caPem === undefined) return this.#persistentAgent({})
    const [agent, ...others] = contextsOf(trustChoices(caCertificates(caPem))).map((secureContext) =>
      this.#persistentAgent({ secureContext }),
    )
    if (agent === undefined) throw new Error('there is always one choice')
    this.#alternatives.set(agent, others)
    return agent
  }

  /** Like `connections`, to a URL of either scheme; the certificates replace the system's. */
  connectionsTo(url: string, caPem: string): Agent {
    if (!url.startsWith('https:')) return new PlainAgent(this.#lasting())
    const [agent, ...others] = trustChoices(caCertificates(caPem)).map((ca) =>
      this.#persistentAgent(caPem === '' ? {} : { ca }),
    )
    if (agent === undefined) throw new Error('there is always one choice')
    this.#alternatives.set(agent, others)
    return agent
  }

  #persistentAgent(trusted: { secureContext?: SecureContext; ca?: string[] }): TlsAgent {
    return new TlsAgent({ ...trusted, ...this.#lasting(), proxyEnv: this.#proxyAgent?.env })
  }

  #lasting() {
    return {
      keepAlive: true,
      timeout: idleConnectionMs,
      maxSockets: connectionsPerHost,
      lookup: this.#lookup(this.#proxyAgent?.host),
    }
  }

  /** Sends a request and returns any response; follows no redirects. Throws `OutboundError`. */
  async exchange({
    service,
    method,
    url,
    headers,
    body,
    agent,
    timeoutMs,
    maxBytes,
    signal,
  }: OutboundExchange): Promise<OutboundResponse> {
    const target = parseUrl(url)
    if (target.protocol !== (agent instanceof TlsAgent ? 'https:' : 'http:'))
      throw new OutboundError('unsupported protocol scheme or invalid URL')
    // clear the timer: with thousands of requests per minute, those of AbortSignal.timeout would accumulate
    const ending = new AbortController()
    const end = () => ending.abort()
    const timer = setTimeout(end, timeoutMs)
    signal?.addEventListener('abort', end)
    try {
      if (signal?.aborted === true) end()
      const options = { agent, headers: { ...headers, ...ownHeaders }, signal: ending.signal }
      return await this.#once(target, options, { verb: method, body, maxBytes, service })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
    }
  }

  /**
   * Sends a GET that passes no proxy, follows no redirect, and may go to a denied network, because no caller chose
   * its address. Throws `OutboundError`.
   */
  async direct(request: DirectRequest): Promise<OutboundResponse> {
    const { service, url, headers, connectMs, timeoutMs, maxBytes, signal } = request
    const target = parseUrl(url)
    const ending = new AbortController()
    const end = () => ending.abort()
    const limit = setTimeout(end, timeoutMs)
    const connecting = setTimeout(end, connectMs)
    signal?.addEventListener('abort', end)
    if (signal?.aborted === true) end()
    const started = performance.now()
    const ended = (outcome: OutboundEvent['outcome']) =>
      this.#onEnd?.({ service, outcome, seconds: (performance.now() - started) / 1000 })
    try {
      const response = await sendDirectly(target, { headers, signal: ending.signal }, () => {
        clearTimeout(connecting)
        request.onConnect?.()
      })
      const limits = { maxBytes, signal: ending.signal }
      const answer = await answerOf(response, limits).finally(() => response.destroy())
      ended(outcomeOf(answer.status))
      return answer
    } catch (error) {
      ended(ending.signal.aborted ? 'timeout' : 'failed')
      const why = ending.signal.aborted ? 'time limit exceeded' : causeOf(error)
      throw new OutboundError(`Get ${named(target)}: ${why}`, { cause: error })
    } finally {
      clearTimeout(connecting)
      clearTimeout(limit)
      signal?.removeEventListener('abort', end)
    }
  }

  async #send(url: string, options: OutboundOptions, body: string | undefined): Promise<OutboundResponse> {
    const { caPem, timeoutMs = 10_000, maxBytes = 1024 ** 2, accept = 'application/json' } = options
    const { service = 'provider' } = options
    const limit = AbortSignal.timeout(timeoutMs)
    const signal = options.signal === undefined ? limit : AbortSignal.any([limit, options.signal])
    const ca = caPem === undefined || caPem === '' ? undefined : caCertificates(caPem)
    if (ca !== undefined && ca.length === 0)
      throw new OutboundError('could not parse CA PEM value successfully')
    const { serverNames = [] } = options
    const identity = serverNames.length === 0 ? {} : { checkServerIdentity: oneOf(serverNames) }
    const request = { verb: body === undefined ? 'Get' : 'Post', body, maxBytes, service }
    const headers = { ...options.headers, accept, ...ownHeaders }
    let target = parseUrl(url)
    for (let redirected = 0; ; redirected++) {
      const answer = await this.#once(target, { ca, ...identity, signal, headers }, request)
      const location = (body === undefined ? redirects : redirectsOfPost).has(answer.status)
        ? answer.headers.location
        : undefined
      if (location === undefined) return answer
      if (redirected === maxRedirects)
        throw new OutboundError(`${request.verb} ${named(target)}: stopped after ${maxRedirects} redirects`)
      target = redirectTarget(target, location, request.verb)
    }
  }

  async #once(
    target: URL,
    options: RequestOptions & Trust & { signal: AbortSignal },
    { verb, body, maxBytes, service }: OutboundBody,
  ): Promise<OutboundResponse> {
    const started = performance.now()
    const span = this.#trace?.({ service, method: verb.toUpperCase(), host: target.hostname })
    const ended = (outcome: OutboundEvent['outcome']) => {
      span?.end(outcome)
      this.#onEnd?.({ service, outcome, seconds: (performance.now() - started) / 1000 })
    }
    try {
      // a literal address is not looked up
      const address = parseAddress(bareHost(target))
      if (address !== undefined) this.#refuseDenied(address, bareHost(target))
      const response = await this.#exchange(
        target,
        { ...options, headers: { ...options.headers, ...span?.headers }, method: verb.toUpperCase() },
        body,
      )
      const limits = { maxBytes, signal: options.signal }
      const answer = await answerOf(response, limits).finally(() => response.destroy())
      ended(outcomeOf(answer.status))
      return answer
    } catch (error) {
      ended(options.signal.aborted ? 'timeout' : 'failed')
      throw new OutboundError(
        `${verb} ${named(target)}: ${options.signal.aborted ? 'time limit exceeded' : causeOf(error)}`,
        { cause: error },
      )
    }
  }

  /**
   * If two certificates have the same name, the peer's may be compared with the wrong one and refused before
   * anything is sent; then tries the others.
   */
  async #exchange(
    target: URL,
    options: RequestOptions & Trust,
    body: string | undefined,
  ): Promise<IncomingMessage> {
    const choices: readonly Trust[] =
      options.agent instanceof TlsAgent
        ? [options.agent, ...(this.#alternatives.get(options.agent) ?? [])].map((agent) => ({ agent }))
        : options.ca === undefined
          ? [{}]
          : trustChoices(options.ca).map((ca) => ({ ca }))
    for (const [index, choice] of choices.entries()) {
      try {
        return await this.#attempt(target, { ...options, ...choice }, body)
      } catch (error) {
        if (!isUntrusted(error) || index === choices.length - 1) throw error
      }
    }
    throw new Error('there is always one choice')
  }

  #attempt(target: URL, options: RequestOptions, body: string | undefined): Promise<IncomingMessage> {
    return new Promise((settle, reject) => {
      const proxied = target.protocol === 'https:' && this.#proxyAgent !== undefined
      const agent =
        options.agent ??
        (proxied ? new TlsAgent({ keepAlive: false, proxyEnv: this.#proxyAgent?.env }) : false)
      const send = target.protocol === 'https:' ? requestTls : requestPlain
      send(
        target,
        { ...options, agent, lookup: this.#lookup(proxied ? this.#proxyAgent?.host : undefined) },
        settle,
      )
        .on('error', reject)
        .on('close', () => reject(closed))
        .end(body)
    })
  }

  /** The proxy may be in a denied network, because the operator chose it. */
  #lookup(proxyHost: string | undefined): LookupFunction {
    return (hostname, options, done) => {
      resolve(hostname, { ...options, all: true }, (error, addresses) => {
        try {
          if (error !== null) throw error
          if (hostname !== proxyHost)
            for (const { address } of addresses) this.#refuseDenied(parseAddress(address), address)
          const first = addresses[0]
          if (first === undefined) throw new OutboundError('no such host')
          if (options.all === true) done(null, addresses)
          else done(null, first.address, first.family)
        } catch (cause) {
          done(cause instanceof Error ? cause : new Error('lookup failed'), [])
        }
      })
    }
  }

  /** Refuses an address that is in a denied network in any of its forms, or cannot be parsed. */
  #refuseDenied(address: Address | undefined, shown: string): void {
    if (address === undefined || reachableAddresses(address).some((reached) => this.#isDenied(reached)))
      throw new DeniedAddressError(`address ${shown} is in a denied network`)
  }
}

type AnswerLimits = { readonly maxBytes: number; readonly signal: AbortSignal }

/** An answer that switches protocols ends its connection, and is neither a response nor an error. */
const closed = new Error('connection closed')

const answerOf = async (response: IncomingMessage, limits: AnswerLimits): Promise<OutboundResponse> => ({
  status: response.statusCode ?? 0,
  statusText: response.statusMessage ?? '',
  headers: response.headers,
  body: await readBody(response, limits),
})

function sendDirectly(
  target: URL,
  { headers, signal }: { headers: Readonly<Record<string, string>>; signal: AbortSignal },
  connected: () => void,
): Promise<IncomingMessage> {
  return new Promise((settle, reject) => {
    const send = target.protocol === 'https:' ? requestTls : requestPlain
    // without an agent, the process's proxy settings do not apply
    send(target, { agent: false, signal, headers: { ...headers, ...ownHeaders } }, settle)
      .on('socket', (socket) => socket.once('connect', connected))
      .on('error', reject)
      .on('close', () => reject(closed))
      .end()
  })
}

/**
 * The certificates in a text of PEM blocks; skips other blocks and invalid ones. docs/contract/jwt.md#keys
 */
export function caCertificates(pem: string): string[] {
  const [begin, end] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----']
  const certificates: string[] = []
  for (let stop = 0; ; ) {
    const start = pem.indexOf(begin, stop)
    const last = start < 0 ? -1 : pem.indexOf(end, start)
    if (last < 0) return certificates
    stop = last + end.length
    const block = pem.slice(start, stop)
    if (isCertificate(block)) certificates.push(block)
  }
}

type OutboundBody = {
  readonly verb: string
  readonly body: string | undefined
  readonly maxBytes: number
  readonly service: OutboundService
}

function outcomeOf(status: number): OutboundEvent['outcome'] {
  if (status < 400) return 'ok'
  return status < 500 ? 'refused' : 'failed'
}

type Trust = {
  readonly agent?: Agent
  readonly ca?: string[] | undefined
  readonly checkServerIdentity?: typeof checkServerIdentity
}

/** Chain and time are checked elsewhere. */
const oneOf =
  (names: readonly string[]): typeof checkServerIdentity =>
  (_host, certificate) => {
    const problems = names.map((name) => checkServerIdentity(name, certificate))
    return problems.includes(undefined) ? undefined : problems[0]
  }

const maxChoices = 16

/** A certificate's name, as OpenSSL compares names: RFC 5280 §7.1. */
const nameIn = (pem: string): string => new X509Certificate(pem).subject.toLowerCase().replaceAll(/ +/g, ' ')

/**
 * The sets of authorities to try in turn. The first set contains all. OpenSSL builds a chain by names and, if
 * present, key identifiers; without those, it takes the first authority with a name as the issuer. Therefore
 * each further set contains one authority per name, such as a rotated one or its successor: in all
 * combinations or, if there are too many, the first of every name, then the second, and so on.
 */
function trustChoices(certificates: readonly string[]): string[][] {
  const all = [...new Set(certificates)]
  const byName = [...Map.groupBy(all, nameIn).values()]
  const combinations = byName.reduce((count, namesakes) => count * namesakes.length, 1)
  if (combinations === 1) return [all]
  const isFew = combinations <= maxChoices
  const count = isFew ? combinations : Math.min(maxChoices, Math.max(...byName.map(({ length }) => length)))
  const choices = Array.from({ length: count }, (_, at) => {
    let rest = at
    return byName.flatMap((namesakes) => {
      const index = rest % namesakes.length
      if (isFew) rest = Math.floor(rest / namesakes.length)
      return namesakes[index] ?? []
    })
  })
  return [all, ...choices]
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).serialNumber !== ''
  } catch {
    return false
  }
}

function parseUrl(text: string): URL {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new OutboundError('unsupported protocol scheme or invalid URL')
  return url
}

function redirectTarget(from: URL, location: string, verb: string): URL {
  const target = URL.parse(location, from)
  if (target === null || target.origin !== from.origin)
    throw new OutboundError(
      `${verb} ${named(from)}: redirect to another host refused${target === null ? '' : ` (${target.origin})`}`,
    )
  return target
}

const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '')

/** A URL as messages name it: without user information and query, which may hold secrets. */
export const named = (url: URL): string => `"${`${url.origin}${url.pathname}`.slice(0, maxNamed)}"`
const maxNamed = 1024

/** The size limit holds for what is received and, apart, for what comes out of each encoding. */
async function readBody(response: IncomingMessage, { maxBytes, signal }: AnswerLimits): Promise<Buffer> {
  const tooLarge = new AnswerTooLargeError(`answer is larger than ${maxBytes} bytes`)
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge
  const encodings = encodingsIn(response.headers['content-encoding'] ?? '')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    // without an encoding, a stream yields buffers
    const bytes = chunk as Buffer
    size += bytes.length
    if (size > maxBytes) throw tooLarge
    chunks.push(bytes)
  }
  let body: Buffer = Buffer.concat(chunks)
  if (size === 0) return body
  for (const encoding of encodings) {
    const decoded = await decode(body, encoding, maxBytes)
    signal.throwIfAborted()
    if (decoded === undefined) throw tooLarge
    body = decoded
  }
  return body
}
