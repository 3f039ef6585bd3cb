import type { View } from '../../../core/barrier/view.ts'
import { NameCipher, openNameKeys } from '../../../core/sealed-names/name-cipher.ts'
import type { Limiter } from '../../../lib/concurrency/limiter.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import type { Random } from '../../../lib/system/random.ts'
import { FirstEntries } from './first-entries.ts'
import { Keys } from './keys.ts'
import { type KvConfig, readKvConfig } from './kv-config.ts'

export type KvMountParts = {
  readonly clock: Clock
  readonly random: Random
  /** Admits one call at a time that reads much data. */
  readonly large: Limiter
  onFailure(error: unknown): void
  /** Called with the paths of keys that change; undefined: any may have. */
  onChange(path: string | undefined): void
}

const configKey = 'config'
const namesKey = 'names'

export class KvMount implements Disposable {
  /** No entry of version 1 is left. */
  isUpgraded = false
  readonly #view: View
  readonly #parts: KvMountParts
  readonly #unwatch: () => void
  #config: Promise<KvConfig> | undefined
  #first: Promise<FirstEntries> | undefined
  #keys: Promise<Keys> | undefined

  /** `view` is the mount's own. */
  constructor(view: View, parts: KvMountParts) {
    this.#view = view
    this.#parts = parts
    this.#unwatch = view.watch(configKey, () => {
      this.#config = undefined
    })
  }

  [Symbol.dispose](): void {
    this.#unwatch()
    for (const opened of [this.#first, this.#keys])
      opened?.then((entries) => entries[Symbol.dispose]()).catch(() => undefined)
  }

  config(): Promise<KvConfig> {
    this.#config ??= this.#view.get(configKey).then(readKvConfig, (error) => {
      this.#config = undefined
      throw error
    })
    return this.#config
  }

  /** `change` may run again; an error that it throws aborts the change. */
  async changeConfig(change: (before: KvConfig) => KvConfig): Promise<void> {
    try {
      await this.#view.update(configKey, (stored) => change(readKvConfig(stored)))
    } finally {
      this.#config = undefined
    }
  }

  first(): Promise<FirstEntries> {
    this.#first ??= this.#openFirst().catch((error) => {
      this.#first = undefined
      throw error
    })
    return this.#first
  }

  keys(): Promise<Keys> {
    this.#keys ??= this.#openKeys().catch((error) => {
      this.#keys = undefined
      throw error
    })
    return this.#keys
  }

  async #openCipher(): Promise<NameCipher> {
    return new NameCipher(await openNameKeys(this.#view, this.#parts.random, namesKey))
  }

  async #openFirst(): Promise<FirstEntries> {
    return FirstEntries.open(this.#view, await this.#openCipher())
  }

  async #openKeys(): Promise<Keys> {
    return new Keys({ ...this.#parts, view: this.#view, cipher: await this.#openCipher() })
  }
}
