import { refuse } from '../../src/errors.ts'
import {
  type ChangeListener,
  currentFence,
  type Fence,
  type SharedStorage,
} from '../../src/storage/shared-storage.ts'
import { openMemory } from '../../src/storage/sqlite/sqlite.ts'
import type { Storage } from '../../src/storage/storage.ts'

/** One server's access to the storage. */
export type SharedMemory = Storage & {
  readonly shared: SharedStorage
  /** Reports what was written since the last report. */
  deliver(): Promise<void>
  /** The server has lost its jobs, and nobody waits for it. */
  die(): void
}

/**
 * Servers that share one storage in memory. Each hears of writes only when the test delivers them, or when it
 * confirms its copies itself.
 */
export async function openSharedMemory(count: number) {
  const storage = await openMemory()
  const holders = new Map<string, { server: string; fence: Fence }>()
  const servers: {
    access: SharedMemory
    report(keys: readonly string[] | undefined): void
    lives(): boolean
  }[] = []
  const live = () => servers.filter(({ lives }) => lives())
  const reported = async <T>(keys: readonly string[] | undefined, write: () => Promise<T>): Promise<T> => {
    const fence = currentFence()
    if (fence !== undefined && holders.get(fence.job)?.fence.epoch !== fence.epoch)
      throw refuse('unavailable', 'the job is lost')
    const result = await write()
    if (keys?.length !== 0) for (const { report } of servers) report(keys)
    return result
  }
  for (let number = 0; number < count; number += 1) {
    const replicaId = `replica-${number}`
    const listeners = new Set<{ prefix: string; listener: ChangeListener }>()
    let waiting: (readonly string[] | undefined)[] = []
    let isDead = false
    const deliver = async () => {
      const reports = waiting
      waiting = []
      const keys = reports.includes(undefined) ? undefined : reports.flatMap((some) => some ?? [])
      for (const { prefix, listener } of listeners) {
        const own = keys?.filter((key) => key.startsWith(prefix))
        if (own?.length !== 0) await listener(own)
      }
    }
    const access: SharedMemory = {
      get: (key) => storage.get(key),
      list: (prefix, range) => storage.list(prefix, range),
      listKeys: (prefix, range) => storage.listKeys(prefix, range),
      update: (key, change, options) =>
        reported(options?.isUncopied ? [] : [key], () => storage.update(key, change)),
      write: (batch) =>
        reported(
          batch.flatMap(({ key, isUncopied }) => (isUncopied ? [] : [key])),
          () => storage.write(batch),
        ),
      deletePrefix: (prefix, options) =>
        reported(options?.isUncopied ? [] : undefined, () => storage.deletePrefix(prefix)),
      [Symbol.asyncDispose]: async () => {},
      shared: {
        replicaId,
        copies: { areCurrent: () => waiting.length === 0, ageMs: 0, confirm: deliver },
        watch: (prefix, listener) => {
          const entry = { prefix, listener }
          listeners.add(entry)
          return () => void listeners.delete(entry)
        },
        holdJob: async (job) => {
          const holder = holders.get(job)
          if (isDead) return undefined
          if (holder?.server === replicaId) return holder.fence
          if (holder !== undefined && holder.server !== '') return undefined
          const fence = { job, epoch: (holder?.fence.epoch ?? 0) + 1 }
          holders.set(job, { server: replicaId, fence })
          return fence
        },
        releaseJob: async (fence) => {
          if (holders.get(fence.job)?.fence.epoch === fence.epoch)
            holders.set(fence.job, { server: '', fence })
        },
        confirmedByAll: async () => {
          for (const { access: other } of live()) await other.deliver()
        },
        replicas: async () =>
          live().map(({ access: { shared } }) => ({
            id: shared.replicaId,
            name: shared.replicaId,
            lastSeenMs: 0,
          })),
        databaseTime: async () => Date.now(),
      },
      deliver,
      die: () => {
        isDead = true
        for (const [job, holder] of holders)
          if (holder.server === replicaId) holders.set(job, { ...holder, server: '' })
      },
    }
    servers.push({ access, report: (keys) => waiting.push(keys), lives: () => !isDead })
  }
  return {
    servers: servers.map(({ access }) => access),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
