import { expect, test } from 'vitest'
import { runChaos } from '../../bench/chaos-run.ts'
import { programFile } from '../support/bundled.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('after a short chaos run with kills, every upstream object has an owner, every lease has its object, and both roots can sign in', async () => {
  await using folder = await temporaryFolder()

  const { problems, counts } = await runChaos({
    operations: 60,
    seed: 20_261_121,
    folder: folder.path,
    entry: programFile('test/support/cloud-server.ts'),
  })

  expect(problems).toEqual([])
  expect(counts).toMatchObject({ kills: 2, created: expect.any(Number) })
}, 180_000)
