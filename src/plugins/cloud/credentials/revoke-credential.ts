import type { Lease } from '../../../core/leases/lease.ts'
import { fail, ServiceError } from '../../../errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'
import {
  isStatic,
  readLeaseData,
  required,
  type DynamicLeaseData,
  type StaticLeaseData,
} from './lease-data.ts'
import type { Intent } from '../intents/intent.ts'
import { issuedRemoval } from './credential-record.ts'
import { isGone, wasRemoved } from '../upstream/removal.ts'
import type { MountState, ReadyUpstream } from '../mount-state.ts'
import { otherTenantReason } from '../upstream/tenant.ts'
import { tagOf } from '../upstream/object-names.ts'
import { forEachOf } from '../upstream-work.ts'
import { callerError, type UpstreamCall, UpstreamError } from '../upstream/index.ts'

export type RevocationParts = {
  readonly state: MountState
  readonly clock: Clock
  readonly random: Random
  readonly log: { warn(fields: object, text: string): void }
  readonly pause: (milliseconds: number, signal?: AbortSignal) => Promise<void>
  /** Revocations of the mount that wait for a purge just now. */
  readonly waiting: { count: number }
}

type Revocation = RevocationParts & {
  readonly lease: Lease
  readonly upstream: ReadyUpstream
  readonly call: UpstreamCall
}

/** The lease store gives a revocation 90 s. */
const limitMs = 85_000
/** For so long "it is not there" may mean that it is not there yet. */
const youthMs = 600_000
const purgeEveryMs = 2_000
const purgeLimitMs = 30_000
/**
 * More than so many leave the rest of it to the background at once: a purge that lags must not hold up the
 * end of thousands.
 */
const mostWaiting = 4

/**
 * Takes back what a lease stands for; may be repeated. Everything it throws is worth another try.
 * docs/contract/cloud.md#revocation
 */
export async function revokeCredential(
  lease: Lease,
  signal: AbortSignal,
  parts: RevocationParts,
): Promise<void> {
  const { state, clock, random } = parts
  const data = readLeaseData(lease)
  const upstream = await state.upstream().catch((error: unknown) => {
    throw error instanceof ServiceError
      ? fail('upstream', `error during revoke: ${error.message}`, { cause: error })
      : error
  })
  const reason = otherTenantReason(data, upstream)
  if (reason !== undefined) throw fail('upstream', `error during revoke: ${reason}`)
  const call: UpstreamCall = {
    deadline: clock.now() + limitMs,
    signal,
    correlationId: data.correlation_id ?? random.uuid(),
  }
  const revocation: Revocation = { ...parts, lease, upstream, call }
  const left = await (isStatic(data) ? removePassword(data, revocation) : removePrincipal(data, revocation))
  const recorded = state.intents.recordEntries(left, upstream.settings.tenantId)
  // this write ends the lease's ownership: only then may the undo begin
  const row = data.client_id === undefined ? [] : [issuedRemoval(data.client_id, lease)]
  await state.view.write([...row, ...recorded.entries])
  state.intents.undo(recorded.ids)
}

/** Gives back what must be looked after still. */
async function removePassword(
  data: Partial<StaticLeaseData>,
  { state, lease, upstream, call, clock }: Revocation,
): Promise<Intent[]> {
  const keyId = required('key_id', data.key_id)
  const objectId = required('app_object_id', data.app_object_id)
  const { client_id = '', display_name = '' } = data
  const isRemoved = await state.inApplicationTurn(objectId, () =>
    removed(
      upstream.directory.removeApplicationPassword(objectId, keyId, call),
      'error removing credentials',
    ),
  )
  return isRemoved || !isYoung(lease, clock)
    ? []
    : [{ kind: 'password', application_object_id: objectId, client_id, display_name, key_id: keyId }]
}

