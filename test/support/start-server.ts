import { pino } from 'pino'
import { readConfig } from '../../src/config.ts'
import { type Server, type ServerParts, startServer } from '../../src/server.ts'
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

export const quietLog = pino({ level: 'silent' })

/**
 * A development server on a free port of 127.0.0.1: in memory, root token `root`. Settings without their
 * `GATEHOUSE_`.
 */
export async function startTestServer({
  settings = {},
  environment = {},
  dev = true,
  ...parts
}: TestServerOptions = {}): Promise<TestServer> {
  const named = Object.fromEntries(
    Object.entries({ LISTEN: '127.0.0.1:0', STORAGE: 'memory:', ...settings }).map(([name, value]) => [
      `GATEHOUSE_${name}`,
      value,
    ]),
  )
  const config = readConfig({ ...environment, ...named }, { dev, warn: () => {} })
  const server = await startServer(config, {
    log: quietLog,
    rootToken: { keep: () => {}, tell: () => {} },
    ...parts,
  })
  const anonymous = new Client(server.url)
  return {
    url: server.url,
    server,
    anonymous,
    root: anonymous.with('root'),
    as: (token) => anonymous.with(token),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
