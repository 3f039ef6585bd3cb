import { base62 } from '../../../lib/random.ts'
import { PendingGrants } from '../intents/pending-grants.ts'
import type { Intent } from '../intents/intent.ts'
import { endFailed, mayComeLate } from '../intents/failed-work.ts'
import { joinGroup } from '../upstream/join-group.ts'
import type { ManagedApplication, RoleRecord } from './role-record.ts'
import { type Application, classify, UpstreamError } from '../upstream/index.ts'
import { forEachOf, type UpstreamWork } from '../upstream-work.ts'
import { assignmentId, displayNameOf, tagOf } from '../upstream/object-names.ts'

/** What a managed application is now, and the intents that end with the write that stores it. */
export type ManagedChange = {
  readonly managed: ManagedApplication
  /** Of what was made. */
  readonly settles: readonly string[]
  /** Rights it has no longer by the record: to be removed once that is stored. */
  readonly drops: readonly Intent[]
}

type Assignment = ManagedApplication['role_assignments'][number]
type WantedRights = {
  readonly roles: readonly { readonly role_id: string; readonly scope: string }[]
  readonly groups: readonly string[]
}

const rightsOf = ({ roles, groups }: RoleRecord): WantedRights => ({
  roles: roles ?? [],
  groups: (groups ?? []).map(({ object_id }) => object_id),
})

/**
 * Makes the application a role keeps, with its service principal and rights; each step is meant before it is
 * done. When one fails, what was made is undone. docs/contract/cloud.md#persisted-applications.
 */
export async function createManagedApplication(
  name: string,
  role: RoleRecord,
  work: UpstreamWork,
): Promise<ManagedChange> {
  const { state, upstream, call, clock, random, serviceManagementReference } = work
  const tag = tagOf(state.accessor, call.correlationId)
  const displayName = displayNameOf(name, `${Math.floor(clock.now() / 1000)}-${base62(random, 8)}`)
  const app = await state.intents.record(
    { kind: 'app', display_name: displayName, tag },
    upstream.settings.tenantId,
  )
  let application: Application | undefined
  try {
    const signInAudience = state.names.audiences.get(role.sign_in_audience)
    const asked = {
      displayName,
      tags: [...(role.tags ?? []), tag],
      signInAudience,
      serviceManagementReference,
    }
    application = await upstream.directory.createApplication(asked, call)
    await state.intents.amend(app, { object_id: application.id, client_id: application.appId })
    const { id, appId } = application
    const principal = await upstream.untilReplicated('createServicePrincipal', call, (again) =>
      upstream.directory.createServicePrincipal(appId, again),
    )
    await state.intents.amend(app, { service_principal_id: principal.id })
    const bare: ManagedApplication = {
      tenant_id: upstream.settings.tenantId,
      object_id: id,
      client_id: appId,
      service_principal_id: principal.id,
      role_assignments: [],
      group_ids: [],
    }
    const { managed, settles } = await addRights(bare, rightsOf(role), work)
    return { managed, settles: [app, ...settles], drops: [] }
  } catch (error) {
    await endFailed(state.intents, [app], { error, made: application !== undefined })
    throw error
  }
}

/**
 * Gives a managed application the rights of its role: what is new is added now, what is gone is named, to be
 * removed when the role is stored. docs/contract/cloud.md#persisted-applications
 */
export async function changeManagedApplication(
  role: RoleRecord,
  before: ManagedApplication,
  work: UpstreamWork,
): Promise<ManagedChange> {
  const wanted = rightsOf(role)
  const isWanted = (assignment: Assignment) =>
    wanted.roles.some((granted) => isSameRight(granted, assignment))
  const [kept, gone] = [
    before.role_assignments.filter(isWanted),
    before.role_assignments.filter((assignment) => !isWanted(assignment)),
  ]
  const left = before.group_ids.filter((id) => !wanted.groups.includes(id))
  const start = {
    ...before,
    role_assignments: kept,
    group_ids: before.group_ids.filter((id) => wanted.groups.includes(id)),
  }
  const { managed, settles } = await addRights(start, wanted, work)
  return { managed, settles, drops: dropping({ ...before, role_assignments: gone, group_ids: left }) }
}

const isSameRight = (
  a: Pick<Assignment, 'role_id' | 'scope'>,
  b: Pick<Assignment, 'role_id' | 'scope'>,
): boolean => a.role_id === b.role_id && a.scope === b.scope

