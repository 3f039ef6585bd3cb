import type { Lease } from '../src/core/leases/lease.ts'
import { entriesOf } from '../src/core/leases/lease-records.ts'
import { systemClock } from '../src/lib/system/clock.ts'
import { base62, hex, systemRandom } from '../src/lib/system/random.ts'
import { openStoppedStore } from './stopped-store.ts'

export type FillLeasesInput = {
  /** The folder of a stopped server. */
  folder: string
  mountAccessor: string
  /** Number of leases that expire over a month, from tomorrow on. */
  later: number
  /** The leases that expire together, at `at` (milliseconds since the epoch). */
  together: { count: number; at: () => number }
  onProgress: (done: number) => void
}

const leasesPerWrite = 1000
const leasesPerOwner = 10
const dayMs = 24 * 3600 * 1000
const spreadMs = 30 * dayMs

/**
 * Writes leases of the practice engine into a store, as requests would, but many per commit. Returns their ids,
 * those that expire together last.
 */
export async function fillLeases({
  folder,
  mountAccessor,
  later,
  together,
  onProgress,
}: FillLeasesInput): Promise<string[]> {
  await using core = await openStoppedStore(folder)
  const { view } = core
  const issuedAt = systemClock.now()
  let owner = ''
  let made = 0
  const ids: string[] = []
  const lease = (role: string, expireTime: number): Lease => {
    if (made % leasesPerOwner === 0) owner = hex(systemRandom, 64)
    made += 1
    const path = `practice/creds/${role}`
    return {
      id: `${path}/${base62(systemRandom, 24)}`,
      namespace: 'root',
      path,
      plugin: 'practice',
      mount_accessor: mountAccessor,
      owner,
      issue_time: issuedAt,
      expire_time: expireTime,
      renewable: true,
      internal: { credential: systemRandom.uuid(), role },
    }
  }
  let written = Promise.resolve(true)
  const write = async (leases: readonly Lease[]) => {
    const entries = leases.flatMap(entriesOf)
    // one batch is built while the previous one is committed
    if (!(await written)) throw new Error('a batch was refused')
    written = view.write(entries)
    onProgress(made)
  }
  while (made < later) {
    const size = Math.min(leasesPerWrite, later - made)
    const batch = Array.from({ length: size }, () =>
      lease('ci', issuedAt + dayMs + ((made * 7919) % spreadMs)),
    )
    ids.push(...batch.map(({ id }) => id))
    await write(batch)
  }
  const ends = together.count === 0 ? 0 : together.at()
  const all = later + together.count
  while (made < all) {
    const batch = Array.from({ length: Math.min(leasesPerWrite, all - made) }, () =>
      lease('due', ends + (made % 1000)),
    )
    ids.push(...batch.map(({ id }) => id))
    await write(batch)
  }
  if (!(await written)) throw new Error('the last batch was refused')
  return ids
}
