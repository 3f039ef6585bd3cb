import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { StorageFaults } from '../../../../src/storage/faults.ts'
import { enableAuditFile } from '../../../support/audit-file.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { startInFolder } from '../../../support/folder-server.ts'
import { testOfOneServer } from '../../../support/of-one-server.ts'
import { startTestServer } from '../../../support/start-server.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import {
  aheadBy,
  type Begun,
  begin,
  buttonsOf,
  confirmed,
  deviceRole,
  directRole,
  failuresOf,
  lost,
  page,
  pending,
  poll,
  polled,
  sharedFlow,
  title,
  withDevice,
  withDirect,
} from './polled-login.ts'
import {
  callback,
  clientId,
  clientSecret,
  configure,
  postForm,
  startSmallProvider,
  verdict,
  writeRole,
} from './small-provider.ts'

describe('auth_url', () => {
  const flow = sharedFlow()

  test.each<[string, object, object, string | undefined]>([
    ['client', { callback_mode: 'client', poll_interval: 7 }, {}, undefined],
    ['direct', {}, {}, '5'],
    ['direct with an interval', { poll_interval: 7 }, {}, '7'],
    ['a jwt role, whose mode has no effect', { role_type: 'jwt', bound_subject: 'bob' }, {}, undefined],
  ])(
    'returns state and interval only to a client that has to poll: %s',
    async (_what, given, sent, interval) => {
      const { server } = await flow({ ...directRole, ...given })

      const { data, login } = await begin(server.anonymous, sent)

      expect(Object.keys(data).sort()).toEqual(
        interval === undefined ? ['auth_url'] : ['auth_url', 'poll_interval', 'state'],
      )
      expect(data['poll_interval']).toBe(interval)
      expect([...login.keys()]).toEqual([
        'client_id',
        'code_challenge',
        'code_challenge_method',
        'nonce',
        'redirect_uri',
        'response_type',
        'scope',
        'state',
      ])
      if (interval !== undefined) expect(data['state']).toBe(login.get('state'))
    },
  )

  test.each<[string, object, object, string]>([
    ['direct without client_nonce', {}, { client_nonce: '' }, '400 missing client_nonce'],
    ['direct without redirect_uri', {}, { redirect_uri: '' }, '400 missing redirect_uri'],
    ['device without client_nonce', deviceRole, { client_nonce: '' }, '400 missing client_nonce'],
    ['an unknown role first', {}, { role: 'nope', client_nonce: '' }, '400 role "nope" could not be found'],
  ])('refuses %s', async (_what, given, sent, text) => {
    const { server } = await flow({ ...directRole, ...given })

    const answer = await server.anonymous.write('auth/oidc/oidc/auth_url', {
      redirect_uri: page,
      client_nonce: 'cn',
      ...sent,
    })

    expect(verdict(answer)).toBe(text)
  })

  test.each([
    { namespace_in_state: true, allowed: page },
    { namespace_in_state: false, allowed: `${page}?namespace=team` },
  ])(
    'of a redirect URI with the namespace in its query is empty, because the browser could not come back: %o',
    async ({ namespace_in_state, allowed }) => {
      await using provider = await startSmallProvider()
      const role = { allowed_redirect_uris: [allowed] }
      await using server = await withDirect(provider, role, { config: { namespace_in_state } })
      const sent = { redirect_uri: `${page}?namespace=team`, client_nonce: 'cn' }

      const answer = await server.anonymous.write('auth/oidc/oidc/auth_url', sent)

      expect([answer.status, answer.body.data, answer.body.warnings]).toEqual([
        200,
        { auth_url: '' },
        [
          expect.stringMatching(
            /^redirect_uri of a role with callback_mode direct must have the namespace in its path/,
          ),
        ],
      ])
    },
  )

  test('of a redirect URI with the namespace in its path leads back', async () => {
    await using provider = await startSmallProvider()
    await using server = await startTestServer()
    const { anonymous, root } = server
    const inTeam = 'https://gate.example/v1/team/auth/oidc/oidc/callback'
    await root.write('sys/namespaces/team', {})
    await root.write('team/sys/auth/oidc', { type: 'oidc' })
    await root.write('team/auth/oidc/config', {
      oidc_discovery_url: provider.url,
      oidc_client_id: clientId,
      oidc_client_secret: clientSecret,
    })
    await root.write('team/auth/oidc/role/test', {
      user_claim: 'sub',
      ...directRole,
      allowed_redirect_uris: [inTeam],
    })
    const nonce = { client_nonce: 'cn' }
    const begun = await anonymous.write('team/auth/oidc/oidc/auth_url', {
      role: 'test',
      redirect_uri: inTeam,
      ...nonce,
    })
    const login = new URLSearchParams(String(begun.body.data?.['auth_url']).split('?')[1])
    const state = String(begun.body.data?.['state'])
    const asked = await anonymous.read(
      `team/auth/oidc/oidc/callback?${new URLSearchParams({ state, code: provider.codeFor(login) })}`,
    )

    await postForm(anonymous, buttonsOf(asked).confirm, 'team/auth/oidc/oidc/callback')

    expect(verdict(await anonymous.write('team/auth/oidc/oidc/poll', { state, ...nonce }))).toBe('ok')
  })

  test('of a redirect URI that is not allowed is empty, without state', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)

    expect((await begin(server.anonymous, { redirect_uri: 'http://localhost/other' })).data).toEqual({
      auth_url: '',
    })
  })
})

