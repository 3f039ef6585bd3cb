import { z } from 'zod'
import { readAnswer } from '../answer.ts'
import { classify } from '../classification.ts'
import type { UpstreamCall } from '../upstream-call.ts'
import { UpstreamError, type UpstreamOperation } from '../upstream-error.ts'
import {
  addedKeyAnswer,
  applicationAnswer,
  applicationKeysAnswer,
  appRoleAssignmentAnswer,
  groupAnswer,
  isObjectId,
  organizationAnswer,
  resourceAnswer,
  servicePrincipalAnswer,
} from './directory-answers.ts'
import type {
  ApplicationFilter,
  DirectoryApi,
  NewApplication,
  NewCertificateKey,
  ServicePrincipal,
} from './directory-api.ts'
import {
  type DirectoryRequests,
  type DirectorySend,
  directoryRequests,
  filtered,
  objectId,
  quoted,
  tried,
  unlessSo,
} from './directory-requests.ts'
import { trustCalls } from './directory-trusts.ts'

/** See `DirectoryApi`. `directoryBase` is without `/v1.0`. */
export function openDirectory(directoryBase: string, send: DirectorySend): DirectoryApi {
  const requests = directoryRequests(directoryBase, send)
  return {
    ...applicationCalls(requests),
    ...keyCalls(requests),
    ...trustCalls(requests),
    ...servicePrincipalCalls(requests),
    ...groupCalls(requests, directoryBase),
    ...appRoleCalls(requests),
    organization: async (call) => {
      const path = '/organization?$select=directorySizeQuota'
      const { value } = await requests.get('organization', path, organizationAnswer, call)
      return value[0]?.directorySizeQuota ?? undefined
    },
  }
}

const idAnswer = z.object({ id: z.string() })

type KeyCalls = Pick<DirectoryApi, 'getApplicationKeys' | 'findApplicationKeys' | 'addKey' | 'removeKey'>

/** https://learn.microsoft.com/graph/api/application-addkey */
function keyCalls(requests: DirectoryRequests): KeyCalls {
  const operation = 'getApplicationKeys'
  const select = '?$select=id,keyCredentials'
  const keysOf: KeyCalls['getApplicationKeys'] = async (id, call) =>
    requests.get(operation, `/applications/${objectId(operation, id)}${select}`, applicationKeysAnswer, call)
  return {
    getApplicationKeys: keysOf,
    findApplicationKeys: async (appId, call) => {
      const path = `/applications(appId='${objectId(operation, appId)}')${select}`
      return requests.get(operation, path, applicationKeysAnswer, call)
    },
    addKey: async (id, { proof, ...key }, call) =>
      requests.send(
        {
          operation: 'addKey',
          method: 'POST',
          path: `/applications/${objectId('addKey', id)}/addKey`,
          body: { keyCredential: keyCredentialOf(key), passwordCredential: null, proof },
          repeatable: false,
        },
        call,
        (answer, kind) => readAnswer(kind, answer, addedKeyAnswer).keyId,
      ),
    removeKey: async (id, body, call) => {
      const path = `/applications/${objectId('removeKey', id)}/removeKey`
      await unlessSo(
        requests.send(
          { operation: 'removeKey', method: 'POST', path, body, repeatable: true },
          call,
          () => undefined,
        ),
        async () => !isAmong((await keysOf(id, call)).keyCredentials, body.keyId),
      )
    },
  }
}

const isAmong = (credentials: readonly { readonly keyId: string }[], keyId: string): boolean =>
  credentials.some((one) => one.keyId.toLowerCase() === keyId.toLowerCase())

/** https://learn.microsoft.com/graph/api/resources/keycredential */
const keyCredentialOf = ({ displayName, certificate }: NewCertificateKey) => ({
  type: 'AsymmetricX509Cert',
  usage: 'Verify',
  key: certificate.replace(/-----[A-Z ]+-----|\s/g, ''),
  displayName,
})

type ApplicationCalls = Pick<
  DirectoryApi,
  | 'createApplication'
  | 'getApplication'
  | 'listApplicationOwners'
  | 'findApplications'
  | 'deleteApplication'
  | 'purgeDeleted'
  | 'addApplicationPassword'
  | 'addNewApplicationPassword'
  | 'removeApplicationPassword'
>

