import type { View } from '../../../core/barrier/view.ts'
import { NameCipher, openNameKeys } from '../../../core/sealed-names/name-cipher.ts'
import type { Limiter } from '../../../lib/concurrency/limiter.ts'
import { Loaded } from '../../../lib/data/loaded.ts'
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
  readonly config: Loaded<KvConfig>
  readonly first: Loaded<FirstEntries>
  readonly keys: Loaded<Keys>
  readonly #view: View
  readonly #unwatch: () => void

  /** `view` is the mount's own. */
  constructor(view: View, parts: KvMountParts) {
    this.#view = view
    const openCipher = async () => new NameCipher(await openNameKeys(view, parts.random, namesKey))
    this.config = new Loaded(async () => readKvConfig(await view.get(configKey)))
    this.first = new Loaded(async () => FirstEntries.open(view, await openCipher()))
    this.keys = new Loaded(async () => new Keys({ ...parts, view, cipher: await openCipher() }))
    this.#unwatch = view.watch(configKey, () => this.config.drop())
  }

  [Symbol.dispose](): void {
    this.#unwatch()
    for (const opened of [this.first.known, this.keys.known])
      opened?.then((entries) => entries[Symbol.dispose]()).catch(() => undefined)
  }

  /** `change` may run again; an error that it throws aborts the change. */
  async changeConfig(change: (before: KvConfig) => KvConfig): Promise<void> {
    try {
      await this.#view.update(configKey, (stored) => change(readKvConfig(stored)))
    } finally {
      this.config.drop()
    }
  }
}
