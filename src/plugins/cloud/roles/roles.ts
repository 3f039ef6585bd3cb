import { refuse, ServiceError } from '../../../errors.ts'
import { changedLists, changedTerms, type RoleInput } from './role-input.ts'
import {
  changeManagedApplication,
  createManagedApplication,
  dropping,
  dropRights,
  isGone,
} from './managed-application.ts'
import type { Intent } from '../intents/intent.ts'
import type { MountState } from '../mount-state.ts'
import { resolveGroups, resolveRoles } from './resolve-roles-and-groups.ts'
import type { ManagedApplication, RoleRecord } from './role-record.ts'
import { callerError, UpstreamError } from '../upstream/index.ts'
import { elsewhere } from '../upstream/tenant.ts'
import { orRefuse, type UpstreamWork } from '../upstream-work.ts'

/** What work on a role is done with; the upstream client is the state's own at that moment. */
export type RoleWork = Omit<UpstreamWork, 'upstream'>

export const configIsNil = () => refuse('invalid', 'config is nil')

/**
 * Creates or changes a role, in the order of docs/contract/cloud.md#writing-a-role. Throws the first refusal;
 * then nothing is stored.
 */
export function writeRole(name: string, sent: RoleInput, roleWork: RoleWork): Promise<void> {
  const { state } = roleWork
  return state.inRoleTurn(name, async () => {
    if ((await state.findConfig()) === undefined) throw configIsNil()
    const work = { ...roleWork, upstream: await state.upstream() }
    const before = await state.findRole(name)
    const terms = changedTerms(before, sent, state.names)
    const target = await checkedTarget(terms, work)
    const lists = changedLists(terms, sent, state.names)
    const roles = lists.roles && (await resolveRoles(lists.roles, work))
    const groups = lists.groups && (await resolveGroups(lists.groups, work))
    const role: RoleRecord = { ...terms, ...target, roles, groups }
    if (role.application_object_id === '' && (roles ?? []).length === 0 && (groups ?? []).length === 0) {
      const { word } = state.names
      throw refuse(
        'invalid',
        `either ${word} role definitions, group definitions, or an Application Object ID must be provided`,
      )
    }
    if (role.persist_app) await storePersisted(name, role, work)
    else await state.putRole(name, role)
  })
}

/**
 * The application that a role names exists and is not the engine's own. docs/contract/cloud.md#writing-a-role
 */
async function checkedTarget(
  role: RoleRecord,
  { upstream, call }: UpstreamWork,
): Promise<Pick<RoleRecord, 'application_client_id'>> {
  if (role.application_object_id === '') return { application_client_id: '' }
  const { appId } = await orRefuse(
    'error loading Application',
    upstream.directory.getApplication(role.application_object_id, call),
  )
  checkIsNotOwn(appId, upstream.settings.clientId)
  if (role.permanently_delete && !role.persist_app) {
    throw refuse('invalid', 'permanently_delete must be false if application_object_id is provided')
  }
  return { application_client_id: appId }
}

/**
 * Whoever may write a role must not reach the root credential through it. Checked again where a stored role
 * is used.
 */
export function checkIsNotOwn(clientId: string, ownClientId: string): void {
  if (clientId.toLowerCase() === ownClientId.toLowerCase()) {
    throw refuse('invalid', 'application_object_id must not refer to the application used by this engine')
  }
}

/**
 * Steps 21 and 22 of a role that keeps an application: it is made or changed first, and owned by the record
 * from the write on.
 */
async function storePersisted(name: string, role: RoleRecord, work: UpstreamWork): Promise<void> {
  const { state } = work
  const changing =
    role.managed === undefined
      ? createManagedApplication(name, role, work)
      : changeManagedApplication(role, role.managed, work)
  const { managed, settles, drops } = await orRefuse('could not create persisted app', changing)
  const stored = {
    ...role,
    managed,
    application_object_id: managed.object_id,
    application_client_id: managed.client_id,
  }
  const dropped = drops.map((drop) => ({
    drop,
    ...state.intents.recording(drop, work.upstream.settings.tenantId),
  }))
  try {
    await state.putRole(name, stored, [
      ...state.intents.settling(settles),
      ...dropped.map(({ entry }) => entry),
    ])
    const { left } = await dropRights(drops, work)
    await state.intents.settle(dropped.filter(({ drop }) => !left.includes(drop)).map(({ id }) => id))
  } finally {
    // of a write that failed it is not known whether it is stored: the undoing looks who owns what; the
    // settled have nothing to undo
    state.intents.undo([...settles, ...dropped.map(({ id }) => id)])
  }
}

/**
 * Deletes a role with what it owns upstream; gives back what there is to warn of.
 * docs/contract/cloud.md#deleting-a-role
 */
export function deleteRole(name: string, roleWork: RoleWork): Promise<string[]> {
  const { state } = roleWork
  return state.inRoleTurn(name, async () => {
    const role = await state.findRole(name)
    if (role?.managed !== undefined) return deletePersisted(name, role, role.managed, roleWork)
    if (role !== undefined) await state.deleteRole(name)
    return []
  })
}

async function deletePersisted(
  name: string,
  role: RoleRecord,
  managed: ManagedApplication,
  roleWork: RoleWork,
): Promise<string[]> {
  const { state } = roleWork
  const work = { ...roleWork, upstream: await upstreamForDelete(state) }
  const reason = elsewhere(managed, work.upstream)
  if (reason !== undefined) throw refuse('invalid', `error deleting persisted app: ${reason}`)
  // the application first: when that fails, the role is as it was
  await deleteApplication(managed.object_id, work)
  const { left, warnings } = await dropRights(dropping(managed), work)
  const purges: Intent[] = role.permanently_delete
    ? [managed.object_id, managed.service_principal_id].map((object_id) => ({ kind: 'purge', object_id }))
    : []
  const later = [...left, ...purges].map((intent) =>
    state.intents.recording(intent, work.upstream.settings.tenantId),
  )
  try {
    await state.deleteRole(
      name,
      later.map(({ entry }) => entry),
    )
  } finally {
    // a write that failed may be stored
    state.intents.undo(later.map(({ id }) => id))
  }
  return warnings
}

async function upstreamForDelete(state: MountState): Promise<UpstreamWork['upstream']> {
  try {
    return await state.upstream()
  } catch (error) {
    if (error instanceof ServiceError)
      throw new ServiceError(error.kind, `error during delete: ${error.message}`, {
        cause: error,
        wrapped: error.wrapped,
      })
    throw error
  }
}

/** An application that no longer exists counts as deleted. docs/contract/cloud.md#deleting-a-role */
async function deleteApplication(id: string, { upstream, call }: UpstreamWork): Promise<void> {
  try {
    await upstream.directory.deleteApplication(id, call)
  } catch (error) {
    if (isGone(error)) return
    throw error instanceof UpstreamError ? callerError(error, 'error deleting persisted app') : error
  }
}
