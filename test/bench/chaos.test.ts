import { expect, test } from 'vitest'
import { runChaos } from '../../bench/chaos-run.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('after a short chaos with kills, nothing upstream lacks an owner, no lease lacks its object, and the root signs in', async () => {
  await using folder = await temporaryFolder()

  const { problems, counts } = await runChaos({ operations: 60, seed: 20_261_121, folder: folder.path })

  expect(problems).toEqual([])
  expect(counts).toMatchObject({ kills: 2, created: expect.any(Number) })
}, 180_000)
