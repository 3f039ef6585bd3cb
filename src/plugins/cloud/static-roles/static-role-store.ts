import type { View, ViewEntry } from '../../../core/barrier/view.ts'
import { fail } from '../../../errors.ts'
import { Cache } from '../../../lib/data/cache.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import { allRoles } from '../all-roles.ts'
import { dueAt, readStaticRole, type StaticRole } from './static-role-record.ts'

/** A role as it is stored, with what a write of it expects. */
export type StoredStaticRole = { readonly role: StaticRole; readonly revision: number }

/** A former password that is removed once its grace period is over. */
export type Retirement = {
  readonly role: string
  readonly application_object_id: string
  readonly key_id: string
  readonly tenant_id: string
  /** Milliseconds since the epoch. */
  readonly until: number
}

export type StoredRetirement = Retirement & { readonly revision: number }

const rolePrefix = 'static-role/'
/** One row for each role with a due time, ordered by that. A start reads only those that are due. */
const duePrefix = 'static-due/'
/** One row for each password in its grace period, ordered by its end. */
const retirePrefix = 'static-retire/'
/** Says that the stored passwords are those upstream. A restoration deletes it: `usedOnce` of the plugin. */
export const confirmedPrefix = 'static-confirmed/'
const confirmedKey = `${confirmedPrefix}passwords`

const timeDigits = 16
const timeText = (ms: number): string =>
  String(Math.max(0, Math.min(Math.round(ms), Number.MAX_SAFE_INTEGER))).padStart(timeDigits, '0')
const dueKey = (due: number, name: string): string => `${duePrefix}${timeText(due)}/${name}`
const retireKey = ({ until, key_id }: Pick<Retirement, 'until' | 'key_id'>): string =>
  `${retirePrefix}${timeText(until)}/${key_id}`
const nameAt = duePrefix.length + timeDigits + 1
const timeOf = (key: string, prefix: string): number =>
  Number(key.slice(prefix.length, prefix.length + timeDigits))

/**
 * Records, the order in which they are due, and passwords in their grace periods. Caches records like `MountState`.
 */
export class StaticRoleStore implements Disposable {
  readonly #view: View
  readonly #clock: Clock
  readonly #cache = new Cache<StaticRole>({
    name: 'static roles',
    most: 10_000,
    mostWeight: 16 * 1024 * 1024,
  })
  readonly #unwatch: () => void

  constructor(view: View, clock: Clock) {
    this.#view = view
    this.#clock = clock
    this.#unwatch = view.watch(rolePrefix, (keys) =>
      this.#cache.follow(keys, (key) => key.slice(rolePrefix.length)),
    )
  }

  [Symbol.dispose](): void {
    this.#unwatch()
  }

  /** `name` is lower-case. */
  find(name: string): Promise<StaticRole | undefined> {
    return this.#cache.read(name, async () => (await this.read(name))?.role)
  }

  /** Like `find`, from the storage, for a later write. */
  async read(name: string): Promise<StoredStaticRole | undefined> {
    const stored = await this.#view.read(rolePrefix + name)
    return stored === undefined
      ? undefined
      : { role: readStaticRole(stored.value), revision: stored.revision }
  }

  /** Sorted. */
  async names(): Promise<string[]> {
    const keys = await this.#view.listKeys(rolePrefix)
    return keys.map((key) => key.slice(rolePrefix.length))
  }

  async all(): Promise<{ readonly name: string; readonly role: StaticRole }[]> {
    return allRoles(await this.names(), (name) => this.find(name))
  }

  /**
   * Replaces what `before` read, with its row among those that are due and further entries, under the role's lock.
   * Throws `unavailable` if anything was changed meanwhile.
   */
  async write(
    name: string,
    before: StoredStaticRole | undefined,
    after: StaticRole | undefined,
    alongside: readonly ViewEntry[] = [],
  ): Promise<void> {
    const was = before?.role.due ?? null
    const time = after === undefined ? Number.POSITIVE_INFINITY : dueAt(after, this.#clock.now())
    const due = Number.isFinite(time) ? time : null
    const value = after === undefined ? undefined : { ...after, due }
    const entries: ViewEntry[] = [
      { key: rolePrefix + name, value, expect: before?.revision ?? 'absent' },
      ...(was === null || was === due ? [] : [row(dueKey(was, name), undefined)]),
      ...(due === null || was === due ? [] : [row(dueKey(due, name), {})]),
      ...alongside,
    ]
    try {
      if (!(await this.#view.write(entries)))
        throw fail('unavailable', 'what was to be written with a static role was changed meanwhile')
    } finally {
      this.#cache.drop(name)
    }
  }

  /** The names of roles that are due, the longest first. */
  async due(limit: number): Promise<string[]> {
    const keys = await this.#view.listKeys(duePrefix, { limit })
    const now = this.#clock.now()
    return keys.filter((key) => timeOf(key, duePrefix) <= now).map((key) => key.slice(nameAt))
  }

  /** The entry that lets a password end at its time. */
  retirementEntry(retirement: Retirement): ViewEntry {
    return row(retireKey(retirement), retirement)
  }

  /** The write fails if another one has taken it over since it was read. */
  takingRetirement(retirement: StoredRetirement): ViewEntry {
    return { ...this.retirementRemoval(retirement), expect: retirement.revision }
  }

  /** The entry that takes such a password from the list. */
  retirementRemoval(retirement: Pick<Retirement, 'until' | 'key_id'>): ViewEntry {
    return row(retireKey(retirement), undefined)
  }

  /** The passwords whose grace period is over, or all that are in one. */
  async retirements(which: 'due' | 'all', limit?: number): Promise<StoredRetirement[]> {
    const rows = await this.#view.list(retirePrefix, limit === undefined ? {} : { limit })
    const now = this.#clock.now()
    return (
      rows
        .filter(({ key }) => which === 'all' || timeOf(key, retirePrefix) <= now)
        // only this class writes these records, and the barrier authenticates them
        .map(({ value, revision }) => ({ ...(value as Retirement), revision }))
    )
  }

  /** False if the stored passwords have to be compared with those upstream, because the store was restored. */
  async isConfirmed(): Promise<boolean> {
    return (await this.#view.get(confirmedKey)) !== undefined
  }

  async confirm(): Promise<void> {
    await this.#view.write([row(confirmedKey, {})])
  }
}

/** Nobody copies these rows. */
const row = (key: string, value: unknown): ViewEntry => ({ key, value, isUncopied: true })
