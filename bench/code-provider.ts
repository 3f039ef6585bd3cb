import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Issuer } from '../simulators/ci-issuer/issuer.ts'

/** An OpenID provider without a login page that signs with an issuer's keys. A code is the login's nonce. */
export interface CodeProvider extends AsyncDisposable {
  readonly url: string
  /** Total milliseconds spent on requests, each from its head to the last byte of the response. */
  readonly busyMs: number
  /** Makes a code and signs its ID token in advance. */
  makeCode(nonce: string): Promise<string>
}

export async function startCodeProvider(issuer: Issuer, clientId: string): Promise<CodeProvider> {
  const idTokenByCode = new Map<string, string>()
  let busyMs = 0
  const server = createServer((request, response) => {
    const startedAt = performance.now()
    response.on('finish', () => {
      busyMs += performance.now() - startedAt
    })
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // a TCP server that listens has an AddressInfo
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/token') {
      let form = ''
      for await (const chunk of request.setEncoding('utf8')) form += chunk
      const idToken = idTokenByCode.get(new URLSearchParams(form).get('code') ?? '')
      return sendJson(response, {
        access_token: 'bench',
        token_type: 'Bearer',
        expires_in: 300,
        id_token: idToken,
      })
    }
    if (request.url === '/userinfo')
      return sendJson(response, { sub: 'octavia', email: 'octavia@acme.example', email_verified: true })
    sendJson(response, {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      userinfo_endpoint: `${url}/userinfo`,
      jwks_uri: issuer.jwksUrl,
    })
  }

  return {
    url,
    get busyMs() {
      return busyMs
    },
    makeCode: async (nonce) => {
      const now = Math.floor(Date.now() / 1000)
      idTokenByCode.set(
        nonce,
        await issuer.sign({ iss: url, sub: 'octavia', aud: clientId, iat: now, exp: now + 3600, nonce }),
      )
      return nonce
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function sendJson(response: ServerResponse, body: object): void {
  const text = JSON.stringify(body)
  response
    .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    .end(text)
}
