import { fail, refuse, ServiceError } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { NamespaceStore } from '../namespaces/namespace-store.ts'
import type { Write } from '../records/change.ts'
import { namespaceMounts } from './first-mounts.ts'
import { isFixedMount, isTokenType } from './fixed-types.ts'
import type { Mount } from './mount.ts'
import type { SystemTtls } from './mount-config.ts'
import { MountDoors } from './mount-doors.ts'
import { MountMoves } from './mount-moves.ts'
import type { MountPoint } from './mount-path.ts'
import { type MountChange, MountRecords } from './mount-records.ts'
import { MountRemovals } from './mount-removals.ts'
import type { MountIndex } from './mount-table.ts'
import type { Removal } from './mount-type.ts'
import type { MountTypeRegistry } from './mount-type-registry.ts'
import type { Migration } from './move.ts'
import { type MountContext, type MountRequest, newMount } from './new-mount.ts'
import { checkTunable, nothingToTune, type TuneRequest, tuned } from './tune.ts'

export type MountStoreParts = {
  /** The storage root. */
  view: View
  shared: SharedStorage | undefined
  random: Random
  clock: Clock
  system: SystemTtls
  types: MountTypeRegistry
  jobs: Pick<Jobs, 'job' | 'keepMs'>
  namespaces: Pick<NamespaceStore, 'conflictWithMount' | 'isLive' | 'isEnding'>
  /** Called for failures in the background: of a removal that was resumed, or of a move. */
  onFailure(mount: Mount, error: unknown): void
  /** Called for a record of another server that cannot be read. */
  onUnreadable(error: unknown): void
}

/**
 * Ends the tokens and leases of a mount before it is removed or moved. If it rejects, the mount stays
 * unchanged.
 */
type BeforeRemoval = (mount: Mount, how: Removal) => Promise<void>

/** A namespace that is being created. */
export type NewNamespace = {
  readonly id: string
  /** Its records except for its mounts, with keys relative to the storage root. */
  readonly entries: readonly ViewEntry[]
  written(): void
}

/**
 * The mounts: each change is validated and written in one atomic step before it becomes visible.
 * docs/contract/mounts.md
 */
export class MountStore implements AsyncDisposable {
  readonly #parts: MountStoreParts
  readonly #records: MountRecords
  readonly #doors: MountDoors
  readonly #removals: MountRemovals
  readonly moves: MountMoves
  readonly #beforeRemoval: BeforeRemoval[] = []
  readonly #onRemoval: ((mount: Mount) => Promise<void>)[] = []
  readonly #onMoveEnd: ((migration: Migration) => void)[] = []
  readonly #checks: ((mount: Mount) => Promise<void>)[] = []

