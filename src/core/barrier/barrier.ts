import { Buffer } from 'node:buffer'
import { ServiceError, StartError } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import type { BatchEntry, Storage, StoredRecord } from '../../storage/storage.ts'
import type { BackgroundJob } from '../jobs/jobs.ts'
import { defaultKeyLimits, firstKeyring, type KeyLimits, Keyring, type KeyStatus } from './keyring.ts'
import { keyringKey, type RotationRules } from './keyring-record.ts'
import { Resealer, type ResealerLog } from './resealer.ts'
import { newKey, openRootKey, rootKeyKey, sealRootKey } from './root-key.ts'
import { type BarrierLog, type Numbers, SealedView, withTerms } from './sealed-view.ts'
import type { View, ViewEntry } from './view.ts'

type FirstStart = {
  /** An empty storage for the first records, which are then written to the real storage in one step. */
  staging: Storage
  /** Further records in clear text. */
  readonly plain?: readonly Pick<StoredRecord, 'key' | 'value'>[]
  /** Writes the first records through an open barrier. */
  fill(barrier: Barrier): Promise<void>
}

export type BarrierParts = {
  storage: Storage
  /** 32 bytes. */
  sealKey: Uint8Array
  /**
   * The previous seal key. If only this one opens the root key, it is re-encrypted with the new seal key.
   * docs/storage.md#seal-key
   */
  previousSealKey?: Uint8Array
  /** Called once the re-encrypted root key is durable. */
  sealKeyChanged?: () => void
  newTerm?: (term: number) => void
  /** Called when another server has replaced keys, and this one cannot find the new ones. */
  keysLost?: () => void
  clock: Clock
  random: Random
  log: BarrierLog
  /** Fills an empty store; without it an empty store gets only its keys. */
  first?: FirstStart
  limits?: KeyLimits
}

/** Whether the store has no records. Only an empty store may be initialized. */
export const isEmpty = async (storage: Storage): Promise<boolean> =>
  (await storage.listKeys('', { limit: 1 })).length === 0

/**
 * Opens the encryption layer of a store. Initializes an empty store in one atomic write, of which only one
 * succeeds among several servers. Throws a StartError (5) if the seal key does not open the store; nothing is
 * written then. docs/storage.md#seal-key, docs/storage.md#the-barrier
 */
export async function openBarrier(parts: BarrierParts): Promise<Barrier> {
  const initialized = (await isEmpty(parts.storage)) && (await initialize(parts))
  const { storage, log } = parts
  const { keyring, unwatch } = await openKeyring(parts)
  if (parts.newTerm !== undefined) keyring.onNewTerm(parts.newTerm)
  // a store that cannot be written can still be read
  await keyring
    .reserve()
    .catch((err: unknown) =>
      log.error({ event: 'work_failed', key: keyringKey, err }, 'could not reserve encryptions'),
    )
  return new Barrier({ storage, keyring, log, unwatch, initialized })
}

type OpenKeyring = { readonly keyring: Keyring; unwatch(): void }

async function openKeyring(parts: BarrierParts): Promise<OpenKeyring> {
  const { storage, clock, random, limits = defaultKeyLimits } = parts
  const { rootKey, revision } = await loadRootKey(parts)
  const keyring = new Keyring({ storage, rootKey, clock, random, limits })
  // what another server writes from now on is loaded or reported
  const unwatch = storage.shared?.watch(keyringKey, () => follow(keyring, parts)) ?? (() => {})
  try {
    await keyring.load()
    return { keyring, unwatch }
  } catch (cause) {
    unwatch()
    keyring.drop()
    // the storage failed: this says nothing about the key
    if (isUnavailable(cause)) throw cause
    // another server has replaced the root key
    if ((await storage.get(rootKeyKey))?.revision !== revision) return await openKeyring(parts)
    throw new StartError(5, 'seal key does not open this store', { cause })
  }
}

