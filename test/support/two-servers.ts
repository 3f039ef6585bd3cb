import { newDatabase } from './postgres.ts'
import { startTestServer, type TestServer, type TestServerOptions } from './start-server.ts'

export type TwoServers = AsyncDisposable & {
  readonly database: string
  readonly one: TestServer
  readonly other: TestServer
}

/** Two servers in this process that share one PostgreSQL database. */
export async function startTwoServers(options: TestServerOptions = {}): Promise<TwoServers> {
  await using started = new AsyncDisposableStack()
  const database = await newDatabase()
  const start = async (name: string) =>
    started.use(
      await startTestServer({
        ...options,
        settings: { ...options.settings, STORAGE: database, SEAL_KEY: '5e'.repeat(32), REPLICA_NAME: name },
      }),
    )
  const one = await start('one')
  const other = await start('other')
  const held = started.move()
  return { database, one, other, [Symbol.asyncDispose]: () => held.disposeAsync() }
}
