import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ExplainedCheck } from '../../../../src/logins/explain/explained.ts'
import { reportOf, wantsText } from '../../../../src/logins/explain/report.ts'
import type { Json } from '../../../support/client.ts'
import { errors } from '../../../support/error-bodies.ts'
import { logIn, startSmallProvider, withFlow } from '../oidc/small-provider.ts'
import { type LoginFixture, openLoginFixture } from './fixture.ts'

describe('explain for people', () => {
  let fixture: LoginFixture
  beforeAll(async () => {
    fixture = await openLoginFixture()
  })
  afterAll(() => fixture[Symbol.asyncDispose]())

  const asText = { headers: { Accept: 'text/plain' } }

  test('the report on a refused token names cause, both sides and advice in about twenty lines', async () => {
    const mount = await fixture.mount({
      role: { bound_claims: { repository: 'acme/shop', ref: 'refs/heads/main' } },
    })
    const jwt = await fixture.sign({ aud: 'Gatehouse', ref: 'refs/heads/feature' })

    const answer = await fixture.root.write(`auth/${mount}/explain`, { role: 'ci', jwt }, asText)

    expect(answer).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8', vary: expect.stringContaining('Accept') },
    })
    const lines = answer.text.split('\n')
    expect(lines[0]).toBe(`auth/${mount}/: the login of role "ci" is refused: audience_mismatch (400)`)
    expect(lines[1]).toMatch(/^error {9}error validating token: invalid audience/)
    const at = lines.indexOf('FAIL  audience: audience_mismatch (aud)')
    expect(lines.slice(at + 1, at + 4).map((line) => line.trim().replace(/ +/g, ' '))).toEqual([
      'expected "gatehouse"',
      'seen "Gatehouse"',
      'hint differs_in_case: differs only in case',
    ])
    expect(answer.text).toContain('FAIL  bound_claims: bound_claim_mismatch (ref)')
    expect(lines.at(-2)).toMatch(/^What to do: Request a token with exactly this audience/)
    expect(lines.length).toBeGreaterThan(15)
    expect(lines.length).toBeLessThan(35)
    for (const part of jwt.split('.')) expect(answer.text).not.toContain(part)
  })

  test('the report describes an allowed login, and claims that are only tried', async () => {
    const mount = await fixture.mount()

    const allowed = await fixture.root.write(
      `auth/${mount}/explain`,
      { role: 'ci', jwt: await fixture.sign() },
      asText,
    )
    const tried = await fixture.root.write(
      `auth/${mount}/explain`,
      { role: 'ci', claims: fixture.claims({ aud: 'x' }) },
      asText,
    )

    expect(allowed.text).toMatch(/^auth\/\w+\/: the login of role "ci" is allowed\n/)
    expect(allowed.text).not.toMatch(/FAIL|What to do/)
    expect(tried.text).toContain('skip  token, signature, algorithm\n')
  })

  test('the JSON response has the same report as a field, for `vault write -field=report`', async () => {
    const mount = await fixture.mount()
    const claims = fixture.claims({ aud: 'x' })

    const { body, headers } = await fixture.root.write(`auth/${mount}/explain`, { role: 'ci', claims })
    const text = (await fixture.root.write(`auth/${mount}/explain`, { role: 'ci', claims }, asText)).text

    const withoutClock = (report: string) => report.replaceAll(/now [^"]*/g, 'now')
    expect(withoutClock(String(body['data']?.['report']))).toBe(withoutClock(text))
    expect(headers['content-type']).toBe('application/json')
  })

  test('`vault read -field=report` returns the report of a refused login, and accepts no token in the URL', async () => {
    const mount = await fixture.mount()
    const refused = await fixture.login(mount, { jwt: await fixture.sign({ aud: 'x' }) })
    const path = `auth/${mount}/explain?request_id=${String(refused.body['request_id'])}`

    const read = await fixture.root.read(path)
    const plain = await fixture.root.read(path, asText)
    const withToken = await fixture.root.read(`auth/${mount}/explain?role=ci&jwt=a.b.c`)

    expect(plain.text).toBe(String(read.body['data']?.['report']))
    expect(plain.text).toContain(String(refused.body['request_id']))
    expect(withToken).toMatchObject({
      status: 400,
      body: errors("'jwt' does not belong in a URL: send it in the body of a POST"),
    })
  })

  test('a caller who may neither read nor update explain gets no report', async () => {
    const mount = await fixture.mount()

    expect((await fixture.server.anonymous.read(`auth/${mount}/explain?request_id=x`, asText)).status).toBe(
      403,
    )
    expect((await fixture.server.anonymous.write(`auth/${mount}/explain`, {}, asText)).status).toBe(403)
  })

  test('a refusal of the request itself stays JSON', async () => {
    const mount = await fixture.mount()

    expect(await fixture.root.write(`auth/${mount}/explain`, {}, asText)).toMatchObject({
      status: 400,
      body: errors("exactly one of 'jwt' and 'claims' must be set"),
    })
  })

  test('a wrapped response is JSON', async () => {
    const mount = await fixture.mount()
    const headers = { Accept: 'text/plain', 'X-Vault-Wrap-TTL': '60' }

    const wrapped = await fixture.root.write(`auth/${mount}/explain`, { role: 'ci', jwt: 'x' }, { headers })
    const info: Json | undefined = wrapped.body['wrap_info']
    const inside = await fixture.server.as(String(info?.['token'])).write('sys/wrapping/unwrap')

    expect(String(inside.body['data']?.['report'])).toContain('is refused: token_malformed')
  })
})

