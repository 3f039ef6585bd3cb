import type { View } from '../../core/barrier/view.ts'
import { fail } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { Limiter } from '../../lib/limiter.ts'
import { FirstEntries } from './first-entries.ts'
import { Keys } from './keys.ts'
import { type KvConfig, readKvConfig } from './kv-config.ts'
import { NameCipher } from './name-cipher.ts'

export type KvMountParts = {
  readonly clock: Clock
  readonly random: Random
  /** Admits one call at a time that reads much data. */
  readonly large: Limiter
  onFailure(error: unknown): void
}

const configKey = 'config'
const namesKey = 'names'
const secretBytes = 32

/** What one mount stores, of both versions. */
export class KvMount implements Disposable {
  readonly first: FirstEntries
  /** No entry of version 1 is left. */
  isUpgraded = false
  readonly #view: View
  readonly #parts: KvMountParts
  readonly #unwatch: () => void
  #config: Promise<KvConfig> | undefined
  #keys: Promise<Keys> | undefined
  readonly #listeners = new Set<(path: string | undefined) => void>()

  /** `view` is the mount's own. */
  constructor(view: View, parts: KvMountParts) {
    this.#view = view
    this.#parts = parts
    this.first = new FirstEntries(view)
    this.#unwatch = view.watch(configKey, () => {
      this.#config = undefined
    })
  }

  [Symbol.dispose](): void {
    this.#unwatch()
    this.first[Symbol.dispose]()
    this.#keys?.then((keys) => keys[Symbol.dispose]()).catch(() => undefined)
  }

  /** Calls `listener` with the paths of keys that change; undefined: any may have. */
  onChange(listener: (path: string | undefined) => void): void {
    this.#listeners.add(listener)
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

  /** The keys of version 2. */
  keys(): Promise<Keys> {
    this.#keys ??= this.#openKeys().catch((error) => {
      this.#keys = undefined
      throw error
    })
    return this.#keys
  }

  async #openKeys(): Promise<Keys> {
    const fresh = Buffer.from(this.#parts.random.bytes(secretBytes)).toString('base64')
    await this.#view.putIfAbsent(namesKey, fresh)
    const stored = await this.#view.get(namesKey)
    const secret = Buffer.from(typeof stored === 'string' ? stored : '', 'base64')
    if (secret.length !== secretBytes)
      throw fail('internal', 'internal error', { cause: new Error('the key of names cannot be read') })
    return new Keys({
      ...{ view: this.#view, cipher: new NameCipher(secret) },
      ...{ clock: this.#parts.clock, large: this.#parts.large },
      onFailure: this.#parts.onFailure,
      onChange: (path) => {
        for (const listener of this.#listeners) listener(path)
      },
    })
  }
}
