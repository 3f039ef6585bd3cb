import type { ViewEntry } from '../../../core/barrier/view.ts'
import { fail, refuse } from '../../../errors.ts'
import { formatTime } from '../../../lib/time.ts'
import { type ConfigRecord, defaultRootPasswordTtl, type PendingSecret } from '../config/config-record.ts'
import type { Intent } from '../intents/intent.ts'
import { endFailed } from '../intents/failed-work.ts'
import { isGone } from '../roles/managed-application.ts'
import type { MountState } from '../mount-state.ts'
import { digestOf } from './root-secret-users.ts'
import { configIsNil } from '../roles/roles.ts'
import { effectiveClientSecret, suppliesCredential } from '../config/effective-settings.ts'
import {
  type AddedPassword,
  type Application,
  callerError,
  type PasswordCredential,
  UpstreamError,
} from '../upstream/index.ts'
import { anyRootPasswordPrefix, rootPasswordName, rootPasswordPrefix } from '../upstream/object-names.ts'
import { orRefuse, type UpstreamWork } from '../upstream-work.ts'

export type RotationWork = Omit<UpstreamWork, 'upstream' | 'serviceManagementReference'>

/**
 * Makes the next root secret and keeps it beside the current one, which goes on until the new one works.
 * docs/contract/cloud.md#root-rotation
 */
export function rotateRoot({ state, call, clock, random }: RotationWork): Promise<void> {
  return state.inRotationTurn(async () => {
    const config = await state.findConfig()
    if (config === undefined) throw configIsNil()
    if (suppliesCredential(state.operator))
      throw refuse('invalid', 'cannot rotate root: client credentials are provided by the environment')
    if (effectiveClientSecret(config, state.operator) === '')
      throw refuse('invalid', 'cannot rotate root: no client secret is configured')
    const upstream = await state.upstream()
    const application = await ownApplication({ upstream, call })
    const lifetime = config.root_password_ttl || defaultRootPasswordTtl
    const displayName = rootPasswordName(state.accessor, random.uuid())
    const meant: Intent = {
      kind: 'rootPassword',
      application_object_id: application.id,
      display_name: displayName,
    }
    const id = await state.intents.record(meant, upstream.settings.tenantId)
    let added: AddedPassword | undefined
    try {
      const endDateTime = formatTime(clock.now() + lifetime * 1000)
      added = await upstream.directory.addApplicationPassword(
        application.id,
        { displayName, endDateTime },
        call,
      )
      await state.intents.amend(id, { key_id: added.keyId })
      await keepPending(state, config, {
        settles: id,
        pending: {
          client_secret: added.secretText,
          key_id: added.keyId,
          created: clock.now(),
          expiration_date: added.endDateTime,
          application_object_id: application.id,
        },
      })
    } catch (error) {
      await endFailed(state.intents, [id], { error, made: added !== undefined })
      throw error instanceof UpstreamError ? callerError(error, 'failed to add new password') : error
    }
  })
}

/** The one application the engine signs in as. */
async function ownApplication({
  upstream,
  call,
}: Pick<UpstreamWork, 'upstream' | 'call'>): Promise<Application> {
  const [found, another] = await orRefuse(
    '',
    upstream.directory.findApplications({ appId: upstream.settings.clientId }, call),
  )
  if (found === undefined) throw refuse('invalid', 'no application found')
  if (another !== undefined)
    throw refuse('invalid', 'multiple applications found - double check your client_id')
  return found
}

/** One that was pending before is of no more use. */
async function keepPending(
  state: MountState,
  read: ConfigRecord,
  { pending, settles }: { pending: PendingSecret; settles: string },
): Promise<void> {
  const dropped = droppedPending(state, read)
  try {
    await state.changeConfig((before) => {
      // its owner wrote another credential meanwhile
      if (before === undefined || !hasSameCredential(before, read))
        throw fail('unavailable', 'the configuration was changed meanwhile')
      return {
        config: { ...before, pending, rotation_counts_from: pending.created },
        alongside: [...state.intents.settling([settles]), ...dropped.entries],
      }
    })
  } finally {
    // a write that failed may be stored: what is not, has nothing to undo
    state.intents.undo(dropped.ids)
  }
}