test('the report describes a refused browser login', async () => {
  await using provider = await startSmallProvider()
  await using server = await withFlow(provider, { role: { groups_claim: 'groups' } })
  const refused = await logIn(server, provider, { roles: ['dev'] })

  const { text } = await server.root.read(`auth/oidc/explain?request_id=${String(refused.body.request_id)}`, {
    headers: { Accept: 'text/plain' },
  })

  expect(text).toMatch(/^auth\/oidc\/: the login of role "test" is refused: groups_unavailable \(400\)\n/)
  expect(text).toContain(' to oidc/callback from 127.0.0.1\n')
  expect(text).toMatch(
    /FAIL {2}groups: groups_unavailable \(groups; userinfo was left out: answered 404\)\n +expected +"groups"\n +seen +.*"roles"\n/,
  )
  expect(text).toMatch(/What to do: Let the provider send the claim/)
  expect(text.split('\n').length).toBeLessThan(35)
})

const failing = { name: 'groups', verdict: 'fail', reason: 'groups_invalid', hint: '' } as const

test('no foreign text ends a line or controls the terminal', () => {
  const hostile = '\u001b[2J\u001b]0;x\u0007\r\nok    all is well\u009b31m\u202e'
  const check: ExplainedCheck = { ...failing, expected: [hostile], seen: [hostile, hostile], detail: hostile }
  const login = {
    allowed: false,
    status: 400,
    reason: 'groups_invalid',
    error: hostile,
    cause: `${hostile}!`,
    role: hostile,
    clock: null,
    checks: [check],
  }

  const report = reportOf({ ...login, request_id: hostile, remote_address: hostile }, 'auth/oidc/')

  expect(report).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
  expect(report.split('\n').filter((line) => line.startsWith('ok'))).toEqual([])
})

test.each<[string | undefined, boolean]>([
  [undefined, false],
  ['*/*', false],
  ['application/json', false],
  ['text/plain', true],
  ['Text/Plain; charset=utf-8', true],
  ['text/plain, */*;q=0.1', true],
  ['application/json, text/plain', false],
  ['application/json;q=0.5, text/plain;q=0.9', true],
  ['text/plain;q=0', false],
  ['text/html', false],
  [`text/plain,${'x'.repeat(5000)}`, false],
])('Accept %s prefers plain text: %s', (accept, wanted) => {
  expect(wantsText(accept)).toBe(wanted)
})
