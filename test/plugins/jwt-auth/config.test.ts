import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer } from '../../support/start-server.ts'
import { providerTls, strangerCertificate } from './certificates.ts'
import { jwksOf, startProvider } from './provider.ts'
import { aSigner, newKeys } from './signer.ts'

/** For the tests that leave behind nothing that others would notice. */
const sharedServer = shared(() => startTestServer())

const signer = aSigner('ES256', { kid: 'k' })
const keys = { jwt_validation_pubkeys: [signer.pem] }
const path = 'auth/jwt/config'

const never = {
  oidc_discovery_url: '',
  oidc_discovery_ca_pem: '',
  oidc_client_id: '',
  oidc_public_client: false,
  oidc_response_mode: '',
  oidc_response_types: [],
  jwks_url: '',
  jwks_ca_pem: '',
  jwks_pairs: [],
  default_role: '',
  jwt_supported_algs: [],
  bound_issuer: '',
  provider_config: {},
  namespace_in_state: true,
  unsupported_critical_cert_extensions: [],
  override_allowed_server_names: [],
  status: 'valid',
  accept_as_token: false,
  token_max_lifetime: 86_400,
  require_authorization_details: false,
}

async function aProvider(tls?: typeof providerTls) {
  const provider = await startProvider(
    { '/certs': jwksOf(signer), '/html': '<html>', '/wrong': { keys: 'x' }, '/empty': {} },
    tls,
  )
  provider.routes.set('/.well-known/openid-configuration', {
    issuer: provider.url,
    jwks_uri: `${provider.url}/certs`,
  })
  return provider
}

describe('a source without one usable key is stored with a warning', () => {
  const server = shared(startTestServer)
  const invalid = 'failed to construct JWK validator: keyset configuration error: '

  /** Writes a configuration that is stored with a warning, and expects what a login and a read say of it. */
  async function expectUnusable(body: object, warning: unknown) {
    const { root, anonymous } = await server()
    const written = await root.write(path, body)
    expect(written).toMatchObject({ status: 200, body: { data: null, warnings: [warning] } })
    const status = async () => {
      const read = (await root.read(path)).body
      return [read.data?.['status'], read['warnings']?.['0']]
    }

    expect(await status()).toEqual(['invalid', `${invalid}${written.body['warnings']?.['0']}`])
    await root.write('auth/jwt/role/ci', { role_type: 'jwt', user_claim: 'sub', bound_subject: 's' })
    const login = await anonymous.write('auth/jwt/login', { role: 'ci', jwt: signer.sign({ sub: 's' }) })
    expect(login).toMatchObject({
      status: 400,
      body: { errors: ['error verifying token: keys of the provider are unavailable'] },
    })
    expect(await status()).toEqual(['invalid', expect.stringMatching(`^${invalid}`)])
  }

  test.each([
    { name: 'an empty JWK set', set: { keys: [] }, why: 'the key set is empty' },
    { name: 'a set without keys', set: {}, why: 'the key set is empty' },
    { name: 'a bare key', set: signer.jwk, why: 'the key set is empty' },
    {
      name: 'symmetric keys only',
      set: { keys: [{ kty: 'oct', k: 'AAAA' }] },
      why: 'keys of kty "oct" are not supported',
    },
  ])('$name', async ({ set, why }) => {
    await using provider = await startProvider({ '/set': set })
    const jwks_url = `${provider.url}/set`
    provider.routes.set('/.well-known/openid-configuration', { issuer: provider.url, jwks_uri: jwks_url })

    await expectUnusable({ jwks_url }, `no usable key at jwks_url: ${why}`)
    await expectUnusable({ oidc_discovery_url: provider.url }, `no usable key at oidc_discovery_url: ${why}`)
    const pairs = await (await server()).root.write(path, { jwks_pairs: [{ jwks_url }] })
    expect(pairs.body['warnings']).toEqual([`no usable key at jwks_pairs[0]: ${why}`])
  })

  test.each([
    { name: 'no jwks_uri', jwks_uri: () => undefined, why: /names no jwks_uri$/ },
    { name: 'a relative jwks_uri', jwks_uri: () => '/certs', why: /invalid URL$/ },
    { name: 'a jwks_uri that is not there', jwks_uri: (url: string) => `${url}/gone`, why: /404 Not Found/ },
  ])('a discovery document with $name', async ({ jwks_uri, why }) => {
    await using provider = await aProvider()
    provider.routes.set('/.well-known/openid-configuration', {
      issuer: provider.url,
      jwks_uri: jwks_uri(provider.url),
    })

    const warning = new RegExp(`^no usable key at oidc_discovery_url: .*${why.source}`)
    await expectUnusable({ oidc_discovery_url: provider.url }, expect.stringMatching(warning))
    expect(provider.hits).not.toContain('/certs')
  })

  test('a compressed set is read, and one that cannot be decoded is refused with its cause', async () => {
    const set = gzipSync(JSON.stringify(jwksOf(signer)))
    await using provider = await startProvider()
    const { root } = await server()
    const write = (encoding: string, body = set) => {
      provider.routes.set('/set', (answer) =>
        answer.writeHead(200, { 'content-encoding': encoding }).end(body),
      )
      return root.write(path, { jwks_url: `${provider.url}/set` })
    }

    expect((await write('gzip')).status).toBe(204)
    expect((await write('GZIP, gzip', gzipSync(set))).status).toBe(204)
    for (const [encoding, cause] of [
      ['zstd', 'unsupported content encoding "zstd"'],
      ['gzip, gzip', 'cannot decode gzip'],
    ] as const)
      expect(await write(encoding)).toMatchObject({
        status: 400,
        body: { errors: [expect.stringMatching(`^error checking jwks URL .*: ${cause}`)] },
      })
  })

  test('logins work once the provider has a key', async () => {
    await using provider = await startProvider({ '/set': { keys: [] } })
    const { root, anonymous } = await server()
    await root.write(path, { jwks_url: `${provider.url}/set` })
    await root.write('auth/jwt/role/ci', { role_type: 'jwt', user_claim: 'sub', bound_subject: 's' })

    provider.routes.set('/set', jwksOf(signer))
    const jwt = signer.sign({ sub: 's', exp: Math.floor(Date.now() / 1000) + 60 })

    const logIn = () => anonymous.write('auth/jwt/login', { role: 'ci', jwt })
    expect((await logIn()).status).toBe(200)
    // each server says it of its own keys
    const statusAfterNextLogin = async () => {
      await logIn()
      return (await root.read(path)).body.data?.['status']
    }
    await expect.poll(statusAfterNextLogin).toBe('valid')
  })

  test('one usable key among others is enough', async () => {
    await using provider = await startProvider({ '/set': { keys: [{ kty: 'oct' }, signer.jwk] } })

    expect((await (await server()).root.write(path, { jwks_url: `${provider.url}/set` })).status).toBe(204)
  })
})

