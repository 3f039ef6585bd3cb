import { Buffer } from 'node:buffer'
import { fail, refuse } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { formatTime } from '../../lib/time.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import type { Mount } from '../mounts/mount.ts'
import { writeAttempts } from '../stored-record.ts'
import type { Token } from '../tokens/token.ts'
import type { Minted, TokenStore } from '../tokens/token-store.ts'
import type { Cubbyholes } from './cubbyholes.ts'

export type WrapperParts = {
  readonly tokens: TokenStore
  readonly cubbyholes: Cubbyholes
  /** Everything stored, numbers plain: a token and its cubbyhole are written in one step. */
  readonly root: View
  readonly clock: Clock
  /** The mount `auth/token/` of a namespace. */
  tokenMountOf(namespace: string): Mount | undefined
  /** Takes a spent token away, behind the answer; a failure is its own to report. */
  discard(accessor: string): void
}

/** An answer to be kept behind a token. */
export type WrapRequest = {
  /** Id of the namespace of the request. */
  readonly namespace: string
  /** Path of the request. */
  readonly path: string
  /** Seconds; part of one is a wish too. */
  readonly ttl: number
  readonly body: string
  /** Accessor of the token in the answer; empty without one. */
  readonly wrappedAccessor: string
}

/** What stands in place of the answer. docs/contract/wrapping.md#wrapping */
export type WrapInfo = {
  token: string
  accessor: string
  ttl: number
  creation_time: string
  creation_path: string
  wrapped_accessor?: string
}

/** What is told of a wrapped answer to who holds its token. */
export type WrapOrigin = Pick<WrapInfo, 'creation_time' | 'creation_path'> & { creation_ttl: number }

const policy = 'response-wrapping'
const responseEntry = 'response'
const originEntry = 'wrapinfo'

/** Longer answers are not kept behind a token: a list of a hundred thousand long names still fits. */
const maxWrappedBytes = 16 * 1024 * 1024

/** The token is unknown, used, expired, or no wrapping token. docs/contract/wrapping.md#calls */
export const notAWrappingToken = () => refuse('invalid', 'wrapping token is not valid or does not exist', { reason: 'wrapping_token_invalid' })

/** Response wrapping: an answer is kept in the cubbyhole of a fresh token of one use. docs/contract/wrapping.md#wrapping */
export class Wrapper {
  readonly #parts: WrapperParts

  constructor(parts: WrapperParts) {
    this.#parts = parts
  }

  /** Keeps an answer; token and content are one write, so that there is never one without the other. */
  async wrap({ namespace, path, ttl, body, wrappedAccessor }: WrapRequest): Promise<WrapInfo> {
    if (Buffer.byteLength(body) > maxWrappedBytes) {
      throw refuse('invalid', `the answer is too large to be wrapped: at most ${maxWrappedBytes} bytes`)
    }
    const { minted, entries, info } = this.#prepared({ namespace, path, ttl, body })
    await this.#parts.root.write(entries)
    this.#parts.tokens.remember(minted.token)
    return wrappedAccessor === '' ? info : { ...info, wrapped_accessor: wrappedAccessor }
  }

  /** The valid wrapping token of this id. */
  async find(id: string): Promise<Token | undefined> {
    const token = await this.#parts.tokens.lookup(id)
    return token !== undefined && isWrapping(token) ? token : undefined
  }

  /** Throws for a token that has been used meanwhile. */
  async origin(token: Token): Promise<WrapOrigin> {
    const origin = await this.#entry(token, originEntry)
    if (!isOrigin(origin)) throw notAWrappingToken()
    const { creation_ttl, creation_time, creation_path } = origin
    return { creation_ttl, creation_time, creation_path }
  }

  /** Uses the token up and gives the answer behind it; of several callers one gets it, the others are refused. */
  async unwrap(token: Token): Promise<string> {
    const spent = await this.#parts.tokens.spendUse(token)
    if (spent === undefined) throw notAWrappingToken()
    const body = await this.spentBody(spent)
    this.#parts.discard(token.accessor)
    return body
  }

