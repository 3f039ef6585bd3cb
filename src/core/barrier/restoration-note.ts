import { Buffer } from 'node:buffer'
import { z } from 'zod'
import type { Storage, StoredRecord } from '../../storage/storage.ts'

/** Key of a note that the store was restored from a backup. It is not sealed: a restoration has no keys. */
export const restorationKey = 'barrier/restored'

const restorationFields = z.object({
  /** When the backup was made and restored, RFC 3339. */
  backup_time: z.string(),
  restored_time: z.string(),
  /** Whether all service tokens except root tokens are revoked. */
  revoke_tokens: z.boolean(),
})
type Restoration = z.output<typeof restorationFields>

/** The note for the next start. */
export const restorationNote = (restoration: Restoration): Pick<StoredRecord, 'key' | 'value'> => ({
  key: restorationKey,
  value: Buffer.from(JSON.stringify(restoration)),
})

/** The note of a restoration whose consequences are still to be drawn. */
export async function findRestoration(storage: Storage): Promise<Restoration | undefined> {
  const record = await storage.get(restorationKey)
  if (record === undefined) return undefined
  return restorationFields.parse(JSON.parse(Buffer.from(record.value).toString('utf8')))
}
