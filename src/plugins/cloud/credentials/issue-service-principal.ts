import { PendingGrants } from '../intents/pending-grants.ts'
import { undoAfterFailure, mayComeLate } from '../intents/undo-after-failure.ts'
import type { Intent } from '../intents/intent.ts'
import { joinGroup } from '../upstream/join-group.ts'
import { type MadeCredential, secretEnd } from './new-credential.ts'
import type { RoleRecord } from '../roles/role-record.ts'
import {
  type AddedPassword,
  type Application,
  lockCodes,
  type NewPassword,
  type UpstreamCall,
  UpstreamError,
  type UpstreamOperation,
} from '../upstream/index.ts'
import { assignmentId, displayNameOf, principalPasswordName, tagOf } from '../upstream/object-names.ts'
import { forEachOf, type IssueWork, orRefuse, type UpstreamWork } from '../upstream-work.ts'

/** What one credential is to be, decided before the first call. */
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
}

/** How far the work has come: what is there upstream for certain. */
type Progress = {
  application?: Application
  principalId?: string
  isUnderway?: boolean
  asked?: PendingGrants
}

/**
 * Makes an application with a service principal, a secret, and the rights of the role. What it means to make
 * is stored before the first call; when a step fails, the rest is undone.
 * docs/contract/cloud.md#service-principals, docs/contract/cloud.md#undo.
 */
export async function issueServicePrincipal(
  name: string,
  role: RoleRecord,
  work: IssueWork,
): Promise<MadeCredential> {
  const plan = planOf(name, role, work)
  const intents = await work.state.intents.recordAll(meant(plan), work.upstream.settings.tenantId)
  const progress: Progress = {}
  try {
    const { password, principalId, application } = await make(plan, role, { work, intents, progress })
    return {
      secret: password.secretText,
      intents,
      data: {
        secret_type: 'service_principal',
        tenant_id: work.upstream.settings.tenantId,
        app_object_id: application.id,
        client_id: application.appId,
        display_name: plan.displayName,
        sp_object_id: principalId,
        role_assignment_ids: plan.assignments.map(({ id }) => id),
        group_membership_ids: [...plan.groups],
        role: name,
        permanently_delete: role.permanently_delete,
        key_end_date: password.endDateTime,
        correlation_id: work.call.correlationId,
      },
    }
  } catch (error) {
    const [app = '', rights] = intents
    const asked = progress.asked ?? new PendingGrants()
    const left =
      rights === undefined
        ? []
        : await asked.narrow(work.state.intents, rights, {
            assignment_ids: plan.assignments.map(({ id }) => id),
          })
    await undoAfterFailure(work.state.intents, [app, ...left], {
      error: upstreamCause(error),
      made: progress.application !== undefined,
      isUnderway: progress.isUnderway,
    })
    throw error
  }
}

function planOf(name: string, { roles, groups }: RoleRecord, { state, call, random }: UpstreamWork): Plan {
  return {
    displayName: displayNameOf(name, random.uuid()),
    tag: tagOf(state.accessor, call.correlationId),
    assignments: (roles ?? []).map(({ role_id: roleDefinitionId, scope }) => {
      const uuid = random.uuid()
      return { name: uuid, id: assignmentId(scope, uuid), scope, roleDefinitionId }
    }),
    groups: (groups ?? []).map(({ object_id }) => object_id),
  }
}

/**
 * The application takes its service principal, its secret and its memberships with it; assignments stay
 * behind it, so they are meant by themselves.
 */
function meant({ displayName, tag, assignments }: Plan): Intent[] {
  const app: Intent = { kind: 'app', display_name: displayName, tag }
  return assignments.length === 0
    ? [app]
    : [app, { kind: 'roleAssignments', assignment_ids: assignments.map(({ id }) => id) }]
}

type Making = { readonly work: IssueWork; readonly intents: readonly string[]; readonly progress: Progress }