describe('mode direct', () => {
  test('asks the person, decides the login on `Confirm`, and gives the token to one poll', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider, { token_policies: 'app', token_ttl: '5m' })
    const { anonymous, root } = server
    const { login, state } = await begin(anonymous)
    const code = provider.codeFor(login)
    expect(await polled(anonymous, state)).toBe(pending)

    const shown = await callback(anonymous, { state, code })

    expect(shown).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/html', 'x-frame-options': 'DENY', 'cache-control': 'no-store' },
    })
    expect(shown.headers['content-security-policy']).toContain("frame-ancestors 'none'")
    for (const told of ['test', 'auth/oidc/', '127.0.0.1']) expect(shown.text).toContain(told)
    expect([await polled(anonymous, state), provider.tokenCalls]).toEqual([pending, []])
    expect(await polled(anonymous, state)).toBe(pending)
    const done = await postForm(anonymous, buttonsOf(shown).confirm)
    expect(title(done)).toBe('200 Signed in')
    expect(done.body).toBeUndefined()
    expect(provider.tokenCalls).not.toEqual([])
    expect((await root.call('LIST', 'identity/entity/id')).status).toBe(404)
    const answer = await poll(anonymous, state)
    expect(answer).toMatchObject({
      status: 200,
      body: { auth: { token_policies: ['app', 'default'], lease_duration: 300, metadata: { role: 'test' } } },
    })
    const token = server.as(String(answer.body.auth?.['client_token']))
    expect((await token.read('auth/token/lookup-self')).body.data).toMatchObject({
      path: 'auth/oidc/oidc/poll',
      display_name: 'oidc-bob',
    })
    expect(await polled(anonymous, state)).toBe(lost)
    expect((await root.call('LIST', 'identity/entity/id')).status).toBe(200)
  })

  testOfOneServer('a browser that leaves after `Confirm` does not end the login', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous, root } = server
    const { login, state } = await begin(anonymous)
    const { confirm } = buttonsOf(await callback(anonymous, { state, code: provider.codeFor(login) }))
    const connections = async () => {
      const { text } = await root.read('/metrics')
      return Number(/^gatehouse_http_connections\{protocol="http\/1.1"\} (\d+)$/m.exec(text)?.[1])
    }
    const token = provider.web.routes.get('/token')
    if (typeof token !== 'function') throw new Error('the provider has no token endpoint')
    const before = await connections()
    const asked = Promise.withResolvers<() => void>()
    provider.web.routes.set('/token', (answer, request) => asked.resolve(() => token(answer, request)))

    const pressed = request(`${server.url}/v1/auth/oidc/oidc/callback`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      agent: false,
    })
    pressed.on('error', () => {})
    pressed.end(new URLSearchParams(confirm).toString())
    const answer = await asked.promise
    pressed.destroy()
    await expect.poll(connections).toBeLessThanOrEqual(before)
    answer()

    await expect.poll(() => polled(anonymous, state)).toBe('ok')
  })

  test('of several polls at once one gets the token', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { login, state } = await begin(server.anonymous)
    await confirmed(server.anonymous, state, provider.codeFor(login))

    const polls = await Promise.all(Array.from({ length: 5 }, () => polled(server.anonymous, state)))

    expect(polls.sort()).toEqual([...Array(4).fill(lost), 'ok'])
  })

  test('does not ask for a role with oidc_disable_confirmation, which is read when the browser comes back', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const [one, two] = [await begin(anonymous), await begin(anonymous)]

    await writeRole(server, { ...directRole, oidc_disable_confirmation: true })
    const shown = await callback(anonymous, { state: one.state, code: provider.codeFor(one.login) })
    await writeRole(server, directRole)
    const asked = await callback(anonymous, { state: two.state, code: provider.codeFor(two.login) })

    expect(title(shown)).toBe('200 Signed in')
    expect(await polled(anonymous, one.state)).toBe('ok')
    expect(title(asked)).toBe('200 Confirm the login')
    expect(await polled(anonymous, two.state)).toBe(pending)
  })

  test('asks for a command line too, because it is not the one that gets the token', async () => {
    await using provider = await startSmallProvider()
    const local = 'http://127.0.0.1:8250/oidc/callback'
    await using server = await withDirect(provider, { allowed_redirect_uris: [local] })
    const { login, state } = await begin(server.anonymous, { redirect_uri: local })

    const shown = await callback(server.anonymous, { state, code: provider.codeFor(login) })

    expect(title(shown)).toBe('200 Confirm the login')
  })

  test('another code asks again, and nothing comes back after the end', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    const bait = buttonsOf(await callback(anonymous, { state, code: 'bait' }))
    const real = buttonsOf(await callback(anonymous, { state, code: provider.codeFor(login) }))

    expect(title(await postForm(anonymous, bait.confirm))).toBe('400 Vault login failed.')
    expect(await polled(anonymous, state)).toBe(pending)
    expect(title(await postForm(anonymous, real.confirm))).toBe('200 Signed in')

    expect(verdict(await callback(anonymous, { state, code: provider.codeFor(login) }))).toBe(lost)
    expect(verdict(await callback(anonymous, { state, error: 'access_denied' }))).toBe(lost)
    expect(title(await postForm(anonymous, real.confirm))).toBe('400 Vault login failed.')
    expect(await polled(anonymous, state)).toBe('ok')
  })

  test('with `,ns=` at its end the state is unknown, like that of any pending login', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)

    expect(
      verdict(await callback(anonymous, { state: `${state},ns=x`, code: provider.codeFor(login) })),
    ).toBe(lost)
    expect(await polled(anonymous, `${state},ns=x`)).toBe(lost)
    expect(await polled(anonymous, state)).toBe(pending)
  })

  test('a form of the provider is asked about in the same way', async () => {
    await using provider = await startSmallProvider()
    const config = { oidc_response_mode: 'form_post', oidc_response_types: 'id_token' }
    await using server = await withDirect(provider, {}, { config })
    const { anonymous } = server
    const { login, state } = await begin(anonymous)

    const shown = await postForm(anonymous, { state, id_token: provider.signer.sign(provider.claims(login)) })

    expect(await polled(anonymous, state)).toBe(pending)
    expect(title(await postForm(anonymous, buttonsOf(shown).confirm))).toBe('200 Signed in')
    expect(await polled(anonymous, state)).toBe('ok')
  })

  test('a code that is too long is refused, and the login stays', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)

    const shown = await callback(anonymous, { state, code: 'x'.repeat(16_385) })

    expect([shown.status, shown.text]).toEqual([400, expect.stringContaining('is too long')])
    expect(title(await confirmed(anonymous, state, provider.codeFor(login)))).toBe('200 Signed in')
  })

  test('an ID token in the URL counts for nothing', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider, { oidc_disable_confirmation: true })
    const { login, state } = await begin(server.anonymous)
    const id_token = provider.signer.sign(provider.claims(login))

    const shown = await callback(server.anonymous, { state, id_token })

    expect(shown.text).toContain('No code or id_token received.')
    expect(await polled(server.anonymous, state)).toBe(
      '400 Vault login failed. No code or id_token received.',
    )
  })

  test('the address of the client that polls counts, not that of the browser', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(
      provider,
      { token_bound_cidrs: '203.0.113.9' },
      { settings: { TRUSTED_PROXIES: '127.0.0.1' } },
    )
    const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
    const { anonymous } = server
    const done: string[] = []
    for (const address of ['203.0.113.9', '203.0.113.8']) {
      const { login, state } = await begin(anonymous)
      expect(title(await confirmed(anonymous, state, provider.codeFor(login)))).toBe('200 Signed in')
      const answer = await anonymous.call(
        'POST',
        'auth/oidc/oidc/poll',
        { state, client_nonce: 'cn' },
        from(address),
      )
      done.push(verdict(answer), await polled(anonymous, state))
    }

    expect(done).toEqual(['ok', lost, '403 permission denied', lost])
  })

  test.each<[string, object, string]>([
    ['has other bounds', { bound_claims: { team: 'x' } }, lost],
    ['names people by another claim', { user_claim: 'team' }, lost],
    ['keeps other tokens of the provider', { oauth2_metadata: ['id_token'] }, lost],
    ['is only polled less often', { poll_interval: 9 }, 'ok'],
  ])('a result is not given for a role that by now %s', async (_what, changed, outcome) => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    await confirmed(anonymous, state, provider.codeFor(login))

    await writeRole(server, { ...directRole, ...changed })

    expect(await polled(anonymous, state)).toBe(outcome)
    expect(await polled(anonymous, state)).toBe(lost)
  })

  test('nor for a mount that by now has another client or provider', async () => {
    await using provider = await startSmallProvider()
    await using elsewhere = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const logins: Begun[] = []
    for (let count = 0; count < 4; count += 1) logins.push(await begin(anonymous))
    const [done, asked, other, same] = logins.map(({ login, state }) => ({
      code: provider.codeFor(login),
      state,
    }))
    if (!done || !asked || !other || !same) throw new Error('there are not four logins')
    for (const { state, code } of [done, other, same]) await confirmed(anonymous, state, code)
    const { confirm } = buttonsOf(await callback(anonymous, asked))
    const before = provider.tokenCalls.length

    await configure(server, elsewhere)
    expect(title(await postForm(anonymous, confirm))).toBe('400 Vault login failed.')
    expect(await polled(anonymous, done.state)).toBe(lost)
    await configure(server, provider, { oidc_client_id: 'another' })
    expect(await polled(anonymous, other.state)).toBe(lost)
    await configure(server, provider, { oidc_client_secret: 'rotated' })

    expect(await polled(anonymous, asked.state)).toBe(lost)
    expect(await polled(anonymous, same.state)).toBe('ok')
    expect([elsewhere.tokenCalls, provider.tokenCalls.length]).toEqual([[], before])
    expect((await failuresOf(server)).map(({ detail }) => detail)).toContain(
      'the mount has had another provider or client when the login began',
    )
  })

  test('the role counts as it is at the poll, and a role that is gone ends the login', async () => {
    await using provider = await startSmallProvider()
    const bound_claims = { grade: 5, tags: ['a', 'b'] }
    await using server = await withDirect(provider, { groups_claim: 'groups', bound_claims })
    const { anonymous } = server
    const [one, two] = [await begin(anonymous), await begin(anonymous)]
    const claims = { groups: ['eng'], grade: 5, tags: 'b' }
    for (const { login, state } of [one, two])
      await confirmed(anonymous, state, provider.codeFor(login, { claims }))

    await writeRole(server, { ...directRole, token_policies: 'later' })
    expect((await poll(anonymous, one.state)).body.auth?.['token_policies']).toEqual(['default', 'later'])
    await server.root.delete('auth/oidc/role/test')
    expect(await polled(anonymous, two.state)).toBe('400 Vault login failed. Role could not be found')
    expect(await polled(anonymous, two.state)).toBe(lost)
  })

  test('a result that nobody polls for is kept for ten minutes', async () => {
    const clock = new FakeClock()
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider, { oidc_disable_confirmation: true }, { clock })
    provider.claims = aheadBy(provider, () => clock.now())
    const { anonymous } = server
    const [one, two] = [await begin(anonymous), await begin(anonymous)]
    for (const { login, state } of [one, two])
      await callback(anonymous, { state, code: provider.codeFor(login) })

    clock.advance(599)
    expect(await polled(anonymous, one.state)).toBe('ok')
    clock.advance(2)
    expect(await polled(anonymous, two.state)).toBe(lost)
    const [failure] = await failuresOf(server)
    expect(failure).toMatchObject({ path: 'oidc/poll', reason: 'state_unknown' })
  })

  test('is told to a poll if the server could not keep the result', async () => {
    const clock = new FakeClock()
    const faults = new StorageFaults()
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider, {}, { clock, faults })
    provider.claims = aheadBy(provider, () => clock.now())
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    const { confirm } = buttonsOf(await callback(anonymous, { state, code: provider.codeFor(login) }))
    const token = provider.web.routes.get('/token')
    if (typeof token !== 'function') throw new Error('the provider has no token endpoint')
    provider.web.routes.set('/token', (answer, request) => {
      faults.arm('storage.before-commit', 'full')
      token(answer, request)
    })

    expect((await postForm(anonymous, confirm)).status).toBeGreaterThanOrEqual(500)

    expect((await postForm(anonymous, confirm)).status).toBe(400)
    clock.advance(119)
    expect(await polled(anonymous, state)).toBe(pending)
    clock.advance(1)
    expect(await polled(anonymous, state)).toBe(
      '400 Vault login failed. The server could not finish the login. Begin a new one.',
    )
    expect(await polled(anonymous, state)).toBe(lost)
    expect((await failuresOf(server)).map(({ path, reason }) => `${path} ${reason}`)).toContain(
      'oidc/poll internal',
    )
  })

  test('a pending login, a question and a result survive a restart', async () => {
    await using provider = await startSmallProvider()
    await using folder = await temporaryFolder()
    const first = await startInFolder({ folder: folder.path })
    const root = first.as(first.rootToken)
    await root.write('sys/auth/oidc', { type: 'oidc' })
    await root.write('auth/oidc/config', {
      oidc_discovery_url: provider.url,
      oidc_client_id: clientId,
      oidc_client_secret: clientSecret,
      default_role: 'test',
    })
    await root.write('auth/oidc/role/test', { user_claim: 'sub', ...directRole })
    await root.write('auth/oidc/role/device', { user_claim: 'sub', callback_mode: 'device' })
    const [fresh, asked, done] = [
      await begin(first.anonymous),
      await begin(first.anonymous),
      await begin(first.anonymous),
    ]
    const onDevice = await begin(first.anonymous, { role: 'device' })
    const question = buttonsOf(
      await callback(first.anonymous, { state: asked.state, code: provider.codeFor(asked.login) }),
    )
    await confirmed(first.anonymous, done.state, provider.codeFor(done.login))
    await first.stop()

    await using second = await startInFolder({ folder: folder.path })
    const { anonymous } = second

    expect(await polled(anonymous, done.state)).toBe('ok')
    expect(title(await postForm(anonymous, question.confirm))).toBe('200 Signed in')
    expect(await polled(anonymous, asked.state)).toBe('ok')
    await confirmed(anonymous, fresh.state, provider.codeFor(fresh.login))
    expect(await polled(anonymous, fresh.state)).toBe('ok')
    provider.deviceError = ''
    expect(await polled(anonymous, onDevice.state)).toBe('ok')
  })
})

