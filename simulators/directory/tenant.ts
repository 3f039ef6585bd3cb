import { randomUUID } from 'node:crypto'
import type { Lived } from './consistency.ts'
import type { KeyCredential } from './key-credentials.ts'
import type { Trust } from './trusts.ts'

export type Password = Lived & {
  keyId: string
  displayName: string | null
  startsAt: number
  endsAt: number
  hint: string
  secretText: string
}

/**
 * The common fields of applications and service principals. Removed passwords stay listed, with `deletedAt`.
 */
export type Holder = Lived & {
  /** Increasing number; the order of lists. */
  seq: number
  id: string
  appId: string
  displayName: string
  passwords: Password[]
  /** Object ids of the owning service principals: the creator, and those a test adds. */
  ownerIds: string[]
  /** Created by the stand-in or directly by a test, not through the API. */
  fixture: boolean
}

export type Application = Holder & {
  signInAudience: string
  tags: string[]
  /** Removed trusts and certificates stay listed, with `deletedAt`. */
  trusts: Trust[]
  keys: KeyCredential[]
  serviceManagementReference: string | null
  /** The secrets of its service principals cannot be changed. */
  isLocked: boolean
}
export type Principal = Holder & {
  /** Permissions at the directory that it has without an assignment. */
  roles: string[]
  type: 'Application' | 'ManagedIdentity'
  /** The permissions it offers as a resource. */
  appRoles: AppRole[]
}
/** What a managed identity has instead of an application; the directory API does not show it. */
export type ManagedIdentity = Application & { assigned: 'system' | 'user'; resourceId: string }
/** `dynamic`: a rule determines the members; `on-premises`: synchronized, and can only be changed there. */
export type GroupKind = 'assigned' | 'dynamic' | 'on-premises' | 'role-assignable'
/** `memberIds`: when each became a member. */
export type Group = {
  seq: number
  id: string
  displayName: string
  memberIds: Map<string, number>
  kind: GroupKind
}
/** A permission that a resource offers. */
export type AppRole = {
  id: string
  value: string
  displayName: string
  isEnabled: boolean
  allowedMemberTypes: readonly ('Application' | 'User')[]
}

export type AppRoleAssignment = {
  seq: number
  id: string
  principalId: string
  resourceId: string
  appRoleId: string
  createdAt: number
}

export type RoleDefinition = {
  seq: number
  name: string
  roleName: string
  description: string
  permissions: { actions: string[]; notActions: string[]; dataActions: string[]; notDataActions: string[] }[]
}
export type Assignment = {
  seq: number
  name: string
  scope: string
  roleDefinitionName: string
  /** As sent. */
  roleDefinitionId: string
  principalId: string
  principalType: string
  createdAt: number
  fixture: boolean
}

/** How long secrets of a purged application are kept, because the token endpoint learns of the purge late. */
const purgedRetentionMs = 600_000

/** The true state of all objects. The view of a replica is computed on reading. */
export class Tenant {
  readonly tenantId = randomUUID()
  readonly subscriptionId = randomUUID()
  readonly resourceGroups = new Set<string>()
  readonly applications = new Map<string, Application>()
  /** By client id. */
  readonly managedIdentities = new Map<string, ManagedIdentity>()
  readonly principals = new Map<string, Principal>()
  readonly groups = new Map<string, Group>()
  readonly roleDefinitions = new Map<string, RoleDefinition>()
  /** By lower-case name. */
  readonly assignments = new Map<string, Assignment>()
  readonly #applicationByAppId = new Map<string, Application>()
  /** The newest service principal of each application. */
  readonly #principalByAppId = new Map<string, Principal>()
  /** Names of assignments by principal. */
  readonly #assignmentsOf = new Map<string, Set<string>>()
  readonly appRoleAssignments = new Map<string, AppRoleAssignment>()
  readonly #purged: Application[] = []
  #seq = 0
  #deleted = 0
  #platform = 0

  nextSeq(): number {
    this.#seq += 1
    return this.#seq
  }

  addApplication(fields: Partial<Application> & { displayName: string; createdAt: number }): Application {
    const application = this.#newApplication(fields)
    this.applications.set(application.id, application)
    this.#applicationByAppId.set(application.appId, application)
    return application
  }