describe('what is refused', () => {
  const exactlyOne =
    "exactly one of 'jwt_validation_pubkeys', 'jwks_url', 'jwks_pairs' or 'oidc_discovery_url' must be set"
  const pkcs1 = newKeys('RS256').publicKey.export({ format: 'pem', type: 'pkcs1' }).toString()
  const unconfigured = shared(startTestServer)
  const field = (name: string) => `Field validation failed: error converting input for field "${name}": `
  test.each<{ row: string; body: object; error: string }>([
    {
      row: 'a discovery URL beside a JWKS URL',
      body: { ...keys, oidc_discovery_url: 'http://x', jwks_url: 'http://x' },
      error: exactlyOne,
    },
    { row: 'keys beside a JWKS URL', body: { ...keys, jwks_url: 'http://x' }, error: exactlyOne },
    { row: 'no source of keys', body: {}, error: exactlyOne },
    {
      row: 'only empty sources of keys',
      body: { jwks_pairs: [], jwt_validation_pubkeys: '', jwks_url: null },
      error: exactlyOne,
    },
    {
      row: 'pairs that are not objects',
      body: { jwks_pairs: ['foo', 'bar'] },
      error: 'invalid jwks_pairs: jwks_pairs must be provided as a list of json objects',
    },
    {
      row: 'a pair with a URL that is not a text',
      body: { jwks_pairs: [{ jwks_url: 5 }] },
      error: 'invalid jwks_pairs: 1 error(s) decoding:',
    },
    {
      row: 'a bound issuer beside pairs',
      body: { jwks_pairs: [{ jwks_url: 'http://127.0.0.1:1/' }, {}], bound_issuer: 'foobar' },
      error: "Bound issuer is not supported for use with 'jwks_pairs'",
    },
    {
      row: 'a CA beside pairs',
      body: { jwks_pairs: [{ jwks_url: 'http://127.0.0.1:1/' }], jwks_ca_pem: 'x', bound_issuer: 'y' },
      error: "CA PEMs must be provided as part of the 'jwks_pairs' when using multiple JWKS URLs",
    },
    {
      row: 'a CA that is not a certificate',
      body: { jwks_url: 'http://127.0.0.1:1/', jwks_ca_pem: 'garbage' },
      error: 'error checking jwks_ca_pem: it holds no certificate',
    },
    {
      row: 'a pair without a URL',
      body: { jwks_pairs: [{}] },
      error: 'error checking jwks_ca_pem: jwks_url is missing',
    },
    {
      row: 'a response mode in capitals',
      body: { ...keys, oidc_response_mode: 'QUERY' },
      error: 'invalid response_mode: "QUERY"',
    },
    {
      row: 'unknown response mode',
      body: { ...keys, oidc_response_mode: 'abc' },
      error: 'invalid response_mode: "abc"',
    },
    {
      row: 'an ID token in the query by default',
      body: { ...keys, oidc_response_types: 'id_token' },
      error: 'query response_mode may not be used with an id_token response_type',
    },
    {
      row: 'an ID token in the query',
      body: { ...keys, oidc_response_types: 'code,id_token', oidc_response_mode: 'query' },
      error: 'query response_mode may not be used with an id_token response_type',
    },
    {
      row: 'unknown response type',
      body: { ...keys, oidc_response_types: 'code,token' },
      error: "invalid response_types [code token]. 'code' and 'id_token' are allowed",
    },
    {
      row: 'a client beside keys',
      body: { jwt_validation_pubkeys: ['a'], oidc_client_id: 'i', oidc_client_secret: 's' },
      error: "'oidc_discovery_url' must be set for OIDC",
    },
    {
      row: 'a client beside a JWKS URL',
      body: { jwks_url: 'http://127.0.0.1:1/', oidc_client_id: 'i', oidc_client_secret: 's' },
      error: "'oidc_discovery_url' must be set for OIDC",
    },
    {
      row: 'a client without a secret',
      body: { oidc_discovery_url: 'http://127.0.0.1:1', oidc_client_id: 'i' },
      error: "both 'oidc_client_id' and 'oidc_client_secret' must be set for OIDC",
    },
    {
      row: 'a secret without a client',
      body: { oidc_discovery_url: 'http://127.0.0.1:1', oidc_client_secret: 's' },
      error: "both 'oidc_client_id' and 'oidc_client_secret' must be set for OIDC",
    },
    {
      row: 'unknown provider',
      body: { ...keys, provider_config: { provider: 'unknown' } },
      error: 'invalid provider_config: provider "unknown" not found in custom providers',
    },
    {
      row: 'a provider by the name of a member of objects',
      body: { ...keys, provider_config: { provider: '__proto__' } },
      error: 'invalid provider_config: provider "__proto__" not found in custom providers',
    },
    {
      row: 'no provider in its configuration',
      body: { ...keys, provider_config: { 'not-provider': 'oops' } },
      error: "invalid provider_config: 'provider' field not found in provider_config",
    },
    {
      row: 'a provider that is not a text',
      body: { ...keys, provider_config: { provider: 5 } },
      error: "invalid provider_config: 'provider' field not found in provider_config",
    },
    {
      row: 'a switch as text for azure',
      body: { ...keys, provider_config: { provider: 'azure', fetch_groups: 'true' } },
      error:
        'invalid provider_config: error initializing "azure" provider_config: decoding failed due to the following error(s):',
    },
    {
      row: 'a depth below zero',
      body: { ...keys, provider_config: { provider: 'gsuite', groups_recurse_max_depth: -1 } },
      error:
        'invalid provider_config: error initializing "gsuite" provider_config: \'gsuite_recurse_max_depth\' must be a positive integer',
    },
    {
      row: 'a service account that is no JSON',
      body: { ...keys, provider_config: { provider: 'gsuite', gsuite_service_account: '{' } },
      error:
        'invalid provider_config: error initializing "gsuite" provider_config: error parsing service account JSON: ',
    },
    {
      row: 'okta by http',
      body: { ...keys, provider_config: { provider: 'okta', org_url: 'http://okta.example' } },
      error: 'invalid provider_config: error initializing "okta" provider_config: org_url must use https',
    },
    ...['https://', 'https:///path', 'https:okta.example', 'https://a b'].map((org_url) => ({
      row: `okta without a host, ${org_url}`,
      body: { ...keys, provider_config: { provider: 'okta', org_url } },
      error:
        'invalid provider_config: error initializing "okta" provider_config: org_url must include a host',
    })),
    {
      row: 'okta without a scheme',
      body: { ...keys, provider_config: { provider: 'okta', org_url: 'okta.example' } },
      error: 'invalid provider_config: error initializing "okta" provider_config: org_url must use https',
    },
    {
      row: 'a cap as text',
      body: { ...keys, provider_config: { provider: 'okta', groups_cap: '5' } },
      error:
        'invalid provider_config: error initializing "okta" provider_config: decoding failed due to the following error(s):',
    },
    {
      row: 'a provider that is not offered',
      body: { ...keys, provider_config: { provider: 'kubernetes' } },
      error: 'invalid provider_config: provider "kubernetes" not found in custom providers',
    },
    {
      row: 'okta groups without an API token',
      body: {
        ...keys,
        provider_config: { provider: 'okta', org_url: 'https://okta.example', fetch_groups: true },
      },
      error:
        'invalid provider_config: error initializing "okta" provider_config: \'api_token\' is required in provider_config when fetch_groups=true',
    },
    {
      row: 'okta groups without a URL',
      body: { ...keys, provider_config: { provider: 'okta', fetch_groups: true } },
      error:
        'invalid provider_config: error initializing "okta" provider_config: \'org_url\' must be set in provider_config',
    },
    {
      row: 'a cap below zero',
      body: { ...keys, provider_config: { provider: 'okta', groups_cap: -1 } },
      error: 'invalid provider_config: error initializing "okta" provider_config: groups_cap must be >= 0',
    },
    {
      row: 'a filter that is not a pattern',
      body: { ...keys, provider_config: { provider: 'okta', groups_filter: '(' } },
      error:
        'invalid provider_config: error initializing "okta" provider_config: invalid groups_filter regex: ',
    },
    {
      row: 'unknown algorithm',
      body: { ...keys, jwt_supported_algs: 'HS256' },
      error: 'invalid jwt_supported_algs: unsupported signing algorithm "HS256"',
    },
    {
      row: 'the algorithm none',
      body: { ...keys, jwt_supported_algs: ['RS256', 'none', 'x'] },
      error: 'invalid jwt_supported_algs: unsupported signing algorithm "none"',
    },
    {
      row: 'an empty algorithm',
      body: { ...keys, jwt_supported_algs: ['RS256', ''] },
      error: 'invalid jwt_supported_algs: unsupported signing algorithm ""',
    },
    {
      row: 'a PKCS #1 key',
      body: { jwt_validation_pubkeys: [pkcs1] },
      error: 'error parsing public key: x509: malformed',
    },
    {
      row: 'a key that is no PEM',
      body: { jwt_validation_pubkeys: ['a'] },
      error: 'error parsing public key: data does not contain any valid public keys',
    },
    {
      row: 'two keys in one element',
      body: { jwt_validation_pubkeys: [signer.pem + signer.pem] },
      error: 'error parsing public key: unexpected trailing data after parsed PEM block',
    },
    {
      row: 'the algorithms before the response types',
      body: {
        ...keys,
        oidc_response_types: 'code,token',
        jwt_supported_algs: 'HS256',
        oidc_response_mode: 'x',
      },
      error: 'invalid jwt_supported_algs: unsupported signing algorithm "HS256"',
    },
    {
      row: 'the response types before the response mode',
      body: { ...keys, oidc_response_types: 'code,token', oidc_response_mode: 'x' },
      error: "invalid response_types [code token]. 'code' and 'id_token' are allowed",
    },
    {
      row: 'the response mode before the provider',
      body: { ...keys, oidc_response_mode: 'x', provider_config: { provider: 'unknown' } },
      error: 'invalid response_mode: "x"',
    },
    {
      row: 'a default role that is a map',
      body: { ...keys, default_role: { a: 1 } },
      error: field('default_role'),
    },
    {
      row: 'a switch that is none',
      body: { ...keys, namespace_in_state: 'maybe' },
      error: field('namespace_in_state'),
    },
    {
      row: 'a provider configuration that is not a map',
      body: { ...keys, provider_config: 'x' },
      error: field('provider_config'),
    },
    {
      row: 'algorithms that are a map',
      body: { ...keys, jwt_supported_algs: { a: 1 } },
      error: field('jwt_supported_algs'),
    },
    { row: 'a URL that is a list', body: { jwks_url: [1] }, error: field('jwks_url') },
  ])('$row: $body', async ({ body, error }) => {
    const server = await unconfigured()

    const answer = await server.root.write(path, body)

    expect(answer.status).toBe(400)
    expect(String(answer.body.errors?.[0]).slice(0, error.length)).toBe(error)
    expect((await server.root.read(path)).status).toBe(404)
  })
})

