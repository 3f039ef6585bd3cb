import type { View, ViewEntry } from '../../../core/barrier/view.ts'
import { fail } from '../../../errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import { hex, type Random } from '../../../lib/random.ts'
import { writeAttempts } from '../../../core/stored-record.ts'
import type { Made } from '../upstream/tenant.ts'
import type { Intent } from './intent.ts'

/** An intent as stored. `since` is milliseconds since the epoch. */
export type StoredIntent = Made & { readonly id: string; readonly since: number; readonly intent: Intent }

export type StoredIntentsParts = { readonly view: View; readonly clock: Clock; readonly random: Random }

const prefix = 'intent/'

/** The records of one mount's intents. Their ids tell which life of the server made them. */
export class StoredIntents {
  readonly #view: View
  readonly #clock: Clock
  readonly #life: string
  #made = 0

  constructor({ view, clock, random }: StoredIntentsParts) {
    this.#view = view.view('', { numbers: 'plain' })
    this.#clock = clock
    this.#life = hex(random, 16)
  }

  /** Whether this life of the server made it: then whoever did still holds it. */
  isOurs(id: string): boolean {
    return id.startsWith(`${this.#life}-`)
  }

  entry(intent: Intent, tenant: string | undefined): { readonly id: string; readonly entry: ViewEntry } {
    this.#made += 1
    const id = `${this.#life}-${String(this.#made).padStart(12, '0')}`
    return {
      id,
      entry: this.#view.fromRoot({
        key: prefix + id,
        value: { since: this.#clock.now(), intent, ...(tenant === undefined ? {} : { tenant_id: tenant }) },
        expect: 'absent',
      }),
    }
  }

  removal(id: string): ViewEntry {
    return this.#view.fromRoot({ key: prefix + id, value: undefined })
  }

  async write(entries: readonly ViewEntry[]): Promise<void> {
    if (!(await this.#view.write(entries))) throw new Error('the id of an intent was given twice')
  }

  /** Those that are gone are left out. */
  async amend(ids: readonly string[], known: object): Promise<void> {
    for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
      const found = await Promise.all(
        ids.map(async (id) => ({ id, record: await this.#view.read(prefix + id) })),
      )
      const entries = found.flatMap(({ id, record }): ViewEntry[] => {
        if (record === undefined) return []
        const { id: _id, intent, ...rest } = stored(id, record.value)
        return [
          { key: prefix + id, value: { ...rest, intent: { ...intent, ...known } }, expect: record.revision },
        ]
      })
      if (entries.length === 0 || (await this.#view.write(entries))) return
    }
    throw fail('unavailable', 'too many changes to one intent at a time')
  }

  async find(id: string): Promise<StoredIntent | undefined> {
    const found = await this.#view.get(prefix + id)
    return found === undefined ? undefined : stored(id, found)
  }

  /** The oldest life first is not promised; within one life in the order they were made. */
  async all(): Promise<StoredIntent[]> {
    return (await this.#view.list(prefix)).map(({ key, value }) => stored(key.slice(prefix.length), value))
  }
}

/** Only this class writes them, and what it reads was sealed by this server. */
const stored = (id: string, value: unknown): StoredIntent => ({ ...(value as Omit<StoredIntent, 'id'>), id })
