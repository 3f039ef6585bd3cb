import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../../support/fake-clock.ts'
import { shared } from '../../../support/shared.ts'
import { startTestServer } from '../../../support/start-server.ts'
import { aSigner } from '../signer.ts'
import { now, openDesk, someClaims, verdict, type Written } from './desk.ts'

const sharedDesk = shared(() => openDesk())
const ok = 'pb.Auth{policies: ["app"]}'
const refused = '400 error executing cel program: '
const failed = `${refused}CEL auth program failed: `
const says = (text: string) => `${refused}CEL role 'r' blocked authorization with message: ${text}`

test('a login is refused in this order', async () => {
  await using server = await startTestServer()
  const signer = aSigner('ES256')
  const path = 'auth/jwt/cel/login'
  const go = async (body: object) => verdict(await server.anonymous.write(path, body))
  const jwt = signer.sign(someClaims())
  const config = { jwt_validation_pubkeys: [signer.pem] }

  expect(await go({ role: 'r', jwt: 'x' })).toBe('400 could not load configuration')
  await server.root.write('auth/jwt/config', config)
  await server.root.write('auth/jwt/cel/role/r', { cel_program: { expression: ok } })
  expect(await go({ jwt })).toBe('400 missing role')
  expect(await go({ role: 'zz', jwt: 'x' })).toBe('400 role "zz" could not be found')
  expect(await go({ role: 'r' })).toBe('400 missing token')
  expect(await go({ role: 'r', jwt: 'x' })).toMatch(
    /^400 error validating token: error verifying token signature: /,
  )
  const forged = aSigner('ES256').sign(someClaims())
  expect(await go({ role: 'r', jwt: forged })).toMatch(
    /^400 error validating token: error verifying token signature: /,
  )
  expect(await go({ role: 'R', jwt })).toBe('ok')
  expect(verdict(await server.anonymous.call('PUT', path, { role: 'r', jwt }))).toBe('ok')
  expect(verdict(await server.anonymous.read(path))).toBe('405 unsupported operation')
  await server.root.write('auth/jwt/config', {
    ...config,
    bound_issuer: 'https://other.example.com',
    default_role: 'R',
  })
  expect(await go({ jwt })).toBe('400 error validating token: invalid issuer (iss) claim')
})

test('claims whose names become the same text are no error of the server', async () => {
  const { judge } = await sharedDesk()

  expect(verdict(await judge(ok, { '\ud800': 1, '\ud801': 2 }))).toMatch(
    `${failed}failed to read the claims: `,
  )
})

test('audiences are looked at only if the role names some', async () => {
  const { write, login } = await sharedDesk()
  await write('none', { expression: ok })
  await write('gate', { expression: ok }, { bound_audiences: ['gate', 'y'] })
  const other = /^400 error validating token: invalid audience \(aud\) claim/

  for (const aud of ['gate', 'x', undefined]) expect(verdict(await login('none', { aud }))).toBe('ok')
  for (const aud of ['gate', ['z', 'y']]) expect(verdict(await login('gate', { aud }))).toBe('ok')
  for (const aud of ['x', undefined]) expect(verdict(await login('gate', { aud }))).toMatch(other)
})

const noTimes = { exp: undefined, nbf: undefined, iat: undefined }
test.each([
  { name: '50 s after exp', claims: { exp: now(-50) }, isIn: true },
  { name: '100 s after exp', claims: { exp: now(-100) }, isIn: false },
  { name: '100 s after exp with a skew of 300', claims: { exp: now(-100) }, skew: 300, isIn: true },
  { name: '10 s after exp without any', claims: { exp: now(-10) }, skew: -1, isIn: false },
  { name: '30 s before nbf', claims: { nbf: now(30) }, isIn: true },
  { name: '100 s before nbf', claims: { nbf: now(100) }, isIn: false },
  { name: '140 s after iat alone', claims: { ...noTimes, iat: now(-140) }, isIn: true },
  { name: '230 s after iat alone', claims: { ...noTimes, iat: now(-230) }, isIn: false },
  { name: 'without times', claims: noTimes, isIn: false },
])('the clock skew alone widens times that are present: $name', async ({ claims, skew = 60, isIn }) => {
  const { judge } = await sharedDesk()
  const answer = await judge(ok, claims, { clock_skew_leeway: skew })

  expect(verdict(answer) === 'ok').toBe(isIn)
  if (!isIn)
    expect(verdict(answer)).toMatch(/^400 error validating token: (invalid (exp|not before)|no issued at)/)
})

