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
  max_connections: 400,
  shared_buffers: '64MB',
  max_wal_size: '256MB',
  autovacuum: 'off',
  io_method: 'sync',
}

type Running = { readonly installation: PostgresInstallation; readonly server: PostgresServer }

/** A process that all projects of a run share. It starts when the first file needs it. */
class Doorbell implements AsyncDisposable {
  readonly path = join(tmpdir(), `gatehouse-tests-${process.pid}.sock`)
  #started: Promise<Running> | undefined
  readonly #server = createServer((socket) => {
    this.#started ??= start()
    this.#started.then(
      ({ installation, server }) =>
        socket.end(JSON.stringify({ installation: installation.folder, port: server.port })),
      (error: unknown) => socket.end(JSON.stringify({ error: String(error) })),
    )
  })

  async open(): Promise<this> {
    await rm(this.path, { force: true })
    await new Promise<void>((resolve) => this.#server.listen(this.path, resolve))
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    const running = await this.#started?.catch(() => undefined)
    await running?.server[Symbol.asyncDispose]()
    await running?.installation[Symbol.asyncDispose]()
  }
}

async function start(): Promise<Running> {
  const installation = await PostgresInstallation.open({ inMemory: true })
  return { installation, server: await installation.start(settings) }
}

let opened: Promise<Doorbell> | undefined
let users = 0

/** One PostgreSQL for all test files of a run. It stops with the last project that could use it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  users += 1
  opened ??= new Doorbell().open()
  const doorbell = await opened
  project.provide('postgres', doorbell.path)
  return async () => {
    users -= 1
    if (users === 0) await doorbell[Symbol.asyncDispose]()
  }
}
