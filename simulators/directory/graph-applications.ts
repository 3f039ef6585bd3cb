import { ApiError } from './api-error.ts'
import type { ApiParts } from './api-parts.ts'
import type { Call, Reply, Route } from './call.ts'
import { deletionSeen, isSeen, seenOf, type View } from './consistency.ts'
import { mayCaller } from './directory-permissions.ts'
import { entityReply, getSeen, listReply, readId, resourceMissing } from './graph-answers.ts'
import { readKeys } from './graph-keys.ts'
import { liveKeys, showKey } from './key-credentials.ts'
import { addPassword, removePassword, showPassword } from './passwords.ts'
import type { Delays, Settings } from './settings.ts'
import type { Application } from './tenant.ts'

const audiences = [
  'AzureADMyOrg',
  'AzureADMultipleOrgs',
  'AzureADandPersonalMicrosoftAccount',
  'PersonalMicrosoftAccount',
]
const longestName = 256

/** Applications and their passwords. simulators/directory/README.md */
export function applicationRoutes(parts: ApiParts): Route[] {
  const { tenant, settings } = parts
  const changed = (call: Call): Application => {
    const application = getSeen(call, tenant.applications, readId(call.params.id))
    // a replica may still show a deleted application, but only an existing one can be changed
    if (application.deletedAt !== undefined) throw resourceMissing(application.id)
    mayCaller.changeHolder(call, application)
    return application
  }
  return [
    {
      operation: 'createApplication',
      method: 'POST',
      path: /^\/v1\.0\/applications\/?$/,
      handle: (call) => create(parts, call),
    },
    {
      operation: 'listApplications',
      method: 'GET',
      path: /^\/v1\.0\/applications\/?$/,
      handle: (call) => list(parts, call),
    },
    {
      operation: 'getApplication',
      method: 'GET',
      path: /^\/v1\.0\/applications(?:\/(?<id>[^/]+)|\(appId='(?<appId>[^']+)'\))$/,
      handle: (call) => {
        mayCaller.readApplications(call)
        const id =
          call.params.appId === undefined
            ? readId(call.params.id)
            : (tenant.applicationByAppId(readId(call.params.appId))?.id ?? call.params.appId)
        return entityReply(call, {
          context: 'applications',
          entity: withKeys(call, getSeen(call, tenant.applications, id)),
        })
      },
    },
    {
      operation: 'updateApplication',
      method: 'PATCH',
      path: /^\/v1\.0\/applications\/(?<id>[^/]+)$/,
      handle: (call) => {
        update(call, changed(call), settings())
        return { status: 204 }
      },
    },
    {
      operation: 'listApplicationOwners',
      method: 'GET',
      path: /^\/v1\.0\/applications\/(?<id>[^/]+)\/owners$/,
      handle: (call) => {
        mayCaller.readApplications(call)
        const { ownerIds } = getSeen(call, tenant.applications, readId(call.params.id))
        const items = ownerIds.map((id, index) => ({ id, seq: index + 1 }))
        return listReply<(typeof items)[number]>(call, {
          context: 'directoryObjects',
          items,
          names: ['id'],
          pageSize: settings().pageSize,
          properties: ({ id }) => ({ id }),
          show: ({ id }) => ({ '@odata.type': '#microsoft.graph.servicePrincipal', id }),
        })
      },
    },
    {
      operation: 'deleteApplication',
      method: 'DELETE',
      path: /^\/v1\.0\/applications\/(?<id>[^/]+)$/,
      handle: (call) => {
        tenant.deleteApplication(changed(call), call.view.now)
        return { status: 204 }
      },
    },
    {
      operation: 'addApplicationPassword',
      method: 'POST',
      path: /^\/v1\.0\/applications\/(?<id>[^/]+)\/addPassword$/,
      handle: (call) =>
        entityReply(call, {
          context: 'microsoft.graph.passwordCredential',
          entity: addPassword(call, changed(call), settings()),
        }),
    },
    {
      operation: 'removeApplicationPassword',
      method: 'POST',
      path: /^\/v1\.0\/applications\/(?<id>[^/]+)\/removePassword$/,
      handle: (call) => {
        removePassword(call, changed(call))
        return { status: 204 }
      },
    },
  ]
}

/** An application in the view of a replica. */
export const showApplication = (view: View, delay: keyof Delays) => (application: Application) => ({
  id: application.id,
  deletedDateTime: deletionSeen(view, application, delay),
  appId: application.appId,
  displayName: application.displayName,
  createdDateTime: new Date(application.createdAt).toISOString(),
  signInAudience: application.signInAudience,
  serviceManagementReference: application.serviceManagementReference,
  servicePrincipalLockConfiguration: { isEnabled: application.isLocked, allProperties: application.isLocked },
  tags: application.tags,
  identifierUris: [],
  keyCredentials: seenOf(view, application.keys, delay).map(showKey),
  passwordCredentials: seenOf(view, application.passwords, delay).map(showPassword),
})

