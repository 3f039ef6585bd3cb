import type { TestServer } from './one-server.ts'
import { type ReplicasOptions, startReplicas } from './replicas.ts'

export type TwoServers = AsyncDisposable & {
  readonly database: string
  readonly one: TestServer
  readonly other: TestServer
}

/** Two servers in this process that share one PostgreSQL database. */
export async function startTwoServers(options: Omit<ReplicasOptions, 'count'> = {}): Promise<TwoServers> {
  const replicas = await startReplicas(options)
  const [one, other] = replicas.servers
  if (one === undefined || other === undefined) throw new Error('there are not two servers')
  return {
    database: replicas.database,
    one,
    other,
    [Symbol.asyncDispose]: () => replicas[Symbol.asyncDispose](),
  }
}
