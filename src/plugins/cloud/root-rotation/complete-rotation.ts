import type { ViewEntry } from '../../../core/barrier/view.ts'
import type { ConfigRecord, PendingSecret } from '../config/config-record.ts'
import { hasSameCredential } from '../config/effective-settings.ts'
import type { EngineLog } from '../engine-parts.ts'
import type { ReadyUpstream } from '../mount-state.ts'
import { holderOf } from '../upstream/directory/password-holder.ts'
import { type UpstreamCall, UpstreamError } from '../upstream/index.ts'
import { wasRemoved } from '../upstream/removal.ts'
import type { Proof } from '../upstream/transport.ts'
import type { RotationWork, UpstreamWork } from '../upstream-work.ts'
import { type RootPasswordIntent, rootPasswordRemoval } from './pending-secret.ts'
import { type HeldPassword, holderName, rootPasswords, supersededPasswords } from './root-passwords.ts'
import { digestOf } from './root-secret-users.ts'

/** What is pending must work this many times in a row. */
const proofs = 2

/**
 * Promotes the pending secret if it works, then removes those it replaces. Returns whether nothing is left to wait
 * for. A former secret that another mount signs in with is kept. docs/contract/cloud.md#promotion
 */
export function completeRotation(
  work: RotationWork,
  log: EngineLog,
  isUsedElsewhere: (former: ConfigRecord) => Promise<boolean> = async () => false,
): Promise<boolean> {
  const { state, call } = work
  return state.withRotationLock(async () => {
    const config = await state.findConfig()
    const pending = config?.pending
    if (config === undefined || pending === undefined) return true
    const { settings } = await state.upstream()
    const { clientId } = settings
    const credential = { type: 'root_creds', clientId, secret: pending.client_secret } as const
    const next = state.open({ ...settings, credential })
    if (!(await isAccepted({ secret: pending.client_secret }, next, call))) return false
    const application = await next.directory.getApplication(pending.application_object_id, call)
    const passwords = await rootPasswords(application, next, call)
    const { own, typed, unknown } = supersededPasswords(passwords, config, state.accessor)
    const isShared = config.client_secret_key_id === '' && (await isUsedElsewhere(config))
    if (isShared)
      log.warn(
        { event: 'root_secret_shared', mount: state.accessor },
        'another mount signs in with the former root secret, which is kept until that mount has a new one',
      )
    const removalOf = (password: HeldPassword): PasswordRemoval => {
      const isTyped = password === typed
      const intent = {
        ...rootPasswordRemoval(state.accessor, application.id, password.keyId),
        service_principal_id: password.principalId,
        secret_digest: isTyped ? digestOf(config.client_secret) : undefined,
      }
      return {
        intent,
        isNow: !(isTyped && isShared),
        ...state.intents.recordEntry(intent, settings.tenantId),
      }
    }
    const removals = [...own, ...(typed === undefined ? [] : [typed])].map(removalOf)
    try {
      return await promote({ config, pending, removals, unknown: isShared ? [] : unknown }, work, log)
    } finally {
      // even after a failure, whose write may be stored; intents that are settled or were never stored have
      // nothing to undo
      await state.intents.undo(removals.map(({ id }) => id))
    }
  })
}

/** Whether the login service accepts a new proof of the root, several times in a row. */
export async function isAccepted(
  proof: Proof,
  { tokens, settings }: ReadyUpstream,
  call: UpstreamCall,
): Promise<boolean> {
  for (let proven = 0; proven < proofs; proven++) {
    if (!(await tokens.prove(settings.clientId, proof, 'directory', call))) return false
  }
  return true
}

type Promotion = {
  readonly config: ConfigRecord
  readonly pending: PendingSecret
  readonly removals: readonly PasswordRemoval[]
  /** Passwords of which one may be the former secret. */
  readonly unknown: readonly HeldPassword[]
}

type PasswordRemoval = {
  readonly intent: RootPasswordIntent
  /** False if the password is kept until no mount signs in with it. */
  readonly isNow: boolean
  readonly id: string
  readonly entry: ViewEntry
}

/** Stores the pending secret as the current one, and only then removes the passwords it replaces. */
async function promote(
  { config, pending, removals, unknown }: Promotion,
  { state, call }: RotationWork,
  log: EngineLog,
): Promise<boolean> {
  let isPromoted = false
  await state.changeConfig((before) => {
    isPromoted =
      before?.pending?.key_id === pending.key_id && hasSameCredential(before, config, state.operator)
    if (!isPromoted || before === undefined) return 'keep'
    return { config: promoted(before, pending), alongside: removals.map(({ entry }) => entry) }
  })
  if (!isPromoted) return true
  const superseded = removals.map(({ intent }) => ({
    key_id: intent.key_id ?? '',
    holder: holderName(intent.service_principal_id),
  }))
  log.info(
    { event: 'root_rotated', mount: state.accessor, key_id: pending.key_id, superseded },
    'the new root secret is in use',
  )
  if (unknown.length > 0) warnOfUnknown(unknown, state.accessor, log)
  await removePasswords(
    removals.filter(({ isNow }) => isNow),
    { state, upstream: await state.upstream(), call },
  )
  return true
}

function warnOfUnknown(unknown: readonly HeldPassword[], mount: string, log: EngineLog): void {
  log.warn(
    {
      event: 'root_secret_left',
      mount,
      key_ids: unknown.map(({ keyId }) => keyId),
      passwords: unknown.map(({ keyId, displayName, principalId }) => ({
        key_id: keyId,
        holder: holderName(principalId),
        name: displayName ?? '',
      })),
    },
    'cannot tell which of these passwords was the former root secret: remove it by hand',
  )
}

function promoted({ pending: _promoted, ...config }: ConfigRecord, pending: PendingSecret): ConfigRecord {
  return {
    ...config,
    client_secret: pending.client_secret,
    client_secret_key_id: pending.key_id,
    root_password_expiration_date: pending.expiration_date,
  }
}

/** Makes one attempt for each password. After a failure the intent remains and is retried. */
async function removePasswords(
  removals: readonly PasswordRemoval[],
  { state, upstream, call }: Pick<UpstreamWork, 'state' | 'upstream' | 'call'>,
): Promise<void> {
  for (const { intent, id } of removals) {
    const { application_object_id: applicationId, key_id: keyId = '' } = intent
    const removal = state.withApplicationLock(applicationId, () =>
      holderOf(intent, upstream.directory).remove(keyId, call),
    )
    try {
      await wasRemoved(removal)
      await state.intents.settle([id])
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
    }
  }
}
