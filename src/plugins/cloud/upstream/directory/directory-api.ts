import type { UpstreamCall } from '../upstream-call.ts'
import type { KeyCredential } from './key-credential.ts'

export type PasswordCredential = {
  readonly keyId: string
  readonly displayName: string | undefined
  /** The first three characters of the secret. */
  readonly hint: string | undefined
  /** RFC 3339. */
  readonly endDateTime: string | undefined
}

export type Application = {
  /** The object id; `appId` is the client id. */
  readonly id: string
  readonly appId: string
  readonly displayName: string
  readonly tags: readonly string[]
  readonly createdDateTime: string | undefined
  readonly passwordCredentials: readonly PasswordCredential[]
}

export type NewApplication = {
  displayName: string
  key?: NewCertificateKey | undefined
  tags?: readonly string[] | undefined
  signInAudience?: string | undefined
  serviceManagementReference?: string | undefined
}
/**
 * `endDateTime` is in RFC 3339. The display name must be unique, so that a password whose answer was lost can
 * be found. No start is sent: the directory sets it by its own clock.
 */
export type NewPassword = { displayName: string; endDateTime: string }
/** A certificate for an application. The display name must be unique. */
export type NewCertificateKey = {
  readonly displayName: string
  /** PEM. */
  readonly certificate: string
}
/** A certificate that the application has signs the proof. */
type NewKey = NewCertificateKey & { readonly proof: string }
type ApplicationKeys = { readonly id: string; readonly keyCredentials: readonly KeyCredential[] }
export type AddedPassword = {
  readonly keyId: string
  readonly secretText: string
  readonly endDateTime: string
}
/** A trust of an application in the tokens of an issuer. */
export type FederatedCredential = {
  readonly name: string
  readonly issuer: string
  readonly subject: string
  readonly audiences: readonly string[]
}
export type ServicePrincipal = {
  readonly id: string
  readonly appId: string
  readonly passwordCredentials: readonly PasswordCredential[]
}
/** An application that offers permissions. */
export type Resource = {
  /** The object id of its service principal; `appId` is the client id. */
  readonly id: string
  readonly appId: string
  readonly appRoles: readonly {
    readonly id: string
    readonly value: string
    readonly isEnabled: boolean
    readonly allowedMemberTypes: readonly string[]
  }[]
}
type HeldAppRole = {
  /** The id of the assignment. */
  readonly id: string
  /** The object id of the resource's service principal. */
  readonly resourceId: string
  readonly appRoleId: string
}
export type Group = {
  readonly id: string
  readonly displayName: string
  /** Whether a rule decides who is a member. */
  readonly isDynamic: boolean
  /** Whether the group is synchronized from on-premises and can only be changed there. */
  readonly isFromOnPremises: boolean
  readonly isRoleAssignable: boolean
}

/**
 * Microsoft Graph v1.0, one method per request. A method retries where that is safe, within the deadline, and
 * throws `UpstreamError` only. `find…` returns what exists, from all pages. `get…` and deletions throw `gone`
 * if the object does not exist; the caller decides what that means. Steps that depend on replication are
 * wrapped in `Upstream.untilReplicated`. docs/contract/cloud.md#credentials, simulators/directory/README.md.
 */
export type DirectoryApi = {
  createApplication(application: NewApplication, call: UpstreamCall): Promise<Application>
  getApplication(id: string, call: UpstreamCall): Promise<Application>
  /** Returns object ids. */
  listApplicationOwners(id: string, call: UpstreamCall): Promise<string[]>
  findApplications(by: ApplicationFilter, call: UpstreamCall): Promise<Application[]>
  /** Soft-deletes an application and its service principal: they can be restored for 30 days. */
  deleteApplication(id: string, call: UpstreamCall): Promise<void>
  /**
   * Deletes a deleted object permanently. Throws `gone` as well while it is not among the deleted objects
   * yet.
   */
  purgeDeleted(id: string, call: UpstreamCall): Promise<void>
  addApplicationPassword(id: string, password: NewPassword, call: UpstreamCall): Promise<AddedPassword>
  /** Like `addApplicationPassword`, for a new application that some replicas may not know yet. */
  addNewApplicationPassword(id: string, password: NewPassword, call: UpstreamCall): Promise<AddedPassword>
  /** By object id. */
  getApplicationKeys(id: string, call: UpstreamCall): Promise<ApplicationKeys>
  /** By client id. */
  findApplicationKeys(appId: string, call: UpstreamCall): Promise<ApplicationKeys>
  /** Returns the key id if the directory tells it. */
  addKey(id: string, key: NewKey, call: UpstreamCall): Promise<string | undefined>
  removeKey(id: string, key: { keyId: string; proof: string }, call: UpstreamCall): Promise<void>
  /** Throws `gone` if the application does not exist; does nothing if it has no such password. */
  removeApplicationPassword(id: string, keyId: string, call: UpstreamCall): Promise<void>
  /** Creates the trust of this name, or changes it. */
  putFederatedCredential(id: string, trust: FederatedCredential, call: UpstreamCall): Promise<void>
  deleteFederatedCredential(id: string, name: string, call: UpstreamCall): Promise<void>
  listFederatedCredentials(id: string, call: UpstreamCall): Promise<FederatedCredential[]>
  /** Returns the existing service principal if the client id has one. */
  createServicePrincipal(appId: string, call: UpstreamCall): Promise<ServicePrincipal>
  getServicePrincipal(id: string, call: UpstreamCall): Promise<ServicePrincipal>
  findServicePrincipal(appId: string, call: UpstreamCall): Promise<ServicePrincipal | undefined>
  addServicePrincipalPassword(id: string, password: NewPassword, call: UpstreamCall): Promise<AddedPassword>
  removeServicePrincipalPassword(id: string, keyId: string, call: UpstreamCall): Promise<void>
  deleteServicePrincipal(id: string, call: UpstreamCall): Promise<void>
  getGroup(id: string, call: UpstreamCall): Promise<Group>
  findGroups(displayName: string, call: UpstreamCall): Promise<Group[]>
  /** Does nothing if the object is a member already. */
  addGroupMember(groupId: string, objectId: string, call: UpstreamCall): Promise<void>
  removeGroupMember(groupId: string, objectId: string, call: UpstreamCall): Promise<void>
  findResource(appId: string, call: UpstreamCall): Promise<Resource | undefined>
  /** Gives a service principal an app role, unless it has it. Returns the id of the assignment. */
  assignAppRole(
    principalId: string,
    role: { readonly resourceId: string; readonly appRoleId: string },
    call: UpstreamCall,
  ): Promise<string>
  listAppRoleAssignments(principalId: string, call: UpstreamCall): Promise<HeldAppRole[]>
  removeAppRole(resourceId: string, id: string, call: UpstreamCall): Promise<void>
  /** The tenant's number of objects and its limit; undefined if the directory does not report them. */
  organization(call: UpstreamCall): Promise<{ used: number; total: number } | undefined>
}

export type ApplicationFilter = { appId: string } | { displayName: string } | { tagPrefix: string }
