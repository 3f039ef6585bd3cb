import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Json } from '../../../support/client.ts'
import { errors } from '../../../support/error-bodies.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import {
  begin,
  callback,
  logIn,
  redirectUri,
  startSmallProvider,
  withFlow,
  writeRole,
} from '../oidc/small-provider.ts'
import { checksOf } from './checks.ts'
import { type LoginFixture, openLoginFixture, readerOf } from './fixture.ts'

const unknown =
  'no failure of this request is kept here: they are kept in memory, by the server that refused, and the oldest go'

describe('explain by the request id of a refused login by JWT', () => {
  let fixture: LoginFixture
  beforeAll(async () => {
    fixture = await openLoginFixture()
  })
  afterAll(() => fixture[Symbol.asyncDispose]())

  const idOf = (body: Json) => String(body['request_id'])
  const without = (data: Json | undefined) => ({
    ...data,
    request_id: '',
    time: '',
    path: '',
    remote_address: '',
    report: '',
    clock: null,
    now: '',
    now_checks: [],
  })

  test.each([
    ['a wrong audience', { aud: 'Gatehouse', repository: 'acme/other' }, {}],
    ['a token that is too old', { iat: 1, exp: 2 }, {}],
    ['a policy it must not get', {}, { token_policies: ['root'] }],
    ['a user claim that is missing', {}, { user_claim: 'email' }],
  ])('returns the trace that the token would give: %s', async (_what, over, role) => {
    const mount = await fixture.mount({ role })
    const jwt = await fixture.sign(over)
    const refused = await fixture.login(mount, { jwt })

    const byToken = (await fixture.explain(mount, { jwt })).body['data']
    const byRequest = (await fixture.root.write(`auth/${mount}/explain`, { request_id: idOf(refused.body) }))
      .body['data']

    expect(byRequest).toMatchObject({
      path: 'login',
      remote_address: '127.0.0.1',
      request_id: idOf(refused.body),
      allowed: false,
      login: null,
    })
    const isCore = String(byToken?.['reason']) === 'policy_forbidden'
    // the clock advances, and the login may not have reached the checks of the core
    const changing: Readonly<Record<string, object>> = {
      times: { expected: [] },
      ...(!isCore && { entity: { verdict: '' }, policies: { verdict: '' } }),
    }
    const shown = (data: Json | undefined) =>
      checksOf(data).map((check) => ({ ...check, ...changing[check.name] }))
    expect(shown(byRequest)).toEqual(shown(byToken))
    expect({ ...without(byRequest), checks: [] }).toEqual({ ...without(byToken), checks: [] })
  })

  test('the values of a token are not in the list of failures for callers who may not use explain', async () => {
    const mount = await fixture.mount()
    const refused = await fixture.login(mount, { jwt: await fixture.sign({ aud: 'hunter2' }) })

    const reader = await readerOf(fixture, mount, ['failures', 'config', 'role/ci'])
    const list = await reader.read(`auth/${mount}/failures`)
    const explained = await fixture.root.write(`auth/${mount}/explain`, { request_id: idOf(refused.body) })

    expect(list.text).not.toContain('hunter2')
    expect(list.body['data']?.['failures']).toMatchObject([
      { check: 'audience', expected: ['gatehouse'], seen: null, hint: '', detail: 'aud' },
    ])
    expect(checksOf(explained.body['data']).find(({ verdict }) => verdict === 'fail')).toMatchObject({
      seen: ['hunter2'],
    })
  })

  test('of a long token, only the refusing check is recorded', async () => {
    const mount = await fixture.mount()
    const groups = Array.from({ length: 5_000 }, (_, at) => `group-${at}`)
    const refused = await fixture.login(mount, { jwt: await fixture.sign({ aud: 'x', groups }) })

    const explained = await fixture.root.write(`auth/${mount}/explain`, { request_id: idOf(refused.body) })

    expect(checksOf(explained.body['data'])).toEqual([
      expect.objectContaining({ name: 'audience', verdict: 'fail', reason: 'audience_mismatch', seen: null }),
    ])
  })

  test('for very many refusals in a row, only the refusing check is recorded', async () => {
    const clock = new FakeClock()
    await using quick = await openLoginFixture({ clock })
    const mount = await quick.mount()
    const jwt = await quick.sign({ aud: 'x' })
    const checksOfNext = async () => {
      const refused = await quick.login(mount, { jwt })
      return checksOf(
        (await quick.root.write(`auth/${mount}/explain`, { request_id: idOf(refused.body) })).body['data'],
      )
    }
    for (let time = 0; time < 200; time++) await quick.login(mount, { jwt })

    expect(await checksOfNext()).toEqual([
      {
        name: 'audience',
        verdict: 'fail',
        reason: 'audience_mismatch',
        expected: [],
        seen: null,
        hint: '',
        detail: '',
      },
    ])
    clock.advance(1)
    expect((await checksOfNext()).length).toBeGreaterThan(10)
  })

  test('a signature is not checked again, and the token is not kept', async () => {
    const mount = await fixture.mount({
      config: { jwt_validation_pubkeys: [fixture.issuer.publicKeyPem('ES256')] },
    })
    const jwt = await fixture.sign({ aud: 'x' })
    const refused = await fixture.login(mount, { jwt })

    const { text, body } = await fixture.root.write(`auth/${mount}/explain`, {
      request_id: idOf(refused.body),
    })

    const failed = checksOf(body['data']).filter(({ verdict }) => verdict === 'fail')
    expect(failed.map(({ name }) => name)).toEqual(['signature', 'audience'])
    for (const part of jwt.split('.')) expect(text).not.toContain(part)
  })

  test('an unknown id, one of another mount and a missing one are refused', async () => {
    const [mount, other] = [await fixture.mount(), await fixture.mount()]
    const refused = await fixture.login(other, { jwt: 'x' })

    for (const request_id of ['6f7b9d4e-7b0a-4a51-8a54-0f6a3f0c9f11', idOf(refused.body), '']) {
      expect(await fixture.root.write(`auth/${mount}/explain`, { request_id })).toMatchObject({
        status: 404,
        body: errors(unknown),
      })
    }
    expect(await fixture.root.write(`auth/${mount}/explain`, { request_id: 'x', jwt: 'y' })).toMatchObject({
      status: 400,
      body: errors("'request_id' stands in place of 'jwt' and 'claims': set only one of them"),
    })
  })

  test('an unknown role name is shown only if it is nearly the name of a role', async () => {
    const mount = await fixture.mount({ roleName: 'deploy' })
    const seenOf = async (role: string) => {
      const refused = await fixture.login(mount, { role, jwt: 'x' })
      const { data } = (await fixture.root.write(`auth/${mount}/explain`, { request_id: idOf(refused.body) }))
        .body
      return checksOf(data).find(({ verdict }) => verdict === 'fail')
    }

    expect(await seenOf('deplyo')).toMatchObject({ expected: ['deploy'], seen: 'deplyo' })
    expect(await seenOf('my secret password')).toMatchObject({
      expected: ['deploy'],
      seen: expect.stringMatching(/^hmac-sha256:/),
    })
  })

  test('names of roles that the caller may not read are no suggestions', async () => {
    const mount = await fixture.mount({ roleName: 'deploy' })
    await fixture.root.write(`auth/${mount}/role/deplay`, {
      user_claim: 'sub',
      role_type: 'jwt',
      bound_audiences: 'x',
    })
    await fixture.root.write('sys/policies/acl/of-one', {
      policy: `path "auth/${mount}/*" { capabilities = ["read", "update"] }
        path "auth/${mount}/role/deploy" { capabilities = ["deny"] }`,
    })
    const made = await fixture.root.write('auth/token/create', { policies: ['of-one'] })
    const reader = fixture.server.as(String(made.body.auth?.client_token))
    const refused = await fixture.login(mount, { role: 'deplyo', jwt: 'x' })

    const tried = await reader.write(`auth/${mount}/explain`, { role: 'deplyo', claims: {} })
    const found = await reader.write(`auth/${mount}/explain`, { request_id: idOf(refused.body) })
    const list = await reader.read(`auth/${mount}/failures`)

    for (const { status, text } of [tried, found, list]) {
      expect(status).toBe(200)
      expect(text).not.toContain('deploy')
      expect(text).toContain('deplay')
    }
  })

  test('the record of one login is limited in size', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [
        `claim${at}`,
        Array.from({ length: 8 }, () => 'v'.repeat(300)),
      ]),
    )
    const mount = await fixture.mount({ role: { bound_claims: many } })
    const refused = await fixture.login(mount, { jwt: await fixture.sign({ claim0: 'x'.repeat(20_000) }) })

    const { body } = await fixture.root.write(`auth/${mount}/explain`, { request_id: idOf(refused.body) })

    expect(JSON.stringify(body['data']?.['checks']).length).toBeLessThan(16_384)
    const failed = checksOf(body['data']).find(({ verdict }) => verdict === 'fail')
    expect(failed).toMatchObject({ name: 'bound_claims', detail: 'claim0', seen: 'x'.repeat(256) })
  })
})

