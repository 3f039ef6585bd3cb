import {
  type OutboundClient,
  OutboundError,
  type OutboundOptions,
  type OutboundResponse,
} from '../../../core/outbound/outbound.ts'
import { excerpt } from '../../../lib/text/go-text.ts'
import { parseFinite } from '../../../lib/text/json.ts'
import { redactSecrets } from '../../../logins/refusals/redact.ts'

/** What a provider's hook may use to fetch more than a token says. */
export type ProviderAccess = {
  readonly outbound: OutboundClient
  /** PEM roots to trust for the provider; "" for the system's. */
  readonly caPem: string
  /** Undefined if the login has none: an ID token came without a code. */
  readonly accessToken: string | undefined
  readonly signal: AbortSignal | undefined
  /** The role's claim that names the person. */
  readonly userClaim: string
  /** Milliseconds since the epoch. */
  now(): number
}

/** Most requests for one person: pages and nested groups together. */
const usualMaxCalls = 100
const maxTimeMs = 30_000

/** A directory failed. The message is for the operator, because it may repeat the directory's response. */
export class DirectoryError extends Error {
  override readonly name: string = 'DirectoryError'
}

/** The claims do not identify the person. They are the caller's own, so the caller may see the message. */
export class UnknownPersonError extends DirectoryError {
  override readonly name = 'UnknownPersonError'
}

/** What a caller is told, whatever the directory responded. */
export const directoryUnavailable = 'the directory of the provider is unavailable'

/** Most groups per person. */
const maxGroups = 20_000

/** Adds a page to the groups found. Throws `DirectoryError` if there are too many. */
export function addPage<T>(found: T[], page: readonly T[]): void {
  if (found.length + page.length > maxGroups) throw new DirectoryError(`more than ${maxGroups} groups`)
  for (const item of page) found.push(item)
}

type CallOptions = Pick<OutboundOptions, 'caPem' | 'headers'>

/**
 * The requests of one login to a directory. They are limited in number and to 30 seconds together, and end
 * when the caller is gone.
 */
export class ProviderCalls {
  readonly #access: ProviderAccess
  readonly #signal: AbortSignal
  readonly #maxCalls: number
  #made = 0

  constructor(access: ProviderAccess, maxCalls = usualMaxCalls) {
    this.#access = access
    this.#maxCalls = maxCalls
    const limit = AbortSignal.timeout(maxTimeMs)
    this.#signal = access.signal === undefined ? limit : AbortSignal.any([limit, access.signal])
  }

  get(url: string, options: CallOptions): Promise<OutboundResponse> {
    return this.#counted(() => this.#access.outbound.get(url, { ...options, signal: this.#signal }))
  }

  post(url: string, body: string, options: CallOptions): Promise<OutboundResponse> {
    return this.#counted(() => this.#access.outbound.post(url, body, { ...options, signal: this.#signal }))
  }

  async #counted(ask: () => Promise<OutboundResponse>): Promise<OutboundResponse> {
    if (this.#made === this.#maxCalls)
      throw new DirectoryError(`asked ${this.#maxCalls} times, and there is more`)
    this.#made += 1
    return asked(ask)
  }
}

/** The response to a request. Throws `DirectoryError` if there is none. */
export async function asked(ask: () => Promise<OutboundResponse>): Promise<OutboundResponse> {
  try {
    return await ask()
  } catch (error) {
    throw error instanceof OutboundError ? new DirectoryError(error.message, { cause: error }) : error
  }
}

/** The beginning of a response for the operator, without the secrets that were sent. */
export const shownBody = ({ body }: OutboundResponse, ...sent: readonly string[]): string =>
  excerpt(redactSecrets(...sent)(body.toString('utf8')))

/** An id as one path segment; undefined if it would lead elsewhere. */
export const pathStep = (id: string): string | undefined =>
  /^\.{0,2}$/.test(id) ? undefined : encodeURIComponent(id)

/** The JSON of a response. Throws `DirectoryError`. */
export function jsonOf({ body }: OutboundResponse): unknown {
  try {
    return parseFinite(body.toString('utf8'))
  } catch (error) {
    throw new DirectoryError('answer is not JSON', { cause: error })
  }
}

/** An own member, if the value is an object. */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.getOwnPropertyDescriptor(value, name)?.value
}

/** The text of a member; "" for anything else. */
export function textMember(value: unknown, name: string): string {
  const text = member(value, name)
  return typeof text === 'string' ? text : ''
}
