import { describe, expect, test } from 'vitest'
import { borrowServer } from '../../../support/borrowed-server.ts'
import type { Answer } from '../../../support/client.ts'
import { startInFolder } from '../../../support/folder-server.ts'
import { shared } from '../../../support/shared.ts'
import type { TestServer } from '../../../support/start-server.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { providerTls } from '../certificates.ts'
import { startProvider } from '../provider.ts'
import {
  begin,
  callback,
  clientId,
  clientSecret,
  configure,
  startSmallProvider,
  verdict,
  withFlow,
  writeRole,
} from './small-provider.ts'

const config = 'auth/oidc/config'
const role = 'auth/oidc/role/r'
const least = { user_claim: 'sub', allowed_redirect_uris: ['https://a/x'] }

async function withMount(): Promise<TestServer> {
  const server = await borrowServer()
  await server.root.write('sys/auth/oidc', { type: 'oidc' })
  return server
}

const told = ({ status, body }: Answer): unknown => (status === 400 ? body.errors : status)

describe('the fields of a role', () => {
  const server = shared(withMount)

  test.each<[string, object, unknown]>([
    ['no mode', {}, 'client'],
    ['an empty mode', { callback_mode: '' }, 'client'],
    ['client', { callback_mode: 'client' }, 'client'],
    ['direct', { callback_mode: 'direct' }, 'direct'],
    ['device', { callback_mode: 'device' }, 'device'],
  ])('callback_mode is always read back: %s', async (_what, given, mode) => {
    const { root } = await server()

    expect(told(await root.write(role, { ...least, ...given }))).toBe(204)
    expect((await root.read(role)).body.data?.['callback_mode']).toBe(mode)
  })

  test.each<[string, object, string]>([
    ['another case', { callback_mode: 'Direct' }, "invalid 'callback_mode': Direct"],
    ['another word', { callback_mode: 'poll' }, "invalid 'callback_mode': poll"],
    ['a negative interval', { poll_interval: -5 }, "'poll_interval' cannot be negative"],
    ['an interval above an hour', { poll_interval: 3601 }, "'poll_interval' is too long"],
    ['an unknown token', { oauth2_metadata: ['id_token', 'zz'] }, 'Unrecognized oauth2 metadata name zz'],
  ])('%s is refused', async (_what, given, text) => {
    const { root } = await server()

    expect(told(await root.write(role, { ...least, ...given }))).toEqual([text])
  })

  test('poll_interval is read back only if it is set, and a write that omits it keeps it', async () => {
    const { root } = await server()
    const read = async () => (await root.read(role)).body.data
    await root.delete(role)

    await root.write(role, { ...least, poll_interval: 0 })
    expect(await read()).not.toHaveProperty('poll_interval')
    await root.write(role, { poll_interval: '3600', oauth2_metadata: 'id_token, access_token' })
    await root.write(role, { user_claim: 'email' })
    expect(await read()).toMatchObject({ poll_interval: 3600, oauth2_metadata: ['id_token', 'access_token'] })
  })

  test('a write that omits callback_mode and oidc_disable_confirmation resets them', async () => {
    const { root } = await server()

    await root.write(role, { ...least, callback_mode: 'direct', oidc_disable_confirmation: true })
    await root.write(role, { user_claim: 'sub' })

    expect((await root.read(role)).body.data).toMatchObject({
      callback_mode: 'client',
      oidc_disable_confirmation: false,
    })
  })

  test('only a role of mode `device` needs no redirect URI', async () => {
    const { root } = await server()
    await root.delete(role)
    const missing = ["'allowed_redirect_uris' must be set if 'role_type' is 'oidc' or unspecified."]

    expect(told(await root.write(role, { user_claim: 'sub', callback_mode: 'direct' }))).toEqual(missing)
    expect(told(await root.write(role, { user_claim: 'sub' }))).toEqual(missing)
    expect(told(await root.write(role, { user_claim: 'sub', callback_mode: 'device' }))).toBe(204)
  })

  test('a role of type `jwt` stores a mode without effect, and the linter says so', async () => {
    const { root } = await server()
    await root.delete(role)
    const jwt = { role_type: 'jwt', user_claim: 'sub', bound_subject: 's' }

    await root.write(role, { ...jwt, callback_mode: 'device', poll_interval: 7 })

    expect((await root.read(role)).body.data).toMatchObject({ callback_mode: 'device', poll_interval: 7 })
    expect((await root.read('auth/oidc/lint')).body.data?.['findings']).toContainEqual(
      expect.objectContaining({
        code: 'no_effect',
        text: '[callback_mode poll_interval] have no effect on a role of type `jwt`',
      }),
    )
  })
})

