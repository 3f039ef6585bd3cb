import { join } from 'node:path'
import { type Barrier, openBarrier } from '../src/core/barrier/barrier.ts'
import { readSealKeyFile } from '../src/core/barrier/seal.ts'
import type { View } from '../src/core/barrier/view.ts'
import { systemClock } from '../src/lib/clock.ts'
import { systemRandom } from '../src/lib/random.ts'
import { openSqlite } from '../src/storage/sqlite.ts'

/** The store of a stopped server, open for writing many records at once. */
export type StoppedStore = AsyncDisposable & {
  readonly barrier: Barrier
  /** The view that holds tokens, leases and identities. */
  readonly view: View
}

/** Opens the store in the folder of a stopped server. */
export async function openStoppedStore(folder: string): Promise<StoppedStore> {
  const storage = await openSqlite({ path: join(folder, 'gatehouse.db') })
  const log = {
    error: (fields: object, text: string) => process.stderr.write(`${text} ${JSON.stringify(fields)}\n`),
  }
  const sealKey = await readSealKeyFile(join(folder, 'seal.key'))
  const barrier = await openBarrier({ clock: systemClock, random: systemRandom, storage, log, sealKey })
  return {
    barrier,
    view: barrier.view('core/'),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
