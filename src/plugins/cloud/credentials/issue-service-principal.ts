import { type AppRole, type AppRoleAssignment, grantOf } from '../app-roles/app-role.ts'
import { credentialTypeOf } from '../federation/federated-role.ts'
import type { Intent } from '../intents/intent.ts'
import { PendingGrants } from '../intents/pending-grants.ts'
import { mayComeLate, undoAfterFailure } from '../intents/undo-after-failure.ts'
import { checkScope } from '../roles/resolve-roles-and-groups.ts'
import type { RoleRecord } from '../roles/role-record.ts'
import { joinGroup } from '../upstream/directory/join-group.ts'
import {
  assignmentId,
  displayNameOf,
  principalPasswordName,
  tagOf,
} from '../upstream/directory/object-names.ts'
import {
  type AddedPassword,
  type Application,
  lockCodes,
  type NewPassword,
  type UpstreamCall,
  UpstreamError,
  type UpstreamOperation,
} from '../upstream/index.ts'
import { forEachOf, type IssueWork, orRefuse, type UpstreamWork } from '../upstream-work.ts'
import { issuedOf, type NewCertificate, newCertificate } from './issue-certificate.ts'
import { type NewCredential, secretEnd } from './new-credential.ts'

type Plan = {
  readonly displayName: string
  readonly tag: string
  readonly assignments: readonly {
    readonly name: string
    readonly id: string
    readonly scope: string
    readonly roleDefinitionId: string
  }[]
  readonly groups: readonly string[]
  readonly appRoles: readonly AppRole[]
  /** Instead of a password. */
  readonly certificate: NewCertificate | undefined
}

/** What exists upstream for certain, and which rights may. */
type Progress = {
  application?: Application
  /** Whether a right that was requested may still be granted. */
  isUnderway?: boolean
  readonly grants: PendingGrants
  /** The intent of the app roles, once the service principal has an id, and those that it has got. */
  appRoleIntent?: string
  readonly appRoles: AppRoleAssignment[]
}

/**
 * Creates an application with a service principal, a secret and the rights of the role. Intents are stored before;
 * if a step fails, everything is undone. docs/contract/cloud.md#service-principals, docs/contract/cloud.md#undo
 */
export async function issueServicePrincipal(
  name: string,
  role: RoleRecord,
  work: IssueWork,
): Promise<NewCredential> {
  const certificate = credentialTypeOf(role) === 'certificate' ? await newCertificate(work) : undefined
  const plan = { ...planOf(name, role, work), certificate }
  const intents = await work.state.intents.recordAll(intentsOf(plan), work.upstream.settings.tenantId)
  const progress: Progress = { grants: new PendingGrants(), appRoles: [] }
  try {
    const { secret, principalId, application } = await create(plan, role, { work, intents, progress })
    return {
      ...issuedOf(application.appId, secret, work),
      intents: [...intents, ...(progress.appRoleIntent === undefined ? [] : [progress.appRoleIntent])],
      data: {
        secret_type: 'service_principal',
        tenant_id: work.upstream.settings.tenantId,
        app_object_id: application.id,
        client_id: application.appId,
        display_name: plan.displayName,
        sp_object_id: principalId,
        role_assignment_ids: plan.assignments.map(({ id }) => id),
        group_membership_ids: [...plan.groups],
        ...(progress.appRoles.length === 0 ? {} : { app_roles: progress.appRoles }),
        role: name,
        permanently_delete: role.permanently_delete,
        key_end_date: secret.endDateTime,
        correlation_id: work.call.correlationId,
      },
    }
  } catch (error) {
    await undo(plan, { work, intents, progress }, upstreamCause(error))
    throw error
  }
}

async function undo(
  { assignments, appRoles }: Plan,
  { work: { state }, intents: [app = '', rights], progress }: Creation,
  error: unknown,
): Promise<void> {
  const assignment_ids = assignments.map(({ id }) => id)
  const left =
    rights === undefined ? [] : await progress.grants.narrow(state.intents, rights, { assignment_ids })
  if (progress.appRoleIntent !== undefined) {
    const grants = appRoles.map(grantOf)
    left.push(...(await progress.grants.narrow(state.intents, progress.appRoleIntent, { grants })))
  }
  await undoAfterFailure(state.intents, [app, ...left], {
    error,
    made: progress.application !== undefined,
    isUnderway: progress.isUnderway,
  })
}

