import { refuse } from '../../../errors.ts'
import { configIsNil } from '../config/config-record.ts'
import { orRefuse, type RoleWork, type UpstreamWork } from '../upstream-work.ts'
import {
  changePersistedApplication,
  createPersistedApplication,
  removeRights,
} from './persisted-application.ts'
import { resolveGroups, resolveRoles } from './resolve-roles-and-groups.ts'
import { changedLists, changedTerms, type RoleInput } from './role-input.ts'
import type { RoleRecord } from './role-record.ts'

/**
 * Creates or updates a role, in the order of docs/contract/cloud.md#writing-a-role. Throws the first refusal;
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
 * Checks that the application a role names exists and is not the engine's own.
 * docs/contract/cloud.md#writing-a-role
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
 * Keeps the root credential out of reach of callers who may write roles. Checked again whenever a stored role
 * is used.
 */
export function checkIsNotOwn(clientId: string, ownClientId: string): void {
  if (clientId.toLowerCase() === ownClientId.toLowerCase()) {
    throw refuse('invalid', 'application_object_id must not refer to the application used by this engine')
  }
}

/**
 * Stores a role that owns an application. The application is created or changed first; the write of the role
 * settles the intents of that and records those for the rights to remove.
 * docs/contract/cloud.md#persisted-applications
 */
async function storePersisted(name: string, role: RoleRecord, work: UpstreamWork): Promise<void> {
  const { state, upstream } = work
  const changing =
    role.managed === undefined
      ? createPersistedApplication(name, role, work)
      : changePersistedApplication(role, role.managed, work)
  const { managed, settles, removals } = await orRefuse('could not create persisted app', changing)
  const stored = {
    ...role,
    managed,
    application_object_id: managed.object_id,
    application_client_id: managed.client_id,
  }
  const recorded = removals.map((removal) => ({
    removal,
    ...state.intents.recordEntry(removal, upstream.settings.tenantId),
  }))
  try {
    await state.putRole(name, stored, [
      ...(await state.intents.settling(settles)),
      ...recorded.map(({ entry }) => entry),
    ])
    const { left } = await removeRights(removals, work)
    await state.intents.settle(recorded.filter(({ removal }) => !left.includes(removal)).map(({ id }) => id))
  } finally {
    // a failed write may be stored, so every intent is undone: that checks for an owner first, and settled
    // intents have nothing to undo
    await state.intents.undo([...settles, ...recorded.map(({ id }) => id)])
  }
}
