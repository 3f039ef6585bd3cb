import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { PostgresInstallation, type PostgresServer } from '../../simulators/postgres-server.ts'

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
  ...{ max_connections: 400, shared_buffers: '64MB', max_wal_size: '256MB' },
  ...{ autovacuum: 'off', io_method: 'sync' },
}

/**
 * One PostgreSQL for all test files of a run. It starts when the first file needs it and stops at the end of
 * the run.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let started: Promise<{ installation: PostgresInstallation; server: PostgresServer }> | undefined
  const start = async () => {
    const installation = await PostgresInstallation.open({ inMemory: true })
    return { installation, server: await installation.start(settings) }
  }
  const path = join(tmpdir(), `gatehouse-tests-${process.pid}-${project.name}.sock`)
  const doorbell = createServer((socket) => {
    started ??= start()
    started.then(
      ({ installation, server }) =>
        socket.end(JSON.stringify({ installation: installation.folder, port: server.port })),
      (error: unknown) => socket.end(JSON.stringify({ error: String(error) })),
    )
  })
  await rm(path, { force: true })
  await new Promise<void>((resolve) => doorbell.listen(path, resolve))
  project.provide('postgres', path)
  return async () => {
    doorbell.close()
    const running = await started?.catch(() => undefined)
    await running?.server[Symbol.asyncDispose]()
    await running?.installation[Symbol.asyncDispose]()
  }
}
