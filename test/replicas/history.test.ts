import { expect, test } from 'vitest'
import { Cluster, killDuring } from '../../bench/history/cluster.ts'
import { runHistory } from '../../bench/history/run.ts'
import { programFile } from '../support/bundled.ts'
import { seededRandom } from '../support/disk/simulated-disk.ts'
import { postgresInstallation } from '../support/postgres.ts'
import { startReplicas } from '../support/replicas.ts'
import { shared } from '../support/shared.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Copies count as too old after 20 ms, so that more reads are wrong if one is. */
const pace = 50
const steady = () => pace * performance.now()
const usual = shared(() => startReplicas({ steady }))
const settings = { POSTGRES_NOTIFY: 'false', POSTGRES_PREPARE: 'false', POSTGRES_POLL: '900ms' }
const behindPooler = shared(() => startReplicas({ steady, settings }))

test.each([
  { seed: 1, how: 'with the usual settings', replicas: usual },
  { seed: 2, how: 'without notifications and prepared statements', replicas: behindPooler },
])(
  'what clients of two servers see could be the work of one, except for the age of copies: seed $seed, $how',
  async ({ seed, replicas }) => {
    const { servers } = await replicas()
    const urls = servers.map(({ url }) => url)

    const counts = await runHistory({
      replicas: { urls, rootToken: 'root' },
      seed,
      times: 1,
      copiesMs: 1000 / pace,
    })

    expect(counts).toMatchObject({ unknown: 0, lost: 0, doubled: 0, problems: [] })
  },
)

test('nothing acknowledged is lost or doubled when servers and PostgreSQL are killed in turn', async () => {
  await using folder = await temporaryFolder()
  await using cluster = await Cluster.start({
    folder: folder.path,
    installation: await postgresInstallation(),
    program: programFile('src/process/main.ts'),
  })

  const load = runHistory({ replicas: cluster, seed: 3, times: 2 })
  const kills = await killDuring(cluster, { random: seededRandom(3), load, rounds: 1 })

  expect(kills).toBeGreaterThan(0)
  expect(await load).toMatchObject({ lost: 0, doubled: 0, problems: [] })
}, 60_000)