describe('what is stored', () => {
  test('a minimal configuration reads back with every key and no secret', async () => {
    const server = await sharedServer()

    const written = await server.root.write(path, { ...keys, bound_issuer: 'http://vault.example.com/' })
    const read = await server.root.read(path)

    expect(written).toMatchObject({ status: 204, text: '' })
    expect(read.body.data).toEqual({
      ...never,
      jwt_validation_pubkeys: [signer.pem.trim()],
      bound_issuer: 'http://vault.example.com/',
    })
  })

  test('reading before the first write is 404, and deleting is not supported', async () => {
    await using server = await borrowServer()

    expect(await server.root.read(path)).toMatchObject({ status: 404, body: { errors: [] } })
    expect(await server.root.delete(path)).toMatchObject({
      status: 405,
      body: { errors: ['1 error occurred:\n\t* unsupported operation\n\n'] },
    })
  })

  test.each([
    ['', ''],
    ['query', 'query'],
    ['form_post', 'form_post'],
  ])('response mode %j', async (mode, stored) => {
    const server = await sharedServer()
    expect((await server.root.write(path, { ...keys, oidc_response_mode: mode })).status).toBe(204)
    expect((await server.root.read(path)).body.data?.oidc_response_mode).toBe(stored)
  })

  test('options read back as they were written', async () => {
    const server = await sharedServer()
    const options = {
      oidc_response_types: ['id_token'],
      oidc_response_mode: 'form_post',
      provider_config: { provider: 'azure', extraOptions: 'abound', big: 12345678901234567890n },
      default_role: 'Dev',
      jwt_supported_algs: ' RS256 , ES256 ',
      unsupported_critical_cert_extensions: ['not an OID, and not read here'],
    }
    const body = JSON.stringify({ ...keys, ...options }, (_key, value) =>
      typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value,
    )

    expect((await server.root.call('POST', path, undefined, { raw: body })).status).toBe(204)

    const { data } = (await server.root.read(path)).body
    expect(data).toMatchObject({
      oidc_response_types: ['id_token'],
      default_role: 'dev',
      jwt_supported_algs: ['RS256', 'ES256'],
    })
    expect((await server.root.read(path)).text).toContain('"big":12345678901234567890')
  })

  test('the secret options of a provider are not shown', async () => {
    const server = await sharedServer()
    const provider_config = {
      provider: 'okta',
      org_url: 'https://okta.example',
      api_token: 'hidden',
      fetch_groups: true,
    }
    expect((await server.root.write(path, { ...keys, provider_config })).status).toBe(204)

    const read = await server.root.read(path)

    expect(read.body.data?.provider_config).toEqual({
      provider: 'okta',
      org_url: 'https://okta.example',
      fetch_groups: true,
    })
    expect(read.text).not.toContain('hidden')
  })

  test('namespace_in_state is the one field a write keeps', async () => {
    const server = await sharedServer()
    const storedAfter = async (given: object) => {
      await server.root.write(path, { ...keys, ...given })
      return (await server.root.read(path)).body.data?.namespace_in_state
    }

    expect(await storedAfter({})).toBe(true)
    expect(await storedAfter({ namespace_in_state: false })).toBe(false)
    expect(await storedAfter({ default_role: 'ui' })).toBe(false)
    expect(await storedAfter({ namespace_in_state: 'true' })).toBe(true)
    expect(await storedAfter({})).toBe(true)
    expect(await storedAfter({ namespace_in_state: null })).toBe(false)
    expect(await storedAfter({ namespace_in_state: true })).toBe(true)
  })

  test('every other field is reset, and a refused write changes nothing', async () => {
    const server = await sharedServer()
    const before = {
      default_role: 'dev',
      bound_issuer: ' a ',
      jwt_supported_algs: ['ES256'],
      jwks_ca_pem: 'x',
      oidc_discovery_ca_pem: 'y',
    }
    await server.root.write(path, { ...keys, ...before })

    expect(await server.root.write(path, { default_role: 'x' })).toMatchObject({ status: 400 })
    expect(await server.root.write(path, { ...keys, jwt_supported_algs: 'nope' })).toMatchObject({
      status: 400,
    })
    expect((await server.root.read(path)).body.data).toMatchObject(before)
    await server.root.write(path, keys)
    expect((await server.root.read(path)).body.data).toEqual({
      ...never,
      jwt_validation_pubkeys: [signer.pem.trim()],
    })
  })

  test('a certificate counts as a key, and two keys are two elements', async () => {
    const server = await sharedServer()
    expect(
      (await server.root.write(path, { jwt_validation_pubkeys: [strangerCertificate, signer.pem] })).status,
    ).toBe(204)
  })

  test('unknown fields are ignored silently', async () => {
    const server = await sharedServer()
    expect(await server.root.write(path, { ...keys, zzz: 1, name: 'x' })).toMatchObject({
      status: 204,
      text: '',
    })
  })
})

