import { describe, expect, test } from 'vitest'
import { shared } from '../../support/shared.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

const path = 'auth/jwt/role/r'
/** The minimal jwt role. */
const least = { role_type: 'jwt', user_claim: 'user', bound_subject: 's' }
const oidc = { user_claim: 'u', allowed_redirect_uris: ['https://a/x', 'https://b'] }

const fresh = {
  role_type: 'jwt',
  user_claim: 'user',
  user_claim_json_pointer: false,
  bound_subject: 's',
  bound_audiences: null,
  bound_claims: null,
  bound_claims_type: 'string',
  claim_mappings: null,
  claim_mappings_text_only: false,
  groups_claim: '',
  groups_claim_optional: false,
  groups_claim_type: 'list',
  allowed_redirect_uris: null,
  oidc_scopes: null,
  verbose_oidc_logging: false,
  max_age: 0,
  callback_mode: 'client',
  oauth2_metadata: null,
  expiration_leeway: 0,
  not_before_leeway: 0,
  clock_skew_leeway: 0,
  oidc_disable_confirmation: false,
  token_replay_protection: false,
  token_policies_template_claims: false,
  token_bound_cidrs: [],
  token_explicit_max_ttl: 0,
  token_max_ttl: 0,
  token_no_default_policy: false,
  token_num_uses: 0,
  token_period: 0,
  token_strictly_bind_ip: false,
  token_policies: [],
  token_ttl: 0,
  token_type: 'default',
}

const ofFile = shared(() => startTestServer())

/** The server of this file, without the role of the test before. */
async function withoutRole(): Promise<TestServer> {
  const server = await ofFile()
  expect((await server.root.delete(path)).status).toBe(204)
  return server
}

async function written(server: TestServer, ...bodies: object[]) {
  for (const body of bodies) {
    const answer = await server.root.write(path, body)
    expect(answer, JSON.stringify(body)).toMatchObject({ status: 204 })
  }
  return (await server.root.read(path)).body.data
}

/** A server whose mount issues tokens for at most a day. */
async function withDayMount() {
  const server = await startTestServer()
  await server.root.write('sys/auth/jwt/tune', { default_lease_ttl: '12h', max_lease_ttl: '24h' })
  return server
}

