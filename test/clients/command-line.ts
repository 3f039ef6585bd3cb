import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { base62, systemRandom } from '../../src/lib/system/random.ts'

export type CommandLineLogin = { readonly status: number; readonly body: Record<string, unknown> }

/**
 * What `vault login -method=oidc` and `bao login -method=oidc` do, request by request: they listen on this
 * machine, open a URL, and call the callback once the browser returns, by GET or with a form:
 * docs/contract/oidc.md#the-callback-in-this-order
 */
export async function commandLineLogin({
  server,
  mount,
  role,
  host,
  openBrowser,
}: {
  server: string
  mount: string
  role: string
  host: 'localhost' | '127.0.0.1'
  /** Leads the person from the URL through the provider's pages back to the listener. */
  openBrowser(url: string): Promise<void>
}): Promise<CommandLineLogin> {
  const clientNonce = base62(systemRandom, 20)
  const listener = createServer()
  listener.listen(0, host)
  await once(listener, 'listening')
  // a TCP server that listens has an AddressInfo
  const { port } = listener.address() as AddressInfo
  const ended = new Promise<CommandLineLogin>((resolve, reject) => {
    listener.on('request', (request, response) => {
      comeBack(request)
        .then(resolve, reject)
        .finally(() => response.end('done'))
    })
  })
  try {
    const begun = await post(
      `${server}/v1/auth/${mount}/oidc/auth_url`,
      JSON.stringify({
        role,
        redirect_uri: `http://${host}:${port}/oidc/callback`,
        client_nonce: clientNonce,
      }),
    )
    const { auth_url: url = '' } = (begun.body['data'] ?? {}) as { auth_url?: string }
    if (url === '')
      throw new Error(`Unable to authorize role ${role}. Check Vault logs for more information.`)
    await openBrowser(url)
    return await ended
  } finally {
    listener.closeAllConnections()
    listener.close()
  }

  async function comeBack(request: IncomingMessage): Promise<CommandLineLogin> {
    const sent = new URLSearchParams(
      request.method === 'POST' ? await textOf(request) : (request.url ?? '').split('?')[1],
    )
    const data = new URLSearchParams({
      client_nonce: clientNonce,
      code: sent.get('code') ?? '',
      id_token: sent.get('id_token') ?? '',
      state: sent.get('state') ?? '',
    })
    if (request.method === 'POST') {
      // the server's response to the form does not matter here
      await fetch(`${server}/v1/auth/${mount}/oidc/callback`, { method: 'POST', body: data })
      data.delete('id_token')
    }
    return read(
      await fetch(`${server}/v1/auth/${mount}/oidc/callback?${data}`, {
        headers: { 'X-Vault-Request': 'true' },
      }),
    )
  }
}

const post = async (url: string, body: string) =>
  read(await fetch(url, { method: 'PUT', body, headers: { 'X-Vault-Request': 'true' } }))

// every response of the API is a JSON object
const read = async (response: Response): Promise<CommandLineLogin> => ({
  status: response.status,
  body: (await response.json()) as Record<string, unknown>,
})

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}
