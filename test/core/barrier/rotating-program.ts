import { writeSync } from 'node:fs'
import { openBarrier } from '../../../src/core/barrier/barrier.ts'
import { systemClock } from '../../../src/lib/system/clock.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { type FailPoint, StorageFaults } from '../../../src/storage/faults.ts'
import { openSqlite } from '../../../src/storage/sqlite/sqlite.ts'
import { sealKey } from './barrier-fixture.ts'

// Counts up records while data keys and root keys rotate, and prints each count once it is durable, until it
// is killed at `point` after `skip` groups of writes. Arguments: the database, the number of records, point,
// skip.
const [path = '', records, point = '', skip] = process.argv.slice(2)
const faults = new StorageFaults()
await using storage = await openSqlite({ path, faults })
const log = { info: () => {}, error: () => {} }
const barrier = await openBarrier({
  storage,
  sealKey: sealKey(1),
  clock: systemClock,
  random: systemRandom,
  log,
})
await using resealer = barrier.resealing(log)
// what a server's sockets do: the pauses of the pass keep no process alive
setInterval(() => {}, 60_000)
resealer.start()
const view = barrier.view('n/')
const countUp = async (key: string) => {
  const count = await view.update(key, (current) => Number(current ?? 0) + 1)
  writeSync(1, `${key} ${count}\n`)
}
// the caller passes the name of a fail point
faults.arm(point as FailPoint, 'kill', Number(skip))
for (let round = 0; ; round += 1) {
  await barrier.rotate()
  const keys = Array.from({ length: 8 }, (_, at) => String((round * 8 + at) % Number(records)))
  await Promise.all([barrier.rotateRootKey(sealKey(1)), ...keys.map(countUp)])
  await resealer.settled()
}