test.each([
  { result: ok, is: 'ok' },
  { result: 'pb.Auth{}', is: 'ok' },
  { result: `optional.of(${ok})`, is: 'ok' },
  { result: 'claims.sub == "joe" ? pb.Auth{} : "no"', is: 'ok' },
  { result: 'false', is: `${refused}CEL role 'r' blocked authorization with boolean false return` },
  { result: '"not you"', is: says('not you') },
  { result: '""', is: says('') },
  ...(
    [
      ['true', 'types.Bool'],
      ['1', 'types.Int'],
      ['1.5', 'types.Double'],
      ['null', 'types.Null'],
      ['[1]', '*types.baseList'],
      ['{"a": 1}', '*types.baseMap'],
      ['b"abc"', 'types.Bytes'],
      ['now', 'types.Timestamp'],
      ['duration("1h")', 'types.Duration'],
      ['logical.Alias{name: "x"}', '*types.protoObj'],
      ['optional.none()', '*types.Optional'],
    ] as const
  ).map(([result, type]) => ({ result, is: `${refused}CEL program 'r' returned unexpected type: ${type}` })),
  { result: 'claims.nope == "x"', is: `${failed}failed to evaluate expression: no such key: nope` },
  { result: '1/0 == 1', is: `${failed}failed to evaluate expression: division by zero` },
  {
    result: 'string(9223372036854775807 + 1)',
    is: `${failed}failed to evaluate expression: integer overflow`,
  },
  { result: 'string(claims.sub + 1)', is: `${failed}failed to evaluate expression: no such overload` },
  {
    result: '"gate" in claims.aud ? "yes" : "no"',
    is: `${failed}failed to evaluate expression: no such overload`,
  },
  {
    result: '"x".matches("(?=x)") ? "" : ""',
    is: `${failed}failed to evaluate expression: error parsing regexp: invalid or unsupported Perl syntax`,
  },
  {
    result: 'regex.extract("x", "(s)(t)").value()',
    is: `${failed}failed to evaluate expression: regular expression has more than one capturing group`,
  },
  {
    result: 'regex.replace("x", "x", "s\\\\q")',
    is: `${failed}failed to evaluate expression: invalid replacement string: \\ must be followed by a digit`,
  },
  {
    result: 'string(size({"s": 1, claims.s: 2}))',
    is: `${failed}failed to evaluate expression: Failed with repeated key`,
  },
  { result: 'string(now.getHours("s"))', is: `${failed}failed to evaluate expression: unknown time zone` },
  { result: '(claims.nope == 1) || true ? "absorbed" : "no"', is: says('absorbed') },
])('the result of $result decides', async ({ result, is }) => {
  const { judge } = await sharedDesk()

  expect(verdict(await judge(result, { s: 's' }))).toBe(is)
})

test.each<Written & { is: string }>([
  { variables: { a: 'claims.sub', b: 'a + "x"' }, expression: 'b', is: says('joex') },
  { variables: { out: ok }, expression: 'out', is: 'ok' },
  { variables: { 'a.b': '1' }, expression: 'a.b == 1 ? "one" : "other"', is: says('one') },
  { variables: { h: 'claims.sub == "zz" ? hex(claims.sub) : ""' }, expression: ok, is: 'ok' },
  {
    variables: { a: 'claims.nope' },
    expression: ok,
    is: `${failed}failed to evaluate variables: variable[0].a: no such key: nope`,
  },
  {
    variables: { b: 'a', a: '"1"' },
    expression: 'b',
    is: `${failed}failed to evaluate variables: variable[0].b: no such attribute(s): a`,
  },
  {
    variables: { a: '1', h: 'hex(claims.sub)' },
    expression: ok,
    is: `${failed}failed to evaluate variables: variable[1].h: no such overload: hex`,
  },
])('variables are evaluated in order, used or not: $variables', async ({ is, ...program }) => {
  const { judge } = await sharedDesk()

  expect(verdict(await judge(program))).toBe(is)
})

