import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../../support/fake-clock.ts'
import { serversInTurn, testOfOneServer } from '../../../support/of-one-server.ts'
import {
  aheadBy,
  begin,
  deviceRole,
  failuresOf,
  lost,
  pending,
  polled,
  sharedFlow,
  withDevice,
} from './polled-login.ts'
import {
  callback,
  clientId,
  clientSecret,
  configure,
  postForm,
  startSmallProvider,
  verdict,
} from './small-provider.ts'

describe('mode device', () => {
  const flow = sharedFlow()

  /** Polls `device` logins with a clock, in steps of the interval. */
  async function withClock(given: object = {}) {
    const clock = new FakeClock()
    const stack = new AsyncDisposableStack()
    const provider = stack.use(await startSmallProvider())
    provider.claims = aheadBy(provider, () => clock.now())
    const server = stack.use(await withDevice(provider, given, { clock }))
    return { clock, provider, server, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  test('asks the device endpoint, and tells the client URL, code and interval', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDevice(provider, { oidc_scopes: 'email,groups' })

    const { data } = await begin(server.anonymous, { redirect_uri: '' })

    expect(data).toEqual({
      auth_url: `${provider.url}/verify`,
      user_code: 'ABCD-EF',
      state: expect.stringMatching(/^st_/),
      poll_interval: '5',
    })
    expect(Object.fromEntries(provider.deviceCalls[0] ?? [])).toEqual({
      client_id: clientId,
      client_secret: clientSecret,
      scope: 'openid email groups',
    })
  })

  test.each<[string, object, object, object]>([
    [
      'a complete URL needs no code',
      {},
      { verification_uri_complete: 'https://idp/v?c=1' },
      { auth_url: 'https://idp/v?c=1', poll_interval: '5' },
    ],
    [
      'the older names',
      {},
      { verification_uri: undefined, verification_url: 'https://idp/v' },
      { auth_url: 'https://idp/v', user_code: 'U', poll_interval: '5' },
    ],
    [
      'the older complete name',
      {},
      { verification_url_complete: 'https://idp/v?c=2' },
      { auth_url: 'https://idp/v?c=2', poll_interval: '5' },
    ],
    [
      "the provider's interval",
      {},
      { interval: 9 },
      { auth_url: 'https://idp/verify', user_code: 'U', poll_interval: '9' },
    ],
    [
      "the role's interval first",
      { poll_interval: 2 },
      { interval: 9 },
      { auth_url: 'https://idp/verify', user_code: 'U', poll_interval: '2' },
    ],
    [
      'an interval that is none',
      {},
      { interval: -1 },
      { auth_url: 'https://idp/verify', user_code: 'U', poll_interval: '5' },
    ],
  ])('%s', async (_what, given, body, wanted) => {
    const { provider, server } = await flow({ ...deviceRole, ...given })
    const usual = { device_code: 'd', user_code: 'U', verification_uri: 'https://idp/verify' }
    provider.device = { body: { ...usual, ...body } }

    const { state: _state, ...data } = (await begin(server.anonymous)).data

    expect(data).toEqual(wanted)
  })

  test.each<[string, object]>([
    ['an error', { status: 400, body: { error: 'invalid_client', error_description: 'hush' } }],
    ['no device_code', { body: { verification_uri: 'https://idp/v' } }],
    ['a URL that is none', { body: { device_code: 'd', verification_uri: 'javascript:alert(1)' } }],
    ['a page', { type: 'text/html', body: '<html>hush' }],
    ['an outage', { status: 502, body: 'hush' }],
  ])(
    'an answer of the device endpoint that is of no use is an empty URL and a warning: %s',
    async (_what, reply) => {
      const { provider, server } = await flow(deviceRole)
      provider.device = reply

      const answer = await server.anonymous.write('auth/oidc/oidc/auth_url', { client_nonce: 'cn' })

      expect(answer).toMatchObject({ status: 200, body: { data: { auth_url: '' } } })
      expect(answer.body.warnings).toEqual([expect.stringContaining('did not begin a login with a device')])
      expect(answer.text).not.toContain('hush')
      expect((await failuresOf(server))[0]).toMatchObject({
        path: 'oidc/auth_url',
        reason: 'provider_unreachable',
      })
    },
  )

  test('the secret of the client, repeated by the device endpoint, is in no record of the refusal', async () => {
    const { provider, server } = await flow(deviceRole)
    await configure(server, provider, { oidc_client_secret: 'of-the-client' })
    provider.device = {
      status: 401,
      body: { error: 'invalid_client', error_description: 'not of-the-client' },
    }

    await server.anonymous.write('auth/oidc/oidc/auth_url', { client_nonce: 'cn' })
    await configure(server, provider)

    const [failure] = await failuresOf(server)
    expect(failure?.['cause']).toContain('401 invalid_client not xxxxx')
    expect(JSON.stringify(failure)).not.toContain('of-the-client')
  })

  test('a provider without a device endpoint is refused', async () => {
    await using provider = await startSmallProvider({
      metadata: { device_authorization_endpoint: undefined },
    })
    await using server = await withDevice(provider)

    const answer = await server.anonymous.write('auth/oidc/oidc/auth_url', { client_nonce: 'cn' })

    expect(verdict(answer)).toBe('400 no device auth endpoint url discovered')
  })

  test('pending, slow_down, then the login, once', async () => {
    await using parts = await withClock({ token_ttl: '5m' })
    const { clock, provider, server } = parts
    const { anonymous } = server
    const { state } = await begin(anonymous)
    const seen: string[] = []
    for (const error of ['authorization_pending', 'slow_down', 'authorization_pending', '']) {
      provider.deviceError = error
      seen.push(await polled(anonymous, state))
      clock.advance(10)
    }

    expect(seen).toEqual([pending, '400 slow_down', pending, 'ok'])
    expect(await polled(anonymous, state)).toBe(lost)
    expect(
      provider.tokenCalls.map(({ form, authorization }) => [authorization, Object.fromEntries(form)]),
    ).toEqual(
      Array(4).fill([
        undefined,
        {
          client_id: clientId,
          client_secret: clientSecret,
          grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
          device_code: 'device-1',
        },
      ]),
    )
  })

  test('each slow_down of the provider adds 5 seconds to the interval', async () => {
    await using parts = await withClock()
    const { clock, provider, server } = parts
    const { anonymous } = server
    const { state } = await begin(anonymous)
    provider.deviceError = 'slow_down'
    const asked = async (afterSeconds: number) => {
      clock.advance(afterSeconds)
      const before = provider.tokenCalls.length
      return [await polled(anonymous, state), provider.tokenCalls.length - before]
    }
    const tooFast = ['400 slow_down', 0]
    const told = ['400 slow_down', 1]

    expect(await asked(0)).toEqual(told)
    expect(await asked(9.9)).toEqual(tooFast)
    expect(await asked(0.1)).toEqual(told)
    expect(await asked(14.9)).toEqual(tooFast)
    provider.deviceError = ''
    expect(await asked(0.1)).toEqual(['ok', 1])
  })

  test('a poll faster than the interval is slow_down, and the provider is not asked', async () => {
    await using parts = await withClock({ poll_interval: 7 })
    const { clock, provider, server } = parts
    const { anonymous } = server
    const { state } = await begin(anonymous)

    const first = await Promise.all(Array.from({ length: 5 }, () => polled(anonymous, state)))
    expect(first.sort()).toEqual([pending, ...Array(4).fill('400 slow_down')])
    clock.advance(6.9)
    expect(await polled(anonymous, state)).toBe('400 slow_down')
    expect(provider.tokenCalls.length).toBe(1)
    clock.advance(0.1)
    provider.deviceError = ''
    expect(await polled(anonymous, state)).toBe('ok')
    expect(provider.tokenCalls.length).toBe(2)
  })

  test.each<[string, string]>([
    ['access_denied', '400 authorization failed: access_denied'],
    ['expired_token', '400 authorization failed: expired_token'],
    ['invalid_grant', '400 authorization failed: invalid_grant'],
    ['something of its own', '400 authorization failed: oauth2: cannot fetch token'],
  ])('%s of the provider ends the login, and is explained', async (error, text) => {
    const { provider, server } = await flow(deviceRole)
    const { anonymous } = server
    const { state } = await begin(anonymous)
    provider.deviceError = error

    expect(await polled(anonymous, state)).toBe(text)
    expect(await polled(anonymous, state)).toBe(lost)

    const failure = (await failuresOf(server)).find(({ reason }) => reason === 'provider_refused')
    expect(failure).toMatchObject({
      path: 'oidc/poll',
      role: 'test',
      check: 'provider',
      cause: expect.stringContaining(`authorization failed: oauth2: "${error}" "as told"`),
    })
    const explained = await server.root.read(`auth/oidc/explain?request_id=${failure?.['request_id']}`)
    if (serversInTurn === 1) expect(explained.body.data).toMatchObject({ reason: 'provider_refused' })
  })

  test('a provider that was never reached since the start ends nothing', async () => {
    await using parts = await withClock()
    const { clock, provider, server } = parts
    const { anonymous } = server
    const { state } = await begin(anonymous)
    const well = '/.well-known/openid-configuration'
    const document = provider.web.routes.get(well) ?? ''
    provider.web.routes.delete(well)
    await configure(server, provider, { skip_jwks_validation: true })

    expect(await polled(anonymous, state)).toMatch(/^500 error getting provider for login operation: /)

    provider.web.routes.set(well, document)
    provider.deviceError = ''
    clock.advance(10)
    expect(await polled(anonymous, state)).toBe('ok')
  })

  test('another provider of the mount ends it, and is not asked', async () => {
    await using provider = await startSmallProvider()
    await using elsewhere = await startSmallProvider()
    await using server = await withDevice(provider)
    const { state } = await begin(server.anonymous)
    await configure(server, elsewhere)
    elsewhere.deviceError = ''

    expect(await polled(server.anonymous, state)).toBe(lost)
    expect([provider.tokenCalls, elsewhere.tokenCalls]).toEqual([[], []])
  })

  test('a provider that does not answer ends nothing', async () => {
    await using parts = await withClock()
    const { clock, provider, server } = parts
    const { anonymous } = server
    const { state } = await begin(anonymous)
    const token = provider.web.routes.get('/token') ?? ''
    provider.web.routes.set('/token', (answer) => answer.destroy())

    expect(await polled(anonymous, state)).toBe('400 slow_down')

    provider.web.routes.set('/token', token)
    provider.deviceError = ''
    clock.advance(5)
    expect(await polled(anonymous, state)).toBe('ok')
  })

  test('a login that nobody finished is explained at the first poll after its end', async () => {
    await using parts = await withClock()
    const { clock, server } = parts
    const { state } = await begin(server.anonymous)
    expect(await polled(server.anonymous, state)).toBe(pending)

    clock.advance(601)

    expect(await polled(server.anonymous, state)).toBe(lost)
    expect(await failuresOf(server)).toMatchObject([
      {
        path: 'oidc/poll',
        role: 'test',
        reason: 'state_unknown',
        check: 'state',
        detail: 'nobody finished it within 10 minutes: expired',
      },
    ])
  })

  testOfOneServer('a login that nobody polls for any more is among the failures, once', async () => {
    await using parts = await withClock()
    const { clock, server } = parts
    const { anonymous } = server
    const { state } = await begin(anonymous)
    await begin(anonymous)
    clock.advance(601)
    expect(await polled(anonymous, state)).toBe(lost)

    // a count of the pending logins removes those that have expired
    await server.root.read('auth/oidc/status')

    expect(await failuresOf(server)).toMatchObject([
      {
        request_id: '',
        path: 'oidc/poll',
        role: 'test',
        reason: 'state_unknown',
        remote_address: '127.0.0.1',
        detail: 'nobody finished it, and polled for it, within 10 minutes: expired',
      },
      { request_id: expect.stringMatching(/./), detail: 'nobody finished it within 10 minutes: expired' },
    ])
  })

  test.each<[string, object, object, string]>([
    ['another audience', { aud: 'x' }, {}, '400 Token verification failed. id_token failed verification: '],
    [
      'another issuer',
      { iss: 'https://x' },
      {},
      '400 Token verification failed. id_token failed verification: ',
    ],
    [
      'a claim that is not bound',
      { team: 'y' },
      { bound_claims: { team: 'x' } },
      '400 error validating claims: ',
    ],
    ['another subject', {}, { bound_subject: 'eve' }, '400 sub claim does not match bound subject'],
    [
      'no sign-in since, for a role with max_age',
      {},
      { max_age: '1m' },
      '400 Token verification failed. id_token failed verification: ',
    ],
  ])('the ID token is checked like any other: %s', async (_what, claims, given, text) => {
    const { provider, server } = await flow({ ...deviceRole, ...given })
    const { state } = await begin(server.anonymous)
    Object.assign(provider, { deviceError: '', deviceClaims: claims })

    expect(await polled(server.anonymous, state)).toContain(text)
    expect(await polled(server.anonymous, state)).toBe(lost)
  })

  test('userinfo counts, and groups become those of the entity', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDevice(provider, { groups_claim: 'groups' })
    const { state } = await begin(server.anonymous)
    Object.assign(provider, { deviceError: '' })
    provider.userInfo = { body: { sub: 'bob', groups: ['eng'] } }

    expect(await polled(server.anonymous, state)).toBe('ok')
    expect(provider.userInfoCalls).toEqual(['Bearer at-device-1'])
  })

  test('no browser comes back for it: its state is unknown at the callback, and stays', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDevice(provider, {}, { config: { oidc_response_mode: 'form_post' } })
    const { anonymous } = server
    const { state } = await begin(anonymous)

    expect(verdict(await callback(anonymous, { state, code: 'x', client_nonce: 'cn' }))).toBe(lost)
    expect((await postForm(anonymous, { state, code: 'x' })).text).toContain(
      'Expired or missing OAuth state.',
    )
    expect((await postForm(anonymous, { state, confirmation: '' })).status).toBe(400)
    provider.deviceError = ''
    expect(await polled(anonymous, state)).toBe('ok')
  })

  test('the address of the client counts at each poll', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDevice(provider, { token_bound_cidrs: '203.0.113.9' })
    const { state } = await begin(server.anonymous)

    expect(await polled(server.anonymous, state)).toBe('403 permission denied')
    expect(provider.tokenCalls).toEqual([])
    expect(await polled(server.anonymous, state)).toBe(lost)
  })

  test('of a public client, the id goes without a secret', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDevice(
      provider,
      {},
      { config: { oidc_client_secret: '', oidc_public_client: true } },
    )
    const { state } = await begin(server.anonymous)
    provider.token = { status: 400, body: { error: 'authorization_pending' } }

    expect(await polled(server.anonymous, state)).toBe(pending)
    expect(provider.deviceCalls[0]?.get('client_secret')).toBeNull()
    expect(Object.keys(Object.fromEntries(provider.tokenCalls[0]?.form ?? [])).sort()).toEqual([
      'client_id',
      'device_code',
      'grant_type',
    ])
  })
})
