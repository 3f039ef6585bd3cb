import { Agent } from 'node:http'
import { pino } from 'pino'
import { readConfig } from '../../src/config/config.ts'
import { type Server, type ServerParts, startServer } from '../../src/server/server.ts'
import { Client } from './client.ts'

export type TestServer = AsyncDisposable & {
  readonly url: string
  readonly server: Server
  readonly root: Client
  readonly anonymous: Client
  as(token: string): Client
}

export type TestServerOptions = Partial<ServerParts> & {
  settings?: Record<string, string>
  /** Passed to the server in addition to the settings. */
  environment?: Record<string, string>
  /** False: a durable server's defaults, except for storage in memory. */
  dev?: boolean
}

/** Set for the tests that run once more without this cache, which nobody may notice. */
const keepsSignatures = process.env['TEST_SIGNATURES'] !== 'unkept'

export const quietLog = pino({ level: 'silent' })

/** Hashes that take no time. Their cost is part of the stored hash. */
const cheapHashes = { memory: 8, passes: 1 }

/** No test asks the machine it runs on for an identity. */
const noHost = { CLOUD_METADATA_ENDPOINT: 'http://127.0.0.1:9' }

export async function startOneServer({
  settings = {},
  environment = {},
  dev = true,
  ...parts
}: TestServerOptions): Promise<TestServer> {
  const named = Object.fromEntries(
    Object.entries({ LISTEN: '127.0.0.1:0', STORAGE: 'memory:', ...settings }).map(([name, value]) => [
      `GATEHOUSE_${name}`,
      value,
    ]),
  )
  const config = readConfig({ ...noHost, ...environment, ...named }, { dev, warn: () => {} })
  const server = await startServer(config, {
    log: quietLog,
    rootToken: { keep: () => {}, tell: () => {} },
    keepsSignatures,
    passwordCost: cheapHashes,
    ...parts,
  })
  return reachedAt(server.url, untilClosed(server))
}

/**
 * The server, which is forgotten when it is closed: variables of test files live as long as the process that runs the
 * tests, and what a server holds takes 4 MB, through which each collection of garbage would go.
 */
export function untilClosed(server: Server): Server {
  let open: Server | undefined = server
  const running = (): Server => {
    if (open === undefined) throw new Error('the server is closed')
    return open
  }
  return {
    url: server.url,
    urls: server.urls,
    metricsPort: server.metricsPort,
    drain: (delayMs) => running().drain(delayMs),
    reload: (settings) => running().reload(settings),
    open: () => running().open(),
    metrics: () => running().metrics(),
    readiness: () => running().readiness(),
    [Symbol.asyncDispose]: async () => {
      const closing = open
      open = undefined
      await closing?.[Symbol.asyncDispose]()
    },
  }
}

/**
 * A server, with clients that reach it at `url`. They keep their connections, as those of applications do: a
 * new one costs as much as a request.
 */
export const reachedAt = (url: string, server: Server): TestServer =>
  reachedBy(new Client(url, undefined, new Agent({ keepAlive: true })), url, server)

/** Likewise, with a new connection for each request. */
export const reachedAnew = (url: string, server: Server): TestServer =>
  reachedBy(new Client(url), url, server)

export function reachedBy(anonymous: Client, url: string, server: Server): TestServer {
  return {
    url,
    server,
    anonymous,
    root: anonymous.with('root'),
    as: (token) => anonymous.with(token),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