describe('a confirmation never finishes a login that the person did not confirm', () => {
  const flow = sharedFlow()

  test.each<
    [string, (confirm: Record<string, string>, other: Record<string, string>) => Record<string, string>]
  >([
    ['an empty one', (confirm) => ({ ...confirm, confirmation: '' })],
    ['the constant of another product', (confirm) => ({ ...confirm, confirmation: '1' })],
    ['one made beforehand', (confirm) => ({ ...confirm, confirmation: 'x'.repeat(43) })],
    ['one of another login', (confirm, other) => ({ ...confirm, confirmation: other['confirmation'] ?? '' })],
  ])('%s', async (_what, changed) => {
    const { provider, server } = await flow(directRole)
    provider.tokenCalls.length = 0
    const { anonymous } = server
    const [mine, other] = [await begin(anonymous), await begin(anonymous)]
    const asked = async ({ login, state }: Begun) =>
      buttonsOf(await callback(anonymous, { state, code: provider.codeFor(login) })).confirm
    const [confirm, foreign] = [await asked(mine), await asked(other)]

    const refused = await postForm(anonymous, changed(confirm, foreign))

    expect(title(refused)).toBe('400 Vault login failed.')
    expect([await polled(anonymous, mine.state), await polled(anonymous, other.state)]).toEqual([
      pending,
      pending,
    ])
    expect(provider.tokenCalls).toEqual([])
    expect(title(await postForm(anonymous, confirm))).toBe('200 Signed in')
  })

  test('in a URL it is ignored, alone and beside the form', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    const code = provider.codeFor(login)
    const { confirm } = buttonsOf(await callback(anonymous, { state, code }))
    const { confirmation = '' } = confirm

    for (const value of ['1', confirmation]) {
      const shown = await callback(anonymous, { state, code, confirmation: value })
      expect(title(shown)).toBe('200 Confirm the login')
    }
    const query = new URLSearchParams({ state, code, confirmation })
    const wrong = await postForm(anonymous, { state, confirmation: 'x' }, `auth/oidc/oidc/callback?${query}`)
    expect(title(wrong)).toBe('400 Vault login failed.')
    expect(await polled(anonymous, state)).toBe(pending)
    // where a browser sends the form of the page
    const built = new URLSearchParams({ state: 'st_other', code: 'x', confirmation: '1', denied: 'true' })
    const done = await postForm(anonymous, confirm, `auth/oidc/oidc/callback?${built}`)
    expect(title(done)).toBe('200 Signed in')
  })

  test('used again, at once or later, it changes nothing', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    const { confirm } = buttonsOf(await callback(anonymous, { state, code: provider.codeFor(login) }))

    const all = await Promise.all(Array.from({ length: 4 }, () => postForm(anonymous, confirm)))

    expect(all.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    expect(provider.tokenCalls.length).toBe(1)
    expect((await postForm(anonymous, confirm)).status).toBe(400)
    expect(await polled(anonymous, state)).toBe('ok')
    expect((await postForm(anonymous, confirm)).status).toBe(400)
  })

  test('no_code in a URL stands for nothing that was kept', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    // the person comes back, and the one who began the login tries to confirm in their place
    await callback(anonymous, { state, code: provider.codeFor(login) })

    const bait = buttonsOf(await callback(anonymous, { state, code: 'no_code', client_nonce: 'cn' }))
    await postForm(anonymous, bait.confirm)

    expect(await polled(anonymous, state)).toMatch(/^400 Vault login failed\. Error exchanging oidc code/)
  })

  test('an error beside the code of the person confirms nothing', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    for (let round = 0; round < 10; round++) {
      const { login, state } = await begin(anonymous)
      await Promise.all([
        callback(anonymous, { state, error: 'access_denied' }),
        callback(anonymous, { state, code: provider.codeFor(login) }),
      ])

      expect(await polled(anonymous, state)).not.toBe('ok')
    }
    expect(provider.tokenCalls).toEqual([])
  })

  test('a form of a provider is accepted only with form_post, and a page only from a login that asked', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    await writeRole(server, { ...directRole, callback_mode: 'client' })
    const ofClient = await begin(anonymous)

    expect((await postForm(anonymous, { state, code: provider.codeFor(login) })).status).toBe(405)
    const wrong = { confirmation: 'x' }
    expect((await postForm(anonymous, { ...wrong, state: ofClient.login.get('state') ?? '' })).status).toBe(
      405,
    )
    expect((await postForm(anonymous, { ...wrong, state: 'st_nonsense' })).text).toContain(
      'Expired or missing OAuth state.',
    )
  })
})

