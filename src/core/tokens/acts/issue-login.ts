import { refuse, ServiceError } from '../../../errors.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import type { View, ViewEntry } from '../../barrier/view.ts'
import { aliasOf } from '../../identity/entities/entity.ts'
import type { IdentityStore, LoginAlias, LoginIdentity } from '../../identity/entities/identity-store.ts'
import type { Mount } from '../../mounts/mount.ts'
import { lifetime, mountTtl, type TtlBounds } from '../store/lifetime.ts'
import { checkAssignable, joined, sanitize } from '../store/policy-names.ts'
import type { OneTimeProof, ReplayStore } from '../store/replay-store.ts'
import { checkScope, type RequestedScope, scopeFrom } from '../store/scope.ts'
import { boundCidrs } from '../store/token-fields.ts'
import type { Minted, TokenDraft, TokenStore } from '../store/token-store.ts'
import { checkLoginType, loginTokenType } from '../store/token-type.ts'
import { authBlock, type CarriedLogin, type Issued, type JwtTimes } from './auth-block.ts'
import { issuedOnly, withLoginIdentity, writeWithIdentity } from './with-identity.ts'

export type LoginParts = {
  readonly tokens: TokenStore
  readonly identity: IdentityStore
  readonly spent: ReplayStore
  /** The view that stores tokens and identity. */
  readonly view: View
  readonly clock: Clock
  readonly systemTtl: TtlBounds
  /** Called after each login whose alias name looks like another entity's alias name at the same mount. */
  onLookalike?(login: Lookalike): void
}

/**
 * A login with an alias name that is easily mistaken for another one. `resembles` is the other entity's id.
 */
export type Lookalike = { readonly mount: Mount; readonly entityId: string; readonly resembles: string }

/** An auth method's result of a successful login. Durations are seconds; 0 is unset. */
export type LoginAuth = {
  /** Undefined if nobody in particular logs in: the token then has no entity. */
  readonly alias:
    | { readonly name: string; readonly metadata: Readonly<Record<string, string>> | null }
    | undefined
  /** The role's metadata for the alias; undefined if it was never set. */
  readonly aliasMetadata?: Readonly<Record<string, string>> | null | undefined
  /** The metadata of the token, if it is not that of the alias. */
  readonly metadata?: Readonly<Record<string, string>> | null
  /** The method's name for the caller, without the mount. */
  readonly displayName: string
  readonly groupNames: readonly string[]
  readonly policies: readonly string[]
  readonly ttl: number
  readonly maxTtl: number
  readonly explicitMaxTtl: number
  readonly period: number
  readonly numUses: number
  /** The role's `token_type`. */
  readonly tokenType: string
  readonly boundCidrs: readonly string[]
  /** The token is bound to the address of the login instead. */
  readonly bindsAddress?: boolean
  readonly noDefaultPolicy: boolean
  /** False for a service token that cannot be renewed. */
  readonly isRenewable?: boolean
  /** Data that the method needs at renewal. */
  readonly internal: Readonly<Record<string, string>>
  /** The proof of this login, if it may be used only once. */
  readonly proof?: OneTimeProof
  /** What this login uses up. */
  readonly use?: LoginUse
  /** What its method remembers of it. */
  readonly memory?: LoginMemory | undefined
  /** Of a JWT that is the token of the request. */
  readonly jwt?: JwtTimes
  /** The limits that the caller asks for. */
  readonly scope?: RequestedScope | undefined
}

/** Entries that are written with the token of a login, or not at all. */
type LoginUse = {
  readonly entries: readonly ViewEntry[]
  /**
   * Called after a write was refused. Throws if the reason was an expectation of the entries; the login ends
   * with that error.
   */
  checkRefused(): Promise<void>
}

/** What a commit knows of its login. */
export type CommittedLogin = {
  /** Empty for a login without an entity. */
  readonly entityId: string
  /** The entity did not exist before. */
  readonly isNew: boolean
  readonly isCarried: boolean
}

/** What a method remembers of a successful login. docs/contract/what-if.md#what-is-kept */
export type LoginMemory = {
  /** Entries for the commit of the login; usually none. */
  entries(login: CommittedLogin): readonly ViewEntry[] | Promise<readonly ViewEntry[]>
  /** Called once the login is committed. */
  written(): void
}

