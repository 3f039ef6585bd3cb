import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../../lib/system/clock.ts'
import { keep } from '../../storage/storage.ts'
import type { View } from '../barrier/view.ts'
import { FollowedRecords } from '../records/followed-records.ts'
import type { Signature } from './checkpoint.ts'

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

/** The last record of the chain at a checkpoint. */
const storedHead = z.object({
  id: z.string(),
  seq: z.number(),
  hash: z.string(),
  time: z.string(),
  /** Whether the chain was closed there. */
  is_final: z.boolean(),
})
export type StoredHead = Readonly<z.output<typeof storedHead>>

const deviceHead = storedHead.extend({ device: z.string(), replica: z.string() })

const keysKey = 'chain-keys'
const headPrefix = 'chain-heads/'

/** Signs checkpoints, and stores the keys and the last signed position of each chain behind the barrier. */
export class AuditChainKeys {
  readonly #view: View
  /** The stored positions, which no server keeps in memory. */
  readonly #heads: View
  readonly #clock: Clock
  readonly #followed: FollowedRecords
  #keys: readonly ChainKey[] = []
  #privateKey: KeyObject | undefined

  private constructor({ view, clock, onUnreadable }: ChainKeyParts) {
    this.#view = view
    this.#heads = view.view('', { isUncopied: true })
    this.#clock = clock
    this.#followed = new FollowedRecords({
      view,
      prefix: keysKey,
      known: () => [keysKey],
      onFailure: onUnreadable,
      apply: (records) => {
        try {
          for (const { value } of records) this.#use(value)
        } catch (error) {
          onUnreadable(error)
        }
      },
    })
  }

  static async open(parts: ChainKeyParts): Promise<AuditChainKeys> {
    const opened = new AuditChainKeys(parts)
    await opened.#followed.follow(async () => {
      const stored = await parts.view.get(keysKey)
      if (stored !== undefined) opened.#use(stored)
    })
    return opened
  }

  sign(text: string): Signature {
    const current = this.#keys.at(-1)
    if (current === undefined || this.#privateKey === undefined) throw new Error('no device has been opened')
    const { key_id, public_key } = current
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
    await this.#change(change)
  }

  async heads(): Promise<z.output<typeof deviceHead>[]> {
    const records = await this.#view.list(headPrefix)
    return records.map(({ value }) => deviceHead.parse(value))
  }

  /** Where a device that is being opened continues. Creates the key if it is the first device. */
  async headOf(device: string, replica: string): Promise<StoredHead | undefined> {
    const first = (current: unknown) =>
      current === undefined ? withNewKey(undefined, isoTime(this.#clock)) : keep
    if (this.#privateKey === undefined) await this.#change(first)
    return deviceHead.optional().parse(await this.#view.get(headKey(device, replica)))
  }

  async storeHead(device: string, replica: string, head: StoredHead): Promise<void> {
    await this.#heads.write([{ key: headKey(device, replica), value: { device, replica, ...head } }])
  }

  /** The device is gone; a new one with its path starts a new chain unless its file says otherwise. */
  async forget(device: string): Promise<void> {
    await this.#heads.deletePrefix(headPrefixOf(device))
  }

  /** Like `forget`, for one server. */
  async forgetOne(device: string, replica: string): Promise<void> {
    await this.#heads.write([{ key: headKey(device, replica), value: undefined }])
  }

  async #change(change: (current: unknown) => unknown): Promise<void> {
    const changed = await this.#view.update(keysKey, change)
    this.#followed.changed()
    this.#use(changed)
  }

  #use(record: unknown): void {
    const { keys, private_key } = storedKeys.parse(record)
    this.#keys = keys
    const key = Buffer.from(private_key, 'base64')
    this.#privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' })
  }
}

export type ChainKeyParts = {
  /** The records of the audit log. */
  readonly view: View
  readonly clock: Clock
  /** Called for a record of another server that cannot be read. */
  onUnreadable(error: unknown): void
}

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
