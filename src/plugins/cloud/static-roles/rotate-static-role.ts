import type { ViewEntry } from '../../../core/barrier/view.ts'
import { failureText } from '../../../core/leases/lease-backend.ts'
import { fail, refuse, ServiceError } from '../../../errors.ts'
import { addPassword, type MadePassword } from '../credentials/add-password.ts'
import type { ReadyUpstream } from '../mount-state.ts'
import type { Requester } from '../records/credential-record.ts'
import { checkIsNotOwn } from '../sign-in/own-clients.ts'
import { callerError, UpstreamError } from '../upstream/index.ts'
import { isGone, wasRemoved } from '../upstream/removal.ts'
import { callWithin, orRefuse } from '../upstream-work.ts'
import { retirementNow } from './leaving-passwords.ts'
import { provePassword } from './prove-password.ts'
import { dueAt, graceOf, passwordEnd, type StaticRole } from './static-role-record.ts'
import type { StoredStaticRole } from './static-role-store.ts'
import type { StaticWork } from './static-work.ts'

/** Why a role is rotated. `due`: only if it still is. */
export type Rotation = { readonly why: 'due' | 'asked'; readonly requester?: Requester | undefined }

type Ready = StaticWork & { readonly upstream: ReadyUpstream }

const firstPauseMs = 15_000
const longestPauseMs = 600_000

/**
 * Adds a password, signs in with it, makes it the current one in one write, and lets the former one end after its
 * grace period. If a step fails, the current one stays and the added one is removed.
 * docs/cloud-static-roles.md#rotation
 */
export function rotateStaticRole(name: string, rotation: Rotation, work: StaticWork): Promise<void> {
  const { state, clock } = work
  return state.withStaticRotationLock(name, async () => {
    const before = await state.staticRoles.read(name)
    if (before === undefined) throw refuse('invalid', 'role not found in storage')
    // another server has rotated it, its schedule was changed, or its window is over
    if (rotation.why === 'due' && dueAt(before.role, clock.now()) > clock.now()) {
      await state.withStaticRoleLock(name, () => state.staticRoles.write(name, before, before.role))
      return
    }
    try {
      await rotate(name, before.role, rotation, work)
    } catch (error) {
      if (work.signal.aborted) throw error
      await noteFailure(name, before.role, error, work)
      throw error
    }
  })
}

async function rotate(
  name: string,
  role: StaticRole,
  { requester }: Rotation,
  staticWork: StaticWork,
): Promise<void> {
  const { state } = staticWork
  const leave = staticWork.enter()
  if (leave === undefined) throw fail('unavailable', 'the mount is being removed')
  let work: Ready
  let made: MadePassword
  try {
    const upstream = await state.upstream()
    work = { ...staticWork, upstream }
    const call = callWithin(work.clock, work.correlationId, work.signal)
    await checkIsNotOwn(role.application_client_id, state, call)
    await removeFormer(name, role, work)
    made = await addStaticPassword(name, role, work)
  } finally {
    leave()
  }
  await install(name, role, made, { ...work, requester })
}

/** Ends a rotation whose password was added already. */
export const finishRotation = (
  name: string,
  role: StaticRole,
  made: MadePassword,
  work: Ready & Pick<Rotation, 'requester'>,
): Promise<void> =>
  work.state.withStaticRotationLock(name, async () => {
    try {
      await install(name, role, made, work)
    } catch (error) {
      if (!work.signal.aborted) await noteFailure(name, role, error, work)
      throw error
    }
  })

/** Proves a password that was added, and makes it the current one. Otherwise undoes it. */
async function install(
  name: string,
  role: StaticRole,
  { password, intent }: MadePassword,
  work: Ready & Pick<Rotation, 'requester'>,
): Promise<void> {
  const { state, log } = work
  try {
    const credential = { clientId: role.application_client_id, secret: password.secretText }
    const told = await provePassword(credential, work)
    await state.withStaticRoleLock(name, async () => {
      const stored = await state.staticRoles.read(name)
      if (stored === undefined || !hasSamePassword(stored.role, role))
        throw fail('unavailable', 'the static role was changed meanwhile')
      const { after, retired } = promoted(stored.role, password, { ...work, told })
      const retiring = retirement(name, stored.role, retired, work)
      await state.staticRoles.write(name, stored, after, [
        ...(await state.intents.settling([intent])),
        ...retiring.entries,
      ])
      log.info(
        {
          event: 'static_role_rotated',
          mount: state.accessor,
          role: name,
          key_id: password.keyId,
          ...(retired === undefined ? {} : { former_key_id: retired.key_id }),
          ...(told === '' ? {} : { unproved: told }),
        },
        'the password of a static role was rotated',
      )
      await state.intents.undo(retiring.ids)
    })
  } catch (error) {
    await state.intents.undo([intent])
    throw error instanceof UpstreamError ? callerError(error, 'the new password does not work') : error
  }
}

const hasSamePassword = (one: StaticRole, other: StaticRole): boolean =>
  one.application_object_id === other.application_object_id && one.current?.key_id === other.current?.key_id