export type LoginRequest = {
  readonly mount: Mount
  /** Full path of the mount's namespace; absent for the root. */
  readonly namespacePath?: string
  /** Request path relative to the namespace: `auth/jwt/login`. */
  readonly path: string
  readonly remoteAddress: string
  /** The login serves the request that carries it: its token is not stored. */
  readonly isCarried?: boolean
  readonly auth: LoginAuth
}

/**
 * Stores entity, alias and token of a login in one write, which also marks a one-time proof as used, and
 * writes what the login uses up. docs/contract/identity.md, docs/contract/jwt.md#once-only
 */
export async function issueLogin(parts: LoginParts, request: LoginRequest): Promise<Issued> {
  const alias = aliasOfLogin(request)
  if (alias === undefined) return issuedOnly(await issue(parts, request, undefined))
  return withLoginIdentity(parts.identity, alias, (login) => issue(parts, request, login))
}

/** The result a login would have. */
export type LoginPlan = {
  /** Undefined for a login without alias. */
  readonly login: LoginIdentity | undefined
  readonly draft: TokenDraft
  readonly warnings: readonly string[]
}

/** Dry run of a login: writes nothing and throws the errors that the login would throw. */
export async function planLogin(parts: LoginParts, request: LoginRequest): Promise<LoginPlan> {
  const alias = aliasOfLogin(request)
  const login = alias && (await parts.identity.forLogin(alias))
  const drafted = loginDraft(parts, request, login)
  // only minting shows whether the content fits in a batch token; the minted token is discarded
  if (drafted.draft.type === 'batch') await parts.tokens.mintBatch(drafted.draft)
  if (await isSpent(parts, request)) throw alreadyUsed()
  return { login, ...drafted }
}

const aliasOfLogin = ({ mount, auth }: LoginRequest): LoginAlias | undefined =>
  auth.alias && {
    namespace: mount.namespace,
    mountAccessor: mount.accessor,
    name: auth.alias.name,
    metadata: aliasMetadataOf(auth.alias, auth.aliasMetadata),
    groupNames: auth.groupNames,
  }

/** What the login says counts more than what its role says. */
const aliasMetadataOf = (
  { metadata }: Pick<LoginAlias, 'metadata'>,
  ofRole: LoginAuth['aliasMetadata'],
): LoginAlias['metadata'] => (ofRole === undefined ? metadata : { ...ofRole, ...metadata })

/** Undefined if another writer changed the entity in the meantime. */
async function issue(
  parts: LoginParts,
  request: LoginRequest,
  login: LoginIdentity | undefined,
): Promise<Issued | undefined> {
  const { draft, warnings } = loginDraft(parts, request, login)
  const { isCarried = false } = request
  const minted = await mintedFor(parts, draft, isCarried)
  const { proof, use, memory } = request.auth
  if (proof !== undefined && parts.spent.hadExpired(proof)) throw alreadyUsed()
  const spending = proof === undefined ? [] : parts.spent.entriesOf(request.mount.uuid, proof)
  const remembered = isCarried ? [] : await memoryEntries(request, login)
  const more = [...spending, ...(use?.entries ?? []), ...remembered]
  if (!(await writeWithIdentity(parts.view, minted, login, more))) {
    if (await isSpent(parts, request)) throw alreadyUsed()
    await use?.checkRefused()
    return undefined
  }
  if (!isCarried) parts.tokens.remember(minted)
  if (isCarried) await rememberCarried(parts, request, login)
  else memory?.written()
  reportLookalike(parts, request, login)
  return {
    auth: authBlock(minted.token, minted.id, login?.identity.policies ?? []),
    issued: {
      token: minted.token,
      entityCreated: login?.isNew ?? false,
      ...(isCarried && { carried: carriedLogin(draft, request.auth) }),
    },
    warnings,
  }
}

async function memoryEntries(
  { auth, isCarried = false }: LoginRequest,
  login: LoginIdentity | undefined,
): Promise<readonly ViewEntry[]> {
  const { identity, isNew = false } = login ?? {}
  return (await auth.memory?.entries({ entityId: identity?.entity.id ?? '', isNew, isCarried })) ?? []
}

