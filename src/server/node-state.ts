import { rootKeyKey } from '../core/barrier/root-key.ts'
import type { Clock } from '../lib/system/clock.ts'
import type { LifeCycle, NodeState } from '../plugins/sys/plugin.ts'
import type { Storage } from '../storage/storage.ts'
import { gatehouseVersion } from '../version.ts'
import type { StorageWatch } from './storage-watch.ts'

/** How long a successful check of the storage counts for `sys/health`, in milliseconds. */
const checkCountsMs = 100

export type ProcessParts = {
  readonly watch: StorageWatch
  readonly version: string
  readonly storageType: string
  readonly exactListMatching: boolean
  readonly sealType: NodeState['sealType']
  readonly clock: Clock
}

type Served = {
  readonly life: LifeCycle
  readonly storage: Pick<Storage, 'get' | 'shared'>
  /** Undefined unless the server's time is that of a database. */
  readonly time?: { readonly isFarOff: boolean } | undefined
}

export class ProcessState {
  readonly #parts: ProcessParts
  #served: Served | undefined
  #isStopping = false
  /** When the storage was last found readable, by the monotonic clock. */
  #storageReadAt = Number.NEGATIVE_INFINITY

  constructor(parts: ProcessParts) {
    this.#parts = parts
  }

  get hasStarted(): boolean {
    return this.#served !== undefined
  }

  get startState(): 'starting' | 'storage' {
    return this.#parts.watch.areWritesFailing ? 'storage' : 'starting'
  }

  started(served: Served): void {
    this.#served = served
  }

  stopping(): void {
    this.#isStopping = true
  }

  of(served: Served): NodeState {
    const { watch, clock, ...told } = this.#parts
    const { life } = served
    return {
      ...told,
      gatehouseVersion,
      life,
      isInitialized: () => life.seal !== undefined,
      isSealed: () => life.core?.barrier.isSealed() !== false,
      isStorageUp: () => this.#isStorageUp(served),
      wasStorageUp: () => this.#wasStorageUp(served),
      readiness: () => this.readiness(),
      now: () => clock.now(),
    }
  }

  async readiness(): ReturnType<NodeState['readiness']> {
    if (this.#served === undefined) return this.startState
    if (this.#isStopping) return 'stopping'
    const state = this.of(this.#served)
    if (!state.isInitialized()) return 'uninitialized'
    if (state.isSealed()) return 'sealed'
    if (!(await state.isStorageUp())) return 'storage'
    if (this.#served.life.core?.audit.log.isUp === false) return 'audit'
    return this.#served.time?.isFarOff === true ? 'clock' : 'ready'
  }

  /** Whether requests can be served. Never rejects. */
  async #isStorageUp({ storage }: Served): Promise<boolean> {
    if (!this.#parts.watch.isSound()) return false
    const copies = storage.shared?.copies
    try {
      if (copies?.areCurrent() === false) await copies.confirm()
      const startedAt = performance.now()
      const isUp = (await storage.get(rootKeyKey)) !== undefined
      if (isUp) this.#storageReadAt = startedAt
      return isUp
    } catch {
      this.#storageReadAt = Number.NEGATIVE_INFINITY
      return false
    }
  }

  #wasStorageUp({ storage }: Served): boolean {
    return (
      performance.now() - this.#storageReadAt < checkCountsMs &&
      this.#parts.watch.isSound() &&
      storage.shared?.copies.areCurrent() !== false
    )
  }
}
