import { X509Certificate } from 'node:crypto'
import { lookup as resolve } from 'node:dns'
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  request as requestPlain,
} from 'node:http'
import { Agent as TlsAgent, request as requestTls } from 'node:https'
import type { LookupFunction } from 'node:net'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import { StartError } from '../errors.ts'
import { causeOf } from './outbound-cause.ts'
import { type Address, parseAddress, reachableAddresses } from '../lib/address.ts'
import { networkSet } from '../lib/cidr.ts'

export type OutboundOptions = {
  /** PEM certificates that replace the system's roots for this request. */
  caPem?: string | undefined
  /** For all of it: names, redirects, body. */
  timeoutMs?: number
  maxBytes?: number
  signal?: AbortSignal | undefined
  accept?: string
  /** Beside `accept` and `user-agent`. */
  headers?: Readonly<Record<string, string>>
}

/** One request of any method; all of it within the time limit. */
export type OutboundExchange = {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body?: string | undefined
  /** From `connections`. */
  agent: TlsAgent
  timeoutMs: number
  maxBytes: number
  signal?: AbortSignal | undefined
}

export type OutboundResponse = {
  readonly status: number
  readonly statusText: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type OutboundRules = {
  /** Networks (`10.0.0.0/8`) and addresses that are never connected to. */
  deny: readonly string[]
  /** Proxy of https requests, and the hosts that do without. */
  httpsProxy?: string | undefined
  noProxy?: string | undefined
}

/** A request that got no usable answer. The text names host and cause, never user information of the URL. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
}

/** The cause where the address is in a denied network: nothing was sent. */
export class DeniedAddressError extends OutboundError {}

/** The cause where there was an answer, but too much of it. */
export class AnswerTooLargeError extends OutboundError {}

const maxRedirects = 3
/** Shorter than servers keep an idle connection, so that none is used while it is being closed. */
const idleConnectionMs = 4_000
const connectionsPerHost = 64
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** What is posted is sent again only where the answer says so; any other redirect is the answer. */
const redirectsOfPost: ReadonlySet<number> = new Set([307, 308])

/**
 * The one way out: over http and https, without cookies, with limits on time and size, and never to a denied
 * network. The address really connected to is the one checked, at each redirect anew; redirects stay on the
 * same scheme, host and port. Names are resolved by the system's resolver, which cannot be interrupted: the
 * request ends at its time limit all the same. Through a proxy, names are the proxy's to resolve.
 * docs/contract/jwt.md#limits, docs/settings.md
 */
export class OutboundClient {
  readonly #isDenied: (address: Address) => boolean
  readonly #proxyAgent: { env: Record<string, string>; host: string } | undefined
  /** Of an agent that `connections` gave: the agents that trust other authorities of the same names. */
  readonly #alternatives = new WeakMap<TlsAgent, readonly TlsAgent[]>()

  constructor({ deny, httpsProxy, noProxy }: OutboundRules) {
    this.#isDenied = networkSet(deny)
    if (httpsProxy !== undefined && httpsProxy !== '') {
      const proxy = URL.parse(httpsProxy.includes('://') ? httpsProxy : `http://${httpsProxy}`)
      if (proxy === null || !/^https?:$/.test(proxy.protocol))
        throw new StartError(2, 'HTTPS_PROXY: must be a URL like http://proxy:3128')
      this.#proxyAgent = { env: { HTTPS_PROXY: proxy.href, NO_PROXY: noProxy ?? '' }, host: bareHost(proxy) }
    }
  }

  /** Gives back any answer, whatever its status; throws `OutboundError`. */
  get(url: string, options: OutboundOptions = {}): Promise<OutboundResponse> {
    return this.#send(url, options, undefined)
  }

  /** As `get`; the headers must name the type of the body. */
  post(url: string, body: string, options: OutboundOptions = {}): Promise<OutboundResponse> {
    return this.#send(url, options, body)
  }

  /**
   * Connections that are kept for the next request, for services that are called all the time; under the same
   * rules. The certificates are trusted beside the system's own. An idle connection closes by itself and
   * keeps no process alive.
   */
  connections(caPem: string | undefined): TlsAgent {
    if (caPem === undefined) return this.#keptConnections({})
    const system = getCACertificates('default')
    const [agent, ...others] = trustChoices(caCertificates(caPem)).map((chosen) =>
      this.#keptConnections({ secureContext: createSecureContext({ ca: [...system, ...chosen] }) }),
    )
    if (agent === undefined) throw new Error('there is always one choice')
    this.#alternatives.set(agent, others)
    return agent
  }

  #keptConnections(trusted: { secureContext?: SecureContext }): TlsAgent {
    return new TlsAgent({
      ...trusted,
      keepAlive: true,
      timeout: idleConnectionMs,
      maxSockets: connectionsPerHost,
      lookup: this.#lookup(this.#proxyAgent?.host),
      proxyEnv: this.#proxyAgent?.env,
    })
  }

  /** Gives back any answer, a redirect too: none is followed. Throws `OutboundError`. https only. */
  async exchange({
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
    if (target.protocol !== 'https:') throw new OutboundError('unsupported protocol scheme or invalid URL')
    // a timer that is cleared: at thousands of requests a minute those of AbortSignal.timeout pile up
    const ending = new AbortController()
    const end = () => ending.abort()
    const timer = setTimeout(end, timeoutMs)
    signal?.addEventListener('abort', end)
    try {
      if (signal?.aborted === true) end()
      const options = { agent, headers: { ...headers, 'user-agent': 'gatehouse' }, signal: ending.signal }
      return await this.#once(target, options, { verb: method, body, maxBytes })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
    }
  }

  async #send(url: string, options: OutboundOptions, body: string | undefined): Promise<OutboundResponse> {
    const { caPem, timeoutMs = 10_000, maxBytes = 1024 ** 2, accept = 'application/json' } = options
    const limit = AbortSignal.timeout(timeoutMs)
    const signal = options.signal === undefined ? limit : AbortSignal.any([limit, options.signal])
    const ca = caPem === undefined || caPem === '' ? undefined : caCertificates(caPem)
    if (ca !== undefined && ca.length === 0)
      throw new OutboundError('could not parse CA PEM value successfully')
    const request = { verb: body === undefined ? 'Get' : 'Post', body, maxBytes }
    const headers = { ...options.headers, accept, 'user-agent': 'gatehouse' }
    let target = parseUrl(url)
    for (let redirected = 0; ; redirected++) {
      const answer = await this.#once(target, { ca, signal, headers }, request)
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
    { verb, body, maxBytes }: { verb: string; body: string | undefined; maxBytes: number },
  ): Promise<OutboundResponse> {
    try {
      // an address is connected to without a lookup
      const address = parseAddress(bareHost(target))
      if (address !== undefined) this.#refuseDenied(address, bareHost(target))
      const response = await this.#exchange(target, { ...options, method: verb.toUpperCase() }, body)
      try {
        return {
          status: response.statusCode ?? 0,
          statusText: response.statusMessage ?? '',
          headers: response.headers,
          body: await readBody(response, maxBytes),
        }
      } finally {
        response.destroy()
      }
    } catch (error) {
      throw new OutboundError(
        `${verb} ${named(target)}: ${options.signal.aborted ? 'time limit exceeded' : causeOf(error)}`,
        { cause: error },
      )
    }
  }

  /**
   * A signature fails before anything is sent where two authorities have one name: then the others of that
   * name have their turn.
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
        if (!isWrongSignature(error) || index === choices.length - 1) throw error
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
        .end(body)
    })
  }

  /** The operator chose the proxy: it may be in a denied network. */
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

  /** Refuses an address that leads into a denied network in any of its forms, and one that cannot be read. */
  #refuseDenied(address: Address | undefined, shown: string): void {
    if (address === undefined || reachableAddresses(address).some((reached) => this.#isDenied(reached)))
      throw new DeniedAddressError(`address ${shown} is in a denied network`)
  }
}

/**
 * The certificates of a text of PEM blocks; other blocks and what does not parse are left out.
 * docs/contract/jwt.md#keys
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

type Trust = { readonly agent?: TlsAgent; readonly ca?: string[] | undefined }

const mostChoices = 16

/**
 * The sets of authorities to trust in turn. The first has all. A chain is built by the names in it, and by
 * key identifiers where certificates have them; without those, the first authority of a name is taken for its
 * issuer. So of authorities with one name, as a rotated one has beside its successor, each further set has
 * one: in all combinations, or, where these are too many, the first of every name, then the second, and so
 * on.
 */
function trustChoices(certificates: readonly string[]): string[][] {
  const all = [...new Set(certificates)]
  const byName = [...Map.groupBy(all, (pem) => new X509Certificate(pem).subject).values()]
  const combinations = byName.reduce((count, namesakes) => count * namesakes.length, 1)
  if (combinations === 1) return [all]
  const isFew = combinations <= mostChoices
  const count = isFew ? combinations : Math.min(mostChoices, Math.max(...byName.map(({ length }) => length)))
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

const isWrongSignature = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'CERT_SIGNATURE_FAILURE'

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

const named = (url: URL): string => `"${`${url.origin}${url.pathname}`.slice(0, maxNamed)}"`
const maxNamed = 1024

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = new AnswerTooLargeError(`answer is larger than ${maxBytes} bytes`)
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    // without an encoding set, a response gives buffers
    const bytes = chunk as Buffer
    size += bytes.length
    if (size > maxBytes) throw tooLarge
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}