describe('a login that failed in the browser', () => {
  const flow = sharedFlow()
  const unknown = 'An unknown error occurred during OIDC authentication. Check server logs for details'
  type Failing = { query?: Record<string, string>; claims?: object; role?: object }
  test.each<[string, Failing, string]>([
    ['an error of the provider', { query: { error: 'access_denied' } }, 'access_denied'],
    ['an error in other letters', { query: { error: ' Server_Error' } }, unknown],
    ['an unknown error', { query: { error: '<b>zzz' } }, unknown],
    ['no code', { query: {} }, 'No code or id_token received.'],
    ['a foreign nonce', { claims: { nonce: 'n_other' } }, 'Error exchanging oidc code: '],
    [
      'a claim that is not bound',
      { claims: { team: 'y' }, role: { bound_claims: { team: 'x' } } },
      'error validating claims: ',
    ],
    ['another subject', { role: { bound_subject: 'eve' } }, 'sub claim does not match bound subject'],
  ])(
    'is told to the person and to one poll: %s',
    async (_what, { query, claims = {}, role: given = {} }, text) => {
      const { provider, server } = await flow({ ...directRole, ...given })
      const { anonymous } = server
      const { login, state } = await begin(anonymous)

      const shown =
        query === undefined
          ? await confirmed(anonymous, state, provider.codeFor(login, { claims }))
          : await callback(anonymous, { state, ...query })

      expect(title(shown)).toBe('400 Vault login failed.')
      expect(shown.text).toContain(text)
      expect(shown.text).not.toContain('<b>')
      expect(await polled(anonymous, state)).toContain(`400 Vault login failed. ${text}`)
      expect(await polled(anonymous, state)).toBe(lost)
    },
  )

  test('is told as a refusal if the person refused', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    const { refuse, confirm } = buttonsOf(await callback(anonymous, { state, code: provider.codeFor(login) }))

    expect(title(await postForm(anonymous, refuse))).toBe('200 The login was refused')

    expect((await postForm(anonymous, confirm)).status).toBe(400)
    expect(await polled(anonymous, state)).toBe(
      '400 Vault login failed. The login was refused in the browser.',
    )
    expect(await polled(anonymous, state)).toBe(lost)
    expect(provider.tokenCalls).toEqual([])
    expect((await failuresOf(server)).map(({ path, reason }) => `${path} ${reason}`).sort()).toEqual([
      'oidc/callback confirmation_denied',
      'oidc/callback confirmation_invalid',
      'oidc/poll confirmation_denied',
      'oidc/poll state_unknown',
    ])
  })

  test('is a refusal for the poll too if the provider could not be reached', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    const { confirm } = buttonsOf(await callback(anonymous, { state, code: provider.codeFor(login) }))
    provider.web.routes.delete('/.well-known/openid-configuration')
    await configure(server, provider, { skip_jwks_validation: true })

    const shown = await postForm(anonymous, confirm)

    expect(title(shown)).toBe('400 Vault login failed.')
    expect(shown.text).toContain('error getting provider for login operation: ')
    expect(await polled(anonymous, state)).toMatch(
      /^400 Vault login failed\. error getting provider for login operation: /,
    )
    expect(await polled(anonymous, state)).toBe(lost)
    expect((await failuresOf(server)).map(({ path, reason }) => `${path} ${reason}`)).toContain(
      'oidc/poll provider_unreachable',
    )
  })

  test('is explained, and the poll names the request in which it failed', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider, { oidc_disable_confirmation: true })
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    const shown = await callback(anonymous, {
      state,
      code: provider.codeFor(login, { claims: { nonce: 'n_other' } }),
    })
    await poll(anonymous, state)

    const [polled, returned] = (await failuresOf(server)).toSorted((one) =>
      one['path'] === 'oidc/poll' ? -1 : 1,
    )

    expect(returned).toMatchObject({
      path: 'oidc/callback',
      role: 'test',
      reason: 'nonce_mismatch',
      status: 400,
      request_id: shown.headers['x-gatehouse-request-id'],
    })
    expect(polled).toMatchObject({
      path: 'oidc/poll',
      role: 'test',
      reason: 'nonce_mismatch',
      detail: `it ended in the browser, in request ${shown.headers['x-gatehouse-request-id']}`,
    })
  })
})

