import { openBarrier } from '../../../src/core/barrier/barrier.ts'
import { systemClock } from '../../../src/lib/system/clock.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { type FailPoint, StorageFaults } from '../../../src/storage/faults.ts'
import { openSqlite } from '../../../src/storage/sqlite/sqlite.ts'
import { sealKey } from './barrier-fixture.ts'

// Seals records with new keys, with tiny limits, until it is killed at `point` after `skip` groups of writes.
// Arguments: the database, perKey, block, point, skip.
const [path = '', perKey, block, point = '', skip] = process.argv.slice(2)
const faults = new StorageFaults()
await using storage = await openSqlite({ path, faults })
const barrier = await openBarrier({
  storage,
  sealKey: sealKey(1),
  clock: systemClock,
  random: systemRandom,
  log: { error: () => {} },
  limits: { perKey: Number(perKey), block: Number(block) },
})
const view = barrier.view('n/')
// the caller passes the name of a fail point
faults.arm(point as FailPoint, 'kill', Number(skip))
for (let index = 0; ; index += 1) await view.update(`${process.pid}/${index}`, () => index)
