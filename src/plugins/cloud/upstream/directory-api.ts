import type { UpstreamCall } from './upstream-call.ts'

export type PasswordCredential = {
  readonly keyId: string
  readonly displayName: string | undefined
  /** First three characters of the secret. */
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

export type NewApplication = { displayName: string; tags?: readonly string[] | undefined; signInAudience?: string | undefined }
/** `endDateTime` in RFC 3339. The display name must be unique: it is how a lost answer is found again. */
export type NewPassword = { displayName: string; startDateTime?: string | undefined; endDateTime: string }
export type AddedPassword = { readonly keyId: string; readonly secretText: string; readonly endDateTime: string }
export type ServicePrincipal = { readonly id: string; readonly appId: string; readonly passwordCredentials: readonly PasswordCredential[] }
export type Group = { readonly id: string; readonly displayName: string }
export type DeletedObject = {
  readonly id: string
  readonly displayName: string
  readonly tags: readonly string[]
  readonly deletedDateTime: string | undefined
}

/**
 * The directory (Microsoft Graph v1.0), one method a request. Each may try several times within the deadline where repeating is safe, and throws
 * `UpstreamError` only. `find…` gives what there is (all pages), `get…` throws `gone`, deletions of what is not there throw `gone` too: what that
 * means is the caller's to say. Steps that wait for replication are wrapped in `Upstream.untilReplicated`. Contract cloud-engine §4, §7.2.
 */
export type DirectoryApi = {
  createApplication(application: NewApplication, call: UpstreamCall): Promise<Application>
  getApplication(id: string, call: UpstreamCall): Promise<Application>
  findApplications(by: { appId: string } | { displayName: string } | { tagPrefix: string }, call: UpstreamCall): Promise<Application[]>
  /** Soft: it stays among the deleted for 30 days. Its service principal goes too. */
  deleteApplication(id: string, call: UpstreamCall): Promise<void>
  /** For good, of a deleted object. `gone` also while it is not among the deleted yet. */
  purgeDeleted(id: string, call: UpstreamCall): Promise<void>
  getDeleted(id: string, call: UpstreamCall): Promise<DeletedObject>
  listDeletedApplications(call: UpstreamCall): Promise<DeletedObject[]>
  addApplicationPassword(id: string, password: NewPassword, call: UpstreamCall): Promise<AddedPassword>
  /** `gone` when the application is not there, `done` when it has no such password. */
  removeApplicationPassword(id: string, keyId: string, call: UpstreamCall): Promise<void>
  /** One that exists already for this client id is given back as it is. */
  createServicePrincipal(appId: string, call: UpstreamCall): Promise<ServicePrincipal>
  getServicePrincipal(id: string, call: UpstreamCall): Promise<ServicePrincipal>
  findServicePrincipal(appId: string, call: UpstreamCall): Promise<ServicePrincipal | undefined>
  addServicePrincipalPassword(id: string, password: NewPassword, call: UpstreamCall): Promise<AddedPassword>
  removeServicePrincipalPassword(id: string, keyId: string, call: UpstreamCall): Promise<void>
  deleteServicePrincipal(id: string, call: UpstreamCall): Promise<void>
  getGroup(id: string, call: UpstreamCall): Promise<Group>
  findGroups(displayName: string, call: UpstreamCall): Promise<Group[]>
  /** A member already: no error. */
  addGroupMember(groupId: string, objectId: string, call: UpstreamCall): Promise<void>
  removeGroupMember(groupId: string, objectId: string, call: UpstreamCall): Promise<void>
  /** Objects of the tenant and how many it may have; undefined when the directory does not say. */
  organization(call: UpstreamCall): Promise<{ used: number; total: number } | undefined>
}
