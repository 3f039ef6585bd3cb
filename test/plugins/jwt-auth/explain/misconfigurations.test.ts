import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorText } from '../../../support/error-bodies.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { signedWithSecret } from '../signer.ts'
import { checksOf } from './checks.ts'
import { type Fields, type LoginFixture, openLoginFixture } from './fixture.ts'

type Mistake = {
  readonly name: string
  readonly config?: (fixture: LoginFixture) => Fields
  readonly role?: Fields
  /** Overrides the claims of a valid token. */
  readonly claims?: Fields
  readonly jwt?: (fixture: LoginFixture) => Promise<string> | string
  readonly asked?: Fields
  readonly check: string
  readonly reason: string
  readonly hint?: string
}

const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .publicKey.export({ format: 'pem', type: 'spki' })
  .toString()
const discovered = ({ issuer }: LoginFixture) => ({ oidc_discovery_url: issuer.url })
const seconds = () => Math.floor(Date.now() / 1000)

/** Common mistakes, each found by one call of `explain`. */
const mistakes: readonly Mistake[] = [
  ...[
    {
      name: 'a slash behind the issuer',
      config: ({ issuer }: LoginFixture) => ({ bound_issuer: `${issuer.url}/` }),
      hint: 'differs_in_trailing_slash',
    },
    {
      name: 'an issuer in capitals',
      config: ({ issuer }: LoginFixture) => ({ bound_issuer: issuer.url.toUpperCase() }),
      hint: 'differs_in_case',
    },
    {
      name: 'a blank behind the issuer',
      config: ({ issuer }: LoginFixture) => ({ bound_issuer: `${issuer.url} ` }),
      hint: 'differs_in_white_space',
    },
    { name: 'tokens of another issuer', claims: { iss: 'https://elsewhere.example' } },
  ].map((one) => ({ ...one, check: 'issuer', reason: 'issuer_mismatch' })),
  ...[
    { name: 'an audience in capitals', claims: { aud: 'Gatehouse' }, hint: 'differs_in_case' },
    {
      name: 'a slash behind the audience',
      role: { bound_audiences: ['https://gate.example/'] },
      claims: { aud: ['https://gate.example'] },
      hint: 'differs_in_trailing_slash',
    },
    { name: 'a star in an audience', role: { bound_audiences: ['gate*'] }, hint: 'glob_in_string_mode' },
    { name: 'a token for nobody', claims: { aud: undefined } },
  ].map((one) => ({ ...one, check: 'audience', reason: 'audience_mismatch' })),
  {
    name: 'an audience the role does not ask for',
    role: { bound_audiences: [] },
    check: 'audience',
    reason: 'audience_unbound',
  },
  ...[
    {
      name: 'a blank behind the subject',
      role: { bound_subject: 'repo:acme/shop ' },
      hint: 'differs_in_white_space',
    },
    { name: 'a subject in capitals', role: { bound_subject: 'repo:Acme/shop' }, hint: 'differs_in_case' },
    { name: 'a star in the subject', role: { bound_subject: 'repo:acme/*' }, hint: 'glob_in_string_mode' },
  ].map((one) => ({ ...one, check: 'subject', reason: 'subject_mismatch' })),
  {
    name: 'a token kept for too long',
    claims: { iat: seconds() - 7200, exp: seconds() - 3600 },
    check: 'times',
    reason: 'expired',
  },
  { name: 'a token for later', claims: { nbf: seconds() + 3600 }, check: 'times', reason: 'not_yet_valid' },
  {
    name: 'a token without times',
    claims: { iat: undefined, exp: undefined },
    check: 'times',
    reason: 'times_missing',
  },
  {
    name: 'a time as text',
    claims: { exp: `${seconds() + 300}` },
    check: 'claims',
    reason: 'claim_type_invalid',
    hint: 'differs_in_type',
  },
  ...[
    {
      name: 'a number for a text',
      role: { bound_claims: { run: 7 } },
      claims: { run: '7' },
      hint: 'differs_in_type',
    },
    {
      name: 'a text for a number',
      role: { bound_claims: { run: '7' } },
      claims: { run: 7 },
      hint: 'differs_in_type',
    },
    {
      name: 'a text for a bool',
      role: { bound_claims: { protected: 'true' } },
      claims: { protected: true },
      hint: 'differs_in_type',
    },
    {
      name: 'one text for a list',
      role: { bound_claims: { env: 'prod, stage' } },
      claims: { env: 'stage' },
      hint: 'differs_in_type',
    },
    {
      name: 'a star without glob',
      role: { bound_claims: { ref: 'refs/heads/*' } },
      hint: 'glob_in_string_mode',
    },
    {
      name: 'a repository in capitals',
      role: { bound_claims: { repository: 'Acme/Shop' } },
      hint: 'differs_in_case',
    },
    { name: 'another branch', role: { bound_claims: { ref: 'refs/heads/release' } } },
    {
      name: 'a number in a list',
      role: { bound_claims: { ids: 5 } },
      claims: { ids: [5] },
      hint: 'differs_in_type',
    },
  ].map((one) => ({ ...one, check: 'bound_claims', reason: 'bound_claim_mismatch' })),
  ...[
    {
      name: 'the name of a claim in capitals',
      role: { bound_claims: { Repository: 'acme/shop' } },
      hint: 'differs_in_case',
    },
    {
      name: 'a path without a slash in front',
      role: { bound_claims: { 'job/env': 'prod' } },
      claims: { job: { env: 'prod' } },
      hint: 'write_as_json_pointer',
    },
    {
      name: 'a path with dots',
      role: { bound_claims: { 'kubernetes.namespace': 'prod' } },
      claims: { kubernetes: { namespace: 'prod' } },
      hint: 'write_as_json_pointer',
    },
    {
      name: 'a path through a name with a dot',
      role: { bound_claims: { 'kubernetes.io/namespace': 'prod' } },
      claims: { 'kubernetes.io': { namespace: 'prod' } },
      hint: 'write_as_json_pointer',
    },
    {
      name: 'a path that leads nowhere either',
      role: { bound_claims: { 'job/env': 'prod' } },
      claims: { job: { name: 'x' } },
    },
    {
      name: 'a claim that is elsewhere',
      role: { bound_claims: { '/job/env': 'prod' } },
      claims: { job: { name: 'x' } },
    },
  ].map((one) => ({ ...one, check: 'bound_claims', reason: 'bound_claim_missing' })),
  {
    name: 'the keys before a rotation',
    config: () => ({ jwt_validation_pubkeys: [otherKey] }),
    check: 'signature',
    reason: 'signature_invalid',
  },
  {
    name: 'a key nobody published',
    config: discovered,
    jwt: ({ sign }) => sign({}, { header: { kid: 'gone' } }),
    check: 'signature',
    reason: 'key_unknown',
  },
  {
    name: 'an algorithm that is not listed',
    config: () => ({ jwt_supported_algs: ['ES256'] }),
    check: 'algorithm',
    reason: 'algorithm_not_allowed',
  },
  {
    name: 'a shared secret',
    jwt: ({ claims }) => signedWithSecret('secret', claims()),
    check: 'signature',
    reason: 'algorithm_unsupported',
  },
  {
    name: 'the word Bearer before the token',
    jwt: async ({ sign }) => `Bearer ${await sign()}`,
    check: 'signature',
    reason: 'token_malformed',
  },
  { name: 'an empty variable', jwt: () => '', check: 'token', reason: 'token_missing' },
  {
    name: 'a user claim inside of another',
    role: { user_claim: '/job/user' },
    claims: { job: { user: 'x' } },
    check: 'user_claim',
    reason: 'user_claim_missing',
    hint: 'write_as_json_pointer',
  },
  {
    name: 'a path to the groups without a slash in front',
    role: { groups_claim: 'realm_access/roles' },
    claims: { realm_access: { roles: ['a'] } },
    check: 'groups',
    reason: 'groups_unavailable',
    hint: 'write_as_json_pointer',
  },
  {
    name: 'a user claim that is not there',
    role: { user_claim: 'email' },
    check: 'user_claim',
    reason: 'user_claim_missing',
  },
  {
    name: 'a user claim in capitals',
    role: { user_claim: 'Sub' },
    check: 'user_claim',
    reason: 'user_claim_missing',
    hint: 'differs_in_case',
  },
  {
    name: 'a number for a name',
    role: { user_claim: 'uid' },
    claims: { uid: 1000 },
    check: 'user_claim',
    reason: 'user_claim_invalid',
    hint: 'differs_in_type',
  },
  {
    name: 'groups the provider does not send',
    role: { groups_claim: 'groups' },
    check: 'groups',
    reason: 'groups_unavailable',
  },
  {
    name: 'groups that are not texts',
    role: { groups_claim: 'groups' },
    claims: { groups: { admins: true } },
    check: 'groups',
    reason: 'groups_invalid',
    hint: 'differs_in_type',
  },
  {
    name: 'a mapped claim that is a list, where only texts are',
    role: { claim_mappings: { teams: 'team' }, claim_mappings_text_only: true },
    claims: { teams: ['a'] },
    check: 'metadata',
    reason: 'mapping_invalid',
    hint: 'differs_in_type',
  },
  {
    name: 'a role for browsers',
    role: { role_type: 'oidc', allowed_redirect_uris: ['http://localhost:8250/oidc/callback'] },
    check: 'role',
    reason: 'role_type_refused',
  },
  { name: 'a role that is not there', asked: { role: 'cl' }, check: 'role', reason: 'role_unknown' },
  { name: 'no role, and no default', asked: { role: '' }, check: 'role', reason: 'role_missing' },
  {
    name: 'a proxy in between',
    role: { token_bound_cidrs: ['10.0.0.0/8'] },
    check: 'address',
    reason: 'address_not_bound',
  },
  {
    name: 'the policy root',
    role: { token_policies: ['root'] },
    check: 'policies',
    reason: 'policy_forbidden',
  },
  {
    name: 'a policy that no claim names',
    role: { token_policies: ['team-{{ .team }}'], token_policies_template_claims: true },
    check: 'policies',
    reason: 'policy_template_failed',
  },
  { name: 'a name of blanks', claims: { sub: ' ' }, check: 'user_claim', reason: 'user_claim_invalid' },
]

