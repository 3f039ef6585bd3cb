import type { ConfigRecord, PendingCertificate } from '../config/config-record.ts'
import type { EngineLog } from '../engine-parts.ts'
import { certificateProof } from '../sign-in/assertions.ts'
import type { RotationWork } from '../upstream-work.ts'
import { isAccepted } from './complete-rotation.ts'
import type { RotationTimes } from './next-step.ts'
import { removalOfPending } from './pending-secret.ts'

/**
 * Promotes the pending certificate if it works. Returns whether nothing is left to wait for.
 * docs/contract/cloud.md#rotation-of-a-certificate
 */
export function completeCertificate(
  work: RotationWork,
  log: EngineLog,
  { givenUpMs, overlapMs }: Pick<RotationTimes, 'givenUpMs' | 'overlapMs'>,
): Promise<boolean> {
  const { state, call, clock, random: identifiers } = work
  return state.withRotationLock(async () => {
    const pending = (await state.findConfig())?.pending_certificate
    if (pending === undefined) return true
    const upstream = await state.upstream()
    const proof = certificateProof(upstream.settings.clientId, pending, { clock, identifiers })
    if (!(await isAccepted(proof, upstream, call))) {
      const isHopeless = clock.now() - pending.created > givenUpMs
      if (isHopeless) await dropPending(pending, work, log)
      return isHopeless
    }
    let isPromoted = false
    await state.changeConfig((before) => {
      if (!isStillPending(before, pending)) return 'keep'
      isPromoted = true
      return { config: promoted(before, pending, clock.now() + overlapMs) }
    })
    if (isPromoted)
      log.info(
        { event: 'root_rotated', mount: state.accessor, thumbprint: pending.thumbprint },
        'the new root certificate is in use',
      )
    return true
  })
}

const isStillPending = (
  config: ConfigRecord | undefined,
  { thumbprint_sha256 }: PendingCertificate,
): config is ConfigRecord => config?.pending_certificate?.thumbprint_sha256 === thumbprint_sha256

/** The former certificate stays on the application for the overlap. */
function promoted(
  {
    pending_certificate: _promoted,
    certificate: former,
    retiring_keys: retiring = [],
    ...config
  }: ConfigRecord,
  { created: _created, application_object_id, ...certificate }: PendingCertificate,
  not_before: number,
): ConfigRecord {
  if (former === undefined) return { ...config, certificate }
  const { thumbprint, key_id } = former
  const retired = { application_object_id, thumbprint, not_before }
  return {
    ...config,
    certificate,
    retiring_keys: [...retiring, key_id === undefined ? retired : { ...retired, key_id }],
  }
}

async function dropPending(pending: PendingCertificate, { state }: RotationWork, log: EngineLog) {
  await state.changeConfig((before) => {
    if (!isStillPending(before, pending)) return 'keep'
    const { pending_certificate, ...config } = before
    return { config, undoes: removalOfPending(state, { pending_certificate, tenant_id: config.tenant_id }) }
  })
  log.warn(
    { event: 'root_certificate_dropped', mount: state.accessor, thumbprint: pending.thumbprint },
    'the new root certificate was never accepted; the current one stays',
  )
}

export function retireKeys({ state, clock }: RotationWork): Promise<void> {
  return state.withRotationLock(async () => {
    const now = clock.now()
    await state.changeConfig((before) => {
      if (before === undefined) return 'keep'
      const { retiring_keys: keys = [], ...config } = before
      const due = keys.filter(({ not_before }) => not_before <= now)
      if (due.length === 0) return 'keep'
      const left = keys.filter((key) => !due.includes(key))
      return {
        config: left.length > 0 ? { ...config, retiring_keys: left } : config,
        undoes: removalOfPending(state, { retiring_keys: due, tenant_id: before.tenant_id }),
      }
    })
  })
}
