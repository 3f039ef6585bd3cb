import { fail, refuse, type ServiceError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IdentityStore } from '../identity/identity-store.ts'
import type { Mount } from '../mounts/mount.ts'
import { authBlock, type Issued } from './auth-block.ts'
import { type LifetimeTerms, lifetime, mountTtl, type TtlBounds } from './lifetime.ts'
import type { Token } from './token.ts'
import type { TokenStore } from './token-store.ts'

/** What the issuing method says of a renewal: its role's current terms, or why there is none. */
export type RenewalTerms = { ok: true; ttl: number; maxTtl: number; period: number } | { ok: false; reason: string }

export type RenewParts = {
  readonly tokens: TokenStore
  readonly identity: IdentityStore
  readonly systemTtl: TtlBounds
  readonly clock: Clock
  mountOf(accessor: string): Mount | undefined
  /** Asked for tokens of auth methods, not for those made by a token. */
  renewalTerms(token: Token, mount: Mount): Promise<RenewalTerms>
}

export type RenewRequest = {
  readonly token: Token
  /** Empty when the caller showed only an accessor. */
  readonly id: string
  /** Seconds; 0 is unset. Counts from now. */
  readonly increment: number
}

/** Why a token cannot be renewed whatever is asked, in the words of contract tokens §2.8. */
export function renewalRefusal(token: Token, now: number): string | undefined {
  if (token.type === 'batch') return 'batch tokens cannot be renewed'
  if (token.initial_root === true) return 'invalid lease ID'
  if (!token.renewable || token.expire_time === null) return 'lease is not renewable'
  return token.expire_time <= now ? 'lease expired' : undefined
}

/** Gives a token more time. Contract tokens §2.8. */
export async function renewToken(parts: RenewParts, { token, id, increment }: RenewRequest): Promise<Issued> {
  const refusal = renewalRefusal(token, parts.clock.now())
  if (refusal !== undefined) throw cannotRenew(token, id, refusal)
  const mount = parts.mountOf(token.mount_accessor)
  if (mount === undefined) throw refuse('invalid', 'token not found')
  const current = mount.plugin === 'token' ? undefined : await parts.renewalTerms(token, mount)
  if (current?.ok === false) throw refuse('invalid', `failed to renew entry: ${current.reason}`)

  let warnings: string[] = []
  const renewed = await parts.tokens.change(parts.tokens.keys.hashOf(token.accessor), (stored) => {
    const now = parts.clock.now()
    const late = renewalRefusal(stored, now)
    if (late !== undefined) throw cannotRenew(stored, id, late)
    const terms: LifetimeTerms = { ...(current ?? ownTerms(stored)), increment, explicitMaxTtl: stored.explicit_max_ttl }
    const life = lifetime(mountTtl(mount.config, parts.systemTtl), terms, now, stored.issue_time)
    if (!life.ok) throw refuse('invalid', life.reason)
    warnings = life.warnings
    return { ...stored, granted_ttl: life.ttl, expire_time: now + life.ttl * 1000, last_renewal: now }
  })
  if (renewed === undefined) throw refuse('invalid', 'token not found')
  const identity = renewed.entity_id === '' ? undefined : await parts.identity.identityOf(renewed.entity_id)
  return { auth: authBlock(renewed, id, identity?.policies ?? []), warnings }
}

/** A token made by a token: the TTL granted last, the period it was made with. */
const ownTerms = (token: Token): LifetimeTerms => ({ ttl: token.granted_ttl, period: token.period })

/** By accessor, only that it cannot be done is said. */
function cannotRenew(token: Token, id: string, refusal: string): ServiceError {
  if (id === '' && token.type === 'service') return fail('invalid', 'invalid request')
  return refuse('invalid', refusal)
}