test('the message of a role replaces the cause for the caller, but not a text of the program', async () => {
  const { judge } = await sharedDesk()
  const message = { message: 'ask the platform team' }

  expect(verdict(await judge('false', {}, message))).toBe('400 ask the platform team')
  expect(verdict(await judge('claims.nope == 1', {}, message))).toBe('400 ask the platform team')
  expect(verdict(await judge({ expression: ok, variables: { a: '1/0' } }, {}, message))).toBe(
    '400 ask the platform team',
  )
  expect(verdict(await judge('"own text"', {}, message))).toBe(says('own text'))
  expect(verdict(await judge('true', {}, message))).toMatch(/unexpected type/)
})

const numbers = { n: 12345678, five: 5, f: 1.5, z: null, list: ['a', 2], big: 9007199254740993n, t: true }
test.each([
  ['string(claims.n == 12345678) + string(claims.five > 4) + string(claims.five in [5])', 'truetruetrue'],
  ['string(type(claims.n) == double)', 'true'],
  ['string(claims.n)', '12345678'],
  ['string(claims.f)', '1.5'],
  ['string(claims.big)', '9.007199254740992e+15'],
  ['"%s".format([claims.n])', '12345678'],
  ['string(int(claims.n))', '12345678'],
  ['string(claims.z == null) + string(has(claims.z)) + string("z" in claims)', 'truetruetrue'],
  ['string(claims.list.size())', '2'],
  ['operation', 'update'],
  ['string(now == now) + string(timestamp(int(claims.exp)) > now)', 'truetrue'],
])('in claims, %s is %s', async (expression, text) => {
  const { judge, signer, server, write } = await sharedDesk()
  const { big, ...others } = numbers
  const claims = JSON.stringify(someClaims(others)).replace(/\}$/, `,"big":${big}}`)
  await write('r', { expression })
  const answer = await server.anonymous.write('auth/jwt/cel/login', { role: 'r', jwt: signer.sign(claims) })

  expect(verdict(answer)).toBe(says(text))
  expect(verdict(await judge('string(claims.five + 1)', { five: 5 }))).toMatch(/no such overload$/)
})

test.each([
  '"user:" + string(claims.id)',
  'string(int(claims.id))',
  '"%s".format([claims.id])',
  '"%d".format([int(claims.id)])',
  '"%.0f".format([claims.id])',
  '"%.20e".format([claims.id])',
  'encode_json({"id": claims.id})',
])('two ids beyond 2^53 are never one name: %s', async (name) => {
  const { signer, server, write } = await sharedDesk()
  const refusal = (of: string) =>
    `${failed}the number in ${of} is beyond 2^53, where ids have no text of their own`

  for (const [fields, is] of [
    [`alias: logical.Alias{name: ${name}}`, refusal('an alias')],
    [`group_aliases: [logical.Alias{name: ${name}}]`, refusal('an alias')],
    [`policies: ["app", ${name}]`, refusal('a policy')],
  ]) {
    await write('r', { expression: `pb.Auth{${fields}}` })
    for (const id of ['9007199254740993', '9007199254740992', '-1152921504606846976']) {
      const jwt = signer.sign(JSON.stringify(someClaims()).replace(/\}$/, `,"id":${id}}`))
      const answer = await server.anonymous.write('auth/jwt/cel/login', { role: 'r', jwt })
      expect(verdict(answer)).toBe(is)
    }
  }
})

