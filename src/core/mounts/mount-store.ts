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
import { fixedPaths, type MountPlace } from './mount-path.ts'
import { entriesFor, mountEntry, mountRecords, readMount } from './mount-record.ts'
import { MountIndex } from './mount-table.ts'
import type { Removal } from './mount-type.ts'
import type { MountTypeRegistry } from './mount-type-registry.ts'
import { checkFree, type Migration, Migrations, type MoveSide, planMove } from './move.ts'
import { type MountRequest, newMount, type Surroundings } from './new-mount.ts'
import { checkTunable, nothingToTune, type TuneRequest, tuned } from './tune.ts'

export type MountStoreParts = {
  /** The root of everything stored. */
  view: View
  random: Random
  clock: Clock
  system: SystemTtls
  types: MountTypeRegistry
  namespaces: Pick<NamespaceStore, 'inTheWay' | 'isLive'>
  /** Called for failures in the background: of a removal that was resumed at start-up, or of a move. */
  onFailure(mount: Mount, error: unknown): void
}

/** Ends what a mount has issued, before it is removed or moved. If it rejects, the mount stays where it is. */
type EndIssued = (mount: Mount, how: Removal) => Promise<void>

/**
 * The mounts of the server, kept in storage and as a table in memory. Each change is checked whole, written
 * in one atomic step, and only then seen: a reader finds the table before or after it.
 * docs/contract/mounts.md.
 */
export class MountStore implements AsyncDisposable {
  readonly #parts: MountStoreParts
  readonly #records: View
  readonly #rooms: InFlightRequests
  readonly #migrations = new Migrations()
  readonly #removals = new Map<string, Promise<void>>()
  /** Mounts whose data are being deleted. */
  readonly #ending = new Set<string>()
  readonly #background = new Set<Promise<void>>()
  #table: MountIndex
  /** One change at a time: each sees the table that the one before it left. */
  readonly #changes = new Limiter(1)
  readonly #beforeRemoval: EndIssued[] = []
  readonly #onMoveEnd: ((migration: Migration) => void)[] = []
  #isStopping = false

  private constructor(parts: MountStoreParts, mounts: readonly Mount[]) {
    this.#parts = parts
    this.#records = recordsOf(parts.view)
    this.#rooms = new InFlightRequests(parts.view)
    this.#table = new MountIndex(mounts)
    for (const mount of mounts) this.#rooms.add(mount)
  }

  /**
   * Reads the stored table. Rejects when a record cannot be read or the fixed mounts are not there: the
   * server must not start then.
   */
  static async open(parts: MountStoreParts): Promise<MountStore> {
    const mounts = (await recordsOf(parts.view).list('')).map(readWith(parts))
    const store = new MountStore(parts, mounts)
    if (store.table.at('root', fixedPaths.system) === undefined)
      throw new Error('the mount table cannot be read: there is no sys/ in it')
    return store
  }

  /** `listener` ends what a mount has issued, before the mount is removed or moved. */
  beforeRemoval(listener: EndIssued): void {
    this.#beforeRemoval.push(listener)
  }

  /** `listener` is called after each move, whether or not it succeeded. */
  onMoveEnd(listener: (migration: Migration) => void): void {
    this.#onMoveEnd.push(listener)
  }

  get types(): MountTypeRegistry {
    return this.#parts.types
  }

  /** The table as it is now; it is replaced, never changed. */
  get table(): MountIndex {
    return this.#table
  }

  /** Where a mount's data lie. Throws for a mount that is gone. */
  viewOf(mount: Mount): View {
    const view = this.#rooms.view(mount)
    if (view === undefined) throw fail('missing', 'the mount is gone')
    return view
  }

  /**
   * Counts a request as inside the mount until what comes back is called. Undefined: the mount is being
   * removed or moved, or is no longer where the request found it; answer as for a tainted one.
   */
  enter(mount: Mount): (() => void) | undefined {
    const now = this.#table.byUuid(mount.uuid)
    return now?.path === mount.path && now.namespace === mount.namespace
      ? this.#rooms.enter(mount)
      : undefined
  }