describe('what is refused', () => {
  const redirects = "'allowed_redirect_uris' must be set if 'role_type' is 'oidc' or unspecified."
  const unbound = 'must have at least one bound constraint when creating/updating a role'
  const userClaim = 'a user claim must be defined on the role'
  const periodic = "'token_type' cannot be 'batch' or 'default_batch' when set to generate periodic tokens"
  const limited =
    "'token_type' cannot be 'batch' or 'default_batch' when set to generate tokens with limited use count"
  const address =
    'error parsing address "foo": Unable to convert "foo" to an IPv4 or IPv6 address, or a UNIX Socket'
  const tooLong = `'period' of '"48h0m0s"' is greater than the backend's maximum lease TTL of '"24h0m0s"'`
  const converting = (name: string) => `error converting input for field "${name}": `
  const withoutRoles = shared(withDayMount)
  test.each<{ row: string; body: object; error: string }>([
    { row: 'no user claim', body: { policies: 'p' }, error: userClaim },
    { row: 'nothing bound', body: { role_type: 'jwt', user_claim: 'u', policies: 'p' }, error: unbound },
    {
      row: 'nothing bound but empty values',
      body: {
        role_type: 'jwt',
        user_claim: 'u',
        bound_claims: {},
        bound_audiences: [],
        bound_subject: '',
        token_bound_cidrs: '',
      },
      error: unbound,
    },
    {
      row: 'unknown kind of bound claims',
      body: { ...least, bound_claims_type: 'invalid' },
      error: "invalid 'bound_claims_type': invalid",
    },
    {
      row: 'a glob on a number',
      body: { ...least, bound_claims_type: 'glob', bound_claims: { bar: 'baz', foo: 25 } },
      error: 'claim is not a string: 25',
    },
    {
      row: 'a glob on a boolean',
      body: { ...least, bound_claims_type: 'glob', bound_claims: { foo: true } },
      error: 'claim is not a string: true',
    },
    {
      row: 'a glob on a list with a number',
      body: { ...least, bound_claims_type: 'glob', bound_claims: { foo: ['baz', 10] } },
      error: 'claim is not a string: 10',
    },
    {
      row: 'a glob on a list with null',
      body: { ...least, bound_claims_type: 'glob', bound_claims: { foo: ['a', null] } },
      error: 'claim is not a string: <nil>',
    },
    {
      row: 'a glob on a map',
      body: { ...least, bound_claims_type: 'glob', bound_claims: { foo: { a: 1 } } },
      error: 'claim is not a string or list: map[a:1]',
    },
    {
      row: 'a glob on null',
      body: { ...least, bound_claims_type: 'glob', bound_claims: { foo: null } },
      error: 'claim is not a string or list: <nil>',
    },
    {
      row: 'a reserved metadata key',
      body: { ...least, claim_mappings: { c: 'role' } },
      error: 'metadata key "role" is reserved and may not be a mapping destination',
    },
    {
      row: 'one metadata key twice',
      body: { ...least, claim_mappings: { foo: 'a', bar: 'a' } },
      error: 'multiple keys are mapped to metadata key "a"',
    },
    { row: 'no redirect URIs', body: { user_claim: 'u' }, error: redirects },
    {
      row: 'an empty list of redirect URIs',
      body: { user_claim: 'u', role_type: 'oidc', bound_subject: 's', allowed_redirect_uris: [] },
      error: redirects,
    },
    { row: 'unknown role type', body: { ...least, role_type: 'JWT' }, error: "invalid 'role_type': JWT" },
    {
      row: 'unknown token type',
      body: { ...least, token_type: 'default-service' },
      error: `invalid 'token_type' value "default-service"`,
    },
    {
      row: 'a token type in capitals',
      body: { ...least, token_type: 'Service' },
      error: `invalid 'token_type' value "Service"`,
    },
    {
      row: 'a periodic batch token',
      body: { ...least, token_type: 'batch', token_period: 60 },
      error: periodic,
    },
    {
      row: 'a periodic batch token of limited use',
      body: { ...least, token_type: 'batch', token_period: 60, token_num_uses: 1 },
      error: periodic,
    },
    {
      row: 'a batch token of limited use',
      body: { ...least, token_type: 'batch', token_num_uses: 1 },
      error: limited,
    },
    {
      row: 'a batch token of limited use, by the old name',
      body: { ...least, token_type: 'batch', num_uses: 1 },
      error: limited,
    },
    {
      row: 'a TTL above the maximum',
      body: { ...least, token_ttl: '2h', token_max_ttl: '1h' },
      error: "'token_ttl' cannot be greater than 'token_max_ttl'",
    },
    {
      row: 'a TTL above the maximum, by the old names',
      body: { ...least, ttl: '2h', max_ttl: '1h' },
      error: 'ttl should not be greater than max ttl',
    },
    { row: 'a period above that of the mount', body: { ...least, token_period: '48h' }, error: tooLong },
    {
      row: 'a period above that of the mount, by the old name',
      body: { ...least, period: '48h' },
      error: tooLong,
    },
    { row: 'an address that is none', body: { ...least, token_bound_cidrs: 'foo' }, error: address },
    {
      row: 'an address that is none, by the old name',
      body: { ...least, bound_cidrs: '127.0.0.1,foo' },
      error: address,
    },
    {
      row: 'too many addresses',
      body: { ...least, token_bound_cidrs: '10.0.0.1,'.repeat(1000) },
      error: 'more than 1000 addresses',
    },
    {
      row: 'too many addresses, by the old name',
      body: { ...least, bound_cidrs: '10.0.0.1,'.repeat(1000) },
      error: 'more than 1000 addresses',
    },
    {
      row: 'uses below zero',
      body: { ...least, token_num_uses: -1 },
      error: "'token_num_uses' cannot be negative",
    },
    { row: 'a duration that is none', body: { ...least, max_age: '1hr' }, error: converting('max_age') },
    {
      row: 'a duration below zero',
      body: { ...least, max_age: '-1' },
      error: `${converting('max_age')}cannot provide negative value '-1'`,
    },
    {
      row: 'no kind of bound claims',
      body: { ...least, bound_claims_type: '' },
      error: "invalid 'bound_claims_type': ",
    },
    {
      row: 'null as the kind of bound claims',
      body: { ...least, bound_claims_type: null },
      error: "invalid 'bound_claims_type': ",
    },
    {
      row: 'the role type before the addresses',
      body: { role_type: 'x', token_bound_cidrs: 'foo' },
      error: "invalid 'role_type': x",
    },
    {
      row: 'the addresses before the token type',
      body: { token_bound_cidrs: 'foo', token_type: 'x' },
      error: address,
    },
    {
      row: 'the token type before the uses',
      body: { token_type: 'x', token_num_uses: -1, bound_claims_type: 'x' },
      error: `invalid 'token_type' value "x"`,
    },
    {
      row: 'the uses before the TTLs',
      body: { token_num_uses: -1, token_ttl: 2, token_max_ttl: 1 },
      error: "'token_num_uses' cannot be negative",
    },
    {
      row: 'the TTLs before the old addresses',
      body: { token_ttl: 2, token_max_ttl: 1, bound_cidrs: 'foo' },
      error: "'token_ttl' cannot be greater than 'token_max_ttl'",
    },
    {
      row: 'the old addresses before the old period',
      body: { bound_cidrs: 'foo', period: '48h' },
      error: address,
    },
    {
      row: 'the old period before the bound claims',
      body: { period: '48h', bound_claims_type: 'x' },
      error: tooLong,
    },
    {
      row: 'the bound claims before the user claim',
      body: { bound_claims_type: 'x', user_claim: '' },
      error: "invalid 'bound_claims_type': x",
    },
    {
      row: 'the mappings before the user claim',
      body: { claim_mappings: { a: 'role' } },
      error: 'metadata key "role" is reserved and may not be a mapping destination',
    },
    { row: 'the user claim before the old TTLs', body: { ttl: 2, max_ttl: 1 }, error: userClaim },
    {
      row: 'bound claims that are not a map',
      body: { ...least, bound_claims: 'a=b' },
      error: converting('bound_claims'),
    },
    {
      row: 'mappings that are not a map',
      body: { ...least, claim_mappings: 'x' },
      error: `${converting('claim_mappings')}invalid key pair "x"`,
    },
    {
      row: 'a TTL that is not a duration',
      body: { ...least, token_ttl: 'x' },
      error: `${converting('token_ttl')}time: invalid duration "x"`,
    },
    {
      row: 'a user claim that is a list',
      body: { ...least, user_claim: ['a'] },
      error: converting('user_claim'),
    },
    {
      row: 'a TTL below zero',
      body: { ...least, token_max_ttl: -1 },
      error: `${converting('token_max_ttl')}cannot provide negative value '-1'`,
    },
  ])('$row: $body', async ({ body, error }) => {
    const server = await withoutRoles()

    const answer = await server.root.write(path, body)

    expect(answer.status).toBe(400)
    expect(String(answer.body.errors?.[0]).slice(0, error.length)).toBe(error)
    expect((await server.root.read(path)).status).toBe(404)
  })
})

