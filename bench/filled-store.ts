import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { type Issuer, startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { PostgresInstallation } from '../simulators/postgres-server.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { fillTokens } from './fill-tokens.ts'
import type { Generator } from './generator.ts'
import { measureCase } from './measure.ts'
import { configureLogins, logIn, loginPath, signLogins } from './pipeline-logins.ts'
import { createDatabase } from './postgres.ts'
import { measureStart } from './start.ts'
import { megabytes, renderTable, verdict } from './table.ts'

export type FilledStoreInput = {
  readonly tokens: number
  /** Over PostgreSQL; the tokens are written to SQLite and then copied, as an operator would. */
  readonly usesPostgres: boolean
  readonly idleSeconds: number
  readonly generator: Generator
  readonly options: BenchOptions
}

const knownJwts = 256
const program = join(import.meta.dirname, '../src/process/main.ts')

/**
 * Measures a store with many tokens: start time, memory, and the login rate against an empty store, in turns.
 */
export async function measureFilledStore(input: FilledStoreInput): Promise<string> {
  const { tokens, usesPostgres, idleSeconds, generator, options } = input
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  await using emptyFolder = await makeBenchFolder()
  await using fullFolder = await makeBenchFolder()
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  await prepare(emptyFolder.path, issuer, bodies)
  const like = await prepare(fullFolder.path, issuer, bodies)
  const lines: string[] = []
  const began = performance.now()
  await fillTokens({
    folder: fullFolder.path,
    like,
    count: tokens,
    onProgress: (done) => process.stderr.write(`\r${done} tokens`),
  })
  process.stderr.write('\n')
  const { size } = await stat(join(fullFolder.path, 'gatehouse.db'))
  lines.push(`${tokens} tokens written in ${secondsSince(began)} s, database ${megabytes(size)} MB`)
  await using opened = new AsyncDisposableStack()
  const full = { folder: fullFolder.path, environment: {} }
  const empty = { folder: emptyFolder.path, environment: {} }
  if (usesPostgres) {
    const copying = performance.now()
    const move = opened.use(await startMove())
    full.environment = await move('filled', full.folder)
    empty.environment = await move('empty', empty.folder)
    lines.push(`moved to PostgreSQL in ${secondsSince(copying)} s`)
  }

  const start = await measureStart(full, idleSeconds)
  await using fullServer = await startServerProcess(full)
  await using emptyServer = await startServerProcess(empty)
  const requests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const logins = await measureCase(
    {
      name: 'login ES256, full store',
      connections: usualConnections,
      ours: requests,
      aim: 0.9,
      against: { contender: 'empty', requests },
    },
    { gatehouse: fullServer, empty: emptyServer },
    generator,
    options,
  )
  return [
    ...lines,
    `ready after ${Math.round(start.readyMs)} ms (${verdict(start.readyMs <= 1000, '≤ 1,000 ms')})`,
    `RSS ${megabytes(start.rssBytes)} MB, after ${idleSeconds} s idle ${megabytes(start.idleRssBytes)} MB (${verdict((start.idleRssBytes ?? 0) <= 250e6, '≤ 250 MB')})`,
    renderTable([logins]),
  ].join('\n')
}

/** Prepares a store with the configured mount and one token; returns that token. */
async function prepare(folder: string, issuer: Issuer, bodies: readonly string[]): Promise<string> {
  await using server = await startServerProcess({ folder })
  await configureLogins(server.url, server.rootToken, issuer)
  const [token] = await logIn(server.url, bodies.slice(0, 1))
  if (token === undefined) throw new Error('no login was made')
  return token
}

type Move = AsyncDisposable & ((database: string, folder: string) => Promise<Record<string, string>>)

/** Starts PostgreSQL. The returned function moves the store of a folder to a new database. */
async function startMove(): Promise<Move> {
  await using opened = new AsyncDisposableStack()
  const installation = opened.use(await PostgresInstallation.open())
  const postgres = opened.use(await installation.start({ shared_buffers: '256MB', max_connections: 100 }))
  const move = async (database: string, folder: string) => {
    await createDatabase(postgres, database)
    const url = postgres.url(database)
    await promisify(execFile)(process.execPath, [
      ...[program, 'storage-copy', `sqlite:${join(folder, 'gatehouse.db')}`, url],
    ])
    // otherwise it does so by itself, during the measurements
    const client = new Client(url)
    await client.connect()
    await client.query('VACUUM (ANALYZE) records').finally(() => client.end())
    return { GATEHOUSE_STORAGE: url, GATEHOUSE_REPLICA_NAME: database }
  }
  const held = opened.move()
  return Object.assign(move, { [Symbol.asyncDispose]: () => held.disposeAsync() })
}

const secondsSince = (began: number) => ((performance.now() - began) / 1000).toFixed(1)
