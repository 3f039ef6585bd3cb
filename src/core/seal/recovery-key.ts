import { createHash } from 'node:crypto'
import type { View } from '../barrier/view.ts'

/**
 * Key of the record about the recovery key, which people hold in shares. It only authorizes, so its hash is
 * enough.
 */
const recoveryKeyKey = 'recovery-key'

/** `root` is the view of all storage. */
export async function writeRecoveryKey(root: View, key: Uint8Array): Promise<void> {
  await root.write([
    { key: recoveryKeyKey, value: { sha256: createHash('sha256').update(key).digest('hex') } },
  ])
}
