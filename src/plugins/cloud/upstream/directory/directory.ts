import { z } from 'zod'
import { isGone, unlessGone } from '../removal.ts'
import { type UpstreamCall, UpstreamError, type UpstreamOperation } from '../upstream-error.ts'
import {
  type Application,
  addedKeyAnswer,
  applicationAnswer,
  applicationKeysAnswer,
  appRoleAssignmentAnswer,
  type Group,
  groupAnswer,
  isObjectId,
  organizationAnswer,
  type Resource,
  resourceAnswer,
  type ServicePrincipal,
  servicePrincipalAnswer,
} from './directory-answers.ts'
import {
  addingPassword,
  type DirectoryRequests,
  type DirectorySend,
  directoryRequests,
  filtered,
  isAmong,
  objectId,
  quoted,
  removingPassword,
  tried,
  unlessSo,
} from './directory-requests.ts'
import { trustCalls } from './directory-trusts.ts'

export type DirectoryApi = ReturnType<typeof openDirectory>

/**
 * Microsoft Graph v1.0, one method per request, retried where that is safe; throws `UpstreamError` only. `find…`
 * returns what exists, from all pages. `get…` and deletions throw `gone` if the object does not exist. Steps that
 * depend on replication are wrapped in `Upstream.untilReplicated`. `directoryBase` is without `/v1.0`.
 * docs/contract/cloud.md#credentials, simulators/directory/README.md
 */
export function openDirectory(directoryBase: string, send: DirectorySend) {
  const requests = directoryRequests(directoryBase, send)
  return {
    ...applicationCalls(requests),
    ...keyCalls(requests),
    ...trustCalls(requests),
    ...servicePrincipalCalls(requests),
    ...groupCalls(requests, directoryBase),
    ...appRoleCalls(requests),
    /** The tenant's number of objects and its limit; undefined if the directory does not report them. */
    organization: async (call: UpstreamCall) => {
      const path = '/organization?$select=directorySizeQuota'
      const { value } = await requests.get('organization', path, organizationAnswer, call)
      return value[0]?.directorySizeQuota ?? undefined
    },
  }
}

const idAnswer = z.object({ id: z.string() })

/** A certificate for an application. The display name must be unique. */
export type NewCertificateKey = {
  readonly displayName: string
  /** PEM. */
  readonly certificate: string
}

/** https://learn.microsoft.com/graph/api/application-addkey */
function keyCalls(requests: DirectoryRequests) {
  const operation = 'getApplicationKeys'
  const select = '?$select=id,keyCredentials'
  const keysOf = async (id: string, call: UpstreamCall) =>
    requests.get(operation, `/applications/${objectId(operation, id)}${select}`, applicationKeysAnswer, call)
  return {
    /** By object id. */
    getApplicationKeys: keysOf,
    /** By client id. */
    findApplicationKeys: async (appId: string, call: UpstreamCall) => {
      const path = `/applications(appId='${objectId(operation, appId)}')${select}`
      return requests.get(operation, path, applicationKeysAnswer, call)
    },
    /** A certificate that the application has signs the proof. Returns the key id if the directory tells it. */
    addKey: async (
      id: string,
      { proof, ...key }: NewCertificateKey & { readonly proof: string },
      call: UpstreamCall,
    ): Promise<string | undefined> => {
      const path = `/applications/${objectId('addKey', id)}/addKey`
      const body = { keyCredential: keyCredentialOf(key), passwordCredential: null, proof }
      const request = { operation: 'addKey', method: 'POST', path, body, repeatable: false } as const
      const { keyId } = await requests.ask(request, addedKeyAnswer, call)
      return keyId
    },
    removeKey: async (id: string, body: { keyId: string; proof: string }, call: UpstreamCall) => {
      const path = `/applications/${objectId('removeKey', id)}/removeKey`
      await unlessSo(
        requests.tell({ operation: 'removeKey', method: 'POST', path, body }, call),
        async () => !isAmong((await keysOf(id, call)).keyCredentials, body.keyId),
      )
    },
  }
}

/** https://learn.microsoft.com/graph/api/resources/keycredential */
const keyCredentialOf = ({ displayName, certificate }: NewCertificateKey) => ({
  type: 'AsymmetricX509Cert',
  usage: 'Verify',
  key: certificate.replace(/-----[A-Z ]+-----|\s/g, ''),
  displayName,
})

