import { setTimeout as pause } from 'node:timers/promises'
import { type SharedStorage, unfenced } from '../../storage/shared-storage.ts'
import type { View } from '../barrier/view.ts'
import { InFlightRequests } from './in-flight-requests.ts'
import type { Mount } from './mount.ts'
import type { MountChange } from './mount-records.ts'

export type MountDoorsParts = {
  /** The storage root. */
  readonly view: View
  readonly shared: SharedStorage | undefined
  /** Whether a namespace is being deleted. */
  isEnding(namespace: string): boolean
}

const checkMs = 50
/** Longer than any request takes. */
const longestMs = 120_000

/**
 * Lets requests into mounts, and none into a mount that is being removed or moved. A server that has closed a
 * mount while requests are still inside says so in a record, until the last one has ended, so that the server
 * that removes the mount can wait for them. docs/replicas.md#removals-and-moves
 */
export class MountDoors {
  readonly #parts: MountDoorsParts
  readonly #busy: View
  readonly #announced = new Set<string>()
  readonly requests: InFlightRequests

  constructor(parts: MountDoorsParts) {
    this.#parts = parts
    this.#busy = parts.view.view('core/mount-busy/', { isUncopied: true })
    this.requests = new InFlightRequests(parts.view)
  }

  /** Opens and closes mounts as their records say. */
  async follow({ changed, removed }: MountChange): Promise<void> {
    for (const mount of removed) this.requests.remove(mount)
    await Promise.all(changed.map((mount) => this.#follow(mount)))
  }

  /** Closes mounts on this server. */
  async closeHere(mounts: readonly Mount[]): Promise<void> {
    await Promise.all(mounts.map((mount) => this.#close(mount)))
  }

  /** Refuses further requests; resolves once none is inside the mounts, on any server. */
  async close(mounts: readonly Mount[]): Promise<void> {
    await Promise.all(mounts.map((mount) => this.requests.close(mount)))
    const { shared } = this.#parts
    if (shared === undefined) return
    await shared.confirmedByAll()
    const until = performance.now() + longestMs
    while (performance.now() < until && (await this.#areOthersInside(mounts, shared)))
      await pause(checkMs, undefined, { ref: false })
  }

  /** Deletes what other servers have said about a mount. */
  async forget({ uuid }: Mount): Promise<void> {
    if (this.#parts.shared !== undefined) await this.#busy.deletePrefix(`${uuid}/`)
  }

  #follow(mount: Mount): Promise<void> | undefined {
    const isClosed = mount.tainted || mount.moving !== undefined || this.#parts.isEnding(mount.namespace)
    if (!this.requests.has(mount)) this.requests.add(mount, isClosed)
    else if (isClosed) return this.#close(mount)
    else this.requests.open(mount)
    return undefined
  }

  async #close(mount: Mount): Promise<void> {
    const { shared } = this.#parts
    const ended = this.requests.close(mount)
    if (shared === undefined || this.requests.isEmpty(mount) || this.#announced.has(mount.uuid)) return
    const key = `${mount.uuid}/${shared.replicaId}`
    this.#announced.add(mount.uuid)
    try {
      await this.#write(key, true)
    } catch (error) {
      this.#announced.delete(mount.uuid)
      throw error
    }
    void ended.then(() => this.#end(mount, key))
  }

  /** Until it succeeds, others wait; they give up at last. */
  async #end(mount: Mount, key: string): Promise<void> {
    this.#announced.delete(mount.uuid)
    await this.#write(key, undefined).catch(() => undefined)
  }

  /** Also if a job of this server has closed the mount: the requests do not work for it. */
  #write(key: string, value: true | undefined): Promise<boolean> {
    return unfenced(() => this.#busy.write([{ key, value }]))
  }

  /** A server that is gone has left its record. */
  async #areOthersInside(mounts: readonly Mount[], shared: SharedStorage): Promise<boolean> {
    const busy = await Promise.all(mounts.map(({ uuid }) => this.#busy.listKeys(`${uuid}/`)))
    const servers = new Set(busy.flat().map((key) => key.slice(key.indexOf('/') + 1)))
    if (servers.size === 0) return false
    const live = await shared.replicas()
    return live.some(({ id }) => id !== shared.replicaId && servers.has(id))
  }
}
