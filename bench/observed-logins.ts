import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Issuer, startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { type BenchCase, type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import { measureCase } from './measure.ts'
import { configureLogins, knownLogins } from './pipeline-logins.ts'
import { renderTable } from './table.ts'

export type ObservedLoginsInput = { commitDelayMs: number; generator: Generator; options: BenchOptions }

/** What can be switched off. The linter does nothing at a login, and an explanation only reads what is remembered. */
const plain = { GATEHOUSE_METRICS: 'off', GATEHOUSE_LOGIN_FAILURES_KEPT: '0' }
const watched = { GATEHOUSE_METRICS: 'open' }
const scrapeEveryMs = 1000

/**
 * Measures what it costs a login to be remembered, counted and audited, in turns with a server that does none of it:
 * with the metrics scraped every second, and then with a file device too. Each audited login is two lines.
 */
export async function measureObservedLogins({
  commitDelayMs,
  generator,
  options,
}: ObservedLoginsInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  const file = join(folder.path, 'audit/audit.log')
  const device = { path: 'file', type: 'file', options: { file_path: file } }
  const start = (name: string, environment: Record<string, string>) =>
    startContender(join(folder.path, name), issuer, {
      BENCH_COMMIT_DELAY_MS: String(commitDelayMs),
      ...environment,
    })
  await using forgetful = await start('plain', plain)
  await using remembering = await start('watched', watched)
  await using audited = await start('audited', {
    ...watched,
    GATEHOUSE_AUDIT: JSON.stringify([device]),
    GATEHOUSE_AUDIT_DIRS: join(folder.path, 'audit'),
  })
  await forgetLogins(forgetful)
  const requests = await knownLogins(issuer, 'RS256')
  const measure = async (name: string, gatehouse: ServerProcess, aim: number) => {
    const against = { contender: 'plain' as const, requests }
    const one: BenchCase = { name, connections: usualConnections, ours: requests, against, aim }
    using _scrapes = scrapes(gatehouse.url)
    return measureCase(one, { gatehouse, plain: forgetful }, generator, options)
  }
  const unaudited = await measure('login, remembered, metrics scraped', remembering, 0.97)
  const all = await measure('the same, and a file device', audited, 0.9)
  await mustHaveWritten(file, 2 * all.ours.requests)
  return renderTable([unaudited, all])
}

async function startContender(
  folder: string,
  issuer: Issuer,
  environment: Record<string, string>,
): Promise<ServerProcess> {
  await mkdir(folder, { recursive: true })
  const entry = join(import.meta.dirname, 'server.ts')
  const server = await startServerProcess({ folder, entry, environment })
  await configureLogins(server.url, server.rootToken, issuer)
  return server
}

/** docs/contract/what-if.md#what-is-kept */
const forgetLogins = ({ url, rootToken: token }: ServerProcess) =>
  sendSuccessfully(url, {
    method: 'POST',
    path: 'sys/auth/jwt/tune',
    token,
    body: { options: { history_days: '0' } },
  })

/** One that is under way when its server stops fails. */
const scrape = (url: string) =>
  fetch(`${url}/metrics`)
    .then((answer) => answer.text())
    .catch(() => undefined)

/** Reads the metrics every second until it is disposed. */
function scrapes(url: string): Disposable {
  const timer = setInterval(() => void scrape(url), scrapeEveryMs)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** Throws if the device has fewer lines of this kind: a figure without them would be worth nothing. */
async function mustHaveWritten(file: string, wanted: number): Promise<void> {
  const text = await readFile(file, 'latin1')
  const lines = text.match(/"type":"(?:request|response)"/g)?.length ?? 0
  if (lines < wanted) throw new Error(`${file} has ${lines} lines instead of ${wanted}`)
}
