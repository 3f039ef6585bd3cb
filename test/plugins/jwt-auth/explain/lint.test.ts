import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Fields, type LoginHouse, openLoginHouse } from './house.ts'

type Found = { readonly role: string; readonly code: string; readonly field: string; readonly text: string }

/** What is found in a role that is `goodRole` with this laid over. */
const cases: readonly { name: string; config?: Fields; role?: Fields; found: Record<string, string> }[] = [
  { name: 'a good role', found: {} },
  {
    name: 'no audience',
    role: { bound_audiences: [] },
    found: { no_audience: 'any token of the issuer without `aud` is accepted; set bound_audiences' },
  },
  {
    name: 'no issuer',
    config: { bound_issuer: '' },
    found: { no_issuer: 'neither bound_issuer nor a bound `iss` ties tokens to one issuer' },
  },
  { name: 'a bound iss will do', config: { bound_issuer: '' }, role: { bound_claims: { '/iss': 'https://ci' } }, found: {} },
  ...[
    ['sub', 'repo:*', true],
    ['sub', 'repo:acme*', true],
    ['sub', 'repo:acme/*', false],
    ['sub', 'project_path:acme/*', false],
    ['sub', 'system:serviceaccount:*', true],
    ['sub', 'system:serviceaccount:prod:*', false],
    ['repository', '*/shop', true],
    ['repository', 'acme/*', false],
    ['repository_owner', 'acme*', true],
    ['/repository_owner', 'acme*', true],
    ['ref', 'refs/*', false],
    ['email', '*@acme.com', false],
  ].map(([claim, value, isFound]) => ({
    name: `${claim} ${value}`,
    role: { bound_claims_type: 'glob', bound_claims: { [String(claim)]: [value], email_verified: 'true' } },
    found: (isFound === true ? { wildcard_owner: `${claim} "${value}" has its first \`*\` before the organisation ends` } : {}) as Record<
      string,
      string
    >,
  })),
  {
    name: 'a name that can change',
    role: { user_claim: 'preferred_username' },
    found: { mutable_user_claim: 'user_claim "preferred_username" can change or be reused; prefer sub or an id' },
  },
  {
    name: 'a name for each run',
    role: { user_claim: '/jti', user_claim_json_pointer: true },
    found: { unbounded_alias: 'user_claim "/jti" differs with each run; every login makes an entity' },
  },
  {
    name: 'an address nobody verified',
    role: { bound_claims: { email: 'a@b.c' } },
    found: { email_unverified: 'email decides, but email_verified is not bound to true' },
  },
  { name: 'an address that was', role: { bound_claims: { email: 'a@b.c', email_verified: true } }, found: {} },
  {
    name: 'an issuer of many',
    config: { bound_issuer: 'https://token.actions.githubusercontent.com' },
    role: { bound_claims: { ref: 'refs/heads/main' } },
    found: { multi_tenant_issuer: 'https://token.actions.githubusercontent.com serves many tenants; bind tid, hd or repository_owner_id' },
  },
  { name: 'one of them', config: { bound_issuer: 'https://token.actions.githubusercontent.com' }, found: {} },
  {
    name: 'any tenant of Entra',
    config: { bound_issuer: 'https://login.microsoftonline.com/common/v2.0' },
    found: { multi_tenant_issuer: 'https://login.microsoftonline.com/common/v2.0 serves many tenants; bind tid, hd or repository_owner_id' },
  },
  {
    name: 'redirects that never match',
    role: { role_type: 'oidc', allowed_redirect_uris: ['https://a/*', 'https://a/#x', 'https://a/?namespace=x', 'https://a/ok'] },
    found: {
      redirect_never_matches: '"https://a/*" has a wildcard, a fragment, or a namespace that namespace_in_state removes',
      'redirect_never_matches 2': '"https://a/#x" has a wildcard, a fragment, or a namespace that namespace_in_state removes',
      'redirect_never_matches 3': '"https://a/?namespace=x" has a wildcard, a fragment, or a namespace that namespace_in_state removes',
    },
  },
  {
    name: 'a star without glob',
    role: { bound_claims: { repository: 'acme/*' } },
    found: { glob_in_string_mode: '"acme/*" holds `*` but bound_claims_type is string' },
  },
  { name: 'a fraction', role: { bound_claims: { level: [1, 1.5] } }, found: { number_never_matches: 'level is bound to a fraction' } },
  {
    name: 'policies that are not there',
    role: { token_policies: ['deploy', 'Nope', 'default', 'gone'] },
    found: { policy_missing: 'token policies [gone nope] do not exist' },
  },
  {
    name: 'fields of browsers',
    role: { max_age: 60, oidc_scopes: ['email'], allowed_redirect_uris: ['http://localhost/cb'] },
    found: { no_effect: '[allowed_redirect_uris max_age oidc_scopes] have no effect on a role of type `jwt`' },
  },
  {
    name: 'fields of tokens',
    role: {
      role_type: 'oidc',
      allowed_redirect_uris: ['http://localhost/cb'],
      clock_skew_leeway: 5,
      expiration_leeway: -1,
      token_replay_protection: true,
    },
    found: { no_effect: '[clock_skew_leeway expiration_leeway token_replay_protection] have no effect on a role of type `oidc`' },
  },
]

