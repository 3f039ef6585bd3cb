import { expect, test } from 'vitest'
import { readCelRole } from '../../../../src/plugins/jwt-auth/cel/cel-role.ts'
import { lintCelRole } from '../../../../src/plugins/jwt-auth/explain/lint-cel.ts'
import type { Json } from '../../../support/client.ts'
import { inlineLogin } from '../../../support/jwt-desk.ts'
import { shared } from '../../../support/shared.ts'
import { aProgram, now, openDesk, someClaims, type Written } from './desk.ts'

const sharedDesk = shared(() => openDesk())
const program = {
  variables: { person: '"person:" + claims.sub', level: 'claims.level', text: 'person + "!"' },
  expression:
    'claims.sub == "joe" ? pb.Auth{policies: ["app"], alias: logical.Alias{name: person}} : "only joe"',
}
const short = (checks: Json | undefined) =>
  (checks as unknown as { name: string; verdict: string; seen: unknown }[]).map(
    ({ name, verdict, seen }) => [name, verdict, seen] as const,
  )
const onlyCel = (checks: Json | undefined) =>
  short(checks).filter(([name]) => /^(variable:|program|auth$)/.test(name))

test('explain shows each variable, the result and what it gives', async () => {
  const { root, write, jwt } = await sharedDesk()
  await write('shop', program)
  const explain = async (body: object) => (await root.write('auth/jwt/explain', body)).body.data

  const allowed = await explain({ role: 'shop', cel: true, jwt: jwt({ level: 3 }) })
  expect(allowed).toMatchObject({ allowed: true, role: 'shop', login: { alias: { name: 'person:joe' } } })
  expect(onlyCel(allowed?.checks)).toEqual([
    ['variable:person', 'pass', '"person:joe"'],
    ['variable:level', 'pass', '3'],
    ['variable:text', 'pass', '"person:joe!"'],
    ['program', 'pass', 'auth'],
    ['auth', 'pass', null],
  ])
  expect(short(allowed?.checks).map(([name]) => name)).toEqual([
    'config',
    'role',
    'token',
    'signature',
    'algorithm',
    'claims',
    'issuer',
    'times',
    'variable:person',
    'variable:level',
    'variable:text',
    'program',
    'auth',
    'entity',
    'policies',
  ])

  // a variable that fails does not keep later ones from being tried
  const failed = await explain({ role: 'cel/shop', claims: { sub: 'joe' } })
  expect(failed).toMatchObject({
    allowed: false,
    reason: 'cel_error',
    error:
      'error executing cel program: CEL auth program failed: failed to evaluate variables: variable[1].level: no such key: level',
  })
  expect(onlyCel(failed?.checks)).toEqual([
    ['variable:person', 'pass', '"person:joe"'],
    ['variable:level', 'fail', 'no such key: level'],
    ['variable:text', 'pass', '"person:joe!"'],
    ['program', 'skipped', null],
    ['auth', 'skipped', null],
  ])
  expect(
    short(failed?.checks)
      .filter(([, verdict]) => verdict === 'skipped')
      .map(([name]) => name),
  ).toEqual(['token', 'signature', 'algorithm', 'times', 'program', 'auth', 'entity', 'policies'])

  const refused = await explain({
    role: 'shop',
    cel: true,
    claims: { sub: 'ann', level: 1, exp: now(-1000) },
  })
  expect(refused).toMatchObject({ allowed: false, reason: 'expired' })
  const told = await explain({ role: 'shop', cel: true, claims: { sub: 'ann', level: 1 } })
  expect(told).toMatchObject({ allowed: false, reason: 'cel_message' })
  expect(onlyCel(told?.checks)).toContainEqual(['program', 'fail', 'message: only joe'])
})

test('explain needs the right to read the CEL role', async () => {
  const { root, server, write } = await sharedDesk()
  await write('secret', program)
  const as = async (...paths: string[]) => {
    const rule = (capability: string) => ({ capabilities: [capability] })
    const path = Object.fromEntries(paths.map((each) => [each, rule('read')]))
    await root.write('sys/policies/acl/asks', {
      policy: JSON.stringify({ path: { ...path, 'auth/jwt/*': rule('update') } }),
    })
    const token = await root.write('auth/token/create', { policies: ['asks'] })
    const asking = server.as(String(token.body.auth?.client_token))
    return (await asking.write('auth/jwt/explain', { role: 'cel/secret', claims: { sub: 'joe' } })).status
  }

  expect(await as('auth/jwt/config', 'auth/jwt/role/secret')).toBe(403)
  expect(await as('auth/jwt/config', 'auth/jwt/cel/role/secret')).toBe(200)
})

