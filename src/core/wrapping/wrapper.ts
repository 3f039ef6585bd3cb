import { Buffer } from 'node:buffer'
import { refuse } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { formatTime } from '../../lib/text/time.ts'
import { inCore, type View, type ViewEntry } from '../barrier/view.ts'
import type { Mount } from '../mounts/mount.ts'
import { Changes } from '../records/change.ts'
import { type Token, wrappingPolicy } from '../tokens/store/token.ts'
import { type Minted, orphanDraft, type TokenStore } from '../tokens/store/token-store.ts'
import type { Cubbyholes } from './cubbyholes.ts'

export type WrapperParts = {
  readonly tokens: TokenStore
  readonly cubbyholes: Cubbyholes
  /** The storage root, with plain numbers: a token and its cubbyhole are written in one step. */
  readonly root: View
  readonly clock: Clock
  /** The mount `auth/token/` of a namespace. */
  tokenMountOf(namespace: string): Mount | undefined
  /** Deletes a spent token in the background and reports failures itself. */
  discard(accessor: string): void
}

/** A response behind a wrapping token. */
export type WrappedResponse = {
  readonly body: string
  /** 404 for a response that says what is known of something that is gone. */
  readonly status: 200 | 404
}

/** A response to wrap. */
export type WrapRequest = WrappedResponse & {
  /** Id of the namespace of the request. */
  readonly namespace: string
  /** Path of the request. */
  readonly path: string
  /** Seconds; fractions are allowed. */
  readonly ttl: number
  /** Accessor of the token, or of the secret id, in the response; empty without one. */
  readonly wrappedAccessor: string
}

/** The `wrap_info` that replaces the response. docs/contract/wrapping.md#wrapping */
export type WrapInfo = {
  token: string
  accessor: string
  ttl: number
  creation_time: string
  creation_path: string
  wrapped_accessor?: string
}

/** The information about a wrapped response that its token's holder can look up. */
export type WrapOrigin = Pick<WrapInfo, 'creation_time' | 'creation_path'> & { creation_ttl: number }

const responseEntry = 'response'
const originEntry = 'wrapinfo'

/** A list of a hundred thousand long names fits. */
const maxWrappedBytes = 16 * 1024 * 1024

/** The token is unknown, used, expired or not a wrapping token. docs/contract/wrapping.md#calls */
export const notAWrappingToken = () =>
  refuse('invalid', 'wrapping token is not valid or does not exist', { reason: 'wrapping_token_invalid' })

/**
 * Response wrapping: stores a response in the cubbyhole of a new single-use token.
 * docs/contract/wrapping.md#wrapping
 */
export class Wrapper {
  readonly #parts: WrapperParts
  readonly #changes: Changes

  constructor(parts: WrapperParts) {
    this.#parts = parts
    this.#changes = new Changes({ view: parts.root, tooMany: 'too many changes to one token at a time' })
  }

  /**
   * Wraps a response. Token and content are written together. Throws `invalid` if the response is too large.
   */
  async wrap({ wrappedAccessor, ...request }: WrapRequest): Promise<WrapInfo> {
    if (Buffer.byteLength(request.body) > maxWrappedBytes) {
      throw refuse('invalid', `the response is too large to wrap: at most ${maxWrappedBytes} bytes`)
    }
    const { minted, entries, info } = this.#prepared(request)
    await this.#parts.root.write(entries)
    this.#parts.tokens.remember(minted)
    return wrappedAccessor === '' ? info : { ...info, wrapped_accessor: wrappedAccessor }
  }

  /** The valid wrapping token with this id. */
  async find(id: string): Promise<Token | undefined> {
    const token = await this.#parts.tokens.lookup(id)
    return token !== undefined && isWrapping(token) ? token : undefined
  }

  /** Throws `invalid` for a token that has been used in the meantime. */
  async origin(token: Token): Promise<WrapOrigin> {
    const origin = await this.#entry(token, originEntry)
    if (!isOrigin(origin)) throw notAWrappingToken()
    const { creation_ttl, creation_time, creation_path } = origin
    return { creation_ttl, creation_time, creation_path }
  }

