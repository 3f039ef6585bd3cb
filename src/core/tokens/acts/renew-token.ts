import { fail, refuse, type ServiceError } from '../../../errors.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { type Identity, type IdentityStore, identityIn } from '../../identity/entities/identity-store.ts'
import type { Mount } from '../../mounts/mount.ts'
import { type LifetimeTerms, lifetime, mountTtl, type TtlBounds } from '../store/lifetime.ts'
import type { Token } from '../store/token.ts'
import type { RenewalTerms } from '../store/token-fields.ts'
import type { TokenRoleStore } from '../store/token-role-store.ts'
import type { TokenStore } from '../store/token-store.ts'
import { authBlock, type Issued } from './auth-block.ts'

export type RenewParts = {
  readonly tokens: TokenStore
  readonly identity: IdentityStore
  readonly roles: TokenRoleStore
  readonly systemTtl: TtlBounds
  readonly clock: Clock
  mountOf(accessor: string): Mount | undefined
  /** Called only for login tokens, not for tokens created with another token. */
  renewalTerms(token: Token, mount: Mount): Promise<RenewalTerms>
}

export type RenewRequest = {
  readonly token: Token
  /** Empty if the caller sent only an accessor. */
  readonly id: string
  /** Seconds; 0 is unset. Counts from now. */
  readonly increment: number
}

/** Why no renewal of this token is possible. Texts: docs/contract/tokens-and-policies.md#lifetimes */
function renewalRefusal(token: Token, now: number): string | undefined {
  if (token.type === 'batch') return 'batch tokens cannot be renewed'
  if (token.initial_root === true) return 'invalid lease ID'
  if (!token.renewable || token.expire_time === null) return 'lease is not renewable'
  return token.expire_time <= now ? 'lease expired' : undefined
}

/** Renews a token. Undefined: it stays as it is, because its user is gone. docs/contract/tokens-and-policies.md#lifetimes */
export async function renewToken(
  parts: RenewParts,
  { token, id, increment }: RenewRequest,
): Promise<Issued | undefined> {
  const refusal = renewalRefusal(token, parts.clock.now())
  if (refusal !== undefined) throw cannotRenew(token, id, refusal)
  const mount = parts.mountOf(token.mount_accessor)
  if (mount === undefined) throw refuse('invalid', 'token not found')
  const current =
    mount.plugin === 'token' ? await roleTerms(parts.roles, token) : await parts.renewalTerms(token, mount)
  if (current === 'gone') return undefined
  if (current?.ok === false) {
    const text = `failed to renew entry: ${current.reason}`
    throw 'isDenied' in current ? fail('denied', text) : refuse('invalid', text)
  }

  let warnings: string[] = []
  const renewed = await parts.tokens.change(parts.tokens.keys.hashOf(token.accessor), (stored) => {
    const now = parts.clock.now()
    const late = renewalRefusal(stored, now)
    if (late !== undefined) throw cannotRenew(stored, id, late)
    const terms: LifetimeTerms = {
      explicitMaxTtl: stored.explicit_max_ttl,
      ...ownTerms(stored, mount),
      ...current,
      increment,
      scopeEnd: stored.scope?.ends_at,
    }
    const life = lifetime(mountTtl(mount.config, parts.systemTtl), terms, now, stored.issue_time)
    if (!life.ok) throw refuse('invalid', life.reason)
    warnings = life.warnings
    return { ...stored, granted_ttl: life.ttl, expire_time: now + life.ttl * 1000, last_renewal: now }
  })
  if (renewed === undefined) throw refuse('invalid', 'token not found')
  const identity = await refreshedIdentity(parts.identity, renewed, mount)
  return {
    auth: authBlock(
      renewed,
      id,
      identity === undefined ? [] : identityIn(identity, renewed.namespace).policies,
    ),
    issued: { token: renewed, entityCreated: false },
    warnings,
  }
}

/**
 * Adds the entity back to the groups whose alias names matched when this token was issued, and returns the
 * entity. docs/contract/identity.md#groups
 */
async function refreshedIdentity(
  identities: IdentityStore,
  token: Token,
  { namespace, accessor }: Mount,
): Promise<Identity | undefined> {
  const known = token.entity_id === '' ? undefined : await identities.identityOf(token.entity_id)
  if (known === undefined) return undefined
  const entityId = known.entity.id
  await identities.refreshGroups({
    namespace,
    mountAccessor: accessor,
    entityId,
    names: token.group_aliases ?? [],
  })
  return identities.identityOf(entityId)
}

/** Terms of a token created with another token: the TTL granted last and its own period. */
const ownTerms = (token: Token, { plugin }: Mount): LifetimeTerms =>
  plugin === 'token' ? { ttl: token.granted_ttl, period: token.period } : {}

type RoleTerms = { ok: true; period: number; explicitMaxTtl: number } | { ok: false; reason: string }

/** The current terms of a token-store role; undefined for a token made without one. */
async function roleTerms(
  roles: TokenRoleStore,
  { role: name, namespace }: Token,
): Promise<RoleTerms | undefined> {
  if (name === undefined) return undefined
  const role = await roles.find(namespace, name)
  if (role === undefined)
    return { ok: false, reason: `original token role ${quoted(name)} could not be found, not renewing` }
  const { token_period = 0, token_explicit_max_ttl = 0 } = role.record
  return { ok: true, period: token_period, explicitMaxTtl: token_explicit_max_ttl }
}

/** A renewal by accessor does not reveal the reason. */
function cannotRenew(token: Token, id: string, refusal: string): ServiceError {
  if (id === '' && token.type === 'service') return fail('invalid', 'invalid request')
  return refuse('invalid', refusal)
}