/** https://learn.microsoft.com/graph/api/resources/application */
function applicationCalls(requests: DirectoryRequests) {
  const pathOf = (operation: UpstreamOperation, id: string) => `/applications/${objectId(operation, id)}`
  const getApplication = async (id: string, call: UpstreamCall): Promise<Application> =>
    requests.get('getApplication', pathOf('getApplication', id), applicationAnswer, call)
  return {
    createApplication: (application: NewApplication, call: UpstreamCall): Promise<Application> => {
      const body = newApplicationBody(application)
      return requests.ask(
        { operation: 'createApplication', method: 'POST', path: '/applications', body, repeatable: false },
        applicationAnswer,
        call,
      )
    },
    getApplication,
    /** Returns object ids. */
    listApplicationOwners: async (id: string, call: UpstreamCall) => {
      const path = `${pathOf('listApplicationOwners', id)}/owners?$select=id`
      const owners = await requests.list('listApplicationOwners', path, idAnswer, call)
      return owners.map((owner) => owner.id)
    },
    findApplications: (by: ApplicationFilter, call: UpstreamCall): Promise<Application[]> => {
      const path = filtered('/applications', applicationFilter(by))
      return requests.list('findApplications', path, applicationAnswer, call)
    },
    /** Soft-deletes an application and its service principal: they can be restored for 30 days. */
    deleteApplication: async (id: string, call: UpstreamCall) =>
      requests.remove('deleteApplication', pathOf('deleteApplication', id), call),
    /** Deletes a deleted object permanently. Throws `gone` as well while it is not among the deleted objects yet. */
    purgeDeleted: async (id: string, call: UpstreamCall) =>
      requests.remove('purgeDeleted', `/directory/deletedItems/${objectId('purgeDeleted', id)}`, call),
    addApplicationPassword: addingPassword(requests, pathOf, 'addApplicationPassword'),
    /** Like `addApplicationPassword`, for a new application that some replicas may not know yet. */
    addNewApplicationPassword: addingPassword(requests, pathOf, 'addNewApplicationPassword'),
    /** Throws `gone` if the application does not exist; does nothing if it has no such password. */
    removeApplicationPassword: removingPassword(
      requests,
      pathOf,
      'removeApplicationPassword',
      getApplication,
    ),
  }
}

type NewApplication = {
  displayName: string
  key?: NewCertificateKey | undefined
  tags?: readonly string[] | undefined
  signInAudience?: string | undefined
  serviceManagementReference?: string | undefined
}

/** A tenant may lock the secrets of service principals by default, and this one gets a secret. */
const newApplicationBody = ({ key, ...application }: NewApplication) => ({
  ...application,
  ...(key === undefined ? {} : { keyCredentials: [keyCredentialOf(key)] }),
  servicePrincipalLockConfiguration: { isEnabled: false },
})

type ApplicationFilter = { appId: string } | { displayName: string } | { tagPrefix: string }

function applicationFilter(by: ApplicationFilter): string {
  if ('appId' in by) return `appId eq ${quoted(by.appId)}`
  if ('displayName' in by) return `displayName eq ${quoted(by.displayName)}`
  return `tags/any(t:startswith(t,${quoted(by.tagPrefix)}))`
}

/** https://learn.microsoft.com/graph/api/resources/serviceprincipal */
function servicePrincipalCalls(requests: DirectoryRequests) {
  const pathOf = (operation: UpstreamOperation, id: string) => `/servicePrincipals/${objectId(operation, id)}`
  const getServicePrincipal = async (id: string, call: UpstreamCall): Promise<ServicePrincipal> =>
    requests.get('getServicePrincipal', pathOf('getServicePrincipal', id), servicePrincipalAnswer, call)
  const findServicePrincipal = async (
    appId: string,
    call: UpstreamCall,
  ): Promise<ServicePrincipal | undefined> => {
    if (!isObjectId(appId)) return undefined
    const path = `/servicePrincipals(appId='${appId}')`
    return unlessGone(requests.get('findServicePrincipal', path, servicePrincipalAnswer, call))
  }
  return {
    /** Returns the existing service principal if the client id has one: the directory refuses a second one. */
    createServicePrincipal: async (appId: string, call: UpstreamCall): Promise<ServicePrincipal> => {
      const request = {
        operation: 'createServicePrincipal',
        method: 'POST',
        path: '/servicePrincipals',
        body: { appId },
      } as const
      try {
        return await requests.ask(request, servicePrincipalAnswer, call)
      } catch (error) {
        const isNameInUse = error instanceof UpstreamError && error.status === 409
        const existing = isNameInUse ? await findServicePrincipal(appId, call) : undefined
        if (existing === undefined) throw error
        return existing
      }
    },
    getServicePrincipal,
    findServicePrincipal,
    addServicePrincipalPassword: addingPassword(requests, pathOf, 'addServicePrincipalPassword'),
    removeServicePrincipalPassword: removingPassword(
      requests,
      pathOf,
      'removeServicePrincipalPassword',
      getServicePrincipal,
    ),
    deleteServicePrincipal: async (id: string, call: UpstreamCall) =>
      requests.remove('deleteServicePrincipal', pathOf('deleteServicePrincipal', id), call),
  }
}

