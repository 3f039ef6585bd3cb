import type { ApiParts } from './api-parts.ts'
import type { Call, Route } from './call.ts'
import { hasHeard } from './consistency.ts'
import { mayCaller } from './directory-permissions.ts'
import { entityReply, listReply, readId, resourceMissing } from './graph-answers.ts'
import { applicationNames, applicationProperties, showApplication } from './graph-applications.ts'
import { principalNames, principalProperties, showPrincipal } from './graph-service-principals.ts'
import type { Application, Holder, Principal } from './tenant.ts'

/** Deleted objects, which can still be purged. simulators/directory/README.md */
export function deletedRoutes({ tenant, settings }: ApiParts): Route[] {
  const inBin = (call: Call) => (holder: Holder) =>
    holder.deletedAt !== undefined && hasHeard(call.view, holder.deletedAt, 'deletedToBin')
  const find = (call: Call): { application?: Application; principal?: Principal } => {
    const id = readId(call.params.id)
    const application = tenant.applications.get(id)
    const principal = tenant.principals.get(id)
    if (application !== undefined && inBin(call)(application)) return { application }
    if (principal !== undefined && inBin(call)(principal)) return { principal }
    throw resourceMissing(id)
  }
  return [
    {
      operation: 'listDeletedApplications',
      method: 'GET',
      path: /^\/v1\.0\/directory\/deletedItems\/microsoft\.graph\.application$/i,
      handle: (call) => {
        mayCaller.readApplications(call)
        return listReply(call, {
          context: 'applications',
          items: tenant.applications.values().filter(inBin(call)),
          properties: applicationProperties,
          names: applicationNames,
          show: showApplication(call.view, 'deletedToBin'),
          pageSize: settings().pageSize,
        })
      },
    },
    {
      operation: 'listDeletedServicePrincipals',
      method: 'GET',
      path: /^\/v1\.0\/directory\/deletedItems\/microsoft\.graph\.servicePrincipal$/i,
      handle: (call) => {
        mayCaller.readApplications(call)
        return listReply(call, {
          context: 'servicePrincipals',
          items: tenant.principals.values().filter(inBin(call)),
          properties: principalProperties,
          names: principalNames,
          show: showPrincipal(call.view, 'deletedToBin'),
          pageSize: settings().pageSize,
        })
      },
    },
    {
      operation: 'getDeleted',
      method: 'GET',
      path: /^\/v1\.0\/directory\/deletedItems\/(?<id>[^/]+)$/,
      handle: (call) => {
        mayCaller.readApplications(call)
        const { application, principal } = find(call)
        const entity = {
          ...(application && {
            '@odata.type': '#microsoft.graph.application',
            ...showApplication(call.view, 'deletedToBin')(application),
          }),
          ...(principal && {
            '@odata.type': '#microsoft.graph.servicePrincipal',
            ...showPrincipal(call.view, 'deletedToBin')(principal),
          }),
        }
        return entityReply(call, { context: 'directoryObjects', entity })
      },
    },
    {
      operation: 'purgeDeleted',
      method: 'DELETE',
      path: /^\/v1\.0\/directory\/deletedItems\/(?<id>[^/]+)$/,
      handle: (call) => {
        const { application, principal } = find(call)
        if (application !== undefined) {
          mayCaller.changeHolder(call, application)
          tenant.purgeApplication(application, call.view.now)
        }
        if (principal !== undefined) {
          mayCaller.changeHolder(call, principal)
          tenant.purgePrincipal(principal)
        }
        return { status: 204 }
      },
    },
  ]
}
