import { ApiError } from './api-error.ts'
import type { ApiParts } from './api-parts.ts'
import type { Call, Reply, Route } from './call.ts'
import { hasHeard, isSeen } from './consistency.ts'
import { mayCaller } from './directory-permissions.ts'
import { entityReply, listReply, readId, resourceMissing } from './graph-answers.ts'
import { principalNames, principalProperties, showPrincipal } from './graph-service-principals.ts'
import type { Group } from './tenant.ts'

/** Groups, their members, and the organization's quota. simulators/directory/README.md */
export function groupRoutes(parts: ApiParts): Route[] {
  const { tenant, settings } = parts
  const groupOf = (call: Call): Group => {
    const id = readId(call.params.id)
    const group = tenant.groups.get(id)
    if (group === undefined) throw resourceMissing(id)
    return group
  }
  return [
    {
      operation: 'listGroups',
      method: 'GET',
      path: /^\/v1\.0\/groups\/?$/,
      handle: (call) => {
        mayCaller.readGroups(call)
        const properties = ({ id, displayName }: Group) => ({ id, displayName })
        const items = tenant.groups.values()
        return listReply(call, {
          context: 'groups',
          items,
          properties,
          names: ['id', 'displayName'],
          show: showGroup,
          pageSize: settings().pageSize,
        })
      },
    },
    {
      operation: 'getGroup',
      method: 'GET',
      path: /^\/v1\.0\/groups\/(?<id>[^/]+)$/,
      handle: (call) => {
        mayCaller.readGroups(call)
        return entityReply(call, { context: 'groups', entity: showGroup(groupOf(call)) })
      },
    },
    {
      operation: 'listGroupMembers',
      method: 'GET',
      path: /^\/v1\.0\/groups\/(?<id>[^/]+)\/members$/,
      handle: (call) => {
        mayCaller.readGroups(call)
        const items = [...groupOf(call).memberIds.keys()].flatMap((id) => tenant.principals.get(id) ?? [])
        const show = (principal: (typeof items)[number]) => ({
          '@odata.type': '#microsoft.graph.servicePrincipal',
          ...showPrincipal(call.view, 'changeToList')(principal),
        })
        return listReply(call, {
          context: 'directoryObjects',
          items,
          properties: principalProperties,
          names: principalNames,
          show,
          pageSize: settings().pageSize,
        })
      },
    },
    {
      operation: 'addGroupMember',
      method: 'POST',
      path: /^\/v1\.0\/groups\/(?<id>[^/]+)\/members\/\$ref$/,
      handle: (call) => addMember(parts, call, groupOf),
    },
    {
      operation: 'removeGroupMember',
      method: 'DELETE',
      path: /^\/v1\.0\/groups\/(?<id>[^/]+)\/members\/(?<member>[^/]+)\/\$ref$/,
      handle: (call) => {
        const group = groupOf(call)
        mayCaller.removeMember(call, group)
        const member = readId(call.params.member)
        const since = group.memberIds.get(member)
        if (since === undefined || !hasHeard(call.view, since, 'rightToRemoval'))
          throw resourceMissing(member)
        group.memberIds.delete(member)
        return { status: 204 }
      },
    },
    {
      operation: 'deleteGroupMemberObject',
      method: 'DELETE',
      path: /^\/v1\.0\/groups\/(?<id>[^/]+)\/members\/(?<member>[^/]+)$/,
      handle: () => {
        throw new ApiError(
          400,
          'SimulatorRefused',
          'Without /$ref this request deletes the member itself, not its membership. The stand-in never does that.',
        )
      },
    },
    {
      operation: 'getOrganization',
      method: 'GET',
      path: /^\/v1\.0\/organization(?:\/(?<id>[^/]+))?$/,
      handle: (call) => organization(parts, call),
    },
  ]
}

const showGroup = ({ id, displayName, kind }: Group) => ({
  id,
  deletedDateTime: null,
  displayName,
  groupTypes: kind === 'dynamic' ? ['DynamicMembership'] : [],
  isAssignableToRole: kind === 'role-assignable' ? true : null,
  mailEnabled: false,
  membershipRule: kind === 'dynamic' ? 'user.department -eq "it"' : null,
  onPremisesSyncEnabled: kind === 'on-premises' ? true : null,
  securityEnabled: true,
})

const memberReference = /\/(?:directoryObjects|servicePrincipals)\/([^/?#]+)$/

function addMember({ tenant }: ApiParts, call: Call, groupOf: (call: Call) => Group): Reply {
  const group = groupOf(call)
  mayCaller.addMember(call, group)
  const reference = call.body['@odata.id']
  const url = typeof reference === 'string' ? URL.parse(reference) : null
  const named = memberReference.exec(url?.pathname ?? '')?.[1]
  if (url === null || named === undefined)
    throw new ApiError(
      400,
      'Request_BadRequest',
      "The value of '@odata.id' is not a reference to a directory object.",
    )
  // a reference to the host of another cloud does not exist here
  if (url.origin !== call.origin)
    throw new ApiError(400, 'Request_BadRequest', `Resource '${reference}' is not of this directory.`)
  const id = readId(named)
  const member = tenant.principals.get(id)
  if (member === undefined || !isSeen(call.view, member, 'changeToRead') || member.deletedAt !== undefined)
    throw resourceMissing(id)
  if (!hasHeard(call.view, member.createdAt, 'servicePrincipalToGroup')) throw resourceMissing(id)
  if (group.memberIds.has(id)) {
    const message =
      "One or more added object references already exist for the following modified properties: 'members'."
    throw new ApiError(400, 'Request_BadRequest', message)
  }
  group.memberIds.set(id, call.view.now)
  return { status: 204 }
}

const defaultQuota = 50_000

/** As in the real service, the response has the quota only if `$select` requests it. */
function organization({ tenant, settings }: ApiParts, call: Call): Reply {
  mayCaller.readOrganization(call)
  const requested = call.query.get('$select')?.includes('directorySizeQuota') === true
  const quota = { used: tenant.quotaUsed(), total: settings().quotas.directoryObjects ?? defaultQuota }
  const entity = {
    id: tenant.tenantId,
    displayName: 'Simulated Directory',
    tenantType: 'AAD',
    ...(requested && { directorySizeQuota: quota }),
  }
  if (call.params.id !== undefined) {
    if (readId(call.params.id) !== tenant.tenantId) throw resourceMissing(call.params.id)
    return entityReply(call, { context: 'organization', entity })
  }
  const items = [{ seq: 1 }]
  return listReply(call, {
    context: 'organization',
    items,
    properties: () => ({}),
    names: [],
    show: () => entity,
    pageSize: settings().pageSize,
  })
}
