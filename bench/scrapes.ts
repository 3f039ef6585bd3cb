import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { send } from '../simulators/operator.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf, median } from './measure.ts'
import { configureLogins, loginPath, signLogins } from './pipeline-logins.ts'
import { verdict } from './table.ts'

const aim = 0.98
/** Two percent of a second: unlike rates, it is measured well on a busy machine. */
const aimCpuMs = 20
const scrapesMeasured = 100
const knownJwts = 256
const everyMs = 1_000

/** Measures logins in turns alone, and while the metrics are scraped every second. */
export async function measureScrapes({
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
    environment: { GATEHOUSE_METRICS: 'open' },
  })
  await configureLogins(server.url, server.rootToken, issuer)
  await useRoutes(server)
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  const requests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const forMs = options.seconds * 1000
  const logins = jobOf({ contender: server, requests, connections: usualConnections, forMs })
  await generator.run([{ ...logins, forMs: 5000 }])
  await scrape(server.url)
  const alone: LoadResult[] = []
  const scraped: LoadResult[] = []
  let bytes = 0
  for (let round = 0; round < options.rounds; round++) {
    alone.push(...(await generator.run([logins])))
    const timer = setInterval(() => {
      void scrape(server.url).then((size) => {
        bytes = size
      })
    }, everyMs)
    scraped.push(...(await generator.run([logins])))
    clearInterval(timer)
  }
  const cpuMs = await cpuPerScrape(server.url)
  // neighbours in time are compared: the machine is not equally fast all the time
  const ratio = median(scraped.map((one, round) => rateOf(one) / rateOf(alone[round] ?? one)))
  const rates = `${Math.round(median(scraped.map(rateOf)))}/s, alone ${Math.round(median(alone.map(rateOf)))}/s`
  return `logins while ${Math.round(bytes / 1000)} KB of metrics are scraped every second: ${rates}: ${ratio.toFixed(3)} (${verdict(ratio >= aim, `≥ ${aim}`)}); a scrape takes ${cpuMs.toFixed(1)} ms of processor time (${verdict(cpuMs <= aimCpuMs, `≤ ${aimCpuMs} ms`)})`
}

/** Common paths, so that a scrape has their histograms. */
const routes = [
  ...['sys/auth', 'sys/mounts', 'sys/policies/acl/default', 'sys/policy', 'sys/audit', 'sys/namespaces/x'],
  ...['sys/key-status', 'sys/leases/count', 'sys/capabilities-self', 'sys/quotas/config', 'sys/config/cors'],
  ...['sys/health', 'sys/seal-status', 'sys/leader', 'sys/ha-status', 'sys/host-info', 'sys/in-flight-req'],
  ...[
    'sys/internal/ui/mounts',
    'sys/internal/ui/resultant-acl',
    'sys/internal/counters/tokens',
    'sys/loggers',
  ],
  ...[
    'auth/token/lookup-self',
    'auth/token/roles/x',
    'auth/token/accessors',
    'auth/jwt/config',
    'auth/jwt/status',
  ],
  ...['auth/jwt/role/ci', 'auth/jwt/lint', 'auth/jwt/failures', 'cubbyhole/x', 'identity/entity/id/x'],
  ...['identity/group/id/x', 'identity/oidc/config', 'identity/oidc/key/x', 'identity/entity/name/x'],
  ...[
    'sys/rotate/config',
    'sys/remount/status/x',
    'sys/quotas/rate-limit/x',
    'cloud/config',
    'cloud/roles/x',
  ],
]

async function useRoutes({ url, rootToken: token }: { url: string; rootToken: string }): Promise<void> {
  for (const path of routes) await send(url, { method: 'GET', path, token })
}

/** Milliseconds of processor time that the server needs for a scrape. */
async function cpuPerScrape(url: string): Promise<number> {
  const before = await cpuSeconds(url)
  for (let count = 0; count < scrapesMeasured; count++) await scrape(url)
  return ((await cpuSeconds(url)) - before) * (1000 / (scrapesMeasured + 1))
}

async function cpuSeconds(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1])
}

async function scrape(url: string): Promise<number> {
  const response = await fetch(`${url}/metrics`)
  if (response.status !== 200) throw new Error(`a scrape was answered with ${response.status}`)
  return (await response.arrayBuffer()).byteLength
}

const rateOf = ({ requests, seconds }: LoadResult) => requests / seconds