/** Rejects with `unavailable`. */
async function follow(keyring: Keyring, { log, keysLost }: BarrierParts): Promise<void> {
  if (keyring.isDropped) return
  try {
    await keyring.follow()
  } catch (err) {
    if (keyring.isDropped) return
    if (isUnavailable(err)) throw err
    log.error(
      { event: 'record_unreadable', key: keyringKey, err },
      'cannot decrypt the keys that another server has written',
    )
    // nothing may be written any more with a key that others remove
    keyring.drop()
    await keyring.writesSettled()
    keysLost?.()
  }
}

type OpenedParts = OpenKeyring & {
  readonly storage: Storage
  readonly log: BarrierLog
  readonly initialized: boolean
}

/** The keys of an open store, and views through them. */
export class Barrier {
  /** True when this start found an empty store and initialized it. */
  readonly initialized: boolean
  readonly #storage: Storage
  readonly #keyring: Keyring
  readonly #log: BarrierLog
  readonly #unwatch: () => void

  constructor({ storage, keyring, log, unwatch, initialized }: OpenedParts) {
    this.#storage = storage
    this.#keyring = keyring
    this.#log = log
    this.#unwatch = unwatch
    this.initialized = initialized
  }

  /** All records under `prefix`. */
  view(prefix: string, { numbers = 'plain' }: { numbers?: Numbers } = {}): View {
    return this.#view(prefix, numbers)
  }