describe('lint, contract jwt-oidc §11.6', () => {
  let house: LoginHouse
  beforeAll(async () => {
    house = await openLoginHouse()
  })
  afterAll(() => house[Symbol.asyncDispose]())
  const lint = async (mount: string, query = '') =>
    (await house.root.read(`auth/${mount}/lint${query}`)).body['data']?.['findings'] as unknown as Found[]

  test.each(cases)('$name', async ({ config = {}, role = {}, found }) => {
    const mount = await house.mount({ config, role })

    const findings = await lint(mount)

    const expected = Object.entries(found).map(([code, text]) => ({ role: 'ci', code: code.replace(/ \d$/, ''), text }))
    expect(findings.map(({ role: name, code, text }) => ({ role: name, code, text }))).toEqual(expected)
    for (const { field } of findings) expect(field).not.toBe('')
  })

  test('one role, or all; 404 for one that is not there', async () => {
    const mount = await house.mount({ role: { bound_audiences: [] } })
    await house.root.write(`auth/${mount}/role/second`, { role_type: 'jwt', user_claim: 'jti', bound_audiences: 'x' })

    expect((await lint(mount)).map(({ role, code }) => `${role} ${code}`)).toEqual(['ci no_audience', 'second unbounded_alias'])
    expect((await lint(mount, '?role=SECOND')).map(({ role }) => role)).toEqual(['second'])
    expect((await house.root.read(`auth/${mount}/lint?role=none`)).status).toBe(404)
  })

  test('a write says nothing of it, unless the mount is tuned so', async () => {
    const mount = await house.mount()
    const write = (fields: Fields) => house.root.write(`auth/${mount}/role/ci`, fields)
    expect((await write({ role_type: 'jwt', bound_audiences: [] })).status).toBe(204)
    expect((await house.root.write(`sys/auth/${mount}/tune`, { options: { role_lint: 'write' } })).status).toBe(204)

    const answer = await write({ role_type: 'jwt', policy: 'x', token_ttl: 60 })

    expect(answer).toMatchObject({ status: 200, body: { data: null } })
    expect(answer.body['warnings']).toEqual([
      'no_audience: any token of the issuer without `aud` is accepted; set bound_audiences',
      'kept_values: [bound_claims token_policies user_claim] keep values of an earlier write',
      'unknown_field: [policy] are not fields of a role',
      'Endpoint ignored these unrecognized parameters: [policy]',
    ])
  })

  test('a role as it should be is a write without words even then', async () => {
    const mount = await house.mount()
    await house.root.write(`sys/auth/${mount}/tune`, { options: { role_lint: 'write' } })

    const answer = await house.root.write(`auth/${mount}/role/new`, {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'x',
      token_policies: 'deploy',
    })

    expect(answer.status).toBe(204)
  })
})
