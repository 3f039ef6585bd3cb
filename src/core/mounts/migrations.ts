import { z } from 'zod'
import type { Clock } from '../../lib/system/clock.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import type { MountMove } from './mount.ts'
import type { Migration } from './move.ts'

const prefix = 'core/migration/'
const mostMigrations = 100

const storedMigration = z.object({
  source_mount: z.string(),
  status: z.enum(['in-progress', 'success', 'failure']),
  target_mount: z.string(),
  /** In milliseconds since the epoch. */
  time: z.number(),
})

export type MoveStatus = z.output<typeof storedMigration>['status']

/** The latest moves, for `sys/remount/status` on any server. */
export class Migrations {
  readonly #view: View
  readonly #clock: Clock
  #trimming: Promise<void> | undefined

  /** `view` is the storage root. */
  constructor(view: View, clock: Clock) {
    this.#view = view.view('', { numbers: 'plain', isUncopied: true })
    this.#clock = clock
  }

  async find(id: string): Promise<Migration | undefined> {
    const stored = storedMigration.safeParse(await this.#view.get(prefix + id))
    if (!stored.success) return undefined
    const { time, ...migration_info } = stored.data
    return { migration_id: id, migration_info }
  }

  /** The record of a move, to be written together with its mount. */
  entry({ id, source_mount, target_mount }: MountMove, status: MoveStatus): ViewEntry {
    const value = { source_mount, status, target_mount, time: this.#clock.now() }
    return { key: prefix + id, value, isUncopied: true }
  }

  /** Forgets the oldest moves when there are too many. Calls at the same time do it once. */
  trim(): Promise<void> {
    this.#trimming ??= this.#trim().finally(() => {
      this.#trimming = undefined
    })
    return this.#trimming
  }

  async #trim(): Promise<void> {
    if ((await this.#view.listKeys(prefix)).length <= mostMigrations) return
    const timeOf = (value: unknown) => storedMigration.safeParse(value).data?.time ?? 0
    const records = await this.#view.list(prefix)
    const oldestFirst = records.sort((one, other) => timeOf(one.value) - timeOf(other.value))
    const excess = oldestFirst.slice(0, -mostMigrations)
    await this.#view.write(excess.map(({ key }) => ({ key, value: undefined })))
  }
}

/** What a move is called in the log and in responses. */
export const migrationOf = (
  { id, source_mount, target_mount }: MountMove,
  status: MoveStatus,
): Migration => ({ migration_id: id, migration_info: { source_mount, status, target_mount } })
