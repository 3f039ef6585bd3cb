import type { View, ViewEntry } from '../barrier/view.ts'
import type { Minted } from './token-store.ts'

/**
 * Stores a new token together with `others`. False when an expectation did not hold. When storage fails the token may be stored all the same: then it is taken
 * away again as far as storage lets us, since nobody will ever be told its id.
 */
export async function writeMinted(view: View, { entries }: Minted, others: readonly ViewEntry[] = []): Promise<boolean> {
  const all = others.length === 0 ? entries : [...others, ...entries]
  // a batch token leaves nothing to write
  if (all.length === 0) return true
  try {
    return await view.write(all)
  } catch (error) {
    await withdraw(view, entries)
    throw error
  }
}

/** A token under an id of the caller's choice stays: it may be the one that was there before. */
async function withdraw(view: View, entries: readonly ViewEntry[]): Promise<void> {
  if (entries.length === 0 || entries.some(({ expect }) => expect !== undefined)) return
  await view.write(entries.map(({ key }) => ({ key, value: undefined }))).catch(() => false)
}
