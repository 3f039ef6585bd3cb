import type { View } from '../barrier/view.ts'
import { KeyedMutex } from '../../lib/keyed-mutex.ts'
import { FollowedRecords } from '../followed-records.ts'
import { type CorsSettings, readCorsSettings } from './cors-settings.ts'

const key = 'cors'

type CorsParts = {
  readonly view: View
  /** Called for an unreadable record. */
  onFailure(error: unknown): void
}

/** Stores the CORS settings and caches them for requests. A write updates the cache before it resolves. */
export class CorsStore {
  readonly #view: View
  readonly #mutex = new KeyedMutex()
  readonly #followed: FollowedRecords
  #current: CorsSettings | undefined

  private constructor({ view, onFailure }: CorsParts) {
    this.#view = view
    this.#followed = new FollowedRecords({
      ...{ view, prefix: key, onFailure, known: () => [key] },
      apply: ([record]) => {
        this.#current = undefined
        try {
          this.#current = record && readCorsSettings(record.value)
        } catch (error) {
          onFailure(error)
        }
      },
    })
  }

  /** Reports an unreadable record to `onFailure` and leaves CORS off. */
  static async open(parts: CorsParts): Promise<CorsStore> {
    const store = new CorsStore(parts)
    await store.#followed
      .follow(async () => {
        store.#current = await store.read()
      })
      .catch(parts.onFailure)
    return store
  }

  /** Undefined while CORS is off; otherwise the same object until the settings change. */
  get current(): CorsSettings | undefined {
    return this.#current
  }

  /** The stored settings. */
  async read(): Promise<CorsSettings | undefined> {
    const record = await this.#view.get(key)
    return record === undefined ? undefined : readCorsSettings(record)
  }

  /** Undefined turns CORS off. Applies to requests that start after it resolves. */
  async put(settings: CorsSettings | undefined): Promise<void> {
    await this.#mutex.runExclusive(key, async () => {
      await this.#view.write([{ key, value: settings }])
      this.#followed.changed()
      this.#current = settings
    })
  }
}
