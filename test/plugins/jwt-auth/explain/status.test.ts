import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OutboundClient } from '../../../../src/core/outbound/outbound.ts'
import { discover } from '../../../../src/jwt/keys/discovery.ts'
import { startTestServer } from '../../../support/start-server.ts'
import { jwksOf, startProvider } from '../provider.ts'
import { aSigner } from '../signer.ts'
import { type LoginFixture, openLoginFixture } from './fixture.ts'

describe('status', () => {
  let fixture: LoginFixture
  beforeAll(async () => {
    fixture = await openLoginFixture()
  })
  afterAll(() => fixture[Symbol.asyncDispose]())
  const status = async (mount: string, query = '') =>
    (await fixture.root.read(`auth/${mount}/status${query}`)).body['data']

  test('status shows the keys of the configuration', async () => {
    const mount = await fixture.mount()

    expect(await status(mount)).toEqual({
      ok: true,
      type: 'static',
      sources: [
        {
          kind: 'static',
          url: '',
          reachable: null,
          keys: 1,
          kids: [],
          fetched_at: null,
          age_seconds: null,
          fetches: 0,
          algorithms: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
          clock_offset_seconds: null,
          clock_offset_estimated: false,
          last_error: null,
          skipped_keys: [],
        },
      ],
      pending_logins: 0,
      last_login_at: null,
      last_refusal_at: null,
      last_refused_config: null,
    })
  })

  test('nothing is fetched until a login, or a request for it', async () => {
    const mount = await fixture.mount({ config: { oidc_discovery_url: fixture.issuer.url } })
    expect(await status(mount)).toMatchObject({
      ok: false,
      type: 'discovery',
      sources: [{ kind: 'discovery', reachable: null, keys: 0, fetches: 0 }],
    })

    const refreshed = await status(mount, '?refresh=true')

    expect(refreshed).toMatchObject({
      ok: true,
      sources: [
        {
          url: fixture.issuer.url,
          reachable: true,
          keys: 2,
          fetches: 2,
          algorithms: expect.arrayContaining(['RS256', 'ES256']),
          last_error: null,
          fetched_at: expect.stringMatching(/Z$/),
          age_seconds: expect.any(Number),
          kids: [expect.any(String), expect.any(String)],
        },
      ],
    })
    expect(Math.abs(Number(refreshed?.['sources']?.[0]?.['clock_offset_seconds']))).toBeLessThanOrEqual(1)
  })

  test('when a provider goes down, its keys stay and status shows the cause', async () => {
    const mount = await fixture.mount({
      config: { jwt_validation_pubkeys: [], jwks_url: fixture.issuer.jwksUrl },
    })
    // the fetches of all mounts that use this address
    const before = Number((await status(mount, '?refresh=true'))?.['sources']?.[0]?.['fetches'])
    fixture.issuer.misbehave({ kind: 'status', status: 503 }, 'jwks')

    const after = await status(mount, '?refresh=true')

    fixture.issuer.behave()
    expect(after).toMatchObject({
      ok: true,
      type: 'jwks',
      sources: [{ kind: 'jwks', reachable: false, keys: 2, fetches: before + 1 }],
    })
    expect(after?.['sources']?.[0]?.['last_error']).toMatchObject({ text: expect.stringContaining('503') })
  })

  test('a password in a URL is never shown', async () => {
    const address = fixture.issuer.jwksUrl.replace('://', '://keys:hush@')
    const mount = await fixture.mount({ config: { jwt_validation_pubkeys: [], jwks_url: address } })

    const shown = await status(mount, '?refresh=true')

    expect(shown).toMatchObject({ ok: true, sources: [{ url: fixture.issuer.jwksUrl, last_error: null }] })
    const explained = await fixture.explain(mount, {
      jwt: await fixture.sign({}, { header: { kid: 'nobody' } }),
    })
    expect(JSON.stringify([shown, explained.body])).not.toContain('hush')
  })

  test('a discovery URL with a password is not shown, even when the provider changed its name', async () => {
    const document = { issuer: 'https://other' }
    await using provider = await startProvider({ '/.well-known/openid-configuration': document })
    const discovery = { url: provider.url.replace('://', '://me:hush@'), caPem: '' }

    await expect(discover(new OutboundClient({ deny: [] }), discovery)).rejects.toThrow(
      `issuer "${provider.url}/" expected, discovery says "https://other"`,
    )
  })

  test('several key sets are shown separately', async () => {
    const pairs = [{ jwks_url: fixture.issuer.jwksUrl }, { jwks_url: `${fixture.issuer.jwksUrl}?second` }]
    const mount = await fixture.mount({
      config: { jwt_validation_pubkeys: [], bound_issuer: '', jwks_pairs: pairs },
    })

    expect(await status(mount, '?refresh=true')).toMatchObject({
      type: 'multi_jwks',
      sources: pairs.map(({ jwks_url: url }) => ({ url, keys: 2 })),
    })
  })

  test('a mount with a client is of type oidc, and pending logins are counted', async () => {
    const client = { oidc_client_id: 'id', oidc_client_secret: 'secret' }
    const mount = await fixture.mount({
      config: { oidc_discovery_url: fixture.issuer.url, ...client },
      role: { role_type: 'oidc', allowed_redirect_uris: ['http://localhost/cb'] },
    })

    await fixture.server.anonymous.write(`auth/${mount}/oidc/auth_url`, {
      role: 'ci',
      redirect_uri: 'http://localhost/cb',
    })

    expect(await status(mount)).toMatchObject({ type: 'oidc' })
  })

  test('status shows the last login and the last refusal', async () => {
    const mount = await fixture.mount()
    await fixture.login(mount, { jwt: 'x' })
    expect(await status(mount)).toMatchObject({
      last_login_at: null,
      last_refusal_at: expect.stringMatching(/Z$/),
    })

    await fixture.login(mount, { jwt: await fixture.sign() })

    expect(await status(mount)).toMatchObject({ last_login_at: expect.stringMatching(/Z$/) })
  })
})

