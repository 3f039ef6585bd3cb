import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { PostgresInstallation } from '../simulators/postgres-server.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { fillTokens } from './fill-tokens.ts'
import type { FilledStoreInput } from './filled-store.ts'
import { measureCase } from './measure.ts'
import { configureLogins, logIn, loginPath, signLogins } from './pipeline-logins.ts'
import { createDatabase } from './postgres.ts'
import { readProcessFigures } from './process-figures.ts'
import { megabytes, renderTable, verdict } from './table.ts'

const knownJwts = 256
const program = join(import.meta.dirname, '../src/main.ts')

/**
 * Measures a server on PostgreSQL with many tokens: start time, memory, and the login rate against one with an
 * empty database, in turns. The tokens are written to SQLite and then copied, as an operator would.
 */
export async function measureFilledPostgres({
  tokens,
  idleSeconds,
  generator,
  options,
}: FilledStoreInput): Promise<string> {
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  await using folder = await makeBenchFolder()
  await using installation = await PostgresInstallation.open()
  await using postgres = await installation.start({ shared_buffers: '256MB', max_connections: 100 })
  for (const name of ['filled', 'empty']) await createDatabase(postgres, name)
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  {
    await using server = await startServerProcess({ folder: folder.path })
    await configureLogins(server.url, server.rootToken, issuer)
    const [like = ''] = await logIn(server.url, bodies.slice(0, 1))
    await server.stop()
    await fillTokens({ folder: folder.path, like, count: tokens, onProgress: () => {} })
  }
  await promisify(execFile)(process.execPath, [
    ...[program, 'storage-copy', `sqlite:${join(folder.path, 'gatehouse.db')}`, postgres.url('filled')],
  ])
  const start = (database: string) =>
    startServerProcess({
      folder: folder.path,
      environment: { GATEHOUSE_STORAGE: postgres.url(database), GATEHOUSE_REPLICA_NAME: database },
    })
  await using full = await start('filled')
  await wait(idleSeconds * 1000)
  const rssBytes = (await readProcessFigures(full.pid))?.rssBytes
  await using empty = await start('empty')
  await configureLogins(empty.url, empty.rootToken, issuer)
  const requests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const logins = await measureCase(
    {
      ...{ name: `login ES256, ${tokens} tokens`, connections: usualConnections, ours: requests },
      against: { contender: 'empty', requests },
      aim: 0.9,
    },
    { gatehouse: full, empty },
    generator,
    options,
  )
  return [
    `ready after ${Math.round(full.readyAfterMs)} ms (${verdict(full.readyAfterMs <= 1000, '≤ 1,000 ms')})`,
    `RSS after ${idleSeconds} s idle ${megabytes(rssBytes)} MB (${verdict((rssBytes ?? 0) <= 250e6, '≤ 250 MB')})`,
    renderTable([logins]),
  ].join('\n')
}
