import { z } from 'zod'
import { type RequestKind, readAnswer, type UpstreamAnswer } from './answer.ts'
import { classify } from './classification.ts'
import { allPages } from './paging.ts'
import { foreignAddress, type GraphRequest } from './transport.ts'
import type { UpstreamCall } from './upstream-call.ts'
import { UpstreamError, type UpstreamOperation } from './upstream-error.ts'

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

type NewApplication = {
  displayName: string
  tags?: readonly string[] | undefined
  signInAudience?: string | undefined
  serviceManagementReference?: string | undefined
}
/**
 * `endDateTime` in RFC 3339. The display name must be unique: it is how a lost answer is found again. When
 * the password begins, the directory says: by its clock, not by ours.
 */
export type NewPassword = { displayName: string; endDateTime: string }
export type AddedPassword = {
  readonly keyId: string
  readonly secretText: string
  readonly endDateTime: string
}
type ServicePrincipal = {
  readonly id: string
  readonly appId: string
  readonly passwordCredentials: readonly PasswordCredential[]
}
export type Group = {
  readonly id: string
  readonly displayName: string
  /** A rule decides who is a member. */
  readonly isDynamic: boolean
  /** Only changed where it comes from. */
  readonly isFromOnPremises: boolean
  readonly isRoleAssignable: boolean
}
type DeletedObject = {
  readonly id: string
  readonly displayName: string
  readonly tags: readonly string[]
  readonly deletedDateTime: string | undefined
}

/**
 * The directory (Microsoft Graph v1.0), one method a request. Each may try several times within the deadline
 * where repeating is safe, and throws `UpstreamError` only. `find…` gives what there is (all pages), `get…`
 * throws `gone`, deletions of what is not there throw `gone` too: what that means is the caller's to say.
 * Steps that wait for replication are wrapped in `Upstream.untilReplicated`.
 * docs/contract/cloud.md#credentials, simulators/directory/README.md.
 */