/** https://learn.microsoft.com/graph/api/resources/approleassignment */
function appRoleCalls(requests: DirectoryRequests) {
  const pathOf = (operation: UpstreamOperation, id: string) => `/servicePrincipals/${objectId(operation, id)}`
  const list = async (id: string, call: UpstreamCall) => {
    const operation = 'listAppRoleAssignments'
    const path = `${pathOf(operation, id)}/appRoleAssignments`
    return requests.list(operation, path, appRoleAssignmentAnswer, call)
  }
  return {
    findResource: async (appId: string, call: UpstreamCall): Promise<Resource | undefined> => {
      if (!isObjectId(appId)) return undefined
      const path = `/servicePrincipals(appId='${appId}')?$select=id,appId,displayName,appRoles`
      return unlessGone(requests.get('findResource', path, resourceAnswer, call))
    },
    /** Gives a service principal an app role, unless it has it. Returns the id of the assignment. */
    assignAppRole: async (
      principalId: string,
      { resourceId, appRoleId }: { readonly resourceId: string; readonly appRoleId: string },
      call: UpstreamCall,
    ): Promise<string> => {
      const operation = 'assignAppRole'
      const path = `${pathOf(operation, resourceId)}/appRoleAssignedTo`
      const body = { principalId, resourceId, appRoleId }
      try {
        return (await requests.ask({ operation, method: 'POST', path, body }, appRoleAssignmentAnswer, call))
          .id
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error
        const look = () =>
          requests.get('findResource', `${pathOf(operation, resourceId)}?$select=id`, idAnswer, call)
        if (await isAboutOther(error, look)) throw error.with({ operation: 'findResource' })
        const held = error.status === 400 ? await tried(list(principalId, call)) : undefined
        const found = held?.find((one) => one.resourceId === resourceId && one.appRoleId === appRoleId)
        if (found === undefined) throw error
        return found.id
      }
    },
    listAppRoleAssignments: list,
    removeAppRole: async (resourceId: string, id: string, call: UpstreamCall) => {
      const operation = 'removeAppRole'
      const path = `${pathOf(operation, resourceId)}/appRoleAssignedTo/${encodeURIComponent(id)}`
      await requests.remove(operation, path, call)
    },
  }
}

/** https://learn.microsoft.com/graph/api/resources/group */
function groupCalls(requests: DirectoryRequests, directoryBase: string) {
  const getGroup = async (id: string, call: UpstreamCall): Promise<Group> =>
    requests.get('getGroup', `/groups/${objectId('getGroup', id)}`, groupAnswer, call)
  const isMember = async (groupId: string, memberId: string, call: UpstreamCall) => {
    const path = `/groups/${groupId}/members?$select=id&$top=999`
    const members = await requests.list('getGroup', path, idAnswer, call)
    return members.some(({ id }) => id.toLowerCase() === memberId.toLowerCase())
  }
  return {
    getGroup,
    findGroups: (displayName: string, call: UpstreamCall): Promise<Group[]> => {
      const path = filtered('/groups', `displayName eq ${quoted(displayName)}`)
      return requests.list('findGroups', path, groupAnswer, call)
    },
    /** Does nothing if the object is a member already. */
    addGroupMember: async (groupId: string, memberId: string, call: UpstreamCall) => {
      const operation = 'addGroupMember'
      const path = `/groups/${objectId(operation, groupId)}/members/$ref`
      const body = { '@odata.id': `${directoryBase}/v1.0/directoryObjects/${objectId(operation, memberId)}` }
      const added = requests.tell({ operation, method: 'POST', path, body }, call)
      await unlessSo(added, () => isMember(groupId, memberId, call)).catch(async (error: unknown) => {
        throw error instanceof UpstreamError && (await isAboutOther(error, () => getGroup(groupId, call)))
          ? error.with({ operation: 'getGroup' })
          : error
      })
    },
    removeGroupMember: async (groupId: string, memberId: string, call: UpstreamCall) => {
      const operation = 'removeGroupMember'
      const [group, member] = [objectId(operation, groupId), objectId(operation, memberId)]
      // without the last segment this would delete the member itself
      await requests.remove(operation, `/groups/${group}/members/${member}/$ref`, call)
    },
  }
}

/**
 * Whether the group or resource, which `look` reads, is missing rather than the member. A member may be new and not
 * replicated yet, but waiting does not make a group exist.
 */
async function isAboutOther({ status }: UpstreamError, look: () => Promise<unknown>): Promise<boolean> {
  if (status !== 404) return false
  return await look().then(
    () => false,
    (error: unknown) => {
      if (error instanceof UpstreamError) return isGone(error)
      throw error
    },
  )
}
