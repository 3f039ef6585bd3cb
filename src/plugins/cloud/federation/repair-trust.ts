import type { IntentTo } from '../intents/intent.ts'
import type { Undone } from '../intents/intents.ts'
import { ownerOfTrust } from '../intents/ownership.ts'
import { mayComeLate, watchTries } from '../intents/undo-after-failure.ts'
import { done, later, type Undoing } from '../intents/undoing.ts'
import { UpstreamError } from '../upstream/index.ts'
import { wasRemoved } from '../upstream/removal.ts'
import { putTrust } from './trust.ts'

/**
 * Restores a trust if its role owns it, and removes it otherwise. A change that was cut off may take effect later,
 * so this is repeated for a while. Under the trust's lock. docs/contract/cloud.md#federated-roles
 */
export async function repairTrust(intent: IntentTo<'federatedCredential'>, parts: Undoing): Promise<Undone> {
  const { upstream, attempt, patience } = parts
  const { call, isUnderway } = watchTries(parts.call)
  const work = { ...parts, call }
  try {
    const role = await ownerOfTrust(intent, parts)
    if (role !== undefined) {
      const isThere = await restored(putTrust({ ...intent, role }, { ...work, mount: parts.mountNow() }))
      if (!isThere && parts.ageMs <= patience.byId) return later('the application is not found')
    } else
      await wasRemoved(
        upstream.directory.deleteFederatedCredential(intent.application_object_id, intent.name, call),
      )
  } catch (error) {
    if (isUnderway() || mayComeLate(error)) attempt.doubted()
    throw error
  }
  if (isUnderway()) attempt.doubted()
  const { underwayMs } = attempt
  return !isUnderway() && (underwayMs === undefined || underwayMs > patience.byId)
    ? done
    : later('an earlier change may still take effect')
}

/** False if the application does not exist, or not yet. */
async function restored(putting: Promise<void>): Promise<boolean> {
  try {
    await putting
    return true
  } catch (error) {
    if (error instanceof UpstreamError && error.status === 404) return false
    throw error
  }
}
