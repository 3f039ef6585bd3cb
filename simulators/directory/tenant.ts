import { randomUUID } from 'node:crypto'
import type { Lived } from './consistency.ts'

export type Password = Lived & {
  keyId: string
  displayName: string | null
  startsAt: number
  endsAt: number
  hint: string
  secretText: string
}

/** A foreign issuer whose tokens may stand for a secret. */
export type FederatedCredential = { issuer: string; subject: string; audience: string }

/**
 * What application and service principal have in common. Removed passwords stay in the list with their
 * `deletedAt`.
 */
export type Holder = Lived & {
  /** Counts up; lists are in this order. */
  seq: number
  id: string
  appId: string
  displayName: string
  passwords: Password[]
  /** Object ids of the service principals that own it: the one that made it, and those a test adds. */
  ownerIds: string[]
  /** Made by the stand-in itself or by a test's own hand, not over the API. */
  fixture: boolean
}

export type Application = Holder & {
  signInAudience: string
  tags: string[]
  federated: FederatedCredential[]
  serviceManagementReference: string | null
  /** The secrets of its service principals cannot be changed. */
  isLocked: boolean
}
export type Principal = Holder & { roles: string[] }
/**
 * `dynamic`: a rule decides who is a member; `on-premises`: synchronized from there, where alone it can be
 * changed.
 */
export type GroupKind = 'assigned' | 'dynamic' | 'on-premises' | 'role-assignable'
export type Group = { seq: number; id: string; displayName: string; memberIds: Set<string>; kind: GroupKind }
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
  /** As the caller wrote it. */
  roleDefinitionId: string
  principalId: string
  principalType: string
  createdAt: number
  fixture: boolean
}

/** How long after its purge an application's secret is remembered, for the delay of the token endpoint. */
const purgedForgottenMs = 600_000

/** The true state of all objects. The view of a replica is computed on reading. */
export class Tenant {
  readonly tenantId = randomUUID()
  readonly subscriptionId = randomUUID()
  readonly resourceGroups = new Set<string>()
  readonly applications = new Map<string, Application>()
  readonly principals = new Map<string, Principal>()
  readonly groups = new Map<string, Group>()
  readonly roleDefinitions = new Map<string, RoleDefinition>()
  /** By lower-case name. */
  readonly assignments = new Map<string, Assignment>()
  readonly #applicationByAppId = new Map<string, Application>()
  /** The newest of each application. */
  readonly #principalByAppId = new Map<string, Principal>()
  /** Names of the assignments, by principal. */
  readonly #assignmentsOf = new Map<string, Set<string>>()
  readonly #purged: Application[] = []
  #seq = 0
  #deleted = 0

  nextSeq(): number {
    this.#seq += 1
    return this.#seq
  }

  addApplication(fields: Partial<Application> & { displayName: string; createdAt: number }): Application {
    const application: Application = {
      id: randomUUID(),
      appId: randomUUID(),
      signInAudience: 'AzureADMyOrg',
      tags: [],
      passwords: [],
      federated: [],
      ownerIds: [],
      serviceManagementReference: null,
      isLocked: false,
      fixture: false,
      ...fields,
      seq: this.nextSeq(),
    }
    this.applications.set(application.id, application)
    this.#applicationByAppId.set(application.appId, application)
    return application
  }

  addPrincipal(
    fields: Partial<Principal> & { appId: string; displayName: string; createdAt: number },
  ): Principal {
    const principal: Principal = {
      id: randomUUID(),
      passwords: [],
      roles: [],
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

  /** Also one that was deleted, and for a while one that was purged. */
  applicationByAppId(appId: string): Application | undefined {
    return this.#applicationByAppId.get(appId)
  }

  /** The newest; also one that was deleted, and for a while one that was purged. */
  principalByAppId(appId: string): Principal | undefined {
    return this.#principalByAppId.get(appId)
  }

  /** Its service principal goes with it. */
  deleteApplication(application: Application, now: number): void {
    if (application.deletedAt !== undefined) return
    application.deletedAt = now
    this.#deleted += 1
    const principal = this.#principalByAppId.get(application.appId)
    if (principal !== undefined) this.deletePrincipal(principal, now)
  }

  /** Its memberships go, its role assignments stay. */
  deletePrincipal(principal: Principal, now: number): void {
    if (principal.deletedAt !== undefined) return
    principal.deletedAt = now
    this.#deleted += 1
    for (const group of this.groups.values()) group.memberIds.delete(principal.id)
  }

  purgeApplication(application: Application, now: number): void {
    this.applications.delete(application.id)
    this.#deleted -= 1
    this.#purged.push(application)
    for (
      let oldest = this.#purged[0];
      oldest !== undefined && (oldest.deletedAt ?? 0) + purgedForgottenMs < now;
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

  /** Objects as the quota counts them: a deleted one is a quarter. */
  quotaUsed(): number {
    const all = this.applications.size + this.principals.size + this.groups.size
    return all - this.#deleted + Math.floor(this.#deleted / 4)
  }
}
