import { randomBytes } from 'node:crypto'
import type { Core } from '../../src/core/open/core.ts'
import { openTestCore, type TestCoreOptions } from './open-core.ts'
import { openSharedMemory, type SharedMemory } from './shared-memory.ts'

export type SharedCore = Core & {
  readonly storage: SharedMemory
  /** Reads again what other servers have written. */
  hear(): Promise<void>
}

/** Another server takes a job at once. */
const jobTimes = { keepMs: 20, ttlMs: 60_000 }

/** Two cores over one storage in memory, as of two servers, with `each` as the options of one of them. */
export async function openSharedCores(each: (number: number) => TestCoreOptions = () => ({})) {
  await using opened = new AsyncDisposableStack()
  const memory = opened.use(await openSharedMemory(2))
  const sealKey = randomBytes(32)
  const cores: SharedCore[] = []
  for (const [number, storage] of memory.servers.entries()) {
    const core = opened.use(await openTestCore({ storage, sealKey, jobTimes, ...each(number) }))
    cores.push({ ...core, storage, hear: () => storage.deliver() })
  }
  const [one, other] = cores
  if (one === undefined || other === undefined) throw new Error('there are not two servers')
  const held = opened.move()
  return { one, other, [Symbol.asyncDispose]: () => held.disposeAsync() }
}
