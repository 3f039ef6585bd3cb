import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `down` responds with 503, `refusing` with 400, `hanging` accepts requests and responds when it is told to. */
type ProviderMood = 'up' | 'down' | 'refusing' | 'hanging'

/** A stand-in for a service that issues credentials: a real HTTP server that knows which ones are valid. */
export type CredentialProvider = AsyncDisposable & {
  readonly url: string
  /** Applies to deletions; creating a credential always works. */
  mood: ProviderMood
  readonly alive: ReadonlySet<string>
  /** Requested deletions, by id, whatever their outcome. */
  readonly asked: ReadonlyMap<string, number>
  /** Responds to the requests that hang, as its mood is now. */
  answerHanging(): void
  /** Resolves when no credential is valid, or this one is not. */
  gone(id?: string): Promise<void>
  /** Resolves when this many deletions have been requested in total. */
  deletions(count: number): Promise<void>
}

/** `POST /credentials` creates one, `DELETE /credentials/<id>` deletes it. */
export async function startCredentialProvider(): Promise<CredentialProvider> {
  const alive = new Set<string>()
  const asked = new Map<string, number>()
  const held: (() => void)[] = []
  let total = 0
  let made = 0
  let changed = Promise.withResolvers<void>()
  const until = async (is: () => boolean) => {
    while (!is()) await changed.promise
  }
  const notify = () => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  const statusOfDeletion = (id: string): number => {
    if (provider.mood === 'down') return 503
    if (provider.mood === 'refusing') return 400
    return alive.delete(id) ? 204 : 404
  }
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'POST') {
      made += 1
      const id = `credential-${made}`
      alive.add(id)
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ id }))
      return
    }
    const id = request.url?.split('/').at(-1) ?? ''
    total += 1
    asked.set(id, (asked.get(id) ?? 0) + 1)
    const finish = () => response.writeHead(statusOfDeletion(id)).end()
    if (provider.mood === 'hanging') held.push(finish)
    else finish()
    notify()
  }
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // a TCP server has one
  const { port } = server.address() as AddressInfo
  const provider: CredentialProvider = {
    url: `http://127.0.0.1:${port}`,
    mood: 'up',
    alive,
    asked,
    answerHanging: () => {
      for (const finish of held.splice(0)) finish()
    },
    gone: (id) => until(() => (id === undefined ? alive.size === 0 : !alive.has(id))),
    deletions: (count) => until(() => total >= count),
    [Symbol.asyncDispose]: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return provider
}
