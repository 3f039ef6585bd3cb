import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import { HeldConnections } from './held-connections.ts'
import type { LoadJob, LoadResult } from './load.ts'
import { jobOf, median } from './measure.ts'
import { configureLogins, knownBodies, loginPath, loginsWith } from './pipeline-logins.ts'
import { verdict } from './table.ts'

/** Clients that hold connections open and send only `bytes` on each. */
type Attack = {
  readonly name: string
  readonly count: number
  readonly addresses: number
  readonly bytes: Buffer
}

const aim = 0.8
const settleMs = 2000
const head = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`
const MiB = 1024 * 1024

const attacks: readonly Attack[] = [
  {
    name: 'heads without their bodies, one address',
    count: 1030,
    addresses: 1,
    bytes: Buffer.from(head(loginPath, 9)),
  },
  {
    name: 'heads without their bodies, 11 addresses',
    count: 10_005,
    addresses: 11,
    bytes: Buffer.from(head(loginPath, 9)),
  },
  {
    name: 'bodies without their last byte',
    count: 20,
    addresses: 11,
    bytes: Buffer.from(`${head(loginPath, MiB)}${' '.repeat(MiB - 1)}`),
  },
  { name: 'idle connections, one address', count: 10_005, addresses: 1, bytes: Buffer.alloc(0) },
  { name: 'idle connections, 11 addresses', count: 10_005, addresses: 11, bytes: Buffer.alloc(0) },
]

/**
 * Measures logins on new connections, in turns alone and during an attack. Needs a system where all of
 * 127.0.0.0/8 is loopback.
 */
export async function measureAttacks({
  generator,
  options,
}: {
  generator: Generator
  options: BenchOptions
}): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  // a few bodies exhaust this budget: the bench measures who gets it, not the bandwidth of an attacker
  await using server = await startServerProcess({
    folder: folder.path,
    environment: { GATEHOUSE_MAX_BUFFERED: '16MiB' },
  })
  await configureLogins(server.url, server.rootToken, issuer)
  const bodies = await knownBodies(issuer, 'ES256')
  const requests = loginsWith(bodies)
  const logins = jobOf({
    contender: server,
    requests,
    connections: usualConnections,
    forMs: options.seconds * 1000,
  })
  await generator.run([{ ...logins, forMs: 5000 }])
  const lines: string[] = []
  for (const attack of attacks)
    lines.push(await measureAttack(attack, { port: server.port, logins, generator, options }))
  return lines.join('\n')
}

type Setting = { port: number; logins: LoadJob; generator: Generator; options: BenchOptions }

async function measureAttack(
  { name, count, addresses, bytes }: Attack,
  { port, logins, generator, options }: Setting,
): Promise<string> {
  const from = Array.from({ length: addresses }, (_, index) => `127.0.0.${index + 2}`)
  const alone: LoadResult[] = []
  const beside: LoadResult[] = []
  const measure = async () => {
    // lets the server read what was sent, or notice that thousands of connections have closed
    await generator.run([{ ...logins, forMs: settleMs }])
    return await generator.run([logins])
  }
  for (let round = 0; round < options.rounds; round++) {
    alone.push(...(await measure()))
    await using _attack = await HeldConnections.open({ port, count, from, bytes })
    beside.push(...(await measure()))
  }
  const ratio = rate(beside) / rate(alone)
  const failed = [...alone, ...beside]
    .flatMap(({ failures }) => Object.entries(failures))
    .map(([status, times]) => `${times} × ${status}`)
  const isHeld = ratio >= aim && failed.length === 0
  const failures = failed.length === 0 ? '' : `  failures: ${failed.join(', ')}`
  return `logins beside ${String(count).padStart(6)} ${name.padEnd(42)} ${Math.round(rate(beside))}/s, alone ${Math.round(rate(alone))}/s: ${ratio.toFixed(2)} (${verdict(isHeld, '≥ 0.80')})${failures}`
}

const rate = (results: readonly LoadResult[]) =>
  median(results.map(({ requests, seconds }) => requests / seconds))
