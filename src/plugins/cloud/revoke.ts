import type { Lease } from '../../core/leases/lease.ts'
import { fail, ServiceError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import { isStatic, readLeaseData, required, type DynamicLeaseData, type StaticLeaseData } from './lease-data.ts'
import { issuedRemoval } from './issued.ts'
import { isGone } from './managed-application.ts'
import type { MountState, ReadyUpstream } from './mount-state.ts'
import { tagOf } from './upstream-names.ts'
import { forEachOf } from './upstream-work.ts'
import { type UpstreamCall, UpstreamError } from './upstream/index.ts'

export type RevocationParts = {
  readonly state: MountState
  readonly clock: Clock
  readonly random: Random
  readonly log: { warn(fields: object, text: string): void }
  readonly pause: (milliseconds: number, signal?: AbortSignal) => Promise<void>
  /** Revocations of the mount that wait for a purge just now. */
  readonly waiting: { count: number }
}

type Revocation = RevocationParts & { readonly lease: Lease; readonly upstream: ReadyUpstream; readonly call: UpstreamCall }

/** The lease store gives a revocation 90 s. */
const limitMs = 85_000
/** For so long "it is not there" may mean that it is not there yet. */
const youthMs = 600_000
const purgeEveryMs = 2_000
const purgeLimitMs = 30_000
/** More than so many leave the rest of it to the background at once: a purge that lags must not hold up the end of thousands. */
const mostWaiting = 4

/** Takes back what a lease stands for; may be repeated. Everything it throws is worth another try. Contract cloud-engine §4.6. */
export async function revokeCredential(lease: Lease, signal: AbortSignal, parts: RevocationParts): Promise<void> {
  const { state, clock, random } = parts
  const data = readLeaseData(lease)
  const upstream = await state.upstream().catch((error: unknown) => {
    throw error instanceof ServiceError ? fail('upstream', `error during revoke: ${error.message}`, { cause: error }) : error
  })
  const call: UpstreamCall = { deadline: clock.now() + limitMs, signal, correlationId: data.correlation_id ?? random.uuid() }
  const revocation: Revocation = { ...parts, lease, upstream, call }
  if (isStatic(data)) await removePassword(data, revocation)
  else await removePrincipal(data, revocation)
  if (data.client_id !== undefined) await state.view.write([issuedRemoval(data.client_id, lease)])
}

async function removePassword(data: Partial<StaticLeaseData>, { state, lease, upstream, call, clock }: Revocation): Promise<void> {
  const keyId = required('key_id', data.key_id)
  const objectId = required('app_object_id', data.app_object_id)
  await state.inApplicationTurn(objectId, async () => {
    const isRemoved = await removed(upstream.directory.removeApplicationPassword(objectId, keyId, call), 'error removing credentials')
    if (isRemoved || !isYoung(lease, clock)) return
    const id = await state.intents.record({
      kind: 'password',
      application_object_id: objectId,
      client_id: data.client_id ?? '',
      display_name: data.display_name ?? '',
      key_id: keyId,
    })
    state.intents.undo([id])
  })
}

async function removePrincipal(data: Partial<DynamicLeaseData>, revocation: Revocation): Promise<void> {
  const { upstream, call } = revocation
  const objectId = required('app_object_id', data.app_object_id)
  const {
    role_assignment_ids: assignments = [],
    group_membership_ids: groups = [],
    sp_object_id: principalId,
    permanently_delete: forGood = false,
  } = data
  await forEachOf(assignments, (id) => tolerated('error unassigning role', upstream.resourceManager.deleteRoleAssignment(id, call), revocation))
  if (groups.length > 0) {
    const member = required('sp_object_id', principalId)
    await forEachOf(groups, (id) => tolerated('error removing group membership', upstream.directory.removeGroupMember(id, member, call), revocation))
  }
  if (principalId !== undefined) {
    await tolerated('error removing service principal', upstream.directory.deleteServicePrincipal(principalId, call), revocation)
  }
  const isRemoved = await removed(upstream.directory.deleteApplication(objectId, call), '')
  if (forGood && principalId !== undefined) {
    await tolerated('error purging service principal', upstream.directory.purgeDeleted(principalId, call), revocation)
  }
  if (!isRemoved && isYoung(revocation.lease, revocation.clock)) await leaveToUndo(objectId, data, revocation)
  else if (forGood) await purge(objectId, revocation)
}

/** What is done on the way and does not decide: a failure is logged. */
async function tolerated(text: string, removal: Promise<void>, { lease, log }: Revocation): Promise<void> {
  try {
    await removal
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    if (isGone(error)) return
    const { correlation_id: correlationId } = readLeaseData(lease)
    log.warn(
      { event: 'cloud_revocation', lease_id: lease.id, correlation_id: correlationId, code: error.code, upstream_request_id: error.requestId },
      `${text}: ${error.message}`,
    )
  }
}

/** False: it was not there. DEV-11. */
async function removed(removal: Promise<void>, text: string): Promise<boolean> {
  try {
    await removal
    return true
  } catch (error) {
    if (isGone(error)) return false
    throw error instanceof UpstreamError ? fail('upstream', [text, error.message].filter((part) => part !== '').join(': '), { cause: error }) : error
  }
}

const isYoung = ({ issue_time }: Lease, clock: Clock): boolean => clock.now() - issue_time < youthMs

/** It was made so lately that a part of the directory may not know it yet: the undoing looks again until that is certain. */
async function leaveToUndo(objectId: string, data: Partial<DynamicLeaseData>, { state, call }: Revocation): Promise<void> {
  const { display_name = '', client_id, sp_object_id } = data
  const intent = {
    kind: 'app' as const,
    display_name,
    tag: tagOf(state.accessor, call.correlationId),
    object_id: objectId,
    ...(client_id === undefined ? {} : { client_id }),
    ...(sp_object_id === undefined ? {} : { service_principal_id: sp_object_id }),
  }
  state.intents.undo([await state.intents.record(intent)])
}

/** A deleted object turns up among the deleted ones later: for a while that is waited for, then it goes on in the background. */
async function purge(objectId: string, { state, upstream, call, clock, pause, waiting }: Revocation): Promise<void> {
  const end = Math.min(clock.now() + purgeLimitMs, call.deadline)
  const mayWait = waiting.count < mostWaiting
  waiting.count += 1
  try {
    for (;;) {
      if (await removed(upstream.directory.purgeDeleted(objectId, call), '')) return
      if (!mayWait || clock.now() + purgeEveryMs > end) break
      await pause(purgeEveryMs, call.signal)
      if (call.signal?.aborted === true) break
    }
  } finally {
    waiting.count -= 1
  }
  state.intents.undo([await state.intents.record({ kind: 'purge', object_id: objectId })])
}
