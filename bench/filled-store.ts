import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { type Issuer, startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { send, sendSuccessfully } from '../simulators/operator.ts'
import { PostgresInstallation } from '../simulators/postgres-server.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { TokenRevoker } from '../src/core/tokens/end/token-revoker.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder, openKeptFolder } from './bench-folder.ts'
import { fillEntities } from './fill-entities.ts'
import { fillLeases } from './fill-leases.ts'
import { fillSecrets } from './fill-secrets.ts'
import { fillTokens } from './fill-tokens.ts'
import type { Generator } from './generator.ts'
import { measureCase } from './measure.ts'
import { configureLogins, knownLogins, logIn, signLogins } from './pipeline-logins.ts'
import { createDatabase } from './postgres.ts'
import { measureStart } from './start.ts'
import { openStoppedStore } from './stopped-store.ts'
import { megabytes, renderTable, verdict } from './table.ts'

export type FilledStoreInput = {
  /** So many tokens, entities, secrets and leases each. */
  readonly records: number
  /** A folder that keeps the store for the next run. */
  readonly keep: string | undefined
  /** Over PostgreSQL; the records are written to SQLite and then copied, as an operator would. */
  readonly usesPostgres: boolean
  readonly idleSeconds: number
  readonly generator: Generator
  readonly options: BenchOptions
}

const program = join(import.meta.dirname, '../src/process/main.ts')
const aims = { startMs: 500, idleBytes: 150e6, logins: 0.95 }

/**
 * Measures a store with many tokens, entities, secrets and leases: start time, memory, and the login rate against an
 * empty store, in turns.
 */
export async function measureFilledStore(input: FilledStoreInput): Promise<string> {
  const { records, keep, usesPostgres, idleSeconds, generator, options } = input
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await using emptyFolder = await makeBenchFolder()
  await using fullFolder = await openKeptFolder(keep)
  await prepare(emptyFolder.path, issuer)
  const like = await prepare(fullFolder.path, issuer)
  const lines: string[] = []
  const began = performance.now()
  if (fullFolder.isFilled) await removeExpired(fullFolder.path)
  else {
    await fill(fullFolder.path, like, records)
    await fullFolder.markFilled()
  }
  const { size } = await stat(join(fullFolder.path, 'gatehouse.db'))
  lines.push(
    `${records} tokens, entities, secrets and leases, in ${secondsSince(began)} s, database ${megabytes(size)} MB`,
  )
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
  const requests = await knownLogins(issuer, 'RS256')
  const logins = await measureCase(
    {
      name: 'login RS256, full store',
      connections: usualConnections,
      ours: requests,
      aim: aims.logins,
      against: { contender: 'empty', requests },
    },
    { gatehouse: fullServer, empty: emptyServer },
    generator,
    options,
  )
  return [
    ...lines,
    `ready after ${Math.round(start.readyMs)} ms (${verdict(start.readyMs <= aims.startMs, `≤ ${aims.startMs} ms`)})`,
    `RSS ${megabytes(start.rssBytes)} MB, after ${idleSeconds} s idle ${megabytes(start.idleRssBytes)} MB (${verdict((start.idleRssBytes ?? 0) <= aims.idleBytes, '≤ 150 MB')})`,
    renderTable([logins]),
  ].join('\n')
}

/** Prepares a store with the configured mounts and one token; returns that token. */
async function prepare(folder: string, issuer: Issuer): Promise<string> {
  await using server = await startServerProcess({ folder })
  const { url, rootToken: token } = server
  await configureLogins(url, token, issuer)
  const { status } = await send(url, { method: 'GET', path: 'sys/mounts/secret', token })
  if (status !== 200)
    await sendSuccessfully(url, { method: 'POST', path: 'sys/mounts/secret', token, body: { type: 'kv-v2' } })
  const [login = ''] = await logIn(
    url,
    await signLogins(issuer, { algorithm: 'RS256', count: 1, subject: () => 'repo:acme/like' }),
  )
  return login
}

async function fill(folder: string, like: string, count: number): Promise<void> {
  const report = (kind: string) => (done: number) => process.stderr.write(`\r${done} ${kind}`)
  await fillTokens({ folder, like, count, onProgress: report('tokens') })
  const { logins, credentials } = await mountsOf(folder)
  await fillEntities({ folder, mountAccessor: logins, count, onProgress: report('entities') })
  await fillSecrets({ folder, mount: 'secret/', count, pathOf: (index) => `team-${index % 1000}/${index}` })
  const none = { count: 0, at: () => 0 }
  await fillLeases({
    folder,
    mountAccessor: credentials,
    later: count,
    together: none,
    onProgress: report('leases'),
  })
  process.stderr.write('\n')
}

/** Removes the tokens of earlier runs, which would keep the server busy while it is measured. */
async function removeExpired(folder: string): Promise<void> {
  await using core = await openStoppedStore(folder)
  await new TokenRevoker(core).sweep()
}

/** The accessors of the mounts that a new server has. */
async function mountsOf(folder: string): Promise<{ logins: string; credentials: string }> {
  await using core = await openStoppedStore(folder)
  const accessorOf = (name: string) =>
    core.mounts.table.all().find(({ plugin }) => plugin === name)?.accessor ?? ''
  return { logins: accessorOf('jwt'), credentials: accessorOf('cloud') }
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
