import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Fields, type LoginFixture, openLoginFixture } from './fixture.ts'

type Found = { readonly role: string; readonly code: string; readonly field: string; readonly text: string }

/** The findings for `goodRole` with these overrides. */
const cases: readonly { name: string; config?: Fields; role?: Fields; found: Record<string, string> }[] = [
  { name: 'a good role', found: {} },
  {
    name: 'no audience',
    role: { bound_audiences: [] },
    found: { no_audience: 'any token of the issuer without `aud` is accepted; set bound_audiences' },
  },
  {
    name: 'roles that no JWT is a token with',
    config: { accept_as_token: true },
    role: { bound_audiences: [], token_replay_protection: true },
    found: {
      no_audience: 'any token of the issuer without `aud` is accepted; set bound_audiences',
      token_without_audience:
        'the mount accepts JWTs as tokens, but refuses them for this role: set bound_audiences',
      token_used_once:
        'the mount accepts JWTs as tokens, but refuses them for this role: one request would use them up',
    },
  },
  {
    name: 'no issuer',
    config: { bound_issuer: '' },
    found: { no_issuer: 'neither bound_issuer nor a bound `iss` ties tokens to one issuer' },
  },
  {
    name: 'a bound iss will do',
    config: { bound_issuer: '' },
    role: { bound_claims: { '/iss': 'https://ci' } },
    found: {},
  },
  ...[
    ['sub', 'repo:*', true],
    ['sub', 'repo:acme*', true],
    ['sub', 'repo:acme/*', false],
    ['sub', 'project_path:acme/*', false],
    ['sub', 'system:serviceaccount:*', true],
    ['sub', 'system:serviceaccount:prod:*', false],
    ['sub', 'organization:acme:project:shop:workspace:prod:run_phase:*', false],
    ['sub', 'organization:acme:project:*:workspace:prod:run_phase:*', false],
    ['sub', 'organization:acme*:project:shop:workspace:prod:run_phase:apply', true],
    ['sub', 'organization:*:workspace:prod:run_phase:apply', true],
    ['sub', 'spiffe://*/ns/prod/sa/shop', true],
    ['sub', 'spiffe://acme*/ns/prod', true],
    ['sub', 'spiffe://acme.example/ns/*', false],
    ['sub', 'sc://*/shop/azure', true],
    ['sub', 'sc://acme/*', false],
    ['sub', 'org/*', true],
    ['sub', 'org/7c1a/project/*', false],
    ['sub', '/*', true],
    ['sub', 'repo:*/shop:ref:refs/heads/main', true],
    ['ci_config_ref_uri', 'gitlab.com/*', true],
    ['ci_config_ref_uri', 'gitlab.com/acme/*', false],
    ['iss', 'https://*', true],
    ['terraform_organization_name', 'acme*', true],
    ['repository', '*/shop', true],
    ['repository', 'acme/*', false],
    ['repository_owner', 'acme*', true],
    ['/repository_owner', 'acme*', true],
    ['ref', 'refs/*', false],
    ['email', '*@acme.com', false],
  ].map(([claim, value, isFound]) => ({
    name: `${claim} ${value}`,
    role: { bound_claims_type: 'glob', bound_claims: { [String(claim)]: [value], email_verified: 'true' } },
    found: (isFound === true
      ? { wildcard_owner: `${claim} "${value}" has its first \`*\` before the organisation ends` }
      : {}) as Record<string, string>,
  })),
  {
    name: 'a star in a long name beside an owner that is given in full',
    role: {
      bound_claims_type: 'glob',
      bound_claims: { sub: 'repo:*:environment:prod', repository_owner_id: '65' },
    },
    found: {},
  },
  {
    name: 'a star in a long name beside an owner that has one too',
    role: {
      bound_claims_type: 'glob',
      bound_claims: { sub: 'repo:*:environment:prod', repository_owner: ['acme', 'b*'] },
    },
    found: {
      wildcard_owner: 'sub "repo:*:environment:prod" has its first `*` before the organisation ends',
      'wildcard_owner 2': 'repository_owner "b*" has its first `*` before the organisation ends',
    },
  },
  ...[
    { claim: 'actor', issuer: 'https://token.actions.githubusercontent.com', better: 'actor_id' },
    { claim: 'repository', issuer: 'https://github.acme.example/_services/token', better: 'repository_id' },
    { claim: 'ref', issuer: 'https://token.actions.githubusercontent.com', better: 'repository_id' },
    { claim: 'project_path', issuer: 'https://gitlab.acme.example', better: 'project_id' },
    { claim: 'user_login', issuer: 'https://gitlab.com', better: 'user_id' },
    {
      claim: 'preferred_username',
      issuer: 'https://login.microsoftonline.com/9a3d4b10-2c55-4f1e-8a77-51f0a2b6c9d3/v2.0',
      better: 'oid',
    },
    { claim: 'name', issuer: 'https://accounts.google.com', better: 'sub' },
    { claim: 'nickname', issuer: 'https://acme.eu.auth0.com/', better: 'sub or an id' },
  ].map(({ claim, issuer, better }) => ({
    name: `a name of ${issuer} that can change: ${claim}`,
    config: { bound_issuer: issuer },
    role: { user_claim: claim, bound_claims: { sub: 'x' } },
    found: {
      mutable_user_claim: `user_claim "${claim}" can change or be reused; prefer ${better}`,
    } as Record<string, string>,
  })),
  {
    name: 'an address of an issuer that verifies none',
    config: { bound_issuer: 'https://login.microsoftonline.com/9a3d4b10-2c55-4f1e-8a77-51f0a2b6c9d3/v2.0' },
    role: { bound_claims: { email: 'a@b.c' } },
    found: {
      email_unverified:
        'email decides, but this issuer does not say whether an address is verified; decide by oid',
    },
  },
  ...[
    { issuer: 'https://accounts.google.com', bind: 'hd' },
    { issuer: 'https://gitlab.com', bind: 'namespace_id or project_id' },
    { issuer: 'https://app.terraform.io', bind: 'terraform_organization_id or terraform_workspace_id' },
    { issuer: 'https://agent.buildkite.com', bind: 'organization_id or pipeline_id' },
  ].map(({ issuer, bind }) => ({
    name: `the tenants of ${issuer}`,
    config: { bound_issuer: issuer },
    role: { bound_claims: { ref: 'refs/heads/main' } },
    found: { multi_tenant_issuer: `${issuer} serves many tenants; bind ${bind}` } as Record<string, string>,
  })),
  {
    name: 'a name that can change',
    role: { user_claim: 'preferred_username' },
    found: {
      mutable_user_claim: 'user_claim "preferred_username" can change or be reused; prefer sub or an id',
    },
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
  {
    name: 'an address that was',
    role: { bound_claims: { email: 'a@b.c', email_verified: true } },
    found: {},
  },
  {
    name: 'an issuer of many',
    config: { bound_issuer: 'https://token.actions.githubusercontent.com' },
    role: { bound_claims: { ref: 'refs/heads/main' } },
    found: {
      multi_tenant_issuer:
        'https://token.actions.githubusercontent.com serves many tenants; bind repository_owner_id or repository_id',
    },
  },
  { name: 'one of them', config: { bound_issuer: 'https://token.actions.githubusercontent.com' }, found: {} },
  {
    name: 'any tenant of Entra',
    config: { bound_issuer: 'https://login.microsoftonline.com/common/v2.0' },
    found: {
      multi_tenant_issuer: 'https://login.microsoftonline.com/common/v2.0 serves many tenants; bind tid',
    },
  },
  {
    name: 'redirects that never match',
    role: {
      role_type: 'oidc',
      allowed_redirect_uris: ['https://a/*', 'https://a/#x', 'https://a/?namespace=x', 'https://a/ok'],
    },
    found: {
      redirect_never_matches:
        '"https://a/*" has a wildcard, a fragment, or a namespace that namespace_in_state removes',
      'redirect_never_matches 2':
        '"https://a/#x" has a wildcard, a fragment, or a namespace that namespace_in_state removes',
      'redirect_never_matches 3':
        '"https://a/?namespace=x" has a wildcard, a fragment, or a namespace that namespace_in_state removes',
    },
  },
  {
    name: 'a star without glob',
    role: { bound_claims: { repository: 'acme/*' } },
    found: { glob_in_string_mode: '"acme/*" holds `*` but bound_claims_type is string' },
  },
  {
    name: 'a fraction',
    role: { bound_claims: { level: [1, 1.5] } },
    found: { number_never_matches: 'level is bound to a fraction' },
  },
  {
    name: 'policies that are not there',
    role: { token_policies: ['deploy', 'Nope', 'default', 'gone'] },
    found: { policy_missing: 'token policies [gone nope] do not exist' },
  },
  {
    name: 'fields of browsers',
    role: { max_age: 60, oidc_scopes: ['email'], allowed_redirect_uris: ['http://localhost/cb'] },
    found: {
      no_effect: '[allowed_redirect_uris max_age oidc_scopes] have no effect on a role of type `jwt`',
    },
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
    found: {
      no_effect:
        '[clock_skew_leeway expiration_leeway token_replay_protection] have no effect on a role of type `oidc`',
    },
  },
]

describe('lint', () => {
  let fixture: LoginFixture
  beforeAll(async () => {
    fixture = await openLoginFixture()
  })
  afterAll(() => fixture[Symbol.asyncDispose]())
  const lint = async (mount: string, query = '') =>
    (await fixture.root.read(`auth/${mount}/lint${query}`)).body['data']?.['findings'] as unknown as Found[]

  test.each(cases)('$name', async ({ config = {}, role = {}, found }) => {
    const mount = await fixture.mount({ config, role })

    const findings = await lint(mount)

    const expected = Object.entries(found).map(([code, text]) => ({
      role: 'ci',
      code: code.replace(/ \d$/, ''),
      text,
    }))
    expect(findings.map(({ role: name, code, text }) => ({ role: name, code, text }))).toEqual(expected)
    for (const { field } of findings) expect(field).not.toBe('')
  })

  test('lint checks one role or all, and is 404 for an unknown role', async () => {
    const mount = await fixture.mount({ role: { bound_audiences: [] } })
    await fixture.root.write(`auth/${mount}/role/second`, {
      role_type: 'jwt',
      user_claim: 'jti',
      bound_audiences: 'x',
    })

    expect((await lint(mount)).map(({ role, code }) => `${role} ${code}`)).toEqual([
      'ci no_audience',
      'second unbounded_alias',
    ])
    expect((await lint(mount, '?role=SECOND')).map(({ role }) => role)).toEqual(['second'])
    expect((await fixture.root.read(`auth/${mount}/lint?role=none`)).status).toBe(404)
  })

  test('a write shows findings only when the mount is tuned to', async () => {
    const mount = await fixture.mount()
    const write = (fields: Fields) => fixture.root.write(`auth/${mount}/role/ci`, fields)
    expect((await write({ role_type: 'jwt', bound_audiences: [] })).status).toBe(204)
    expect(
      (await fixture.root.write(`sys/auth/${mount}/tune`, { options: { role_lint: 'write' } })).status,
    ).toBe(204)

    const answer = await write({ role_type: 'jwt', policy: 'x', token_ttl: 60 })

    expect(answer).toMatchObject({ status: 200, body: { data: null } })
    expect(answer.body['warnings']).toEqual([
      'no_audience: any token of the issuer without `aud` is accepted; set bound_audiences',
      'kept_values: [bound_claims token_policies user_claim] keep values of an earlier write',
      'unknown_field: [policy] are not fields of a role; policy: did you mean "token_policies"?',
      'Endpoint ignored these unrecognized parameters: [policy]',
    ])
  })

  test.each([
    ['bound_audience', 'bound_audiences'],
    ['boundAudiences', 'bound_audiences'],
    ['bound-claims', 'bound_claims'],
    ['audiences', 'bound_audiences'],
    ['claim_mapping', 'claim_mappings'],
    ['allowed_redirect_urls', 'allowed_redirect_uris'],
    ['user_clam', 'user_claim'],
    ['group_claim', 'groups_claim'],
    ['tok_ttl', 'token_ttl'],
    ['tll', 'token_ttl'],
    ['something_else', undefined],
    ['x', undefined],
    ['b'.repeat(4096), undefined],
  ])('a field that is written $0 suggests $1', async (name, meant) => {
    const mount = await fixture.mount()
    await fixture.root.write(`sys/auth/${mount}/tune`, { options: { role_lint: 'write' } })

    const answer = await fixture.root.write(`auth/${mount}/role/new`, {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_subject: 'x',
      [name]: 'x',
    })

    const warning = String(answer.body['warnings']?.['1'])
    expect(warning.startsWith('unknown_field: [')).toBe(true)
    expect(/did you mean "(.*)"\?$/.exec(warning)?.[1]).toBe(meant)
    expect(warning.length).toBeLessThan(600)
  })

  test('a sound role causes no warnings even if the mount is tuned to lint', async () => {
    const mount = await fixture.mount()
    await fixture.root.write(`sys/auth/${mount}/tune`, { options: { role_lint: 'write' } })

    const answer = await fixture.root.write(`auth/${mount}/role/new`, {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'x',
      token_policies: 'deploy',
    })

    expect(answer.status).toBe(204)
  })
})
