import { expect, test } from 'vitest'
import { openBarrier } from '../../../src/core/barrier/barrier.ts'
import { termOf } from '../../../src/core/barrier/sealed-value.ts'
import { systemClock } from '../../../src/lib/system/clock.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { openSqlite } from '../../../src/storage/sqlite/sqlite.ts'
import { runProcess } from '../../support/process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { sealKey } from './barrier-fixture.ts'

/** More than two pages of a pass. */
const records = 600
/** Each commit of a rotation is the last one of some life, before it or after it. */
const lives = Array.from({ length: 10 }, (_, life) => ({
  point: life % 2 === 0 ? 'storage.before-commit' : 'storage.after-commit',
  skip: life,
}))

test('a server that is killed while keys rotate loses no record, and ends with one key', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  const log = { info: () => {}, error: () => {} }
  const parts = { sealKey: sealKey(1), clock: systemClock, random: systemRandom, log }
  {
    await using storage = await openSqlite({ path })
    const view = (await openBarrier({ ...parts, storage })).view('n/')
    await view.write(Array.from({ length: records }, (_, at) => ({ key: String(at), value: 0 })))
  }

  const acknowledged = new Map<string, number>()
  for (const { point, skip } of lives) {
    const args = [path, records, point, skip].map(String)
    const outcome = await runProcess('test/core/barrier/rotating-program.ts', { folder: folder.path, args })
    expect([outcome.code, outcome.stderr]).toEqual([null, ''])
    for (const [, key = '', count] of outcome.stdout.matchAll(/^(\d+) (\d+)$/gm))
      acknowledged.set(key, Number(count))
  }

  await using storage = await openSqlite({ path })
  const barrier = await openBarrier({ ...parts, storage })
  await using resealer = barrier.resealing(log)
  resealer.start()
  await resealer.settled()
  const found = new Map((await barrier.view('n/').list('')).map(({ key, value }) => [key, Number(value)]))
  expect(found.size).toBe(records)
  expect(acknowledged.size).toBeGreaterThan(0)
  expect([...acknowledged].filter(([key, count]) => (found.get(key) ?? 0) < count)).toEqual([])
  expect(new Set((await storage.list('n/')).map(({ value }) => termOf(value))).size).toBe(1)
})
