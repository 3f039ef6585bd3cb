import type { TtlBounds } from '../../../core/tokens/store/lifetime.ts'
import type { EngineOptions } from '../mount-options.ts'
import type { LeaseData } from '../records/lease-data.ts'
import type { RoleRecord } from '../roles/role-record.ts'
import type { Proof } from '../upstream/transport.ts'

type IssuedSecret =
  | { readonly client_secret: string }
  | {
      readonly tenant_id: string
      /** PEM, as is the key. */
      readonly certificate: string
      readonly private_key: string
      /** RFC 3339. */
      readonly certificate_expiration: string
    }

export const passwordIssued = (secret: string): Pick<NewCredential, 'answer' | 'proof'> => ({
  answer: { client_secret: secret },
  proof: { secret },
})

export type NewCredential = {
  readonly data: LeaseData
  /** What the client gets besides its id. It is not stored. */
  readonly answer: IssuedSecret
  readonly proof: Proof
  /** The intents that undo it, settled by the write that stores its lease. */
  readonly intents: readonly string[]
}

const daySeconds = 86_400

/**
 * Seconds: the role's `explicit_max_ttl`; else the mount's `secret_lifetime`; else as long as the lease can last
 * plus a day, so that a failed revocation can be retried in time. docs/contract/cloud.md#secret-lifetime
 */
export function secretLifetime(
  { explicit_max_ttl: explicit, max_ttl: roleMax }: Pick<RoleRecord, 'explicit_max_ttl' | 'max_ttl'>,
  { secret_lifetime: ofMount }: Pick<EngineOptions, 'secret_lifetime'>,
  { maxTtl: mountMax }: Pick<TtlBounds, 'maxTtl'>,
): number {
  if (explicit !== 0) return explicit
  if (ofMount !== 0) return ofMount
  return (roleMax === 0 ? mountMax : Math.min(roleMax, mountMax)) + daySeconds
}

/** The end of a secret that is created now, in RFC 3339. */
export const secretEnd = (seconds: number, now: number): string =>
  new Date(now + seconds * 1000).toISOString()
