import { parseArgs } from 'node:util'
import { exitOnSignals } from '../simulators/exit.ts'
import { PostgresInstallation } from '../simulators/postgres-server.ts'
import { seededRandom } from '../test/support/disk/simulated-disk.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { Cluster, killDuring } from './history/cluster.ts'
import { runHistory } from './history/run.ts'
import { pauseJobHolder } from './history/take-over.ts'

/**
 * `npm run history -- --runs 200 --seed 1`: concurrent clients of two servers over one PostgreSQL create, use
 * and end tokens, roles, policies and entities, while the servers and PostgreSQL are killed (SIGKILL) in turn,
 * and a server is paused (SIGSTOP) until its copies are too old. What the clients saw must be what one server
 * could have answered; reads may be a second old. `lost` is what was acknowledged and does not exist at the end,
 * and `doubled` what exists twice. Each run has its own seed, counted from the first. At the end, servers are
 * paused for 30 s: one that has copies, and one that does background jobs, which another server must then have
 * after 15 s. Exits with code 1 if there is a problem.
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    kills: { type: 'boolean', default: true },
  },
  allowNegative: true,
})

const say = (line: string) => void process.stdout.write(`${line}\n`)

exitOnSignals()
process.exitCode = await run(Number(values.runs), Number(values.seed))

async function run(runs: number, firstSeed: number): Promise<number> {
  await using folder = await makeBenchFolder()
  await using installation = await PostgresInstallation.open()
  await using cluster = await Cluster.start({ folder: folder.path, installation })
  const total = { operations: 0, unknown: 0, lost: 0, doubled: 0, problems: 0, kills: 0 }
  for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
    const load = runHistory({ replicas: cluster, seed, times: 3 })
    if (values.kills)
      total.kills += await killDuring(cluster, { random: seededRandom(seed), load, rounds: 2 })
    const { problems, ...counts } = await load
    for (const problem of problems) say(problem)
    say(`seed ${seed}: ${JSON.stringify({ ...counts, problems: problems.length })}`)
    for (const name of ['operations', 'unknown', 'lost', 'doubled'] as const) total[name] += counts[name]
    total.problems += problems.length
  }
  // longer than a lease of a background job
  const pauseMs = 30_000
  const paused = await runHistory({ replicas: cluster, seed: 0, times: 0, pauseMs })
  const taking = await pauseJobHolder(cluster, pauseMs)
  say(`the jobs of a paused server were taken over after ${taking.seconds.toFixed(1)} s`)
  const problems = [...paused.problems, ...taking.problems]
  for (const problem of problems) say(problem)
  total.problems += problems.length
  const { operations, unknown, lost, doubled, kills } = total
  say(
    `${runs} runs, ${operations} operations (${unknown} unknown), ${kills} kills, ${lost} lost, ${doubled} doubled, ${total.problems} problems`,
  )
  return lost + doubled + total.problems > 0 ? 1 : 0
}
