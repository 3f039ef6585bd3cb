import { grantOf } from '../app-roles/app-role.ts'
import { removeAppRoles } from '../app-roles/remove-app-roles.ts'
import { repairTrust } from '../federation/repair-trust.ts'
import { isSecretInUse } from '../root-rotation/root-secret-users.ts'
import { holderOf } from '../upstream/directory/password-holder.ts'
import { unlessGone, wasRemoved } from '../upstream/removal.ts'
import { otherTenantReason } from '../upstream/tenant.ts'
import { forEachOf } from '../upstream-work.ts'
import type { Intent, IntentTo } from './intent.ts'
import type { Attempt, Undone } from './intents.ts'
import { findRoleOf, isOwned, type Owners } from './ownership.ts'
import type { StoredIntent } from './stored-intents.ts'
import { undoKey } from './undo-key.ts'
import { done, later, type Undoing, type UndoParts } from './undoing.ts'

const attemptLimitMs = 60_000

/**
 * Removes what an intent may have created, unless it has an owner. Throws upstream failures.
 * docs/contract/cloud.md#undo
 */
export async function undoIntent(stored: StoredIntent, attempt: Attempt, parts: UndoParts): Promise<Undone> {
  const { intent, since } = stored
  const { state, clock, random } = parts
  // another server may just have stored the owner
  await parts.servers.confirmCopies()
  // an owner gets a trust back
  if (intent.kind !== 'federatedCredential' && (await isOwned(intent, parts))) return done
  if (await isSecretInUse(intent, parts)) return later('a mount still signs in with it')
  const upstream = await state.upstream()
  const reason = otherTenantReason(stored, upstream)
  if (reason !== undefined) return later(reason)
  const call = {
    deadline: clock.now() + attemptLimitMs,
    signal: attempt.signal,
    correlationId: correlationOf(intent) || random.uuid(),
  }
  const undoing = { ...parts, upstream, call, ageMs: clock.now() - since, attempt }
  switch (intent.kind) {
    case 'app':
      return undoApplication(intent, undoing)
    case 'roleAssignments':
      return undoAssignments(intent, undoing)
    case 'groupMembership':
      return withLockOfOwner(intent, parts, () => undoMembership(intent, undoing))
    case 'appRoleAssignments':
      return withLockOfOwner(intent, parts, () => undoAppRoles(intent, undoing))
    case 'password':
    case 'rootPassword':
    case 'staticPassword':
    case 'retirePassword':
      return state.withApplicationLock(intent.application_object_id, () => undoPassword(intent, undoing))
    case 'rootKey':
    case 'retireKey':
      return state.withApplicationLock(intent.application_object_id, () => undoKey(intent, undoing))
    case 'federatedCredential':
      return state.withTrustLock(intent.name, () => repairTrust(intent, undoing))
    case 'purge':
      return (await wasRemoved(undoing.upstream.directory.purgeDeleted(intent.object_id, call))) ||
        undoing.ageMs > parts.patience.byPurge
        ? done
        : later('it is not among the deleted objects')
  }
}

/** The tag of an application ends with the correlation id of the request that created it. */
const correlationOf = (intent: Intent): string | undefined =>
  intent.kind === 'app' ? intent.tag.slice(intent.tag.lastIndexOf(':') + 1) : undefined

async function undoApplication(intent: IntentTo<'app'>, undoing: Undoing): Promise<Undone> {
  const { upstream, call, ageMs, patience, attempt } = undoing
  const known = intent.object_id === undefined ? await withFoundIds(intent, undoing) : intent
  const { object_id: objectId, client_id: clientId } = known
  if (objectId === undefined) return ageMs > patience.bySearch ? done : later('it is not found by its name')
  if (known !== intent && (await isOwned(known, undoing))) return done
  const principalId =
    intent.service_principal_id ??
    (clientId === undefined ? undefined : (await upstream.directory.findServicePrincipal(clientId, call))?.id)
  if (principalId !== undefined && intent.service_principal_id === undefined)
    await attempt.amend({ service_principal_id: principalId })
  const isDeleted = await wasRemoved(upstream.directory.deleteApplication(objectId, call))
  if (isDeleted) await attempt.amend({ deleted: 'yes' })
  // the service principal is deleted together with its application; deleting it again does no harm
  if (principalId !== undefined) {
    await wasRemoved(upstream.directory.deleteServicePrincipal(principalId, call))
  }
  const purged = async (id: string | undefined) =>
    id === undefined || (await wasRemoved(upstream.directory.purgeDeleted(id, call)))
  const isPrincipalPurged = await purged(principalId)
  if (await purged(objectId)) {
    // by now the principal is among the deleted objects too, unless it was purged with its application
    if (!isPrincipalPurged) await purged(principalId)
    return done
  }
  // what this server deleted must appear among the deleted objects
  const isExpected = isDeleted || intent.deleted !== undefined
  return ageMs > (isExpected ? patience.bySearch : patience.byId)
    ? done
    : later('it is not among the deleted objects')
}