test.each([
  'alias: logical.Alias{name: string(claims.id)}',
  'alias: logical.Alias{name: claims.text}, metadata: {"id": string(claims.big)}',
  'alias: logical.Alias{name: claims.big > 5 ? "user" : ""}',
  'alias: logical.Alias{name: string(int(claims.id) * 1000)}',
])('%s is a name of its own', async (fields) => {
  const { judge } = await sharedDesk()
  const claims = { id: 9_007_199_254_740_991, big: 2 ** 60, text: '9007199254740993' }

  expect(verdict(await judge(`pb.Auth{${fields}}`, claims))).toBe('ok')
})

describe('pb.Auth', () => {
  const auth = (fields: string) => `pb.Auth{policies: ["app"], ${fields}}`
  const aliased = (metadata: string) => auth(`alias: logical.Alias{name: claims.sub, metadata: ${metadata}}`)
  const pairs = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}": "v"`).join(', ')
  const tooLong = (field: string) => `400 error converting auth: ${field} is longer than 1024 characters`
  const lease = (fields: string) => auth(`lease_options: pb.LeaseOptions{${fields}}`)

  test.each([
    { expression: 'pb.Auth{policies: []}', has: { policies: ['default'] } },
    {
      expression: 'pb.Auth{policies: ["App", "app", "b", " c "]}',
      has: { policies: ['app', 'b', 'c', 'default'] },
    },
    {
      expression: 'pb.Auth{policies: claims.l}',
      claims: { l: ['a', 'b'] },
      has: { policies: ['a', 'b', 'default'] },
    },
    { expression: auth('no_default_policy: true'), has: { policies: ['app'] } },
    {
      expression: auth('token_policies: ["tp"], identity_policies: ["root"]'),
      has: { policies: ['app', 'default'] },
    },
    {
      expression: auth('client_token: "root", accessor: "abc", internal_data: "{}"'),
      has: { policies: ['app', 'default'] },
    },
    {
      expression: ok,
      has: {
        metadata: null,
        entity_id: '',
        renewable: false,
        token_type: 'service',
        lease_duration: 2_764_800,
      },
    },
    { expression: auth('metadata: {"a": claims.sub}'), has: { metadata: { a: 'joe' } } },
    { expression: lease('TTL: 60000000000, renewable: true'), has: { lease_duration: 60, renewable: true } },
    {
      expression: lease('TTL: duration("1h").getSeconds() * 1000000000, issue_time: now'),
      has: { lease_duration: 3600, renewable: false },
    },
    {
      expression: lease('TTL: 300000000000, MaxTTL: 120000000000, issue_time: null'),
      has: { lease_duration: 120 },
    },
    { expression: auth('period: 60000000000'), has: { lease_duration: 60 } },
    { expression: auth('explicit_max_ttl: 90000000000'), has: { lease_duration: 90 } },
    { expression: auth('num_uses: 3'), has: { num_uses: 3 } },
    { expression: auth('token_type: 1u'), has: { token_type: 'service' } },
    { expression: auth('token_type: 2u'), has: { token_type: 'batch', renewable: false } },
    { expression: auth('token_type: 4u'), has: { token_type: 'batch' } },
  ])('$expression gives what it says', async ({ expression, claims, has }) => {
    const { judge } = await sharedDesk()

    expect((await judge(expression, claims)).body.auth).toMatchObject(has)
  })

  test.each([
    { expression: 'pb.Auth{policies: ["root"]}', is: '400 auth methods cannot create root tokens' },
    {
      expression: 'pb.Auth{policies: ["response-wrapping"]}',
      is: '400 cannot assign policy "response-wrapping"',
    },
    { expression: 'pb.Auth{policies: claims.l}', is: `${failed}failed to evaluate expression: ` },
    { expression: 'pb.Auth{policies: [dyn(1)]}', is: `${failed}failed to evaluate expression: ` },
    {
      expression: 'pb.Auth{alias: logical.Alias{name: claims.exp}}',
      is: `${failed}failed to evaluate expression: `,
    },
    { expression: 'pb.Auth{alias: logical.Alias{name: ""}}', is: '400 missing name in alias' },
    { expression: 'pb.Auth{group_aliases: [logical.Alias{}]}', is: '400 missing alias name' },
    { expression: auth('internal_data: "{"'), is: '400 error converting proto auth: ' },
    {
      expression: auth('bound_cidrs: ["x"]'),
      is: '400 error converting proto auth: error parsing address "x": ',
    },
    { expression: lease('TTL: 60'), is: '400 error converting auth: TTL is given in nanoseconds' },
    { expression: lease('TTL: -60000000000'), is: '400 error converting auth: TTL cannot be negative' },
    { expression: auth('period: -1'), is: '400 error converting auth: period cannot be negative' },
    {
      expression: auth('explicit_max_ttl: 5'),
      is: '400 error converting auth: explicit_max_ttl is given in nanoseconds',
    },
    { expression: auth('num_uses: -3'), is: '400 error converting auth: num_uses cannot be negative' },
    { expression: auth('token_type: 9u'), is: '400 error converting auth: unknown token_type 9' },
    { expression: auth('token_type: 2u, num_uses: 2'), is: "400 'token_type' cannot be 'batch'" },
    { expression: auth('token_type: 2u, period: 60000000000'), is: "400 'token_type' cannot be 'batch'" },
    {
      expression: 'pb.Auth{policies: lists.range(1001).map(i, string(i))}',
      is: '400 error converting auth: more than 1000 policies',
    },
    {
      expression: 'pb.Auth{group_aliases: lists.range(10001).map(i, logical.Alias{name: string(i)})}',
      is: '400 error converting auth: more than 10000 group_aliases',
    },
    { expression: 'pb.Auth{policies: [claims.long]}', is: tooLong('policies') },
    { expression: 'pb.Auth{display_name: claims.long}', is: tooLong('display_name') },
    { expression: 'pb.Auth{alias: logical.Alias{name: claims.long}}', is: tooLong('name') },
    { expression: 'pb.Auth{group_aliases: [logical.Alias{name: claims.long}]}', is: tooLong('name') },
    { expression: 'pb.Auth{bound_cidrs: [claims.long]}', is: tooLong('bound_cidrs') },
    {
      expression: aliased('{"a b": "c"}'),
      is: '400 invalid alias metadata: failed to load metadata pair ("a b", "c"): key contains invalid characters',
    },
    { expression: aliased('{"a": claims.long}'), is: 'value is too long (limit: 512 characters)' },
    {
      expression: aliased(`{${pairs(65)}}`),
      is: '400 invalid alias metadata: metadata cannot contain more than 64 key/value pairs',
    },
    { expression: auth('metadata: {"a": claims.long}'), is: 'value is too long (limit: 512 characters)' },
    { expression: auth('metadata: {claims.long: "a"}'), is: 'key is too long (limit: 128 characters)' },
    {
      expression: auth(`metadata: {${pairs(65)}}`),
      is: '400 invalid metadata: metadata cannot contain more than 64 key/value pairs',
    },
  ])('$expression is no login', async ({ expression, is }) => {
    const { judge } = await sharedDesk()

    expect(verdict(await judge(expression, { l: 'a', long: 'x'.repeat(1_025) }))).toContain(is)
  })

  test('metadata of a token may have any names, and all of it up to the limits', async () => {
    const { judge } = await sharedDesk()
    const metadata = { 'a b/é': '', long: 'x'.repeat(512), ['k'.repeat(128)]: 'v' }
    const login = await judge(auth(`metadata: claims.m, display_name: claims.n`), {
      m: metadata,
      n: 'n'.repeat(1_024),
    })

    expect(login.body.auth?.metadata).toEqual(metadata)
  })

  test('the metadata of an alias that exists has the same limits', async () => {
    const { judge } = await sharedDesk()
    const expression = aliased('{"a": claims.long}')

    expect(verdict(await judge(expression, { sub: 'meg', long: 'x' }))).toBe('ok')
    expect(verdict(await judge(expression, { sub: 'meg', long: 'x'.repeat(513) }))).toBe(
      `400 invalid alias metadata: failed to load metadata pair ("a", "${'x'.repeat(64)}…"): value is too long (limit: 512 characters)`,
    )
  })

  test('the name of a token is that of the mount and what the program says', async () => {
    const { judge, lookup } = await sharedDesk()
    const nameOf = async (fields: string) => (await lookup(await judge(auth(fields)))).display_name

    expect(await nameOf('display_name: "dd"')).toBe('jwt-dd')
    expect(await nameOf('display_name: "-dd"')).toBe('jwt--dd')
    expect(await nameOf('display_name: ""')).toBe('jwt')
  })

  test('an alias makes an entity of this mount, with its own metadata', async () => {
    const { judge, lookup, root } = await sharedDesk()
    const expression = auth(
      'alias: logical.Alias{name: claims.sub, metadata: {"team": "shop"}, mount_accessor: "auth_other"}, metadata: {"m": "t"}',
    )
    const login = await judge(expression, { sub: 'ann' })
    const { entity_id: id, meta, path } = await lookup(login)
    const entity = (await root.read(`identity/entity/id/${id}`)).body.data

    expect([meta, path]).toEqual([{ m: 't' }, 'auth/jwt/cel/login'])
    expect(entity?.aliases).toMatchObject([
      { name: 'ann', metadata: { team: 'shop' }, mount_path: 'auth/jwt/' },
    ])
    expect((await lookup(await judge(expression, { sub: 'ann' }))).entity_id).toBe(id)
    await root.write(`identity/entity/id/${id}`, { disabled: true })
    expect(verdict(await judge(expression, { sub: 'ann' }))).toBe('403 permission denied')
  })

  test('group aliases put the entity into groups, and the next login takes it out again', async () => {
    const { judge, lookup, root } = await sharedDesk()
    const accessor = (await root.read('sys/auth/jwt')).body.data?.accessor
    const group = await root.write('identity/group', {
      name: 'eng',
      type: 'external',
      policies: ['eng-policy'],
    })
    await root.write('identity/group-alias', {
      name: 'eng',
      mount_accessor: accessor,
      canonical_id: group.body.data?.id,
    })
    const expression =
      'pb.Auth{alias: logical.Alias{name: "bob"}, group_aliases: claims.g.map(g, logical.Alias{name: g})}'

    expect((await lookup(await judge(expression, { g: ['eng', 'zz'] }))).identity_policies).toEqual([
      'eng-policy',
    ])
    expect((await judge(expression, { g: [] })).body.auth?.identity_policies).toBeUndefined()
  })

  test('addresses of a program bind the token', async () => {
    const { judge, server } = await sharedDesk()
    const as = async (cidr: string) => {
      const login = await judge(auth(`bound_cidrs: ["${cidr}"]`))
      return (await server.as(String(login.body.auth?.client_token)).read('auth/token/lookup-self')).status
    }

    expect(await as('127.0.0.0/8')).toBe(200)
    expect(await as('10.0.0.0/8')).toBe(403)
  })
})

test('a renewal needs the CEL role and keeps the terms of the login', async () => {
  const clock = new FakeClock(Date.now())
  await using desk = await openDesk({ clock })
  const { root, judge, server, write } = desk
  const login = await judge(
    'pb.Auth{lease_options: pb.LeaseOptions{TTL: 60000000000, MaxTTL: 600000000000, renewable: true}}',
  )
  const renew = (body: object = {}) =>
    server.as(String(login.body.auth?.client_token)).write('auth/token/renew-self', body)
  const gone = '400 failed to renew entry: CEL role r does not exist during renewal'

  expect((await renew()).body.auth?.lease_duration).toBe(60)
  expect((await renew({ increment: '300s' })).body.auth?.lease_duration).toBe(300)
  await write('r', { expression: 'false' })
  clock.advance(200)
  expect((await renew()).body.auth?.lease_duration).toBe(300)
  expect((await renew({ increment: '900s' })).body.auth?.lease_duration).toBe(400)
  await root.delete('auth/jwt/cel/role/r')
  expect(verdict(await renew())).toBe(gone)
  await root.write('auth/jwt/role/r', { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' })
  expect(verdict(await renew())).toBe(gone)
})
