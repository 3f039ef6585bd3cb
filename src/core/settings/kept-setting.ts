import { KeyedMutex } from '../../lib/concurrency/keyed-mutex.ts'
import type { View } from '../barrier/view.ts'
import { FollowedRecords } from '../records/followed-records.ts'

export type KeptSettingParts<Value> = {
  readonly view: View
  readonly key: string
  /** Throws if the record is invalid. */
  parse(record: unknown): Value
  /** Whether `open` rejects if the record cannot be read. */
  readonly isRequired?: boolean
  /** Called for an unreadable record. */
  onFailure(error: unknown): void
}

/** One setting in one record, kept in memory for requests. A change is in memory before it resolves. */
export class KeptSetting<Value extends object> {
  readonly #parts: KeptSettingParts<Value>
  readonly #mutex = new KeyedMutex()
  readonly #followed: FollowedRecords
  #current: Value | undefined

  private constructor(parts: KeptSettingParts<Value>) {
    const { view, key, parse, onFailure } = parts
    this.#parts = parts
    this.#followed = new FollowedRecords({
      view,
      prefix: key,
      onFailure,
      known: () => [key],
      apply: ([record]) => {
        this.#current = undefined
        try {
          this.#current = record && parse(record.value)
        } catch (error) {
          onFailure(error)
        }
      },
    })
  }

  /** Reports an unreadable record to `onFailure`, unless it is required; it counts as absent. */
  static async open<Value extends object>(parts: KeptSettingParts<Value>): Promise<KeptSetting<Value>> {
    const setting = new KeptSetting(parts)
    await setting.#followed
      .follow(async () => {
        setting.#current = await setting.read()
      })
      .catch((error: unknown) => {
        if (parts.isRequired === true) throw error
        parts.onFailure(error)
      })
    return setting
  }

  /** The key of the record, from the root of the storage. */
  get recordKey(): string {
    const { view, key } = this.#parts
    return view.fromRoot({ key, value: undefined }).key
  }

  /** Undefined while it is absent; otherwise the same object until it changes. */
  get current(): Value | undefined {
    return this.#current
  }

  /** As stored. */
  async read(): Promise<Value | undefined> {
    const { view, key } = this.#parts
    return this.#parsed(await view.get(key))
  }

  /** Undefined removes it. Applies to requests that start after it resolves. */
  put(value: Value | undefined): Promise<void> {
    const { view, key } = this.#parts
    return this.#keep(async () => {
      await view.write([{ key, value }])
      return value
    })
  }

  /** Like `put`, of what `change` makes of the stored value. It must be pure, and may be called again. */
  change(change: (stored: Value | undefined) => Value | undefined): Promise<void> {
    const { view, key } = this.#parts
    return this.#keep(async () =>
      this.#parsed(await view.update(key, (stored) => change(this.#parsed(stored)))),
    )
  }

  #keep(write: () => Promise<Value | undefined>): Promise<void> {
    return this.#mutex.runExclusive(this.#parts.key, async () => {
      const written = await write()
      this.#followed.changed()
      this.#current = written
    })
  }

  #parsed(record: unknown): Value | undefined {
    return record === undefined ? undefined : this.#parts.parse(record)
  }
}