/** Adds the ids of the application with this name and tag, and stores them for the next attempt. */
async function withFoundIds(
  intent: IntentTo<'app'>,
  { upstream, call, attempt }: Undoing,
): Promise<IntentTo<'app'>> {
  const named = await upstream.directory.findApplications({ displayName: intent.display_name }, call)
  const [found, ...others] = named.filter(({ tags }) => tags.includes(intent.tag))
  if (found === undefined) return intent
  // the others: a request that took effect was reported as failed and sent again
  for (const { id } of others) await wasRemoved(upstream.directory.deleteApplication(id, call))
  const ids = { object_id: found.id, client_id: found.appId }
  await attempt.amend(ids)
  return { ...intent, ...ids }
}

async function undoAssignments(
  { assignment_ids: ids }: IntentTo<'roleAssignments'>,
  undoing: Undoing,
): Promise<Undone> {
  let areAllRemoved = true
  await forEachOf(ids, async (id) => {
    if (!(await undoing.upstream.resourceManager.deleteRoleAssignment(id, undoing.call)))
      areAllRemoved = false
  })
  return rightsUndone(areAllRemoved, undoing)
}

/** Waits for a write of the role that owns the service principal: it decides which rights are wanted. */
async function withLockOfOwner<T>(
  { service_principal_id: principalId }: { readonly service_principal_id: string },
  owners: Owners,
  work: () => Promise<T>,
): Promise<T> {
  const owner = await findRoleOf(principalId, owners)
  return owner === undefined ? work() : owners.state.withRoleLock(owner.name, work)
}

/** Skips memberships that the role lists again. */
async function undoMembership(
  { group_ids, service_principal_id: principalId }: IntentTo<'groupMembership'>,
  undoing: Undoing,
): Promise<Undone> {
  const { upstream, call } = undoing
  const owner = await findRoleOf(principalId, undoing)
  const wanted = new Set(owner?.role.managed?.group_ids)
  let areAllRemoved = true
  for (const id of group_ids) {
    if (!wanted.has(id) && !(await wasRemoved(upstream.directory.removeGroupMember(id, principalId, call))))
      areAllRemoved = false
  }
  return rightsUndone(areAllRemoved, undoing)
}

/** Skips app roles that the role lists again. A service principal that is gone has none. */
async function undoAppRoles(
  { grants, service_principal_id }: IntentTo<'appRoleAssignments'>,
  undoing: Undoing,
): Promise<Undone> {
  const { upstream, call } = undoing
  const owner = await findRoleOf(service_principal_id, undoing)
  const wanted = new Set(owner?.role.managed?.app_roles?.map(grantOf))
  const meant = { service_principal_id, grants: grants.filter((grant) => !wanted.has(grant)) }
  const areAllRemoved = await unlessGone(removeAppRoles(upstream.directory, meant, call))
  return rightsUndone(areAllRemoved ?? false, undoing)
}

/** A call that was cut off may grant a right after an attempt found none, so attempts go on for a while. */
const rightsUndone = (areAllRemoved: boolean, { attempt: { underwayMs }, patience }: Undoing): Undone =>
  areAllRemoved || underwayMs === undefined || underwayMs > patience.byId
    ? done
    : later('it is not there yet')

async function undoPassword(
  intent: IntentTo<'password' | 'rootPassword' | 'staticPassword' | 'retirePassword'>,
  undoing: Undoing,
): Promise<Undone> {
  const { upstream, call, clock, ageMs, patience, attempt } = undoing
  const holder = holderOf(intent, upstream.directory)
  let keyId = intent.key_id
  if (keyId === undefined && intent.kind !== 'retirePassword') {
    const found = await unlessGone(holder.read(call))
    keyId = found?.passwordCredentials.find(({ displayName }) => displayName === intent.display_name)?.keyId
    if (keyId === undefined) return ageMs > patience.bySearch ? done : later('it is not found by its name')
    await attempt.amend({ key_id: keyId })
    if (await isOwned({ ...intent, key_id: keyId }, undoing)) return done
  }
  if (keyId === undefined || (await wasRemoved(holder.remove(keyId, call)))) return done
  const age = intent.kind === 'retirePassword' ? clock.now() - (intent.made ?? 0) : ageMs
  return age > patience.byId ? done : later('it is not there yet')
}
