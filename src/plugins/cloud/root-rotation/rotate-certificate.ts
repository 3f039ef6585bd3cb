import { refuse } from '../../../errors.ts'
import { hasEnded } from '../certificates/client-certificate.ts'
import { makeCertificate } from '../certificates/make-certificate.ts'
import {
  type ConfigRecord,
  defaultRootPasswordTtl,
  type PendingCertificate,
} from '../config/config-record.ts'
import { mayComeLate } from '../intents/undo-after-failure.ts'
import type { ReadyUpstream } from '../mount-state.ts'
import { possessionProof } from '../sign-in/assertions.ts'
import { rootPasswordName } from '../upstream/directory/object-names.ts'
import { callerError, classify, UpstreamError } from '../upstream/index.ts'
import type { UpstreamCall } from '../upstream/upstream-error.ts'
import type { RotationWork } from '../upstream-work.ts'
import { keyRemoval, storePending } from './pending-secret.ts'

const makeOne = 'create one with config/certificate and upload it'

/**
 * Adds the next certificate to the root application; the current one stays in use until it works. Under the lock of
 * rotations. docs/contract/cloud.md#rotation-of-a-certificate
 */
export async function rotateCertificate(config: ConfigRecord, work: RotationWork): Promise<void> {
  const { state, call, clock, random } = work
  const current = config.certificate
  if (current === undefined)
    throw refuse('invalid', `cannot rotate root: no client certificate is configured; ${makeOne}`)
  if (hasEnded(current, clock.now()))
    throw refuse('invalid', `cannot rotate root: the client certificate has ended; ${makeOne}`)
  const upstream = await state.upstream()
  const application_object_id = await rootApplicationId(config, upstream, call)
  const name = rootPasswordName(state.accessor, random.uuid())
  const made = await makeCertificate({
    commonName: name.slice(0, longestCommonName),
    now: clock.now(),
    seconds: config.root_password_ttl || defaultRootPasswordTtl,
    random,
  })
  const pending = { ...made, created: clock.now(), application_object_id }
  const removal = keyRemoval('rootKey', pending)
  const { id: intent, entry } = state.intents.recordEntry(removal, upstream.settings.tenantId)
  await storePending(config, { pending_certificate: pending }, [entry], state)
  const proof = await possessionProof(application_object_id, current, clock)
  try {
    const key = { displayName: name, certificate: made.certificate, proof }
    const keyId = await upstream.directory.addKey(application_object_id, key, call)
    await settlePending(pending, intent, work, (before) =>
      keyId === undefined ? before : { ...before, pending_certificate: { ...pending, key_id: keyId } },
    )
  } catch (error) {
    // a call that may have taken effect: the sign-in with the new certificate will tell
    if (mayComeLate(error) || (error instanceof UpstreamError && error.lost)) {
      // the pending certificate owns the key by now
      await state.intents.undo([intent])
      return
    }
    await settlePending(pending, intent, work, ({ pending_certificate: _refused, ...rest }) => rest)
    throw error instanceof UpstreamError ? callerError(error, 'failed to add new certificate') : error
  }
}

/** X.520 §6.2.2. */
const longestCommonName = 64

async function rootApplicationId(
  { root_application_object_id: known }: ConfigRecord,
  { directory, settings }: ReadyUpstream,
  call: UpstreamCall,
): Promise<string> {
  if (known !== undefined) return known
  try {
    return (await directory.findApplicationKeys(settings.clientId, call)).id
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    if (classify(error).kind === 'gone') throw refuse('invalid', 'no application found', { cause: error })
    const { kind, message } = { kind: classify(error).kind, message: callerError(error).message }
    throw kind === 'denied'
      ? refuse('invalid', `${message}; or set root_application_object_id`, { cause: error })
      : callerError(error)
  }
}

/** Changes the configuration if the certificate is still pending, and removes its intent in the same write. */
async function settlePending(
  { thumbprint_sha256 }: PendingCertificate,
  intent: string,
  { state }: RotationWork,
  change: (before: ConfigRecord) => ConfigRecord,
): Promise<void> {
  const settling = await state.intents.settling([intent])
  await state.changeConfig((before) =>
    before?.pending_certificate?.thumbprint_sha256 === thumbprint_sha256
      ? { config: change(before), alongside: settling }
      : 'keep',
  )
}