  /** Also adds its service principal. */
  addManagedIdentity(
    fields: Pick<ManagedIdentity, 'displayName' | 'assigned' | 'resourceId' | 'createdAt'>,
  ): ManagedIdentity {
    const { assigned, resourceId, ...names } = fields
    const identity = { ...this.#newApplication({ ...names, fixture: true }), assigned, resourceId }
    this.managedIdentities.set(identity.appId, identity)
    this.#applicationByAppId.set(identity.appId, identity)
    this.addPlatformPrincipal({ ...names, appId: identity.appId, type: 'ManagedIdentity', fixture: true })
    return identity
  }

  #newApplication(fields: Partial<Application> & { displayName: string; createdAt: number }): Application {
    return {
      id: randomUUID(),
      appId: randomUUID(),
      signInAudience: 'AzureADMyOrg',
      tags: [],
      passwords: [],
      trusts: [],
      keys: [],
      ownerIds: [],
      serviceManagementReference: null,
      isLocked: false,
      fixture: false,
      ...fields,
      seq: this.nextSeq(),
    }
  }

  /** A service principal that does not count for the quota. */
  addPlatformPrincipal(fields: Parameters<Tenant['addPrincipal']>[0]): Principal {
    this.#platform += 1
    return this.addPrincipal(fields)
  }

  addPrincipal(
    fields: Partial<Principal> & { appId: string; displayName: string; createdAt: number },
  ): Principal {
    const principal: Principal = {
      id: randomUUID(),
      passwords: [],
      roles: [],
      type: 'Application',
      appRoles: [],
      ownerIds: [],
      fixture: false,
      ...fields,
      seq: this.nextSeq(),
    }
    this.principals.set(principal.id, principal)
    this.#principalByAppId.set(principal.appId, principal)
    return principal
  }

  addAssignment(fields: Omit<Assignment, 'seq'>): Assignment {
    const assignment = { ...fields, seq: this.nextSeq() }
    this.assignments.set(assignment.name, assignment)
    const names = this.#assignmentsOf.get(assignment.principalId) ?? new Set()
    this.#assignmentsOf.set(assignment.principalId, names.add(assignment.name))
    return assignment
  }

  removeAssignment(assignment: Assignment): void {
    this.assignments.delete(assignment.name)
    this.#assignmentsOf.get(assignment.principalId)?.delete(assignment.name)
  }

  assignmentsOf(principalId: string): Assignment[] {
    return [...(this.#assignmentsOf.get(principalId) ?? [])].flatMap(
      (name) => this.assignments.get(name) ?? [],
    )
  }

  /** Includes deleted applications and, for some time, purged ones. */
  applicationByAppId(appId: string): Application | undefined {
    return this.#applicationByAppId.get(appId)
  }

  /** The newest one; includes deleted service principals and, for some time, purged ones. */
  principalByAppId(appId: string): Principal | undefined {
    return this.#principalByAppId.get(appId)
  }

  /** Also deletes its service principal. */
  deleteApplication(application: Application, now: number): void {
    if (application.deletedAt !== undefined) return
    application.deletedAt = now
    this.#deleted += 1
    const principal = this.#principalByAppId.get(application.appId)
    if (principal !== undefined) this.deletePrincipal(principal, now)
  }

  /** Removes its memberships and app roles (not documented), but keeps its role assignments. */
  deletePrincipal(principal: Principal, now: number): void {
    if (principal.deletedAt !== undefined) return
    principal.deletedAt = now
    this.#deleted += 1
    for (const group of this.groups.values()) group.memberIds.delete(principal.id)
    for (const { id, principalId } of this.appRoleAssignments.values())
      if (principalId === principal.id) this.appRoleAssignments.delete(id)
  }

  purgeApplication(application: Application, now: number): void {
    this.applications.delete(application.id)
    this.#deleted -= 1
    this.#purged.push(application)
    for (
      let oldest = this.#purged[0];
      oldest !== undefined && (oldest.deletedAt ?? 0) + purgedRetentionMs < now;
      oldest = this.#purged[0]
    ) {
      this.#purged.shift()
      this.#applicationByAppId.delete(oldest.appId)
      this.#principalByAppId.delete(oldest.appId)
    }
  }

  purgePrincipal(principal: Principal): void {
    this.principals.delete(principal.id)
    this.#deleted -= 1
  }

  /** The number of objects for the quota, without those of the platform; a deleted one counts a quarter. */
  quotaUsed(): number {
    const all = this.applications.size + this.principals.size - this.#platform + this.groups.size
    return all - this.#deleted + Math.floor(this.#deleted / 4)
  }
}
