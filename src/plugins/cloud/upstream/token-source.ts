import { z } from 'zod'
import { Buckets } from '../../../lib/buckets.ts'
import type { Clock } from '../../../lib/clock.ts'
import { jsonOf } from './answer.ts'
import { classify } from './classification.ts'
import { withRetries, type Waiting } from './retry.ts'
import type { FreshToken, Login } from './transport.ts'
import type { UpstreamCall } from './upstream-call.ts'
import { UpstreamError } from './upstream-error.ts'

export type TokenResource = 'directory' | 'resource-manager'

/** What the directory says about the engine's own identity. */
export type TokenClaims = {
  readonly appId: string | undefined
  readonly objectId: string | undefined
  readonly roles: readonly string[]
}

/** Access tokens of the root credential. Throws `UpstreamError` only. */
export type TokenSource = {
  /**
   * Kept until shortly before its end; callers at the same time share one request, and for 2 s the refusal of
   * a credential.
   */
  token(resource: TokenResource, call: UpstreamCall): Promise<string>
  /**
   * One request, with the rights and the secret of this moment; its token is kept in the place of the former,
   * which stays when this fails.
   */
  fresh(resource: TokenResource, call: UpstreamCall): Promise<string>
  /** The claims of the kept token, read, not verified: it comes from its issuer directly. */
  claims(resource: TokenResource, call: UpstreamCall): Promise<TokenClaims>
  /** The kept tokens are not used again; with a token, only if it is still the kept one. */
  invalidate(token?: string): void
  /**
   * It lacks a permission, which may be granted by now: the next request has a new one. Where that goes on, a
   * new one comes each 2 s only.
   */
  denied(token: string): void
  /**
   * One request, never from a cache: true when the login service gives a token for this secret, false when it
   * does not (yet) know client or secret.
   */
  proveSecret(clientId: string, secret: string, resource: TokenResource, call: UpstreamCall): Promise<boolean>
}

export type TokenSourceParts = {
  readonly login: Login
  readonly credential: { readonly clientId: string; readonly secret: string }
  readonly scopes: Readonly<Record<TokenResource, string>>
  readonly waiting: Waiting
  /** Ends what is asked for on behalf of several callers, whose own signals do not. */
  readonly stopping?: AbortSignal | undefined
}

/** A token is used until this long before its end, or half its life, whichever is shorter. */
const marginMs = 300_000
/** What a shared request may take, whoever waits for it. */
const sharedRequestMs = 60_000
/**
 * So long nobody asks again for what was refused, be it the credential or a permission of its token:
 * thousands of leases may end at a time.
 */
const refusalMs = 2_000
/** One refused credential, with what undoes it, drops a few tokens. */
const dropsAtOnce = 10

const payload = z.object({
  appid: z.string().optional().catch(undefined),
  azp: z.string().optional().catch(undefined),
  oid: z.string().optional().catch(undefined),
  roles: z.array(z.string()).catch([]),
})

export class RootTokens implements TokenSource {
  readonly #parts: TokenSourceParts
  readonly #clock: Clock
  readonly #kept = new Map<TokenResource, { token: string; until: number }>()
  readonly #running = new Map<TokenResource, Promise<string>>()
  #refusal: { readonly error: UpstreamError; readonly at: number } | undefined
  readonly #drops: Buckets

  constructor(parts: TokenSourceParts) {
    this.#parts = parts
    this.#clock = parts.waiting.clock
    this.#drops = new Buckets(this.#clock, { capacity: dropsAtOnce, refillMs: refusalMs })
  }

  async token(resource: TokenResource, call: UpstreamCall): Promise<string> {
    const kept = this.#kept.get(resource)
    if (kept !== undefined && kept.until > this.#clock.now()) return kept.token
    const refusal = this.#refusal
    if (refusal !== undefined && Math.abs(this.#clock.now() - refusal.at) < refusalMs) throw refusal.error
    return await within(
      call,
      this.#clock,
      this.#running.get(resource) ?? this.#request(resource, call.correlationId),
    )
  }

  async fresh(resource: TokenResource, call: UpstreamCall): Promise<string> {
    return await within(call, this.#clock, this.#request(resource, call.correlationId))
  }

  async claims(resource: TokenResource, call: UpstreamCall): Promise<TokenClaims> {
    return claimsOf(await this.token(resource, call))
  }

  invalidate(token?: string): void {
    for (const [resource, kept] of this.#kept)
      if (token === undefined || kept.token === token) this.#kept.delete(resource)
    // who asks from now on does not get what was asked for before
    if (token === undefined) {
      this.#running.clear()
      this.#refusal = undefined
    }
  }

  denied(token: string): void {
    const now = this.#clock.now()
    for (const [resource, kept] of this.#kept) {
      // of all that were refused with one token the first has dropped it
      if (kept.token !== token || kept.until <= now) continue
      const until = this.#drops.take(resource) ? now : now + refusalMs
      this.#kept.set(resource, { token, until: Math.min(kept.until, until) })
    }
  }

  async proveSecret(
    clientId: string,
    secret: string,
    resource: TokenResource,
    call: UpstreamCall,
  ): Promise<boolean> {
    const { login, scopes, waiting } = this.#parts
    try {
      await withRetries(waiting, call, 'token', () => login({ clientId, secret }, scopes[resource], call))
      return true
    } catch (error) {
      if (isRefusal(error)) return false
      throw error
    }
  }

  #request(resource: TokenResource, correlationId: string): Promise<string> {
    const { login, credential, scopes, waiting, stopping } = this.#parts
    const call = { deadline: this.#clock.now() + sharedRequestMs, correlationId, signal: stopping }
    const running: Promise<string> = withRetries(waiting, call, 'token', async () => {
      const askedAt = this.#clock.now()
      return { ...(await login(credential, scopes[resource], call)), askedAt }
    })
      .then(({ token, lifetimeMs, askedAt }) => {
        const until = keptUntil({ token, lifetimeMs }, askedAt)
        if (this.#running.get(resource) === running) {
          this.#kept.set(resource, { token, until })
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

/** Read, not verified. */
export function claimsOf(token: string): TokenClaims {
  const [, part = ''] = token.split('.')
  const { data } = payload.safeParse(jsonOf(Buffer.from(part, 'base64url')))
  return { appId: data?.appid ?? data?.azp, objectId: data?.oid, roles: data?.roles ?? [] }
}

const isRefusal = (error: unknown): error is UpstreamError =>
  error instanceof UpstreamError && classify(error).kind === 'credential'

const keptUntil = ({ lifetimeMs }: FreshToken, askedAt: number): number =>
  askedAt + lifetimeMs - Math.min(marginMs, lifetimeMs / 2)

/** The request goes on for the others when this caller's time is over. */
async function within<Result>(call: UpstreamCall, clock: Clock, shared: Promise<Result>): Promise<Result> {
  const limit = AbortSignal.timeout(Math.max(0, call.deadline - clock.now()))
  const signal = call.signal === undefined ? limit : AbortSignal.any([limit, call.signal])
  const { promise, reject } = Promise.withResolvers<never>()
  const giveUp = () => {
    const [code, text] =
      call.signal?.aborted === true
        ? ['cancelled', 'context canceled']
        : ['deadline_exceeded', 'context deadline exceeded']
    reject(
      new UpstreamError({
        service: 'login',
        operation: 'token',
        status: 0,
        code,
        text,
        cause: signal.reason,
      }),
    )
  }
  signal.addEventListener('abort', giveUp)
  // nobody else may hear of it
  promise.catch(() => {})
  try {
    if (signal.aborted) giveUp()
    return await Promise.race([shared, promise])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}