  #view(prefix: string, numbers: Numbers): SealedView {
    return new SealedView({ storage: this.#storage, keyring: this.#keyring, log: this.#log }, prefix, {
      numbers,
    })
  }

  /**
   * Passes encrypted entries, with keys from the root of the storage, to `write`, which writes them together
   * with others. Throws `sealed` or `unavailable`.
   */
  sealing<T>(
    entries: readonly ViewEntry[],
    write: (records: readonly BatchEntry[]) => Promise<T>,
  ): Promise<T> {
    return this.#view('', 'plain').sealing(entries, write)
  }

  /**
   * Encrypts text for a client to hold, readable at least until `until` (milliseconds). `purpose` is
   * associated data; no storage key starts with `out/`, so a stored record cannot pass for such a text.
   * Counts as an encryption; throws `sealed` or `unavailable`.
   */
  async sealText(purpose: `out/${string}`, text: string, until = Number.MAX_SAFE_INTEGER): Promise<Buffer> {
    await this.#keyring.ensure(1)
    await this.#keyring.handOut(until)
    return this.#keyring.seal(purpose, Buffer.from(text))
  }

  /** Decrypts a text of `sealText` with the same purpose; undefined for any other bytes. Throws `sealed`. */
  async openText(purpose: `out/${string}`, sealed: Uint8Array): Promise<string | undefined> {
    const open = () => this.#keyring.open(purpose, sealed).toString('utf8')
    try {
      return await withTerms({ storage: this.#storage, keyring: this.#keyring }, async () => open())
    } catch (error) {
      if (error instanceof ServiceError) throw error
      return undefined
    }
  }

  isSealed(): boolean {
    return this.#keyring.isDropped
  }

  /** Erases all keys; later calls through views reject with `sealed`. */
  seal(): void {
    this.#unwatch()
    this.#keyring.drop()
  }

  /** Like `seal`, after everything is written: what was reserved for further encryptions does not count as used. */
  async finish(): Promise<void> {
    // otherwise it counts as used
    await this.#keyring.giveBack().catch(() => {})
    this.seal()
  }

  /** Starts a new key term. Throws `sealed` or `unavailable`. */
  rotate(): Promise<KeyStatus> {
    return this.#keyring.rotate()
  }

  async opensRootKey(sealKey: Uint8Array): Promise<boolean> {
    const record = await this.#storage.get(rootKeyKey)
    const rootKey = record && openRootKey(sealKey, record)
    rootKey?.fill(0)
    return rootKey !== undefined
  }

  /**
   * Replaces the root key and the seal key: the new ones alone open the store from then on. Writes the
   * unencrypted records `also` in the same step. False, without any write, if the keys were written meanwhile
   * or an expectation of `also` does not hold. Throws `sealed`.
   */
  rekey(sealKey: Uint8Array, also: readonly BatchEntry[] = []): Promise<boolean> {
    return this.#keyring.stored.rekey(sealKey, also)
  }

  /**
   * Replaces the root key: encrypts the keyring with a new one, and that with the seal key, in one write.
   * Throws `sealed`, and `invalid` if this is not the seal key of the store.
   */
  rotateRootKey(sealKey: Uint8Array): Promise<void> {
    return this.#keyring.stored.rotateRootKey(sealKey)
  }

  /** Re-encrypts records of older terms in the background and removes unused terms. Start only one. */
  resealing(log: ResealerLog, onRun?: BackgroundJob['ran']): Resealer {
    return new Resealer({ storage: this.#storage, keyring: this.#keyring, log, onRun })
  }

  /** The rules for automatic rotation. Throws `sealed`. */
  rotationRules(): RotationRules {
    return this.#keyring.rotationRules()
  }

  /** `change` must be pure; it may throw to refuse. */
  changeRotationRules(change: (rules: RotationRules) => RotationRules): Promise<void> {
    return this.#keyring.changeRotationRules(change)
  }

  /** Throws `sealed`. */
  keyStatus(): KeyStatus {
    return this.#keyring.status()
  }
}

/** False if another server initialized the store first. */
async function initialize(parts: BarrierParts): Promise<boolean> {
  const keys = firstKeys(parts)
  const records = parts.first === undefined ? keys : await stage(parts, parts.first, keys)
  try {
    return await parts.storage.write(records.map(({ key, value }) => ({ key, value, expect: 'absent' })))
  } catch (cause) {
    if (!isUnavailable(cause)) throw cause
    throw new StartError(2, `cannot initialize the store: ${cause.message}`, { cause })
  }
}

function firstKeys({ sealKey, clock, random }: BarrierParts): Pick<StoredRecord, 'key' | 'value'>[] {
  const rootKey = newKey(random)
  const records = [
    { key: rootKeyKey, value: sealRootKey(rootKey, sealKey, random) },
    { key: keyringKey, value: firstKeyring({ rootKey, clock, random }) },
  ]
  rootKey.fill(0)
  return records
}

/** Creates the first records in the staging storage, encrypted as for the real storage. */
async function stage(
  parts: BarrierParts,
  { staging, plain = [], fill }: FirstStart,
  keys: ReturnType<typeof firstKeys>,
): Promise<StoredRecord[]> {
  await staging.write([...keys, ...plain])
  const barrier = await openBarrier({ ...parts, storage: staging })
  try {
    await fill(barrier)
  } finally {
    await barrier.finish()
  }
  return await staging.list('')
}

/**
 * Decrypts the root key with the seal key or the previous one. A store that cannot be written can still be
 * read.
 */
async function loadRootKey({
  storage,
  sealKey,
  previousSealKey,
  sealKeyChanged,
  random,
  log,
}: BarrierParts): Promise<{ rootKey: Buffer; revision: number }> {
  const record = await storage.get(rootKeyKey)
  const opened = record === undefined ? undefined : openRootKey(sealKey, record)
  if (record !== undefined && opened !== undefined) return { rootKey: opened, revision: record.revision }
  const previous =
    record === undefined || previousSealKey === undefined ? undefined : openRootKey(previousSealKey, record)
  if (record === undefined || previous === undefined)
    throw new StartError(5, 'seal key does not open this store')
  try {
    const isWritten = await storage.write([
      { key: rootKeyKey, value: sealRootKey(previous, sealKey, random), expect: record.revision },
    ])
    if (isWritten) sealKeyChanged?.()
  } catch (err) {
    if (!isUnavailable(err)) throw err
    log.error(
      { event: 'work_failed', key: rootKeyKey, err },
      'could not change the seal key; the previous one still opens this store',
    )
  }
  return { rootKey: previous, revision: record.revision }
}

const isUnavailable = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.kind === 'unavailable'
