import { setTimeout as pause } from 'node:timers/promises'
import { refuse, ServiceError } from '../../errors.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import { sealedError } from '../barrier/keyring-store.ts'
import type { BackgroundJob, Jobs } from '../jobs/jobs.ts'
import type { Mount } from './mount.ts'
import type { MountDoors } from './mount-doors.ts'
import type { MountChange, MountRecords } from './mount-records.ts'
import type { Removal } from './mount-type.ts'

export type MountRemovalParts = {
  readonly records: MountRecords
  readonly doors: MountDoors
  readonly shared: SharedStorage | undefined
  readonly jobs: Pick<Jobs, 'job' | 'keepMs'>
  /** Ends leases and tokens of a mount, and what its type has made elsewhere. Rejects if that fails. */
  end(mount: Mount, how: Removal): Promise<void>
  /** Deletes the data of a mount and what else belongs to it. */
  empty(mount: Mount): Promise<void>
  /** Called for failures in the background. */
  onFailure(mount: Mount, error: unknown): void
}

type Running = {
  readonly done: Promise<void>
  readonly job: BackgroundJob
  resolve(): void
  reject(error: unknown): void
}

/**
 * Removes mounts that are marked. Of several servers, one removes a mount; another one continues if it fails
 * to. docs/replicas.md#removals-and-moves
 */
export class MountRemovals implements AsyncDisposable {
  readonly #parts: MountRemovalParts
  readonly #running = new Map<string, Running>()
  /** Of the mounts that this server attends to until they are removed. */
  readonly #attended = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()
  #isStarted = false

  constructor(parts: MountRemovalParts) {
    this.#parts = parts
    parts.records.onChange((change) => this.#follow(change))
  }

  /** Resumes unfinished removals. From now on, also continues those of other servers. */
  resume(): void {
    this.#isStarted = true
    for (const mount of this.#parts.records.table.all()) if (mount.tainted) this.#attend(mount, true)
  }

  /** Removes a marked mount and its data. A second call joins the removal, or repeats it if it fails. */
  async remove(mount: Mount, how: Removal): Promise<void> {
    for (let running = this.#find(mount); running !== undefined; running = this.#find(mount)) {
      if (!how.abandon) return running.done
      // it may fail because it does not abandon anything
      await running.done.catch(() => undefined)
    }
    if (this.#parts.records.table.byUuid(mount.uuid) === undefined) return
    await this.#begin(mount, (now) => this.#remove(now, how))
  }

  /** Refuses the callers that wait, because the server has been sealed. Its next start continues. */
  seal(): void {
    this.#stopping.abort()
    for (const { reject } of this.#running.values()) reject(sealedError())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await Promise.all([...this.#running.values()].map(stop))
    await Promise.all(this.#attended.values())
  }

  #find({ uuid }: Mount): Running | undefined {
    return this.#running.get(uuid)
  }

  #follow({ changed, removed }: MountChange): void {
    for (const mount of removed) this.#find(mount)?.resolve()
    if (this.#parts.shared === undefined || !this.#isStarted) return
    for (const mount of changed) if (isUnattended(mount)) this.#attend(mount, false)
  }

  /** Continues until the mount is removed, or until the removal has failed for a reason that stays. */
  #attend({ uuid }: Mount, isStart: boolean): void {
    if (this.#attended.has(uuid)) return
    const attending = this.#attendTo(uuid, isStart).finally(() => this.#attended.delete(uuid))
    this.#attended.set(uuid, attending)
  }

  async #attendTo(uuid: string, isStart: boolean): Promise<void> {
    const { records, shared } = this.#parts
    for (let isFirst = isStart; ; isFirst = false) {
      // the server that was asked begins at once
      if (!isFirst) await this.#wait()
      const mount = records.table.byUuid(uuid)
      if (mount === undefined || !(isFirst || isUnattended(mount))) return
      await this.#attempt(mount, isFirst)
      if (shared === undefined || this.#stopping.signal.aborted) return
    }
  }

  /** Never rejects. */
  async #attempt(mount: Mount, isStart: boolean): Promise<void> {
    let isOwn = false
    const work = async (now: Mount) => {
      // another server has tried
      if (!isStart && now.failure !== undefined) throw refuse('invalid', now.failure)
      isOwn = true
      await this.#remove(now, { abandon: false })
    }
    await (this.#find(mount)?.done ?? this.#begin(mount, work)).catch((error: unknown) => {
      if (isOwn) this.#parts.onFailure(mount, error)
    })
  }

  #wait(): Promise<void> {
    const options = { signal: this.#stopping.signal, ref: false }
    return pause(this.#parts.jobs.keepMs, undefined, options).catch(() => undefined)
  }

  /** Does `work` while this server, and no other one, has the right to remove the mount. */
  #begin(mount: Mount, work: (now: Mount) => Promise<void>): Promise<void> {
    const { records, shared, jobs } = this.#parts
    if (this.#stopping.signal.aborted) return Promise.reject(sealedError())
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const job = jobs.job(`mount/${mount.uuid}`)
    const done = promise.finally(async () => {
      // another server may have removed the mount
      await job[Symbol.asyncDispose]()
      this.#running.delete(mount.uuid)
    })
    this.#running.set(mount.uuid, { done, job, resolve, reject })
    job.begin(async ({ ended }) => {
      try {
        // another server may have been quicker
        await shared?.copies.confirm()
        const now = records.table.byUuid(mount.uuid)
        if (now !== undefined) await work(now)
        resolve()
      } catch (error) {
        // another server continues
        if (ended.aborted && !this.#stopping.signal.aborted) throw error
        reject(error)
      }
    })
    return done
  }

  async #remove(mount: Mount, how: Removal): Promise<void> {
    try {
      await this.#removeAll(mount, how)
    } catch (error) {
      // not a failure of the storage, after which the same call succeeds
      const isRefusal = error instanceof ServiceError && error.kind !== 'unavailable'
      if (isRefusal && this.#parts.shared !== undefined) await this.#note(mount, error.message)
      throw error
    }
  }

  async #removeAll(mount: Mount, how: Removal): Promise<void> {
    const { records, doors, end, empty } = this.#parts
    await doors.close([mount])
    await end(mount, how)
    await this.#change(mount, (now) => ({ ...now, deleting: true }))
    // requests that `enterRemoved` has admitted in the meantime
    await doors.close([mount])
    await empty(mount)
    await doors.forget(mount)
    await records.change(async (save, table) => {
      const now = table.byUuid(mount.uuid)
      if (now !== undefined) await save({ removed: [now] })
    })
  }

  /** So that no server retries by itself. */
  async #note(mount: Mount, failure: string): Promise<void> {
    await this.#change(mount, (now) => ({ ...now, failure })).catch(() => undefined)
  }

  #change({ uuid }: Mount, change: (now: Mount) => Mount): Promise<void> {
    const { records } = this.#parts
    return records.change(async (save, table) => {
      const now = table.byUuid(uuid)
      if (now !== undefined) await save({ changed: [change(now)] })
    })
  }
}

async function stop({ job, reject }: Running): Promise<void> {
  await job[Symbol.asyncDispose]()
  reject(refuse('unavailable', 'server is stopping'))
}

const isUnattended = ({ tainted, failure }: Mount): boolean => tainted && failure === undefined
