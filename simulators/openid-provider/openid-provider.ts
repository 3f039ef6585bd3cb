import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type Provider from 'oidc-provider'

/** What a page of the provider is put into. */
type Shown = { body: string }

/** The page that a person sees who has signed in with a device. */
export const deviceDone = 'You have signed in with the device.'

export type OpenIdProvider = AsyncDisposable & { readonly url: string }

/**
 * Starts `oidc-provider`, an independent, certified OpenID provider, with a login and a consent page.
 * `person` returns the claims of the person who signs in with a name.
 */
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
  const configuration = {
    clients: clients.map((client) => ({ id_token_signed_response_alg: algorithm, ...client })),
    jwks: { keys: [{ ...keyOf(algorithm), use: 'sig', alg: algorithm }] },
    cookies: { keys: ['of this provider only'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'email', 'groups'],
    responseTypes: ['code', 'id_token'],
    ttl: {
      Interaction: 600,
      Session: 600,
      Grant: 600,
      AuthorizationCode: 60,
      AccessToken: 600,
      IdToken: 600,
      DeviceCode: 600,
    },
    findAccount: (_context: unknown, name: string) => ({
      accountId: name,
      claims: () => ({ sub: name, ...person(name) }),
    }),
    features: {
      devInteractions: { enabled: true },
      deviceFlow: {
        enabled: true,
        userCodeConfirmSource: (context: Shown, form: string) => {
          context.body = form
        },
        successSource: (context: Shown) => {
          context.body = deviceDone
        },
      },
    },
  }
  const provider = await makeQuietly(url, configuration)
  server.on('request', provider.callback())
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/** Suppresses warnings about development pages, the in-memory store and the Node version. */
async function makeQuietly(url: string, configuration: object): Promise<Provider> {
  const { warn } = console
  console.warn = () => {}
  try {
    const { default: OpenIdProvider } = await import('oidc-provider')
    return new OpenIdProvider(url, configuration)
  } finally {
    console.warn = warn
  }
}

const keys = new Map<string, object>()

/** One key per algorithm and process: making an RSA key is slow. */
function keyOf(algorithm: string): object {
  const known = keys.get(algorithm)
  if (known !== undefined) return known
  const { privateKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 })
  const made = privateKey.export({ format: 'jwk' })
  keys.set(algorithm, made)
  return made
}