describe('the address of a source that fails', () => {
  test('is in failures, status and the log, also of one key set among several', async () => {
    await using provider = await startProvider({ '/a': { keys: [] }, '/b': { keys: [] } })
    const lines: Readonly<Record<string, unknown>>[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) })
    await using server = await startTestServer({ log })
    const urls = ['a', 'b'].map((name) => `${provider.url}/${name}`)
    await server.root.write('auth/jwt/config', { jwks_pairs: urls.map((jwks_url) => ({ jwks_url })) })
    await server.root.write('auth/jwt/role/ci', { role_type: 'jwt', user_claim: 'sub', bound_subject: 'bob' })
    const known = aSigner('ES256', { kid: 'known' })
    const other = aSigner('ES256', { kid: 'other' })
    provider.routes.set('/a', (answer) => answer.writeHead(503).end('down'))
    provider.routes.set('/b', jwksOf(known))
    const logIn = (jwt: string) => server.anonymous.write('auth/jwt/login', { role: 'ci', jwt })

    const byId = await logIn(other.sign({ sub: 'bob' }))
    const without = await logIn(other.sign({ sub: 'bob' }, { kid: undefined }))

    const failed = `Get "${urls[0]}": get keys failed: 503 Service Unavailable down`
    for (const [answer, reason] of [
      [byId, 'key_unknown'],
      [without, 'signature_invalid'],
    ] as const) {
      const id = String(answer.body.request_id)
      const { data } = (await server.root.read(`auth/jwt/failures?request_id=${id}`)).body
      expect(data?.['failures']?.['0']).toMatchObject({ reason, cause: expect.stringContaining(failed) })
      expect(answer.text).not.toContain(provider.url)
      const line = lines.find((one) => one['event'] === 'login_refused' && one['request_id'] === id)
      expect(line).toMatchObject({ cause: expect.stringContaining(failed) })
    }
    const { data } = (await server.root.read('auth/jwt/status')).body
    expect(data?.['sources']).toMatchObject([{ last_error: { text: failed } }, { last_error: null }])
  })

  test('names the key set, if discovery has found it', async () => {
    await using provider = await startProvider()
    provider.routes.set('/.well-known/openid-configuration', {
      issuer: provider.url,
      jwks_uri: `${provider.url}/keys?token=hush`,
    })
    await using server = await startTestServer()
    await server.root.write('auth/jwt/config', { oidc_discovery_url: provider.url })

    const { data } = (await server.root.read('auth/jwt/status?refresh=true')).body

    expect(data?.['sources']?.['0']).toMatchObject({
      url: provider.url,
      last_error: { text: `Get "${provider.url}/keys": get keys failed: 404 Not Found no` },
    })
  })
})
