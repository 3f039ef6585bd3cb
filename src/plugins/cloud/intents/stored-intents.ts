import type { View, ViewEntry } from '../../../core/barrier/view.ts'
import { fail } from '../../../errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import { hex, type Random } from '../../../lib/random.ts'
import { writeAttempts } from '../../../core/stored-record.ts'
import type { CreatedInTenant } from '../upstream/tenant.ts'
import type { Intent } from './intent.ts'

/** A stored intent. `since` is in milliseconds since the epoch. */
export type StoredIntent = CreatedInTenant & {
  readonly id: string
  readonly since: number
  readonly intent: Intent
}

export type StoredIntentsParts = { readonly view: View; readonly clock: Clock; readonly random: Random }

const prefix = 'intent/'

/**
 * The intent records of one mount. An id begins with a random prefix of the process that created the record.
 */
export class StoredIntents {
  readonly #view: View
  readonly #clock: Clock
  readonly #processId: string
  #made = 0

  constructor({ view, clock, random }: StoredIntentsParts) {
    this.#view = view.view('', { numbers: 'plain' })
    this.#clock = clock
    this.#processId = hex(random, 16)
  }

  /** Whether this process created the record, so that the request that did may still be running. */
  isOurs(id: string): boolean {
    return id.startsWith(`${this.#processId}-`)
  }

  entry(intent: Intent, tenant: string | undefined): { readonly id: string; readonly entry: ViewEntry } {
    this.#made += 1
    const id = `${this.#processId}-${String(this.#made).padStart(12, '0')}`
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

  /** Adds what became known since. Skips records that no longer exist. */
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

  /** Intents of one process come in the order in which they were stored; processes come in any order. */
  async all(): Promise<StoredIntent[]> {
    return (await this.#view.list(prefix)).map(({ key, value }) => stored(key.slice(prefix.length), value))
  }
}

/** The cast is safe: only this class writes these records, and the barrier authenticates them. */
const stored = (id: string, value: unknown): StoredIntent => ({ ...(value as Omit<StoredIntent, 'id'>), id })