describe('oidc/poll', () => {
  test('refuses an unknown state, no fields at all and other verbs', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server

    expect(await polled(anonymous, 'st_nonsense')).toBe(lost)
    expect(verdict(await anonymous.write('auth/oidc/oidc/poll', {}))).toBe(lost)
    expect(verdict(await anonymous.read('auth/oidc/oidc/poll'))).toBe('405 unsupported operation')
  })

  test('of another client ends the login, at the callback too', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)

    expect(await polled(anonymous, state, 'other')).toBe('400 invalid client_nonce')

    expect(await polled(anonymous, state)).toBe(lost)
    expect(verdict(await callback(anonymous, { state, code: provider.codeFor(login) }))).toBe(lost)
  })

  test('for a state of mode client waits, and leaves it to its callback', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider, { callback_mode: 'client' })
    const { anonymous } = server
    const { login } = await begin(anonymous)
    const state = String(login.get('state'))

    expect([await polled(anonymous, state), await polled(anonymous, state)]).toEqual([pending, pending])

    const code = provider.codeFor(login)
    expect(verdict(await callback(anonymous, { state, code, client_nonce: 'cn' }))).toBe('ok')
  })

  test('that has to wait is no refused login', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider, {}, { settings: { LOGIN_FAILURES: '3/1m' } })
    const { anonymous } = server
    const { login, state } = await begin(anonymous)

    const waits = []
    for (let asked = 0; asked < 8; asked++) waits.push(await polled(anonymous, state))

    expect(new Set(waits)).toEqual(new Set([pending]))
    expect(await failuresOf(server)).toEqual([])
    await confirmed(anonymous, state, provider.codeFor(login))
    expect(await polled(anonymous, state)).toBe('ok')
  })

  test('wraps the token if asked to', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    await confirmed(anonymous, state, provider.codeFor(login))

    const wrapped = await anonymous.call(
      'POST',
      'auth/oidc/oidc/poll',
      { state, client_nonce: 'cn' },
      { headers: { 'X-Vault-Wrap-TTL': '60' } },
    )

    expect(wrapped.body['wrap_info']).toMatchObject({ creation_path: 'auth/oidc/oidc/poll' })
  })
})

