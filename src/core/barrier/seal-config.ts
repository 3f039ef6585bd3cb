import { Buffer } from 'node:buffer'
import { z } from 'zod'
import { StartError } from '../../errors.ts'
import { parsedJson } from '../../lib/text/json.ts'
import type { Storage } from '../../storage/storage.ts'

/** A number of shares, and how many of them are needed. */
export type ShareCounts = { readonly shares: number; readonly threshold: number }

/** The server finds the key by itself. `recovery` counts the recovery keys, if there are any. */
export type OwnSeal = { readonly recovery?: ShareCounts | undefined } & (
  | { readonly type: 'static' }
  | { readonly type: 'command'; readonly wrapped: string }
)

/**
 * How the root key of a store is protected. `static`: by the seal key of the server. `command`: by a key that the
 * operator's command has wrapped (base64), and unwraps. `shamir`: by a key that people hold in shares.
 * docs/contract/seal.md
 */
export type SealConfig = OwnSeal | ({ readonly type: 'shamir' } & ShareCounts)

/** Key of the seal configuration. In clear text: a sealed server shows it. */
export const sealConfigKey = 'barrier/seal-config'

const counts = z.object({ shares: z.int().min(0).max(255), threshold: z.int().min(0).max(255) })
const schema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('static'), recovery: counts.optional() }),
  z.object({ type: z.literal('command'), wrapped: z.string(), recovery: counts.optional() }),
  counts.extend({ type: z.literal('shamir') }),
])

/** The configuration of an initialized store. Older versions stored none: they only had the static seal. */
export async function readSealConfig(storage: Pick<Storage, 'get'>): Promise<SealConfig> {
  const record = await storage.get(sealConfigKey)
  if (record === undefined) return { type: 'static' }
  const parsed = schema.safeParse(parsedJson(Buffer.from(record.value).toString('utf8')))
  if (!parsed.success) throw new StartError(1, `the record ${sealConfigKey} is damaged`)
  return parsed.data
}

/** The revision of the configuration, which another one replaces only if it is still the same. */
export const sealConfigRevision = async (storage: Pick<Storage, 'get'>): Promise<SealRevision> =>
  (await storage.get(sealConfigKey))?.revision ?? 'absent'

export type SealRevision = number | 'absent'

export const sealConfigRecord = (config: SealConfig) => ({
  key: sealConfigKey,
  value: Buffer.from(JSON.stringify(config)),
})

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
