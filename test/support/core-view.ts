import { randomBytes } from 'node:crypto'
import { type Barrier, openBarrier } from '../../src/core/barrier/barrier.ts'
import type { View } from '../../src/core/barrier/view.ts'
import { systemRandom } from '../../src/lib/system/random.ts'
import { openMemory } from '../../src/storage/sqlite/sqlite.ts'
import { FakeClock } from './fake-clock.ts'

export type CoreView = AsyncDisposable & {
  readonly barrier: Barrier
  readonly view: View
  readonly clock: FakeClock
}

/** The core's view over a real engine in memory and a real barrier, with a clock that the test controls. */
export async function openCoreView(): Promise<CoreView> {
  const storage = await openMemory()
  const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5, 250))
  const log = { error: () => {} }
  const barrier = await openBarrier({ storage, sealKey: randomBytes(32), clock, random: systemRandom, log })
  return {
    barrier,
    view: barrier.view('core/'),
    clock,
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
