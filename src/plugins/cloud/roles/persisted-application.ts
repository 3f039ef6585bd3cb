import { base62 } from '../../../lib/system/random.ts'
import { type AppRole, type AppRoleAssignment, grantOf } from '../app-roles/app-role.ts'
import { removeAppRoles } from '../app-roles/remove-app-roles.ts'
import { type RightsRemoval, rightsRemovals } from '../intents/intent.ts'
import { PendingGrants } from '../intents/pending-grants.ts'
import { undoAfterFailure } from '../intents/undo-after-failure.ts'
import { engineOptions } from '../mount-options.ts'
import { displayNameOf, tagOf } from '../upstream/directory/object-names.ts'
import { type Application, UpstreamError } from '../upstream/index.ts'
import { isGone, isNewObject } from '../upstream/removal.ts'
import { forEachOf, type RoleWork, type UpstreamWork } from '../upstream-work.ts'
import { appRoleStep, assignmentStep, grantRights, membershipStep, newAssignments } from './right-steps.ts'
import { type ManagedApplication, type RoleRecord, rightKey } from './role-record.ts'

/** After a change, with what the write that stores the role must do. */
export type PersistedChange = {
  readonly managed: ManagedApplication
  /** Intents of created objects, which the role owns from that write on. */
  readonly settles: readonly string[]
  /** Rights that the role no longer lists, to be removed after that write. */
  readonly removals: readonly RightsRemoval[]
  /** Whether they may be so new that some replicas of the cloud do not know them yet. */
  readonly areNew: boolean
}

type Assignment = ManagedApplication['role_assignments'][number]
type WantedRights = {
  readonly roles: readonly { readonly role_id: string; readonly scope: string }[]
  readonly groups: readonly string[]
  readonly appRoles: readonly Pick<AppRole, 'resource_id' | 'role_id'>[]
}

const rightsOf = ({ roles, groups, app_roles }: RoleRecord): WantedRights => ({
  appRoles: app_roles ?? [],
  roles: roles ?? [],
  groups: (groups ?? []).map(({ object_id }) => object_id),
})

/**
 * An intent is stored before each step; if one fails, everything is undone.
 * docs/contract/cloud.md#persisted-applications
 */
export async function createPersistedApplication(
  name: string,
  role: RoleRecord,
  work: UpstreamWork & Pick<RoleWork, 'mount'>,
): Promise<PersistedChange> {
  const { state, upstream, call, clock, random } = work
  const { service_management_reference: serviceManagementReference } = engineOptions(work.mount)
  const { tenantId } = upstream.settings
  const tag = tagOf(state.accessor, call.correlationId)
  const displayName = displayNameOf(name, `${Math.floor(clock.now() / 1000)}-${base62(random, 8)}`)
  const intent = await state.intents.record({ kind: 'app', display_name: displayName, tag }, tenantId)
  let application: Application | undefined
  try {
    const signInAudience = state.names.audiences.get(role.sign_in_audience)
    const tags = [...(role.tags ?? []), tag]
    application = await upstream.directory.createApplication(
      { displayName, tags, signInAudience, serviceManagementReference },
      call,
    )
    const { id, appId } = application
    await state.intents.amend(intent, { object_id: id, client_id: appId })
    const principal = await upstream.untilReplicated('createServicePrincipal', call, (again) =>
      upstream.directory.createServicePrincipal(appId, again),
    )
    await state.intents.amend(intent, { service_principal_id: principal.id })
    const bare: ManagedApplication = {
      tenant_id: tenantId,
      object_id: id,
      client_id: appId,
      service_principal_id: principal.id,
      role_assignments: [],
      group_ids: [],
    }
    const { managed, settles } = await addRights(bare, rightsOf(role), work)
    return { managed, settles: [intent, ...settles], removals: [], areNew: false }
  } catch (error) {
    await undoAfterFailure(state.intents, [intent], { error, made: application !== undefined })
    throw error
  }
}

/**
 * Adds new rights at once, and returns those to be removed once the role is stored.
 * docs/contract/cloud.md#persisted-applications
 */
export async function changePersistedApplication(
  role: RoleRecord,
  before: ManagedApplication,
  work: UpstreamWork,
): Promise<PersistedChange> {
  const wanted = rightsOf(role)
  const wantedKeys = new Set(wanted.roles.map(rightKey))
  const isWanted = (assignment: Assignment) => wantedKeys.has(rightKey(assignment))
  const isWantedGroup = (id: string) => wanted.groups.includes(id)
  const grants = new Set(wanted.appRoles.map(grantOf))
  const { app_roles: held = [], ...bare } = before
  const kept = {
    ...bare,
    role_assignments: before.role_assignments.filter(isWanted),
    group_ids: before.group_ids.filter(isWantedGroup),
    ...appRolesOf(held.filter((one) => grants.has(grantOf(one)))),
  }
  const dropped = {
    ...before,
    role_assignments: before.role_assignments.filter((assignment) => !isWanted(assignment)),
    group_ids: before.group_ids.filter((id) => !isWantedGroup(id)),
    app_roles: held.filter((one) => !grants.has(grantOf(one))),
  }
  const { rights_since: since } = before
  const areNew = since !== undefined && isNewObject(since, work.clock)
  return { ...(await addRights(kept, wanted, work)), removals: removalsOf(dropped), areNew }
}

