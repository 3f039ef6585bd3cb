import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type FrontEnd = AsyncDisposable & {
  readonly origin: string
  /** The page that shows the server's messages. */
  page(server: string, namespace?: string): string
}

const typeOf = { 'index.html': 'text/html', 'messages.js': 'text/javascript' } as const

/** A front end on its own origin. Users sign in to its own back end, which asks `server` who they are. */
export async function startFrontEnd(server: string): Promise<FrontEnd> {
  const signIn = async (request: IncomingMessage): Promise<{ status: number; body: string }> => {
    const answer = await fetch(`${server}/v1/auth/token/lookup-self`, {
      headers: { 'X-Vault-Token': await text(request) },
    })
    return answer.ok ? { status: 200, body: 'Signed in' } : { status: 403, body: 'Not signed in' }
  }
  const listener = createServer(async (request, response) => {
    if (request.method === 'POST') {
      const { status, body } = await signIn(request)
      response.writeHead(status, { 'Content-Type': 'text/plain' }).end(body)
      return
    }
    const name = request.url === '/messages.js' ? 'messages.js' : 'index.html'
    const file = await readFile(new URL(`front-end/${name}`, import.meta.url))
    response.writeHead(200, { 'Content-Type': `${typeOf[name]}; charset=utf-8` }).end(file)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  // a listening TCP server has an AddressInfo
  const origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  return {
    origin,
    page: (of, namespace) =>
      `${origin}/?${new URLSearchParams({ server: of, ...(namespace === undefined ? {} : { namespace }) })}`,
    [Symbol.asyncDispose]: async () => {
      listener.closeAllConnections()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
