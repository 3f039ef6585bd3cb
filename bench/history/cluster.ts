import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { PostgresInstallation, PostgresServer } from '../../simulators/postgres-server.ts'
import { type ServerProcess, startServerProcess } from '../../simulators/server-process.ts'

type ClusterOptions = {
  /** Gets the seal key and the root token. */
  readonly folder: string
  readonly installation: PostgresInstallation
  /** Default: that of `npm start`. */
  readonly program?: string
}

/** Servers over one PostgreSQL, each a process that can be killed. */
export class Cluster implements AsyncDisposable {
  /** Of the servers; a restarted one has another address. */
  readonly urls: string[] = []
  readonly postgres: PostgresServer
  readonly #folder: string
  readonly #program: string | undefined
  readonly #servers: ServerProcess[] = []
  readonly #names: string[] = []
  readonly #opened: AsyncDisposableStack
  #starts = 0

  private constructor(
    { folder, program }: ClusterOptions,
    postgres: PostgresServer,
    opened: AsyncDisposableStack,
  ) {
    this.#folder = folder
    this.#program = program
    this.postgres = postgres
    this.#opened = opened
  }

  /** Two servers. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const { folder, installation } = options
    await using opened = new AsyncDisposableStack()
    const postgres = opened.use(await installation.start())
    await writeFile(join(folder, 'seal.key'), '5e'.repeat(32), { mode: 0o600 })
    const cluster = new Cluster(options, postgres, opened.move())
    try {
      // the first one creates the store
      for (let replica = 0; replica < 2; replica++) await cluster.#launch(replica)
    } catch (error) {
      await cluster[Symbol.asyncDispose]()
      throw error
    }
    return cluster
  }

  get rootToken(): string {
    return this.#servers[0]?.rootToken ?? ''
  }

  /** The server that has this name now. */
  replicaNamed(name: string): number | undefined {
    const replica = this.#names.indexOf(name)
    return replica < 0 ? undefined : replica
  }

  /** Stops a server, until the returned function is called. */
  pause(replica: number): () => void {
    const server = this.#servers[replica]
    const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
      try {
        if (server !== undefined) process.kill(server.pid, name)
      } catch {
        // it has been killed
      }
    }
    signal('SIGSTOP')
    return () => signal('SIGCONT')
  }

  /** Kills a server and starts it again. */
  async killServer(replica: number): Promise<void> {
    await this.#servers[replica]?.stop('SIGKILL')
    await this.#launch(replica)
  }

  /** Kills PostgreSQL and starts it again. */
  async killPostgres(): Promise<void> {
    await this.postgres.kill()
    await this.postgres.start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop('SIGKILL')))
    await this.#opened.disposeAsync()
  }

  async #launch(replica: number): Promise<void> {
    // the killed one counts as running for a while
    const name = `replica-${replica}-${this.#starts++}`
    const server = await startServerProcess({
      folder: this.#folder,
      ...(this.#program !== undefined && { entry: this.#program }),
      environment: { GATEHOUSE_STORAGE: this.postgres.url(), GATEHOUSE_REPLICA_NAME: name },
    })
    this.#servers[replica] = server
    this.#names[replica] = name
    this.urls[replica] = server.url
  }
}

type KillOptions = { readonly load: Promise<unknown>; readonly rounds?: number; random(): number }

/**
 * Kills the servers and PostgreSQL in turn until `load` has ended, each at most `rounds` times. Returns the
 * number of kills.
 */
export async function killDuring(
  cluster: Cluster,
  { random, load, rounds = Number.POSITIVE_INFINITY }: KillOptions,
): Promise<number> {
  let isLoaded = true
  const ended = load.finally(() => {
    isLoaded = false
  })
  const victims = [...cluster.urls.keys(), 'postgres'] as const
  let kills = 0
  while (isLoaded && kills < rounds * victims.length) {
    await Promise.race([ended, pause(100 + random() * 300)])
    const victim = victims[kills % victims.length]
    if (!isLoaded || victim === undefined) break
    await (victim === 'postgres' ? cluster.killPostgres() : cluster.killServer(victim))
    kills++
  }
  await ended
  return kills
}
