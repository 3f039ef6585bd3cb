import type { View } from '../../../core/barrier/view.ts'
import { type Config, type ReadyConfig, readConfig } from './config.ts'

const key = 'config'

/** The configuration of one mount, with a copy in memory, which follows the writes of other servers. */
export class StoredConfig implements Disposable {
  readonly #view: View
  readonly #unwatch: () => void
  #ready: Promise<ReadyConfig | undefined> | undefined

  constructor(view: View) {
    this.#view = view
    this.#unwatch = view.watch(key, () => {
      this.#ready = undefined
    })
  }

  [Symbol.dispose](): void {
    this.#unwatch()
  }

  /** The key of the record, from the root of the storage. */
  get recordKey(): string {
    return this.#view.fromRoot({ key, value: undefined }).key
  }

  /** Undefined if the mount was never configured. */
  find(): Promise<ReadyConfig | undefined> {
    this.#ready ??= this.#load()
    return this.#ready
  }

  /** Keeps neither an absence nor a failure. */
  async #load(): Promise<ReadyConfig | undefined> {
    let ready: ReadyConfig | undefined
    try {
      const stored = await this.#view.get(key)
      ready = stored === undefined ? undefined : readConfig(stored)
      return ready
    } finally {
      if (ready === undefined) this.#ready = undefined
    }
  }

  /** `written`: now, in milliseconds since the epoch. If `check` throws, nothing is written. */
  async write(config: Config, written: number, check?: (stored: Config | undefined) => void): Promise<void> {
    const value = { ...config, written }
    try {
      if (check === undefined) await this.#view.write([{ key, value }])
      else
        await this.#view.update(key, (stored) => {
          check(stored === undefined ? undefined : readConfig(stored).config)
          return value
        })
    } finally {
      this.#ready = undefined
    }
  }
}
