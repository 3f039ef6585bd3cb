import { refuse } from '../../../errors.ts'
import { resolveAppRoles } from '../app-roles/resolve-app-roles.ts'
import { configIsNil } from '../config/config-record.ts'
import { checkIssued, credentialTypeOf } from '../federation/federated-role.ts'
import {
  checkFederatedClient,
  checkIdentityToken,
  checkRoomFor,
  checkRoomInPools,
  checkSameType,
} from '../federation/role-checks.ts'
import { changeTrust, type TrustChange, trustIntent, trustName } from '../federation/trust.ts'
import type { Intent } from '../intents/intent.ts'
import { checkIsNotOwn } from '../sign-in/own-clients.ts'
import { orRefuse, type RoleWork, type UpstreamWork } from '../upstream-work.ts'
import {
  changePersistedApplication,
  createPersistedApplication,
  type PersistedChange,
  removeRights,
} from './persisted-application.ts'
import { resolveGroups, resolveRoles } from './resolve-roles-and-groups.ts'
import { changedLists, changedTerms, type RoleInput } from './role-input.ts'
import { checkHasScopes, type ManagedApplication, type RoleRecord } from './role-record.ts'

/** In the order of docs/contract/cloud.md#writing-a-role. Throws the first refusal; then nothing is stored. */
export function writeRole(name: string, sent: RoleInput, roleWork: RoleWork): Promise<void> {
  const { state } = roleWork
  return state.withRoleLock(
    name,
    async () => {
      if ((await state.findConfig()) === undefined) throw configIsNil()
      const stored = await state.findRole(name)
      if (sent.federated_client_id ?? stored?.federated_client_id)
        return writeStandaloneRole(name, { stored, sent }, roleWork)
      const work = { ...roleWork, upstream: await state.upstream() }
      const terms = changedTerms(stored, sent, state.names)
      const target = await checkedTarget(terms, work)
      const lists = changedLists(terms, sent, state.names)
      checkHasScopes(name, lists)
      checkIssued({ ...terms, ...lists }, state.names)
      await checkSameType(name, stored, terms, work)
      await checkRoomFor(stored, terms, work)
      await checkRoomInPools(name, stored, terms, work)
      if (credentialTypeOf(terms) === 'federated') await checkIdentityToken(name, roleWork)
      const roles = lists.roles && (await resolveRoles(lists.roles, work))
      const groups = lists.groups && (await resolveGroups(lists.groups, work))
      const role: RoleRecord = { ...terms, ...target, roles, groups }
      if (lists.app_roles !== undefined)
        role.app_roles = lists.app_roles && (await resolveAppRoles(lists.app_roles, work))
      const rights = [...(roles ?? []), ...(groups ?? []), ...(role.app_roles ?? [])]
      if (role.application_object_id === '' && rights.length === 0) {
        const { word } = state.names
        throw refuse(
          'invalid',
          `either ${word} role definitions, group definitions, or an Application Object ID must be provided`,
        )
      }
      await store(name, role, work)
    },
    state.writeBounds(name),
  )
}

/**
 * A role of a client that an administrator has prepared: nothing is called upstream, so the mount needs no
 * credential. Under the role's lock. Throws the first refusal; then nothing is stored.
 * docs/contract/cloud.md#federated-roles
 */
async function writeStandaloneRole(
  name: string,
  { stored, sent }: { readonly stored: RoleRecord | undefined; readonly sent: RoleInput },
  work: RoleWork,
): Promise<void> {
  const { state } = work
  const { trust, ...changed } = changedTerms(stored, sent, state.names)
  const terms = { ...changed, application_client_id: '' }
  const role: RoleRecord = { ...terms, ...changedLists(terms, sent, state.names) }
  checkIssued(role, state.names)
  await checkFederatedClient(role, work)
  await checkSameType(name, stored, role, work)
  await checkRoomFor(stored, role, work)
  await checkIdentityToken(name, work)
  const lost = trust === undefined ? [] : [trustIntent(name, trust)]
  await state.intents.undoWith((entries) => state.putRole(name, role, entries), lost, trust?.tenant_id)
}

