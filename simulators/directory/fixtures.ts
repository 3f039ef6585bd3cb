import { randomUUID } from 'node:crypto'
import { makePassword } from './passwords.ts'
import type { Application, GroupKind, ManagedIdentity, Principal, RoleDefinition, Tenant } from './tenant.ts'

/** The age of fixtures, so that no delay applies to them. */
const yearMs = 365 * 86_400_000

const everything = { actions: ['*'], notActions: [], dataActions: [], notDataActions: [] }

/** Five definitions of the real cloud, and two with the same name. simulators/directory/README.md */
const roleDefinitions: Omit<RoleDefinition, 'seq'>[] = [
  {
    name: '8e3af657-a8ff-443c-a75c-2fe8c4bcb635',
    roleName: 'Owner',
    description: 'Grants full access, including the right to assign roles.',
    permissions: [everything],
  },
  {
    name: 'b24988ac-6180-42a0-ab88-20f7382dd24c',
    roleName: 'Contributor',
    description: 'Grants full access, except the right to assign roles.',
    permissions: [
      {
        ...everything,
        notActions: [
          'Microsoft.Authorization/*/Delete',
          'Microsoft.Authorization/*/Write',
          'Microsoft.Authorization/elevateAccess/Action',
        ],
      },
    ],
  },
  {
    name: 'acdd72a7-3385-48ef-bd42-f606fba81ae7',
    roleName: 'Reader',
    description: 'Views all, changes nothing.',
    permissions: [{ ...everything, actions: ['*/read'] }],
  },
  {
    name: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b',
    roleName: 'Storage Blob Data Owner',
    description: 'Full access to blob containers and data.',
    permissions: [
      {
        actions: ['Microsoft.Storage/storageAccounts/blobServices/containers/*'],
        notActions: [],
        dataActions: ['Microsoft.Storage/storageAccounts/blobServices/containers/blobs/*'],
        notDataActions: [],
      },
    ],
  },
  {
    name: '18d7d88d-d35e-4fb5-a5c3-7773c20a72d9',
    roleName: 'User Access Administrator',
    description: 'Manages access to resources.',
    permissions: [{ ...everything, actions: ['*/read', 'Microsoft.Authorization/*', 'Microsoft.Support/*'] }],
  },
]

export type Root = { application: Application; principal: Principal; secret: string; secretKeyId: string }

/** Adds groups, definitions, resource groups, and the root with a password that is valid for ten years. */
export function addFixtures(tenant: Tenant, now: number): Root {
  for (const displayName of ['foo', 'bar', 'multiple', 'multiple']) addGroup(tenant, displayName)
  for (const definition of roleDefinitions)
    tenant.roleDefinitions.set(definition.name, { ...definition, seq: tenant.nextSeq() })
  for (const roleName of ['multiple', 'multiple']) addRoleDefinition(tenant, { roleName })
  for (const name of ['web', 'data']) tenant.resourceGroups.add(name)
  const createdAt = now - yearMs
  const password = makePassword({
    displayName: 'typed in by an operator',
    startsAt: createdAt,
    endsAt: now + 10 * yearMs,
    createdAt,
  })
  const application = tenant.addApplication({
    displayName: 'gatehouse root',
    createdAt,
    passwords: [password],
    fixture: true,
  })
  const principal = tenant.addPrincipal({
    appId: application.appId,
    displayName: application.displayName,
    createdAt,
    fixture: true,
  })
  return { application, principal, secret: password.secretText, secretKeyId: password.keyId }
}

/** The identities of the host: one system-assigned, two user-assigned. */
export function addHostIdentities(
  tenant: Tenant,
  now: number,
): [system: ManagedIdentity, first: ManagedIdentity, second: ManagedIdentity] {
  const add = (displayName: string, assigned: 'system' | 'user', kind: string) => {
    const resourceId = `/subscriptions/${tenant.subscriptionId}/resourcegroups/web/providers/${kind}/${displayName}`
    return tenant.addManagedIdentity({ displayName, assigned, resourceId, createdAt: now - yearMs })
  }
  const userAssigned = 'Microsoft.ManagedIdentity/userAssignedIdentities'
  return [
    add('host', 'system', 'Microsoft.Compute/virtualMachines'),
    add('first-identity', 'user', userAssigned),
    add('second-identity', 'user', userAssigned),
  ]
}

export function addGroup(tenant: Tenant, displayName: string, kind: GroupKind = 'assigned'): { id: string } {
  const group = {
    id: randomUUID(),
    displayName,
    memberIds: new Map<string, number>(),
    kind,
    seq: tenant.nextSeq(),
  }
  tenant.groups.set(group.id, group)
  return { id: group.id }
}

export function addRoleDefinition(
  tenant: Tenant,
  { roleName, actions = ['*/read'] }: { roleName: string; actions?: string[] },
): { name: string } {
  const name = randomUUID()
  const permissions = [{ actions, notActions: [], dataActions: [], notDataActions: [] }]
  tenant.roleDefinitions.set(name, { name, roleName, description: '', permissions, seq: tenant.nextSeq() })
  return { name }
}

export type RootRoles = {
  readonly roleNames: readonly string[]
  readonly resourceGroups: readonly string[] | null
}

/** Replaces the roles of the root, or of an identity of the host, on the subscription or on some of its resource groups. */
export function assignRootRoles(
  tenant: Tenant,
  principal: Principal,
  { roleNames, resourceGroups }: RootRoles,
  now: number,
): void {
  const subscription = `/subscriptions/${tenant.subscriptionId}`
  const scopes =
    resourceGroups === null
      ? [subscription]
      : resourceGroups.map((name) => `${subscription}/resourceGroups/${name}`)
  for (const assignment of tenant.assignmentsOf(principal.id))
    if (assignment.fixture) tenant.removeAssignment(assignment)
  for (const roleName of roleNames) {
    const definition = tenant.roleDefinitions.values().find((one) => one.roleName === roleName)
    if (definition === undefined) throw new Error(`there is no role definition '${roleName}'`)
    for (const scope of scopes) {
      tenant.addAssignment({
        name: randomUUID(),
        scope,
        roleDefinitionName: definition.name,
        roleDefinitionId: `${subscription}/providers/Microsoft.Authorization/roleDefinitions/${definition.name}`,
        principalId: principal.id,
        principalType: 'ServicePrincipal',
        createdAt: now,
        fixture: true,
      })
    }
  }
}
