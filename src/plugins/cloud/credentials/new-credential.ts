import type { TtlBounds } from '../../../core/tokens/lifetime.ts'
import type { LeaseData } from './lease-data.ts'
import type { EngineOptions } from '../mount-options.ts'
import type { RoleRecord } from '../roles/role-record.ts'

/** A credential that exists upstream and has no lease yet. */
export type NewCredential = {
  readonly data: LeaseData
  readonly secret: string
  /** The intents that undo it, settled by the write that stores its lease. */
  readonly intents: readonly string[]
}

const daySeconds = 86_400

/**
 * How many seconds a new secret of the role works upstream: the role's `explicit_max_ttl`; else the mount's
 * `secret_lifetime`; else as long as its lease can last plus one day, so that a failed revocation can be
 * retried in time. Pure. docs/contract/cloud.md#secret-lifetime
 */
export function secretLifetime(
  { explicit_max_ttl: explicit, max_ttl: roleMax }: Pick<RoleRecord, 'explicit_max_ttl' | 'max_ttl'>,
  { secretLifetime: ofMount }: Pick<EngineOptions, 'secretLifetime'>,
  { maxTtl: mountMax }: Pick<TtlBounds, 'maxTtl'>,
): number {
  if (explicit !== 0) return explicit
  if (ofMount !== 0) return ofMount
  return (roleMax === 0 ? mountMax : Math.min(roleMax, mountMax)) + daySeconds
}

/** The end of a secret that is created now, in RFC 3339. */
export const secretEnd = (seconds: number, now: number): string =>
  new Date(now + seconds * 1000).toISOString()
