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

/** Where this process is between its start and its end. */
export class ProcessState {
  readonly #parts: ProcessParts
  #phase: 'starting' | 'ready' | 'stopping' = 'starting'

  constructor(parts: ProcessParts) {
    this.#parts = parts
  }

  started(): void {
    this.#phase = 'ready'
  }

  stopping(): void {
    this.#phase = 'stopping'
  }

  /** The state of this process and its core, as health checks and clients see it. */
  with({ barrier, clusterId, clock, isStorageReadable }: Core): NodeState {
    const { watch, version, storageType } = this.#parts
    const isStorageUp = async () => watch.isSound() && (await isStorageReadable())
    const readiness = async () => {
      if (this.#phase !== 'ready') return this.#phase
      if (barrier.isSealed()) return 'sealed'
      return (await isStorageUp()) ? 'ready' : 'storage'
    }
    return {
      ...{ version, gatehouseVersion, clusterId, storageType, isStorageUp, readiness },
      isInitialized: () => true,
      isSealed: () => barrier.isSealed(),
      now: () => clock.now(),
    }
  }
}
