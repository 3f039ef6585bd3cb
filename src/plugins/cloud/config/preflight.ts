import { ServiceError } from '../../../errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import { globMatches } from '../../../lib/glob.ts'
import { isGone } from '../upstream/removal.ts'
import type { MountState, ReadyUpstream } from '../mount-state.ts'
import type { RoleRecord } from '../roles/role-record.ts'
import { suppliesCredential } from './effective-settings.ts'
import { hintOf, holderName, rootPasswords } from '../root-rotation/root-passwords.ts'
import {
  callerError,
  classify,
  type GrantedActions,
  graphNeeds,
  type Need,
  unmet,
  type UpstreamCall,
  UpstreamError,
} from '../upstream/index.ts'
import { forEachOf } from '../upstream-work.ts'

/** One thing that was looked at; `detail` says what was seen. */
type Check = { readonly name: string; readonly ok: boolean; readonly detail: string }
export type Preflight = { readonly ok: boolean; readonly checks: readonly Check[] }

type Seen = { readonly ok: boolean; readonly detail: string }
type Surroundings = {
  readonly state: MountState
  readonly upstream: ReadyUpstream
  readonly call: UpstreamCall
  readonly clock: Clock
}

const dayMs = 24 * 3600 * 1000
const leastSecretDays = 14
const mostOffsetMs = 60_000
const mostUsed = 0.9
/** Groups, applications and scopes a check asks for: it has the time of one request. */
const mostLookedAt = 100

/**
 * Looks at all that credentials stand on; what cannot be looked at is not ok, and says why. Nothing is
 * changed. Issue "Preflight".
 */
export async function preflight(parts: Omit<Surroundings, 'upstream'>): Promise<Preflight> {
  const { state, call } = parts
  const checks: Check[] = []
  const check = async (name: string, look: () => Promise<Seen>): Promise<boolean> => {
    const seen = await look().catch((error: unknown): Seen => {
      if (!(error instanceof UpstreamError) && !(error instanceof ServiceError)) throw error
      return {
        ok: false,
        detail: error instanceof UpstreamError ? callerError(error).message : error.message,
      }
    })
    checks.push({ name, ...seen })
    return seen.ok
  }
  const settled = await check('settings', async () => {
    const { settings } = await state.upstream()
    return { ok: true, detail: `tenant ${settings.tenantId}, subscription ${settings.subscriptionId}` }
  })
  if (!settled) return { ok: false, checks }
  const upstream = await state.upstream()
  const around = { ...parts, upstream }
  const signedIn = await check('sign_in', async () => {
    // a kept token would tell of the permissions, and the secret, of an hour ago
    await upstream.tokens.fresh('directory', call)
    return { ok: true, detail: `client ${upstream.settings.clientId}` }
  })
  if (signedIn) {
    await check('directory_permissions', () => directoryPermissions(around))
    await check('resource_manager_permissions', () => resourceManagerPermissions(around))
    await check('root_secret', () => rootSecret(around))
    await check('clock_offset', () => clockOffset(around))
    await check('object_quota', () => objectQuota(around))
  }
  return { ok: checks.every(({ ok }) => ok), checks }
}

/**
 * What one kind of work needs of the directory; `owning`: instead of the permission, with the one for own
 * applications.
 */
type Wanted = { readonly needs: readonly Need[]; readonly why: string; readonly owning?: string | undefined }

