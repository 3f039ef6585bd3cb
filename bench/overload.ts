import { request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import type { BenchOptions } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf, median, sum } from './measure.ts'
import { configureLogins, knownBodies, loginsWith } from './pipeline-logins.ts'
import { readProcessFigures } from './process-figures.ts'
import { megabytes, verdict } from './table.ts'

const inFlight = 64
const crowd = 640
const probeEveryMs = 250
const aims = { accepted: 0.8, memory: 2, answerMs: 1000 }

/** The slowest answer of each probed path, and the largest memory, while something runs. */
type Watched = { readonly slowestMs: Record<string, number>; readonly rssBytes: number }

/**
 * Measures logins of as many clients as the server serves at a time, and of ten times as many that ask again at
 * once when they are refused: what is accepted, memory, and how long the paths take that are served under any
 * load. At the end, such a crowd is there while the server is sealed.
 */
export async function measureOverload({
  generator,
  options,
}: {
  generator: Generator
  options: BenchOptions
}): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  await using server = await startServerProcess({
    folder: folder.path,
    environment: { GATEHOUSE_MAX_IN_FLIGHT: `${inFlight}` },
  })
  await configureLogins(server.url, server.rootToken, issuer)
  const bodies = await knownBodies(issuer, 'ES256')
  const requests = loginsWith(bodies)
  const run = async (connections: number, seconds: number) => {
    const job = jobOf({ contender: server, requests, connections, forMs: seconds * 1000 })
    const load = generator.run([job])
    const watched = await watch(server, load)
    const [result] = await load
    if (result === undefined) throw new Error('the load generator returned no result')
    return { result, watched }
  }
  const atCapacity = async () => await run(inFlight, options.seconds * 3)
  await run(inFlight, 5)
  const before = await atCapacity()
  const crowded = await run(crowd, options.seconds * 20)
  const after = await atCapacity()
  const sealing = await sealDuring(server, run(crowd, options.seconds))
  return report({
    capacity: median([before, after].map(({ result }) => acceptedPerSecond(result))),
    rssBytes: before.watched.rssBytes,
    crowded,
    sealing,
  })
}

type Run = { readonly result: LoadResult; readonly watched: Watched }
type Measured = {
  readonly capacity: number
  readonly rssBytes: number
  readonly crowded: Run
  readonly sealing: { readonly status: number; readonly ms: number }
}

function report({ capacity, rssBytes, crowded: { result, watched }, sealing }: Measured): string {
  const accepted = acceptedPerSecond(result)
  const refused = Object.entries(result.failures).map(([status, times]) => `${times} × ${status}`)
  const shares = { accepted: accepted / capacity, memory: watched.rssBytes / rssBytes }
  const only503 = Object.keys(result.failures).every((status) => status === '503')
  const answers = Object.entries(watched.slowestMs)
    .map(([path, ms]) => `${path} ${Math.round(ms)} ms (${verdict(ms <= aims.answerMs, '≤ 1000 ms')})`)
    .join(', ')
  return [
    `logins of ${crowd} connections with MAX_IN_FLIGHT ${inFlight}, for ${Math.round(result.seconds)} s: ${Math.round(accepted)}/s accepted, ${Math.round(capacity)}/s at capacity: ${shares.accepted.toFixed(2)} (${verdict(shares.accepted >= aims.accepted && only503, `≥ ${aims.accepted}`)}); refused ${refused.join(', ')}`,
    `  memory at most ${megabytes(watched.rssBytes)} MB, at capacity ${megabytes(rssBytes)} MB: ${shares.memory.toFixed(2)} (${verdict(shares.memory <= aims.memory, `≤ ${aims.memory}`)})`,
    `  slowest answers: ${answers}`,
    `  sealing during it: status ${sealing.status} after ${Math.round(sealing.ms)} ms (${verdict(sealing.status === 204 && sealing.ms <= aims.answerMs, '204 within 1000 ms')})`,
  ].join('\n')
}

const acceptedPerSecond = ({ requests, failures, seconds }: LoadResult) =>
  (requests - sum(Object.values(failures))) / seconds

/** Probes the server, each time on a new connection, until the load is over. */
async function watch({ url, pid }: ServerProcess, load: Promise<unknown>): Promise<Watched> {
  const slowestMs: Record<string, number> = { '/health/live': 0, 'sys/seal': 0 }
  let rssBytes = 0
  let isOver = false
  const end = load.finally(() => {
    isOver = true
  })
  while (!isOver) {
    const [live, seal] = await Promise.all([
      timed(`${url}/health/live`, 'GET'),
      // without a token nothing is sealed
      timed(`${url}/v1/sys/seal`, 'PUT'),
    ])
    if (live.status !== 200 || seal.status !== 403)
      throw new Error(`a probe was answered with ${live.status} and ${seal.status}`)
    slowestMs['/health/live'] = Math.max(slowestMs['/health/live'] ?? 0, live.ms)
    slowestMs['sys/seal'] = Math.max(slowestMs['sys/seal'] ?? 0, seal.ms)
    rssBytes = Math.max(rssBytes, (await readProcessFigures(pid))?.rssBytes ?? 0)
    await Promise.race([end, wait(probeEveryMs)])
  }
  return { slowestMs, rssBytes }
}

/** Seals the server as soon as the crowd is there. */
async function sealDuring(server: ServerProcess, crowd: Promise<unknown>): Promise<Measured['sealing']> {
  // its probe of sys/seal may find the server sealed
  crowd.catch(() => {})
  await wait(500)
  const sealed = await timed(`${server.url}/v1/sys/seal`, 'PUT', { 'x-vault-token': server.rootToken })
  await Promise.allSettled([crowd])
  return sealed
}

function timed(
  url: string,
  method: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; ms: number }> {
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    request(url, { method, headers, agent: false }, (response) => {
      response.resume()
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, ms: performance.now() - startedAt }),
      )
    })
      .on('error', reject)
      .end()
  })
}
