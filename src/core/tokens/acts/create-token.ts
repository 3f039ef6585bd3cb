import { refuse } from '../../../errors.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import { globMatches } from '../../../lib/text/glob.ts'
import { parseDuration } from '../../../lib/text/go-duration.ts'
import type { View } from '../../barrier/view.ts'
import {
  type IdentityStore,
  identityIn,
  type LoginAlias,
  type LoginIdentity,
} from '../../identity/entities/identity-store.ts'
import { foldedName } from '../../identity/same-name.ts'
import type { Mount } from '../../mounts/mount.ts'
import { writeAttempts } from '../../records/change.ts'
import { checkRecordSize } from '../../records/stored-record.ts'
import type { TokenRevoker } from '../end/token-revoker.ts'
import { type Lifetime, lifetime, mountTtl, type TtlBounds } from '../store/lifetime.ts'
import { checkAssignable, childPolicies } from '../store/policy-names.ts'
import { isRoot, loginOf, type Token, type TokenType } from '../store/token.ts'
import { maxIdLength } from '../store/token-keys.ts'
import { createdTokenType, type TokenRole, type TokenRoleRecord } from '../store/token-role.ts'
import { maxGenerations, type TokenDraft, type TokenStore } from '../store/token-store.ts'
import { writeMinted } from '../store/write-minted.ts'
import { authBlock, type Issued } from './auth-block.ts'
import type { CreateInput } from './create-input.ts'
import { listsPolicies, rolePolicies } from './role-policies.ts'
import { withLoginIdentity, writeWithIdentity } from './with-identity.ts'

export type CreateParts = {
  readonly tokens: TokenStore
  readonly revoker: TokenRevoker
  readonly identity: IdentityStore
  /** The view that stores tokens and identity. */
  readonly view: View
  readonly systemTtl: TtlBounds
  readonly clock: Clock
  policyExists(name: string, namespace: string): Promise<boolean> | boolean
}

export type CreateRequest = {
  readonly mount: Mount
  /** The caller's token, with the use of this request already deducted. */
  readonly caller: Token
  /** The caller has `sudo` on the request path. */
  readonly sudo: boolean
  /** The endpoint; always `create` if there is a role. */
  readonly form: 'create' | 'create-orphan'
  readonly role?: TokenRole
  readonly input: CreateInput
}

type Durations = { ttl: number; explicitMaxTtl: number; period: number }

/** The result of the checks. Lookups show `requested`; the lifetime is computed from `effective`. */
type Decision = {
  readonly type: TokenType
  readonly policies: string[]
  readonly orphan: boolean
  readonly numUses: number
  readonly requested: Durations
  readonly effective: Durations
  /** The alias name, at the token mount, of the token's entity. */
  readonly entityAlias: string | undefined
  readonly warnings: string[]
}

const customIdWarning =
  'Supplying a custom ID for the token uses the weaker SHA1 hashing instead of the more secure SHA2-256 HMAC for token obfuscation. ' +
  'SHA1 hashed tokens on the wire leads to less secure lookups.'

/** docs/contract/tokens-and-policies.md#creating-a-token */
export const unknownTokenRole = (name: string) => refuse('invalid', `unknown role ${name}`)

/** Creates a token for a caller. docs/contract/tokens-and-policies.md#creating-a-token */
export async function createToken(parts: CreateParts, request: CreateRequest): Promise<Issued> {
  const { caller, input, mount } = request
  const decision = decide(request)
  const scopeEnd = caller.scope?.ends_at
  const life = createdLifetime(
    decision,
    { bounds: mountTtl(mount.config, parts.systemTtl), scopeEnd },
    parts.clock.now(),
  )
  if (!life.ok) throw refuse('invalid', life.reason)
  if (life.ttl === 0 && caller.ttl !== 0)
    throw refuse('invalid', 'expiring root tokens cannot create non-expiring root tokens')
  if (decision.type === 'service' && input.id !== '') {
    checkCustomId(input.id)
    await freeId(parts, input.id)
  }
  if (!decision.orphan) await checkFamily(parts.tokens, caller)

  const draft = createdDraft(request, decision, life.ttl)
  if (draft.type === 'service') checkRecordSize(draft)
  const created = await (decision.entityAlias === undefined
    ? store(parts, request, draft)
    : storeForAlias(parts, request, draft, decision.entityAlias))
  if (!decision.orphan) await checkParentStillValid(parts, caller, created.token)
  const warnings = [
    ...decision.warnings,
    ...life.warnings,
    ...(input.id === '' ? [] : [customIdWarning]),
    ...(await unknownPolicies(parts, created.token)),
  ]
  return {
    auth: authBlock(created.token, created.id, created.identityPolicies),
    issued: { token: created.token, entityCreated: false },
    warnings,
  }
}