export const hasSameCredential = (a: ConfigRecord, b: ConfigRecord): boolean =>
  (['tenant_id', 'client_id', 'client_secret', 'environment'] as const).every((name) => a[name] === b[name])

/** A pending secret that will never count, as intents to remove it. */
export function droppedPending(
  { intents, accessor, operator }: MountState,
  config: Pick<ConfigRecord, 'pending' | 'tenant_id'> | undefined,
) {
  const { pending, tenant_id: tenant } = config ?? {}
  const dropped =
    pending === undefined
      ? []
      : [
          intents.recording(
            removal(accessor, pending.application_object_id, pending.key_id),
            operator.tenantId ?? tenant,
          ),
        ]
  return { ids: dropped.map(({ id }) => id), entries: dropped.map(({ entry }) => entry) }
}

const removal = (accessor: string, application_object_id: string, key_id: string): Meant => ({
  kind: 'rootPassword',
  application_object_id,
  // what names the password is its key; the display name only says whose it is
  display_name: rootPasswordPrefix(accessor),
  key_id,
})

type Meant = Extract<Intent, { kind: 'rootPassword' }>

/** How young a pending secret is left alone. docs/contract/cloud.md#root-rotation */
export const leastAgeMs = 60_000

/**
 * Looks whether the pending secret works by now, and makes it the current one; what it supersedes is removed
 * after that. Gives back whether there is nothing more to wait for. `isUsedElsewhere` says whether another
 * mount signs in with the former secret: then that stays. Throws what failed.
 * docs/contract/cloud.md#promotion.
 */
export function completeRotation(
  { state, call, clock, random }: RotationWork,
  log: RotationLog,
  isUsedElsewhere: (former: ConfigRecord) => Promise<boolean> = async () => false,
): Promise<boolean> {
  return state.inRotationTurn(async () => {
    const config = await state.findConfig()
    const pending = config?.pending
    if (config === undefined || pending === undefined) return true
    const { settings } = await state.upstream()
    const next = state.open({ ...settings, clientSecret: pending.client_secret })
    for (let proof = 0; proof < 2; proof++) {
      if (!(await next.tokens.proveSecret(settings.clientId, pending.client_secret, 'directory', call)))
        return false
    }
    const application = await next.directory.getApplication(pending.application_object_id, call)
    const principal = await next.directory.findServicePrincipal(settings.clientId, call)
    const passwords = [
      ...application.passwordCredentials.map((password) => ({ ...password, principalId: undefined })),
      ...(principal?.passwordCredentials ?? []).map((password) => ({
        ...password,
        principalId: principal?.id,
      })),
    ]
    const { own, typed, unknown } = supersededPasswords(passwords, config, state.accessor)
    const isShared = config.client_secret_key_id === '' && (await isUsedElsewhere(config))
    if (isShared)
      log.warn(
        { event: 'root_secret_shared', mount: state.accessor },
        'another mount signs in with the former root secret: it stays until that has another one',
      )
    const removals = [...own, ...(typed === undefined ? [] : [typed])].map((password): Superseded => {
      const isTyped = password === typed
      const intent: Meant = {
        ...removal(state.accessor, application.id, password.keyId),
        ...(password.principalId === undefined ? {} : { service_principal_id: password.principalId }),
        ...(isTyped ? { secret_digest: digestOf(config.client_secret) } : {}),
      }
      return { intent, isNow: !(isTyped && isShared), ...state.intents.recording(intent, settings.tenantId) }
    })
    try {
      return await promote(
        { config, pending, removals, unknown: isShared ? [] : unknown },
        { state, call, clock, random },
        log,
      )
    } finally {
      // also after a failure whose write is stored; what is removed by now, or was never stored, has nothing
      // to undo
      state.intents.undo(removals.map(({ id }) => id))
    }
  })
}

type Promotion = {
  /** As it was read. */
  readonly config: ConfigRecord
  readonly pending: PendingSecret
  readonly removals: readonly Superseded[]
  /** Passwords of which one may be the former secret. */
  readonly unknown: readonly HeldPassword[]
}

/** `isNow` false: it stays until no mount signs in with it. */
type Superseded = {
  readonly intent: Meant
  readonly isNow: boolean
  readonly id: string
  readonly entry: ViewEntry
}