  private constructor(parts: MountStoreParts, records: MountRecords) {
    const { namespaces } = parts
    this.#parts = parts
    this.#records = records
    const doors = new MountDoors({ ...parts, isEnding: (namespace) => namespaces.isEnding(namespace) })
    this.#doors = doors
    records.onChange((change) => doors.follow(change))
    const end = (mount: Mount, how: Removal) => this.#end(mount, how)
    this.#removals = new MountRemovals({
      ...parts,
      records,
      doors,
      end,
      empty: (mount) => this.#empty(mount),
    })
    this.moves = new MountMoves({
      ...parts,
      records,
      doors,
      isLive: (namespace) => namespaces.isLive(namespace),
      context: (table) => this.#context(table),
      check: (mount) => this.#check(mount),
      end: (mount) => this.#runBeforeRemoval(mount, { abandon: false }),
      onEnd: (migration) => {
        for (const listener of this.#onMoveEnd) listener(migration)
      },
    })
  }

  /**
   * Reads the stored table. Rejects if a record is unreadable or the fixed mounts are missing: the start must
   * fail.
   */
  static async open(parts: MountStoreParts): Promise<MountStore> {
    const records = await MountRecords.open(parts)
    const store = new MountStore(parts, records)
    await store.#doors.follow({ changed: records.table.all(), removed: [] })
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

  /** `check` may refuse a mount that is about to be stored, because it is new, tuned or moved. */
  beforeChange(check: (mount: Mount) => Promise<void>): void {
    this.#checks.push(check)
  }

  /** Calls `listener` after each change, by any server. */
  onChange(listener: (change: MountChange) => void): void {
    this.#records.onChange(listener)
  }

  /** `listener` is called after each move, whether or not it succeeded. */
  onMoveEnd(listener: (migration: Migration) => void): void {
    this.#onMoveEnd.push(listener)
  }

  get types(): MountTypeRegistry {
    return this.#parts.types
  }

  get table(): MountIndex {
    return this.#records.table
  }

  /** The view of a mount's data. Throws `missing` for a removed mount. */
  viewOf(mount: Mount): View {
    const view = this.#doors.requests.view(mount)
    if (view === undefined) throw fail('missing', 'the mount no longer exists')
    return view
  }

  /**
   * Counts a request as in progress until the returned function is called. Undefined if the mount is being
   * removed or moved, or is no longer at its path: the response is that of a tainted mount.
   */
  enter(mount: Mount): (() => void) | undefined {
    const now = this.table.byUuid(mount.uuid)
    return now?.path === mount.path && now.namespace === mount.namespace
      ? this.#doors.requests.enter(mount)
      : undefined
  }

  /** docs/contract/mounts.md#enabling */
  enable(mountPoint: MountPoint, request: MountRequest): Promise<Mount> {
    return this.#records.change(async (save, table) => {
      const mount = newMount(mountPoint, request, this.#context(table), this.#parts.random)
      await this.#check(mount)
      await save({ changed: [mount] })
      return mount
    })
  }

  /** Returns warnings for the caller. docs/contract/mounts.md#tuning */
  async tune(mountPoint: MountPoint, request: TuneRequest): Promise<readonly string[]> {
    const { before, now } = await this.#records.change(async (save, table) => {
      checkTunable(mountPoint.path, request)
      const { system, types } = this.#parts
      const mount = table.at(mountPoint.namespace, mountPoint.path)
      if (mount === undefined || mount.tainted) throw nothingToTune(mountPoint.path)
      const changed = tuned(mount, request, {
        ...system,
        locksUsers: types.locksUsers(mount.type),
        versions: types.versionsOf(mount.table, mount.type),
      })
      await this.#check(changed)
      await save({ changed: [changed] })
      return { before: mount, now: changed }
    })
    return request.options || request.token_type ? this.#parts.types.tuned(before, now) : []
  }

  /**
   * Like `enter`, for the few requests that are served while a mount is being removed. Undefined once the
   * removal can no longer fail.
   */
  enterRemoved(mount: Mount): (() => void) | undefined {
    const now = this.table.byUuid(mount.uuid)
    return now?.tainted === true && now.deleting !== true
      ? this.#doors.requests.enter(mount, { mayBeClosed: true })
      : undefined
  }

  /**
   * Removes a mount and all its data; no-op if there is none. A second call joins or resumes the removal.
   * docs/contract/mounts.md#disabling
   */
  async disable(mountPoint: MountPoint, how: Removal = { abandon: false }): Promise<void> {
    const mount = await this.#records.change(async (save, table) => {
      const found = table.at(mountPoint.namespace, mountPoint.path)
      if (found === undefined || (found.tainted && found.failure === undefined)) return found
      checkRemovable(found, mountPoint)
      const { failure, ...rest } = found
      const tainted = { ...rest, tainted: true }
      await save({ changed: [tainted] })
      return tainted
    })
    if (mount !== undefined) await this.#removals.remove(mount, how)
  }

  /** Resumes unfinished removals and moves in the background, after a crash or a failed revocation. */
  resume(): void {
    this.#removals.resume()
    this.moves.resume()
  }

  /** Refuses callers that wait for a removal, because the server has been sealed. */
  seal(): void {
    this.#removals.seal()
    this.moves.stop()
  }

  /**
   * Creates the namespace that `plan` returns, with its fixed mounts, in one write. `plan` may throw to
   * refuse, and may be called again.
   */
  createNamespace(plan: (table: MountIndex) => NewNamespace | undefined): Promise<void> {
    return this.#records.change(async (save, table) => {
      const made = plan(table)
      if (made === undefined) return
      const mounts = namespaceMounts(this.#parts.random, made.id, table)
      await save({ changed: mounts }, made.entries)
      made.written()
    })
  }

  /**
   * Writes records on the condition that no server creates or removes a namespace or a mount meanwhile; their
   * keys are relative to the storage root. `decide` may run again.
   */
  whileUnchanged<T>(decide: (write: Write) => Promise<T>): Promise<T> {
    return this.#records.change((save) => decide((entries) => save({}, entries)))
  }

  /** Refuses further requests of this server to the mounts of a namespace that is being deleted. */
  closeNamespaceHere(namespace: string): Promise<void> {
    return this.#doors.closeHere(this.table.of(namespace))
  }

  /**
   * Refuses further requests to the mounts of a namespace that is being deleted. Resolves once all requests
   * and changes in progress have ended, on all servers.
   */
  async closeNamespace(namespace: string): Promise<void> {
    await this.#doors.close(await this.#mountsOf(namespace))
  }

  /** Deletes the mounts of a closed namespace and their data. Idempotent. */
  async removeNamespace(namespace: string, how: Removal = { abandon: false }): Promise<void> {
    for (const mount of await this.#mountsOf(namespace)) {
      await this.#parts.types.clear(mount, how)
      await this.#parts.types.empty(mount)
      await this.#doors.requests.view(mount)?.deletePrefix('')
      await this.#doors.forget(mount)
    }
    await this.#records.change((save, table) => save({ removed: table.of(namespace) }))
  }

  /** The mounts of a namespace after all pending changes. */
  #mountsOf(namespace: string): Promise<Mount[]> {
    return this.#records.change(async (_, table) => table.of(namespace))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#removals[Symbol.asyncDispose]()
    await this.moves[Symbol.asyncDispose]()
    await this.#records.ended()
  }

  #context(table: MountIndex): MountContext {
    return {
      table,
      system: this.#parts.system,
      types: this.#parts.types,
      conflictingNamespace: (namespace, path) => this.#parts.namespaces.conflictWithMount(namespace, path),
    }
  }

  async #check(mount: Mount): Promise<void> {
    for (const check of this.#checks) await check(mount)
  }

  async #runBeforeRemoval(mount: Mount, how: Removal): Promise<void> {
    for (const listener of this.#beforeRemoval) await listener(mount, how)
  }

  async #end(mount: Mount, how: Removal): Promise<void> {
    try {
      await this.#runBeforeRemoval(mount, how)
      await this.#parts.types.clear(mount, how)
    } catch (error) {
      // not a failure of the storage, after which the same call succeeds
      const isRefusal = error instanceof ServiceError && error.kind !== 'unavailable'
      throw isRefusal ? refuse('invalid', error.message, { cause: error }) : error
    }
  }

  async #empty(mount: Mount): Promise<void> {
    await this.#parts.types.empty(mount)
    await this.viewOf(mount).deletePrefix('')
    for (const listener of this.#onRemoval) await listener(mount)
  }
}

function checkRemovable(mount: Mount, mountPoint: MountPoint): void {
  if (isTokenType(mount.type)) throw refuse('invalid', 'token credential backend cannot be disabled')
  if (isFixedMount(mount) || mount.table !== mountPoint.table)
    throw refuse('invalid', `cannot unmount ${quoted(mountPoint.path)}`)
}