/** It must exist and not be the engine's own. docs/contract/cloud.md#writing-a-role */
async function checkedTarget(
  role: RoleRecord,
  { state, upstream, call }: UpstreamWork,
): Promise<Pick<RoleRecord, 'application_client_id'>> {
  if (role.application_object_id === '') return { application_client_id: '' }
  const { appId } = await orRefuse(
    'error loading Application',
    upstream.directory.getApplication(role.application_object_id, call),
  )
  await checkIsNotOwn(appId, state, call, { fresh: true })
  if (role.permanently_delete && !role.persist_app) {
    throw refuse('invalid', 'permanently_delete must be false if application_object_id is provided')
  }
  return { application_client_id: appId }
}

/**
 * The application comes first, if the role owns it; the write of the role settles its intents and records those for
 * the rights to remove. docs/contract/cloud.md#persisted-applications
 */
async function store(name: string, role: RoleRecord, work: UpstreamWork & RoleWork): Promise<void> {
  const { state } = work
  const { managed, ...change } = await ownApplication(name, role, work)
  const stored = managed === undefined ? role : { ...role, ...targetOf(managed) }
  const trustAndStore = async () => {
    let trusting: TrustChange
    try {
      trusting = await orRefuse('could not create federated credential', changeTrust(name, stored, work))
    } catch (error) {
      await state.intents.undo(change.settles)
      throw error
    }
    await storeChange(name, stored, { ...change, trusting }, work)
  }
  // a trust that is made has no owner before the role is stored: nobody may reap it meanwhile
  await (credentialTypeOf(role) === 'federated'
    ? state.withTrustLock(trustName(state.accessor, name), trustAndStore)
    : trustAndStore())
}

const targetOf = (managed: ManagedApplication) => ({
  managed,
  application_object_id: managed.object_id,
  application_client_id: managed.client_id,
})

/** Makes or changes the application that a role owns. Without one, there is nothing to do. */
async function ownApplication(
  name: string,
  role: RoleRecord,
  work: UpstreamWork & RoleWork,
): Promise<Omit<PersistedChange, 'managed'> & Partial<PersistedChange>> {
  if (!role.persist_app) return { settles: [], removals: [], areNew: false }
  const changing =
    role.managed === undefined
      ? createPersistedApplication(name, role, work)
      : changePersistedApplication(role, role.managed, work)
  return orRefuse('could not create persisted app', changing)
}

/** Writes a role with the trust it owns now, settles the intents of what was made, and removes what it lost. */
async function storeChange(
  name: string,
  { trust: former, ...role }: RoleRecord,
  {
    settles,
    removals,
    areNew,
    trusting,
  }: Omit<PersistedChange, 'managed'> & { readonly trusting: TrustChange },
  work: UpstreamWork,
): Promise<void> {
  const { state, upstream } = work
  const { trust } = trusting
  const made = [...settles, ...trusting.settles]
  const recorded = removals.map((removal) => ({
    removal,
    ...state.intents.recordEntry(removal, upstream.settings.tenantId),
  }))
  const lost = state.intents.recordEntries(trusting.removals, former?.tenant_id)
  const idsOf = (some: readonly Intent[]) =>
    recorded.filter(({ removal }) => some.includes(removal)).map(({ id }) => id)
  const unsure = [...trusting.unsure]
  try {
    await state.putRole(name, { ...role, ...(trust === undefined ? {} : { trust }) }, [
      ...(await state.intents.settling(made)),
      ...recorded.map(({ entry }) => entry),
      ...lost.entries,
    ])
    const { left, absent } = await removeRights(removals, work)
    const kept = areNew ? [...left, ...absent] : left
    if (areNew) unsure.push(...idsOf(absent))
    await state.intents.settle(idsOf(removals.filter((removal) => !kept.includes(removal))))
  } finally {
    await state.intents.undo(unsure, { isUnderway: true })
    // a failed write may be stored, so every intent is undone: that checks for an owner first, and settled
    // intents have nothing to undo
    await state.intents.undo([...made, ...recorded.map(({ id }) => id), ...lost.ids])
  }
}