export type DirectoryApi = {
  createApplication(application: NewApplication, call: UpstreamCall): Promise<Application>
  getApplication(id: string, call: UpstreamCall): Promise<Application>
  /** Object ids. */
  listApplicationOwners(id: string, call: UpstreamCall): Promise<string[]>
  findApplications(
    by: { appId: string } | { displayName: string } | { tagPrefix: string },
    call: UpstreamCall,
  ): Promise<Application[]>
  /** Soft: it stays among the deleted for 30 days. Its service principal goes too. */
  deleteApplication(id: string, call: UpstreamCall): Promise<void>
  /** For good, of a deleted object. `gone` also while it is not among the deleted yet. */
  purgeDeleted(id: string, call: UpstreamCall): Promise<void>
  getDeleted(id: string, call: UpstreamCall): Promise<DeletedObject>
  listDeletedApplications(call: UpstreamCall): Promise<DeletedObject[]>
  addApplicationPassword(id: string, password: NewPassword, call: UpstreamCall): Promise<AddedPassword>
  /** The same, of one that was just made and may not be known everywhere. */
  addNewApplicationPassword(id: string, password: NewPassword, call: UpstreamCall): Promise<AddedPassword>
  /** `gone` when the application is not there; no error when it has no such password. */
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

/** One directory request with its token and its tries; gives back what `read` makes of the success. */
export type DirectorySend = <Result>(
  request: Omit<GraphRequest, 'service' | 'token'>,
  call: UpstreamCall,
  read: (answer: UpstreamAnswer, kind: RequestKind) => Result,
) => Promise<Result>

const optionalText = z
  .string()
  .nullish()
  .transform((text) => text ?? undefined)

/** Object ids are UUIDs; what is not like one is the id of nothing, and gets into no address. */
const isId = (text: string): boolean => /^[0-9A-Za-z-]{1,64}$/.test(text)
/** Of what we are to name again: an id that cannot be is no answer. */
const objectIdAnswer = z.string().refine(isId)

const passwordAnswer = z.object({
  keyId: z.string(),
  displayName: optionalText,
  hint: optionalText,
  endDateTime: optionalText,
})
const passwords = z
  .array(passwordAnswer)
  .nullish()
  .transform((list) => list ?? [])
const tags = z
  .array(z.string())
  .nullish()
  .transform((list) => list ?? [])

const applicationAnswer = z.object({
  id: objectIdAnswer,
  appId: objectIdAnswer,
  displayName: optionalText.transform((name) => name ?? ''),
  tags,
  createdDateTime: optionalText,
  passwordCredentials: passwords,
})
const addedPasswordAnswer = z.object({
  keyId: objectIdAnswer,
  secretText: z.string().min(1),
  endDateTime: z.string().refine((time) => !Number.isNaN(Date.parse(time))),
})
const servicePrincipalAnswer = z.object({
  id: objectIdAnswer,
  appId: objectIdAnswer,
  passwordCredentials: passwords,
})
const groupAnswer = z
  .object({
    id: optionalText.transform((id) => id ?? ''),
    displayName: optionalText.transform((name) => name ?? ''),
    groupTypes: z.array(z.string()).nullish(),
    onPremisesSyncEnabled: z.boolean().nullish(),
    isAssignableToRole: z.boolean().nullish(),
  })
  .transform(({ id, displayName, groupTypes, onPremisesSyncEnabled, isAssignableToRole }) => ({
    ...{ id, displayName },
    isDynamic: groupTypes?.includes('DynamicMembership') === true,
    isFromOnPremises: onPremisesSyncEnabled === true,
    isRoleAssignable: isAssignableToRole === true,
  }))
const deletedAnswer = z.object({
  id: z.string().min(1),
  displayName: optionalText.transform((name) => name ?? ''),
  tags,
  deletedDateTime: optionalText,
})
const size = z.object({ used: z.number(), total: z.number() })
const organizationAnswer = z.object({ value: z.array(z.object({ directorySizeQuota: size.nullish() })) })

/** A text inside a `$filter`. */
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

const filtered = (collection: string, filter: string): string =>
  `${collection}?$filter=${encodeURIComponent(filter)}`

/** See `DirectoryApi`. `directoryBase` without `/v1.0`. */
export function openDirectory(directoryBase: string, send: DirectorySend): DirectoryApi {
  const get = <Schema extends z.ZodType>(
    operation: UpstreamOperation,
    path: string,
    schema: Schema,
    call: UpstreamCall,
  ) =>
    send({ operation, method: 'GET', path, repeatable: true }, call, (answer, kind) =>
      readAnswer(kind, answer, schema),
    )

  const remove = (operation: UpstreamOperation, path: string, call: UpstreamCall) =>
    send({ operation, method: 'DELETE', path, repeatable: true }, call, () => undefined)

  const list = <Item extends z.ZodType>(
    operation: UpstreamOperation,
    path: string,
    item: Item,
    call: UpstreamCall,
  ) =>
    allPages({ service: 'directory', operation, repeatable: true }, item, path, async (address, read) => {
      if (address !== path && !address.startsWith(`${directoryBase}/v1.0/`))
        throw foreignAddress({ service: 'directory', operation, repeatable: true })
      return await send({ operation, method: 'GET', path: address, repeatable: true }, call, read)
    })

  const addPassword = (
    operation: UpstreamOperation,
    path: string,
    passwordCredential: NewPassword,
    call: UpstreamCall,
  ) =>
    send(
      { operation, method: 'POST', path, body: { passwordCredential }, repeatable: false },
      call,
      (answer, kind) => readAnswer(kind, answer, addedPasswordAnswer),
    )

  /** Again for one that is gone already is no harm. */
  const removePassword = async (
    operation: UpstreamOperation,
    path: string,
    keyId: string,
    call: UpstreamCall,
  ) => {
    await unlessDone(
      send({ operation, method: 'POST', path, body: { keyId }, repeatable: true }, call, () => undefined),
    )
  }

  const findServicePrincipal = async (appId: string, call: UpstreamCall) => {
    if (!isId(appId)) return undefined
    try {
      return await get(
        'findServicePrincipal',
        `/servicePrincipals(appId='${appId}')`,
        servicePrincipalAnswer,
        call,
      )
    } catch (error) {
      if (error instanceof UpstreamError && classify(error).kind === 'gone') return undefined
      throw error
    }
  }

  return {
    createApplication: (application, call) => {
      // its service principal gets a secret: a tenant may lock those by default
      const body = { ...application, servicePrincipalLockConfiguration: { isEnabled: false } }
      return send(
        { operation: 'createApplication', method: 'POST', path: '/applications', body, repeatable: false },
        call,
        (answer, kind) => readAnswer(kind, answer, applicationAnswer),
      )
    },
    getApplication: async (id, call) =>
      get('getApplication', `/applications/${objectId('getApplication', id)}`, applicationAnswer, call),
    listApplicationOwners: async (id, call) => {
      const path = `/applications/${objectId('listApplicationOwners', id)}/owners?$select=id`
      return (await list('listApplicationOwners', path, z.object({ id: z.string() }), call)).map(
        (owner) => owner.id,
      )
    },
    findApplications: (by, call) =>
      list('findApplications', filtered('/applications', applicationFilter(by)), applicationAnswer, call),
    deleteApplication: async (id, call) =>
      remove('deleteApplication', `/applications/${objectId('deleteApplication', id)}`, call),
    purgeDeleted: async (id, call) =>
      remove('purgeDeleted', `/directory/deletedItems/${objectId('purgeDeleted', id)}`, call),
    getDeleted: async (id, call) =>
      get('getDeleted', `/directory/deletedItems/${objectId('getDeleted', id)}`, deletedAnswer, call),
    listDeletedApplications: (call) =>
      list(
        'listDeletedApplications',
        '/directory/deletedItems/microsoft.graph.application',
        deletedAnswer,
        call,
      ),
    addApplicationPassword: async (id, password, call) =>
      addPassword(
        'addApplicationPassword',
        `/applications/${objectId('addApplicationPassword', id)}/addPassword`,
        password,
        call,
      ),
    addNewApplicationPassword: async (id, password, call) =>
      addPassword(
        'addNewApplicationPassword',
        `/applications/${objectId('addNewApplicationPassword', id)}/addPassword`,
        password,
        call,
      ),
    removeApplicationPassword: async (id, keyId, call) =>
      removePassword(
        'removeApplicationPassword',
        `/applications/${objectId('removeApplicationPassword', id)}/removePassword`,
        keyId,
        call,
      ),
    createServicePrincipal: async (appId, call) => {
      try {
        // a second one for the same application is refused, so it is safe to try again
        return await send(
          {
            operation: 'createServicePrincipal',
            method: 'POST',
            path: '/servicePrincipals',
            body: { appId },
            repeatable: true,
          },
          call,
          (answer, kind) => readAnswer(kind, answer, servicePrincipalAnswer),
        )
      } catch (error) {
        const existing = isNameInUse(error) ? await findServicePrincipal(appId, call) : undefined
        if (existing === undefined) throw error
        return existing
      }
    },
    getServicePrincipal: async (id, call) =>
      get(
        'getServicePrincipal',
        `/servicePrincipals/${objectId('getServicePrincipal', id)}`,
        servicePrincipalAnswer,
        call,
      ),
    findServicePrincipal,
    addServicePrincipalPassword: async (id, password, call) =>
      addPassword(
        'addServicePrincipalPassword',
        `/servicePrincipals/${objectId('addServicePrincipalPassword', id)}/addPassword`,
        password,
        call,
      ),
    removeServicePrincipalPassword: async (id, keyId, call) =>
      removePassword(
        'removeServicePrincipalPassword',
        `/servicePrincipals/${objectId('removeServicePrincipalPassword', id)}/removePassword`,
        keyId,
        call,
      ),
    deleteServicePrincipal: async (id, call) =>
      remove('deleteServicePrincipal', `/servicePrincipals/${objectId('deleteServicePrincipal', id)}`, call),
    getGroup: async (id, call) => get('getGroup', `/groups/${objectId('getGroup', id)}`, groupAnswer, call),
    findGroups: (displayName, call) =>
      list('findGroups', filtered('/groups', `displayName eq ${quoted(displayName)}`), groupAnswer, call),
    addGroupMember: async (groupId, memberId, call) => {
      const path = `/groups/${objectId('addGroupMember', groupId)}/members/$ref`
      const body = {
        '@odata.id': `${directoryBase}/v1.0/directoryObjects/${objectId('addGroupMember', memberId)}`,
      }
      const added = send(
        { operation: 'addGroupMember', method: 'POST', path, body, repeatable: true },
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
      const [group, member] = [
        objectId('removeGroupMember', groupId),
        objectId('removeGroupMember', memberId),
      ]
      // without the last segment it would be the member that is deleted
      await remove('removeGroupMember', `/groups/${group}/members/${member}/$ref`, call)
    },
    organization: async (call) => {
      const { value } = await get(
        'organization',
        '/organization?$select=directorySizeQuota',
        organizationAnswer,
        call,
      )
      return value[0]?.directorySizeQuota ?? undefined
    },
  }
}

function objectId(operation: UpstreamOperation, id: string): string {
  if (isId(id)) return id
  throw new UpstreamError({
    service: 'directory',
    operation,
    status: 404,
    code: 'Request_ResourceNotFound',
    text: 'not the id of an object',
  })
}

function applicationFilter(by: { appId: string } | { displayName: string } | { tagPrefix: string }): string {
  if ('appId' in by) return `appId eq ${quoted(by.appId)}`
  if ('displayName' in by) return `displayName eq ${quoted(by.displayName)}`
  return `tags/any(t:startswith(t,${quoted(by.tagPrefix)}))`
}

const isNameInUse = (error: unknown): boolean =>
  error instanceof UpstreamError &&
  (error.code === 'Request_MultipleObjectsWithSameKeyValue' ||
    error.text.toLowerCase().includes('is already in use'))

/** A group that is not there will not come by waiting, as a member may. */
const isAboutGroup = (error: unknown, groupId: string, memberId: string): error is UpstreamError =>
  error instanceof UpstreamError &&
  error.status === 404 &&
  error.text.includes(groupId) &&
  !error.text.includes(memberId)

async function unlessDone(asked: Promise<void>): Promise<void> {
  try {
    await asked
  } catch (error) {
    if (!(error instanceof UpstreamError) || classify(error).kind !== 'done') throw error
  }
}
