import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../../lib/clock.ts'
import { keep } from '../../storage/storage.ts'
import type { View } from '../barrier/view.ts'
import type { Signature } from './chain-records.ts'
import type { StoredHead } from './device.ts'

/** A key that signs or signed checkpoints. docs/contract/audit.md#keys-and-heads */
const listedKey = z.object({
  key_id: z.string(),
  /** Base64 of the DER form (SubjectPublicKeyInfo). */
  public_key: z.string(),
  created_time: z.string(),
  /** When another key replaced it; empty while it signs. */
  retired_time: z.string(),
})
export type ChainKey = z.output<typeof listedKey>

/** All keys, the current one last. Only that one still has its private key. */
const storedKeys = z.object({ keys: z.array(listedKey), private_key: z.string() })
type StoredKeys = z.output<typeof storedKeys>

const storedHead = z.object({
  device: z.string(),
  replica: z.string(),
  id: z.string(),
  seq: z.number(),
  hash: z.string(),
  time: z.string(),
  is_final: z.boolean(),
})
type DeviceHead = z.output<typeof storedHead>

const keysKey = 'audit/chain-keys'
const headPrefix = 'audit/chain-heads/'

/** Signs checkpoints, and stores the keys and the last signed position of each chain behind the barrier. */
export class AuditChainKeys {
  readonly #view: View
  readonly #clock: Clock
  #keys: readonly ChainKey[]
  #privateKey: KeyObject

  private constructor({ view, clock }: ChainKeyParts, stored: StoredKeys) {
    this.#view = view
    this.#clock = clock
    this.#keys = stored.keys
    this.#privateKey = privateKeyOf(stored)
  }

  /** Creates the first key if there is none. */
  static async open(parts: ChainKeyParts): Promise<AuditChainKeys> {
    const { view, clock } = parts
    const first = (current: unknown) => (current === undefined ? withNewKey(undefined, isoTime(clock)) : keep)
    const stored = await view.update(keysKey, first)
    return new AuditChainKeys(parts, storedKeys.parse(stored))
  }

  /** Signs with the current key. */
  sign(text: string): Signature {
    const { key_id = '', public_key = '' } = this.#keys.at(-1) ?? {}
    return {
      key_id,
      public_key,
      signature: sign(null, Buffer.from(text), this.#privateKey).toString('base64'),
    }
  }

  /** Oldest first. */
  get keys(): readonly ChainKey[] {
    return this.#keys
  }

  /** Replaces the key. What the former one has signed remains valid. */
  async rotate(): Promise<void> {
    const time = isoTime(this.#clock)
    const change = (current: unknown) => withNewKey(storedKeys.optional().parse(current), time)
    const stored = storedKeys.parse(await this.#view.update(keysKey, change))
    this.#keys = stored.keys
    this.#privateKey = privateKeyOf(stored)
  }

  async heads(): Promise<DeviceHead[]> {
    const records = await this.#view.list(headPrefix)
    return records.map(({ value }) => storedHead.parse(value))
  }

  async headOf(device: string, replica: string): Promise<StoredHead | undefined> {
    return storedHead.optional().parse(await this.#view.get(headKey(device, replica)))
  }

  async storeHead(device: string, replica: string, head: StoredHead): Promise<void> {
    const { id, seq, hash, time, is_final } = head
    const value: DeviceHead = { device, replica, id, seq, hash, time, is_final }
    await this.#view.write([{ key: headKey(device, replica), value }])
  }

  /** The device is gone; a new one with its path starts a new chain unless its file says otherwise. */
  async forget(device: string): Promise<void> {
    await this.#view.deletePrefix(headPrefixOf(device))
  }
}

export type ChainKeyParts = { readonly view: View; readonly clock: Clock }

const isoTime = (clock: Clock): string => new Date(clock.now()).toISOString()

const headPrefixOf = (device: string) => `${headPrefix}${encodeURIComponent(device)}/`

const headKey = (device: string, replica: string) => `${headPrefixOf(device)}${encodeURIComponent(replica)}`

function withNewKey(before: StoredKeys | undefined, time: string): StoredKeys {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const publicDer = publicKey.export({ format: 'der', type: 'spki' })
  const key_id = createHash('sha256').update(publicDer).digest('hex').slice(0, 32)
  const key = { key_id, public_key: publicDer.toString('base64'), created_time: time, retired_time: '' }
  const former = (before?.keys ?? []).map((old) =>
    old.retired_time === '' ? { ...old, retired_time: time } : old,
  )
  return {
    keys: [...former, key],
    private_key: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
  }
}

const privateKeyOf = ({ private_key }: StoredKeys): KeyObject =>
  createPrivateKey({ key: Buffer.from(private_key, 'base64'), format: 'der', type: 'pkcs8' })
