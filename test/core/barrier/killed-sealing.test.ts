import { expect, test } from 'vitest'
import { openBarrier } from '../../../src/core/barrier/barrier.ts'
import { termOf } from '../../../src/core/barrier/sealed-value.ts'
import { systemClock } from '../../../src/lib/system/clock.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { openSqlite } from '../../../src/storage/sqlite/sqlite.ts'
import { runProcess } from '../../support/process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { sealKey } from './barrier-fixture.ts'

const [perKey, block] = [10, 3]
const lives = Array.from({ length: 12 }, (_, life) => ({
  point: life % 2 === 0 ? 'storage.before-commit' : 'storage.after-commit',
  skip: 1 + (life % 6),
}))

test('no key seals more than its limit, however often the server is killed, and every record opens', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')

  for (const { point, skip } of lives) {
    const args = [path, perKey, block, point, skip].map(String)
    const outcome = await runProcess('test/core/barrier/sealing-program.ts', { folder: folder.path, args })
    expect(outcome).toEqual({ code: null, stdout: '', stderr: '' })
  }

  await using storage = await openSqlite({ path })
  const log = { error: () => {} }
  const barrier = await openBarrier({
    storage,
    sealKey: sealKey(1),
    clock: systemClock,
    random: systemRandom,
    log,
  })
  const sealed = await storage.list('n/')
  const perTerm = Map.groupBy(sealed, ({ value }) => termOf(value))
  expect(sealed.length).toBeGreaterThan(2 * perKey)
  expect(Math.max(...[...perTerm.values()].map(({ length }) => length))).toBeLessThanOrEqual(perKey)
  expect(await barrier.view('n/').list('')).toHaveLength(sealed.length)
})
