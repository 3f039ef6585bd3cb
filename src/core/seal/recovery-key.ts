import { createHash, timingSafeEqual } from 'node:crypto'
import type { View, ViewEntry } from '../barrier/view.ts'

/**
 * Key of the record about the recovery key, which people hold in shares. It only authorizes, so its hash is
 * enough.
 */
const recoveryKeyKey = 'recovery-key'

const digestOf = (key: Uint8Array): Buffer => createHash('sha256').update(key).digest()

/** The record about a recovery key, in the view of all storage. */
export const recoveryKeyEntry = (key: Uint8Array): ViewEntry => ({
  key: recoveryKeyKey,
  value: { sha256: digestOf(key).toString('hex') },
})

/** Whether this is the recovery key. `root` is the view of all storage. */
export async function isRecoveryKey(root: View, key: Uint8Array): Promise<boolean> {
  const record = await root.get(recoveryKeyKey)
  const stored = typeof record === 'object' && record !== null && 'sha256' in record ? record.sha256 : ''
  const digest = Buffer.from(String(stored), 'hex')
  const sent = digestOf(key)
  return digest.length === sent.length && timingSafeEqual(digest, sent)
}
