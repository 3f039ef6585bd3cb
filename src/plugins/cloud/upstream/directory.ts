import { z } from 'zod'
import { readAnswer } from './answer.ts'
import { classify } from './classification.ts'
import {
  applicationAnswer,
  groupAnswer,
  isObjectId,
  organizationAnswer,
  servicePrincipalAnswer,
} from './directory-answers.ts'
import type { ApplicationFilter, DirectoryApi, NewApplication, ServicePrincipal } from './directory-api.ts'
import {
  type DirectoryRequests,
  type DirectorySend,
  directoryRequests,
  filtered,
  objectId,
  quoted,
  unlessDone,
} from './directory-requests.ts'
import type { UpstreamCall } from './upstream-call.ts'
import { UpstreamError, type UpstreamOperation } from './upstream-error.ts'

/** See `DirectoryApi`. `directoryBase` is without `/v1.0`. */
export function openDirectory(directoryBase: string, send: DirectorySend): DirectoryApi {
  const requests = directoryRequests(directoryBase, send)
  return {
    ...applicationCalls(requests),
    ...servicePrincipalCalls(requests),
    ...groupCalls(requests, directoryBase),
    organization: async (call) => {
      const path = '/organization?$select=directorySizeQuota'
      const { value } = await requests.get('organization', path, organizationAnswer, call)
      return value[0]?.directorySizeQuota ?? undefined
    },
  }
}

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
  return {
    createApplication: (application, call) => createApplication(requests, application, call),
    getApplication: async (id, call) =>
      requests.get('getApplication', pathOf('getApplication', id), applicationAnswer, call),
    listApplicationOwners: async (id, call) => {
      const path = `${pathOf('listApplicationOwners', id)}/owners?$select=id`
      const owners = await requests.list('listApplicationOwners', path, z.object({ id: z.string() }), call)
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
      return requests.removePassword(operation, `${pathOf(operation, id)}/removePassword`, keyId, call)
    },
  }
}

function createApplication({ send }: DirectoryRequests, application: NewApplication, call: UpstreamCall) {
  // a tenant may lock the secrets of service principals by default, and this one gets a secret
  const body = { ...application, servicePrincipalLockConfiguration: { isEnabled: false } }
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
  return {
    createServicePrincipal: (appId, call) => createServicePrincipal(requests, appId, call),
    getServicePrincipal: async (id, call) =>
      requests.get('getServicePrincipal', pathOf('getServicePrincipal', id), servicePrincipalAnswer, call),
    findServicePrincipal: (appId, call) => findServicePrincipal(requests, appId, call),
    addServicePrincipalPassword: async (id, password, call) => {
      const operation = 'addServicePrincipalPassword'
      return requests.addPassword(operation, `${pathOf(operation, id)}/addPassword`, password, call)
    },
    removeServicePrincipalPassword: async (id, keyId, call) => {
      const operation = 'removeServicePrincipalPassword'
      return requests.removePassword(operation, `${pathOf(operation, id)}/removePassword`, keyId, call)
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
  try {
    const path = `/servicePrincipals(appId='${appId}')`
    return await get('findServicePrincipal', path, servicePrincipalAnswer, call)
  } catch (error) {
    if (error instanceof UpstreamError && classify(error).kind === 'gone') return undefined
    throw error
  }
}

const isNameInUse = (error: unknown): boolean =>
  error instanceof UpstreamError &&
  (error.code === 'Request_MultipleObjectsWithSameKeyValue' ||
    error.text.toLowerCase().includes('is already in use'))

type GroupCalls = Pick<DirectoryApi, 'getGroup' | 'findGroups' | 'addGroupMember' | 'removeGroupMember'>

/** https://learn.microsoft.com/graph/api/resources/group */
function groupCalls(requests: DirectoryRequests, directoryBase: string): GroupCalls {
  return {
    getGroup: async (id, call) =>
      requests.get('getGroup', `/groups/${objectId('getGroup', id)}`, groupAnswer, call),
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
      await unlessDone(added).catch((error: unknown) => {
        throw isAboutGroup(error, groupId, memberId)
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
 * Whether the group is missing rather than the member. A member may be new and not replicated yet, but
 * waiting does not make a group exist.
 */
const isAboutGroup = (error: unknown, groupId: string, memberId: string): error is UpstreamError =>
  error instanceof UpstreamError &&
  error.status === 404 &&
  error.text.includes(groupId) &&
  !error.text.includes(memberId)