/** https://learn.microsoft.com/graph/api/resources/application */
function applicationCalls(requests: DirectoryRequests): ApplicationCalls {
  const pathOf = (operation: UpstreamOperation, id: string) => `/applications/${objectId(operation, id)}`
  const getApplication: ApplicationCalls['getApplication'] = async (id, call) =>
    requests.get('getApplication', pathOf('getApplication', id), applicationAnswer, call)
  return {
    createApplication: (application, call) => createApplication(requests, application, call),
    getApplication,
    listApplicationOwners: async (id, call) => {
      const path = `${pathOf('listApplicationOwners', id)}/owners?$select=id`
      const owners = await requests.list('listApplicationOwners', path, idAnswer, call)
      return owners.map((owner) => owner.id)
    },
    findApplications: (by, call) =>
      requests.list(
        'findApplications',
        filtered('/applications', applicationFilter(by)),
        applicationAnswer,
        call,
      ),
    deleteApplication: async (id, call) =>
      requests.remove('deleteApplication', pathOf('deleteApplication', id), call),
    purgeDeleted: async (id, call) =>
      requests.remove('purgeDeleted', `/directory/deletedItems/${objectId('purgeDeleted', id)}`, call),
    addApplicationPassword: async (id, password, call) => {
      const operation = 'addApplicationPassword'
      return requests.addPassword(operation, `${pathOf(operation, id)}/addPassword`, password, call)
    },
    addNewApplicationPassword: async (id, password, call) => {
      const operation = 'addNewApplicationPassword'
      return requests.addPassword(operation, `${pathOf(operation, id)}/addPassword`, password, call)
    },
    removeApplicationPassword: async (id, keyId, call) => {
      const operation = 'removeApplicationPassword'
      const path = `${pathOf(operation, id)}/removePassword`
      return requests.removePassword(
        { operation, path, keyId },
        call,
        async () => !isAmong((await getApplication(id, call)).passwordCredentials, keyId),
      )
    },
  }
}

function createApplication(
  { send }: DirectoryRequests,
  { key, ...application }: NewApplication,
  call: UpstreamCall,
) {
  // a tenant may lock the secrets of service principals by default, and this one gets a secret
  const body = {
    ...application,
    ...(key === undefined ? {} : { keyCredentials: [keyCredentialOf(key)] }),
    servicePrincipalLockConfiguration: { isEnabled: false },
  }
  return send(
    { operation: 'createApplication', method: 'POST', path: '/applications', body, repeatable: false },
    call,
    (answer, kind) => readAnswer(kind, answer, applicationAnswer),
  )
}

function applicationFilter(by: ApplicationFilter): string {
  if ('appId' in by) return `appId eq ${quoted(by.appId)}`
  if ('displayName' in by) return `displayName eq ${quoted(by.displayName)}`
  return `tags/any(t:startswith(t,${quoted(by.tagPrefix)}))`
}

type ServicePrincipalCalls = Pick<
  DirectoryApi,
  | 'createServicePrincipal'
  | 'getServicePrincipal'
  | 'findServicePrincipal'
  | 'addServicePrincipalPassword'
  | 'removeServicePrincipalPassword'
  | 'deleteServicePrincipal'
>

/** https://learn.microsoft.com/graph/api/resources/serviceprincipal */
function servicePrincipalCalls(requests: DirectoryRequests): ServicePrincipalCalls {
  const pathOf = (operation: UpstreamOperation, id: string) => `/servicePrincipals/${objectId(operation, id)}`
  const getServicePrincipal: ServicePrincipalCalls['getServicePrincipal'] = async (id, call) =>
    requests.get('getServicePrincipal', pathOf('getServicePrincipal', id), servicePrincipalAnswer, call)
  return {
    createServicePrincipal: (appId, call) => createServicePrincipal(requests, appId, call),
    getServicePrincipal,
    findServicePrincipal: (appId, call) => findServicePrincipal(requests, appId, call),
    addServicePrincipalPassword: async (id, password, call) => {
      const operation = 'addServicePrincipalPassword'
      return requests.addPassword(operation, `${pathOf(operation, id)}/addPassword`, password, call)
    },
    removeServicePrincipalPassword: async (id, keyId, call) => {
      const operation = 'removeServicePrincipalPassword'
      const path = `${pathOf(operation, id)}/removePassword`
      return requests.removePassword(
        { operation, path, keyId },
        call,
        async () => !isAmong((await getServicePrincipal(id, call)).passwordCredentials, keyId),
      )
    },
    deleteServicePrincipal: async (id, call) =>
      requests.remove('deleteServicePrincipal', pathOf('deleteServicePrincipal', id), call),
  }
}

async function createServicePrincipal(
  requests: DirectoryRequests,
  appId: string,
  call: UpstreamCall,
): Promise<ServicePrincipal> {
  const request = {
    operation: 'createServicePrincipal',
    method: 'POST',
    path: '/servicePrincipals',
    body: { appId },
    // the directory refuses a second service principal for an application
    repeatable: true,
  } as const
  try {
    return await requests.send(request, call, (answer, kind) =>
      readAnswer(kind, answer, servicePrincipalAnswer),
    )
  } catch (error) {
    const existing = isNameInUse(error) ? await findServicePrincipal(requests, appId, call) : undefined
    if (existing === undefined) throw error
    return existing
  }
}