test.each([
  { given: 'false', reason: 'cel_denied', check: 'program' },
  { given: '"secret-text-" + claims.team', reason: 'cel_message', check: 'program' },
  { given: 'claims.nope == 1', reason: 'cel_error', check: 'program' },
  { given: 'true', reason: 'cel_type', check: 'program' },
  { given: 'pb.Auth{num_uses: -1}', reason: 'cel_auth_invalid', check: 'auth' },
  {
    given: { expression: 'false', variables: { ok: '1', bad: 'claims.nope' } },
    reason: 'cel_error',
    check: 'variable:bad',
  },
])(
  'a refusal of $given is kept as $reason, with its subject and no other claim',
  async ({ given, reason, check }) => {
    await using desk = await openDesk()
    const { root, judge } = desk
    const answer = await judge(given, { sub: 'joe', team: 'claim-of-joe' })
    const failures = await root.read('auth/jwt/failures')
    const explained = await root.read(`auth/jwt/explain?request_id=${String(answer.body.request_id)}`)

    expect(failures.body.data?.failures).toMatchObject([
      {
        path: 'cel/login',
        role: 'r',
        reason,
        check,
        status: 400,
        verified: true,
        subject: 'joe',
        request_id: answer.body.request_id,
      },
    ])
    expect(explained.body.data).toMatchObject({ allowed: false, reason, path: 'cel/login' })
    const verdicts = short(explained.body.data?.checks).map(([name, verdict]) => [name, verdict])
    expect(verdicts).toContainEqual([check, 'fail'])
    expect(verdicts.filter(([, verdict]) => verdict === 'fail')).toHaveLength(1)
    expect(failures.text).not.toContain('secret-text-')
    expect(failures.text + explained.text).not.toContain('claim-of-joe')
  },
)

test('a refusal before the program is explained as that of any role', async () => {
  await using desk = await openDesk()
  const { root, write, login } = desk
  await write('r', { expression: 'false' }, { bound_audiences: ['other'] })
  await login('r')
  await login('nope')

  expect((await root.read('auth/jwt/failures')).body.data?.failures).toMatchObject([
    { path: 'cel/login', reason: 'role_unknown', check: 'role' },
    { path: 'cel/login', reason: 'audience_mismatch', check: 'audience', expected: ['other'] },
  ])
})

test.each([
  {
    body: { cel_program: aProgram(program), claims: { sub: 'joe', level: 1 } },
    data: {
      valid: true,
      error: '',
      variables: [
        { name: 'person', value: '"person:joe"', error: '' },
        { name: 'level', value: '1', error: '' },
        { name: 'text', value: '"person:joe!"', error: '' },
      ],
      result: { kind: 'auth', value: { policies: ['app'], alias: { name: 'person:joe' } } },
    },
  },
  {
    body: { cel_program: { expression: 'now' }, claims: {}, now: '2024-01-02T03:04:05Z' },
    data: { valid: true, result: { kind: 'type', value: 'types.Timestamp' } },
  },
  {
    body: { cel_program: { expression: 'string(now)' }, claims: {}, now: '2024-01-02T03:04:05Z' },
    data: { valid: true, result: { kind: 'message', value: '2024-01-02T03:04:05Z' } },
  },
  {
    body: { cel_program: { expression: 'false' }, claims: {} },
    data: { result: { kind: 'denied', value: false } },
  },
  {
    body: { cel_program: { expression: 'claims.x' }, claims: {} },
    data: { valid: true, result: { kind: 'error', value: 'failed to evaluate expression: no such key: x' } },
  },
  {
    body: { cel_program: { expression: 'nope' }, claims: {} },
    data: {
      valid: false,
      error:
        "error type-checking CEL MainProgram: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')",
      variables: [],
      result: null,
    },
  },
  { body: {}, data: { valid: false, error: "missing required field 'cel_program'" } },
])('a try of $body is $data', async ({ body, data }) => {
  const { root } = await sharedDesk()
  const answer = await root.write('auth/jwt/cel/try', body)

  expect(answer.status).toBe(200)
  expect(answer.body.data).toMatchObject(data)
})

