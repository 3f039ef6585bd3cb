import type { Clock } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'
import { isGone } from '../roles/managed-application.ts'
import type { ReadyUpstream } from '../mount-state.ts'
import type { RootSecretUsers } from '../root-rotation/root-secret-users.ts'
import { forEachOf, type UpstreamWork } from '../upstream-work.ts'
import { elsewhere } from '../upstream/tenant.ts'
import type { Intent } from './intent.ts'
import type { Attempt, Undone } from './intents.ts'
import { findRoleOf, isOwned, type Owners, wantedGroups } from './ownership.ts'
import type { StoredIntent } from './stored-intents.ts'

/**
 * Until "it is not there" is believed, in milliseconds: parts of the cloud do not know yet what others have
 * done.
 */
export type Patience = {
  /** Of what is asked for by its id. */
  readonly byId: number
  /** Of what is searched for: lists lag behind. docs/contract/cloud.md#undo */
  readonly bySearch: number
  /** Of a deleted object that is to be purged. */
  readonly byPurge: number
}

export const usualPatience: Patience = { byId: 60_000, bySearch: 600_000, byPurge: 24 * 3600_000 }

export type UndoParts = Owners & {
  readonly clock: Clock
  readonly random: Random
  readonly patience: Patience
  readonly rootSecretUsers: Pick<RootSecretUsers, 'keep'>
}

type Undoing = UndoParts & {
  readonly upstream: ReadyUpstream
  readonly call: UpstreamWork['call']
  readonly ageMs: number
  readonly attempt: Attempt
}

const attemptLimitMs = 60_000
const done: Undone = { done: true }
const later = (reason: string): Undone => ({ done: false, later: reason })

/**
 * Removes what an intent may have made, unless somebody owns it. Throws what went wrong upstream.
 * docs/contract/cloud.md#undo
 */
export async function undoIntent(stored: StoredIntent, attempt: Attempt, parts: UndoParts): Promise<Undone> {
  const { intent, since } = stored
  const { state, clock, random } = parts
  if (await isOwned(intent, parts)) return done
  if (await parts.rootSecretUsers.keep(intent)) return later('a mount still signs in with it')
  const upstream = await state.upstream()
  const reason = elsewhere(stored, upstream)
  if (reason !== undefined) return later(reason)
  const call = {
    deadline: clock.now() + attemptLimitMs,
    signal: attempt.signal,
    correlationId: correlationOf(intent) || random.uuid(),
  }
  const undoing = { ...parts, upstream, call, ageMs: clock.now() - since, attempt }
  switch (intent.kind) {
    case 'app':
      return undoApplication(intent, undoing)
    case 'roleAssignments':
      return undoAssignments(intent, undoing)
    case 'groupMembership':
      return inOwnersTurn(intent, parts, () => undoMembership(intent, undoing))
    case 'password':
    case 'rootPassword':
      return state.inApplicationTurn(intent.application_object_id, () => undoPassword(intent, undoing))
    case 'purge':
      return (await isRemoved(undoing.upstream.directory.purgeDeleted(intent.object_id, call))) ||
        undoing.ageMs > parts.patience.byPurge
        ? done
        : later('it is not among the deleted objects')
  }
}

/** The id of the request that meant it stands at the end of its tag. */
const correlationOf = (intent: Intent): string | undefined =>
  intent.kind === 'app' ? intent.tag.slice(intent.tag.lastIndexOf(':') + 1) : undefined

type Meant<Kind extends Intent['kind']> = Extract<Intent, { kind: Kind }>

async function undoApplication(intent: Meant<'app'>, undoing: Undoing): Promise<Undone> {
  const { upstream, call, ageMs, patience, attempt } = undoing
  const known = intent.object_id === undefined ? await searched(intent, undoing) : intent
  const { object_id: objectId, client_id: clientId } = known
  if (objectId === undefined) return ageMs > patience.bySearch ? done : later('it is not found by its name')
  if (known !== intent && (await isOwned(known, undoing))) return done
  const principalId =
    intent.service_principal_id ??
    (clientId === undefined ? undefined : (await upstream.directory.findServicePrincipal(clientId, call))?.id)
  if (principalId !== undefined && intent.service_principal_id === undefined)
    await attempt.amend({ service_principal_id: principalId })
  const isDeleted = await isRemoved(upstream.directory.deleteApplication(objectId, call))
  if (isDeleted) await attempt.amend({ deleted: 'yes' })
  // what is deleted twice is deleted all the same; the principal goes with its application, to the deleted
  // objects
  if (principalId !== undefined) {
    await isRemoved(upstream.directory.deleteServicePrincipal(principalId, call))
  }
  const purged = async (id: string | undefined) =>
    id === undefined || (await isRemoved(upstream.directory.purgeDeleted(id, call)))
  const isPrincipalPurged = await purged(principalId)
  if (await purged(objectId)) {
    // by now it is among the deleted as well, unless it went with its application
    if (!isPrincipalPurged) await purged(principalId)
    return done
  }
  // what we have deleted must turn up there
  const isExpected = isDeleted || intent.deleted !== undefined
  return ageMs > (isExpected ? patience.bySearch : patience.byId)
    ? done
    : later('it is not among the deleted objects')
}

