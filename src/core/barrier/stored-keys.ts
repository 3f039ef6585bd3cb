import type { Buffer } from 'node:buffer'
import type { StoredRecord } from '../../storage/storage.ts'
import { keyringKey, openRing, type Term, wipe } from './keyring-record.ts'
import { restorationKey } from './restoration-note.ts'
import { openRootKey, rootKeyKey } from './root-key.ts'
import { handOverKey } from './root-key-handover.ts'
import { sealConfigKey, sealEpochKey } from './seal-config.ts'
import { openValue, termOf } from './sealed-value.ts'

/** Records that no data key has sealed. */
const withoutTerm: ReadonlySet<string> = new Set([
  ...[rootKeyKey, keyringKey, handOverKey],
  ...[sealConfigKey, sealEpochKey, restorationKey],
])

export type ReadStored = (key: string) => StoredRecord | undefined | Promise<StoredRecord | undefined>

/** The data keys of a store, for a process that only reads it. */
export class StoredKeys implements Disposable {
  readonly #terms: readonly Term[]

  private constructor(terms: readonly Term[]) {
    this.#terms = terms
  }

  /** Undefined if this is not the seal key of the store. Throws if the keyring is missing or damaged. */
  static async open(read: ReadStored, sealKey: Uint8Array): Promise<StoredKeys | undefined> {
    const record = await read(rootKeyKey)
    const rootKey = record && openRootKey(sealKey, record)
    if (rootKey === undefined) return undefined
    try {
      const keyring = await read(keyringKey)
      if (keyring === undefined) throw new Error(`${keyringKey} is missing`)
      return new StoredKeys(openRing(keyring.value, rootKey).terms)
    } finally {
      rootKey.fill(0)
    }
  }

  /** The content of a record; undefined for the few that no data key has sealed. Throws if it does not open. */
  unseal(key: string, value: Uint8Array): Buffer | undefined {
    if (withoutTerm.has(key)) return undefined
    const term = this.#terms.find((one) => one.term === termOf(value))
    if (term === undefined) throw new Error('not sealed under a known term')
    return openValue(term.key, key, value)
  }

  [Symbol.dispose](): void {
    wipe(this.#terms)
  }
}
