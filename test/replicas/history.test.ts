import { expect, test } from 'vitest'
import { runHistory } from '../../bench/history/run.ts'
import { startReplicas } from '../support/replicas.ts'
import { shared } from '../support/shared.ts'

/** Copies count as too old after a tenth of the usual second, so that more reads are wrong if one is. */
const pace = 10
const replicas = shared(() => startReplicas({ steady: () => pace * performance.now() }))

test.each([1, 2, 3])(
  'what clients of two servers see could be the work of one, except for the age of copies: seed %i',
  async (seed) => {
    const { servers } = await replicas()
    const urls = servers.map(({ url }) => url)

    const counts = await runHistory({
      ...{ replicas: { urls, rootToken: 'root' }, seed, times: 2 },
      copiesMs: 1000 / pace,
    })

    expect(counts).toMatchObject({ unknown: 0, lost: 0, doubled: 0, problems: [] })
  },
)
