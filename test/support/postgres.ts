import { Client } from 'pg'
import { inject } from 'vitest'
import { PostgresInstallation } from '../../simulators/postgres-server.ts'
import { placeOf } from './doorbell.ts'
import type { PostgresOfTheRun } from './postgres-of-the-run.ts'

let found: Promise<PostgresOfTheRun> | undefined

/** Starts PostgreSQL if no other test file of this run has. */
const postgresOfTheRun = (): Promise<PostgresOfTheRun> => (found ??= placeOf(inject('postgres')))

/** For tests that need PostgreSQL servers of their own, which they stop, kill, fill or promote. */
export const postgresInstallation = async (): Promise<PostgresInstallation> =>
  await PostgresInstallation.at((await postgresOfTheRun()).installation)

/**
 * The address of a new and empty database, as in `GATEHOUSE_STORAGE`. It is deleted at the end of the run.
 * All are in one PostgreSQL: a test must not stop it, nor use up its connections.
 */
export async function newDatabase(): Promise<string> {
  const { port } = await postgresOfTheRun()
  const server = `postgres://gatehouse@127.0.0.1:${port}`
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await query(`${server}/postgres`, `CREATE DATABASE ${name}`)
  return `${server}/${name}`
}

/** Runs one statement in a database. */
export const query = (database: string, statement: string): Promise<Record<string, unknown>[]> =>
  connected(database, async (client) => (await client.query(statement)).rows)

async function connected<T>(database: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(database)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const free: string[] = []

/** What a new database holds before its first server starts. */
const emptied = `
  DELETE FROM records; DELETE FROM replicas; DELETE FROM jobs; DELETE FROM changes;
  INSERT INTO changes (version, commit_id, prefix) VALUES (1, 'first', '');
  UPDATE cache_version SET version = 1`
const emptiedTables = ['cache_version', 'changes', 'commits', 'jobs', 'meta', 'records', 'replicas']

/** A database without records, which another test may have used: cheaper than a new one. */
export async function emptyDatabase(): Promise<AsyncDisposable & { readonly url: string }> {
  const url = free.pop() ?? (await newDatabase())
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      await connected(url, empty)
      free.push(url)
    },
  }
}

async function empty(client: Client): Promise<void> {
  const { rows } = await client.query(
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1",
  )
  // no server has come that far
  if (rows.length === 0) return
  if (rows.map(({ tablename }) => tablename).join() !== emptiedTables.join())
    throw new Error(`these tables are not emptied: ${JSON.stringify(rows)}`)
  await client.query(emptied)
}
