import type { TestProject } from 'vitest/node'
import { PostgresInstallation } from '../../simulators/postgres-server.ts'
import { Doorbell } from './doorbell.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A socket that tells where PostgreSQL is, and starts it if it is not running. */
    postgres: string
  }
}

/** What test files get to know. */
export type PostgresOfTheRun = { readonly installation: string; readonly port: number }

/** Many pools at once. No database is used for long enough to need its dead rows removed. */
const settings = {
  max_connections: 400,
  shared_buffers: '64MB',
  max_wal_size: '256MB',
  autovacuum: 'off',
  io_method: 'sync',
}

async function start() {
  await using opened = new AsyncDisposableStack()
  const installation = opened.use(await PostgresInstallation.open({ inMemory: true }))
  const { port } = opened.use(await installation.start(settings))
  const place: PostgresOfTheRun = { installation: installation.folder, port }
  const stack = opened.move()
  return { place, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const doorbell = new Doorbell('postgres', start)

/** One PostgreSQL for all test files of a run. It stops with the last project that could use it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  project.provide('postgres', await doorbell.open())
  return () => doorbell.leave()
}