describe('oauth2_metadata', () => {
  const oauth2_metadata = ['access_token', 'id_token', 'refresh_token']

  test('in mode client, what the provider sent is metadata of the token, not of the alias', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider, { callback_mode: 'client', oauth2_metadata })
    const { login } = await begin(server.anonymous)
    const code = provider.codeFor(login)

    const answer = await callback(server.anonymous, { state: login.get('state'), code, client_nonce: 'cn' })

    expect(answer.body.auth?.['metadata']).toEqual({
      role: 'test',
      oauth2_access_token: `at-${code}`,
      oauth2_id_token: expect.stringMatching(/^ey/),
    })
    const entity = await server.root.read(`identity/entity/id/${answer.body.auth?.['entity_id']}`)
    expect(JSON.stringify(entity.body.data)).not.toContain('oauth2_')
  })

  test('in mode direct, it waits for the poll', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider, { oauth2_metadata, claim_mappings: { team: 'team' } })
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    await confirmed(
      anonymous,
      state,
      provider.codeFor(login, { claims: { team: 'x' }, more: { refresh_token: 'rt' } }),
    )

    const { auth } = (await poll(anonymous, state)).body

    expect(auth?.['metadata']).toMatchObject({ role: 'test', team: 'x', oauth2_refresh_token: 'rt' })
    expect(Object.keys(Object(auth?.['metadata'])).sort()).toEqual([
      'oauth2_access_token',
      'oauth2_id_token',
      'oauth2_refresh_token',
      'role',
      'team',
    ])
  })

  test('in mode device too', async () => {
    await using provider = await startSmallProvider()
    await using server = await withDevice(provider, { oauth2_metadata: 'refresh_token' })
    const { state } = await begin(server.anonymous)
    provider.deviceError = ''

    expect((await poll(server.anonymous, state)).body.auth?.['metadata']).toEqual({
      role: 'test',
      oauth2_refresh_token: 'rt-device-1',
    })
  })

  test('is hashed in the audit log, in the answer and of the caller; the page of a browser is a status there', async () => {
    await using provider = await startSmallProvider()
    await using folder = await temporaryFolder()
    await using server = await withDirect(
      provider,
      { oauth2_metadata },
      { settings: { AUDIT_DIRS: folder.path } },
    )
    const { anonymous } = server
    const audit = await enableAuditFile(server.root, folder.file('audit.log'))
    const { login, state } = await begin(anonymous)
    const code = provider.codeFor(login, { more: { refresh_token: 'rt-of-bob' } })
    const { confirm } = buttonsOf(await callback(anonymous, { state, code }))

    const [, confirmedEntry] = await audit.during(() => postForm(anonymous, confirm))
    let token = ''
    const [, polledEntry] = await audit.during(async () => {
      token = String((await poll(anonymous, state)).body.auth?.['client_token'])
    })
    const [asked] = await audit.during(() => server.as(token).read('auth/token/lookup-self'))

    const hashes = { oauth2_id_token: expect.stringMatching(/^hmac-sha256:/), role: 'test' }
    expect(confirmedEntry).toMatchObject({ response: { data: { http_status_code: 200 } } })
    expect(JSON.stringify(confirmedEntry?.['response'])).not.toContain('Signed in')
    expect(polledEntry).toMatchObject({ response: { auth: { metadata: hashes } } })
    expect(asked).toMatchObject({ auth: { metadata: hashes } })
    const secrets = [code, `at-${code}`, 'rt-of-bob', confirm['confirmation'] ?? '', state]
    for (const secret of [...secrets, 'eyJ']) expect(audit.text()).not.toContain(secret)
  })
})