async function make(
  plan: Plan,
  role: RoleRecord,
  { work, intents, progress }: Making,
): Promise<{ application: Application; principalId: string; password: AddedPassword }> {
  const { state, upstream, call } = work
  const application = await orRefuse('', createApplication(plan, role, work))
  progress.application = application
  // not waited for: until it is stored, the application is found by its name
  const amended = state.intents.amendAll(intents, { object_id: application.id, client_id: application.appId })
  amended.catch(() => undefined)
  const principal = await orRefuse(
    'error creating service principal',
    upstream.untilReplicated('createServicePrincipal', call, (again) =>
      untilAnswered(() => upstream.directory.createServicePrincipal(application.appId, again)),
    ),
  )
  progress.principalId = principal.id
  const asked = new PendingGrants()
  progress.asked = asked
  // none of the three needs another: the first failure ends the tries of the rest
  const password = await inParallel(call, (again) => {
    const onward = { ...work, call: again }
    return [
      orRefuse('error creating service principal', addSecret(application.id, principal.id, onward)),
      orRefuse(
        'error while assigning roles',
        assignRoles(plan, principal.id, { work: onward, progress, asked }),
      ),
      orRefuse('error while adding group membership', joinGroups(plan, principal.id, onward)),
    ]
  })
  await amended
  return { application, principalId: principal.id, password }
}

/**
 * Waits for all of it, then throws the failure that came first, or gives back what came of the first work.
 */
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

type Assigning = { readonly work: IssueWork; readonly progress: Progress; readonly asked: PendingGrants }

function assignRoles(
  { assignments }: Plan,
  principalId: string,
  { work: { upstream, call }, progress, asked }: Assigning,
): Promise<void> {
  return forEachOf(assignments, async ({ name, id, scope, roleDefinitionId }) => {
    const assignment = { scope, name, roleDefinitionId, principalId }
    try {
      await upstream.untilReplicated('putRoleAssignment', call, (again) =>
        untilAnswered(() =>
          asked.attempt(id, () => upstream.resourceManager.putRoleAssignment(assignment, again)),
        ),
      )
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

/**
 * A request that lost its answer is not made again before the directory was asked whether it has been done:
 * the name is this one request's own.
 */
async function createApplication(
  { displayName, tag }: Plan,
  role: RoleRecord,
  work: UpstreamWork,
): Promise<Application> {
  const { state, upstream, call, serviceManagementReference } = work
  const signInAudience = state.names.audiences.get(role.sign_in_audience)
  try {
    const asked = {
      displayName,
      tags: [...(role.tags ?? []), tag],
      signInAudience,
      serviceManagementReference,
    }
    return await upstream.directory.createApplication(asked, call)
  } catch (error) {
    if (!(error instanceof UpstreamError) || !error.lost) throw error
    // what could not be found out stays what it is: it may have been made
    const [found, another] = await upstream.directory.findApplications({ displayName }, call).catch(() => [])
    // made twice by who passed the request on: the undoing removes both
    if (found === undefined || another !== undefined) throw error
    return found
  }
}

/** For what may be done twice: an answer that was lost is asked for again, a few times. */
async function untilAnswered<T>(operation: () => Promise<T>): Promise<T> {
  for (let lost = 1; ; lost++) {
    try {
      return await operation()
    } catch (error) {
      if (!(error instanceof UpstreamError) || !error.lost || lost > mostLost) throw error
    }
  }
}

/** What a secret is added to. */
type SecretHolder = {
  readonly step: UpstreamOperation
  add(password: NewPassword, call: UpstreamCall): Promise<AddedPassword>
  passwords(): Promise<readonly { readonly keyId: string; readonly displayName: string | undefined }[]>
  remove(keyId: string): Promise<void>
}

/**
 * A secret of the service principal; where that is locked, one of the application, which does the same and
 * goes with it as well.
 */
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

/**
 * Nobody knows the secret of an answer that was lost: it is removed as far as it shows, and the next one has
 * another name.
 */
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

/** What went wrong upstream, behind what the caller is told. */
const upstreamCause = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof UpstreamError ? error.cause : error
