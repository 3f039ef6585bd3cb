import type { Core } from './core/core.ts'
import type { NodeState } from './plugins/sys/plugin.ts'
import type { StorageWatch } from './storage-watch.ts'
import { gatehouseVersion } from './version.ts'

export type ProcessParts = {
  readonly watch: StorageWatch
  /** The version reported to clients. */
  readonly version: string
  readonly storageType: string
}

/** The phase of this process: starting, serving or stopping. */
export class ProcessState {
  readonly #parts: ProcessParts
  /** Undefined until the server serves requests. */
  #served: Core | undefined
  #isStopping = false

  constructor(parts: ProcessParts) {
    this.#parts = parts
  }

  get hasStarted(): boolean {
    return this.#served !== undefined
  }

  started(core: Core): void {
    this.#served = core
  }

  stopping(): void {
    this.#isStopping = true
  }

  async readiness(): ReturnType<NodeState['readiness']> {
    if (this.#served === undefined) return 'starting'
    if (this.#isStopping) return 'stopping'
    if (this.#served.barrier.isSealed()) return 'sealed'
    return (await this.#isStorageUp(this.#served)) ? 'ready' : 'storage'
  }

  /** The state of this process and its core for health checks and clients. */
  with(core: Core): NodeState {
    const { version, storageType } = this.#parts
    const { barrier, clusterId, clock } = core
    return {
      ...{ version, gatehouseVersion, clusterId, storageType },
      isInitialized: () => true,
      isSealed: () => barrier.isSealed(),
      isStorageUp: () => this.#isStorageUp(core),
      readiness: () => this.readiness(),
      now: () => clock.now(),
    }
  }

  async #isStorageUp({ isStorageReadable }: Core): Promise<boolean> {
    return this.#parts.watch.isSound() && (await isStorageReadable())
  }
}
