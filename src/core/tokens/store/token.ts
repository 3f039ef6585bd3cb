import { z } from 'zod'
import type { CountedLease } from '../../leases/lease-limit.ts'
import { recordReader } from '../../records/stored-record.ts'
import type { TokenScope } from './scope.ts'

export type TokenType = 'service' | 'batch'

/**
 * A token. It never contains the id, only the accessor derived from it. Times are milliseconds since the
 * epoch, durations whole seconds. docs/contract/tokens-and-policies.md#tokens
 */
export type Token = {
  readonly accessor: string
  /** Accessor of the parent; empty for an orphan. */
  readonly parent: string
  /** Cubbyhole id of a parent with a chosen id: tells it from a later token with the same id and accessor. */
  readonly parent_cubbyhole?: string
  /** Namespace id. */
  readonly namespace: string
  /** Token policies, normalized; identity policies are never stored. */
  readonly policies: readonly string[]
  /** Path of the request that created it. */
  readonly path: string
  readonly meta: Readonly<Record<string, string>> | null
  readonly display_name: string
  /** Uses left; 0 is unlimited, −1 is spent. */
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
  /** Token role it was created with. */
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
  /**
   * Time at which a sweep deletes a spent token, unless its last request has done so. Absent if it expires
   * before.
   */
  readonly swept_at?: number
  readonly last_renewal?: number
  /** Accessor of the auth mount that issued it. */
  readonly mount_accessor: string
  /** Number of moves of that mount at issue; absent is 0. */
  readonly mount_moves?: number
  /** Accessor of the mount of the login that it stems from, if that login gave metadata. */
  readonly login_accessor?: string
  /** What that login gave, for a child token; that of a login is `meta`. */
  readonly login_metadata?: Readonly<Record<string, string>>
  /** Data that the issuing method needs at renewal, such as the role's name. */
  readonly internal: Readonly<Record<string, string>>
  /** Names of the group aliases that matched at login. docs/contract/identity.md#groups */
  readonly group_aliases?: readonly string[]
  /** What limits it beyond its policies; its children have the same. */
  readonly scope?: TokenScope
  /** Number of cut-offs of its entity at issue; absent is 0. */
  readonly cut_off?: number
  /** Batch tokens only: number of large backward clock steps at issue; absent is 0. */
  readonly clock_steps?: number
  /** The creator chose its id. After its deletion, another token may get the same id and accessor. */
  readonly chosen_id?: true
  /** The server's first root token; it has no lease. */
  readonly initial_root?: true
}

/** What gives a token its rights. */
type Granted = Pick<Token, 'policies' | 'entity_id'>
type StoredToken = Token & { readonly scope?: TokenScope & { readonly of?: Granted } }

const readRecord = recordReader<StoredToken>(
  'token',
  z.object({
    accessor: z.string(),
    parent: z.string(),
    namespace: z.string(),
    entity_id: z.string(),
    mount_accessor: z.string(),
    cubbyhole_id: z.string(),
    num_uses: z.number(),
    issue_time: z.number(),
    creation_time: z.number(),
    ttl: z.number(),
    period: z.number(),
    explicit_max_ttl: z.number(),
    expire_time: z.number().nullable(),
    policies: z.array(z.string()),
    bound_cidrs: z.array(z.string()),
    scope: z
      .object({
        policies: z.array(z.string()).optional(),
        paths: z.array(z.string()).optional(),
        ends_at: z.number().optional(),
        of: z.object({ policies: z.array(z.string()), entity_id: z.string() }),
      })
      .optional(),
  }),
)

/** Reads a stored record as a token. */
export function readToken(value: unknown): Token {
  const stored = readRecord(value)
  if (stored.scope === undefined) return stored
  const { of, ...scope } = stored.scope
  return { ...stored, ...of, scope }
}

/**
 * The record of a token. Policies and entity of one with a scope are stored inside of the scope: a server of an earlier
 * version knows no scopes, and so gives such a token no rights. docs/contract/scopes.md#servers-of-earlier-versions
 */
export function storedToken<Stored extends Granted & Pick<Token, 'scope'>>(token: Stored): Stored {
  const { scope, policies, entity_id } = token
  return scope === undefined
    ? token
    : { ...token, policies: [], entity_id: '', scope: { ...scope, of: { policies, entity_id } } }
}

/**
 * The token as a lease of its login; undefined for one that does not count: a root token, a batch token, or one that
 * only holds a wrapped response. docs/contract/quotas.md#leases
 */
export function countedToken(token: Token, ref: string): CountedLease | undefined {
  const { namespace, mount_accessor: mountAccessor, path, type, internal } = token
  if (type === 'batch' || isRoot(token) || token.policies[0] === wrappingPolicy) return undefined
  return { ref, namespace, mountAccessor, path, role: internal['role'] }
}

/** The login that a token stems from, and what the login method said about it. */
export type TokenLogin = { readonly accessor: string; readonly metadata: Readonly<Record<string, string>> }

/**
 * Undefined for a token that stems from no login, or from one without metadata. A child that became an orphan has
 * lost it. The metadata of the same record is the same object. docs/contract/tokens-and-policies.md#metadata-of-the-login
 */
export function loginOf({
  login_accessor: accessor,
  login_metadata: inherited,
  meta,
  parent,
}: Pick<Token, 'login_accessor' | 'login_metadata' | 'meta' | 'parent'>): TokenLogin | undefined {
  const metadata = inherited === undefined ? meta : parent === '' ? null : inherited
  return accessor === undefined || metadata === null ? undefined : { accessor, metadata }
}

/** The only policy of a token that holds a wrapped response. */
export const wrappingPolicy = 'response-wrapping'

export const isRoot = (token: Token): boolean => token.policies.includes('root')