  /**
   * Spends the token and returns the wrapped response. Only one of several callers gets it; the others get
   * `invalid`.
   */
  async unwrap(token: Token): Promise<WrappedResponse> {
    const used = await this.#parts.tokens.spendUse(token)
    if (used === undefined) throw notAWrappingToken()
    const response = await this.spentResponse(used)
    this.#parts.discard(token.accessor)
    return response
  }

  /** The wrapped response of a token whose only use was spent by this request. */
  async spentResponse(token: Token): Promise<WrappedResponse> {
    const entry = await this.#entry(token, responseEntry)
    if (
      typeof entry !== 'object' ||
      entry === null ||
      !('response' in entry) ||
      typeof entry.response !== 'string'
    )
      throw notAWrappingToken()
    return { body: entry.response, status: 'status' in entry && entry.status === 404 ? 404 : 200 }
  }

  /**
   * Moves a wrapped response to a new token and spends the old one, in one write. The TTL is the old one or,
   * if shorter, `requestedTtl` (0: none).
   */
  async rewrap(token: Token, requestedTtl: number): Promise<WrapInfo> {
    const { tokens } = this.#parts
    const hash = tokens.keys.hashOf(token.accessor)
    return await this.#changes.runUnordered(async (write) => {
      const stored = await tokens.tokenByHash(hash)
      if (stored === undefined || stored.token.num_uses < 1 || tokens.isExpired(stored.token))
        throw notAWrappingToken()
      const { creation_ttl, creation_path } = await this.origin(stored.token)
      const { minted, entries, info } = this.#prepared({
        namespace: token.namespace,
        path: creation_path,
        ttl: requestedTtl > 0 ? Math.min(requestedTtl, creation_ttl) : creation_ttl,
        ...(await this.spentResponse(stored.token)),
      })
      await write([...tokens.lastUse(stored).entries.map(inCore), ...entries])
      tokens.remember(minted)
      this.#parts.discard(token.accessor)
      return info
    })
  }

  #prepared({ namespace, path, ttl, body, status }: Omit<WrapRequest, 'wrappedAccessor'>): {
    minted: Minted
    entries: ViewEntry[]
    info: WrapInfo
  } {
    const { tokens, cubbyholes, tokenMountOf } = this.#parts
    const mount = tokenMountOf(namespace)
    if (mount === undefined) throw refuse('missing', 'namespace not found')
    // at least one second: a TTL of 0 would mean no expiry
    const seconds = Math.max(1, Math.floor(ttl))
    const minted = tokens.mint({
      ...orphanDraft(mount),
      policies: [wrappingPolicy],
      path,
      num_uses: 1,
      ttl: seconds,
      explicit_max_ttl: seconds,
    })
    const cubbyhole = cubbyholes.of(minted.token, namespace)
    if (cubbyhole === undefined) throw refuse('missing', 'namespace not found')
    const origin: WrapOrigin = {
      creation_ttl: Math.floor(ttl),
      creation_time: formatTime(minted.token.creation_time),
      creation_path: path,
    }
    const entries: ViewEntry[] = [
      ...minted.entries.map(inCore),
      {
        key: cubbyhole.fullKeyOf(responseEntry),
        value: { response: body, ...(status === 200 ? {} : { status }) },
        isUncopied: true,
      },
      { key: cubbyhole.fullKeyOf(originEntry), value: origin, isUncopied: true },
    ]
    const { creation_ttl, ...rest } = origin
    return {
      minted,
      entries,
      info: { token: minted.id, accessor: minted.token.accessor, ttl: creation_ttl, ...rest },
    }
  }

  async #entry(token: Token, name: string): Promise<unknown> {
    const cubbyhole = this.#parts.cubbyholes.of(token, token.namespace)
    return cubbyhole === undefined ? undefined : this.#parts.root.get(cubbyhole.fullKeyOf(name))
  }
}

/**
 * Whether a token is a wrapping token: no other token can have this policy.
 * docs/contract/tokens-and-policies.md#built-in-policies
 */
export const isWrapping = ({ policies }: Token): boolean =>
  policies.length === 1 && policies[0] === wrappingPolicy

function isOrigin(value: unknown): value is WrapOrigin {
  return (
    typeof value === 'object' &&
    value !== null &&
    'creation_ttl' in value &&
    'creation_time' in value &&
    'creation_path' in value
  )
}