describe('what is stored and shown', () => {
  test('a fresh role reads back with every key', async () => {
    const server = await withoutRole()
    expect(await written(server, least)).toEqual(fresh)
  })

  test('the older names set the new fields too, and both are shown', async () => {
    const server = await withoutRole()
    const data = await written(server, {
      ...least,
      bound_audiences: 'vault',
      bound_cidrs: '127.0.0.1/8',
      policies: 'test',
      period: '3s',
      ttl: '1s',
      num_uses: 12,
      max_ttl: '5s',
      max_age: '60s',
      user_claim_json_pointer: true,
    })
    expect(data).toEqual({
      ...fresh,
      bound_audiences: ['vault'],
      user_claim_json_pointer: true,
      max_age: 60,
      bound_cidrs: ['127.0.0.1/8'],
      policies: ['test'],
      period: 3,
      ttl: 1,
      num_uses: 12,
      max_ttl: 5,
      token_bound_cidrs: ['127.0.0.1/8'],
      token_policies: ['test'],
      token_period: 3,
      token_ttl: 1,
      token_num_uses: 12,
      token_max_ttl: 5,
    })
  })

  test('the new name of a field overrides the old one, and alone removes it', async () => {
    const server = await withoutRole()
    const pair = (data: Awaited<ReturnType<typeof written>>) => [data?.ttl, data?.token_ttl]

    expect(pair(await written(server, { ...least, ttl: 10 }))).toEqual([10, 10])
    expect(pair(await written(server, { ...least }))).toEqual([10, 10])
    expect(pair(await written(server, { ...least, ttl: 20, token_ttl: 30 }))).toEqual([30, 30])
    expect(pair(await written(server, { ...least, token_ttl: 40 }))).toEqual([undefined, 40])
    expect(pair(await written(server, { ...least, ttl: 0 }))).toEqual([undefined, 0])
    expect(
      await written(server, { ...least, bound_cidrs: '10.0.0.1/32', token_bound_cidrs: '10.0.0.2/32' }),
    ).toMatchObject({ bound_cidrs: ['10.0.0.2'], token_bound_cidrs: ['10.0.0.2'] })
  })

  test.each([
    { body: { bound_subject: 's' } },
    { body: { bound_audiences: 'a' } },
    { body: { bound_cidrs: '127.0.0.1' } },
    { body: { token_bound_cidrs: ['::1', '999.0.0.0/8'] } },
    { body: { bound_claims: { a: 'b' } } },
    { body: { token_bound_cidrs: Array(1000).fill('10.0.0.1').join(',') } },
  ])('one bound value is enough: $body', async ({ body }) => {
    const server = await withoutRole()
    expect(
      (await server.root.write(path, { role_type: 'jwt', user_claim: 'u', policies: 'p', ...body })).status,
    ).toBe(204)
  })

  test.each([
    ['5s', 5],
    ['0', 0],
    ['-1', -1],
    [500, 500],
    [-1, -1],
    ['1m', 60],
    ['-5s', -5],
    ['', 0],
    ['1.5h', 5400],
  ])('a leeway of %j is %i seconds', async (given, stored) => {
    const server = await withoutRole()
    const leeways = { expiration_leeway: given, not_before_leeway: given, clock_skew_leeway: given }
    expect(await written(server, { ...least, ...leeways })).toMatchObject({
      expiration_leeway: stored,
      not_before_leeway: stored,
      clock_skew_leeway: stored,
    })
  })

  test.each([
    ['60', 60],
    [180, 180],
    ['', 0],
    ['30s', 30],
    ['2m', 120],
    ['1h', 3600],
    ['2d', 172_800],
  ])('max_age %j is %i seconds', async (given, stored) => {
    const server = await withoutRole()
    expect((await written(server, { ...least, max_age: given }))?.max_age).toBe(stored)
  })

  test('a role is of type oidc by name, or if the type is absent', async () => {
    const server = await withoutRole()
    const body = {
      ...oidc,
      bound_claims: { foo: 10, bar: 'baz' },
      oidc_scopes: 'email,profile',
      claim_mappings: { foo: 'a', bar: 'b' },
      groups_claim: 'g',
    }
    for (const role_type of ['', 'oidc', null]) {
      expect(await written(server, { ...body, role_type })).toMatchObject({
        ...body,
        role_type: 'oidc',
        oidc_scopes: ['email', 'profile'],
        bound_claims: { foo: 10, bar: 'baz' },
      })
    }
  })

  test('bound claims keep every digit and every form', async () => {
    const server = await withoutRole()
    const bound =
      '{"big":12345678901234567890,"e":1e3,"f":1.50,"i":10,"l":[1,"x",true],"n":null,"o":{"a":1},"__proto__":"p"}'
    const body = `{"role_type":"jwt","user_claim":"u","bound_claims":${bound}}`

    expect((await server.root.call('POST', path, undefined, { raw: body })).status).toBe(204)
    expect((await server.root.read(path)).text).toContain(bound)
    expect((await server.root.write(path, { role_type: 'jwt', bound_claims_type: 'glob' })).status).toBe(204)
    expect((await server.root.read(path)).text).toContain(bound)
  })

  test('an update keeps fields that are not sent, except role_type and bound_claims_type', async () => {
    const server = await withoutRole()
    const full = {
      role_type: 'jwt',
      user_claim: 'u',
      user_claim_json_pointer: true,
      bound_subject: 's',
      bound_audiences: ['a', 'b'],
      bound_claims: { k: 'v*' },
      bound_claims_type: 'glob',
      claim_mappings: { x: 'y' },
      groups_claim: 'g',
      oidc_scopes: ['p'],
      max_age: 60,
      expiration_leeway: 1,
      not_before_leeway: 2,
      clock_skew_leeway: 3,
      token_policies: ['p'],
      token_ttl: 60,
      token_max_ttl: 120,
      token_explicit_max_ttl: 600,
      token_num_uses: 4,
      token_no_default_policy: true,
      token_bound_cidrs: ['127.0.0.1'],
      token_type: 'service',
    }
    expect(await written(server, full)).toMatchObject(full)
    expect(await server.root.write(path, { user_claim: 'v' })).toMatchObject({ status: 400 })
    expect(await written(server, { role_type: 'jwt', bound_subject: 'other' })).toMatchObject({
      ...full,
      bound_subject: 'other',
      bound_claims_type: 'string',
    })
    expect((await server.root.write(path, { role_type: 'jwt', user_claim: '' })).body.errors).toEqual([
      'a user claim must be defined on the role',
    ])
    expect(await written(server, { allowed_redirect_uris: 'https://x' })).toMatchObject({
      role_type: 'oidc',
      bound_claims_type: 'string',
    })
    expect(
      await written(server, {
        bound_subject: null,
        bound_audiences: '',
        bound_claims: [],
        claim_mappings: {},
        token_ttl: null,
      }),
    ).toMatchObject({
      bound_subject: '',
      bound_audiences: [],
      bound_claims: {},
      claim_mappings: {},
      token_ttl: 60,
    })
    expect(await written(server, { bound_claims: null, claim_mappings: null })).toMatchObject({
      bound_claims: null,
      claim_mappings: null,
    })
  })

  test('texts, lists, maps and flags are converted from their accepted forms', async () => {
    const server = await withoutRole()
    const given = {
      bound_audiences: ' a , b,,c',
      oidc_scopes: ['x,y', ' z '],
      user_claim: 5,
      token_num_uses: '7',
      verbose_oidc_logging: 'false',
    }
    expect(await written(server, { ...least, ...given })).toMatchObject({
      bound_audiences: ['a', 'b', '', 'c'],
      oidc_scopes: ['x,y', 'z'],
      user_claim: '5',
      token_num_uses: 7,
      verbose_oidc_logging: false,
    })
    expect(
      await written(server, { ...least, bound_audiences: [1, 'b', true], claim_mappings: ['a=b', 'c=d'] }),
    ).toMatchObject({ bound_audiences: ['1', 'b', '1'], claim_mappings: { a: 'b', c: 'd' } })
  })

  test('token_policies are stored as sent, policies are normalized', async () => {
    const server = await withoutRole()
    expect(await written(server, { ...least, policies: 'B,a,b' })).toMatchObject({
      policies: ['a', 'b'],
      token_policies: ['a', 'b'],
    })
    const data = await written(server, { ...least, token_policies: 'B,a,b' })
    expect(data).toMatchObject({ token_policies: ['B', 'a', 'b'] })
    expect(data).not.toHaveProperty('policies')
    expect(await written(server, { ...least, policies: 'root,a' })).toMatchObject({
      policies: ['root'],
      token_policies: ['root'],
    })
  })

  test('a claim mapped to __proto__ is stored like any other', async () => {
    const server = await withoutRole()
    const raw =
      '{"role_type":"jwt","user_claim":"u","bound_subject":"s","claim_mappings":{"__proto__":"a","b":"__proto__"}}'
    expect((await server.root.call('POST', path, undefined, { raw })).status).toBe(204)
    expect((await server.root.read(path)).text).toContain(
      '"claim_mappings":{"__proto__":"a","b":"__proto__"}',
    )
  })
})