describe('what is fetched', () => {
  test('the URL is accepted with the right CA, and refused with another or none', async () => {
    const server = await sharedServer()
    await using provider = await aProvider(providerTls)
    const jwks = {
      jwks_url: `${provider.url}/certs`,
      jwks_ca_pem: providerTls.cert,
      oidc_response_mode: 'form_post',
    }
    const client = { oidc_client_id: 'i', oidc_client_secret: 'hidden' }
    const discovery = { oidc_discovery_url: provider.url, oidc_discovery_ca_pem: providerTls.cert, ...client }

    expect((await server.root.write(path, jwks)).status).toBe(204)
    expect((await server.root.read(path)).body.data).toEqual({
      ...never,
      ...jwks,
      jwt_validation_pubkeys: [],
    })
    expect(
      (await server.root.write(path, { ...jwks, jwks_ca_pem: strangerCertificate })).body.errors,
    ).toEqual([expect.stringContaining(`error checking jwks URL ${provider.url}/certs: `)])
    expect((await server.root.write(path, { ...jwks, jwks_ca_pem: '' })).status).toBe(400)
    expect((await server.root.write(path, discovery)).status).toBe(204)
    expect((await server.root.read(path)).text).not.toContain('hidden')
    for (const oidc_discovery_ca_pem of [strangerCertificate, '', 'garbage']) {
      expect(await server.root.write(path, { ...discovery, oidc_discovery_ca_pem })).toMatchObject({
        status: 400,
        body: { errors: [expect.stringMatching(/^error checking oidc discovery URL: /)] },
      })
    }
  })

  test.each([
    ['/certs', 204],
    ['/empty', 200],
    ['/html', 400],
    ['/wrong', 400],
    ['/missing', 400],
  ])('the JWKS at %s: %s', async (route, status) => {
    const server = await sharedServer()
    await using provider = await aProvider()

    const answer = await server.root.write(path, { jwks_url: provider.url + route })

    expect(answer.status).toBe(status)
    if (status === 400)
      expect(answer.body.errors?.[0]).toContain(`error checking jwks URL ${provider.url}${route}: `)
  })

  test.each(['not a url', 'http://127.0.0.1:1/k', 'ftp://127.0.0.1/', 'file:///etc/passwd'])(
    'the JWKS URL %s is refused',
    async (jwks_url) => {
      const server = await sharedServer()
      expect(await server.root.write(path, { jwks_url })).toMatchObject({
        status: 400,
        body: { errors: [expect.stringContaining(`error checking jwks URL ${jwks_url}: `)] },
      })
    },
  )

  test('all pairs are checked, and read back as posted', async () => {
    const server = await sharedServer()
    await using plain = await aProvider()
    await using secure = await aProvider(providerTls)
    const good = [
      { jwks_url: `${plain.url}/certs`, extra: [1.0] },
      { jwks_url: `${secure.url}/certs`, jwks_ca_pem: providerTls.cert },
    ]

    expect((await server.root.write(path, { jwks_pairs: good })).status).toBe(204)
    expect((await server.root.read(path)).body.data?.jwks_pairs).toEqual(good)
    for (const bad of ['/missing', '/html']) {
      const pairs = [{ jwks_url: plain.url + bad }, ...good]
      expect((await server.root.write(path, { jwks_pairs: pairs })).body.errors).toEqual([
        expect.stringContaining(`error checking jwks URL ${plain.url}${bad}: `),
      ])
    }
  })

  test('the issuer of the document must equal the discovery URL exactly', async () => {
    const server = await sharedServer()
    await using provider = await aProvider()
    const check = async (oidc_discovery_url: string) =>
      (await server.root.write(path, { oidc_discovery_url })).status

    expect(await check(provider.url)).toBe(204)
    expect(await check(`${provider.url}/`)).toBe(400)
    provider.routes.set('/.well-known/openid-configuration', { issuer: `${provider.url}/` })
    expect(await check(provider.url)).toBe(400)
    // the document names no jwks_uri: stored with a warning
    expect(await check(`${provider.url}/`)).toBe(200)
    expect(await check('ftp://127.0.0.1')).toBe(400)
    expect(new Set(provider.hits)).toEqual(new Set(['/.well-known/openid-configuration', '/certs']))
  })

  test('with a client, algorithms and OIDs are part of the discovery check', async () => {
    const server = await sharedServer()
    await using provider = await aProvider()
    const discovery = { oidc_discovery_url: provider.url }
    const client = { ...discovery, oidc_client_id: 'i', oidc_client_secret: 's' }
    const errors = async (body: object) => (await server.root.write(path, body)).body?.errors?.[0]

    expect(await errors({ ...client, jwt_supported_algs: 'HS256' })).toBe(
      'error checking oidc discovery URL: unsupported signing algorithm "HS256"',
    )
    expect(await errors({ ...client, unsupported_critical_cert_extensions: 'x' })).toBe(
      'error checking oidc discovery URL: invalid OID "x" in unsupported_critical_cert_extensions',
    )
    expect(await errors({ ...client, unsupported_critical_cert_extensions: '2.5.29.30' })).toBeUndefined()
    expect(await errors({ ...discovery, jwt_supported_algs: 'HS256' })).toBe(
      'invalid jwt_supported_algs: unsupported signing algorithm "HS256"',
    )
    expect(await errors({ ...discovery, unsupported_critical_cert_extensions: 'x' })).toBeUndefined()
  })

  test('nothing is fetched from denied networks', async () => {
    await using server = await startTestServer({ settings: { OUTBOUND_DENY: '127.0.0.0/8' } })
    await using provider = await aProvider()

    expect((await server.root.write(path, { jwks_url: `${provider.url}/certs` })).status).toBe(400)
    expect(
      (await server.root.write(path, { oidc_discovery_url: provider.url.replace('127.0.0.1', 'localhost') }))
        .status,
    ).toBe(400)
    expect(provider.hits).toEqual([])
  })
})

describe('rights', () => {
  test('a write requires update, never create, and the check precedes that of its fields', async () => {
    const server = await sharedServer()
    const holding = async (capability: string) => {
      await server.root.write(`sys/policies/acl/${capability}`, {
        policy: `path "auth/jwt/config" { capabilities = ["${capability}"] }`,
      })
      return server.as(
        String(
          (await server.root.write('auth/token/create', { policies: [capability] })).body.auth?.client_token,
        ),
      )
    }
    const [create, update, read] = [await holding('create'), await holding('update'), await holding('read')]

    expect((await create.write(path, keys)).status).toBe(403)
    expect((await create.write(path, { namespace_in_state: 'maybe' })).status).toBe(403)
    expect((await update.write(path, keys)).status).toBe(204)
    expect((await update.read(path)).status).toBe(403)
    expect((await read.read(path)).status).toBe(200)
    expect((await server.anonymous.read(path)).status).toBe(403)
  })
})