type Created = { readonly id: string; readonly token: Token; readonly identityPolicies: readonly string[] }

async function store(parts: CreateParts, { input }: CreateRequest, draft: TokenDraft): Promise<Created> {
  const made = await minted(parts.tokens, draft, input.id)
  if (!(await writeMinted(parts.view, made))) throw duplicateId()
  const { id, token } = made
  parts.tokens.remember(made)
  const identity = token.entity_id === '' ? undefined : await parts.identity.identityOf(token.entity_id)
  return {
    id,
    token,
    identityPolicies: identity === undefined ? [] : identityIn(identity, token.namespace).policies,
  }
}

/** Stores token, entity and alias in one write. docs/contract/tokens-and-policies.md#creating-a-token */
function storeForAlias(
  parts: CreateParts,
  { mount, input }: CreateRequest,
  draft: TokenDraft,
  name: string,
): Promise<Created> {
  const alias: LoginAlias = {
    namespace: mount.namespace,
    mountAccessor: mount.accessor,
    name,
    metadata: null,
  }
  return withLoginIdentity(parts.identity, alias, async (login: LoginIdentity) => {
    const { entity, policies } = login.identity
    if (entity.disabled) throw refuse('denied', 'entity from given entity alias is disabled')
    const made = await minted(parts.tokens, { ...draft, entity_id: entity.id }, input.id)
    if (!(await writeWithIdentity(parts.view, made, login))) {
      if (input.id !== '' && (await parts.tokens.find(made.token.accessor)) !== undefined) throw duplicateId()
      return undefined
    }
    parts.tokens.remember(made)
    return { id: made.id, token: made.token, identityPolicies: policies }
  })
}

const minted = async (tokens: TokenStore, draft: TokenDraft, id: string) =>
  draft.type === 'batch' ? await tokens.mintBatch(draft) : tokens.mint(draft, id === '' ? undefined : id)

/** Deletes an invalid token that still occupies the chosen id. Throws if a valid token has that id. */
async function freeId({ tokens, revoker }: CreateParts, id: string): Promise<void> {
  const hash = tokens.keys.hashOf(tokens.keys.accessorOf(id))
  for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
    const existing = await tokens.tokenByHash(hash)
    if (existing === undefined) return
    if (!(await tokens.isInvalid(existing.token))) throw duplicateId()
    await revoker.revokeAsRead(existing)
  }
}

const duplicateId = () => refuse('invalid', 'cannot create a token with a duplicate ID')

const parentNotFound = () => refuse('invalid', 'parent token not found')

/**
 * Revokes the new token and throws if its parent was revoked in the meantime. That revocation may have missed
 * this child, which would then be invalid but stay in storage until it expires.
 */
async function checkParentStillValid(
  { tokens, revoker }: CreateParts,
  caller: Token,
  created: Token,
): Promise<void> {
  if (await tokens.isStillValid(caller)) return
  if (created.type === 'service') await revoker.revoke(created.accessor)
  throw parentNotFound()
}

async function checkFamily(tokens: TokenStore, caller: Token): Promise<void> {
  const parent = await tokens.lookupByAccessor(caller.accessor)
  if (parent === undefined) throw parentNotFound()
  if ((await tokens.generationOf(parent)) >= maxGenerations)
    throw refuse('invalid', `a token cannot have more than ${maxGenerations - 1} ancestors`)
}

function createdDraft(
  { mount, caller, form, role, input }: CreateRequest,
  decision: Decision,
  ttl: number,
): TokenDraft {
  const { orphan, type } = decision
  const { path_suffix = '', token_bound_cidrs = [], renewable = true } = role?.record ?? {}
  const inherited = orphan ? [] : caller.bound_cidrs
  const login = orphan ? undefined : loginOf(caller)
  const name = role === undefined ? '' : `/${role.name}${path_suffix === '' ? '' : `/${path_suffix}`}`
  return {
    parent: orphan ? '' : caller.accessor,
    ...(orphan || caller.chosen_id !== true ? {} : { parent_cubbyhole: caller.cubbyhole_id }),
    namespace: mount.namespace,
    policies: decision.policies,
    path: `${mount.path}${form}${name}`,
    meta: input.meta,
    display_name: createdTokenName(input.display_name),
    num_uses: decision.numUses,
    ttl,
    explicit_max_ttl: decision.requested.explicitMaxTtl,
    period: decision.requested.period,
    ...(role === undefined ? {} : { role: role.name }),
    entity_id: orphan ? '' : caller.entity_id,
    bound_cidrs: ttl === 0 ? [] : role === undefined ? inherited : token_bound_cidrs,
    type,
    renewable: input.renewable && renewable && ttl > 0 && type === 'service',
    mount_accessor: mount.accessor,
    ...(login && { login_accessor: login.accessor, login_metadata: login.metadata }),
    // also of an orphan: what a token makes has no more rights than the token
    ...(caller.scope && { scope: caller.scope }),
    internal: {},
  }
}