describe('explain by the request id of a refused browser login', () => {
  test('everything that is wrong is named at once, in the order of the login', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      role: { user_claim: 'email', groups_claim: 'teams', bound_claims: { dept: 'ops', sub: 'bob' } },
    })
    const refused = await logIn(server, provider, { dept: 'Ops' })

    const { data } = (await server.root.write('auth/oidc/explain', { request_id: refused.body.request_id }))
      .body

    expect(data).toMatchObject({
      allowed: false,
      status: 400,
      error: refused.body.errors?.[0],
      reason: 'user_claim_missing',
      role: 'test',
      path: 'oidc/callback',
    })
    expect(checksOf(data).map(({ name, verdict }) => `${name} ${verdict}`)).toEqual([
      ...[
        'config pass',
        'state pass',
        'client_nonce pass',
        'role pass',
        'address pass',
        'provider pass',
        'code pass',
        'exchange pass',
      ],
      ...[
        'claims pass',
        'issuer pass',
        'times pass',
        'algorithm pass',
        'signature pass',
        'nonce pass',
        'audience pass',
        'subject pass',
      ],
      ...[
        'userinfo skipped',
        'user_claim fail',
        'provider pass',
        'metadata pass',
        'groups fail',
        'bound_claims fail',
        'bound_claims pass',
      ],
      ...['entity skipped', 'policies skipped'],
    ])
  })

  test('no directory is asked after a refusal', async () => {
    await using provider = await startSmallProvider()
    const config = { provider_config: { provider: 'azure' } }
    await using server = await withFlow(provider, {
      config,
      role: { user_claim: 'email', groups_claim: 'groups' },
    })
    let asked = 0
    provider.web.routes.set('/groups', (answer) => {
      asked += 1
      answer.end('{"value":["a"]}')
    })
    const elsewhere = {
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint: `${provider.url}/groups` } },
    }

    const refused = await logIn(server, provider, elsewhere)
    const { data } = (await server.root.write('auth/oidc/explain', { request_id: refused.body.request_id }))
      .body

    expect(data).toMatchObject({ reason: 'user_claim_missing' })
    expect(asked).toBe(0)
    expect(checksOf(data).filter(({ name }) => name === 'groups')).toMatchObject([{ verdict: 'skipped' }])
  })

  test("a provider's posted error is shown at the poll, and text from the URL is truncated", async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config: { oidc_response_mode: 'form_post' } })
    const login = await begin(server.anonymous)
    const state = login.get('state')
    await server.anonymous.write('auth/oidc/oidc/callback', {
      state,
      error: 'access_denied',
      error_description: 'd'.repeat(5000),
    })
    const refused = await callback(server.anonymous, { state, code: 'no_code' })

    const { data } = (await server.root.write('auth/oidc/explain', { request_id: refused.body.request_id }))
      .body

    const failed = checksOf(data).find(({ verdict }) => verdict === 'fail')
    expect(failed).toMatchObject({ reason: 'provider_refused', seen: ['access_denied', 'd'.repeat(1024)] })
  })

  test('names a role that was deleted during the login', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const login = await begin(server.anonymous)
    await server.root.delete('auth/oidc/role/test')
    await server.root.write('auth/oidc/role/test2', { user_claim: 'sub', allowed_redirect_uris: redirectUri })

    const refused = await callback(server.anonymous, {
      state: login.get('state'),
      code: provider.codeFor(login),
    })

    const { data } = (await server.root.write('auth/oidc/explain', { request_id: refused.body.request_id }))
      .body
    expect(checksOf(data).find(({ verdict }) => verdict === 'fail')).toMatchObject({
      reason: 'role_unknown',
      expected: ['test2'],
      seen: 'test',
    })
  })

  test('the trace shows the moment of the login, and a later change of the role does not affect it', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { role: { bound_claims: { dept: 'ops' } } })
    const refused = await logIn(server, provider, { dept: 'dev' })
    const explained = async () =>
      (await server.root.write('auth/oidc/explain', { request_id: refused.body.request_id })).body.data
    const before = await explained()
    await writeRole(server, { bound_claims: { dept: 'dev' } })

    expect(before?.['proposals']).toMatchObject([{ fields: { bound_claims: { dept: ['ops', 'dev'] } } }])
    expect(before?.['now']).toBe('refused')
    expect(before?.['now_checks']).toContainEqual({
      name: 'bound_claims',
      verdict: 'fail',
      reason: 'bound_claim_mismatch',
    })
    // the change that was proposed is there
    const after = await explained()
    expect(after).toEqual({ ...before, now: 'allowed', now_checks: after?.['now_checks'], proposals: [] })
    expect(after?.['now_checks']).toContainEqual({ name: 'bound_claims', verdict: 'pass', reason: '' })
    expect((await logIn(server, provider, { dept: 'dev' })).status).toBe(200)
  })
})
