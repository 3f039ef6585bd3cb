import { refuse } from '../../../errors.ts'
import { timeMilliseconds } from '../../../lib/text/time.ts'
import { configIsNil } from '../config/config-record.ts'
import type { Intent } from '../intents/intent.ts'
import type { MountState, ReadyUpstream } from '../mount-state.ts'
import { credentialRecords, type Requester } from '../records/credential-record.ts'
import { hintOf } from '../root-rotation/root-passwords.ts'
import { checkIsNotOwn } from '../sign-in/own-clients.ts'
import type { Application, PasswordCredential } from '../upstream/index.ts'
import { callWithin, orRefuse } from '../upstream-work.ts'
import { logLeft } from './leaving-passwords.ts'
import { addStaticPassword, finishRotation, withPassword } from './rotate-static-role.ts'
import { changedStaticTerms, type StaticRoleInput, type StaticTerms } from './static-role-input.ts'
import type { StaticPassword, StaticRole } from './static-role-record.ts'
import type { StoredStaticRole } from './static-role-store.ts'
import type { StaticWork } from './static-work.ts'

type WriteWork = StaticWork & { readonly requester: Requester }
type Ready = WriteWork & { readonly upstream: ReadyUpstream }

/** The lock of a request, which does not wait long. */
const withWriteLock = <T>(name: string, { state }: WriteWork, change: () => Promise<T>): Promise<T> =>
  state.withStaticRoleLock(name, change, state.writeBounds(name))

/**
 * A new role, or one with another application, gets its password before it is stored; if that fails, nothing is
 * stored. docs/cloud-static-roles.md#writing-a-role
 */
export function writeStaticRole(name: string, sent: StaticRoleInput, writeWork: WriteWork): Promise<void> {
  return withWriteLock(name, writeWork, async () => {
    const work = await ready(writeWork)
    const { state, clock } = work
    const before = await state.staticRoles.read(name)
    await checkRoom(before, state)
    const terms = changedStaticTerms(before?.role, sent, clock.now())
    if (before !== undefined && !isAnew(before.role, terms.application_object_id))
      return updateTerms(name, before, terms, work)
    const application = await applicationOf(terms.application_object_id, work)
    const role = newRole(terms, application, work)
    if (sent.defer_initial_creds ?? sent.skip_import_rotation ?? false) {
      await state.staticRoles.write(name, before, role)
      if (before !== undefined) logLeft(name, before.role, work)
      return
    }
    const { password, intent } = await addStaticPassword(name, role, work)
    try {
      const made = { ...role, ...withPassword(password, clock.now()) }
      await state.staticRoles.write(name, before, made, await state.intents.settling([intent]))
      if (before !== undefined) logLeft(name, before.role, work)
    } finally {
      // a failed write may be stored; a settled intent has nothing to undo
      await state.intents.undo([intent])
    }
  })
}

async function updateTerms(
  name: string,
  before: StoredStaticRole,
  terms: StaticTerms,
  work: Ready,
): Promise<void> {
  if (before.role.is_gone) await applicationOf(terms.application_object_id, work)
  const { retry: _over, ...kept } = before.role
  await work.state.staticRoles.write(name, before, { ...kept, ...terms, ...work.requester, is_gone: false })
}

/**
 * Updates a role by a write that names the import it began with, as Terraform does. False if it names another one;
 * then nothing is stored. docs/cloud-static-roles.md#import
 */
export function repeatImport(name: string, sent: StaticRoleInput, writeWork: WriteWork): Promise<boolean> {
  return withWriteLock(name, writeWork, async () => {
    const work = await ready(writeWork)
    const before = await work.state.staticRoles.read(name)
    if (before === undefined || !isRepeated(before.role, sent)) return false
    await updateTerms(name, before, changedStaticTerms(before.role, sent, work.clock.now()), work)
    return true
  })
}

function isRepeated(role: StaticRole, sent: StaticRoleInput): boolean {
  const { current, imported_key_id: imported } = role
  if (imported === undefined || imported.toLowerCase() !== sent.secret_id?.toLowerCase()) return false
  if (sent.application_object_id !== undefined && isAnew(role, sent.application_object_id)) return false
  const lacksText = current?.key_id === imported && current.client_secret === undefined
  return !lacksText || sent.client_secret === undefined
}