function planOf(
  name: string,
  { roles, groups, app_roles }: RoleRecord,
  { state, call, random }: UpstreamWork,
): Omit<Plan, 'certificate'> {
  return {
    displayName: displayNameOf(name, random.uuid()),
    tag: tagOf(state.accessor, call.correlationId),
    assignments: (roles ?? []).map(({ role_id: roleDefinitionId, scope }) => {
      checkScope(scope)
      const uuid = random.uuid()
      return { name: uuid, id: assignmentId(scope, uuid), scope, roleDefinitionId }
    }),
    groups: (groups ?? []).map(({ object_id }) => object_id),
    appRoles: app_roles ?? [],
  }
}

/** Deleting the application deletes all but the role assignments, which get an intent of their own. */
function intentsOf({ displayName, tag, assignments }: Plan): Intent[] {
  const app: Intent = { kind: 'app', display_name: displayName, tag }
  return assignments.length === 0
    ? [app]
    : [app, { kind: 'roleAssignments', assignment_ids: assignments.map(({ id }) => id) }]
}

type Creation = { readonly work: IssueWork; readonly intents: readonly string[]; readonly progress: Progress }

async function create(
  plan: Plan,
  role: RoleRecord,
  { work, intents, progress }: Creation,
): Promise<{ application: Application; principalId: string; secret: AddedPassword | NewCertificate }> {
  const { state, upstream, call } = work
  const application = await orRefuse('', createApplication(plan, role, work))
  progress.application = application
  // not awaited yet: until this is stored, an undo finds the application by its name
  const amended = state.intents.amendAll(intents, { object_id: application.id, client_id: application.appId })
  amended.catch(() => undefined)
  const principal = await orRefuse(
    'error creating service principal',
    upstream.untilReplicated('createServicePrincipal', call, (again) =>
      untilAnswered(() => upstream.directory.createServicePrincipal(application.appId, again)),
    ),
  )
  // the three are independent of each other; the first failure stops the retries of the others
  const secret = await inParallel<AddedPassword | NewCertificate>(call, (again) => {
    const onward = { ...work, call: again }
    return [
      plan.certificate === undefined
        ? orRefuse('error creating service principal', addSecret(application.id, principal.id, onward))
        : Promise.resolve(plan.certificate),
      orRefuse('error while assigning roles', assignRoles(plan, principal.id, { work: onward, progress })),
      orRefuse('error while adding group membership', joinGroups(plan, principal.id, onward)),
      orRefuse(
        'error while assigning app roles',
        assignAppRoles(plan, { id: principal.id, clientId: application.appId }, { work: onward, progress }),
      ),
    ]
  })
  await amended
  return { application, principalId: principal.id, secret }
}

/** Waits for all of the work. Throws the earliest failure, or returns the result of the first item. */
async function inParallel<First>(
  call: UpstreamCall,
  begin: (call: UpstreamCall) => readonly [Promise<First>, ...Promise<unknown>[]],
): Promise<First> {
  const failed = new AbortController()
  const [first, ...rest] = begin({ ...call, giveUp: failed.signal })
  for (const work of [first, ...rest]) work.catch((error: unknown) => failed.abort(error))
  await Promise.allSettled([first, ...rest])
  if (failed.signal.aborted) throw failed.signal.reason
  return await first
}

function assignRoles(
  { assignments }: Plan,
  principalId: string,
  { work: { upstream, call }, progress }: Pick<Creation, 'work' | 'progress'>,
): Promise<void> {
  return forEachOf(assignments, async ({ name, id, scope, roleDefinitionId }) => {
    const assignment = { scope, name, roleDefinitionId, principalId }
    try {
      await upstream.untilReplicated('putRoleAssignment', call, (again) =>
        untilAnswered(() =>
          progress.grants.attempt(id, () => upstream.resourceManager.putRoleAssignment(assignment, again)),
        ),
      )
    } catch (error) {
      if (mayComeLate(error)) progress.isUnderway = true
      throw error
    }
  })
}

/** The intent comes once the service principal exists, because it names it. */
async function assignAppRoles(
  { appRoles }: Plan,
  principal: { readonly id: string; readonly clientId: string },
  { work: { state, upstream, call }, progress }: Pick<Creation, 'work' | 'progress'>,
): Promise<void> {
  if (appRoles.length === 0) return
  progress.appRoleIntent = await state.intents.record(
    {
      kind: 'appRoleAssignments',
      service_principal_id: principal.id,
      grants: appRoles.map(grantOf),
      client_id: principal.clientId,
    },
    upstream.settings.tenantId,
  )
  await forEachOf(appRoles, async (role) => {
    const { resource_id, role_id } = role
    const wanted = { resourceId: resource_id, appRoleId: role_id }
    try {
      const id = await upstream.untilReplicated('assignAppRole', call, (again) =>
        untilAnswered(() =>
          progress.grants.attempt(grantOf(role), () =>
            upstream.directory.assignAppRole(principal.id, wanted, again),
          ),
        ),
      )
      progress.appRoles.push({ id, resource_id, role_id })
    } catch (error) {
      if (mayComeLate(error)) progress.isUnderway = true
      throw error
    }
  })
}

