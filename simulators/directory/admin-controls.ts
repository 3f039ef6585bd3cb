import { liveKeys, makeKeyCredential } from './key-credentials.ts'
import { livePasswords, makePassword } from './passwords.ts'
import type { Application, GroupKind, Holder, Tenant } from './tenant.ts'
import { liveTrusts, makeTrust } from './trusts.ts'

/** Direct changes by a test or through the control port, which bypass the API. */
export type AdminControls = {
  addGroup(displayName: string, kind?: GroupKind): { id: string }
  /** Changes the kind of a group. */
  changeGroup(id: string, kind: GroupKind): void
  addRoleDefinition(fields: { roleName: string; actions?: string[] }): { name: string; id: string }
  addResourceGroup(name: string): { scope: string }
  /** Adds an application and its service principal that the engine did not create. */
  addApplication(fields: {
    displayName: string
    signInAudience?: string
    tags?: string[]
    /** Default: a year ago, so that no delay applies. */
    createdAt?: number
  }): { id: string; appId: string; servicePrincipalId: string }
  /** Makes a service principal an owner of an application and of its service principals. */
  addOwner(applicationId: string, servicePrincipalId: string): void
  /** Adds a password to an application or a service principal; it may have a chosen text or be expired. */
  addPassword(
    holderId: string,
    fields?: { displayName?: string; secretText?: string; lifetimeSeconds?: number },
  ): { keyId: string; secretText: string }
  /**
   * Makes an application, or a user-assigned identity by its client id, trust tokens of an external issuer;
   * works at the token endpoint at once. The default audience is the public cloud's.
   */
  addTrust(
    applicationId: string,
    fields: { issuer: string; subject: string; audience?: string; name?: string },
  ): { id: string; name: string }
  /** Adds a certificate (PEM or base64 DER) to an application; works at the token endpoint at once. */
  addCertificate(
    applicationId: string,
    certificate: string,
    fields?: { displayName?: string },
  ): { keyId: string }
  /**
   * Deletes the object with this id: an application or service principal (softly), a password or certificate
   * by its key id, a trust or an app role assignment by its id, a role assignment by its name or path.
   */
  remove(id: string): void
  /** Purges a deleted object. */
  purge(id: string): void
}

type Makers = {
  addGroup(tenant: Tenant, displayName: string, kind?: GroupKind): { id: string }
  addRoleDefinition(tenant: Tenant, fields: { roleName: string; actions?: string[] }): { name: string }
}

const yearMs = 365 * 86_400_000

export function adminControlsOf(
  tenant: Tenant,
  now: () => number,
  { addGroup, addRoleDefinition }: Makers,
): AdminControls {
  return {
    addGroup: (displayName, kind) => addGroup(tenant, displayName, kind),
    changeGroup: (id, kind) => {
      const group = tenant.groups.get(id)
      if (group === undefined) throw new Error(`there is no group '${id}'`)
      group.kind = kind
    },
    addRoleDefinition: (fields) => {
      const { name } = addRoleDefinition(tenant, fields)
      return {
        name,
        id: `/subscriptions/${tenant.subscriptionId}/providers/Microsoft.Authorization/roleDefinitions/${name}`,
      }
    },
    addResourceGroup: (name) => {
      tenant.resourceGroups.add(name)
      return { scope: `/subscriptions/${tenant.subscriptionId}/resourceGroups/${name}` }
    },
    addApplication: ({ createdAt = now() - yearMs, ...fields }) => {
      const { id, appId, displayName } = tenant.addApplication({ ...fields, createdAt, fixture: true })
      const principal = tenant.addPrincipal({ appId, displayName, createdAt, fixture: true })
      return { id, appId, servicePrincipalId: principal.id }
    },
    addTrust: (applicationId, { audience, name, ...fields }) => {
      const application = getApplication(tenant, applicationId)
      const seq = tenant.nextSeq()
      const trust = makeTrust({
        ...fields,
        seq,
        name: name ?? `trust-${seq}`,
        ...(audience !== undefined && { audiences: [audience] }),
        createdAt: now() - yearMs,
        fixture: true,
      })
      application.trusts.push(trust)
      return { id: trust.id, name: trust.name }
    },
    addCertificate: (applicationId, certificate, { displayName = 'admin' } = {}) => {
      const bytes = certificate.startsWith('-----') ? certificate : Buffer.from(certificate, 'base64')
      const key = makeKeyCredential(bytes, { displayName, createdAt: now() - yearMs, fixture: true })
      getApplication(tenant, applicationId).keys.push(key)
      return { keyId: key.keyId }
    },
    addOwner: (applicationId, servicePrincipalId) => {
      const application = getApplication(tenant, applicationId)
      application.ownerIds.push(servicePrincipalId)
      tenant.principalByAppId(application.appId)?.ownerIds.push(servicePrincipalId)
    },
    addPassword: (holderId, { displayName = 'admin', lifetimeSeconds = 3600, secretText } = {}) => {
      const holder: Holder | undefined = tenant.applications.get(holderId) ?? tenant.principals.get(holderId)
      if (holder === undefined) throw new Error(`there is no application '${holderId}'`)
      const password = makePassword({
        displayName,
        startsAt: holder.createdAt,
        endsAt: now() + lifetimeSeconds * 1000,
        createdAt: holder.createdAt,
        ...(secretText !== undefined && { secretText }),
      })
      holder.passwords.push(password)
      return { keyId: password.keyId, secretText: password.secretText }
    },
    remove: (id) => remove(tenant, id, now()),
    purge: (id) => {
      const [application, principal] = [tenant.applications.get(id), tenant.principals.get(id)]
      if (application?.deletedAt !== undefined) tenant.purgeApplication(application, now())
      else if (principal?.deletedAt !== undefined) tenant.purgePrincipal(principal)
      else throw new Error(`nothing deleted has the id '${id}'`)
    },
  }
}

function remove(tenant: Tenant, id: string, now: number): void {
  const application = tenant.applications.get(id)
  const principal = tenant.principals.get(id)
  const assignment = tenant.assignments.get((id.split('/').at(-1) ?? id).toLowerCase())
  if (application !== undefined) tenant.deleteApplication(application, now)
  else if (principal !== undefined) tenant.deletePrincipal(principal, now)
  else if (assignment !== undefined) tenant.removeAssignment(assignment)
  else if (tenant.appRoleAssignments.delete(id)) return
  else removeCredential(tenant, id, now)
}

function removeCredential(tenant: Tenant, id: string, now: number): void {
  const applications = [...tenant.applications.values(), ...tenant.managedIdentities.values()]
  const holders = [...applications, ...tenant.principals.values()]
  const credential =
    holders.flatMap(livePasswords).find(({ keyId }) => keyId === id) ??
    applications.flatMap(liveKeys).find(({ keyId }) => keyId === id) ??
    applications.flatMap(liveTrusts).find((trust) => trust.id === id)
  if (credential === undefined) throw new Error(`nothing has the id '${id}'`)
  credential.deletedAt = now
}

function getApplication(tenant: Tenant, id: string): Application {
  const application = tenant.applications.get(id) ?? tenant.managedIdentities.get(id)
  if (application === undefined) throw new Error(`there is no application '${id}'`)
  return application
}