export const removalsOf = (managed: ManagedApplication): RightsRemoval[] =>
  rightsRemovals(managed.service_principal_id, {
    assignment_ids: managed.role_assignments.map(({ id }) => id),
    group_ids: managed.group_ids,
    grants: managed.app_roles?.map(grantOf),
  })

/** Absent for an application without app roles, as in records of earlier versions. */
const appRolesOf = (app_roles: AppRoleAssignment[]): Pick<ManagedApplication, 'app_roles'> =>
  app_roles.length === 0 ? {} : { app_roles }

/** Adds the rights that are missing. If one cannot be added, those added before are undone. */
async function addRights(
  before: ManagedApplication,
  wanted: WantedRights,
  work: UpstreamWork,
): Promise<Pick<PersistedChange, 'managed' | 'settles'>> {
  const { state, upstream } = work
  const { service_principal_id: principalId } = before
  const heldRoles = new Set(before.role_assignments.map(rightKey))
  const assignments = newAssignments(
    wanted.roles.filter((granted) => !heldRoles.has(rightKey(granted))),
    work.random,
  )
  const group_ids = wanted.groups.filter((id) => !before.group_ids.includes(id))
  const { app_roles: held = [] } = before
  const appRoles = wanted.appRoles.filter((one) => !held.some((other) => grantOf(other) === grantOf(one)))
  const assigned: AppRoleAssignment[] = []
  const grants = new PendingGrants()
  const recorded: { readonly id: string; readonly intent: RightsRemoval }[] = []
  try {
    for (const step of [
      assignmentStep(assignments, principalId, upstream),
      membershipStep(group_ids, principalId, upstream),
      appRoleStep(appRoles, principalId, upstream, assigned),
    ]) {
      const { intent, rights } = step
      if (rights.length === 0) continue
      recorded.push({ id: await state.intents.record(intent, upstream.settings.tenantId), intent })
      await grantRights(step, grants, work)
    }
  } catch (error) {
    const left = await Promise.all(recorded.map(({ id, intent }) => grants.narrow(state.intents, id, intent)))
    await state.intents.undo(left.flat(), { isUnderway: grants.isUnderway })
    throw error
  }
  const added = assignments.map(({ id, role_id, scope }) => ({ id, role_id, scope }))
  return {
    managed: {
      ...before,
      ...(recorded.length === 0 ? {} : { rights_since: work.clock.now() }),
      role_assignments: [...before.role_assignments, ...added],
      group_ids: [...before.group_ids, ...group_ids],
      ...appRolesOf([...held, ...assigned]),
    },
    settles: recorded.map(({ id }) => id),
  }
}

/**
 * Returns the removals that failed, with a warning for each failure, and those that did not find all of their
 * rights.
 */
export async function removeRights(
  removals: readonly RightsRemoval[],
  { upstream, call }: UpstreamWork,
): Promise<{ left: RightsRemoval[]; absent: RightsRemoval[]; warnings: string[] }> {
  const warnings: string[] = []
  const left: RightsRemoval[] = []
  const absent: RightsRemoval[] = []
  for (const removal of removals) {
    const before = warnings.length
    let areAllRemoved = true
    const tried = async (text: string, removing: Promise<unknown>) => {
      const outcome = await outcomeOf(removing)
      if (outcome instanceof UpstreamError) warnings.push(`${text}: ${outcome.message}`)
      else areAllRemoved &&= outcome
    }
    if (removal.kind === 'roleAssignments') {
      await forEachOf(removal.assignment_ids, (id) =>
        tried('error unassigning role', upstream.resourceManager.deleteRoleAssignment(id, call)),
      )
    } else if (removal.kind === 'appRoleAssignments') {
      await tried('error removing app roles', removeAppRoles(upstream.directory, removal, call))
    } else {
      await forEachOf(removal.group_ids, (id) =>
        tried(
          'error removing group membership',
          upstream.directory.removeGroupMember(id, removal.service_principal_id, call),
        ),
      )
    }
    if (warnings.length > before) left.push(removal)
    else if (!areAllRemoved) absent.push(removal)
  }
  return { left, absent, warnings }
}

/** Whether the rights were there, or why they could not be removed. */
async function outcomeOf(removing: Promise<unknown>): Promise<boolean | UpstreamError> {
  try {
    return (await removing) !== false
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return isGone(error) ? false : error
  }
}