/** Whether an import leaves the password as it is until the first rotation that is due. */
export const keepsImported = ({ skip_import_rotation, defer_initial_creds }: StaticRoleInput): boolean =>
  skip_import_rotation ?? defer_initial_creds ?? false

/** Stores a role with a password that exists already. docs/cloud-static-roles.md#import */
export const importStaticPassword = (name: string, sent: StaticRoleInput, work: WriteWork): Promise<void> =>
  withWriteLock(name, work, async () => (await toImport(name, sent, work)).store())

/** Also adds another password, which `rotate` puts in place of the imported one. Throws if nothing is stored. */
export function importAndReplace(
  name: string,
  sent: StaticRoleInput,
  writeWork: WriteWork,
): Promise<{ rotate(): Promise<void> }> {
  return withWriteLock(name, writeWork, async () => {
    const { role, work, store } = await toImport(name, sent, writeWork)
    const made = await addStaticPassword(name, role, work)
    try {
      await store()
    } catch (error) {
      await work.state.intents.undo([made.intent])
      throw error
    }
    return { rotate: () => finishRotation(name, role, made, work) }
  })
}

async function toImport(name: string, sent: StaticRoleInput, writeWork: WriteWork) {
  const work = await ready(writeWork)
  const { state, clock } = work
  const before = await state.staticRoles.read(name)
  await checkRoom(before, state)
  const terms = changedStaticTerms(before?.role, sent, clock.now())
  if (sent.expiration !== undefined && timeMilliseconds(sent.expiration) <= clock.now())
    throw refuse('invalid', 'expiration must be in the future')
  const application = await applicationOf(terms.application_object_id, work)
  const current = importedPassword(sent, application)
  await checkIsFree(name, current.key_id, application, work)
  await checkIsStaying(current.key_id, application, state)
  const role = { ...newRole(terms, application, work), current, imported_key_id: current.key_id }
  return { role, work, store: () => storeImported(name, before, role, work) }
}

/**
 * A password in its grace period stays once it is imported. One that is being removed, or has an owner that is about
 * to be stored, is refused: what removes it is stored before, and runs under the application's lock.
 */
async function storeImported(
  name: string,
  before: StoredStaticRole | undefined,
  role: StaticRole & { readonly current: StaticPassword },
  work: Ready,
): Promise<void> {
  const { state, upstream, clock, correlationId, signal } = work
  const { application_object_id: id, current } = role
  await state.withApplicationLock(id, async () => {
    const call = callWithin(clock, correlationId, signal)
    const application = await orRefuse(
      'error loading Application',
      upstream.directory.getApplication(id, call),
    )
    const leaving = (await state.staticRoles.retirements('all')).filter(
      ({ key_id }) => key_id === current.key_id,
    )
    await checkIsStaying(current.key_id, application, state)
    // another import may have stored it meanwhile
    await checkIsFree(name, current.key_id, application, work)
    const taken = leaving.map((one) => state.staticRoles.takingRetirement(one))
    await state.staticRoles.write(name, before, role, taken)
  })
  if (before !== undefined && before.role.current?.key_id !== current.key_id) logLeft(name, before.role, work)
}

/**
 * Throws if something stored removes the password. Reads intents before leases: a lease replaces its intent in one
 * write.
 */
async function checkIsStaying(keyId: string, application: Application, state: MountState): Promise<void> {
  const password = passwordOf(keyId, application)
  if ((await state.intents.all()).some(({ intent }) => isAbout(intent, password)))
    throw refuse('invalid', `the password '${keyId}' is being removed; see debris`)
  // also those of leases that were revoked by force: they are reaped
  const issued = (await credentialRecords(state, application.appId)).find(
    ({ key_id, app_object_id }) =>
      key_id === keyId || (key_id === undefined && app_object_id === application.id),
  )
  if (issued !== undefined)
    throw refuse(
      'invalid',
      `the password '${keyId}' belongs to a lease of role '${issued.role}', which removes it when it ends`,
    )
}

