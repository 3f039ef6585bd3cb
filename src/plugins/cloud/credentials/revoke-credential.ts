import type { Lease } from '../../../core/leases/lease.ts'
import { fail, ServiceError } from '../../../errors.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import { grantOf } from '../app-roles/app-role.ts'
import type { EngineParts } from '../engine-parts.ts'
import { type Intent, rightsRemovals } from '../intents/intent.ts'
import type { MountState, ReadyUpstream } from '../mount-state.ts'
import { credentialRemoval } from '../records/credential-record.ts'
import {
  type DynamicLeaseData,
  isStatic,
  readLeaseData,
  required,
  type StaticLeaseData,
} from '../records/lease-data.ts'
import { tagOf } from '../upstream/directory/object-names.ts'
import { callerError, type UpstreamCall, UpstreamError } from '../upstream/index.ts'
import { isGone, isNewObject, wasRemoved } from '../upstream/removal.ts'
import { otherTenantReason } from '../upstream/tenant.ts'
import { filterOf } from '../upstream-work.ts'

type RevocationParts = Pick<EngineParts, 'clock' | 'random' | 'log' | 'pause'> & {
  readonly state: MountState
  /** How many revocations of the mount wait for a purge. */
  readonly waiting: { count: number }
}

type Revocation = RevocationParts & {
  readonly lease: Lease
  readonly upstream: ReadyUpstream
  readonly call: UpstreamCall
}

/** The lease store limits a revocation to 90 s. */
const limitMs = 85_000
const purgeEveryMs = 2_000
const purgeLimitMs = 30_000
/** More leave the purge to the background: slow purges must not hold up thousands of revocations. */
const mostWaiting = 4

/** Removes what a lease owns upstream. Repeatable; every error is worth a retry. docs/contract/cloud.md#revocation */
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
  const { left, areUnsure } = isStatic(data)
    ? { left: await removePassword(data, revocation), areUnsure: false }
    : await removePrincipal(data, revocation)
  const recorded = state.intents.recordEntries(left, upstream.settings.tenantId)
  // this write ends the lease's ownership: only then may the undo begin
  const row = data.client_id === undefined ? [] : [credentialRemoval(data.client_id, lease)]
  await state.view.write([...row, ...recorded.entries])
  await state.intents.undo(recorded.ids, { isUnderway: areUnsure })
}

/** Returns what is left to undo. */
async function removePassword(
  data: Partial<StaticLeaseData>,
  { state, lease, upstream, call, clock }: Revocation,
): Promise<Intent[]> {
  const keyId = required('key_id', data.key_id)
  const objectId = required('app_object_id', data.app_object_id)
  const { client_id = '', display_name = '' } = data
  const isRemoved = await state.withApplicationLock(objectId, () =>
    removed(
      upstream.directory.removeApplicationPassword(objectId, keyId, call),
      'error removing credentials',
    ),
  )
  return isRemoved || !isYoung(lease, clock)
    ? []
    : [{ kind: 'password', application_object_id: objectId, client_id, display_name, key_id: keyId }]
}

type Left = {
  readonly left: Intent[]
  /** Whether rights among them were not found, but may be so new that some replicas do not know them yet. */
  readonly areUnsure: boolean
}

/** Returns what is left to undo. */
async function removePrincipal(data: Partial<DynamicLeaseData>, revocation: Revocation): Promise<Left> {
  const { upstream, call, lease, clock } = revocation
  const objectId = required('app_object_id', data.app_object_id)
  const { sp_object_id: principalId } = data
  const { left, areUnsure } = await removeRights(data, revocation)
  if (principalId !== undefined) {
    await tolerated(
      'error removing service principal',
      upstream.directory.deleteServicePrincipal(principalId, call),
      revocation,
    )
  }
  const isRemoved = await removed(upstream.directory.deleteApplication(objectId, call), '')
  const mayExist = !isRemoved && isYoung(lease, clock)
  if (data.permanently_delete === true)
    left.push(...(await purge({ objectId, principalId, mayExist }, revocation)))
  if (mayExist) left.push(applicationIntent(objectId, data, revocation))
  return { left, areUnsure }
}

/**
 * Removes role assignments, group memberships and app roles. Returns what is left of them: assignments outlive the
 * application, and a membership may come back with it.
 */