/** The role with a new password, and the password that this replaces, which is to end at `until`. */
function promoted(
  stored: StaticRole,
  password: MadePassword['password'],
  { clock, upstream, told, requester }: Ready & Pick<Rotation, 'requester'> & { readonly told: string },
): { after: StaticRole; retired: { key_id: string; until: number } | undefined } {
  const { current, former: _left, retry: _over, ...rest } = stored
  const now = clock.now()
  const graceMs = graceOf(stored) * 1000
  const retired = current === undefined ? undefined : { key_id: current.key_id, until: now + graceMs }
  return {
    retired,
    after: {
      ...rest,
      ...requester,
      ...withPassword(password, now),
      ...(retired === undefined || graceMs === 0 ? {} : { former: retired }),
      tenant_id: upstream.settings.tenantId,
      last_error: told,
    },
  }
}

/** The fields of a role that has just got this password. */
export const withPassword = ({ keyId, secretText, endDateTime }: MadePassword['password'], now: number) => ({
  current: { key_id: keyId, client_secret: secretText, expiration: endDateTime },
  last_rotation: now,
  rotation_counts_from: now,
  last_error: '',
  is_gone: false,
  is_lost: false,
})

/** What is written so that a former password ends: at its time, or at once. `ids`: intents to undo. */
function retirement(
  name: string,
  role: StaticRole,
  retired: { readonly key_id: string; readonly until: number } | undefined,
  { state, clock }: Pick<StaticWork, 'state' | 'clock'>,
): { readonly ids: readonly string[]; readonly entries: readonly ViewEntry[] } {
  if (retired === undefined) return { ids: [], entries: [] }
  const { application_object_id, tenant_id } = role
  if (retired.until > clock.now())
    return {
      ids: [],
      entries: [
        state.staticRoles.retirementEntry({ ...retired, role: name, application_object_id, tenant_id }),
      ],
    }
  return state.intents.recordEntries([retirementNow(name, role, retired.key_id)], tenant_id)
}

/** Adds a password, which an intent undoes until a role has it. */
export const addStaticPassword = (
  name: string,
  role: StaticRole,
  { upstream, state, clock, random, correlationId, signal }: Ready,
): Promise<MadePassword> => {
  const { application_object_id } = role
  const wish = {
    application_object_id,
    role: name,
    end: () => new Date(passwordEnd(role, clock.now())).toISOString(),
    intent: (display_name: string) =>
      ({ kind: 'staticPassword', role: name, application_object_id, display_name }) as const,
  }
  const call = callWithin(clock, correlationId, signal)
  return addPassword(wish, { upstream, state, clock, random, call })
}

/** A password in its grace period leaves before the next one is added: there are never three. */
async function removeFormer(name: string, role: StaticRole, work: Ready): Promise<void> {
  const { state, upstream, clock, correlationId, signal } = work
  const { former, application_object_id: objectId } = role
  if (former === undefined) return
  const call = callWithin(clock, correlationId, signal)
  await orRefuse(
    'error removing credentials',
    state.withApplicationLock(objectId, () =>
      wasRemoved(upstream.directory.removeApplicationPassword(objectId, former.key_id, call)),
    ),
  )
  await state.withStaticRoleLock(name, async () => {
    const stored = await state.staticRoles.read(name)
    if (stored?.role.former?.key_id !== former.key_id) return
    const { former: _removed, ...after } = stored.role
    await state.staticRoles.write(name, stored, after, [state.staticRoles.retirementRemoval(former)])
  })
}

/** Stores why a rotation failed, and when the next attempt may start. */
async function noteFailure(name: string, tried: StaticRole, error: unknown, work: StaticWork): Promise<void> {
  const { state, clock, log } = work
  const is_gone = await isApplicationGone(tried, error, work)
  const reason = is_gone
    ? `the application of role '${name}' no longer exists`
    : error instanceof UpstreamError
      ? callerError(error).message
      : failureText(error)
  log.warn(
    { err: error, event: 'static_role_failed', mount: state.accessor, role: name, reason },
    'could not rotate the password of a static role',
  )
  await state.withStaticRoleLock(name, async () => {
    const stored: StoredStaticRole | undefined = await state.staticRoles.read(name)
    if (stored === undefined || !hasSamePassword(stored.role, tried)) return
    const failures = (stored.role.retry?.failures ?? 0) + 1
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 30))
    await state.staticRoles.write(name, stored, {
      ...stored.role,
      retry: { failures, at: clock.now() + pauseMs },
      last_error: reason.slice(0, longestError),
      is_gone,
    })
  })
}

const longestError = 500

/** Asks again before a role is given up: a replica of the directory may be behind. */
async function isApplicationGone(role: StaticRole, error: unknown, work: StaticWork): Promise<boolean> {
  const { state, clock, correlationId, signal } = work
  const cause = error instanceof ServiceError ? error.cause : error
  if (!isGone(cause)) return false
  try {
    const { directory } = await state.upstream()
    await directory.getApplication(role.application_object_id, callWithin(clock, correlationId, signal))
    return false
  } catch (again) {
    return isGone(again)
  }
}