/** The ids of the one application with this name and tag; kept, so that the next attempt needs no list. */
async function searched(intent: Meant<'app'>, { upstream, call, attempt }: Undoing): Promise<Meant<'app'>> {
  const named = await upstream.directory.findApplications({ displayName: intent.display_name }, call)
  const [found, ...others] = named.filter(({ tags }) => tags.includes(intent.tag))
  if (found === undefined) return intent
  // a request whose failure hid that it was done, and that was made again
  for (const { id } of others) await isRemoved(upstream.directory.deleteApplication(id, call))
  const ids = { object_id: found.id, client_id: found.appId }
  await attempt.amend(ids)
  return { ...intent, ...ids }
}

async function undoAssignments(
  { assignment_ids: ids }: Meant<'roleAssignments'>,
  undoing: Undoing,
): Promise<Undone> {
  let areAllRemoved = true
  await forEachOf(ids, async (id) => {
    if (!(await undoing.upstream.resourceManager.deleteRoleAssignment(id, undoing.call)))
      areAllRemoved = false
  })
  return ofRights(areAllRemoved, undoing)
}

/** While a role is written it is not known yet which memberships it wants. */
async function inOwnersTurn<T>(
  { service_principal_id: principalId }: Meant<'groupMembership'>,
  owners: Owners,
  work: () => Promise<T>,
): Promise<T> {
  const name = await findRoleOf(principalId, owners)
  return name === undefined ? work() : owners.state.inRoleTurn(name, work)
}

/** A role may have got back a membership that was to be dropped. */
async function undoMembership(
  { group_ids, service_principal_id: principalId }: Meant<'groupMembership'>,
  undoing: Undoing,
): Promise<Undone> {
  const { upstream, call } = undoing
  const wanted = await wantedGroups(principalId, undoing)
  let areAllRemoved = true
  for (const id of group_ids) {
    if (!wanted.has(id) && !(await isRemoved(upstream.directory.removeGroupMember(id, principalId, call))))
      areAllRemoved = false
  }
  return ofRights(areAllRemoved, undoing)
}

/** A right may be given after it was looked for, by a call that was cut off: then nobody would know of it. */
const ofRights = (areAllRemoved: boolean, { attempt: { underwayMs }, patience }: Undoing): Undone =>
  areAllRemoved || underwayMs === undefined || underwayMs > patience.byId
    ? done
    : later('it is not there yet')

async function undoPassword(intent: Meant<'password' | 'rootPassword'>, undoing: Undoing): Promise<Undone> {
  const { upstream, call, ageMs, patience, attempt } = undoing
  const holder = holderOf(intent, upstream.directory)
  let keyId = intent.key_id
  if (keyId === undefined) {
    const found = await holder.read(call).catch((error: unknown) => {
      if (!isGone(error)) throw error
    })
    keyId = found?.passwordCredentials.find(({ displayName }) => displayName === intent.display_name)?.keyId
    if (keyId === undefined) return ageMs > patience.bySearch ? done : later('it is not found by its name')
    await attempt.amend({ key_id: keyId })
    if (await isOwned({ ...intent, key_id: keyId }, undoing)) return done
  }
  if (await isRemoved(holder.remove(keyId, call))) return done
  return ageMs > patience.byId ? done : later('it is not there yet')
}

/** The application, or for some root secrets its service principal. */
function holderOf(intent: Meant<'password' | 'rootPassword'>, directory: Undoing['upstream']['directory']) {
  const id = intent.kind === 'rootPassword' ? intent.service_principal_id : undefined
  if (id === undefined) {
    return {
      read: (call: Undoing['call']) => directory.getApplication(intent.application_object_id, call),
      remove: (keyId: string, call: Undoing['call']) =>
        directory.removeApplicationPassword(intent.application_object_id, keyId, call),
    }
  }
  return {
    read: (call: Undoing['call']) => directory.getServicePrincipal(id, call),
    remove: (keyId: string, call: Undoing['call']) =>
      directory.removeServicePrincipalPassword(id, keyId, call),
  }
}

/** False: it was not there. */
async function isRemoved(removal: Promise<void>): Promise<boolean> {
  try {
    await removal
    return true
  } catch (error) {
    if (!isGone(error)) throw error
    return false
  }
}