/** The bytes of certificates are only in a read that selects them. Graph: keyCredential */
function withKeys(call: Call, application: Application): Record<string, unknown> {
  const shown = showApplication(call.view, 'changeToRead')(application)
  if (!/(?:^|,) *keyCredentials *(?:,|$)/i.test(call.query.get('$select') ?? '')) return shown
  const keys = seenOf(call.view, application.keys, 'changeToRead')
  return {
    ...shown,
    keyCredentials: keys.map((key) => ({ ...showKey(key), key: key.bytes.toString('base64') })),
  }
}

/** Changes the name or replaces the certificates. */
function update(call: Call, application: Application, settings: Settings): void {
  const { displayName = application.displayName, keyCredentials } = call.body
  if (typeof displayName !== 'string' || displayName === '' || displayName.length > longestName)
    throw invalidValue('displayName')
  if (keyCredentials !== undefined) {
    const known = liveKeys(application)
    const kept = readKeys(keyCredentials, { known, now: call.view.now, settings })
    for (const key of known) if (!kept.includes(key)) key.deletedAt = call.view.now
    application.keys.push(...kept.filter((key) => !known.includes(key)))
  }
  application.displayName = displayName
}

/** The filterable properties of an application. */
export const applicationProperties = ({ id, appId, displayName, tags, signInAudience }: Application) => ({
  id,
  appId,
  displayName,
  tags,
  signInAudience,
})
export const applicationNames = ['id', 'appId', 'displayName', 'tags', 'signInAudience']

function create({ tenant, settings }: ApiParts, call: Call): Reply {
  mayCaller.createApplication(call)
  const {
    displayName,
    signInAudience = 'AzureADMyOrg',
    tags = [],
    serviceManagementReference = null,
    keyCredentials = [],
  } = call.body
  if (typeof displayName !== 'string' || displayName === '') {
    throw new ApiError(
      400,
      'Request_BadRequest',
      "A value is required for property 'displayName' of resource 'Application'.",
    )
  }
  if (
    displayName.length > longestName ||
    typeof signInAudience !== 'string' ||
    !audiences.includes(signInAudience)
  ) {
    throw invalidValue(displayName.length > longestName ? 'displayName' : 'signInAudience')
  }
  if (!Array.isArray(tags) || !tags.every(isTag)) throw invalidValue('tags')
  checkReference(serviceManagementReference, settings())
  const keys = readKeys(keyCredentials, { known: [], now: call.view.now, settings: settings() })
  checkQuota(tenant.quotaUsed(), settings().quotas.directoryObjects)
  const application = tenant.addApplication({
    serviceManagementReference:
      typeof serviceManagementReference === 'string' ? serviceManagementReference : null,
    isLocked: isLocked(call.body.servicePrincipalLockConfiguration, settings()),
    displayName,
    signInAudience,
    tags: [...new Set(tags)],
    keys,
    createdAt: call.view.now,
    ownerIds: call.caller === undefined ? [] : [call.caller.oid],
  })
  return entityReply(call, {
    status: 201,
    context: 'applications',
    entity: showApplication(call.view, 'changeToRead')(application),
  })
}

function checkReference(
  reference: unknown,
  { requireServiceManagementReference: isRequired }: Settings,
): void {
  if (
    reference !== null &&
    (typeof reference !== 'string' || !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(reference))
  ) {
    throw invalidValue('serviceManagementReference')
  }
  if (!isRequired || reference !== null) return
  const message =
    'ServiceManagementReference field is required for Create, but is missing in the request. Refer to the TSG `https://aka.ms/service-management-reference-error` for resolving the error.'
  throw new ApiError(400, 'ServiceManagementReferenceRequired', message)
}

function isLocked(requested: unknown, { lockServicePrincipals: rule }: Settings): boolean {
  const isEnabled =
    typeof requested === 'object' && requested !== null && 'isEnabled' in requested
      ? requested.isEnabled === true
      : undefined
  return rule === 'always' || (isEnabled ?? rule === 'by-default')
}

function list({ tenant, settings }: ApiParts, call: Call): Reply {
  mayCaller.readApplications(call)
  return listReply(call, {
    context: 'applications',
    items: tenant.applications
      .values()
      .filter((application) => isSeen(call.view, application, 'changeToList')),
    properties: applicationProperties,
    names: applicationNames,
    show: showApplication(call.view, 'changeToList'),
    pageSize: settings().pageSize,
  })
}

/** Throws 403 if the directory is full. simulators/directory/README.md */
export function checkQuota(used: number, most: number | null): void {
  if (most === null || used < most) return
  const message =
    'The directory object quota limit for the Tenant has been exceeded. Please ask your administrator to increase the quota limit or delete objects to reduce the used quota.'
  throw new ApiError(403, 'Directory_QuotaExceeded', message)
}

const isTag = (tag: unknown): tag is string => typeof tag === 'string' && tag.length >= 1 && tag.length <= 256

const invalidValue = (name: string) =>
  new ApiError(
    400,
    'Request_BadRequest',
    `Invalid value specified for property '${name}' of resource 'Application'.`,
  )