/** docs/contract/tokens-and-policies.md#creating-a-token */
export const createdTokenName = (given: string): string =>
  given === '' ? 'token' : `token-${given}`.replace(/[^A-Za-z0-9-]/gu, '-').replace(/-$/, '')

/** The checks of docs/contract/tokens-and-policies.md#creating-a-token, in their order, up to the TTL. */
function decide({ mount, caller, sudo, form, role, input }: CreateRequest): Decision {
  const isFromParent = caller.namespace !== mount.namespace
  checkCaller(caller)
  if (isFromParent) checkParentNamespace(caller, input, sudo)
  const type = createdTokenType(role?.record, input.type)
  if (type === undefined) throw refuse('invalid', "invalid 'token_type' value")
  if (type === 'batch') checkBatch(input, role?.record)
  if (input.num_uses < 0) throw refuse('invalid', 'number of uses cannot be negative')
  const entityAlias = input.entity_alias === '' ? undefined : entityAliasOf(role?.record, input.entity_alias)
  if (input.id !== '') checkMayChooseId(mount, sudo)
  const policies = policiesOf({ role: role?.record, input, caller: caller.policies, sudo, isFromParent })
  checkAssignable(policies)
  if (policies.includes('root')) {
    if (!isRoot(caller))
      throw refuse('invalid', 'root tokens may not be created without parent token being root')
    if (type === 'batch') throw refuse('invalid', 'batch tokens cannot be root tokens')
  }
  if (role === undefined && form === 'create' && input.no_parent && !sudo) {
    throw refuse('invalid', 'root or sudo privileges required to create orphan token')
  }
  const requested = durationsOf(input)
  if (requested.period > 0 && !sudo)
    throw refuse('invalid', 'root or sudo privileges required to create periodic token')
  const orphan =
    role === undefined ? form === 'create-orphan' || input.no_parent : role.record.orphan === true
  const numUses = lesser(input.num_uses, role?.record.token_num_uses ?? 0)
  return {
    type,
    policies,
    orphan,
    numUses,
    entityAlias,
    requested,
    ...combined(requested, type === 'batch' ? batchTerms(role?.record) : role?.record),
  }
}

function checkCaller(caller: Token): void {
  if (caller.type === 'batch') throw refuse('invalid', 'batch tokens cannot create more tokens')
  if (caller.num_uses < 0) throw refuse('invalid', 'parent token lookup failed: no parent found')
  if (caller.num_uses > 0) throw refuse('invalid', 'restricted use token cannot generate child tokens')
}

/** Checks a request whose caller belongs to another namespace than the token mount. */
function checkParentNamespace(caller: Token, input: CreateInput, sudo: boolean): void {
  if (caller.scope !== undefined)
    throw refuse('invalid', 'a token with a scope cannot generate a token in another namespace')
  if (!sudo)
    throw refuse(
      'invalid',
      'root or sudo privileges required to directly generate a token in a child namespace',
    )
  if (input.policies.some((name) => name.trim().toLowerCase() === 'root')) {
    throw refuse('invalid', 'root tokens may not be created from a parent namespace')
  }
}

/** The requested entity alias. Throws `invalid` if the role does not allow it. */
export function entityAliasOf(role: TokenRoleRecord | undefined, requested: string): string {
  if (role === undefined)
    throw refuse('invalid', "'entity_alias' is only allowed in combination with token role")
  const name = foldedName(requested)
  const allowed = role.allowed_entity_aliases ?? []
  if (!allowed.some((pattern) => globMatches(foldedName(pattern), name)))
    throw refuse('invalid', "invalid 'entity_alias' value")
  return requested
}

function checkMayChooseId(mount: Mount, sudo: boolean): void {
  if (!sudo) throw refuse('invalid', 'root or sudo privileges required to specify token id')
  if (mount.namespace !== 'root')
    throw refuse('invalid', 'token IDs can only be manually specified in the root namespace')
}

type PoliciesRequest = {
  role: TokenRoleRecord | undefined
  input: CreateInput
  caller: readonly string[]
  sudo: boolean
  isFromParent: boolean
}