async function directoryPermissions(around: Surroundings): Promise<Seen> {
  const { state, upstream, call } = around
  const claims = await upstream.tokens.claims('directory', call)
  const config = await state.findConfig()
  const roles = await allRoles(state)
  const wanted: Wanted[] = [{ needs: graphNeeds.own, why: 'service principals' }]
  const applications = new Set(
    roles.filter((role) => !grantsRights(role)).map((role) => role.application_object_id),
  )
  const mayAnyway = unmet(graphNeeds.foreign, claims.roles).length === 0
  const toOwn = async (ids: Iterable<string>, why: string) => {
    const foreign = mayAnyway ? [] : await notOwned(ids, claims.objectId, around)
    if (foreign.length > 0) wanted.push({ needs: graphNeeds.foreign, why, owning: foreign.join(', ') })
  }
  await toOwn(applications, 'passwords of applications that roles name')
  const groups = new Set(
    roles.filter(grantsRights).flatMap((role) => (role.groups ?? []).map(({ object_id: id }) => id)),
  )
  if (groups.size > 0) wanted.push({ needs: graphNeeds.members, why: 'group memberships' })
  if (await hasRoleAssignable(groups, around))
    wanted.push({ needs: graphNeeds.roleAssignable, why: 'members of role-assignable groups' })
  if (
    !mayAnyway &&
    config !== undefined &&
    config.client_secret !== '' &&
    !suppliesCredential(state.operator)
  ) {
    const [own] = await unlessDenied(
      upstream.directory.findApplications({ appId: upstream.settings.clientId }, call),
      [],
    )
    await toOwn(own === undefined ? [] : [own.id], 'rotate-root')
  }
  return permissionsSeen(claims.roles, wanted)
}

/** The lists of a role that names an application count for nothing. */
const grantsRights = (role: RoleRecord): boolean => role.application_object_id === '' || role.persist_app

async function allRoles(state: MountState): Promise<RoleRecord[]> {
  const roles = await Promise.all((await state.roleNames()).map((name) => state.findRole(name)))
  return roles.flatMap((role) => role ?? [])
}

/** Who may not even ask lacks a permission that is named anyway. */
async function unlessDenied<T>(asked: Promise<T>, instead: T): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (!(error instanceof UpstreamError) || classify(error).kind !== 'denied') throw error
    return instead
  }
}

/** Of these applications, those the root is no owner of; one that is gone is none. */
async function notOwned(
  ids: Iterable<string>,
  rootId: string | undefined,
  { upstream, call }: Surroundings,
): Promise<string[]> {
  const foreign: string[] = []
  await forEachOf([...ids].slice(0, mostLookedAt), async (id) => {
    const owners = await unlessDenied(upstream.directory.listApplicationOwners(id, call), []).catch(
      (error: unknown) => {
        if (!isGone(error)) throw error
      },
    )
    if (owners !== undefined && (rootId === undefined || !owners.includes(rootId))) foreign.push(id)
  })
  return foreign.sort()
}

async function hasRoleAssignable(ids: Iterable<string>, { upstream, call }: Surroundings): Promise<boolean> {
  let isFound = false
  await forEachOf([...ids].slice(0, mostLookedAt), async (id) => {
    if (isFound) return
    const group = await upstream.directory.getGroup(id, call).catch((error: unknown) => {
      // without the right to read groups, that is what is lacking
      if (!(error instanceof UpstreamError)) throw error
    })
    if (group?.isRoleAssignable === true) isFound = true
  })
  return isFound
}

function permissionsSeen(granted: readonly string[], wanted: readonly Wanted[]): Seen {
  const has = `has ${granted.length === 0 ? 'none' : granted.toSorted().join(', ')}`
  const lacking = wanted.flatMap(({ needs, why, owning }) =>
    unmet(needs, granted).map(([least]) => {
      const instead =
        owning === undefined ? '' : `, or Application.ReadWrite.OwnedBy as an owner of application ${owning}`
      return `lacks ${least} (for ${why})${instead}`
    }),
  )
  return { ok: lacking.length === 0, detail: [has, ...lacking].join('; ') }
}

const neededActions = [
  'Microsoft.Authorization/roleDefinitions/read',
  'Microsoft.Authorization/roleAssignments/write',
  'Microsoft.Authorization/roleAssignments/delete',
]

/**
 * Looks at each scope that roles name: who may assign roles there needs no right on the subscription. Without
 * any, at the subscription.
 */
