import { refuse } from '../../errors.ts'
import { within } from '../../lib/concurrency/within.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import type { View } from '../barrier/view.ts'
import type { BackgroundJob, Held, Jobs } from '../jobs/jobs.ts'
import { Migrations, type MoveStatus, migrationOf } from './migrations.ts'
import type { Mount, MountMove } from './mount.ts'
import type { MountDoors } from './mount-doors.ts'
import type { MountRecords, SaveMounts } from './mount-records.ts'
import type { MountIndex } from './mount-table.ts'
import { checkFree, type Migration, type MoveSide, planMove } from './move.ts'
import type { MountContext } from './new-mount.ts'

export type MountMoveParts = {
  readonly records: MountRecords
  readonly doors: MountDoors
  /** The storage root. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  readonly shared: SharedStorage | undefined
  readonly jobs: Pick<Jobs, 'job'>
  readonly isLive: (namespace: string) => boolean
  context(table: MountIndex): MountContext
  /** Throws if a mount must not be stored so. */
  check(mount: Mount): Promise<void>
  end(mount: Mount): Promise<void>
  onEnd(migration: Migration): void
  onFailure(mount: Mount, error: unknown): void
}

/** A move that this server tries to complete. */
type Running = { readonly job: BackgroundJob; readonly ended: Promise<void> }

/**
 * Moves mounts to other paths in the background. Of several servers, one completes a move; another one
 * continues if it fails to. docs/replicas.md#removals-and-moves
 */
export class MountMoves implements AsyncDisposable {
  readonly #parts: MountMoveParts
  readonly #migrations: Migrations
  /** By the id of the move. */
  readonly #running = new Map<string, Running>()
  #isStarted = false
  #isStopping = false

  constructor(parts: MountMoveParts) {
    this.#parts = parts
    this.#migrations = new Migrations(parts.view, parts.clock)
    parts.records.onChange(({ changed }) => {
      if (parts.shared !== undefined && this.#isStarted) for (const mount of changed) this.#begin(mount)
    })
  }

  /** Resumes interrupted moves. From now on, also continues those of other servers. */
  resume(): void {
    this.#isStarted = true
    for (const mount of this.#parts.records.table.all()) this.#begin(mount)
  }

  /** Makes failing moves stay pending, because the server is stopping; the next start resumes them. */
  stop(): void {
    this.#isStopping = true
  }

  find(id: string): Promise<Migration | undefined> {
    return this.#migrations.find(id)
  }

  /**
   * Starts a move. Resolves with the id of its migration once the move is durable. The mount keeps its data,
   * UUID and accessor; its leases and tokens end. docs/contract/namespaces.md#moving-mounts
   */
  async start(from: MoveSide, to: MoveSide): Promise<string> {
    const { records, doors, random, context, check } = this.#parts
    const id = random.uuid()
    let uuid = ''
    let move: MountMove | undefined
    const plan = async (save: SaveMounts, table: MountIndex) => {
      const { mount, target } = planMove(from, to, context(table))
      if (doors.requests.isClosed(mount))
        throw refuse('invalid', `no matching mount at ${quoted(mount.path)}`)
      const { namespace, path } = target
      await check({ ...mount, namespace, path })
      const source_mount = from.namespace.path + mount.path
      move = { id, namespace, path, source_mount, target_mount: to.namespace.path + path }
      uuid = mount.uuid
      await save({ changed: [{ ...mount, moving: move }] }, [this.#migrations.entry(move, 'in-progress')])
    }
    await records.change(plan).catch(async (error: unknown) => {
      // the write may have been stored, but a refused move must not happen
      if (move !== undefined) await this.#cancel(uuid, move).catch(() => undefined)
      throw error
    })
    const moving = records.table.byUuid(uuid)
    if (moving !== undefined) this.#begin(moving)
    await this.#migrations.trim().catch(() => undefined)
    return id
  }

  /** Waits until this server has ended the move, but not for longer than this. */
  async ended(id: string, withinMs: number): Promise<void> {
    const running = this.#running.get(id)
    if (running !== undefined) await within(withinMs, running.ended, 'late').catch(() => undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ job }) => job[Symbol.asyncDispose]()))
  }

  #begin({ uuid, moving }: Mount): void {
    if (moving === undefined || this.#running.has(moving.id)) return
    const job = this.#parts.jobs.job(`move/${moving.id}`)
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.#running.set(moving.id, { job, ended })
    job.begin(async (held) => {
      await this.#move(uuid, moving.id, held)
      end()
      if (!this.#isStopping) this.#running.delete(moving.id)
    })
  }

  async #move(uuid: string, id: string, { ended }: Held): Promise<void> {
    const { records, doors, shared, end, onFailure } = this.#parts
    // another server may have been quicker
    await shared?.copies.confirm()
    const mount = records.table.byUuid(uuid)
    if (mount?.moving?.id !== id) return
    const { moving } = mount
    try {
      await doors.close([mount])
      await end(mount)
      await records.change((save, table) => this.#complete(mount, save, table))
    } catch (error) {
      if (this.#isStopping) return
      // another server continues
      if (ended.aborted && shared !== undefined) throw error
      onFailure(mount, error)
      // if this fails too, the move is tried again
      await this.#cancel(uuid, moving)
    }
  }

  async #complete({ uuid, path: before }: Mount, save: SaveMounts, table: MountIndex): Promise<void> {
    const { isLive, context, check } = this.#parts
    const current = table.byUuid(uuid)
    if (current?.moving === undefined || current.tainted)
      throw refuse('invalid', `no matching mount at ${quoted(before)}`)
    const { moving, ...rest } = current
    const { namespace, path } = moving
    if (!isLive(current.namespace) || !isLive(namespace)) throw refuse('invalid', 'namespace not found')
    checkFree({ namespace, table: current.table, path }, context(table))
    const moved = { ...rest, namespace, path, moves: current.moves + 1 }
    await check(moved)
    await this.#end([moved], moving, 'success', save)
  }

  /** Cancels a move: the mount keeps its path. */
  #cancel(uuid: string, move: MountMove): Promise<void> {
    const { records } = this.#parts
    return records.change(async (save, table) => {
      const current = table.byUuid(uuid)
      if (current?.moving?.id !== move.id) return await this.#end([], move, 'failure', save)
      const { moving, ...rest } = current
      await this.#end([rest], move, 'failure', save)
    })
  }

  async #end(
    changed: readonly Mount[],
    move: MountMove,
    status: MoveStatus,
    save: SaveMounts,
  ): Promise<void> {
    await save({ changed }, [this.#migrations.entry(move, status)])
    this.#parts.onEnd(migrationOf(move, status))
  }
}
