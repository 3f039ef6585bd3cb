import { removalsOf } from '../credentials/force-revoked.ts'
import type { NewCredential } from '../credentials/new-credential.ts'
import type { MountState } from '../mount-state.ts'
import type { PoolMember, StoredMember } from './pool-store.ts'
import { isUsable, type PoolTerms } from './pool-terms.ts'

/**
 * Turns a member into the intents that undo it, in one write: of several callers, at any server, one gets their ids. The
 * others get undefined.
 */
async function leavePool(stored: StoredMember, state: MountState): Promise<readonly string[] | undefined> {
  const { display_name: made_name, tenant_id, ...owned } = stored.member.data
  const { ids, entries } = state.intents.recordEntries(
    removalsOf({ ...owned, made_name }, state.accessor),
    tenant_id,
  )
  try {
    return (await state.view.write([state.pool.removal(stored), ...entries])) ? ids : undefined
  } catch (error) {
    // a failed write may be stored
    await state.intents.undo(ids)
    throw error
  }
}

/** The credential is undone unless its intents are settled. Undefined: the pool has none to give. */
export function takeMember(
  role: string,
  { terms, now, state }: { readonly terms: PoolTerms; readonly now: number; readonly state: MountState },
): Promise<Omit<NewCredential, 'proof'> | undefined> {
  return state.pool.firstOf(role, async (stored) => {
    if (!isUsable(stored.member, terms, now)) return undefined
    const intents = await leavePool(stored, state)
    return intents && { ...shareOf(stored.member), intents }
  })
}

const shareOf = ({ data, answer }: PoolMember): Pick<NewCredential, 'data' | 'answer'> => ({ data, answer })

/** Removes members, and what they are upstream in the background. */
export async function retire(members: readonly StoredMember[], state: MountState): Promise<void> {
  for (const stored of members) {
    const intents = await leavePool(stored, state)
    if (intents !== undefined) await state.intents.undo(intents)
  }
}
