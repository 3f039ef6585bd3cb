import type { View, ViewEntry } from '../../barrier/view.ts'
import type { Minted } from './token-store.ts'

/**
 * Stores a new token together with `others`. False if an expectation did not hold; throws `throttled` if there
 * are too many tokens. After a storage error the token may be stored although no caller learns its id, so this
 * tries to delete it.
 */
export async function writeMinted(
  view: View,
  { entries, within }: Minted,
  others: readonly ViewEntry[] = [],
): Promise<boolean> {
  const all = others.length === 0 ? entries : [...others, ...entries]
  // a batch token leaves nothing to write
  if (all.length === 0) return true
  return within(async () => {
    try {
      return await view.write(all)
    } catch (error) {
      await withdraw(view, entries)
      throw error
    }
  })
}

/** Keeps a token with a chosen id: it may be one that existed before. */
async function withdraw(view: View, entries: readonly ViewEntry[]): Promise<void> {
  if (entries.length === 0 || entries.some(({ expect }) => expect !== undefined)) return
  await view.write(entries.map(({ key }) => ({ key, value: undefined, isUncopied: true }))).catch(() => false)
}
