import { fail } from '../../errors.ts'

export type TokenType = 'service' | 'batch'

/**
 * A token as stored, and as every part of the server sees it. It never holds the id: only the accessor, which is derived from it.
 * Times are milliseconds since the epoch, spans whole seconds. docs/contract/tokens-and-policies.md#tokens.
 */
export type Token = {
  readonly accessor: string
  /** Accessor of the parent; empty for an orphan. */
  readonly parent: string
  /** Cubbyhole id of a parent whose id was chosen: another token of that id, and accessor, is not the parent. */
  readonly parent_cubbyhole?: string
  /** Namespace id. */
  readonly namespace: string
  /** Token policies, sanitised; identity policies are never stored. */
  readonly policies: readonly string[]
  /** Request path that made it. */
  readonly path: string
  readonly meta: Readonly<Record<string, string>> | null
  readonly display_name: string
  /** Uses left; 0 is without limit, −1 is spent. */
  readonly num_uses: number
  /** Uses at creation. */
  readonly granted_uses: number
  readonly creation_time: number
  /** TTL at creation. */
  readonly ttl: number
  /** TTL of the last grant: creation or renewal. */
  readonly granted_ttl: number
  readonly explicit_max_ttl: number
  readonly period: number
  /** Token-store role it was made with. */
  readonly role?: string
  /** Empty if none. */
  readonly entity_id: string
  readonly bound_cidrs: readonly string[]
  readonly type: TokenType
  readonly cubbyhole_id: string
  readonly renewable: boolean
  readonly issue_time: number
  /** Null: never. */
  readonly expire_time: number | null
  /** Of a spent token that would stay for longer: when a sweep takes it away, if the request that spent it has not. */
  readonly swept_at?: number
  readonly last_renewal?: number
  /** Accessor of the auth mount that issued it. */
  readonly mount_accessor: string
  /** How often that mount had been moved by then; absent is never. */
  readonly mount_moves?: number
  /** What the method that issued it needs at renewal: the role's name. */
  readonly internal: Readonly<Record<string, string>>
  /** Names of the group aliases that matched at login. docs/contract/identity.md#groups */
  readonly group_aliases?: readonly string[]
  /** How many cut-offs its entity had when it was issued; absent is none. */
  readonly cut_off?: number
  /** Of a batch token: how many large steps backward the clock had made when it was issued; absent is none. */
  readonly clock_steps?: number
  /** Its maker chose its id: once it is gone, another token may have the same id and accessor. */
  readonly chosen_id?: true
  /** The token the server was initialised with: it has no lease. */
  readonly initial_root?: true
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

/** A stored record as a token. Only what rights hang on is checked: the record was sealed by this server. Throws kind `internal`. */
export function readToken(value: unknown): Token {
  if (!looksLikeToken(value)) throw fail('internal', 'internal error', { cause: new Error('a stored token has not the shape of one') })
  return value
}

function looksLikeToken(value: unknown): value is Token {
  if (typeof value !== 'object' || value === null) return false
  const token: Partial<Record<keyof Token, unknown>> = value
  return (
    [token.accessor, token.parent, token.namespace, token.entity_id, token.mount_accessor, token.cubbyhole_id].every(isText) &&
    [token.num_uses, token.issue_time, token.creation_time, token.ttl, token.period, token.explicit_max_ttl].every(isCount) &&
    (token.expire_time === null || isCount(token.expire_time)) &&
    Array.isArray(token.policies) &&
    token.policies.every(isText) &&
    Array.isArray(token.bound_cidrs)
  )
}

export const isRoot = (token: Token): boolean => token.policies.includes('root')