describe('common mistakes', () => {
  let fixture: LoginFixture
  beforeAll(async () => {
    fixture = await openLoginFixture()
  })
  afterAll(() => fixture[Symbol.asyncDispose]())

  test.each(mistakes)(
    '$name is named by one call of explain',
    async ({ config, role = {}, claims = {}, jwt, asked = {}, check, reason, hint = '' }) => {
      const mount = await fixture.mount({ config: config?.(fixture) ?? {}, role })
      const token = jwt === undefined ? await fixture.sign(claims) : await jwt(fixture)

      const explained = await fixture.explain(mount, { jwt: token, ...asked })
      const login = await fixture.login(mount, { jwt: token, ...asked })

      const { data } = explained.body
      const failed = checksOf(data).find(({ verdict }) => verdict === 'fail')
      expect(failed).toMatchObject({ name: check, reason, hint })
      expect({ status: data?.['status'], error: data?.['error'], reason: data?.['reason'] }).toEqual({
        status: login.status,
        error: errorText(login.body),
        reason,
      })
    },
  )

  test('there are at least thirty of them', () => {
    expect(mistakes.length).toBeGreaterThanOrEqual(30)
  })

  test('a mount that was never configured is named', async () => {
    const mount = await fixture.mount({ config: null })

    const { body } = await fixture.explain(mount, { jwt: 'x' })

    expect(body['data']).toMatchObject({
      allowed: false,
      status: 400,
      reason: 'config_missing',
      error: 'could not load configuration',
    })
    expect((await fixture.root.read(`auth/${mount}/status`)).body['data']).toMatchObject({
      ok: false,
      type: 'none',
      sources: [],
    })
  })

  test('a disabled person is named', async () => {
    const mount = await fixture.mount()
    const login = await fixture.login(mount, { jwt: await fixture.sign() })
    await fixture.root.write(`identity/entity/id/${String(login.body['auth']?.['entity_id'])}`, {
      disabled: true,
    })

    const { body } = await fixture.explain(mount, { jwt: await fixture.sign() })

    expect(body['data']).toMatchObject({
      allowed: false,
      status: 403,
      error: 'permission denied',
      reason: 'entity_disabled',
    })
  })

  test('a person who is a new entity because the user claim changed is named', async () => {
    const mount = await fixture.mount()
    const login = await fixture.login(mount, { jwt: await fixture.sign() })
    const asBefore = await fixture.explain(mount, { jwt: await fixture.sign() })
    await fixture.root.write(`auth/${mount}/role/ci`, { role_type: 'jwt', user_claim: 'repository' })

    const after = await fixture.explain(mount, { jwt: await fixture.sign() })

    expect(asBefore.body['data']?.['login']?.['alias']).toMatchObject({
      name: 'repo:acme/shop',
      entity_id: login.body['auth']?.['entity_id'],
    })
    expect(after.body['data']?.['login']?.['alias']).toMatchObject({ name: 'acme/shop', entity_id: '' })
  })

  test('keys that cannot be fetched are named', async () => {
    const mount = await fixture.mount({ config: discovered(fixture) })
    fixture.issuer.misbehave({ kind: 'html' }, 'jwks')
    try {
      const status = await fixture.root.read(`auth/${mount}/status?refresh=true`)
      const { body } = await fixture.explain(mount, { jwt: await fixture.sign() })

      expect(status.body['data']).toMatchObject({
        ok: false,
        sources: [withText({ reachable: false, keys: 0 })],
      })
      expect(body['data']).toMatchObject({ allowed: false, reason: 'keys_unavailable' })
    } finally {
      fixture.issuer.behave()
    }
  })
})

const withText = (source: object) => ({
  ...source,
  last_error: { text: expect.stringContaining('failed to decode keys') },
})

test.each([
  { name: 'behind', ahead: -900, reason: 'not_yet_valid' },
  { name: 'ahead', ahead: 900, reason: 'expired' },
])('a clock that is $name is named', async ({ ahead, reason }) => {
  const clock = new FakeClock(Date.now() + ahead * 1000)
  await using fixture = await openLoginFixture({ clock })
  const mount = await fixture.mount({ config: discovered(fixture) })

  const { body } = await fixture.explain(mount, { jwt: await fixture.sign({ nbf: seconds() }) })

  const checks = checksOf(body['data'])
  expect(checks.find(({ name }) => name === 'times')).toMatchObject({
    verdict: 'fail',
    reason,
    hint: 'clock_offset',
  })
  const offset = Number(body['data']?.['clock']?.['offset_seconds'])
  // the other clock advances, ours does not
  expect(offset).toBeGreaterThanOrEqual(-ahead - 1)
  expect(offset).toBeLessThanOrEqual((Date.now() - clock.now()) / 1000 + 1)
  expect(body['data']?.['clock']).toMatchObject({ source: fixture.issuer.url })
})
