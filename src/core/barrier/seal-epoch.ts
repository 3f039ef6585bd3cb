import { Buffer } from 'node:buffer'
import type { Storage } from '../../storage/storage.ts'

/**
 * Key of the number of times that the servers which share the storage were sealed together. In clear text: a
 * sealed server reads it. docs/replicas.md#sealing
 */
export const sealEpochKey = 'barrier/seal-epoch'

/** A server that was unsealed under a lower epoch must seal itself. */
export async function readSealEpoch(storage: Pick<Storage, 'get'>): Promise<number> {
  return epochIn((await storage.get(sealEpochKey))?.value)
}

/** Has every server seal itself that is unsealed now. */
export const raiseSealEpoch = (storage: Pick<Storage, 'update'>): Promise<void> =>
  storage.update(sealEpochKey, (current) => Buffer.from(String(epochIn(current) + 1)))

const epochIn = (value: Uint8Array | undefined): number =>
  value === undefined ? 0 : Number(Buffer.from(value).toString('utf8'))
