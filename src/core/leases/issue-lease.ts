import { base62, type Random } from '../../lib/system/random.ts'
import type { Mount } from '../mounts/mount.ts'
import { suffixOf } from '../namespaces/suffix.ts'
import type { Lifetime } from '../tokens/store/lifetime.ts'
import type { Token } from '../tokens/store/token.ts'
import type { Lease, LeasedSecret } from './lease.ts'
import { cutToOwner } from './lease-renewal.ts'

const randomLength = 24

export type NewLease = {
  readonly mount: Mount
  readonly path: string
  readonly secret: LeasedSecret
  /** The caller's token. */
  readonly token: Token
  /** Hash of the token whose end revokes the lease; empty if there is none. */
  readonly owner: string
  readonly life: Lifetime & { ok: true }
  readonly now: number
  readonly random: Random
}

/**
 * Accessor of the token that owns the caller's leases: the parent of a batch token, else the token itself.
 * Empty if there is none. docs/contract/tokens-and-policies.md#batch-tokens
 */
export const ownerOf = (token: Token): string => (token.type === 'batch' ? token.parent : token.accessor)

/** Makes a lease; does not store it. */
export function newLease({ mount, path, secret, token, owner, life, now, random }: NewLease): Lease {
  const ownerEnd = token.type === 'batch' ? token.expire_time : null
  return {
    id: `${path}/${base62(random, randomLength)}${suffixOf(mount.namespace)}`,
    namespace: mount.namespace,
    path,
    plugin: mount.plugin,
    mount_accessor: mount.accessor,
    owner,
    ...(ownerEnd === null ? {} : { owner_end: ownerEnd }),
    ...(token.type === 'batch' && token.entity_id !== ''
      ? {
          entity: token.entity_id,
          cut_off: token.cut_off ?? 0,
          login_mount: token.mount_accessor,
          login_moves: token.mount_moves ?? 0,
        }
      : {}),
    issue_time: now,
    expire_time: cutToOwner(now + life.ttl * 1000, ownerEnd),
    renewable: secret.renewable,
    internal: secret.internal,
  }
}
