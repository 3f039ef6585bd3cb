import type { Intent } from '../intents/intent.ts'
import { ownerOfTrust } from '../intents/ownership.ts'
import { watchTries } from '../intents/undo-after-failure.ts'
import type { MountState, ReadyUpstream } from '../mount-state.ts'
import { trustPrefixOf } from '../upstream/directory/object-names.ts'
import type { UpstreamCall } from '../upstream/index.ts'
import { unlessGone, wasRemoved } from '../upstream/removal.ts'
import { undoTrustAfterFailure } from './trust.ts'

export type UnownedTrust = { readonly applicationId: string; readonly name: string }

/**
 * Trusts with this mount's name in applications of roles, without a role or intent. Reads the directory first, as a
 * role that is being written stores its trust last. Throws upstream failures.
 */
export async function unownedTrusts(
  state: MountState,
  { directory }: ReadyUpstream,
  call: UpstreamCall,
): Promise<UnownedTrust[]> {
  const prefix = trustPrefixOf(state.accessor)
  const found: UnownedTrust[] = []
  for (const applicationId of new Set((await state.roles()).map(({ role }) => role.application_object_id))) {
    if (applicationId === '') continue
    const trusts = await unlessGone(directory.listFederatedCredentials(applicationId, call))
    for (const { name } of trusts ?? []) if (name.startsWith(prefix)) found.push({ applicationId, name })
  }
  const intended = (await state.intents.all()).flatMap(({ intent }) =>
    intent.kind === 'federatedCredential' ? [intent.name] : [],
  )
  const owned = new Set([...intended, ...(await state.roles()).flatMap(({ role }) => role.trust?.name ?? [])])
  return found.filter(({ name }) => !owned.has(name))
}

/**
 * Returns whether it was there. Skips one that a role owns since. An intent is stored before: if the removal takes
 * effect after a role has made the trust again, that gives it back. Throws upstream failures.
 */
export function removeUnownedTrust(
  { applicationId, name }: UnownedTrust,
  {
    state,
    upstream,
    call: reaping,
  }: { readonly state: MountState; readonly upstream: ReadyUpstream; readonly call: UpstreamCall },
): Promise<boolean> {
  return state.withTrustLock(name, async () => {
    const intent: Intent = { kind: 'federatedCredential', application_object_id: applicationId, name }
    if ((await ownerOfTrust(intent, { state })) !== undefined) return false
    const ids = [await state.intents.record(intent, upstream.settings.tenantId)]
    const { call, isUnderway } = watchTries(reaping)
    let isRemoved: boolean
    try {
      isRemoved = await wasRemoved(upstream.directory.deleteFederatedCredential(applicationId, name, call))
    } catch (error) {
      await undoTrustAfterFailure(ids, error, isUnderway(), { state })
      throw error
    }
    if (isUnderway()) await state.intents.undo(ids, { isUnderway: true })
    else await state.intents.settle(ids)
    return isRemoved
  })
}
