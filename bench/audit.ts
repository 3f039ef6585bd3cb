import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Issuer, startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import { measureCase } from './measure.ts'
import { configureLogins, loginPath, signLogins } from './pipeline-logins.ts'
import { renderTable } from './table.ts'

const aim = 0.85
const knownJwts = 256

/**
 * Measures logins at a server with a file device against one without, in turns. Each login is two lines.
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
  await using unaudited = await startContender(join(folder.path, 'unaudited'), commitDelayMs, issuer, {})
  await using gatehouse = await startContender(join(folder.path, 'audited'), commitDelayMs, issuer, {
    GATEHOUSE_AUDIT: JSON.stringify([device]),
    GATEHOUSE_AUDIT_DIRS: join(folder.path, 'audit'),
  })
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  const requests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const measured = await measureCase(
    {
      name: `audited login, commits slowed by ${commitDelayMs} ms`,
      connections: usualConnections,
      ours: requests,
      against: { contender: 'unaudited', requests },
      aim,
    },
    { gatehouse, unaudited },
    generator,
    options,
  )
  await mustHaveWritten(file, 2 * measured.ours.requests)
  return renderTable([measured])
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