const isAbout = (intent: Intent, { keyId, displayName }: PasswordCredential): boolean =>
  ('key_id' in intent && intent.key_id === keyId) ||
  (intent.kind !== 'app' && 'display_name' in intent && intent.display_name === displayName)

/** docs/limits.md#cloud-credentials */
async function checkRoom(before: StoredStaticRole | undefined, { limits, staticRoles }: MountState) {
  if (before === undefined && (await staticRoles.names()).length >= limits.staticRoles)
    throw refuse('invalid', `a mount can have at most ${limits.staticRoles} static roles`)
}

/** Whether the old passwords of a role are left to themselves. */
const isAnew = (before: StaticRole, objectId: string): boolean =>
  before.application_object_id.toLowerCase() !== objectId.toLowerCase()

async function ready(work: WriteWork): Promise<Ready> {
  if ((await work.state.findConfig()) === undefined) throw configIsNil()
  return { ...work, upstream: await work.state.upstream() }
}

async function applicationOf(
  id: string,
  { state, upstream, clock, correlationId, signal }: Ready,
): Promise<Application> {
  const call = callWithin(clock, correlationId, signal)
  const application = await orRefuse('error loading Application', upstream.directory.getApplication(id, call))
  await checkIsNotOwn(application.appId, state, call, { fresh: true })
  return application
}

const newRole = (
  terms: StaticTerms,
  { appId }: Application,
  { upstream, clock, requester }: Ready,
): StaticRole => ({
  ...terms,
  ...requester,
  application_client_id: appId,
  tenant_id: upstream.settings.tenantId,
  rotation_counts_from: clock.now(),
  last_error: '',
  is_gone: false,
  is_lost: false,
  due: null,
})

function importedPassword(
  { secret_id: keyId = '', client_secret: secret }: StaticRoleInput,
  application: Application,
): StaticPassword {
  const found = passwordOf(keyId, application)
  if (secret && found.hint !== undefined && found.hint !== hintOf(secret))
    throw refuse('invalid', 'client_secret does not match secret_id')
  return {
    key_id: found.keyId,
    ...(secret === undefined || secret === '' ? {} : { client_secret: secret }),
    expiration: found.endDateTime ?? '',
  }
}

/** Throws if the application does not have it. */
function passwordOf(keyId: string, { passwordCredentials }: Application): PasswordCredential {
  const found = passwordCredentials.find((one) => one.keyId.toLowerCase() === keyId.toLowerCase())
  if (found === undefined) throw refuse('invalid', `no password credential with secret_id '${keyId}'`)
  return found
}

/** Throws if another role or mount has the password: either of them would take it from the other. */
async function checkIsFree(
  name: string,
  keyId: string,
  application: Application,
  { state, otherStates }: Pick<StaticWork, 'state' | 'otherStates'>,
): Promise<void> {
  const owner = (await state.staticRoles.all()).find((one) => one.name !== name && hasKey(one.role, keyId))
  if (owner !== undefined)
    throw refuse('invalid', `the password '${keyId}' belongs to static role '${owner.name}'`)
  for (const other of otherStates())
    if (await hasPassword(other, keyId, application))
      throw refuse('invalid', `the password '${keyId}' belongs to another mount`)
}

const hasKey = ({ current, former }: StaticRole, keyId: string): boolean =>
  current?.key_id === keyId || former?.key_id === keyId

/** Whether a mount relies on a password, or will remove it. */
async function hasPassword(state: MountState, keyId: string, application: Application): Promise<boolean> {
  const password = passwordOf(keyId, application)
  return (
    (await state.intents.all()).some(({ intent }) => isAbout(intent, password)) ||
    (await state.staticRoles.all()).some(({ role }) => hasKey(role, keyId)) ||
    (await state.staticRoles.retirements('all')).some(({ key_id }) => key_id === keyId) ||
    (await credentialRecords(state, application.appId)).some(({ key_id }) => key_id === keyId)
  )
}