describe('skip_jwks_validation', () => {
  test.each<[string, (url: string) => object, string]>([
    ['a discovery document', (url) => ({ oidc_discovery_url: url }), 'error checking oidc discovery URL: '],
    ['a JWK set', (url) => ({ jwks_url: `${url}/certs` }), 'error checking jwks URL '],
    [
      'one of several sets',
      (url) => ({ jwks_pairs: [{ jwks_url: `${url}/certs` }] }),
      'error checking jwks URL ',
    ],
  ])(
    'stores a configuration whose keys cannot be fetched, with a warning: %s',
    async (_what, source, text) => {
      const provider = await startProvider()
      await provider.stop()
      await using server = await withMount()
      const { root } = server
      const given = source(provider.url)

      expect(told(await root.write(config, given))).toEqual([expect.stringContaining(text)])
      expect((await root.read(config)).status).toBe(404)
      const stored = await root.write(config, { ...given, skip_jwks_validation: true })

      expect(stored).toMatchObject({ status: 200, body: { warnings: [expect.stringMatching(`^${text}`)] } })
      const { body } = await root.read(config)
      expect(body).toMatchObject({
        data: { ...given, status: 'invalid' },
        warnings: [
          expect.stringMatching(
            /^failed to construct JWK validator: keyset configuration error: .*connection refused/,
          ),
        ],
      })
      expect(body.data).not.toHaveProperty('skip_jwks_validation')
    },
  )

  test('hides no other mistake, and says nothing of a source that can be fetched', async () => {
    await using provider = await startSmallProvider()
    await using server = await withMount()
    const { root } = server
    const skip = { skip_jwks_validation: true }

    expect(told(await root.write(config, { ...skip, oidc_client_id: 'x' }))).toEqual([
      expect.stringContaining('exactly one of'),
    ])
    expect(
      told(await root.write(config, { ...skip, oidc_discovery_url: provider.url, jwt_supported_algs: 'zz' })),
    ).toEqual([expect.stringContaining('unsupported signing algorithm')])
    expect((await root.write(config, { ...skip, oidc_discovery_url: provider.url })).status).toBe(204)
  })
})

describe('status', () => {
  test('is `valid` until a fetch is known to have failed, and again once one succeeds', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const status = async () => (await server.root.read(config)).body.data?.['status']
    const well = '/.well-known/openid-configuration'
    const document = provider.web.routes.get(well) ?? ''

    expect(await status()).toBe('valid')
    provider.web.routes.delete(well)
    await configure(server, provider, { skip_jwks_validation: true })
    expect(await status()).toBe('invalid')
    provider.web.routes.set(well, document)
    // of two servers, each knows what it has fetched itself
    for (let asked = 0; asked < 2; asked++) await server.root.read('auth/oidc/status?refresh=true')
    expect(await status()).toBe('valid')
  })

  test('survives a restart, and reading it fetches nothing', async () => {
    await using provider = await startSmallProvider()
    provider.web.routes.clear()
    await using folder = await temporaryFolder()
    const open = { folder: folder.path }
    await using first = await startInFolder(open)
    const { rootToken } = first
    await first.as(rootToken).write('sys/auth/oidc', { type: 'oidc' })
    await first.as(rootToken).write(config, { oidc_discovery_url: provider.url, skip_jwks_validation: true })
    await first.stop()
    await using second = await startInFolder(open)
    const before = provider.web.hits.length

    expect((await second.as(rootToken).read(config)).body.data?.['status']).toBe('invalid')
    expect(provider.web.hits.length).toBe(before)
  })

  test('cannot be written', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)

    await configure(server, provider, { status: 'invalid' })

    expect((await server.root.read(config)).body.data?.['status']).toBe('valid')
  })
})

test.each(['/.well-known/openid-configuration', '/.well-known', '/tenant/.well-known/x'])(
  'a discovery URL with %s is refused before anything is fetched',
  async (path) => {
    await using provider = await startSmallProvider()
    await using server = await withMount()

    const refused = await server.root.write(config, {
      oidc_discovery_url: provider.url + path,
      skip_jwks_validation: true,
    })

    expect(told(refused)).toEqual(["'oidc_discovery_url' contains '.well-known' component"])
    expect(provider.web.hits).toEqual([])
  },
)

describe('override_allowed_server_names', () => {
  test('replaces the host of the URL in the check of the certificate, of every address of the provider', async () => {
    await using provider = await startSmallProvider({ tls: providerTls, host: 'localhost' })
    await using server = await withMount()
    const trusted = {
      oidc_discovery_url: provider.url,
      oidc_discovery_ca_pem: providerTls.cert,
      oidc_client_id: clientId,
      oidc_client_secret: clientSecret,
    }
    const write = async (names: string[]) =>
      told(await server.root.write(config, { ...trusted, override_allowed_server_names: names }))

    const refused = (name: string) => [
      expect.stringContaining(`certificate is valid for 127.0.0.1, not ${name}`),
    ]
    expect(await write([])).toEqual(refused('localhost'))
    expect(await write(['idp.example.com'])).toEqual(refused('idp.example.com'))
    expect(await write(['idp.example.com', '127.0.0.1'])).toBe(204)
    expect((await server.root.read(config)).body.data?.['override_allowed_server_names']).toEqual([
      'idp.example.com',
      '127.0.0.1',
    ])
    provider.userInfo = { body: { sub: 'bob' } }
    await writeRole(server)
    const login = await begin(server.anonymous, { role: 'test' })
    const code = provider.codeFor(login)
    expect(verdict(await callback(server.anonymous, { state: login.get('state'), code }))).toBe('ok')
    await writeRole(server, { callback_mode: 'device' })
    await begin(server.anonymous, { role: 'test', client_nonce: 'cn' })
    expect([provider.tokenCalls.length, provider.userInfoCalls.length, provider.deviceCalls.length]).toEqual([
      1, 1, 1,
    ])
  })

  test('is checked instead of the host, also of a JWKS URL, and leaves the authority to be checked', async () => {
    await using provider = await startProvider({ '/certs': { keys: [] } }, providerTls)
    await using server = await withMount()
    const write = async (given: object) =>
      told(await server.root.write(config, { jwks_url: `${provider.url}/certs`, ...given }))

    expect(await write({ jwks_ca_pem: providerTls.cert })).toBe(200)
    expect(
      await write({ jwks_ca_pem: providerTls.cert, override_allowed_server_names: ['keys.example.com'] }),
    ).toEqual([expect.stringContaining('certificate is valid for 127.0.0.1, not keys.example.com')])
    expect(await write({ override_allowed_server_names: ['127.0.0.1'] })).toEqual([
      expect.stringContaining('certificate signed by unknown authority'),
    ])
  })
})