async function removeRights(data: Partial<DynamicLeaseData>, revocation: Revocation): Promise<Left> {
  const { role_assignment_ids = [], group_membership_ids = [], app_roles = [], sp_object_id } = data
  const { resourceManager, directory } = revocation.upstream
  const { call } = revocation
  const areNew = isYoung(revocation.lease, revocation.clock)
  let areUnsure = false
  const isLeft = async (text: string, removal: Promise<unknown>): Promise<boolean> => {
    const outcome = await tolerated(text, removal, revocation)
    if (outcome === 'gone' && areNew) areUnsure = true
    return outcome === 'failed' || (outcome === 'gone' && areNew)
  }
  const assignment_ids = await filterOf(role_assignment_ids, (id) =>
    isLeft('error unassigning role', resourceManager.deleteRoleAssignment(id, call)),
  )
  const member = group_membership_ids.length === 0 ? '' : required('sp_object_id', sp_object_id)
  const group_ids = await filterOf(group_membership_ids, (id) =>
    isLeft('error removing group membership', directory.removeGroupMember(id, member, call)),
  )
  const held = await filterOf(app_roles, async ({ resource_id, id }) => {
    const removal = directory.removeAppRole(resource_id, id, call)
    return (await tolerated('error removing app role', removal, revocation)) === 'failed'
  })
  const left = rightsRemovals(sp_object_id, { assignment_ids, group_ids, grants: held.map(grantOf) })
  return { left, areUnsure }
}

type Purge = {
  readonly objectId: string
  readonly principalId: string | undefined
  /** Whether the application may still exist; then it is purged in the background. */
  readonly mayExist: boolean
}

/** Deletes the application and its service principal permanently. Returns what is left to purge. */
async function purge({ objectId, principalId, mayExist }: Purge, revocation: Revocation): Promise<Intent[]> {
  const left: Intent[] = []
  const purgePrincipal = async (id: string) =>
    tolerated(
      'error purging service principal',
      revocation.upstream.directory.purgeDeleted(id, revocation.call),
      revocation,
    )
  let principal = principalId === undefined ? 'done' : await purgePrincipal(principalId)
  const isDone = mayExist || (await isPurged(objectId, revocation))
  if (!isDone) left.push({ kind: 'purge', object_id: objectId })
  // it was deleted before its application, so it is among the deleted objects by now, unless it was purged
  // with the application
  if (principalId !== undefined && principal === 'gone') {
    principal = await purgePrincipal(principalId)
    if (principal === 'gone' && !isDone) principal = 'failed'
  }
  if (principalId !== undefined && principal === 'failed')
    left.push({ kind: 'purge', object_id: principalId })
  return left
}

/** A step whose failure does not fail the revocation. It is logged. */
async function tolerated(
  text: string,
  removal: Promise<unknown>,
  { lease, log, call }: Revocation,
): Promise<'done' | 'gone' | 'failed'> {
  try {
    return (await removal) === false ? 'gone' : 'done'
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    if (isGone(error)) return 'gone'
    log.warn(
      {
        event: 'cloud_revocation',
        lease_id: lease.id,
        correlation_id: call.correlationId,
        code: error.code,
        upstream_request_id: error.requestId,
      },
      `${text}: ${error.message}`,
    )
    return 'failed'
  }
}

/** Like `wasRemoved`, but turns a failure into the caller's error, prefixed with `text`. */
const removed = (removal: Promise<void>, text: string): Promise<boolean> =>
  wasRemoved(removal).catch((error: unknown) => {
    throw error instanceof UpstreamError
      ? fail('upstream', callerError(error, text).message, { cause: error })
      : error
  })

const isYoung = ({ issue_time }: Lease, clock: Clock): boolean => isNewObject(issue_time, clock)

/**
 * For an application that is so new that some replicas may not know it: the undo looks until its absence is certain.
 */
function applicationIntent(
  objectId: string,
  data: Partial<DynamicLeaseData>,
  { state, call }: Revocation,
): Intent {
  const { display_name = '', client_id, sp_object_id: service_principal_id } = data
  const tag = tagOf(state.accessor, call.correlationId)
  return { kind: 'app', display_name, tag, object_id: objectId, client_id, service_principal_id }
}

/**
 * Purges an application. It is among the deleted objects late, so this waits, unless too many revocations wait
 * already.
 */
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