function policiesOf({ role, input, caller, sudo, isFromParent }: PoliciesRequest): string[] {
  const request = { requested: input.policies, noDefaultPolicy: input.no_default_policy, caller }
  if (role === undefined || !listsPolicies(role))
    return childPolicies({ ...request, sudo, inherits: !isFromParent })
  const policies = rolePolicies(role, isFromParent ? { ...request, caller: [] } : request)
  return input.no_default_policy ? policies.filter((name) => name !== 'default') : policies
}

/** Refuses what batch tokens do not support. docs/contract/tokens-and-policies.md#batch-tokens */
function checkBatch(input: CreateInput, role: TokenRoleRecord | undefined): void {
  const cannot = (field: string) => refuse('invalid', `batch tokens cannot have "${field}" set`)
  if (batchDuration('explicit_max_ttl', input.explicit_max_ttl) !== 0) throw cannot('explicit_max_ttl')
  // otherwise whoever may choose the type would escape the role's limit
  if (input.num_uses !== 0 || (role?.token_num_uses ?? 0) > 0) throw cannot('num_uses')
  if (batchDuration('period', input.period) !== 0) throw cannot('period')
}

/** What counts of a role for a batch token, which is never renewed: its end, as a limit of the TTL. */
const batchTerms = ({ token_explicit_max_ttl = 0 }: TokenRoleRecord = {}): TokenRoleRecord => ({
  token_explicit_max_ttl,
})

function batchDuration(field: string, text: string): number {
  const parsed = parseDuration(text, { signed: true })
  if ('error' in parsed) throw refuse('invalid', `'${field}' value could not be parsed`)
  return parsed.seconds
}

function durationsOf(input: CreateInput): Durations {
  const explicitMaxTtl = duration('explicit_max_ttl', input.explicit_max_ttl)
  const period = duration('period', input.period)
  const ttl = input.ttl === '' ? duration('lease', input.lease) : duration('ttl', input.ttl)
  return { ttl, explicitMaxTtl, period }
}

function duration(field: string, text: string): number {
  const parsed = parseDuration(text, { signed: true })
  if ('error' in parsed) throw refuse('invalid', parsed.error)
  if (parsed.seconds < 0) throw refuse('invalid', `${field} must be positive`)
  return parsed.seconds
}

/** The lesser of two limits, where 0 means unset. */
const lesser = (a: number, b: number): number => (a > 0 && b > 0 ? Math.min(a, b) : a + b)

function combined(
  requested: Durations,
  role: TokenRoleRecord | undefined,
): Pick<Decision, 'effective' | 'warnings'> {
  const { token_explicit_max_ttl = 0, token_period = 0 } = role ?? {}
  const explicitMaxTtl = lesser(requested.explicitMaxTtl, token_explicit_max_ttl)
  const period = lesser(requested.period, token_period)
  const both = (what: string, seconds: number) =>
    `${what} specified both during creation call and in role; using the lesser value of ${seconds} seconds`
  const warnings = [
    ...(requested.explicitMaxTtl > 0 && token_explicit_max_ttl > 0
      ? [both('Explicit max TTL', explicitMaxTtl)]
      : []),
    ...(requested.period > 0 && token_period > 0 ? [both('Period', period)] : []),
  ]
  return { effective: { ttl: requested.ttl, explicitMaxTtl, period }, warnings }
}

/** A root token without TTL and period never expires, unless it has an explicit max TTL. */
function createdLifetime(
  { policies, effective }: Decision,
  { bounds, scopeEnd }: { bounds: TtlBounds; scopeEnd: number | undefined },
  now: number,
): Lifetime {
  if (policies.includes('root') && effective.ttl === 0 && effective.period === 0)
    return { ok: true, ttl: effective.explicitMaxTtl, warnings: [] }
  return lifetime(bounds, { ...effective, scopeEnd }, now)
}

function checkCustomId(id: string): void {
  for (const prefix of ['hvs.', 's.']) {
    if (id.startsWith(prefix)) throw refuse('invalid', `custom token ID cannot have the '${prefix}' prefix`)
  }
  if (id.includes('.')) throw refuse('invalid', "custom token ID cannot have a '.' in the value")
  if (id.length > maxIdLength)
    throw refuse('invalid', `custom token ID cannot be longer than ${maxIdLength} characters`)
}

async function unknownPolicies(parts: CreateParts, token: Token): Promise<string[]> {
  const warnings: string[] = []
  for (const name of token.policies) {
    if (name !== 'root' && !(await parts.policyExists(name, token.namespace)))
      warnings.push(`Policy "${name}" does not exist`)
  }
  return warnings
}