async function findServicePrincipal(
  { get }: DirectoryRequests,
  appId: string,
  call: UpstreamCall,
): Promise<ServicePrincipal | undefined> {
  if (!isObjectId(appId)) return undefined
  const path = `/servicePrincipals(appId='${appId}')`
  return unlessGone(get('findServicePrincipal', path, servicePrincipalAnswer, call))
}

async function unlessGone<Found>(reading: Promise<Found>): Promise<Found | undefined> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof UpstreamError && classify(error).kind === 'gone') return undefined
    throw error
  }
}

const isNameInUse = (error: unknown): boolean => error instanceof UpstreamError && error.status === 409

type AppRoleCalls = Pick<
  DirectoryApi,
  'findResource' | 'assignAppRole' | 'listAppRoleAssignments' | 'removeAppRole'
>

/** https://learn.microsoft.com/graph/api/resources/approleassignment */
function appRoleCalls(requests: DirectoryRequests): AppRoleCalls {
  const pathOf = (operation: UpstreamOperation, id: string) => `/servicePrincipals/${objectId(operation, id)}`
  const list: AppRoleCalls['listAppRoleAssignments'] = (id, call) => {
    const operation = 'listAppRoleAssignments'
    const path = `${pathOf(operation, id)}/appRoleAssignments`
    return requests.list(operation, path, appRoleAssignmentAnswer, call)
  }
  return {
    findResource: async (appId, call) => {
      if (!isObjectId(appId)) return undefined
      const path = `/servicePrincipals(appId='${appId}')?$select=id,appId,displayName,appRoles`
      return unlessGone(requests.get('findResource', path, resourceAnswer, call))
    },
    assignAppRole: async (principalId, { resourceId, appRoleId }, call) => {
      const operation = 'assignAppRole'
      const path = `${pathOf(operation, resourceId)}/appRoleAssignedTo`
      const body = { principalId, resourceId, appRoleId }
      try {
        return await requests.send(
          { operation, method: 'POST', path, body, repeatable: true },
          call,
          (answer, kind) => readAnswer(kind, answer, appRoleAssignmentAnswer).id,
        )
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error
        const look = () =>
          requests.get('findResource', `${pathOf(operation, resourceId)}?$select=id`, idAnswer, call)
        if (await isAboutOther(error, look)) throw new UpstreamError({ ...error, operation: 'findResource' })
        const held = error.status === 400 ? await tried(list(principalId, call)) : undefined
        const found = held?.find((one) => one.resourceId === resourceId && one.appRoleId === appRoleId)
        if (found === undefined) throw error
        return found.id
      }
    },
    listAppRoleAssignments: list,
    removeAppRole: async (resourceId, id, call) => {
      const operation = 'removeAppRole'
      const path = `${pathOf(operation, resourceId)}/appRoleAssignedTo/${encodeURIComponent(id)}`
      await requests.remove(operation, path, call)
    },
  }
}

type GroupCalls = Pick<DirectoryApi, 'getGroup' | 'findGroups' | 'addGroupMember' | 'removeGroupMember'>

/** https://learn.microsoft.com/graph/api/resources/group */
function groupCalls(requests: DirectoryRequests, directoryBase: string): GroupCalls {
  const getGroup: GroupCalls['getGroup'] = async (id, call) =>
    requests.get('getGroup', `/groups/${objectId('getGroup', id)}`, groupAnswer, call)
  const isMember = async (groupId: string, memberId: string, call: UpstreamCall) => {
    const path = `/groups/${groupId}/members?$select=id&$top=999`
    const members = await requests.list('getGroup', path, idAnswer, call)
    return members.some(({ id }) => id.toLowerCase() === memberId.toLowerCase())
  }
  return {
    getGroup,
    findGroups: (displayName, call) =>
      requests.list(
        'findGroups',
        filtered('/groups', `displayName eq ${quoted(displayName)}`),
        groupAnswer,
        call,
      ),
    addGroupMember: async (groupId, memberId, call) => {
      const operation = 'addGroupMember'
      const path = `/groups/${objectId(operation, groupId)}/members/$ref`
      const body = { '@odata.id': `${directoryBase}/v1.0/directoryObjects/${objectId(operation, memberId)}` }
      const added = requests.send(
        { operation, method: 'POST', path, body, repeatable: true },
        call,
        () => undefined,
      )
      await unlessSo(added, () => isMember(groupId, memberId, call)).catch(async (error: unknown) => {
        throw error instanceof UpstreamError && (await isAboutOther(error, () => getGroup(groupId, call)))
          ? new UpstreamError({ ...error, operation: 'getGroup' })
          : error
      })
    },
    removeGroupMember: async (groupId, memberId, call) => {
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
  return (await tried(unlessGone(look().then(() => 'there')).then((found) => found ?? 'gone'))) === 'gone'
}
