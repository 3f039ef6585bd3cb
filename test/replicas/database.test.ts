import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client as Connection } from 'pg'
import { describe, expect, test } from 'vitest'
import type { PostgresServer } from '../../simulators/postgres-server.ts'
import { postgresInstallation, query } from '../support/postgres.ts'
import { startReplicas } from '../support/replicas.ts'
import { shared } from '../support/shared.ts'

/** Not a superuser, for whom PostgreSQL keeps connections back. */
const role = 'app'

/** Two servers over a PostgreSQL of their own. */
const world = shared(async () => {
  await using opened = new AsyncDisposableStack()
  const postgres = opened.use(await (await postgresInstallation()).start({ max_connections: 20 }))
  await query(postgres.url(), `CREATE ROLE ${role} LOGIN`)
  await query(postgres.url(), `ALTER DATABASE postgres OWNER TO ${role}`)
  const settings = { POSTGRES_STATEMENT_TIMEOUT: '200ms', POSTGRES_POLL: '50ms' }
  const database = postgres.url('postgres', role)
  const { servers } = opened.use(await startReplicas({ database, settings }))
  const held = opened.move()
  return { postgres, servers, [Symbol.asyncDispose]: () => held.disposeAsync() }
})

type Fault = {
  readonly name: string
  /** Returns what ends it. */
  begin(postgres: PostgresServer): Promise<() => Promise<unknown>>
  readonly error: string
  readonly retryAfter: string
  /** Default: false. */
  readonly servesReads?: true
}

/** Holds what a statement has locked until it is called. */
async function locked(postgres: PostgresServer, statement: string) {
  const connection = new Connection(postgres.url())
  await connection.connect()
  await connection.query(`BEGIN; ${statement}`)
  return () => connection.end()
}

const cutAll = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`

/** Takes all connections that are left to the role, and those that it has. */
async function takeConnections(postgres: PostgresServer) {
  const connections: Connection[] = []
  for (;;) {
    await query(postgres.url(), cutAll.concat(` AND application_name LIKE 'gatehouse%'`))
    const connection = new Connection(postgres.url('postgres', role))
    connection.on('error', () => {})
    try {
      await connection.connect()
      connections.push(connection)
    } catch {
      const taken = await query(
        postgres.url(),
        `SELECT count(*) AS ours FROM pg_stat_activity WHERE usename = '${role}' AND application_name LIKE 'gatehouse%'`,
      )
      if (taken[0]?.['ours'] === '0') return () => Promise.all(connections.map((one) => one.end()))
    }
  }
}

function signalIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** Stops all its processes (SIGSTOP), which keep their connections. */
async function pause(postgres: PostgresServer) {
  const connection = new Connection(postgres.url())
  await connection.connect()
  const [main] = (await readFile(join(postgres.folder, 'postmaster.pid'), 'utf8')).split('\n')
  // it starts no more processes
  process.kill(Number(main), 'SIGSTOP')
  const { rows } = await connection.query<{ pid: number }>('SELECT pid FROM pg_stat_activity')
  const pids = rows.map(({ pid }) => pid)
  for (const pid of pids) signalIfRunning(pid, 'SIGSTOP')
  return async () => {
    for (const pid of [Number(main), ...pids]) signalIfRunning(pid, 'SIGCONT')
    await connection.end()
  }
}

const setting = async (postgres: PostgresServer, statement: string) => {
  await query(postgres.url(), statement)
  await query(postgres.url(), 'SELECT pg_reload_conf()')
}

const gone = { error: 'storage is unavailable', retryAfter: '1' }
const faults: Fault[] = [
  {
    name: 'stopped',
    ...gone,
    begin: async (postgres) => {
      await postgres.stop()
      return () => postgres.start()
    },
  },
  {
    name: 'killed',
    ...gone,
    begin: async (postgres) => {
      await postgres.kill()
      return () => postgres.start()
    },
  },
  {
    name: 'read-only',
    error: 'storage is read-only',
    retryAfter: '10',
    servesReads: true,
    begin: async (postgres) => {
      await setting(postgres, 'ALTER SYSTEM SET default_transaction_read_only = on')
      // the open ones notice at their next transaction
      return async () => {
        const connection = new Connection(postgres.url())
        await connection.connect()
        await connection.query('SET default_transaction_read_only = off')
        await connection.query('ALTER SYSTEM RESET default_transaction_read_only')
        await connection.query('SELECT pg_reload_conf()')
        await connection.end()
      }
    },
  },
  {
    name: 'slower than the time limit of a statement',
    ...gone,
    begin: (postgres) => locked(postgres, 'LOCK TABLE records IN ACCESS EXCLUSIVE MODE'),
  },
  { name: 'out of connections', ...gone, begin: takeConnections },
  {
    name: 'closed to the connection for changes',
    ...gone,
    begin: async (postgres) => {
      await query(postgres.url(), `ALTER ROLE ${role} NOLOGIN`)
      await query(postgres.url(), `${cutAll} AND query LIKE 'SELECT v.version%'`)
      return () => query(postgres.url(), `ALTER ROLE ${role} LOGIN`)
    },
  },
  { name: 'paused', ...gone, begin: pause },
]

describe('while the database is', () => {
  test.each(faults)(
    '$name, writes are 503, health says so, nothing is half-written, and recovery needs no restart',
    async ({ name, begin, error, retryAfter, servesReads }) => {
      const { postgres, servers } = await world()
      const entity = name.replaceAll(' ', '-')
      const end = await begin(postgres)
      try {
        const isSeenBy = async ({ root, anonymous }: (typeof servers)[number]) => {
          const write = () => root.write('identity/entity', { name: entity, metadata: { at: name } })
          await expect
            .poll(write)
            .toMatchObject({
              status: 503,
              headers: { 'retry-after': retryAfter },
              body: { errors: [expect.stringContaining(error)] },
            })
          const health = async () => [
            (await anonymous.read('/health/ready')).status,
            (await anonymous.read('sys/health')).status,
          ]
          const expected = servesReads === true ? [200, 200] : [503, 503]
          await expect.poll(health).toEqual(expected)
          if (servesReads) expect((await root.list('identity/entity/id')).status).toBeLessThan(500)
          expect((await anonymous.read('/health/live')).status).toBe(200)
        }
        await Promise.all(servers.map(isSeenBy))
      } finally {
        await end()
      }

      for (const { root, anonymous } of servers) {
        const ready = async () => (await anonymous.read('/health/ready')).status
        await expect.poll(ready, { timeout: 20_000 }).toBe(200)
        const found = await root.read(`identity/entity/name/${entity}`)
        expect([200, 404]).toContain(found.status)
        if (found.status === 200)
          expect((await root.read(`identity/entity/id/${found.body.data?.['id']}`)).status).toBe(200)
        const again = await root.write('identity/entity', { name: entity, metadata: { at: 'last' } })
        expect(again.status).toBeLessThan(300)
      }
    },
    60_000,
  )
})
