import { fingerprintOf, liveKeys } from './key-credentials.ts'
import { livePasswords } from './passwords.ts'
import { assignmentId } from './role-assignments.ts'
import type { Application, AppRoleAssignment, Assignment, Holder, Principal, Tenant } from './tenant.ts'
import { liveTrusts } from './trusts.ts'

/** An existing object. Does not include fixtures, but objects that were added to them through the API. */
export type Thing = {
  kind:
    | 'application'
    | 'service-principal'
    | 'password'
    | 'certificate'
    | 'federated-credential'
    | 'role-assignment'
    | 'app-role-assignment'
    | 'group-member'
  /** Object id; key id of a password or certificate, path of an assignment, `<group>/<member>` of a membership. */
  id: string
  name: string
  /** Client id of the application it belongs to; null if that was purged. */
  clientId: string | null
  /** Soft-deleted; can still be purged. */
  deleted: boolean
  createdAt: string
  tags?: readonly string[]
  /** The text of a password. */
  secret?: string
  /** SHA-256 of a certificate, in hexadecimal. */
  thumbprint?: string
}

/** All existing objects that were created through the API. */
export function inventoryOf(tenant: Tenant): Thing[] {
  const holders: [Holder, Thing['kind']][] = [
    ...tenant.applications.values().map((one): [Application, Thing['kind']] => [one, 'application']),
    ...tenant.principals.values().map((one): [Principal, Thing['kind']] => [one, 'service-principal']),
  ]
  return [
    ...holders.flatMap(([holder, kind]) => [
      ...(holder.fixture ? [] : [holderThing(holder, kind)]),
      ...passwordThings(holder),
    ]),
    ...[...tenant.applications.values()].flatMap(credentialThings),
    ...[...tenant.appRoleAssignments.values()].map((one) => appRoleThing(tenant, one)),
    ...[...tenant.assignments.values()]
      .filter(({ fixture }) => !fixture)
      .map((assignment) => assignmentThing(tenant, assignment)),
    ...[...tenant.groups.values()].flatMap(({ id, displayName, memberIds }) =>
      [...memberIds.keys()].map((memberId) =>
        memberThing(tenant, { id: `${id}/${memberId}`, name: displayName, memberId }),
      ),
    ),
  ]
}

/**
 * The client ids and secrets in use, the names of trusts, and the key ids of certificates on applications that
 * are not among the client ids.
 */
export type InUse = {
  clientIds?: readonly string[] | undefined
  secrets?: readonly string[] | undefined
  trusts?: readonly string[] | undefined
  keyIds?: readonly string[] | undefined
}

/**
 * The objects that belong to nothing in use. Passwords must be among `secrets`, trusts among `trusts`.
 * Soft-deleted objects do not count, but role assignments of deleted objects do.
 */
export function debrisOf(
  tenant: Tenant,
  { clientIds = [], secrets = [], trusts = [], keyIds = [] }: InUse,
): Thing[] {
  const [clients, texts] = [new Set(clientIds), new Set(secrets)]
  return inventoryOf(tenant).filter(({ kind, id, name, deleted, clientId, secret }) => {
    if (kind === 'password') return !deleted && !texts.has(secret ?? '')
    if (kind === 'federated-credential') return !deleted && !trusts.includes(name)
    if (kind === 'certificate' && keyIds.includes(id)) return false
    return !deleted && (clientId === null || !clients.has(clientId))
  })
}

const holderThing = (holder: Holder, kind: Thing['kind']): Thing => ({
  kind,
  id: holder.id,
  name: holder.displayName,
  clientId: holder.appId,
  deleted: holder.deletedAt !== undefined,
  createdAt: new Date(holder.createdAt).toISOString(),
  ...('tags' in holder && { tags: [holder.tags].flat().map(String) }),
})

/** A fixture's own passwords are fixtures too: those that are not newer than the fixture. */
const passwordThings = (holder: Holder): Thing[] =>
  livePasswords(holder)
    .filter(({ createdAt }) => !holder.fixture || createdAt > holder.createdAt)
    .map((password) => ({
      kind: 'password',
      id: password.keyId,
      name: password.displayName ?? '',
      clientId: holder.appId,
      deleted: holder.deletedAt !== undefined,
      createdAt: new Date(password.createdAt).toISOString(),
      secret: password.secretText,
    }))

/** Certificates and trusts that were added through the API. */
const credentialThings = (application: Application): Thing[] => {
  const holder = { clientId: application.appId, deleted: application.deletedAt !== undefined }
  const at = (time: number) => new Date(time).toISOString()
  return [
    ...liveKeys(application)
      .filter(({ fixture }) => !fixture)
      .map((key) => ({
        kind: 'certificate' as const,
        id: key.keyId,
        name: key.displayName ?? '',
        ...holder,
        createdAt: at(key.createdAt),
        thumbprint: fingerprintOf(key),
      })),
    ...liveTrusts(application)
      .filter(({ fixture }) => !fixture)
      .map(({ id, name, createdAt }) => ({
        kind: 'federated-credential' as const,
        id,
        name,
        ...holder,
        createdAt: at(createdAt),
      })),
  ]
}

const appRoleThing = (tenant: Tenant, one: AppRoleAssignment): Thing => ({
  kind: 'app-role-assignment',
  id: one.id,
  name: tenant.principals.get(one.resourceId)?.appRoles.find(({ id }) => id === one.appRoleId)?.value ?? '',
  clientId: tenant.principals.get(one.principalId)?.appId ?? null,
  deleted: false,
  createdAt: new Date(one.createdAt).toISOString(),
})

const assignmentThing = (tenant: Tenant, assignment: Assignment): Thing => ({
  kind: 'role-assignment',
  id: assignmentId(assignment),
  name: tenant.roleDefinitions.get(assignment.roleDefinitionName)?.roleName ?? '',
  clientId: tenant.principals.get(assignment.principalId)?.appId ?? null,
  deleted: false,
  createdAt: new Date(assignment.createdAt).toISOString(),
})

const memberThing = (
  tenant: Tenant,
  { id, name, memberId }: { id: string; name: string; memberId: string },
): Thing => {
  const principal = tenant.principals.get(memberId)
  return {
    kind: 'group-member',
    id,
    name,
    clientId: principal?.appId ?? null,
    deleted: false,
    createdAt: new Date(principal?.createdAt ?? 0).toISOString(),
  }
}