/** A request that carries its login usually writes nothing, and must not fail if it cannot be remembered. */
async function rememberCarried(
  { view }: LoginParts,
  request: LoginRequest,
  login: LoginIdentity | undefined,
): Promise<void> {
  try {
    const entries = await memoryEntries(request, login)
    if (entries.length === 0 || (await view.write(entries))) request.auth.memory?.written()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
  }
}

function reportLookalike(
  { onLookalike }: LoginParts,
  { mount, auth: { alias } }: LoginRequest,
  login: LoginIdentity | undefined,
): void {
  if (login === undefined || alias === undefined) return
  const { entity } = login.identity
  const resembles = aliasOf(entity, mount.accessor, alias.name)?.resembles
  if (resembles !== undefined) onLookalike?.({ mount, entityId: entity.id, resembles })
}

async function mintedFor({ tokens }: LoginParts, draft: TokenDraft, isCarried: boolean): Promise<Minted> {
  if (isCarried) return tokens.mintCarried(draft)
  return draft.type === 'batch' ? await tokens.mintBatch(draft) : tokens.mint(draft)
}

const carriedLogin = ({ type, num_uses }: TokenDraft, { jwt }: LoginAuth): CarriedLogin => ({
  tokenType: type,
  uses: num_uses,
  ...(jwt && { jwt }),
})

const isSpent = async ({ spent }: LoginParts, { mount, auth: { proof } }: LoginRequest): Promise<boolean> =>
  proof !== undefined && (await spent.isSpent(mount.uuid, proof))

const alreadyUsed = () =>
  refuse('invalid', 'error validating token: token has been used already', { reason: 'token_replayed' })

/**
 * Display name of a login token: the mount's full path and the name that the auth method chose. A leading
 * `auth/` is dropped, so it remains only after a namespace.
 * docs/contract/tokens-and-policies.md#creating-a-token, docs/contract/namespaces.md#isolation
 */
export const loginTokenName = (mountPath: string, name: string): string =>
  `${mountPath.replace(/^auth\//, '').replaceAll('/', '-')}${name}`.replace(/-$/, '')

function loginDraft(
  parts: LoginParts,
  { mount, namespacePath = '', path, remoteAddress, auth }: LoginRequest,
  login: LoginIdentity | undefined,
): { draft: TokenDraft; warnings: string[] } {
  const { identity, groupAliases = [] } = login ?? {}
  if (identity?.entity.disabled === true)
    throw refuse('denied', 'permission denied', { reason: 'entity_disabled' })
  const type = loginTokenType(mount.config.token_type, auth)
  checkLoginType(type, auth)
  const now = parts.clock.now()
  const scope = auth.scope && scopeFrom(auth.scope, now)
  const life = lifetime(mountTtl(mount.config, parts.systemTtl), { ...auth, scopeEnd: scope?.ends_at }, now)
  if (!life.ok) throw refuse('invalid', life.reason)
  const policies = sanitize(auth.policies, !auth.noDefaultPolicy)
  const identityPolicies = identity?.policies ?? []
  if (policies.includes('root') || identityPolicies.includes('root'))
    throw refuse('invalid', 'auth methods cannot create root tokens', { reason: 'policy_forbidden' })
  checkAssignable([...policies, ...identityPolicies])
  if (auth.scope !== undefined) checkScope(auth.scope, joined(policies, identityPolicies))
  const meta = auth.metadata === undefined ? (auth.alias?.metadata ?? {}) : auth.metadata
  const draft: TokenDraft = {
    parent: '',
    namespace: mount.namespace,
    policies,
    path,
    meta,
    display_name: loginTokenName(namespacePath + mount.path, auth.displayName),
    num_uses: auth.numUses,
    ttl: life.ttl,
    explicit_max_ttl: auth.explicitMaxTtl,
    period: auth.period,
    entity_id: identity?.entity.id ?? '',
    bound_cidrs: auth.bindsAddress === true ? boundCidrs([remoteAddress]) : auth.boundCidrs,
    type,
    renewable: type === 'service' && auth.isRenewable !== false,
    mount_accessor: mount.accessor,
    ...(Object.keys(meta ?? {}).length > 0 && { login_accessor: mount.accessor }),
    internal: auth.internal,
    ...(scope && { scope }),
    ...(groupAliases.length === 0 ? {} : { group_aliases: groupAliases }),
  }
  return { draft, warnings: [...life.warnings] }
}
