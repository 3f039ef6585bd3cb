import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

export type OpenIdProvider = AsyncDisposable & { readonly url: string }

/** An OpenID provider of its own make, certified as one, with a login and a consent page. `person` gives the claims of who signs in by a name. */
export async function startOpenIdProvider({
  clients,
  person = () => ({}),
  algorithm = 'RS256',
}: {
  clients: readonly object[]
  person?: (name: string) => object
  algorithm?: 'RS256' | 'ES256'
}): Promise<OpenIdProvider> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  // a listening TCP server has an address with a port
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const provider = new Provider(url, {
    clients: clients.map((client) => ({ id_token_signed_response_alg: algorithm, ...client })),
    jwks: { keys: [{ ...newKey(algorithm), use: 'sig', alg: algorithm }] },
    cookies: { keys: ['of this test only'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'email', 'groups'],
    responseTypes: ['code', 'id_token'],
    findAccount: (_context: unknown, name: string) => ({ accountId: name, claims: () => ({ sub: name, ...person(name) }) }),
    features: { devInteractions: { enabled: true } },
  })
  server.on('request', provider.callback())
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

const newKey = (algorithm: string): object =>
  (algorithm === 'ES256'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: 2048 })
  ).privateKey.export({
    format: 'jwk',
  })
