import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aSigner } from '../signer.ts'
import { type Fields, type LoginFixture, openLoginFixture } from './fixture.ts'

let fixture: LoginFixture
beforeAll(async () => {
  fixture = await openLoginFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

const shop = { repository: 'acme/shop' }

/** Each mistake with the fields that are proposed for the role. Of claims inside others nothing is remembered. */
const mistakes: readonly { name: string; role: Fields; claims?: Fields; fields: Fields; now?: string }[] = [
  {
    name: 'an audience in capitals',
    role: { bound_audiences: ['Gatehouse'] },
    fields: { bound_audiences: ['Gatehouse', 'gatehouse'] },
  },
  {
    name: 'of several audiences the one that was meant',
    role: { bound_audiences: ['gatehouse/'] },
    claims: { aud: ['elsewhere', 'gatehouse'] },
    fields: { bound_audiences: ['gatehouse/', 'gatehouse'] },
  },
  { name: 'no audience', role: { bound_audiences: [] }, fields: { bound_audiences: ['gatehouse'] } },
  { name: 'another subject', role: { bound_subject: 'x' }, fields: { bound_subject: 'repo:acme/shop' } },
  {
    name: 'another branch',
    role: { bound_claims: { ...shop, ref: 'refs/heads/dev' } },
    fields: { bound_claims: { ...shop, ref: ['refs/heads/dev', 'refs/heads/main'] } },
  },
  {
    name: 'two claims at once',
    role: { bound_claims: { repository: 'Acme/Shop', ref: ['refs/heads/dev'] } },
    fields: {
      bound_claims: { repository: ['Acme/Shop', 'acme/shop'], ref: ['refs/heads/dev', 'refs/heads/main'] },
    },
  },
  {
    name: 'a number for a text',
    role: { bound_claims: { run: 7 } },
    claims: { run: '7' },
    fields: { bound_claims: { run: [7, '7'] } },
  },
  {
    name: 'a star without glob',
    role: { bound_claims: { ref: 'refs/heads/*' } },
    fields: { bound_claims_type: 'glob' },
  },
  {
    name: 'a claim inside another one',
    role: { bound_claims: { 'job.env': 'prod' } },
    claims: { job: { env: 'prod' } },
    fields: { bound_claims: { '/job/env': 'prod' } },
    now: 'unknown',
  },
  {
    name: 'a claim that is deeper',
    role: { bound_claims: { env: 'prod' } },
    claims: { job: { env: 'prod' } },
    fields: { bound_claims: { '/job/env': 'prod' } },
    now: 'unknown',
  },
  {
    name: 'the name of a claim in capitals',
    role: { bound_claims: { Repository: 'acme/shop' } },
    fields: { bound_claims: shop },
  },
  { name: 'the user claim in capitals', role: { user_claim: 'Sub' }, fields: { user_claim: 'sub' } },
  {
    name: 'a user claim inside another one',
    role: { user_claim: 'user.id' },
    claims: { user: { id: 'ann' } },
    fields: { user_claim: '/user/id', user_claim_json_pointer: true },
    now: 'unknown',
  },
  { name: 'no groups', role: { groups_claim: 'groups' }, fields: { groups_claim_optional: true } },
  {
    name: 'groups under another name',
    role: { groups_claim: 'Groups' },
    claims: { groups: ['dev'] },
    fields: { groups_claim: 'groups' },
  },
  {
    name: 'groups that are the keys of an object',
    role: { groups_claim: 'groups' },
    claims: { groups: { dev: {}, ops: {} } },
    fields: { groups_claim_type: 'object_keys' },
  },
  {
    name: 'a policy that no login gets',
    role: { token_policies: ['deploy', 'root'] },
    fields: { token_policies: ['deploy'] },
  },
  {
    name: 'a mapped claim that is no text',
    role: { claim_mappings: { run: 'run' }, claim_mappings_text_only: true },
    claims: { run: 7 },
    fields: { claim_mappings_text_only: false },
  },
]

describe('a refused login comes with fields of the role that let it in', () => {
  test.each(mistakes)('$name', async ({ role, claims, fields, now = 'allowed' }) => {
    const mount = await fixture.mount({ role })
    const jwt = await fixture.sign(claims)
    const refused = await fixture.login(mount, { jwt })
    const written = { role_type: 'jwt', ...fields }

    const shown = await fixture.root.read(`auth/${mount}/explain?request_id=${refused.body.request_id}`)
    const tried = await fixture.explain(mount, { jwt, role_fields: written })
    const unsaved = await fixture.login(mount, { jwt })
    await fixture.root.write(`auth/${mount}/role/ci`, written)
    const again = await fixture.root.read(`auth/${mount}/explain?request_id=${refused.body.request_id}`)

    expect(shown.body.data?.['proposals']).toEqual([{ path: 'role/ci', fields }])
    expect([shown.body.data?.['now'], again.body.data?.['now']]).toEqual(['refused', now])
    expect(tried.body.data).toMatchObject({ allowed: true, proposals: [] })
    expect(unsaved.status).not.toBe(200)
    expect((await fixture.login(mount, { jwt })).status).toBe(200)
  })
})

test('a misspelled issuer is proposed for the configuration, another one is not', async () => {
  const misspelled = await fixture.mount({ config: { bound_issuer: `${fixture.issuer.url}/` } })
  const other = await fixture.mount({ config: { bound_issuer: 'https://elsewhere.example' } })
  const jwt = await fixture.sign()

  const proposals = async (mount: string) => (await fixture.explain(mount, { jwt })).body.data?.['proposals']

  expect(await proposals(misspelled)).toEqual([
    { path: 'config', fields: { bound_issuer: fixture.issuer.url } },
  ])
  expect(await proposals(other)).toEqual([])
})

test('an algorithm that a valid signature has is proposed for the configuration', async () => {
  const mount = await fixture.mount({ config: { jwt_supported_algs: ['ES256'] } })

  const { body } = await fixture.explain(mount, { jwt: await fixture.sign() })

  expect(body.data).toMatchObject({
    reason: 'algorithm_not_allowed',
    proposals: [{ path: 'config', fields: { jwt_supported_algs: ['ES256', 'RS256'] } }],
  })
})

test.each([
  { name: 'several values, none of them nearly right', claims: { aud: ['one', 'two'] } },
  { name: 'a text that is too long to be shown whole', claims: { aud: 'x'.repeat(300) } },
  { name: 'a list of numbers', role: { bound_claims: { ids: 5 } }, claims: { ids: [5] } },
  { name: 'a claim that is nowhere', role: { bound_claims: { env: 'prod' } } },
  { name: 'an expired token', claims: { iat: 1_700_000_000, exp: 1_700_000_300 } },
])('nothing is proposed for $name', async ({ role = {}, claims = {} }) => {
  const mount = await fixture.mount({ role })

  const { body } = await fixture.explain(mount, { jwt: await fixture.sign(claims) })

  expect(body.data).toMatchObject({ allowed: false, proposals: [] })
})

test('nothing is proposed that an unknown signer says', async () => {
  const mount = await fixture.mount()
  const jwt = aSigner('RS256').sign(fixture.claims({ repository: 'mallory/shop' }))
  const refused = await fixture.login(mount, { jwt })

  const shown = await fixture.root.read(`auth/${mount}/explain?request_id=${refused.body.request_id}`)
  const tried = await fixture.explain(mount, { jwt })
  const claims = await fixture.explain(mount, { claims: fixture.claims({ repository: 'acme/other' }) })

  expect(shown.body.data?.['proposals']).toEqual([])
  expect(tried.body.data?.['proposals']).toEqual([])
  expect(claims.body.data?.['proposals']).toEqual([
    { path: 'role/ci', fields: { bound_claims: { repository: ['acme/shop', 'acme/other'] } } },
  ])
})

test('an address is proposed with the token at hand: a login from there was refused before its signature was checked', async () => {
  const mount = await fixture.mount({ role: { token_bound_cidrs: ['10.0.0.0/8'] } })
  const jwt = await fixture.sign()
  const refused = await fixture.login(mount, { jwt })

  const shown = await fixture.root.read(`auth/${mount}/explain?request_id=${refused.body.request_id}`)
  const tried = await fixture.explain(mount, { jwt })

  expect(shown.body.data).toMatchObject({ reason: 'address_not_bound', proposals: [] })
  expect(tried.body.data?.['proposals']).toEqual([
    { path: 'role/ci', fields: { token_bound_cidrs: ['10.0.0.0/8', '127.0.0.1'] } },
  ])
})

describe('an unsaved role', () => {
  test('may be new, is refused like a write of it, and needs update of the role', async () => {
    const mount = await fixture.mount()
    const policy = `path "auth/${mount}/*" { capabilities = ["read", "update"] }
      path "auth/${mount}/role/ci" { capabilities = ["read"] }`
    await fixture.root.write('sys/policies/acl/reader', { policy })
    const made = await fixture.root.write('auth/token/create', { policies: ['reader'] })
    const reader = fixture.server.as(String(made.body.auth?.client_token))
    const claims = fixture.claims()
    const role_fields = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['gatehouse'] }

    const fresh = await fixture.explain(mount, { role: 'new', claims, role_fields })
    const unbound = await fixture.explain(mount, {
      role: 'new',
      claims,
      role_fields: { role_type: 'jwt', user_claim: 'sub' },
    })
    const odd = await fixture.explain(mount, { claims, role_fields: { token_ttl: 'soon' } })
    const ofCel = await fixture.explain(mount, { role: 'cel/x', claims, role_fields: {} })
    const denied = await reader.write(`auth/${mount}/explain`, { role: 'ci', claims, role_fields })
    const allowed = await reader.write(`auth/${mount}/explain`, { role: 'ci', claims })
    await fixture.root.write('sys/policies/acl/explainer', {
      policy: `path "auth/${mount}/explain" { capabilities = ["update"] }`,
    })
    const explainer = await fixture.root.write('auth/token/create', { policies: ['explainer'] })
    const ofExplainer = fixture.server.as(String(explainer.body.auth?.client_token))
    const unwritable = await ofExplainer.write(`auth/${mount}/explain`, { role: 'new', claims, role_fields })

    expect(fresh.body.data).toMatchObject({ allowed: true, role: 'new' })
    expect(unbound.body.errors).toEqual([
      'must have at least one bound constraint when creating/updating a role',
    ])
    expect([odd.status, ofCel.body.errors]).toEqual([400, ["missing required field 'cel_program'"]])
    expect([denied.status, allowed.status, unwritable.status]).toEqual([403, 200, 403])
    expect((await fixture.root.read(`auth/${mount}/role/new`)).status).toBe(404)
  })

  test('of CEL is judged with the signature, and is not stored', async () => {
    const mount = await fixture.mount()
    const jwt = await fixture.sign()
    const forged = aSigner('RS256').sign(fixture.claims())
    const role_fields = {
      bound_audiences: ['gatehouse'],
      cel_program: { expression: 'claims.repository == "acme/shop" ? pb.Auth{policies: ["ci"]} : false' },
    }
    const explain = (fields: object) => fixture.explain(mount, { role: 'cel/new', role_fields, ...fields })

    const let_in = await explain({ jwt })
    const unsigned = await explain({ jwt: forged })
    const other = await explain({ jwt, role_fields: { ...role_fields, bound_audiences: ['other'] } })

    expect(let_in.body.data).toMatchObject({ allowed: true, login: { token_policies: ['ci', 'default'] } })
    expect(unsigned.body.data).toMatchObject({ allowed: false, reason: 'signature_invalid' })
    expect(other.body.data).toMatchObject({ allowed: false, reason: 'audience_mismatch' })
    expect((await fixture.root.read(`auth/${mount}/cel/role/new`)).status).toBe(404)
  })

  test('for browsers is judged with an ID token that the provider has signed', async () => {
    const mount = await fixture.mount({
      config: {
        oidc_discovery_url: fixture.issuer.url,
        oidc_client_id: 'gatehouse',
        oidc_client_secret: 's',
      },
    })
    const role_fields = {
      role_type: 'oidc',
      user_claim: 'sub',
      allowed_redirect_uris: ['https://vault.example/ui/callback'],
      bound_claims: { repository: 'acme/shop' },
    }
    const explain = (jwt: string, fields: object = {}) =>
      fixture.explain(mount, {
        role: 'people',
        jwt,
        id_token: true,
        role_fields: { ...role_fields, ...fields },
      })
    const verdicts = (data: Fields | undefined) =>
      Object.fromEntries(
        ((data?.['checks'] ?? []) as unknown as { name: string; verdict: string }[]).map((one) => [
          one.name,
          one.verdict,
        ]),
      )

    const jwt = await fixture.sign({ nonce: 'n' })
    const let_in = (await explain(jwt)).body.data
    const refused = (await explain(jwt, { bound_claims: { repository: 'acme/other' } })).body.data
    const ofAnother = (await explain(await fixture.sign({ aud: 'another-client' }))).body.data
    const forged = (await explain(aSigner('RS256').sign(fixture.claims()))).body.data
    const withoutToken = await fixture.explain(mount, { role: 'people', claims: {}, id_token: true })

    expect(let_in).toMatchObject({ allowed: true, login: { display_name: expect.any(String) } })
    expect(verdicts(let_in)).toMatchObject({ provider: 'pass', signature: 'pass', audience: 'pass' })
    expect(refused).toMatchObject({
      reason: 'bound_claim_mismatch',
      proposals: [
        { path: 'role/people', fields: { bound_claims: { repository: ['acme/other', 'acme/shop'] } } },
      ],
    })
    expect(ofAnother).toMatchObject({ allowed: false, reason: 'authorized_party_mismatch', proposals: [] })
    expect(forged).toMatchObject({ allowed: false, reason: 'signature_invalid', proposals: [] })
    expect(withoutToken.body.errors).toEqual(["'id_token' needs a 'jwt' and an ordinary role"])
  })
})
