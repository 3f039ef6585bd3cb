import { Agent } from 'node:http'
import { Client } from './client.ts'
import { reachedBy, startOneServer, type TestServer, type TestServerOptions } from './one-server.ts'
import { emptyDatabase } from './postgres.ts'
import { TcpProxy } from './tcp-proxy.ts'

/** Servers need the same one. */
export const sealKey = '5e'.repeat(32)

export type ReplicasOptions = Omit<TestServerOptions, 'settings'> & {
  readonly count?: number
  readonly settings?: Record<string, string>
  /** Default: a new one. */
  readonly database?: string
  /** What differs between the servers. */
  of?(replica: number): Partial<TestServerOptions>
}

type Replicas = AsyncDisposable & { readonly database: string; readonly servers: readonly TestServer[] }

/** Development servers in this process that share one database. */
export async function startReplicas({
  count = 2,
  settings = {},
  database,
  of = () => ({}),
  ...parts
}: ReplicasOptions = {}): Promise<Replicas> {
  await using started = new AsyncDisposableStack()
  const storage = database ?? started.use(await emptyDatabase()).url
  const servers: TestServer[] = []
  for (let replica = 0; replica < count; replica++) {
    const { settings: own = {}, ...ownParts } = of(replica)
    const common = {
      STORAGE: storage,
      SEAL_KEY: sealKey,
      REPLICA_NAME: `replica-${replica}`,
      POSTGRES_POOL: '3',
    }
    const server = await startOneServer({
      ...parts,
      ...ownParts,
      settings: { ...common, ...settings, ...own },
    })
    servers.push(started.use(server))
  }
  const held = started.move()
  return { database: storage, servers, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

/**
 * Two servers that share a database. Requests of its clients, and connections to its address, lead to one and the
 * other in turn. To each server, its copies are too old at any time, so that it reads what the other one has written
 * before it serves a request.
 */
export async function startAlternatingServers(options: TestServerOptions): Promise<TestServer> {
  await using started = new AsyncDisposableStack()
  const urls: string[] = []
  let turn = 0
  const next = () => urls[turn++ % urls.length] ?? ''
  const proxy = started.use(await TcpProxy.start({ target: () => Number(new URL(next()).port) }))
  let time = 0
  const steady = () => (time += 2_000)
  const settings = { API_ADDR: proxy.url, ...options.settings }
  const { servers } = started.use(await startReplicas({ ...options, settings, steady }))
  for (const { url } of servers) urls.push(url)
  const held = started.move()
  const all = servers.map(({ server }) => server)
  const [first] = all
  if (first === undefined) throw new Error('no server was started')
  return reachedBy(new Client(next, undefined, new Agent({ keepAlive: true })), proxy.url, {
    ...first,
    url: proxy.url,
    drain: async (delayMs) => void (await Promise.all(all.map((server) => server.drain(delayMs)))),
    reload: async () => void (await Promise.all(all.map((server) => server.reload()))),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  })
}