/** First it counts, then what it supersedes is removed. */
async function promote(
  { config, pending, removals, unknown }: Promotion,
  { state, call }: RotationWork,
  log: RotationLog,
): Promise<boolean> {
  let isPromoted = false
  await state.changeConfig((before) => {
    isPromoted = before?.pending?.key_id === pending.key_id && hasSameCredential(before, config)
    if (!isPromoted || before === undefined) return 'keep'
    return { config: promoted(before, pending), alongside: removals.map(({ entry }) => entry) }
  })
  if (!isPromoted) return true
  const superseded = removals.map(({ intent }) => heldAs(intent.key_id ?? '', intent.service_principal_id))
  log.info(
    { event: 'root_rotated', mount: state.accessor, key_id: pending.key_id, superseded },
    'the new root secret is in use',
  )
  if (unknown.length > 0) {
    log.warn(
      {
        event: 'root_secret_left',
        mount: state.accessor,
        key_ids: unknown.map(({ keyId }) => keyId),
        passwords: unknown.map(({ keyId, displayName, principalId }) => ({
          ...heldAs(keyId, principalId),
          name: displayName ?? '',
        })),
      },
      'which of these was the former root secret is not known: remove it by hand',
    )
  }
  await removePasswords(
    removals.filter(({ isNow }) => isNow),
    { state, upstream: await state.upstream(), call },
  )
  return true
}

/** A password as the log names it. */
const heldAs = (keyId: string, principalId: string | undefined) => ({
  key_id: keyId,
  holder: principalId === undefined ? 'application' : 'service principal',
})

export type RotationLog = {
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}

function promoted({ pending: _promoted, ...config }: ConfigRecord, pending: PendingSecret): ConfigRecord {
  return {
    ...config,
    client_secret: pending.client_secret,
    client_secret_key_id: pending.key_id,
    root_password_expiration_date: pending.expiration_date,
  }
}

const hintLength = 3

/** A password, and the service principal it is on; undefined: it is on the application. */
export type HeldPassword = PasswordCredential & { readonly principalId: string | undefined }

/**
 * The passwords that a promotion supersedes: those the engine made for this mount, and the one an operator
 * typed in, on the application or on the service principal, when its hint tells which that is; else the
 * candidates. Pure. docs/contract/cloud.md#former-secrets
 */
export function supersededPasswords<Held extends HeldPassword>(
  passwords: readonly Held[],
  { pending, client_secret, client_secret_key_id }: ConfigRecord,
  accessor: string,
): { own: Held[]; typed: Held | undefined; unknown: Held[] } {
  const isOwn = ({ keyId, displayName }: HeldPassword) =>
    keyId === client_secret_key_id || displayName?.startsWith(rootPasswordPrefix(accessor)) === true
  const others = passwords.filter(({ keyId }) => keyId !== pending?.key_id)
  const own = others.filter(isOwn)
  if (client_secret_key_id !== '') return { own, typed: undefined, unknown: [] }
  const typedIn = others.filter(
    (password) => !isOwn(password) && password.displayName?.startsWith(anyRootPasswordPrefix) !== true,
  )
  const hinted = typedIn.filter(({ hint }) => hint === client_secret.slice(0, hintLength))
  const [typed, another] = hinted
  if (typed !== undefined && another === undefined) return { own, typed, unknown: [] }
  return { own, typed: undefined, unknown: hinted.length > 0 ? hinted : typedIn }
}

/** Tried at once; what fails keeps its intent. */
async function removePasswords(
  removals: readonly Superseded[],
  { state, upstream, call }: Pick<UpstreamWork, 'state' | 'upstream' | 'call'>,
): Promise<void> {
  for (const { intent, id } of removals) {
    const {
      application_object_id: applicationId,
      service_principal_id: principalId,
      key_id: keyId = '',
    } = intent
    try {
      await state.inApplicationTurn(applicationId, () =>
        principalId === undefined
          ? upstream.directory.removeApplicationPassword(applicationId, keyId, call)
          : upstream.directory.removeServicePrincipalPassword(principalId, keyId, call),
      )
      await state.intents.settle([id])
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      if (isGone(error)) await state.intents.settle([id])
    }
  }
}