/** Gives back what must be looked after still. */
async function removePrincipal(data: Partial<DynamicLeaseData>, revocation: Revocation): Promise<Intent[]> {
  const { upstream, call } = revocation
  const objectId = required('app_object_id', data.app_object_id)
  const {
    role_assignment_ids: assignments = [],
    group_membership_ids: groups = [],
    sp_object_id: principalId,
    permanently_delete: forGood = false,
  } = data
  // nothing takes them along: what stays is looked after when the rest is gone
  const assigned: string[] = []
  await forEachOf(assignments, async (id) => {
    const outcome = await tolerated(
      'error unassigning role',
      upstream.resourceManager.deleteRoleAssignment(id, call),
      revocation,
    )
    if (outcome === 'failed') assigned.push(id)
  })
  if (groups.length > 0) {
    const member = required('sp_object_id', principalId)
    await forEachOf(groups, async (id) => {
      await tolerated(
        'error removing group membership',
        upstream.directory.removeGroupMember(id, member, call),
        revocation,
      )
    })
  }
  if (principalId !== undefined) {
    await tolerated(
      'error removing service principal',
      upstream.directory.deleteServicePrincipal(principalId, call),
      revocation,
    )
  }
  const isRemoved = await removed(upstream.directory.deleteApplication(objectId, call), '')
  const left: Intent[] = assigned.length === 0 ? [] : [{ kind: 'roleAssignments', assignment_ids: assigned }]
  const purged = async (id: string) =>
    tolerated('error purging service principal', upstream.directory.purgeDeleted(id, call), revocation)
  let purge = forGood && principalId !== undefined ? await purged(principalId) : 'done'
  const isMaybeThere = !isRemoved && isYoung(revocation.lease, revocation.clock)
  const isForGood = !forGood || isMaybeThere || (await isPurged(objectId, revocation))
  if (!isForGood) left.push({ kind: 'purge', object_id: objectId })
  // it was deleted before its application: by now it is among the deleted as well, unless it went with that
  if (principalId !== undefined && purge === 'gone') {
    purge = await purged(principalId)
    if (purge === 'gone' && !isForGood) purge = 'failed'
  }
  if (principalId !== undefined && purge === 'failed') left.push({ kind: 'purge', object_id: principalId })
  return isMaybeThere ? [...left, maybeThere(objectId, data, revocation)] : left
}

/** What is done on the way and does not decide: a failure is logged. */
async function tolerated(
  text: string,
  removal: Promise<unknown>,
  { lease, log }: Revocation,
): Promise<'done' | 'gone' | 'failed'> {
  try {
    await removal
    return 'done'
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    if (isGone(error)) return 'gone'
    const { correlation_id: correlationId } = readLeaseData(lease)
    log.warn(
      {
        event: 'cloud_revocation',
        lease_id: lease.id,
        correlation_id: correlationId,
        code: error.code,
        upstream_request_id: error.requestId,
      },
      `${text}: ${error.message}`,
    )
    return 'failed'
  }
}

/** As `wasRemoved`; a failure becomes the caller's, with `text` in front. */
const removed = (removal: Promise<void>, text: string): Promise<boolean> =>
  wasRemoved(removal).catch((error: unknown) => {
    throw error instanceof UpstreamError
      ? fail('upstream', callerError(error, text).message, { cause: error })
      : error
  })

const isYoung = ({ issue_time }: Lease, clock: Clock): boolean => clock.now() - issue_time < youthMs

/**
 * It was made so lately that a part of the directory may not know it yet: the undoing looks again until that
 * is certain.
 */
function maybeThere(objectId: string, data: Partial<DynamicLeaseData>, { state, call }: Revocation): Intent {
  const { display_name = '', client_id, sp_object_id } = data
  return {
    kind: 'app',
    display_name,
    tag: tagOf(state.accessor, call.correlationId),
    object_id: objectId,
    ...(client_id === undefined ? {} : { client_id }),
    ...(sp_object_id === undefined ? {} : { service_principal_id: sp_object_id }),
  }
}

/** A deleted object turns up among the deleted ones later: that is waited for, if not too many do. */
async function isPurged(
  objectId: string,
  { upstream, call, clock, pause, waiting }: Revocation,
): Promise<boolean> {
  const end = Math.min(clock.now() + purgeLimitMs, call.deadline)
  const mayWait = waiting.count < mostWaiting
  waiting.count += 1
  try {
    for (;;) {
      if (await removed(upstream.directory.purgeDeleted(objectId, call), '')) return true
      if (!mayWait || clock.now() + purgeEveryMs > end) return false
      await pause(purgeEveryMs, call.signal)
      if (call.signal?.aborted === true) return false
    }
  } finally {
    waiting.count -= 1
  }
}