test('a try of claims that no JWT may have is not one of none', async () => {
  const { root } = await sharedDesk()
  const claims = { deep: JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) }
  const body = { cel_program: { expression: 'pb.Auth{policies: ["app"]}' }, claims }

  expect((await root.write('auth/jwt/cel/try', body)).body.data).toMatchObject({
    valid: false,
    error: 'these claims would be no JWT',
  })
})

test('a try needs a right of its own, and stores nothing', async () => {
  await using desk = await openDesk()
  const body = { cel_program: { expression: 'false' }, claims: {} }

  expect((await desk.server.anonymous.write('auth/jwt/cel/try', body)).status).toBe(403)
  expect((await desk.root.write('auth/jwt/cel/try', body)).status).toBe(200)
  expect((await desk.root.list('auth/jwt/cel/role')).status).toBe(404)
})

const alias = 'alias: logical.Alias{name: claims.sub}'
const sound = `claims.iss == "x" && claims.aud == "y" ? pb.Auth{${alias}} : false`
test.each<{ code: string; given: Written }>([
  { code: 'cel_no_audience', given: { expression: `claims.iss == "x" ? pb.Auth{${alias}} : false` } },
  { code: 'cel_no_issuer', given: { expression: `claims.aud == "x" ? pb.Auth{${alias}} : false` } },
  { code: 'cel_no_alias', given: { expression: 'claims.iss == "x" && has(claims.aud) ? pb.Auth{} : false' } },
  {
    code: 'cel_always_allows',
    given: {
      expression: `claims.iss + claims["aud"] == "x" ? a : pb.Auth{${alias}}`,
      variables: { a: `pb.Auth{${alias}}` },
    },
  },
  {
    code: 'cel_unknown_function',
    given: { expression: `h == 1 ? (${sound}) : false`, variables: { h: 'true ? 1 : hex(1)' } },
  },
  { code: 'cel_unused_variable', given: { expression: sound, variables: { h: '1' } } },
  { code: 'cel_small_ttl', given: { expression: sound.replace(alias, `${alias}, period: 60`) } },
  { code: 'cel_no_effect', given: { expression: sound.replace(alias, `${alias}, entity_id: "x"`) } },
  {
    code: 'policy_missing',
    given: { expression: sound.replace(alias, `${alias}, policies: ["default"] + ["gone"]`) },
  },
  { code: 'unbounded_alias', given: { expression: sound.replace('claims.sub', 'claims.jti') } },
])('the linter finds $code', async ({ code, given }) => {
  const { root, write } = await sharedDesk()
  const lint = async () => (await root.read('auth/jwt/lint?role=cel/lint')).body.data?.findings
  const written = await write('lint', given)

  expect(written.status).toBe(200)
  expect(await lint()).toMatchObject([{ role: 'cel/lint', code }])
  await write('lint', { expression: sound })
  expect(await lint()).toEqual([])
})

test('the linter finds a stored program that is not accepted any more', async () => {
  const role = readCelRole('old', { cel_program: { expression: '1 +' }, bound_audiences: ['gate'] })
  const context = { config: undefined, tokenType: undefined, policyExists: () => Promise.resolve(true) }

  expect(await lintCelRole(role, context)).toEqual([
    {
      role: 'cel/old',
      code: 'cel_invalid_program',
      field: 'cel_program',
      text: expect.stringContaining('invalid CEL syntax for main expression: ERROR: <input>:1:4: '),
    },
  ])
})