/** The removal of all rights, as intents. */
export function dropping({
  role_assignments,
  group_ids,
  service_principal_id,
}: ManagedApplication): Intent[] {
  const drops: Intent[] = []
  if (role_assignments.length > 0)
    drops.push({ kind: 'roleAssignments', assignment_ids: role_assignments.map(({ id }) => id) })
  if (group_ids.length > 0) drops.push({ kind: 'groupMembership', group_ids, service_principal_id })
  return drops
}

async function addRights(
  before: ManagedApplication,
  wanted: WantedRights,
  { state, upstream, call, random }: UpstreamWork,
): Promise<Pick<ManagedChange, 'managed' | 'settles'>> {
  const { service_principal_id: principalId } = before
  const tenant = upstream.settings.tenantId
  const roles = wanted.roles.filter(
    (granted) => !before.role_assignments.some((assignment) => isSameRight(granted, assignment)),
  )
  const made = roles.map(({ role_id, scope }) => {
    const name = random.uuid()
    return { name, id: assignmentId(scope, name), role_id, scope }
  })
  const group_ids = wanted.groups.filter((id) => !before.group_ids.includes(id))
  const settles: string[] = []
  const asked = new PendingGrants()
  let isUnderway = false
  const granting = async (grant: Promise<unknown>) => {
    try {
      await grant
    } catch (error) {
      if (mayComeLate(error)) isUnderway = true
      throw error
    }
  }
  try {
    if (made.length > 0)
      settles.push(
        await state.intents.record(
          { kind: 'roleAssignments', assignment_ids: made.map(({ id }) => id) },
          tenant,
        ),
      )
    await forEachOf(made, ({ name, role_id, scope }) => {
      const assignment = { scope, name, roleDefinitionId: role_id, principalId }
      return granting(
        upstream.untilReplicated('putRoleAssignment', call, (again) =>
          asked.asking(assignmentId(scope, name), () =>
            upstream.resourceManager.putRoleAssignment(assignment, again),
          ),
        ),
      )
    })
    if (group_ids.length > 0)
      settles.push(
        await state.intents.record(
          { kind: 'groupMembership', group_ids, service_principal_id: principalId },
          tenant,
        ),
      )
    await forEachOf(group_ids, (groupId) =>
      granting(
        upstream.untilReplicated('addGroupMember', call, (again) =>
          asked.asking(groupId, () => joinGroup(groupId, principalId, { upstream }, again)),
        ),
      ),
    )
  } catch (error) {
    const meant =
      made.length > 0 ? [{ assignment_ids: made.map(({ id }) => id) }, { group_ids }] : [{ group_ids }]
    const left = await Promise.all(
      settles.map((id, at) => asked.narrow(state.intents, id, meant[at] ?? { group_ids })),
    )
    state.intents.undo(left.flat(), { isUnderway })
    throw error
  }
  const role_assignments = [
    ...before.role_assignments,
    ...made.map(({ id, role_id, scope }) => ({ id, role_id, scope })),
  ]
  return { managed: { ...before, role_assignments, group_ids: [...before.group_ids, ...group_ids] }, settles }
}

/** Removes rights; gives back what is left to try again, with why. */
export async function dropRights(
  drops: readonly Intent[],
  { upstream, call }: UpstreamWork,
): Promise<{ left: Intent[]; warnings: string[] }> {
  const warnings: string[] = []
  const left: Intent[] = []
  for (const drop of drops) {
    const before = warnings.length
    if (drop.kind === 'roleAssignments') {
      await forEachOf(drop.assignment_ids, (id) =>
        removing(upstream.resourceManager.deleteRoleAssignment(id, call), (cause) =>
          warnings.push(`error unassigning role: ${cause}`),
        ),
      )
    } else if (drop.kind === 'groupMembership') {
      await forEachOf(drop.group_ids, (id) =>
        removing(upstream.directory.removeGroupMember(id, drop.service_principal_id, call), (cause) =>
          warnings.push(`error removing group membership: ${cause}`),
        ),
      )
    }
    if (warnings.length > before) left.push(drop)
  }
  return { left, warnings }
}

async function removing(removal: Promise<unknown>, onFailure: (cause: string) => void): Promise<void> {
  try {
    await removal
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    if (!isGone(error)) onFailure(error.message)
  }
}

/** What was to be removed is not there. */
export const isGone = (error: unknown): boolean =>
  error instanceof UpstreamError && ['gone', 'done'].includes(classify(error).kind)
