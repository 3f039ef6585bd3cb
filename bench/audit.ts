import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Issuer, startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf, median } from './measure.ts'
import { configureLogins, loginPath, signLogins } from './pipeline-logins.ts'
import { verdict } from './table.ts'

const aim = 0.85
const knownJwts = 256
const warmUpMs = 5000

/**
 * Measures logins on two servers in turns: one without an audit device, one with a file device. Each login is
 * two lines.
 */
export async function measureAudit({
  commitDelayMs,
  generator,
  options,
}: {
  commitDelayMs: number
  generator: Generator
  options: BenchOptions
}): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  const file = join(folder.path, 'audit/audit.log')
  const device = { path: 'file', type: 'file', options: { file_path: file } }
  await using without = await startContender(join(folder.path, 'without'), commitDelayMs, issuer, {})
  await using audited = await startContender(join(folder.path, 'audited'), commitDelayMs, issuer, {
    GATEHOUSE_AUDIT: JSON.stringify([device]),
    GATEHOUSE_AUDIT_DIRS: join(folder.path, 'audit'),
  })
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  const requests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const sides = [without, audited].map((contender) => ({ contender, results: [] as LoadResult[] }))
  for (let round = 0; round <= options.rounds; round++)
    for (const { contender, results } of sides) {
      const forMs = round === 0 ? warmUpMs : options.seconds * 1000
      const job = jobOf({ contender, requests, connections: usualConnections, forMs })
      const done = await generator.run([job])
      if (round > 0) results.push(...done)
    }
  const logins = sides[1]?.results.reduce((sum, result) => sum + result.requests, 0) ?? 0
  await mustHaveWritten(file, 2 * logins)
  const [plain = 0, withDevice = 0] = sides.map(({ results }) => rateOf(results))
  const ratio = withDevice / plain
  return [
    `commits slowed by ${commitDelayMs} ms, ${usualConnections} connections`,
    `logins without a device     ${lineOf(sides[0]?.results ?? [])}`,
    `logins with a file device   ${lineOf(sides[1]?.results ?? [])}  ratio ${ratio.toFixed(2)} (${verdict(ratio >= aim, `≥ ${aim}`)})`,
  ].join('\n')
}

async function startContender(
  folder: string,
  commitDelayMs: number,
  issuer: Issuer,
  environment: Record<string, string>,
): Promise<ServerProcess> {
  await mkdir(folder, { recursive: true })
  const server = await startServerProcess({
    folder,
    entry: join(import.meta.dirname, 'server.ts'),
    environment: { BENCH_COMMIT_DELAY_MS: String(commitDelayMs), ...environment },
  })
  await configureLogins(server.url, server.rootToken, issuer)
  return server
}

/** Throws if the device has fewer lines of this kind: a figure without them would be worth nothing. */
async function mustHaveWritten(file: string, wanted: number): Promise<void> {
  const text = await readFile(file, 'latin1')
  const lines = text.match(/"type":"(?:request|response)"/g)?.length ?? 0
  if (lines < wanted) throw new Error(`${file} has ${lines} lines instead of ${wanted}`)
}

const rateOf = (results: readonly LoadResult[]) =>
  median(results.map(({ requests, seconds }) => requests / seconds))

function lineOf(results: readonly LoadResult[]): string {
  const failures = Object.assign({}, ...results.map((result) => result.failures))
  const failed = Object.keys(failures).length === 0 ? '' : `  failures ${JSON.stringify(failures)}`
  const p50 = median(results.map(({ p50Ms }) => p50Ms))
  const p99 = median(results.map(({ p99Ms }) => p99Ms))
  return `${Math.round(rateOf(results))}/s  p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms${failed}`
}
