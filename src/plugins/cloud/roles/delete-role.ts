import type { ViewEntry } from '../../../core/barrier/view.ts'
import { refuse, ServiceError } from '../../../errors.ts'
import { trustIntent, undoTrustAfterFailure } from '../federation/trust.ts'
import type { Intent } from '../intents/intent.ts'
import { watchTries } from '../intents/undo-after-failure.ts'
import type { MountState } from '../mount-state.ts'
import { callerError, UpstreamError } from '../upstream/index.ts'
import { wasRemoved } from '../upstream/removal.ts'
import { otherTenantReason } from '../upstream/tenant.ts'
import { orRefuse, type RoleWork, type UpstreamWork } from '../upstream-work.ts'
import { removalsOf, removeRights } from './persisted-application.ts'
import type { ManagedApplication, RoleRecord, Trust } from './role-record.ts'

/** Deletes a role and the application it owns. Returns warnings. docs/contract/cloud.md#deleting-a-role */
export function deleteRole(name: string, roleWork: RoleWork): Promise<string[]> {
  const { state } = roleWork
  return state.withRoleLock(name, async () => {
    const role = await state.findRole(name)
    if (role?.managed !== undefined) return deletePersisted(name, role, role.managed, roleWork)
    const { trust } = role ?? {}
    if (trust !== undefined) await state.withTrustLock(trust.name, () => deleteTrusted(name, trust, roleWork))
    else if (role !== undefined) await state.putRole(name, undefined)
    return []
  })
}

async function deletePersisted(
  name: string,
  role: RoleRecord,
  managed: ManagedApplication,
  roleWork: RoleWork,
): Promise<string[]> {
  const { state } = roleWork
  const work = { ...roleWork, upstream: await upstreamForDelete(state) }
  const reason = otherTenantReason(managed, work.upstream)
  if (reason !== undefined) throw refuse('invalid', `error deleting persisted app: ${reason}`)
  // the application first: if that fails, the role stays as it was
  await orRefuse(
    'error deleting persisted app',
    wasRemoved(work.upstream.directory.deleteApplication(managed.object_id, work.call)),
  )
  const { left, warnings } = await removeRights(removalsOf(managed), work)
  const purges: Intent[] = role.permanently_delete
    ? [managed.object_id, managed.service_principal_id].map((object_id) => ({ kind: 'purge', object_id }))
    : []
  const { tenantId } = work.upstream.settings
  await state.intents.undoWith(
    (later) => state.putRole(name, undefined, later),
    [...left, ...purges],
    tenantId,
  )
  return warnings
}

/**
 * The trust first: if that fails, the role stays and gets it back by the intent, which is stored before. Under the
 * trust's lock.
 */
async function deleteTrusted(name: string, trust: Trust, work: RoleWork): Promise<void> {
  const { state } = work
  const { tenant_id, application_object_id: id } = trust
  const upstream = await upstreamForDelete(state)
  const reason = otherTenantReason({ tenant_id }, upstream)
  if (reason !== undefined) throw refuse('invalid', `error deleting federated credential: ${reason}`)
  const ids = [await state.intents.record(trustIntent(name, trust), tenant_id)]
  const { call, isUnderway } = watchTries(work.call)
  try {
    await wasRemoved(upstream.directory.deleteFederatedCredential(id, trust.name, call))
  } catch (error) {
    await undoTrustAfterFailure(ids, error, isUnderway(), work)
    throw error instanceof UpstreamError ? callerError(error, 'error deleting federated credential') : error
  }
  try {
    await state.putRole(name, undefined, isUnderway() ? [] : await state.intents.settling(ids))
  } finally {
    // a failed write may be stored
    await state.intents.undo(ids, { isUnderway: isUnderway() })
  }
}

/**
 * Instead of `deleteRole` if the mount is being removed: leaves the trust to the intents, as there is no role to
 * return to.
 */
export function abandonTrusted(name: string, trust: Trust, { state }: RoleWork): Promise<void> {
  const remove = (later: readonly ViewEntry[]) => state.putRole(name, undefined, later)
  return state.withRoleLock(name, async () => {
    await state.intents.undoWith(remove, [trustIntent(name, trust)], trust.tenant_id)
  })
}

async function upstreamForDelete(state: MountState): Promise<UpstreamWork['upstream']> {
  try {
    return await state.upstream()
  } catch (error) {
    if (error instanceof ServiceError)
      throw new ServiceError(error.kind, `error during delete: ${error.message}`, {
        cause: error,
        wrapped: error.wrapped,
      })
    throw error
  }
}