describe('warnings', () => {
  const truncated =
    "token max ttl is greater than the system or backend mount's maximum TTL value; issued tokens' max TTL value will be truncated"
  const verbose =
    'verbose_oidc_logging has been enabled for this role. This is not recommended in production since sensitive information may be present in OIDC responses.'

  test('a write with warnings stores the role, and every such write warns', async () => {
    await using server = await withDayMount()
    const warned = async (body: object) => {
      const answer = await server.root.write(path, { ...least, ...body })
      return answer.status === 200 ? answer.body.warnings : answer.status
    }

    expect(await warned({ token_max_ttl: '48h' })).toEqual([truncated])
    expect(await warned({ verbose_oidc_logging: true })).toEqual([truncated, verbose])
    expect(await warned({ token_max_ttl: 0 })).toEqual([verbose])
    expect(await warned({ zzz: 1, aaa: 2 })).toEqual([
      verbose,
      'Endpoint ignored these unrecognized parameters: [aaa zzz]',
    ])
    expect(await warned({ name: 'other' })).toEqual([
      verbose,
      "Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [name]",
    ])
    expect(await warned({ verbose_oidc_logging: false, zzz: 1 })).toBe(204)
  })
})

describe('names, listing, deleting', () => {
  test('names are lower-cased, listed in order, and deleted', async () => {
    const server = await withoutRole()
    for (const name of ['b', 'MyRole', 'a-b.c', 'a1', '1'])
      await server.root.write(`auth/jwt/role/${name}`, least)

    expect((await server.root.list('auth/jwt/role')).body.data).toEqual({
      keys: ['1', 'a-b.c', 'a1', 'b', 'myrole'],
    })
    expect((await server.root.call('LIST', 'auth/jwt/role/')).body.data).toEqual({
      keys: ['1', 'a-b.c', 'a1', 'b', 'myrole'],
    })
    expect((await server.root.read('auth/jwt/role/MYROLE')).status).toBe(200)
    expect((await server.root.delete('auth/jwt/role/myROLE')).status).toBe(204)
    expect(await server.root.read('auth/jwt/role/MyRole')).toMatchObject({
      status: 404,
      body: { errors: [] },
    })
    for (const name of ['b', 'a-b.c', 'a1', '1', 'never'])
      expect((await server.root.delete(`auth/jwt/role/${name}`)).status).toBe(204)
    expect(await server.root.list('auth/jwt/role')).toMatchObject({ status: 404, body: { errors: [] } })
  })

  test.each(['-x', 'x-', '.x', 'a/b', 'a%20b', '%C3%A9', 'a%2Fb'])('%s is not a role name', async (name) => {
    const server = await withoutRole()
    expect(await server.root.write(`auth/jwt/role/${name}`, least)).toMatchObject({
      status: 404,
      body: { errors: ['1 error occurred:\n\t* unsupported path\n\n'] },
    })
  })

  test('the paths refuse operations that they do not support', async () => {
    const server = await withoutRole()
    const unsupported = { errors: ['1 error occurred:\n\t* unsupported operation\n\n'] }
    expect(await server.root.write('auth/jwt/role/x/', least)).toMatchObject({
      status: 400,
      body: { errors: ["cannot write to a path ending in '/'"] },
    })
    expect(await server.root.write('auth/jwt/role', least)).toMatchObject({ status: 405, body: unsupported })
    expect(await server.root.read('auth/jwt/role')).toMatchObject({ status: 405, body: unsupported })
    expect((await server.root.call('LIST', 'auth/jwt/role/x')).status).toBe(404)
    expect((await server.root.call('LIST', 'auth/jwt/config')).status).toBe(404)
  })

  test('mounts do not share roles, and a new mount has none', async () => {
    const server = await withoutRole()
    await server.root.write('sys/auth/other', { type: 'oidc' })
    await server.root.write('auth/jwt/role/r', least)
    await server.root.write('auth/other/role/r', { ...least, user_claim: 'second' })

    expect((await server.root.read('auth/jwt/role/r')).body.data?.user_claim).toBe('user')
    expect((await server.root.read('auth/other/role/r')).body.data?.user_claim).toBe('second')
    await server.root.delete('sys/auth/other')
    await server.root.write('sys/auth/other', { type: 'jwt' })
    expect((await server.root.read('auth/other/role/r')).status).toBe(404)
  })

  test('concurrent writes of one role all take effect', async () => {
    const server = await withoutRole()
    await server.root.write(path, least)
    const fields = [
      'groups_claim',
      'token_ttl',
      'token_num_uses',
      'max_age',
      'token_period',
      'expiration_leeway',
    ]

    await Promise.all(
      fields.map((field, index) => server.root.write(path, { role_type: 'jwt', [field]: index + 1 })),
    )

    expect((await server.root.read(path)).body.data).toMatchObject(
      Object.fromEntries(fields.map((field, index) => [field, field === 'groups_claim' ? '1' : index + 1])),
    )
  })
})

describe('rights', () => {
  test('a new role requires create, an existing one update, and coercion errors come before the ACL for callers who may write', async () => {
    const server = await withoutRole()
    const holding = async (capability: string) => {
      await server.root.write(`sys/policies/acl/${capability}`, {
        policy: `path "auth/jwt/role/*" { capabilities = ["${capability}"] }`,
      })
      return server.as(
        String(
          (await server.root.write('auth/token/create', { policies: [capability] })).body.auth?.client_token,
        ),
      )
    }
    const [create, update] = [await holding('create'), await holding('update')]

    expect((await update.write(path, least)).status).toBe(403)
    expect((await update.write(path, { ...least, token_ttl: 'x' })).status).toBe(400)
    expect((await create.write(path, least)).status).toBe(204)
    expect((await create.write(path, least)).status).toBe(403)
    expect((await update.write('auth/jwt/role/R', least)).status).toBe(204)
    expect((await update.read(path)).status).toBe(403)
    expect((await update.delete(path)).status).toBe(403)
    expect((await update.list('auth/jwt/role')).status).toBe(403)
  })
})