async function resourceManagerPermissions({ state, upstream, call }: Surroundings): Promise<Seen> {
  const scopes = [
    ...new Set(
      (await allRoles(state))
        .filter(grantsRights)
        .flatMap((role) => (role.roles ?? []).map(({ scope }) => scope)),
    ),
  ].sort()
  if (scopes.length === 0) return actionsSeen(await grantedAt(undefined), 'the subscription')
  const seen: Seen[] = []
  await forEachOf(scopes.slice(0, mostLookedAt), async (scope) => {
    seen.push(actionsSeen(await grantedAt(scope), scope))
  })
  const lacking = seen.filter(({ ok }) => !ok)
  const skipped =
    scopes.length > mostLookedAt ? [`${scopes.length - mostLookedAt} further scopes are not looked at`] : []
  if (lacking.length > 0)
    return { ok: false, detail: [...lacking.map(({ detail }) => detail).sort(), ...skipped].join('; ') }
  return {
    ok: true,
    detail: [`has ${neededActions.join(', ')} at the scopes of its roles`, ...skipped].join('; '),
  }

  /** Who may not even ask has no rights there. */
  function grantedAt(scope: string | undefined): Promise<GrantedActions[]> {
    return unlessDenied(upstream.resourceManager.permissions(scope, call), [])
  }
}

function actionsSeen(granted: readonly GrantedActions[], place: string): Seen {
  const lacking = neededActions.filter(
    (action) =>
      !granted.some(
        ({ actions, notActions }) => actions.some(covers(action)) && !notActions.some(covers(action)),
      ),
  )
  return {
    ok: lacking.length === 0,
    detail:
      lacking.length === 0
        ? `has ${neededActions.join(', ')} in ${place}`
        : `lacks ${lacking.join(', ')} in ${place}`,
  }
}

/** Resource Manager's patterns: `*` stands for any text, and case is ignored. */
const covers =
  (action: string) =>
  (pattern: string): boolean =>
    globMatches(pattern.toLowerCase(), action.toLowerCase())

async function rootSecret({ state, upstream, call, clock }: Surroundings): Promise<Seen> {
  const config = await state.findConfig()
  const [own] = await upstream.directory.findApplications({ appId: upstream.settings.clientId }, call)
  if (own === undefined) return { ok: false, detail: 'the application of the root is not found' }
  const passwords = await rootPasswords(own, upstream, call)
  const byKey = passwords.filter(({ keyId }) => keyId === config?.client_secret_key_id)
  const hint = hintOf(upstream.settings.clientSecret)
  const candidates = byKey.length > 0 ? byKey : passwords.filter((password) => password.hint === hint)
  const ends = candidates
    .flatMap(({ endDateTime, principalId }) =>
      endDateTime === undefined ? [] : [{ end: Date.parse(endDateTime), holder: holderName(principalId) }],
    )
    .filter(({ end }) => !Number.isNaN(end))
  const [found, another] = ends
  if (found === undefined || another !== undefined)
    return { ok: true, detail: 'which of the passwords of the root is in use cannot be told' }
  const days = Math.floor((found.end - clock.now()) / dayMs)
  return {
    ok: days >= leastSecretDays,
    detail: `the password on the ${found.holder} ends ${new Date(found.end).toISOString()}, in ${days} days`,
  }
}

async function clockOffset({ upstream }: Surroundings): Promise<Seen> {
  const offset = upstream.clockOffsetMs()
  if (offset === undefined) return { ok: true, detail: 'upstream does not tell the time' }
  const seconds = Math.round(offset / 1000)
  return {
    ok: Math.abs(offset) <= mostOffsetMs,
    detail: `upstream is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead'}`,
  }
}

async function objectQuota({ upstream, call }: Surroundings): Promise<Seen> {
  const quota = await upstream.directory.organization(call)
  if (quota === undefined) return { ok: true, detail: 'the directory does not tell' }
  return {
    ok: quota.used <= quota.total * mostUsed,
    detail: `${quota.used} of ${quota.total} objects are used`,
  }
}