test.each([
  { policies: '["gone"]', missing: ['gone'] },
  {
    policies: 'claims.a ? ["one"] : claims.b ? ["two"] + claims.c : ["default", "three"]',
    missing: ['one', 'three', 'two'],
  },
  { policies: '[claims.a ? "one" : "two"]', missing: ['one', 'two'] },
  { policies: 'claims.sub in ["joe"] ? ["default"] : []', missing: [] },
  { policies: '["default"].filter(p, p in ["joe"])', missing: [] },
  { policies: '["team-" + claims.team, claims.x == "a" ? "default" : "b" + claims.y]', missing: [] },
  { policies: 'claims.l.map(p, ["a", p].join("-"))', missing: [] },
])('of the policies $policies, $missing are missing', async ({ policies, missing }) => {
  const { root, write } = await sharedDesk()
  await write('lint', { expression: sound.replace(alias, `${alias}, policies: ${policies}`) })
  const { findings } = (await root.read('auth/jwt/lint?role=cel/lint')).body.data ?? {}

  expect(findings).toEqual(
    missing.length === 0
      ? []
      : [
          expect.objectContaining({
            code: 'policy_missing',
            text: expect.stringContaining(`[${missing.join(' ')}]`),
          }),
        ],
  )
})

test('the linter names repeated variables, and looks at CEL roles with all others', async () => {
  await using desk = await openDesk()
  const { root } = desk
  const variables = [
    { name: 'a', expression: '1' },
    { name: 'a', expression: '2' },
  ]
  await root.write('auth/jwt/cel/role/x', {
    cel_program: { variables, expression: `a == 1 ? (${sound}) : false` },
  })

  expect((await root.read('auth/jwt/lint')).body.data?.findings).toMatchObject([
    { role: 'cel/x', code: 'cel_duplicate_variable' },
  ])
  expect((await root.read('auth/jwt/lint?role=cel/nope')).status).toBe(404)
})

test('a refused login in the headers of a request is explained by the id of the request', async () => {
  const { server, root, write, jwt } = await sharedDesk()
  await write('readers', { expression: '"not today"' })
  const headers = inlineLogin('auth/jwt/cel/login', { role: 'readers', jwt: jwt() })
  const { request_id } = (await server.anonymous.read('sys/mounts', { headers })).body

  expect((await root.write('auth/jwt/explain', { request_id })).body.data).toMatchObject({
    allowed: false,
    reason: 'cel_message',
    role: 'readers',
  })
  expect((await root.read('auth/jwt/failures?role=readers')).body.data?.failures).toMatchObject([
    { request_id, path: 'cel/login', reason: 'cel_message' },
  ])
})

test('programs that branch or nest as much as they may are looked at in little time', async () => {
  await using desk = await openDesk()
  const sum = (first: string) => `${first}${'+1'.repeat(990)}`
  const branches = Array.from({ length: 99 }, (_, at) => [`a${at + 1}`, `claims.x ? a${at} : a${at}`])
  await desk.write('branches', {
    expression: 'claims.iss + claims.aud == "x" ? a99 : a98',
    variables: { a0: `pb.Auth{${alias}}`, ...Object.fromEntries(branches) },
  })
  const nested = await desk.write('nested', {
    expression: 'd == 1 ? false : false',
    variables: { d: `${'-'.repeat(240)}(${sum('1')})` },
  })
  expect(nested.status).toBe(200)

  const findings = async (role: string) =>
    (await desk.root.read(`auth/jwt/lint?role=cel/${role}`)).body.data?.findings

  expect(await findings('branches')).toMatchObject([{ code: 'cel_always_allows' }])
  expect(await findings('nested')).toMatchObject([{ code: 'cel_no_audience' }, { code: 'cel_no_issuer' }])
})

test('a role that names no audiences is found where JWTs are tokens, which it refuses', async () => {
  await using desk = await openDesk({
    config: { accept_as_token: true, bound_issuer: 'https://ci.example.com' },
  })
  await desk.write('ci', { expression: sound })
  await desk.write('bound', { expression: sound }, { bound_audiences: ['gate'] })
  const findings = async (role: string) =>
    (await desk.root.read(`auth/jwt/lint?role=cel/${role}`)).body.data?.findings

  expect(await findings('ci')).toMatchObject([{ code: 'token_without_audience', field: 'bound_audiences' }])
  expect(await findings('bound')).toEqual([])
})

test('claims of a token are not in explain of a stranger', async () => {
  const { server, signer } = await sharedDesk()
  const jwt = signer.sign(someClaims())

  expect((await server.anonymous.write('auth/jwt/explain', { role: 'cel/shop', jwt })).status).toBe(403)
})
