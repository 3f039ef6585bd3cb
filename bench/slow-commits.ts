import { join } from 'node:path'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf } from './measure.ts'
import { configureLogins, logIn, loginPath, signLogins } from './pipeline-logins.ts'
import { verdict } from './table.ts'

export type SlowCommitsInput = { commitDelayMs: number; generator: Generator; options: BenchOptions }

const knownJwts = 256
const readers = 8

/**
 * Measures a slow disk, where each commit takes `commitDelayMs` longer. Logins are then bounded by
 * connections ÷ delay, since each waits for at least one commit. Reads must not wait for commits, so
 * lookup-self is measured during the logins.
 */
export async function measureSlowCommits({
  commitDelayMs,
  generator,
  options,
}: SlowCommitsInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  const entry = join(import.meta.dirname, 'server.ts')
  await using server = await startServerProcess({
    folder: folder.path,
    entry,
    environment: { BENCH_COMMIT_DELAY_MS: String(commitDelayMs) },
  })
  await configureLogins(server.url, server.rootToken, issuer)
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  const tokens = await logIn(server.url, bodies.slice(0, readers))
  const forMs = options.seconds * options.rounds * 1000
  const loginRequests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const lookupRequests = {
    method: 'GET',
    path: '/v1/auth/token/lookup-self',
    variants: tokens.map((token) => ({ token })),
  }
  const logins = jobOf({ contender: server, requests: loginRequests, connections: usualConnections, forMs })
  const lookups = jobOf({ contender: server, requests: lookupRequests, connections: readers, forMs })

  await generator.run([{ ...logins, forMs: 1000 }])
  const [alone] = await generator.run([logins])
  const [beside, reading] = await generator.run([logins, lookups])

  if (alone === undefined || beside === undefined || reading === undefined)
    throw new Error('the load generator returned no result')
  const bound = (usualConnections * 1000) / commitDelayMs
  const share = rate(alone) / bound
  return [
    `commits slowed by ${commitDelayMs} ms, ${usualConnections} connections: at most ${Math.round(bound)} logins/s`,
    `logins alone          ${line(alone)}  ${share.toFixed(2)} of the bound (${verdict(share >= 0.5, '≥ 0.50')})`,
    `logins beside reads   ${line(beside)}`,
    `lookup-self by ${readers}      ${line(reading)}  (${verdict(reading.p99Ms <= 10, 'p99 ≤ 10 ms')})`,
  ].join('\n')
}

const rate = ({ requests, seconds }: LoadResult) => requests / seconds

const line = (result: LoadResult) => {
  const failed =
    Object.keys(result.failures).length === 0 ? '' : `  failures ${JSON.stringify(result.failures)}`
  return `${Math.round(rate(result))}/s  p50 ${result.p50Ms.toFixed(2)} ms  p99 ${result.p99Ms.toFixed(2)} ms${failed}`
}
