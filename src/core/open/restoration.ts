import type { Storage } from '../../storage/storage.ts'
import { findRestoration, restorationKey } from '../barrier/restoration-note.ts'
import { onOneServer } from '../jobs/on-one-server.ts'
import type { Token } from '../tokens/store/token.ts'
import type { Stores } from './stores.ts'

export type RestorationParts = Pick<Stores, 'tokens' | 'revoker' | 'mounts' | 'mountTypes' | 'log'> & {
  readonly storage: Storage
}

/**
 * Draws the consequences of a restoration before the store is used: what may be used only once may have been
 * used since the backup. The note is deleted last, so that an interrupted start repeats this.
 * docs/operations.md#backup-and-restore
 */
export async function completeRestoration(parts: RestorationParts): Promise<void> {
  const { storage } = parts
  const isNeeded = async () => (await findRestoration(storage)) !== undefined
  await onOneServer(storage, { name: 'restoration', isNeeded }, () => complete(parts))
}

async function complete(parts: RestorationParts): Promise<void> {
  const { storage, log } = parts
  const note = await findRestoration(storage)
  if (note === undefined) return
  await dropPendingLogins(parts)
  const isDropped = note.revoke_tokens ? isNotRoot : hasUseCount
  // if this server was paused meanwhile, another one has done this, and has issued tokens since
  const latest = storage.shared === undefined ? Number.POSITIVE_INFINITY : Date.parse(note.restored_time)
  const tokens_dropped = await dropTokens(parts, (token) => token.creation_time <= latest && isDropped(token))
  await storage.write([{ key: restorationKey, value: undefined }])
  log.warn({ event: 'restored', ...note, tokens_dropped }, 'the store was restored from a backup')
}

/** Also a wrapping token, which is for one use. */
const hasUseCount = ({ num_uses }: Token): boolean => num_uses !== 0
const isNotRoot = (token: Token): boolean => hasUseCount(token) || !token.policies.includes('root')

async function dropTokens(
  { tokens, revoker }: RestorationParts,
  isDropped: (token: Token) => boolean,
): Promise<number> {
  let dropped = 0
  for await (const page of tokens.pages())
    for (const { token } of page) if (isDropped(token) && (await revoker.revoke(token.accessor))) dropped += 1
  return dropped
}

async function dropPendingLogins({ mounts, mountTypes }: RestorationParts): Promise<void> {
  for (const mount of mounts.table.all())
    for (const prefix of mountTypes.usedOnce(mount.plugin)) await mounts.viewOf(mount).deletePrefix(prefix)
}
