import { type AppRole, type AppRoleAssignment, grantOf } from '../app-roles/app-role.ts'
import { credentialTypeOf } from '../federation/federated-role.ts'
import type { Intent } from '../intents/intent.ts'
import { PendingGrants } from '../intents/pending-grants.ts'
import { undoAfterFailure } from '../intents/undo-after-failure.ts'
import { engineOptions } from '../mount-options.ts'
import {
  appRoleStep,
  assignmentStep,
  grantRights,
  membershipStep,
  type NewAssignment,
  newAssignments,
} from '../roles/right-steps.ts'
import type { RoleRecord } from '../roles/role-record.ts'
import { displayNameOf, principalPasswordName, tagOf } from '../upstream/directory/object-names.ts'
import {
  applicationHolder,
  type PasswordHolder,
  principalHolder,
} from '../upstream/directory/password-holder.ts'
import {
  type AddedPassword,
  type Application,
  lockCodes,
  type UpstreamCall,
  UpstreamError,
} from '../upstream/index.ts'
import { type IssueWork, orRefuse, type UpstreamWork } from '../upstream-work.ts'
import { issuedOf, type NewCertificate, newCertificate } from './issue-certificate.ts'
import { type NewCredential, secretEnd } from './new-credential.ts'

type Plan = {
  readonly displayName: string
  readonly tag: string
  readonly assignments: readonly NewAssignment[]
  readonly groups: readonly string[]
  readonly appRoles: readonly AppRole[]
  /** Instead of a password. */
  readonly certificate: NewCertificate | undefined
}

/** What exists upstream for certain, and which rights may. */
type Progress = {
  application?: Application
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
    isUnderway: progress.grants.isUnderway,
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
    assignments: newAssignments(roles ?? [], random),
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
      upstream.directory.createServicePrincipal(application.appId, again),
    ),
  )
  // the three are independent of each other; the first failure stops the retries of the others
  const secret = await inParallel<AddedPassword | NewCertificate>(call, (again) => {
    const onward = { ...work, call: again }
    const assignments = assignmentStep(plan.assignments, principal.id, upstream)
    const memberships = membershipStep(plan.groups, principal.id, upstream)
    return [
      plan.certificate === undefined
        ? orRefuse('error creating service principal', addSecret(application.id, principal.id, onward))
        : Promise.resolve(plan.certificate),
      orRefuse('error while assigning roles', grantRights(assignments, progress.grants, onward)),
      // they end with the application, so nobody asks which of them were granted
      orRefuse('error while adding group membership', grantRights(memberships, new PendingGrants(), onward)),
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

/** The intent comes once the service principal exists, because it names it. */
async function assignAppRoles(
  { appRoles }: Plan,
  principal: { readonly id: string; readonly clientId: string },
  { work, progress }: Pick<Creation, 'work' | 'progress'>,
): Promise<void> {
  if (appRoles.length === 0) return
  const { state, upstream } = work
  const step = appRoleStep(appRoles, principal.id, upstream, progress.appRoles)
  progress.appRoleIntent = await state.intents.record(
    { ...step.intent, client_id: principal.clientId },
    upstream.settings.tenantId,
  )
  await grantRights(step, progress.grants, work)
}

/** If the answer is lost, looks for the application by its unique display name instead of asking again. */
async function createApplication(
  { displayName, tag, certificate }: Plan,
  role: RoleRecord,
  { state, upstream, call, mount }: IssueWork,
): Promise<Application> {
  const { service_management_reference: serviceManagementReference } = engineOptions(mount)
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

/** If the service principal is locked, its application gets the secret: it works the same, and is deleted with it. */
async function addSecret(
  applicationId: string,
  principalId: string,
  work: IssueWork,
): Promise<AddedPassword> {
  const { directory } = work.upstream
  const principal = principalHolder(principalId, directory)
  try {
    return await addPassword('addServicePrincipalPassword', principalId, principal, work)
  } catch (error) {
    if (!isLocked(error)) throw error
  }
  const application = applicationHolder(applicationId, directory)
  return addPassword('addNewApplicationPassword', applicationId, application, work)
}

const isLocked = (error: unknown): boolean =>
  error instanceof UpstreamError &&
  lockCodes.some((code) => code === error.code || error.details.includes(code))

/** If the answer is lost, so is the secret: removes that password if it is visible, and adds another one. */
async function addPassword(
  step: 'addServicePrincipalPassword' | 'addNewApplicationPassword',
  id: string,
  holder: PasswordHolder,
  { upstream, call, clock, random, secretSeconds }: IssueWork,
): Promise<AddedPassword> {
  for (let lost = 1; ; lost++) {
    const displayName = principalPasswordName(random.uuid())
    const password = { displayName, endDateTime: secretEnd(secretSeconds, clock.now()) }
    try {
      return await upstream.untilReplicated(step, call, (again) =>
        upstream.directory[step](id, password, again),
      )
    } catch (error) {
      if (!(error instanceof UpstreamError) || !error.lost || lost > mostLost) throw error
      for (const { keyId, displayName: name } of (await holder.read(call)).passwordCredentials)
        if (name === displayName) await holder.remove(keyId, call)
    }
  }
}

const mostLost = 3

const upstreamCause = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof UpstreamError ? error.cause : error