  /** The answer behind a token whose one use this very request has taken. */
  async spentBody(token: Token): Promise<string> {
    const kept = await this.#entry(token, responseEntry)
    if (typeof kept !== 'object' || kept === null || !('response' in kept) || typeof kept.response !== 'string') throw notAWrappingToken()
    return kept.response
  }

  /**
   * The same answer behind another token, of the same TTL or the shorter one that is wished (0: none is); the old token is used up. One write, so that
   * the answer is always behind one of them.
   */
  async rewrap(token: Token, wish: number): Promise<WrapInfo> {
    const { tokens, root } = this.#parts
    const hash = tokens.keys.hashOf(token.accessor)
    for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
      const stored = await tokens.tokenByHash(hash)
      if (stored === undefined || stored.token.num_uses < 1 || tokens.isExpired(stored.token)) throw notAWrappingToken()
      const { creation_ttl, creation_path } = await this.origin(stored.token)
      const { minted, entries, info } = this.#prepared({
        namespace: token.namespace,
        path: creation_path,
        ttl: wish > 0 ? Math.min(wish, creation_ttl) : creation_ttl,
        body: await this.spentBody(stored.token),
      })
      const spending = tokens.lastUse(stored).entries.map(inCore)
      if (!(await root.write([...spending, ...entries]))) continue
      tokens.remember(minted.token)
      this.#parts.discard(token.accessor)
      return info
    }
    throw fail('unavailable', 'too many changes to one token at a time')
  }

  #prepared({ namespace, path, ttl, body }: Omit<WrapRequest, 'wrappedAccessor'>): { minted: Minted; entries: ViewEntry[]; info: WrapInfo } {
    const { tokens, cubbyholes, tokenMountOf } = this.#parts
    const mount = tokenMountOf(namespace)
    if (mount === undefined) throw refuse('missing', 'namespace not found')
    // no token lives for less than a second, and none of no TTL at all is meant
    const seconds = Math.max(1, Math.floor(ttl))
    const minted = tokens.mint({
      parent: '',
      namespace,
      policies: [policy],
      path,
      meta: null,
      display_name: '',
      num_uses: 1,
      ttl: seconds,
      explicit_max_ttl: seconds,
      period: 0,
      entity_id: '',
      bound_cidrs: [],
      type: 'service',
      renewable: false,
      mount_accessor: mount.accessor,
      internal: {},
    })
    const cubbyhole = cubbyholes.of(minted.token, namespace)
    if (cubbyhole === undefined) throw refuse('missing', 'namespace not found')
    const origin: WrapOrigin = { creation_ttl: Math.floor(ttl), creation_time: formatTime(minted.token.creation_time), creation_path: path }
    const entries = [
      ...minted.entries.map(inCore),
      { key: cubbyhole.fullPrefix + responseEntry, value: { response: body } },
      { key: cubbyhole.fullPrefix + originEntry, value: origin },
    ]
    const { creation_ttl, ...rest } = origin
    return { minted, entries, info: { token: minted.id, accessor: minted.token.accessor, ttl: creation_ttl, ...rest } }
  }

  async #entry(token: Token, name: string): Promise<unknown> {
    const cubbyhole = this.#parts.cubbyholes.of(token, token.namespace)
    return cubbyhole === undefined ? undefined : this.#parts.root.get(cubbyhole.fullPrefix + name)
  }
}

/** Nobody can be given the policy of wrapping tokens, so who has it is one. docs/contract/tokens-and-policies.md#built-in-policies */
export const isWrapping = ({ policies }: Token): boolean => policies.length === 1 && policies[0] === policy

const inCore = (entry: ViewEntry): ViewEntry => ({ ...entry, key: `core/${entry.key}` })

function isOrigin(value: unknown): value is WrapOrigin {
  return typeof value === 'object' && value !== null && 'creation_ttl' in value && 'creation_time' in value && 'creation_path' in value
}
