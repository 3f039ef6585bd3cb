import { createHash } from 'node:crypto'
import type { Mount } from '../../../core/mounts/mount.ts'
import { mountTtl, type TtlBounds } from '../../../core/tokens/store/lifetime.ts'
import { ServiceError } from '../../../errors.ts'
import { checkAreHarmless } from '../app-roles/resolve-app-roles.ts'
import { secretLifetime } from '../credentials/new-credential.ts'
import { engineOptions } from '../mount-options.ts'
import type { MountState } from '../mount-state.ts'
import { checkHasScopes, type RoleRecord } from '../roles/role-record.ts'
import type { UpstreamSettings } from '../upstream/index.ts'
import type { PoolMember } from './pool-store.ts'

/** The terms that a member must have been made for, to be handed out now. docs/contract/cloud-pool.md#members */
export type PoolTerms = {
  readonly digest: string
  /** How long a member may wait. Its secret lasts that much longer than one that is made on demand. */
  readonly idleSeconds: number
  readonly secretSeconds: number
}

const hourSeconds = 3_600
const daySeconds = 86_400
/** Afterwards it is replaced, so that the pool has a fresh one before the old one may no longer be handed out. */
const freshShare = 0.75

/**
 * Everything on which a credential of this role depends counts: after a change of it, members are not handed out any
 * more. The root secret does not: it may rotate.
 */
export function poolTerms(
  role: RoleRecord,
  settings: UpstreamSettings,
  mount: Mount,
  systemTtl: TtlBounds,
): PoolTerms {
  const { pool: _size, ttl: _ttl, metadata: _notes, ...made } = role
  const { tenantId, subscriptionId, clientId, environment, credential } = settings
  const options = engineOptions(mount)
  const seconds = secretLifetime(role, options, mountTtl(mount.config, systemTtl))
  const idleSeconds = Math.min(daySeconds, Math.max(hourSeconds, seconds))
  const all = [
    made,
    [tenantId, subscriptionId, clientId, environment, credential.type],
    [mount.namespace, mount.path, mount.moves],
    [seconds, options.service_management_reference ?? ''],
  ]
  const digest = createHash('sha256').update(JSON.stringify(all)).digest('hex')
  return { digest, idleSeconds, secretSeconds: seconds + idleSeconds }
}

/** As `poolTerms`; undefined if the role issues nothing as it is now, or the mount cannot sign in. */
export async function termsNow(
  name: string,
  role: RoleRecord,
  state: MountState,
  where: { readonly mount: Mount; readonly systemTtl: TtlBounds },
): Promise<PoolTerms | undefined> {
  try {
    checkHasScopes(name, role)
    checkAreHarmless(role, where.mount)
    return poolTerms(role, (await state.upstream()).settings, where.mount, where.systemTtl)
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'invalid') return undefined
    throw error
  }
}

export const isUsable = ({ terms, since }: PoolMember, now: PoolTerms, time: number): boolean =>
  terms === now.digest && time - since < now.idleSeconds * 1000

export const isFresh = (member: PoolMember, now: PoolTerms, time: number): boolean =>
  isUsable(member, now, time) && time - member.since < now.idleSeconds * 1000 * freshShare
