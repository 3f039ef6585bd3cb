import type { View } from '../barrier/view.ts'
import { KeyedMutex } from '../../lib/keyed-mutex.ts'
import { type CorsSettings, readCorsSettings } from './cors-settings.ts'

const key = 'cors'

/** Stores the CORS settings and caches them for requests. A write updates the cache before it resolves. */
export class CorsStore {
  readonly #view: View
  readonly #mutex = new KeyedMutex()
  #current: CorsSettings | undefined

  private constructor(view: View) {
    this.#view = view
  }

  /** Reports an unreadable record to `onFailure` and leaves CORS off. */
  static async open({
    view,
    onFailure,
  }: {
    view: View
    onFailure(error: unknown): void
  }): Promise<CorsStore> {
    const store = new CorsStore(view)
    try {
      store.#current = await store.read()
    } catch (error) {
      onFailure(error)
    }
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
      this.#current = settings
    })
  }
}
