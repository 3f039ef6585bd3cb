import { describe, expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { providerTls, strangerCertificate } from './certificates.ts'
import { type Provider, startProvider } from './provider.ts'
import { aSigner } from './signer.ts'

/** For the tests that leave behind nothing that others would notice. */
const sharedServer = shared(() => startTestServer())

const path = 'auth/jwt/config'
const well = '/.well-known/openid-configuration'
const checking = 'error checking oidc discovery URL: '

/** The response to a write of this configuration, which the mount's status repeats. */
async function refusal(server: TestServer, config: object): Promise<string> {
  const { status, body } = await server.root.write(path, config)
  expect(status).toBe(400)
  const text = String(body.errors?.[0])
  const shown = (await server.root.read('auth/jwt/status')).body.data
  expect(shown).toMatchObject({
    ok: false,
    type: 'none',
    last_refused_config: { time: expect.stringMatching(/Z$/), text },
  })
  return text
}

async function refusalOf(
  configOf: (provider: Provider) => object,
  prepare: (provider: Provider) => unknown = () => {},
  tls?: typeof providerTls,
) {
  await using provider = await startProvider({}, tls)
  provider.routes.set(well, { issuer: provider.url, jwks_uri: `${provider.url}/keys` })
  await prepare(provider)
  const server = await sharedServer()
  return (await refusal(server, configOf(provider))).replaceAll(provider.url, '<url>')
}

const discoveryOf = ({ url }: Provider) => ({ oidc_discovery_url: url })
const answering =
  (answer: string, type?: string, status = 200) =>
  (provider: Provider) => {
    for (const route of [well, '/keys'])
      provider.routes.set(route, (response) =>
        response.writeHead(status, type === undefined ? {} : { 'content-type': type }).end(answer),
      )
  }

describe('a discovery URL that cannot be used is refused with its cause', () => {
  test.each<{
    name: string
    config?: (provider: Provider) => object
    prepare?: (provider: Provider) => unknown
    text: string
  }>([
    {
      name: 'a slash too many at the end',
      config: ({ url }) => ({ oidc_discovery_url: `${url}/` }),
      text: 'issuer "<url>/" expected, discovery says "<url>": oidc_discovery_url has a slash too many at its end',
    },
    {
      name: 'a slash that is missing',
      prepare: ({ routes, url }) => routes.set(well, { issuer: `${url}/` }),
      text: 'issuer "<url>" expected, discovery says "<url>/": oidc_discovery_url lacks the slash at its end',
    },
    {
      name: 'another issuer',
      prepare: ({ routes }) => routes.set(well, { issuer: 'https://idp.example' }),
      text: 'issuer "<url>" expected, discovery says "https://idp.example": write oidc_discovery_url as the provider does',
    },
    {
      name: 'no issuer',
      prepare: ({ routes }) => routes.set(well, { jwks_uri: 'x' }),
      text: 'issuer "<url>" expected, discovery names none',
    },
    {
      name: 'an issuer for all tenants',
      prepare: ({ routes }) =>
        routes.set(well, { issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' }),
      text:
        'issuer "<url>" expected, discovery says "https://login.microsoftonline.com/{tenantid}/v2.0": this address is of all tenants: write the id of yours ' +
        'in place of common, organizations or consumers',
    },
    {
      name: 'a placeholder',
      config: ({ url }) => ({ oidc_discovery_url: `${url}/{tenantid}/v2.0` }),
      text: '404 Not Found, no content type: replace the placeholder in oidc_discovery_url',
    },
    {
      name: 'a page that needs a login',
      prepare: answering('<html>secret', 'text/html', 403),
      text: '403 Forbidden, content type text/html',
    },
    {
      name: 'a page in place of JSON',
      prepare: answering('<html>secret', 'text/html'),
      text: 'oidc: failed to decode provider discovery object: not JSON (200 OK, content type text/html)',
    },
    {
      name: 'nobody there',
      prepare: (provider) => provider.stop(),
      text: `Get "<url>${well}": dial tcp: connect: connection refused`,
    },
    {
      name: 'no scheme',
      config: () => ({ oidc_discovery_url: 'idp.example' }),
      text: 'unsupported protocol scheme or invalid URL: oidc_discovery_url begins with https://',
    },
    {
      name: 'a blank from the clipboard',
      config: ({ url }) => ({ oidc_discovery_url: `${url} ` }),
      text: 'unsupported protocol scheme or invalid URL: take the blanks and quotes off oidc_discovery_url',
    },
    {
      name: 'a variable that was not expanded',
      config: ({ url }) => ({ oidc_discovery_url: `${url}/$TENANT/v2.0` }),
      text: '404 Not Found, no content type: replace the placeholder in oidc_discovery_url',
    },
    {
      name: 'an answer that would write to a terminal',
      prepare: ({ routes }) =>
        routes.set(
          well,
          (answer) => void answer.socket?.end('HTTP/1.1 503 a\x1b[2Jb\r\nContent-Type: text/html\r\n\r\n'),
        ),
      text: '503 a[2Jb, content type text/html',
    },
    {
      name: 'an algorithm that does not exist, with a client',
      config: ({ url }) => ({
        oidc_discovery_url: url,
        oidc_client_id: 'i',
        oidc_client_secret: 's',
        jwt_supported_algs: 'HS256',
      }),
      text: 'unsupported signing algorithm "HS256"',
    },
  ])('$name', async ({ config = discoveryOf, prepare, text }) => {
    expect(await refusalOf(config, prepare)).toBe(checking + text)
  })

  test('names a host that does not exist', async () => {
    const server = await sharedServer()
    expect(await refusal(server, { oidc_discovery_url: 'https://gatehouse.invalid' })).toMatch(
      /^error checking oidc discovery URL: Get "https:\/\/gatehouse\.invalid\/\S+": dial tcp: lookup: /,
    )
  })

  test.each([
    {
      name: 'an unknown authority',
      config: discoveryOf,
      text: /x509: certificate signed by unknown authority \(.+\): put the provider's authority into oidc_discovery_ca_pem$/,
    },
    {
      name: 'another authority than the one given',
      config: ({ url }: Provider) => ({
        oidc_discovery_url: url,
        oidc_discovery_ca_pem: strangerCertificate,
      }),
      text: /x509: certificate signed by unknown authority \(.+\): no certificate in oidc_discovery_ca_pem is the provider's authority$/,
    },
    {
      name: 'a certificate for another name',
      config: ({ url }: Provider) => ({
        oidc_discovery_url: url.replace('127.0.0.1', 'localhost'),
        oidc_discovery_ca_pem: providerTls.cert,
      }),
      text: /x509: certificate is valid for 127\.0\.0\.1, not localhost$/,
    },
    {
      name: 'an authority that is none',
      config: ({ url }: Provider) => ({ oidc_discovery_url: url, oidc_discovery_ca_pem: 'garbage' }),
      text: /: could not parse CA PEM value successfully$/,
    },
  ])('$name', async ({ config, text }) => {
    expect(await refusalOf(config, undefined, providerTls)).toMatch(text)
  })

  test('names a server that does not speak TLS', async () => {
    await using provider = await startProvider()
    const server = await sharedServer()
    expect(await refusal(server, { oidc_discovery_url: provider.url.replace('http:', 'https:') })).toMatch(
      /: tls: the server does not speak TLS here/,
    )
  })

  test('names a server that does not speak HTTP', async () => {
    const text = await refusalOf(discoveryOf, ({ routes }) =>
      routes.set(well, (answer) => void answer.socket?.end('SSH-2.0-x\r\n')),
    )
    expect(text).toMatch(/: malformed HTTP response \(/)
  })
})

describe('a JWKS URL that cannot be used is refused with its cause', () => {
  const keysOf = ({ url }: Provider) => ({ jwks_url: `${url}/keys` })
  const pairOf = ({ url }: Provider) => ({ jwks_pairs: [{ jwks_url: `${url}/keys` }] })

  test.each([
    { name: 'not there', prepare: () => {}, text: '404 Not Found, no content type' },
    {
      name: 'ill',
      prepare: answering('<html>secret', 'text/html', 500),
      text: '500 Internal Server Error, content type text/html',
    },
    {
      name: 'a page',
      prepare: answering('<html>secret', 'text/html'),
      text: '200 OK, content type text/html: not JSON',
    },
    {
      name: 'a list',
      prepare: answering('[]', 'application/json'),
      text: '200 OK, content type application/json: a JWK set must be a JSON object',
    },
    {
      name: 'gone',
      prepare: (provider: Provider) => provider.stop(),
      text: 'Get "<url>/keys": dial tcp: connect: connection refused',
    },
  ])('$name', async ({ prepare, text }) => {
    expect(await refusalOf(keysOf, prepare)).toBe(`error checking jwks URL <url>/keys: ${text}`)
    expect(await refusalOf(pairOf, prepare)).toBe(`error checking jwks URL <url>/keys: ${text}`)
  })

  test('names an unknown authority', async () => {
    expect(await refusalOf(keysOf, undefined, providerTls)).toMatch(
      /^error checking jwks URL <url>\/keys: Get "<url>\/keys": tls: .*unknown authority \(.+\): put the provider's authority into jwks_ca_pem$/,
    )
  })

  test('the error repeats only the beginning of a long URL', async () => {
    const server = await sharedServer()
    const long = `http://127.0.0.1:1/${'k'.repeat(100_000)}`
    for (const field of ['jwks_url', 'oidc_discovery_url'])
      expect((await refusal(server, { [field]: long })).length).toBeLessThan(4096)
  })

  test('a password in the URL is never shown', async () => {
    await using provider = await startProvider()
    const server = await sharedServer()
    for (const field of ['jwks_url', 'oidc_discovery_url']) {
      expect(await refusal(server, { [field]: provider.url.replace('://', '://user:hush@') })).not.toContain(
        'hush',
      )
    }
  })
})

describe('the status of a mount', () => {
  test('shows the last refused configuration, without secrets, until one is accepted', async () => {
    await using server = await borrowServer()
    const refused = async () => (await server.root.read('auth/jwt/status')).body.data?.['last_refused_config']
    expect(await refused()).toBeNull()

    await server.root.write(path, { jwks_url: 'http://127.0.0.1:1/k' })
    await server.root.write(path, { jwt_validation_pubkeys: [aSigner().pem], oidc_client_secret: 'hush' })
    expect(await refused()).toMatchObject({
      text: "both 'oidc_client_id' and 'oidc_client_secret' must be set for OIDC",
    })
    expect((await server.root.write(path, { jwt_validation_pubkeys: [aSigner().pem] })).status).toBe(204)
    expect(await refused()).toBeNull()
    await server.root.write(path, {})
    expect(await refused()).toMatchObject({ text: expect.stringMatching(/^exactly one of/) })
    expect((await server.root.read('auth/jwt/status')).body.data).toMatchObject({ ok: true, type: 'static' })
  })
})
