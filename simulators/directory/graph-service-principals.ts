import { ApiError } from './api-error.ts'
import type { ApiParts } from './api-parts.ts'
import type { Call, Reply, Route } from './call.ts'
import { deletionSeen, hasHeard, isSeen, seenOf, type View } from './consistency.ts'
import { mayCaller, mayMakePrincipalFor } from './directory-permissions.ts'
import { entityReply, getSeen, listReply, readId, resourceMissing } from './graph-answers.ts'
import { checkQuota } from './graph-applications.ts'
import { addPassword, removePassword, showPassword } from './passwords.ts'
import type { Delays } from './settings.ts'
import type { Principal } from './tenant.ts'

/** Service principals and their passwords. simulators/directory/README.md */
export function principalRoutes(parts: ApiParts): Route[] {
  const { tenant, settings } = parts
  const changed = (call: Call): Principal => {
    const principal = getSeen(call, tenant.principals, readId(call.params.id))
    if (principal.deletedAt !== undefined) throw resourceMissing(principal.id)
    mayCaller.changeHolder(call, principal)
    return principal
  }
  const passwordsKnown = (call: Call): Principal => {
    const principal = changed(call)
    if (!hasHeard(call.view, principal.createdAt, 'servicePrincipalToPassword'))
      throw resourceMissing(principal.id)
    if (tenant.applicationByAppId(principal.appId)?.isLocked === true) {
      throw new ApiError(
        400,
        'CannotUpdateLockedServicePrincipalProperty',
        'Property passwordCredentials is invalid.',
      )
    }
    return principal
  }
  // each refusal uses the next of three equivalent errors
  let refusals = 0
  return [
    {
      operation: 'createServicePrincipal',
      method: 'POST',
      path: /^\/v1\.0\/servicePrincipals\/?$/,
      handle: (call) => create(parts, call, () => refusals++),
    },
    {
      operation: 'listServicePrincipals',
      method: 'GET',
      path: /^\/v1\.0\/servicePrincipals\/?$/,
      handle: (call) => {
        mayCaller.readApplications(call)
        return listReply(call, {
          context: 'servicePrincipals',
          items: tenant.principals
            .values()
            .filter((principal) => isSeen(call.view, principal, 'changeToList')),
          properties: principalProperties,
          names: principalNames,
          show: showPrincipal(call.view, 'changeToList'),
          pageSize: settings().pageSize,
        })
      },
    },
    {
      operation: 'getServicePrincipal',
      method: 'GET',
      path: /^\/v1\.0\/servicePrincipals(?:\/(?<id>[^/]+)|\(appId='(?<appId>[^']+)'\))$/,
      handle: (call) => {
        mayCaller.readApplications(call)
        const id =
          call.params.appId === undefined
            ? readId(call.params.id)
            : (tenant.principalByAppId(readId(call.params.appId))?.id ?? call.params.appId)
        return entityReply(call, {
          context: 'servicePrincipals',
          entity: showPrincipal(call.view, 'changeToRead')(getSeen(call, tenant.principals, id)),
        })
      },
    },
    {
      operation: 'deleteServicePrincipal',
      method: 'DELETE',
      path: /^\/v1\.0\/servicePrincipals\/(?<id>[^/]+)$/,
      handle: (call) => {
        tenant.deletePrincipal(changed(call), call.view.now)
        return { status: 204 }
      },
    },
    {
      operation: 'addServicePrincipalPassword',
      method: 'POST',
      path: /^\/v1\.0\/servicePrincipals\/(?<id>[^/]+)\/addPassword$/,
      handle: (call) =>
        entityReply(call, {
          context: 'microsoft.graph.passwordCredential',
          entity: addPassword(call, passwordsKnown(call), settings()),
        }),
    },
    {
      operation: 'removeServicePrincipalPassword',
      method: 'POST',
      path: /^\/v1\.0\/servicePrincipals\/(?<id>[^/]+)\/removePassword$/,
      handle: (call) => {
        removePassword(call, passwordsKnown(call))
        return { status: 204 }
      },
    },
  ]
}

/** A service principal in the view of a replica. */
export const showPrincipal = (view: View, delay: keyof Delays) => (principal: Principal) => ({
  id: principal.id,
  deletedDateTime: deletionSeen(view, principal, delay),
  accountEnabled: true,
  appDisplayName: principal.displayName,
  appId: principal.appId,
  createdDateTime: new Date(principal.createdAt).toISOString(),
  displayName: principal.displayName,
  servicePrincipalNames: [principal.appId],
  appRoles: principal.appRoles,
  servicePrincipalType: principal.type,
  tags: [],
  keyCredentials: [],
  passwordCredentials: seenOf(view, principal.passwords, delay).map(showPassword),
})

/** The filterable properties of a service principal. */
export const principalProperties = ({ id, appId, displayName }: Principal) => ({ id, appId, displayName })
export const principalNames = ['id', 'appId', 'displayName']

function create({ tenant, settings }: ApiParts, call: Call, nextRefusal: () => number): Reply {
  const { appId: requested } = call.body
  if (typeof requested !== 'string')
    throw new ApiError(
      400,
      'Request_BadRequest',
      "A value is required for property 'appId' of resource 'ServicePrincipal'.",
    )
  const appId = readId(requested)
  const application = tenant.applicationByAppId(appId)
  const { view } = call
  const mayMake = mayMakePrincipalFor(call, application)
  if (application === undefined || application.deletedAt !== undefined) throw noBackingApplication(appId)
  if (!hasHeard(view, application.createdAt, 'applicationToServicePrincipal'))
    throw notReplicatedYet(appId, nextRefusal())
  if (!mayMake) throw notLocal()
  const former = tenant.principalByAppId(appId)
  if (
    former !== undefined &&
    (former.deletedAt === undefined || !hasHeard(view, former.deletedAt, 'deletedServicePrincipalName'))
  ) {
    const message = `The service principal cannot be created, updated, or restored because the service principal name ${appId} is already in use.`
    const details = [{ code: 'ObjectConflict', message, target: 'servicePrincipalNames' }]
    throw new ApiError(409, 'Request_MultipleObjectsWithSameKeyValue', message, { details })
  }
  checkQuota(tenant.quotaUsed(), settings().quotas.directoryObjects)
  const principal = tenant.addPrincipal({
    appId,
    displayName: application.displayName,
    createdAt: view.now,
    ownerIds: call.caller === undefined ? [] : [call.caller.oid],
  })
  return entityReply(call, {
    status: 201,
    context: 'servicePrincipals',
    entity: showPrincipal(call.view, 'changeToRead')(principal),
  })
}

/** The real service has three errors for the same cause, in no fixed order. */
function notReplicatedYet(appId: string, turn: number): ApiError {
  if (turn % 3 === 0) return resourceMissing(appId)
  return turn % 3 === 1 ? noBackingApplication(appId) : notLocal()
}

function noBackingApplication(appId: string): ApiError {
  const message = `The appId '${appId}' of the service principal does not reference a valid application object.`
  return new ApiError(400, 'Request_BadRequest', message, {
    details: [{ code: 'NoBackingApplicationObject', message, target: 'appId' }],
  })
}

const notLocal = () =>
  new ApiError(
    403,
    'Authorization_RequestDenied',
    'When using this permission, the backing application of the service principal being created must in the local tenant',
  )
