import type { Random } from '../../../lib/system/random.ts'
import { type AppRole, type AppRoleAssignment, grantOf } from '../app-roles/app-role.ts'
import type { IntentTo, RightsRemoval } from '../intents/intent.ts'
import type { PendingGrants } from '../intents/pending-grants.ts'
import { joinGroup } from '../upstream/directory/join-group.ts'
import { assignmentId } from '../upstream/directory/object-names.ts'
import type { UpstreamCall } from '../upstream/index.ts'
import { forEachOf, type UpstreamWork } from '../upstream-work.ts'
import type { GrantedRole, ManagedApplication } from './role-record.ts'

/** One kind of rights to grant: the intent that undoes it, and the calls that grant each right. */
export type RightStep<Removal extends RightsRemoval = RightsRemoval> = {
  readonly intent: Removal
  readonly operation: 'putRoleAssignment' | 'addGroupMember' | 'assignAppRole'
  readonly rights: readonly { readonly id: string; grant(call: UpstreamCall): Promise<unknown> }[]
}

type Upstream = UpstreamWork['upstream']

export type NewAssignment = ManagedApplication['role_assignments'][number] & { readonly name: string }

/** The ids are chosen here, so that intents can name them. */
export const newAssignments = (
  roles: readonly Pick<GrantedRole, 'role_id' | 'scope'>[],
  random: Random,
): NewAssignment[] =>
  roles.map(({ role_id, scope }) => {
    const name = random.uuid()
    return { name, id: assignmentId(scope, name), role_id, scope }
  })

export const assignmentStep = (
  assignments: readonly NewAssignment[],
  principalId: string,
  { resourceManager }: Upstream,
): RightStep<IntentTo<'roleAssignments'>> => ({
  intent: { kind: 'roleAssignments', assignment_ids: assignments.map(({ id }) => id) },
  operation: 'putRoleAssignment',
  rights: assignments.map(({ id, name, scope, role_id: roleDefinitionId }) => ({
    id,
    grant: (call) => resourceManager.putRoleAssignment({ scope, name, roleDefinitionId, principalId }, call),
  })),
})

export const membershipStep = (
  group_ids: readonly string[],
  principalId: string,
  { directory }: Upstream,
): RightStep<IntentTo<'groupMembership'>> => ({
  intent: { kind: 'groupMembership', group_ids, service_principal_id: principalId },
  operation: 'addGroupMember',
  rights: group_ids.map((groupId) => ({
    id: groupId,
    grant: (call) => joinGroup(directory, { groupId, principalId }, call),
  })),
})

/** `assigned` gets what has been granted. */
export const appRoleStep = (
  appRoles: readonly Pick<AppRole, 'resource_id' | 'role_id'>[],
  service_principal_id: string,
  { directory }: Upstream,
  assigned: AppRoleAssignment[],
): RightStep<IntentTo<'appRoleAssignments'>> => ({
  intent: { kind: 'appRoleAssignments', service_principal_id, grants: appRoles.map(grantOf) },
  operation: 'assignAppRole',
  rights: appRoles.map(({ resource_id, role_id }) => ({
    id: grantOf({ resource_id, role_id }),
    grant: async (call) => {
      const role = { resourceId: resource_id, appRoleId: role_id }
      const id = await directory.assignAppRole(service_principal_id, role, call)
      assigned.push({ id, resource_id, role_id })
    },
  })),
})

/** Grants the rights of a step once what they depend on is replicated. Throws upstream failures. */
export const grantRights = (
  { operation, rights }: RightStep,
  grants: PendingGrants,
  { upstream, call }: Pick<UpstreamWork, 'upstream' | 'call'>,
): Promise<void> =>
  forEachOf(rights, ({ id, grant }) =>
    grants.watch(
      upstream.untilReplicated(operation, call, (again) => grants.attempt(id, () => grant(again))),
    ),
  )
