import { type Barrier, type BarrierParts, openBarrier } from '../../../src/core/barrier/barrier.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { StorageFaults } from '../../../src/storage/faults.ts'
import { openMemory } from '../../../src/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** A seal key that is distinguished by its number. */
export const sealKey = (number: number) => Buffer.alloc(32, number)

/** An in-memory storage on which barriers can be opened repeatedly. */
export type BarrierFixture = AsyncDisposable & {
  storage: Storage
  faults: StorageFaults
  clock: FakeClock
  /** Keys of records that did not open, as logged. */
  unreadable: string[]
  open(parts?: Partial<BarrierParts>): Promise<Barrier>
}

export async function aBarrierFixture(): Promise<BarrierFixture> {
  const faults = new StorageFaults()
  const storage = await openMemory({ faults })
  const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5))
  const unreadable: string[] = []
  const log = { error: ({ key }: { key: string }) => void unreadable.push(key) }
  return {
    storage,
    faults,
    clock,
    unreadable,
    open: (parts = {}) =>
      openBarrier({ storage, sealKey: sealKey(1), clock, random: systemRandom, log, ...parts }),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
