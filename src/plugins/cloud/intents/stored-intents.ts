import type { View, ViewEntry } from '../../../core/barrier/view.ts'
import { Changes } from '../../../core/records/change.ts'
import type { Servers } from '../../../core/servers/servers.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import { hex, type Random } from '../../../lib/system/random.ts'
import type { CreatedInTenant } from '../upstream/tenant.ts'
import type { Intent } from './intent.ts'

/** A stored intent. `since` is in milliseconds since the epoch. */
export type StoredIntent = CreatedInTenant & {
  readonly id: string
  readonly since: number
  readonly intent: Intent
  /** The id of the server that works on it; those of earlier versions have none. */
  readonly owner?: string
  /** When an undo began, in milliseconds since the epoch. Absent while a request may still be working on it. */
  readonly undo_since?: number
  /** Stored when an undo begins: whether a call may still take effect. */
  readonly underway?: boolean
  /** Failed attempts to undo it, and why the last one failed. */
  readonly tries?: number
  readonly error?: string
}

/** Whether somebody has begun to undo it. Earlier versions stored that only with the first failure. */
export const isBeingUndone = ({ undo_since, error }: StoredIntent): boolean =>
  undo_since !== undefined || error !== undefined

export type StoredIntentsParts = {
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  readonly servers: Pick<Servers, 'ownId'>
}

const prefix = 'intent/'

/**
 * Each record has an owner, the server that works on it; another takes over what a server that is gone has left.
 * Writes expect the record as it was read, so a server that was only paused neither ends nor settles what is no
 * longer its own.
 */
export class StoredIntents {
  readonly #view: View
  readonly #clock: Clock
  readonly #ownId: string
  readonly #prefix: string
  readonly #changes: Changes
  #made = 0

  constructor({ view, clock, random, servers }: StoredIntentsParts) {
    // nobody copies intents
    this.#view = view.view('', { numbers: 'plain', isUncopied: true })
    this.#changes = new Changes({ view: this.#view, tooMany: 'too many changes to one intent at a time' })
    this.#clock = clock
    this.#ownId = servers.ownId
    this.#prefix = hex(random, 16)
  }

  isOurs({ owner }: StoredIntent): boolean {
    return owner === this.#ownId
  }

  entry(intent: Intent, tenant: string | undefined): { readonly id: string; readonly entry: ViewEntry } {
    this.#made += 1
    const id = `${this.#prefix}-${String(this.#made).padStart(12, '0')}`
    const since = this.#clock.now()
    const inTenant = tenant === undefined ? {} : { tenant_id: tenant }
    return {
      id,
      entry: this.#view.fromRoot({
        key: prefix + id,
        value: { since, intent, owner: this.#ownId, ...inTenant },
        expect: 'absent',
      }),
    }
  }

  async write(entries: readonly ViewEntry[]): Promise<void> {
    if (!(await this.#view.write(entries))) throw new Error('the id of an intent was given twice')
  }

  /** Adds what became known since. Skips records that no longer exist. */
  async amend(ids: readonly string[], known: object): Promise<void> {
    await this.#change(ids, ({ intent, ...rest }) => ({ ...rest, intent: { ...intent, ...known } }))
  }

  /** Records, for other servers, that an undo begins. Skips what belongs to another server. */
  async begun(ids: readonly string[], underway: boolean): Promise<void> {
    const undo_since = this.#clock.now()
    await this.#change(ids, (one) =>
      this.isOurs(one) && one.undo_since === undefined ? { ...one, undo_since, underway } : one,
    )
  }

  /** Records a failed attempt, for other servers. Skips what belongs to another server. */
  async failed(
    id: string,
    failure: Required<Pick<StoredIntent, 'tries' | 'error' | 'undo_since' | 'underway'>>,
  ): Promise<void> {
    await this.#change([id], (one) => (this.isOurs(one) ? { ...one, ...failure } : one))
  }

  /** Deletes those that belong to this server. */
  async settle(ids: readonly string[]): Promise<void> {
    await this.#change(ids, (one) => (this.isOurs(one) ? undefined : one))
  }

  /** Deletes those whose undo is complete: another server may have taken them over meanwhile. */
  async forget(ids: readonly string[]): Promise<void> {
    await this.#change(ids, () => undefined)
  }

  /** Entries that delete the records if they still belong to this server then. Undefined if one does not. */
  async settling(ids: readonly string[]): Promise<ViewEntry[] | undefined> {
    const found = await this.#read(ids)
    if (found.length < ids.length || !found.every(({ stored }) => this.isOurs(stored))) return undefined
    return found.map(({ stored: { id }, revision }) =>
      this.#view.fromRoot({ key: prefix + id, value: undefined, expect: revision }),
    )
  }

  /** Makes this server the owner, which undoes it from now on. Undefined if its owner has changed since. */
  async take({ id, owner }: StoredIntent): Promise<StoredIntent | undefined> {
    let taken: StoredIntent | undefined
    await this.#change([id], (now) => {
      const { undo_since = this.#clock.now() } = now
      taken = now.owner === owner ? { ...now, undo_since, owner: this.#ownId } : undefined
      return taken ?? now
    })
    return taken
  }

  /** Writes what `change` returns for each record: undefined deletes it, the record itself leaves it. */
  async #change(
    ids: readonly string[],
    change: (before: StoredIntent) => StoredIntent | undefined,
  ): Promise<void> {
    await this.#changes.runUnordered(async (write) => {
      const entries = (await this.#read(ids)).flatMap(({ stored: before, revision }): ViewEntry[] => {
        const after = change(before)
        if (after === before) return []
        const { id: _id, ...value } = after ?? before
        return [{ key: prefix + before.id, value: after === undefined ? undefined : value, expect: revision }]
      })
      await write(entries)
    })
  }

  async #read(ids: readonly string[]): Promise<{ stored: StoredIntent; revision: number }[]> {
    const records = await Promise.all(
      ids.map(async (id) => ({ id, record: await this.#view.read(prefix + id) })),
    )
    return records.flatMap(({ id, record }) =>
      record === undefined ? [] : [{ stored: stored(id, record.value), revision: record.revision }],
    )
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