  /** docs/contract/mounts.md#enabling */
  enable(place: MountPlace, request: MountRequest): Promise<Mount> {
    return this.#changes.run(async () => {
      const mount = newMount(place, request, this.#surroundings(), this.#parts.random)
      await this.#save(mount)
      return mount
    })
  }

  /** docs/contract/mounts.md#tuning */
  tune(place: MountPlace, request: TuneRequest): Promise<void> {
    return this.#changes.run(async () => {
      checkTunable(place.path, request)
      const mount = this.#table.at(place.namespace, place.path)
      if (mount === undefined || mount.tainted) throw nothingToTune(place.path)
      await this.#save(tuned(mount, request, this.#parts.system))
    })
  }

  /**
   * As `enter`, of a mount that is being removed, for the few requests that are served there all the same.
   * Undefined once nothing can refuse the removal any more.
   */
  enterRemoved(mount: Mount): (() => void) | undefined {
    const now = this.#table.byUuid(mount.uuid)
    return now?.tainted === true && !this.#ending.has(mount.uuid) ? this.#rooms.enterClosed(mount) : undefined
  }

  /**
   * Removes a mount with everything in it; nothing to do when there is none. A second call joins or resumes a
   * removal under way. docs/contract/mounts.md#disabling
   */
  async disable(place: MountPlace, how: Removal = { abandon: false }): Promise<void> {
    const mount = await this.#changes.run(async () => {
      const found = this.#table.at(place.namespace, place.path)
      if (found === undefined || found.tainted) return found
      checkRemovable(found, place)
      const tainted = { ...found, tainted: true }
      await this.#save(tainted)
      return tainted
    })
    if (mount !== undefined) await this.#remove(mount, how)
  }

  /**
   * Goes on in the background with the removals and moves that a crash, or a failed revocation of a removal,
   * left unfinished.
   */
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

  /**
   * From now on a move that fails is one that the stop of the server cut short: the next start goes on with
   * it.
   */
  stopMoves(): void {
    this.#isStopping = true
  }

  /**
   * Starts a move and gives the id of its migration, once it is stored that it has to be made: data, uuid and
   * accessor stay, leases and tokens end. See docs/contract/namespaces.md#moving-mounts.
   */
  remount(from: MoveSide, to: MoveSide): Promise<string> {
    return this.#changes.run(async () => {
      const { mount, target } = planMove(from, to, this.#surroundings())
      if (this.#rooms.isClosed(mount)) throw refuse('invalid', `no matching mount at ${quoted(mount.path)}`)
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
        // it may be stored all the same, but what was refused must not happen
        await this.#callOff(mount, move).catch(() => undefined)
        throw error
      }
      this.#startMove(moving, move)
      return move.id
    })
  }

  /**
   * Begins a namespace: its fixed mounts, in one write with the entries of `plan` (full keys). `plan` sees
   * the table no other change can get in front of, and throws to refuse; `written` is called before anyone
   * else has a turn. False when an expectation did not hold.
   */
  beginNamespace(
    namespace: string,
    { plan, written }: { plan(table: MountIndex): readonly ViewEntry[]; written(): void },
  ): Promise<boolean> {
    return this.#changes.run(async () => {
      const entries = plan(this.#table)
      const mounts = namespaceMounts(this.#parts.random, namespace, this.#table)
      if (!(await this.#parts.view.write([...entries, ...entriesFor(mounts)]))) return false
      for (const mount of mounts) this.#rooms.add(mount)
      this.#table = this.#table.with(mounts)
      written()
      return true
    })
  }

  /**
   * Lets nobody into the mounts of a namespace that is being deleted; resolves once everyone has left, and no
   * change to them is under way.
   */
  async closeNamespace(namespace: string): Promise<void> {
    const mounts = await this.#mountsOf(namespace)
    await Promise.all(mounts.map((mount) => this.#rooms.close(mount)))
  }

  /** Deletes the mounts of a closed namespace with everything in them; may run again. */
  async removeNamespace(namespace: string, how: Removal = { abandon: false }): Promise<void> {
    for (const mount of await this.#mountsOf(namespace)) {
      await this.#parts.types.clear(mount, how)
      await this.#parts.types.empty(mount)
      await this.#rooms.view(mount)?.deletePrefix('')
    }
    await this.#changes.run(async () => {
      const mounts = this.#table.of(namespace)
      await this.#records.write(mounts.map(({ uuid }) => ({ key: uuid, value: undefined })))
      this.#table = this.#table.with([], mounts)
      for (const mount of mounts) this.#rooms.remove(mount)
    })
  }

  /** As they are when every change begun before is over. */
  #mountsOf(namespace: string): Promise<Mount[]> {
    return this.#changes.run(async () => this.#table.of(namespace))
  }

  findMigration(id: string): Migration | undefined {
    return this.#migrations.find(id)
  }

  /** Resolves when no change and no work in the background is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([...this.#background, ...this.#removals.values()])
    await this.#changes.run(async () => undefined)
  }

  #surroundings(): Surroundings {
    return {
      table: this.#table,
      system: this.#parts.system,
      types: this.#parts.types,
      namespaceInTheWay: (namespace, path) => this.#parts.namespaces.inTheWay(namespace, path),
    }
  }

  async #save(mount: Mount): Promise<void> {
    await this.#write(mountEntry(mount))
    if (this.#table.byUuid(mount.uuid) === undefined) this.#rooms.add(mount)
    this.#table = this.#table.with([mount])
  }

  /**
   * A write that failed may be stored all the same: then the table follows what is stored, so that no path is
   * ever given away twice.
   */
  async #write(entry: ViewEntry): Promise<void> {
    try {
      await this.#records.write([entry])
    } catch (error) {
      // when it cannot even be read, the table stays: the next start reads it anew
      await this.#reload(entry.key).catch(() => undefined)
      throw error
    }
  }

  async #reload(uuid: string): Promise<void> {
    const stored = (await this.#records.list(uuid)).map(readWith(this.#parts))
    const known = this.#table.byUuid(uuid)
    for (const mount of stored) if (known === undefined) this.#rooms.add(mount)
    if (known !== undefined && stored.length === 0) this.#rooms.remove(known)
    this.#table = this.#table.with(stored, known === undefined ? [] : [known])
  }

  async #endIssued(mount: Mount, how: Removal): Promise<void> {
    for (const listener of this.#beforeRemoval) await listener(mount, how)
  }

  async #remove(mount: Mount, how: Removal): Promise<void> {
    for (
      let running = this.#removals.get(mount.uuid);
      running !== undefined;
      running = this.#removals.get(mount.uuid)
    ) {
      if (!how.abandon) return running
      // that one may give up nothing and fail
      await running.catch(() => undefined)
    }
    if (this.#table.byUuid(mount.uuid) === undefined) return
    const removal = this.#empty(mount, how).finally(() => {
      this.#removals.delete(mount.uuid)
      this.#ending.delete(mount.uuid)
    })
    this.#removals.set(mount.uuid, removal)
    await removal
  }

  async #empty(mount: Mount, how: Removal): Promise<void> {
    await this.#rooms.close(mount)
    try {
      await this.#endIssued(mount, how)
      await this.#parts.types.clear(mount, how)
    } catch (error) {
      throw error instanceof ServiceError ? refuse('invalid', error.message, { cause: error }) : error
    }
    this.#ending.add(mount.uuid)
    // who was let in meanwhile, by `enterRemoved`
    await this.#rooms.close(mount)
    await this.#parts.types.empty(mount)
    await this.viewOf(mount).deletePrefix('')
    await this.#changes.run(async () => {
      await this.#write({ key: mount.uuid, value: undefined })
      this.#table = this.#table.with([], [mount])
      this.#rooms.remove(mount)
    })
  }

  #startMove(mount: Mount, move: MountMove): void {
    this.#migrations.start(move.id, move.source_mount, move.target_mount)
    this.#inBackground(this.#move(mount, move))
  }

  async #move(mount: Mount, move: MountMove): Promise<void> {
    try {
      await this.#rooms.close(mount)
      await this.#endIssued(mount, { abandon: false })
      await this.#changes.run(() => this.#arrive(mount, move))
      this.#endMove(move.id, 'success')
    } catch (error) {
      if (this.#isStopping) return
      await this.#changes
        .run(() => this.#callOff(mount, move))
        .catch((cause: unknown) => this.#parts.onFailure(mount, cause))
      this.#endMove(move.id, 'failure')
      this.#parts.onFailure(mount, error)
    } finally {
      if (this.#table.byUuid(mount.uuid)?.tainted === false) this.#rooms.open(mount)
    }
  }

  async #arrive(mount: Mount, { namespace, path }: MountMove): Promise<void> {
    const current = this.#table.byUuid(mount.uuid)
    if (current === undefined || current.tainted)
      throw refuse('invalid', `no matching mount at ${quoted(mount.path)}`)
    if (!this.#parts.namespaces.isLive(current.namespace) || !this.#parts.namespaces.isLive(namespace))
      throw refuse('invalid', 'namespace not found')
    checkFree({ namespace, table: current.table, path }, this.#surroundings())
    const { moving, ...rest } = current
    await this.#save({ ...rest, namespace, path, moves: current.moves + 1 })
  }

  /** The mount stays where it is. */
  async #callOff(mount: Mount, { id }: MountMove): Promise<void> {
    const current = this.#table.byUuid(mount.uuid)
    if (current?.moving?.id !== id) return
    const { moving, ...rest } = current
    await this.#save(rest)
  }

  #endMove(id: string, status: 'success' | 'failure'): void {
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

/** Plain numbers, whatever the root view reads. */
const recordsOf = (root: View): View => root.view(mountRecords, { numbers: 'plain' })

function checkRemovable(mount: Mount, place: MountPlace): void {
  if (isTokenType(mount.type)) throw refuse('invalid', 'token credential backend cannot be disabled')
  if (isFixedMount(mount) || mount.table !== place.table)
    throw refuse('invalid', `cannot unmount ${quoted(place.path)}`)
}
