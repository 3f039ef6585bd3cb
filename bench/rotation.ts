import { setTimeout as wait } from 'node:timers/promises'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { fillTokens } from './fill-tokens.ts'
import type { Generator } from './generator.ts'
import type { LoadJob, LoadResult } from './load.ts'
import { jobOf } from './measure.ts'
import { configureLogins, logIn, loginPath, signLogins } from './pipeline-logins.ts'
import { verdict } from './table.ts'

export type RotationInput = { records: number; generator: Generator; options: BenchOptions }

const knownJwts = 256
/** A stored token is its record and a row of the expiry index. */
const recordsPerToken = 2
const checkMs = 100

/**
 * Measures logins while all records are sealed again under a new data key, in turns with logins without such
 * a pass, and how long the pass takes under load and without any.
 */
export async function measureRotation({ records, generator, options }: RotationInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  const [like = ''] = await withServer(folder.path, async (server) => {
    await configureLogins(server.url, server.rootToken, issuer)
    return logIn(server.url, bodies.slice(0, 1))
  })
  await fillTokens({
    folder: folder.path,
    like,
    count: Math.ceil(records / recordsPerToken),
    onProgress: (done) => process.stderr.write(`\r${done * recordsPerToken} records`),
  })
  process.stderr.write('\n')

  await using server = await startServerProcess({ folder: folder.path })
  const requests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const job = (forMs: number) => jobOf({ contender: server, requests, connections: usualConnections, forMs })
  await generator.run([job(5_000)])
  const [alone, beside]: [LoadResult[], LoadResult[]] = [[], []]
  const run = async (into: LoadResult[], one: LoadJob) => {
    const [result] = await generator.run([one])
    if (result === undefined) throw new Error('the load generator returned no result')
    into.push(result)
  }
  const [busy, idle]: [number[], number[]] = [[], []]
  for (let round = 0; round < options.rounds; round++) {
    await run(alone, job(options.seconds * 1000))
    await rotate(server)
    const before = await whenCounted(server)
    await run(beside, job(options.seconds * 1000))
    const left = await remaining(server)
    if (left === 0) throw new Error('the pass was over before the logins: use more records')
    busy.push((before - left) / options.seconds)
    idle.push(left / (await untilDone(server)))
  }
  const share = rate(beside) / rate(alone)
  return [
    `logins, ${usualConnections} connections, ${records} records`,
    `without a rotation  ${line(alone)}`,
    `during a rotation   ${line(beside)}  ${share.toFixed(2)} (${verdict(share >= 0.8, '≥ 0.80')})`,
    `records per second  during logins ${rates(busy)}, without load ${rates(idle)}`,
  ].join('\n')
}

const rates = (values: readonly number[]) => values.map((value) => Math.round(value)).join(', ')

async function withServer<T>(folder: string, use: (server: ServerProcess) => Promise<T>): Promise<T> {
  await using server = await startServerProcess({ folder })
  return await use(server)
}

const rotate = ({ url, rootToken }: ServerProcess) =>
  sendSuccessfully(url, { method: 'POST', path: 'sys/rotate', token: rootToken })

async function remaining({ url, rootToken }: ServerProcess): Promise<number> {
  const answer = await fetch(`${url}/v1/sys/metrics?format=prometheus`, {
    headers: { 'x-vault-token': rootToken },
  })
  return Number(/^gatehouse_reseal_remaining_records (\d+)$/m.exec(await answer.text())?.[1])
}

/** Waits until the pass visits records; before, it counts them. */
async function whenCounted(server: ServerProcess): Promise<number> {
  for (let last = 0; ; await wait(checkMs)) {
    const now = await remaining(server)
    if (now < last) return now
    last = now
  }
}

/** Returns the time until the pass is over, in seconds. */
async function untilDone(server: ServerProcess): Promise<number> {
  const started = performance.now()
  while ((await remaining(server)) > 0) await wait(checkMs)
  return (performance.now() - started) / 1000
}

const rate = (results: readonly LoadResult[]) =>
  results.reduce((sum, { requests }) => sum + requests, 0) /
  results.reduce((sum, { seconds }) => sum + seconds, 0)

const line = (results: readonly LoadResult[]) => {
  const p99 = results.map(({ p99Ms }) => p99Ms.toFixed(1)).join(', ')
  return `${Math.round(rate(results))}/s  p99 ${p99} ms`
}
