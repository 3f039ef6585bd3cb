import { cp } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { type Issuer, startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { fillTokens } from './fill-tokens.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf, median } from './measure.ts'
import { configureLogins, logIn, loginPath, signLogins } from './pipeline-logins.ts'
import { verdict } from './table.ts'

export type RotationInput = { records: number; generator: Generator; options: BenchOptions }

const knownJwts = 256
/** A stored token is its record and a row of the expiry index. */
const recordsPerToken = 2
const checkMs = 100
const warmUpMs = 5_000

/**
 * Measures logins while all records are sealed again under a new data key, in turns with logins at a server
 * with the same store and no rotation. Each server is stopped while the other one is measured.
 */
export async function measureRotation({ records, generator, options }: RotationInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await using copy = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  await fill(folder.path, issuer, bodies, records)
  await cp(folder.path, copy.path, { recursive: true })

  await using quiet = await startServerProcess({ folder: copy.path })
  await using rotating = await startServerProcess({ folder: folder.path })
  const requests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const measure = async (server: ServerProcess, stopped: ServerProcess, forMs: number) => {
    process.kill(stopped.pid, 'SIGSTOP')
    const job = jobOf({ contender: server, requests, connections: usualConnections, forMs })
    const [result] = await generator.run([job])
    process.kill(stopped.pid, 'SIGCONT')
    if (result === undefined) throw new Error('the load generator returned no result')
    return result
  }
  await measure(quiet, rotating, warmUpMs)
  await measure(rotating, quiet, warmUpMs)
  const [alone, beside]: [LoadResult[], LoadResult[]] = [[], []]
  const busy: number[] = []
  for (let round = 0; round < options.rounds; round++) {
    alone.push(await measure(quiet, rotating, options.seconds * 1000))
    if ((await remaining(rotating)) === 0) await rotate(rotating)
    const before = await whenCounted(rotating)
    beside.push(await measure(rotating, quiet, options.seconds * 1000))
    const left = await remaining(rotating)
    if (left === 0) throw new Error('the pass was over before the logins: use more records')
    busy.push((before - left) / options.seconds)
  }
  const left = await remaining(rotating)
  const idle = left / (await untilDone(rotating))
  const share = rate(beside) / rate(alone)
  return [
    `logins, ${usualConnections} connections, ${records} records`,
    `without a rotation  ${line(alone)}`,
    `during a rotation   ${line(beside)}  ${share.toFixed(2)} (${verdict(share >= 0.8, '≥ 0.80')})`,
    `records per second  during logins ${rates(busy)}, without load ${rates([idle])}`,
  ].join('\n')
}

/** Fills the store of a new server with tokens. */
async function fill(
  folder: string,
  issuer: Issuer,
  bodies: readonly string[],
  records: number,
): Promise<void> {
  const [like = ''] = await withServer(folder, async (server) => {
    await configureLogins(server.url, server.rootToken, issuer)
    return logIn(server.url, bodies.slice(0, 1))
  })
  await fillTokens({
    folder,
    like,
    count: Math.ceil(records / recordsPerToken),
    onProgress: (done) => process.stderr.write(`\r${done * recordsPerToken} records`),
  })
  process.stderr.write('\n')
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

/** Waits until the pass visits records: before, it counts them. Returns how many are left. */
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
  const p99 = median(results.map(({ p99Ms }) => p99Ms))
  return `${Math.round(rate(results))}/s  p99 ${p99.toFixed(1)} ms`
}
