import { fail, refuse, ServiceError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { quoted } from '../../lib/go/text.ts'
import { Limiter } from '../../lib/limiter.ts'
import type { Random } from '../../lib/random.ts'
import type { View, ViewEntry, ViewRecord } from '../barrier/view.ts'
import type { NamespaceStore } from '../namespaces/namespace-store.ts'
import { namespaceMounts } from './first-mounts.ts'
import { isFixedMount, isTokenType } from './fixed-types.ts'
import { InFlightRequests } from './in-flight-requests.ts'
import type { Mount, MountMove } from './mount.ts'
import type { SystemTtls } from './mount-config.ts'
import { fixedPaths, type MountPoint } from './mount-path.ts'
import { entriesFor, mountEntry, mountRecords, readMount } from './mount-record.ts'
import { MountIndex } from './mount-table.ts'
import type { Removal } from './mount-type.ts'
import type { MountTypeRegistry } from './mount-type-registry.ts'
import { checkFree, type Migration, Migrations, type MoveSide, planMove } from './move.ts'
import { type MountRequest, newMount, type MountContext } from './new-mount.ts'
import { checkTunable, nothingToTune, type TuneRequest, tuned } from './tune.ts'

export type MountStoreParts = {
  /** The storage root. */
  view: View
  random: Random
  clock: Clock
  system: SystemTtls
  types: MountTypeRegistry
  namespaces: Pick<NamespaceStore, 'conflictWithMount' | 'isLive'>
  /** Called for failures in the background: of a removal that was resumed at start-up, or of a move. */
  onFailure(mount: Mount, error: unknown): void
}

/**
 * Ends the tokens and leases of a mount before it is removed or moved. If it rejects, the mount stays
 * unchanged.
 */
type BeforeRemoval = (mount: Mount, how: Removal) => Promise<void>

/**
 * Stores the mounts and keeps a table of them in memory. Each change is validated and written in one atomic
 * step before it becomes visible, so a reader sees the table before or after it. docs/contract/mounts.md
 */
export class MountStore implements AsyncDisposable {
  readonly #parts: MountStoreParts
  readonly #records: View
  readonly #inFlight: InFlightRequests
  readonly #migrations = new Migrations()
  readonly #removals = new Map<string, Promise<void>>()
  /** UUIDs of mounts whose data is being deleted. */
  readonly #deleting = new Set<string>()
  readonly #background = new Set<Promise<void>>()
  #table: MountIndex
  /** Serializes changes: each sees the table that the previous one left. */
  readonly #changes = new Limiter(1)
  readonly #beforeRemoval: BeforeRemoval[] = []
  readonly #onRemoval: ((mount: Mount) => Promise<void>)[] = []
  readonly #onMoveEnd: ((migration: Migration) => void)[] = []
  #isStopping = false

  private constructor(parts: MountStoreParts, mounts: readonly Mount[]) {
    this.#parts = parts
    this.#records = recordsOf(parts.view)
    this.#inFlight = new InFlightRequests(parts.view)
    this.#table = new MountIndex(mounts)
    for (const mount of mounts) this.#inFlight.add(mount)
  }

  /**
   * Reads the stored table. Rejects if a record is unreadable or the fixed mounts are missing: the start must
   * fail.
   */
  static async open(parts: MountStoreParts): Promise<MountStore> {
    const mounts = (await recordsOf(parts.view).list('')).map(readWith(parts))
    const store = new MountStore(parts, mounts)
    if (store.table.at('root', fixedPaths.system) === undefined)
      throw new Error('the mount table cannot be read: there is no sys/ in it')
    return store
  }

  /** `listener` ends the tokens and leases of a mount before the mount is removed or moved. */
  beforeRemoval(listener: BeforeRemoval): void {
    this.#beforeRemoval.push(listener)
  }

  /** `listener` removes what belongs to a mount, right before its record is deleted. */
  onRemoval(listener: (mount: Mount) => Promise<void>): void {
    this.#onRemoval.push(listener)
  }

  /** `listener` is called after each move, whether or not it succeeded. */
  onMoveEnd(listener: (migration: Migration) => void): void {
    this.#onMoveEnd.push(listener)
  }

  get types(): MountTypeRegistry {
    return this.#parts.types
  }

  /** The current table. Immutable; a change replaces it. */
  get table(): MountIndex {
    return this.#table
  }

  /** The view of a mount's data. Throws `missing` for a removed mount. */
  viewOf(mount: Mount): View {
    const view = this.#inFlight.view(mount)
    if (view === undefined) throw fail('missing', 'the mount no longer exists')
    return view
  }

  /**
   * Counts a request as in progress until the returned function is called. Undefined if the mount is being
   * removed or moved, or is no longer at its path: the response is that of a tainted mount.
   */
  enter(mount: Mount): (() => void) | undefined {
    const now = this.#table.byUuid(mount.uuid)
    return now?.path === mount.path && now.namespace === mount.namespace
      ? this.#inFlight.enter(mount)
      : undefined
  }

  /** docs/contract/mounts.md#enabling */
  enable(mountPoint: MountPoint, request: MountRequest): Promise<Mount> {
    return this.#changes.run(async () => {
      const mount = newMount(mountPoint, request, this.#context(), this.#parts.random)
      await this.#save(mount)
      return mount
    })
  }

  /** docs/contract/mounts.md#tuning */
  tune(mountPoint: MountPoint, request: TuneRequest): Promise<void> {
    return this.#changes.run(async () => {
      checkTunable(mountPoint.path, request)
      const mount = this.#table.at(mountPoint.namespace, mountPoint.path)
      if (mount === undefined || mount.tainted) throw nothingToTune(mountPoint.path)
      await this.#save(tuned(mount, request, this.#parts.system))
    })
  }

  /**
   * Like `enter`, for the few requests that are served while a mount is being removed. Undefined once the
   * removal can no longer fail.
   */
  enterRemoved(mount: Mount): (() => void) | undefined {
    const now = this.#table.byUuid(mount.uuid)
    return now?.tainted === true && !this.#deleting.has(mount.uuid)
      ? this.#inFlight.enterClosed(mount)
      : undefined
  }

  /**
   * Removes a mount and all its data; no-op if there is none. A second call joins or resumes the removal.
   * docs/contract/mounts.md#disabling
   */
  async disable(mountPoint: MountPoint, how: Removal = { abandon: false }): Promise<void> {
    const mount = await this.#changes.run(async () => {
      const found = this.#table.at(mountPoint.namespace, mountPoint.path)
      if (found === undefined || found.tainted) return found
      checkRemovable(found, mountPoint)
      const tainted = { ...found, tainted: true }
      await this.#save(tainted)
      return tainted
    })
    if (mount !== undefined) await this.#remove(mount, how)
  }

  /** Resumes unfinished removals and moves in the background, after a crash or a failed revocation. */
  resume(): void {
    for (const mount of this.#table.all()) {
      if (mount.tainted) {
        this.#inBackground(
          this.#remove(mount, { abandon: false }).catch((error: unknown) =>
            this.#parts.onFailure(mount, error),
          ),
        )
      } else if (mount.moving !== undefined) this.#startMove(mount, mount.moving)
    }
  }

  /** Makes failing moves stay pending, because the server is stopping; the next start resumes them. */
  stopMoves(): void {
    this.#isStopping = true
  }

  /**
   * Starts a move. Resolves with the id of its migration once the move is durable. The mount keeps its data,
   * UUID and accessor; its leases and tokens end. docs/contract/namespaces.md#moving-mounts
   */
  remount(from: MoveSide, to: MoveSide): Promise<string> {
    return this.#changes.run(async () => {
      const { mount, target } = planMove(from, to, this.#context())
      if (this.#inFlight.isClosed(mount))
        throw refuse('invalid', `no matching mount at ${quoted(mount.path)}`)
      const move: MountMove = {
        id: this.#parts.random.uuid(),
        namespace: target.namespace,
        path: target.path,
        source_mount: from.namespace.path + mount.path,
        target_mount: to.namespace.path + target.path,
      }
      const moving = { ...mount, moving: move }
      try {
        await this.#save(moving)
      } catch (error) {
        // the write may have been stored, but a refused move must not happen
        await this.#cancelMove(mount, move).catch(() => undefined)
        throw error
      }
      this.#startMove(moving, move)
      return move.id
    })
  }

  /**
   * Creates a namespace: its fixed mounts, in one write with the entries of `plan` (full keys). No other
   * change of the table happens between `plan`, which may throw to refuse, and `written`. False if an
   * expectation did not hold.
   */
  createNamespace(
    namespace: string,
    { plan, written }: { plan(table: MountIndex): readonly ViewEntry[]; written(): void },
  ): Promise<boolean> {
    return this.#changes.run(async () => {
      const entries = plan(this.#table)
      const mounts = namespaceMounts(this.#parts.random, namespace, this.#table)
      if (!(await this.#parts.view.write([...entries, ...entriesFor(mounts)]))) return false
      for (const mount of mounts) this.#inFlight.add(mount)
      this.#table = this.#table.with(mounts)
      written()
      return true
    })
  }

  /**
   * Refuses further requests to the mounts of a namespace that is being deleted. Resolves once all requests
   * and changes in progress have ended.
   */
  async closeNamespace(namespace: string): Promise<void> {
    const mounts = await this.#mountsOf(namespace)
    await Promise.all(mounts.map((mount) => this.#inFlight.close(mount)))
  }

  /** Deletes the mounts of a closed namespace and their data. Idempotent. */
  async removeNamespace(namespace: string, how: Removal = { abandon: false }): Promise<void> {
    for (const mount of await this.#mountsOf(namespace)) {
      await this.#parts.types.clear(mount, how)
      await this.#parts.types.empty(mount)
      await this.#inFlight.view(mount)?.deletePrefix('')
    }
    await this.#changes.run(async () => {
      const mounts = this.#table.of(namespace)
      await this.#records.write(mounts.map(({ uuid }) => ({ key: uuid, value: undefined })))
      this.#table = this.#table.with([], mounts)
      for (const mount of mounts) this.#inFlight.remove(mount)
    })
  }

  /** The mounts of a namespace after all pending changes. */
  #mountsOf(namespace: string): Promise<Mount[]> {
    return this.#changes.run(async () => this.#table.of(namespace))
  }

  findMigration(id: string): Migration | undefined {
    return this.#migrations.find(id)
  }

  /** Waits for all changes and background work. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([...this.#background, ...this.#removals.values()])
    await this.#changes.run(async () => undefined)
  }

  #context(): MountContext {
    return {
      table: this.#table,
      system: this.#parts.system,
      types: this.#parts.types,
      conflictingNamespace: (namespace, path) => this.#parts.namespaces.conflictWithMount(namespace, path),
    }
  }

  async #save(mount: Mount): Promise<void> {
    await this.#write(mountEntry(mount))
    if (this.#table.byUuid(mount.uuid) === undefined) this.#inFlight.add(mount)
    this.#table = this.#table.with([mount])
  }

  /**
   * After a failed write, reloads the mount: the write may have been stored, and its path must not be reused.
   */
  async #write(entry: ViewEntry): Promise<void> {
    try {
      await this.#records.write([entry])
    } catch (error) {
      // if the record cannot be read either, keep the table; the next start reads it again
      await this.#reload(entry.key).catch(() => undefined)
      throw error
    }
  }

  async #reload(uuid: string): Promise<void> {
    const stored = (await this.#records.list(uuid)).map(readWith(this.#parts))
    const known = this.#table.byUuid(uuid)
    for (const mount of stored) if (known === undefined) this.#inFlight.add(mount)
    if (known !== undefined && stored.length === 0) this.#inFlight.remove(known)
    this.#table = this.#table.with(stored, known === undefined ? [] : [known])
  }

  async #runBeforeRemoval(mount: Mount, how: Removal): Promise<void> {
    for (const listener of this.#beforeRemoval) await listener(mount, how)
  }

  async #remove(mount: Mount, how: Removal): Promise<void> {
    for (
      let running = this.#removals.get(mount.uuid);
      running !== undefined;
      running = this.#removals.get(mount.uuid)
    ) {
      if (!how.abandon) return running
      // it may fail because it does not abandon anything
      await running.catch(() => undefined)
    }
    if (this.#table.byUuid(mount.uuid) === undefined) return
    const removal = this.#empty(mount, how).finally(() => {
      this.#removals.delete(mount.uuid)
      this.#deleting.delete(mount.uuid)
    })
    this.#removals.set(mount.uuid, removal)
    await removal
  }

  async #empty(mount: Mount, how: Removal): Promise<void> {
    await this.#inFlight.close(mount)
    try {
      await this.#runBeforeRemoval(mount, how)
      await this.#parts.types.clear(mount, how)
    } catch (error) {
      // not a failure of the storage, after which the same call succeeds
      const isRefusal = error instanceof ServiceError && error.kind !== 'unavailable'
      throw isRefusal ? refuse('invalid', error.message, { cause: error }) : error
    }
    this.#deleting.add(mount.uuid)
    // wait for requests that `enterRemoved` has admitted in the meantime
    await this.#inFlight.close(mount)
    await this.#parts.types.empty(mount)
    await this.viewOf(mount).deletePrefix('')
    for (const listener of this.#onRemoval) await listener(mount)
    await this.#changes.run(async () => {
      await this.#write({ key: mount.uuid, value: undefined })
      this.#table = this.#table.with([], [mount])
      this.#inFlight.remove(mount)
    })
  }

  #startMove(mount: Mount, move: MountMove): void {
    this.#migrations.start(move.id, move.source_mount, move.target_mount)
    this.#inBackground(this.#move(mount, move))
  }

  async #move(mount: Mount, move: MountMove): Promise<void> {
    try {
      await this.#inFlight.close(mount)
      await this.#runBeforeRemoval(mount, { abandon: false })
      await this.#changes.run(() => this.#completeMove(mount, move))
      this.#finishMove(move.id, 'success')
    } catch (error) {
      if (this.#isStopping) return
      await this.#changes
        .run(() => this.#cancelMove(mount, move))
        .catch((cause: unknown) => this.#parts.onFailure(mount, cause))
      this.#finishMove(move.id, 'failure')
      this.#parts.onFailure(mount, error)
    } finally {
      if (this.#table.byUuid(mount.uuid)?.tainted === false) this.#inFlight.open(mount)
    }
  }

  async #completeMove(mount: Mount, { namespace, path }: MountMove): Promise<void> {
    const current = this.#table.byUuid(mount.uuid)
    if (current === undefined || current.tainted)
      throw refuse('invalid', `no matching mount at ${quoted(mount.path)}`)
    if (!this.#parts.namespaces.isLive(current.namespace) || !this.#parts.namespaces.isLive(namespace))
      throw refuse('invalid', 'namespace not found')
    checkFree({ namespace, table: current.table, path }, this.#context())
    const { moving, ...rest } = current
    await this.#save({ ...rest, namespace, path, moves: current.moves + 1 })
  }

  /** Cancels a move: the mount keeps its path. */
  async #cancelMove(mount: Mount, { id }: MountMove): Promise<void> {
    const current = this.#table.byUuid(mount.uuid)
    if (current?.moving?.id !== id) return
    const { moving, ...rest } = current
    await this.#save(rest)
  }

  #finishMove(id: string, status: 'success' | 'failure'): void {
    const ended = this.#migrations.end(id, status)
    if (ended !== undefined) for (const listener of this.#onMoveEnd) listener(ended)
  }

  #inBackground(work: Promise<void>): void {
    const tracked = work.finally(() => this.#background.delete(tracked))
    this.#background.add(tracked)
  }
}

const readWith =
  ({ types }: MountStoreParts) =>
  (record: ViewRecord) =>
    readMount(record, (table, type) => types.pluginOf(table, type))

/** Reads plain numbers, independently of the root view. */
const recordsOf = (root: View): View => root.view(mountRecords, { numbers: 'plain' })

function checkRemovable(mount: Mount, mountPoint: MountPoint): void {
  if (isTokenType(mount.type)) throw refuse('invalid', 'token credential backend cannot be disabled')
  if (isFixedMount(mount) || mount.table !== mountPoint.table)
    throw refuse('invalid', `cannot unmount ${quoted(mountPoint.path)}`)
}
