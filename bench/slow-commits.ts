import { join } from 'node:path'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf, median } from './measure.ts'
import { configureLogins, knownBodies, logIn, loginsWith } from './pipeline-logins.ts'
import { verdict } from './table.ts'

export type SlowCommitsInput = { commitDelayMs: number; generator: Generator; options: BenchOptions }

const readers = 8
const warmUpMs = 5000
const aims = { share: 0.5, p99: 1.2 }

/**
 * Measures a slow disk, where each commit takes `commitDelayMs` longer, in turns with a server without the delay.
 * Logins are then bounded by connections ÷ delay, since each waits for at least one commit. Reads must not wait for
 * commits, so lookup-self is measured during the logins.
 */
export async function measureSlowCommits({
  commitDelayMs,
  generator,
  options,
}: SlowCommitsInput): Promise<string> {
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  const bodies = await knownBodies(issuer, 'RS256')
  await using opened = new AsyncDisposableStack()
  const start = async (delayMs: number) => {
    const folder = opened.use(await makeBenchFolder())
    const entry = join(import.meta.dirname, 'server.ts')
    const environment = { BENCH_COMMIT_DELAY_MS: String(delayMs) }
    const server = opened.use(await startServerProcess({ folder: folder.path, entry, environment }))
    await configureLogins(server.url, server.rootToken, issuer)
    const tokens = await logIn(server.url, bodies.slice(0, readers))
    const path = '/v1/auth/token/lookup-self'
    const lookups = { method: 'GET', path, variants: tokens.map((token) => ({ token })) }
    const forMs = options.seconds * 1000
    return {
      logins: jobOf({
        contender: server,
        requests: loginsWith(bodies),
        connections: usualConnections,
        forMs,
      }),
      lookups: jobOf({ contender: server, requests: lookups, connections: readers, forMs }),
      alone: [] as LoadResult[],
      beside: [] as LoadResult[],
      reading: [] as LoadResult[],
    }
  }
  const [slow, fast] = [await start(commitDelayMs), await start(0)]
  for (const { logins } of [slow, fast]) await generator.run([{ ...logins, forMs: warmUpMs }])
  for (let round = 0; round < options.rounds; round++) {
    for (const { logins, lookups, alone, beside, reading } of [slow, fast]) {
      alone.push(...(await generator.run([logins])))
      const [logging, looking] = await generator.run([logins, lookups])
      if (logging !== undefined) beside.push(logging)
      if (looking !== undefined) reading.push(looking)
    }
  }
  const bound = (usualConnections * 1000) / commitDelayMs
  const share = rate(slow.alone) / bound
  const ratio = p99(slow.reading) / p99(fast.reading)
  return [
    `commits slowed by ${commitDelayMs} ms, ${usualConnections} connections: at most ${Math.round(bound)} logins/s`,
    `logins alone          ${line(slow.alone)}  ${share.toFixed(2)} of the bound (${verdict(share >= aims.share, `≥ ${aims.share}`)})`,
    `logins beside reads   ${line(slow.beside)}`,
    `lookup-self by ${readers}      ${line(slow.reading)}  p99 × ${ratio.toFixed(2)} (${verdict(ratio <= aims.p99, `≤ ${aims.p99}`)})`,
    `without the delay     logins ${line(fast.alone)}; lookup-self beside logins ${line(fast.reading)}`,
  ].join('\n')
}

const rate = (results: readonly LoadResult[]) =>
  median(results.map(({ requests, seconds }) => requests / seconds))

const p99 = (results: readonly LoadResult[]) => median(results.map(({ p99Ms }) => p99Ms))

const line = (results: readonly LoadResult[]) => {
  const failures = results.flatMap(({ failures }) => Object.entries(failures))
  const failed = failures.length === 0 ? '' : `  failures ${JSON.stringify(failures)}`
  return `${Math.round(rate(results))}/s  p50 ${median(results.map(({ p50Ms }) => p50Ms)).toFixed(2)} ms  p99 ${p99(results).toFixed(2)} ms${failed}`
}
