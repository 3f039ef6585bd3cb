import type { ConfigRecord, PendingCertificate } from '../config/config-record.ts'
import { certificateProof } from '../sign-in/assertions.ts'
import type { RotationLog } from './complete-rotation.ts'
import { keyRemoval, removalOfPending } from './pending-secret.ts'
import type { RotationTimes } from './rotation-times.ts'
import type { RotationWork } from './rotation-work.ts'

/** The pending certificate must work this many times in a row. */
const proofs = 2

/**
 * Promotes the pending certificate if it works by now. Returns whether nothing is left to wait for.
 * docs/contract/cloud.md#rotation-of-a-certificate
 */
export function completeCertificate(
  work: RotationWork,
  log: RotationLog,
  { givenUpMs, overlapMs }: Pick<RotationTimes, 'givenUpMs' | 'overlapMs'>,
): Promise<boolean> {
  const { state, clock } = work
  return state.inRotationTurn(async () => {
    const pending = (await state.findConfig())?.pending_certificate
    if (pending === undefined) return true
    if (!(await isAccepted(pending, work))) {
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

async function isAccepted(pending: PendingCertificate, { state, call, clock, random }: RotationWork) {
  const { tokens, settings } = await state.upstream()
  const { clientId } = settings
  const proof = certificateProof(clientId, pending, { clock, identifiers: random })
  for (let proven = 0; proven < proofs; proven++) {
    if (!(await tokens.prove(clientId, proof, 'directory', call))) return false
  }
  return true
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

async function dropPending(pending: PendingCertificate, { state }: RotationWork, log: RotationLog) {
  let dropped: readonly string[] = []
  try {
    await state.changeConfig((before) => {
      if (!isStillPending(before, pending)) return 'keep'
      const { pending_certificate, ...config } = before
      const { ids, entries } = removalOfPending(state, {
        ...(pending_certificate === undefined ? {} : { pending_certificate }),
        tenant_id: config.tenant_id,
      })
      dropped = ids
      return { config, alongside: entries }
    })
  } finally {
    await state.intents.undo(dropped)
  }
  log.warn(
    { event: 'root_certificate_dropped', mount: state.accessor, thumbprint: pending.thumbprint },
    'the new root certificate was never accepted; the current one stays',
  )
}

/** Removes the keys of former certificates whose overlap is over. */
export function retireKeys({ state, clock }: RotationWork): Promise<void> {
  return state.inRotationTurn(async () => {
    const now = clock.now()
    let ids: readonly string[] = []
    try {
      await state.changeConfig((before) => {
        const { retiring_keys: keys = [], ...config } = before ?? {}
        const due = keys.filter(({ not_before }) => not_before <= now)
        if (before === undefined || due.length === 0) return 'keep'
        const left = keys.filter((key) => !due.includes(key))
        const recorded = state.intents.recordEntries(
          due.map((key) => keyRemoval('retireKey', key)),
          state.operator.tenantId ?? before.tenant_id,
        )
        ids = recorded.ids
        const rest = { ...before, ...config }
        return {
          config: left.length > 0 ? { ...rest, retiring_keys: left } : withoutRetiring(rest),
          alongside: recorded.entries,
        }
      })
    } finally {
      await state.intents.undo(ids)
    }
  })
}

const withoutRetiring = ({ retiring_keys: _none, ...config }: ConfigRecord): ConfigRecord => config
