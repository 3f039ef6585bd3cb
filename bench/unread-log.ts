import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf, median } from './measure.ts'
import { configureLogins, loginPath, signLogins } from './pipeline-logins.ts'
import { verdict } from './table.ts'

const aim = 0.9
const knownJwts = 256
/** Each request is a line, so a pipe of 64 KiB is full after some hundred logins. */
const environment = { GATEHOUSE_ACCESS_LOG: 'true' }

/**
 * Measures logins, each of which logs a line, in turns at a server whose log is read and at one whose log nobody
 * reads. The other one is stopped meanwhile.
 */
export async function measureUnreadLog({
  generator,
  options,
}: {
  generator: Generator
  options: BenchOptions
}): Promise<string> {
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  await using readFolder = await makeBenchFolder()
  await using unreadFolder = await makeBenchFolder()
  await using read = await startServerProcess({ folder: readFolder.path, environment })
  await using unread = await startServerProcess({ folder: unreadFolder.path, environment })
  for (const { url, rootToken } of [read, unread]) await configureLogins(url, rootToken, issuer)
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  unread.leaveLog()
  const requests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const measure = async (server: ServerProcess, stopped: ServerProcess, forMs: number) => {
    process.kill(stopped.pid, 'SIGSTOP')
    const job = jobOf({ contender: server, requests, connections: usualConnections, forMs })
    const [result] = await generator.run([job])
    process.kill(stopped.pid, 'SIGCONT')
    if (result === undefined) throw new Error('the load generator returned no result')
    return result
  }
  await measure(read, unread, 5000)
  await measure(unread, read, 5000)
  const [rates, ratesUnread]: [number[], number[]] = [[], []]
  for (let round = 0; round < options.rounds; round++) {
    rates.push(rateOf(await measure(read, unread, options.seconds * 1000)))
    ratesUnread.push(rateOf(await measure(unread, read, options.seconds * 1000)))
  }
  const ratio = median(ratesUnread) / median(rates)
  return `logins while nobody reads the log: ${Math.round(median(ratesUnread))}/s, otherwise ${Math.round(median(rates))}/s: ${ratio.toFixed(2)} (${verdict(ratio >= aim, `≥ ${aim}`)})`
}

const rateOf = ({ requests, seconds }: LoadResult) => requests / seconds