const joinGroups = ({ groups }: Plan, principalId: string, { upstream, call }: IssueWork): Promise<void> =>
  forEachOf(groups, (groupId) =>
    upstream.untilReplicated('addGroupMember', call, (again) =>
      untilAnswered(() => joinGroup(upstream.directory, { groupId, principalId }, again)),
    ),
  )

/** If the answer is lost, looks for the application by its unique display name instead of asking again. */
async function createApplication(
  { displayName, tag, certificate }: Plan,
  role: RoleRecord,
  work: UpstreamWork,
): Promise<Application> {
  const { state, upstream, call, serviceManagementReference } = work
  const signInAudience = state.names.audiences.get(role.sign_in_audience)
  try {
    const tags = [...(role.tags ?? []), tag]
    return await upstream.directory.createApplication(
      { displayName, tags, signInAudience, serviceManagementReference, key: certificate?.upload },
      call,
    )
  } catch (error) {
    if (!(error instanceof UpstreamError) || !error.lost) throw error
    // if the search fails too, the outcome remains unknown
    const [found, another] = await upstream.directory.findApplications({ displayName }, call).catch(() => [])
    // two: a proxy repeated the request; the undo removes both
    if (found === undefined || another !== undefined) throw error
    return found
  }
}

/** Repeats an idempotent operation a few times while its answer is lost. */
async function untilAnswered<T>(operation: () => Promise<T>): Promise<T> {
  for (let lost = 1; ; lost++) {
    try {
      return await operation()
    } catch (error) {
      if (!(error instanceof UpstreamError) || !error.lost || lost > mostLost) throw error
    }
  }
}

type SecretHolder = {
  readonly step: UpstreamOperation
  add(password: NewPassword, call: UpstreamCall): Promise<AddedPassword>
  passwords(): Promise<readonly { readonly keyId: string; readonly displayName: string | undefined }[]>
  remove(keyId: string): Promise<void>
}

/** If the service principal is locked, its application gets the secret: it works the same, and is deleted with it. */
async function addSecret(
  applicationId: string,
  principalId: string,
  work: IssueWork,
): Promise<AddedPassword> {
  const { directory } = work.upstream
  const { call } = work
  const principal: SecretHolder = {
    step: 'addServicePrincipalPassword',
    add: (password, again) => directory.addServicePrincipalPassword(principalId, password, again),
    passwords: async () => (await directory.getServicePrincipal(principalId, call)).passwordCredentials,
    remove: (keyId) => directory.removeServicePrincipalPassword(principalId, keyId, call),
  }
  try {
    return await addPassword(principal, work)
  } catch (error) {
    if (!isLocked(error)) throw error
  }
  return addPassword(
    {
      step: 'addNewApplicationPassword',
      add: (password, again) => directory.addNewApplicationPassword(applicationId, password, again),
      passwords: async () => (await directory.getApplication(applicationId, call)).passwordCredentials,
      remove: (keyId) => directory.removeApplicationPassword(applicationId, keyId, call),
    },
    work,
  )
}

const isLocked = (error: unknown): boolean =>
  error instanceof UpstreamError &&
  lockCodes.some((code) => code === error.code || error.details.includes(code))

/** If the answer is lost, so is the secret: removes that password if it is visible, and adds another one. */
async function addPassword(
  holder: SecretHolder,
  { upstream, call, clock, random, secretSeconds }: IssueWork,
): Promise<AddedPassword> {
  for (let lost = 1; ; lost++) {
    const displayName = principalPasswordName(random.uuid())
    const password = { displayName, endDateTime: secretEnd(secretSeconds, clock.now()) }
    try {
      return await upstream.untilReplicated(holder.step, call, (again) => holder.add(password, again))
    } catch (error) {
      if (!(error instanceof UpstreamError) || !error.lost || lost > mostLost) throw error
      for (const { keyId, displayName: name } of await holder.passwords())
        if (name === displayName) await holder.remove(keyId)
    }
  }
}

const mostLost = 3

const upstreamCause = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof UpstreamError ? error.cause : error
