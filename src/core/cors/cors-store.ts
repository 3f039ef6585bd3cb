import type { View } from '../barrier/view.ts'
import { KeyedMutex } from '../keyed-mutex.ts'
import { type CorsSettings, readCorsSettings } from './cors-settings.ts'

const key = 'cors'

/**
 * The one record of what other origins may do, and the copy that every request looks at: it follows each
 * commit before its writer is answered.
 */
export class CorsStore {
  readonly #view: View
  readonly #turns = new KeyedMutex()
  #current: CorsSettings | undefined

  private constructor(view: View) {
    this.#view = view
  }

  /**
   * A record that can not be read, which `onFailure` is told, counts as none: then no page of another origin
   * reads anything.
   */
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

  /** Undefined while other origins are not served; otherwise the same object until the settings change. */
  get current(): CorsSettings | undefined {
    return this.#current
  }

  /** The settings as they are stored. */
  async read(): Promise<CorsSettings | undefined> {
    const record = await this.#view.get(key)
    return record === undefined ? undefined : readCorsSettings(record)
  }

  /** `undefined` ends it. Holds for each request that begins afterwards. */
  async put(settings: CorsSettings | undefined): Promise<void> {
    await this.#turns.take(key, async () => {
      await this.#view.write([{ key, value: settings }])
      this.#current = settings
    })
  }
}
