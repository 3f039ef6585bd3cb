import { possessionProof } from '../sign-in/assertions.ts'
import { hasThumbprint } from '../upstream/directory/directory-answers.ts'
import { classify, UpstreamError } from '../upstream/index.ts'
import { isGone, wasRemoved } from '../upstream/removal.ts'
import type { IntentTo } from './intent.ts'
import type { Undone } from './intents.ts'
import { done, later, type Undoing } from './undoing.ts'

type KeyIntent = IntentTo<'rootKey' | 'retireKey'>

/**
 * Removes a key of the root application, with a proof by the current certificate. One that cannot be identified, or
 * for which there is no proof, is left to the operator. docs/contract/cloud.md#rotation-of-a-certificate
 */
export async function undoKey(intent: KeyIntent, undoing: Undoing): Promise<Undone> {
  const { state, upstream, call, clock, ageMs, patience, attempt } = undoing
  const { application_object_id: applicationId, thumbprint } = intent
  const current = state.operator.certificate ?? (await state.findConfig())?.certificate
  if (current === undefined) return leave(intent, undoing, 'no certificate is configured')
  let keyId = intent.key_id
  if (keyId === undefined) {
    const keys = await keysOf(applicationId, undoing)
    if (keys === undefined) return leave(intent, undoing, 'the root may not read its application')
    keyId = keys.find((key) => hasThumbprint(key, thumbprint))?.keyId
    // an answer was lost, and most likely nothing was added
    if (keyId === undefined && intent.kind === 'rootKey')
      return ageMs > patience.bySearch ? done : later('it is not found by its thumbprint')
    if (keyId === undefined) return leave(intent, undoing, 'it is not found by its thumbprint')
    await attempt.amend({ key_id: keyId })
  }
  const proof = await possessionProof(applicationId, current, clock)
  try {
    await wasRemoved(upstream.directory.removeKey(applicationId, { keyId, proof }, call))
  } catch (error) {
    if (!(error instanceof UpstreamError) || classify(error).kind !== 'refused') throw error
    // whether the key is there at all remains unknown
    if ((await keysOf(applicationId, undoing)) !== undefined) throw error
    return leave(
      intent,
      undoing,
      'the directory refuses its removal, and the root may not read its application',
    )
  }
  return done
}

/** Undefined if the root may not read its application. Empty if that does not exist. */
async function keysOf(applicationId: string, { upstream, call }: Undoing) {
  try {
    return (await upstream.directory.getApplicationKeys(applicationId, call)).keyCredentials
  } catch (error) {
    if (isGone(error)) return []
    if (error instanceof UpstreamError && classify(error).kind === 'denied') return undefined
    throw error
  }
}

function leave(
  { application_object_id, thumbprint, key_id }: KeyIntent,
  parts: Undoing,
  why: string,
): Undone {
  parts.log.warn(
    {
      event: 'root_certificate_left',
      mount: parts.state.accessor,
      application: application_object_id,
      thumbprint,
      key_id,
      reason: why,
    },
    'a former root certificate may still be on the application: remove it by hand',
  )
  return done
}
