import { z } from 'zod'
import { Buckets } from '../../../lib/concurrency/buckets.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import { parsedJson } from '../../../lib/text/json.ts'
import type { Login } from '../sign-in/open-login.ts'
import { classify } from './classification.ts'
import { cancelled, deadlineExceeded, type Waiting, withRetries } from './retry.ts'
import type { Exchange, Proof } from './transport.ts'
import { type UpstreamCall, UpstreamError } from './upstream-error.ts'

export type TokenResource = 'directory' | 'resource-manager'

export type TokenClaims = {
  readonly appId: string | undefined
  readonly objectId: string | undefined
  readonly roles: readonly string[]
}

export type TokenSourceParts = {
  readonly login: Login
  readonly exchange: Exchange
  readonly scopes: Readonly<Record<TokenResource, string>>
  readonly waiting: Waiting
  /** Ends requests that several callers share, which their own signals do not. */
  readonly stopping?: AbortSignal | undefined
}

/** A token is dropped this long before it expires, or after half its life if that is later. */
const marginMs = 300_000
const sharedRequestMs = 75_000
/** A refusal of the credential or a permission is not checked again: thousands of leases may expire at a time. */
const refusalMs = 2_000
/** How many tokens may be dropped in a row: a refused credential and its undo drop a few. */
const dropsAtOnce = 10

const payload = z.object({
  appid: z.string().optional().catch(undefined),
  azp: z.string().optional().catch(undefined),
  oid: z.string().optional().catch(undefined),
  roles: z.array(z.string()).catch([]),
})

/** Access tokens of the root credential. Throws `UpstreamError` only. */
export class RootTokens {
  readonly #parts: TokenSourceParts
  readonly #clock: Clock
  readonly #cached = new Map<TokenResource, { token: string; until: number }>()
  readonly #running = new Map<TokenResource, Promise<string>>()
  #refusal: { readonly error: UpstreamError; readonly at: number } | undefined
  readonly #drops: Buckets

  constructor(parts: TokenSourceParts) {
    this.#parts = parts
    this.#clock = parts.waiting.clock
    this.#drops = new Buckets(this.#clock, { capacity: dropsAtOnce, refillMs: refusalMs })
  }

  /**
   * Cached until shortly before it expires; callers share a request. The refusal of a credential is cached for 2 s.
   */
  async token(resource: TokenResource, call: UpstreamCall): Promise<string> {
    const cached = this.#cached.get(resource)
    if (cached !== undefined && cached.until > this.#clock.now()) return cached.token
    const refusal = this.#refusal
    if (refusal !== undefined && Math.abs(this.#clock.now() - refusal.at) < refusalMs) throw refusal.error
    const running = this.#running.get(resource) ?? this.#request(resource, call.correlationId)
    return await within(call, this.#clock, running)
  }

  /** Requests a new token, with the current permissions and secret, and caches it. A failure keeps the cached one. */
  async fresh(resource: TokenResource, call: UpstreamCall): Promise<string> {
    return await within(call, this.#clock, this.#request(resource, call.correlationId))
  }

  /** The claims of the cached token, not verified, because it comes directly from its issuer. */
  async claims(resource: TokenResource, call: UpstreamCall): Promise<TokenClaims> {
    return claimsOf(await this.token(resource, call))
  }

  /** Drops the cached tokens, or only this one if it is still cached. */
  invalidate(token?: string): void {
    for (const [resource, cached] of this.#cached)
      if (token === undefined || cached.token === token) this.#cached.delete(resource)
    // later callers must not get the result of a request that is running now
    if (token === undefined) {
      this.#running.clear()
      this.#refusal = undefined
    }
  }

  /** Drops a token that lacks a permission, which may be granted by now; if this happens often, every 2 s only. */
  denied(token: string): void {
    const now = this.#clock.now()
    for (const [resource, cached] of this.#cached) {
      // another refusal has dropped this token already
      if (cached.token !== token || cached.until <= now) continue
      const until = this.#drops.take(resource) ? now : now + refusalMs
      this.#cached.set(resource, { token, until: Math.min(cached.until, until) })
    }
  }

  /** Never from a cache. False if the login service does not know the client or the proof (yet). */
  async prove(clientId: string, proof: Proof, resource: TokenResource, call: UpstreamCall): Promise<boolean> {
    const { exchange, scopes, waiting } = this.#parts
    try {
      await withRetries(waiting, call, 'token', () => exchange({ clientId, proof }, scopes[resource], call))
      return true
    } catch (error) {
      if (isRefusal(error)) return false
      throw error
    }
  }

  #request(resource: TokenResource, correlationId: string): Promise<string> {
    const { login, scopes, waiting, stopping } = this.#parts
    const call = { deadline: this.#clock.now() + sharedRequestMs, correlationId, signal: stopping }
    const running: Promise<string> = withRetries(waiting, call, 'token', async () => {
      const askedAt = this.#clock.now()
      return { ...(await login(scopes[resource], call)), askedAt }
    })
      .then(({ token, lifetimeMs, askedAt }) => {
        const until = askedAt + lifetimeMs - Math.min(marginMs, lifetimeMs / 2)
        if (this.#running.get(resource) === running) {
          this.#cached.set(resource, { token, until })
          this.#refusal = undefined
        }
        return token
      })
      .catch((error: unknown) => {
        if (this.#running.get(resource) === running && isRefusal(error))
          this.#refusal = { error, at: this.#clock.now() }
        throw error
      })
      .finally(() => {
        if (this.#running.get(resource) === running) this.#running.delete(resource)
      })
    this.#running.set(resource, running)
    return running
  }
}

export function claimsOf(token: string): TokenClaims {
  const [, part = ''] = token.split('.')
  const { data } = payload.safeParse(parsedJson(Buffer.from(part, 'base64url').toString()))
  return { appId: data?.appid ?? data?.azp, objectId: data?.oid, roles: data?.roles ?? [] }
}

const isRefusal = (error: unknown): error is UpstreamError =>
  error instanceof UpstreamError && classify(error).kind === 'credential'

/** Waits for a shared request within one caller's deadline. The request continues for the other callers. */
async function within<Result>(call: UpstreamCall, clock: Clock, shared: Promise<Result>): Promise<Result> {
  const limit = AbortSignal.timeout(Math.max(0, call.deadline - clock.now()))
  const signal = call.signal === undefined ? limit : AbortSignal.any([limit, call.signal])
  const { promise, reject } = Promise.withResolvers<never>()
  const giveUp = () => {
    const [code, text] =
      call.signal?.aborted === true
        ? [cancelled, 'context canceled']
        : [deadlineExceeded, 'context deadline exceeded']
    const cause: unknown = signal.reason
    reject(new UpstreamError({ service: 'login', operation: 'token', status: 0, code, text, cause }))
  }
  signal.addEventListener('abort', giveUp)
  // prevents an unhandled rejection
  promise.catch(() => {})
  try {
    if (signal.aborted) giveUp()
    return await Promise.race([shared, promise])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}
