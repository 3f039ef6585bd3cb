import { expect, test } from 'vitest'
import type { CreateInput } from '../../../src/core/tokens/acts/create-input.ts'
import type { CreateRequest } from '../../../src/core/tokens/acts/create-token.ts'
import { lookupData } from '../../../src/core/tokens/acts/lookup-data.ts'
import { defaultTtl, openTokenFixture } from '../../support/token-fixture.ts'

type Fixture = Awaited<ReturnType<typeof openTokenFixture>>

const refusal = async (
  fixture: Fixture,
  input: Partial<CreateInput>,
  request: Partial<CreateRequest> = {},
) => {
  const failure: unknown = await fixture.create(input, request).then(
    () => undefined,
    (error: unknown) => error,
  )
  return failure instanceof Error ? { text: failure.message, ...failure } : undefined
}

/** A valid token created by root, which then creates another one. */
const callerWith = async (fixture: Fixture, input: Partial<CreateInput>) =>
  fixture.lookup((await fixture.create(input)).auth.client_token)

test('a child of root is root, does not expire and gets no warnings', async () => {
  await using fixture = await openTokenFixture()

  const { auth, warnings } = await fixture.create()

  expect(auth).toEqual({
    client_token: expect.stringMatching(/^hvs\.[0-9A-Za-z]{24}$/),
    accessor: expect.stringMatching(/^[0-9A-Za-z]{24}$/),
    policies: ['root'],
    token_policies: ['root'],
    metadata: null,
    lease_duration: 0,
    renewable: false,
    entity_id: '',
    token_type: 'service',
    orphan: false,
    mfa_requirement: null,
    num_uses: 0,
  })
  expect(warnings).toEqual([])
})

const customId =
  'Supplying a custom ID for the token uses the weaker SHA1 hashing instead of the more secure SHA2-256 HMAC for token obfuscation. SHA1 hashed tokens on the wire leads to less secure lookups.'

test.each<{
  row: string
  input: Partial<CreateInput>
  auth: object
  warnings?: string[]
  data?: object
  absent?: string[]
}>([
  {
    row: 'named policies',
    input: { policies: ['web'] },
    auth: { policies: ['default', 'web'], lease_duration: defaultTtl, renewable: true },
  },
  {
    row: 'unknown policies',
    input: { policies: ['nope', 'also'] },
    auth: {},
    warnings: ['Policy "also" does not exist', 'Policy "nope" does not exist'],
  },
  { row: 'a TTL', input: { policies: ['web'], ttl: '1h' }, auth: { lease_duration: 3600 } },
  { row: 'a TTL by its old name', input: { policies: ['web'], lease: '1h' }, auth: { lease_duration: 3600 } },
  {
    row: 'lease beside ttl is not even read',
    input: { policies: ['web'], ttl: '1h', lease: 'x' },
    auth: { lease_duration: 3600 },
  },
  {
    row: 'a TTL above the maximum',
    input: { policies: ['web'], ttl: '800h' },
    auth: { lease_duration: 2764800 },
    warnings: ['TTL of "800h" exceeded the effective max_ttl of "768h"; TTL value is capped accordingly'],
  },
  {
    row: 'a period',
    input: { policies: ['web'], period: '24h' },
    auth: { lease_duration: 86400 },
    data: { period: 86400, creation_ttl: 86400 },
  },
  {
    row: 'a cut period is shown as asked',
    input: { policies: ['web'], period: '600', explicit_max_ttl: '400' },
    auth: { lease_duration: 400 },
    warnings: [
      'period of "10m" exceeded the effective max_ttl of "6m40s"; period value is capped accordingly',
    ],
    data: { period: 600, explicit_max_ttl: 400, ttl: 400 },
  },
  {
    row: 'root with only an explicit maximum',
    input: { explicit_max_ttl: '90m' },
    auth: { policies: ['root'], lease_duration: 5400, renewable: true },
    data: { explicit_max_ttl: 5400, creation_ttl: 5400 },
  },
  {
    row: 'a period of zero',
    input: { policies: ['web'], period: '0s' },
    auth: { lease_duration: defaultTtl },
    absent: ['period'],
  },
  {
    row: 'an id of its own',
    input: { id: 'foobar', policies: ['web'] },
    auth: { client_token: 'foobar' },
    warnings: [customId],
    data: { id: 'foobar' },
  },
  {
    row: 'a display name',
    input: { display_name: 'foo_bar.baz!' },
    auth: {},
    data: { display_name: 'token-foo-bar-baz' },
  },
  {
    row: 'no policy at all',
    input: { policies: ['default'], no_default_policy: true },
    auth: { policies: [] },
    data: { policies: [] },
    absent: ['token_policies'],
  },
  { row: 'not renewable', input: { policies: ['web'], renewable: false }, auth: { renewable: false } },
  {
    row: 'limited uses',
    input: { policies: ['web'], num_uses: 3 },
    auth: { num_uses: 3 },
    data: { num_uses: 3 },
  },
  {
    row: 'metadata',
    input: { meta: { user: 'armon' } },
    auth: { metadata: { user: 'armon' } },
    data: { meta: { user: 'armon' } },
  },
  {
    row: 'no_parent',
    input: { no_parent: true },
    auth: { orphan: true },
    data: { orphan: true, path: 'auth/token/create' },
  },
  { row: 'the type service', input: { policies: ['web'], type: 'service' }, auth: { token_type: 'service' } },
])('$row: create $input', async ({ input, auth, warnings = [], data = {}, absent = [] }) => {
  await using fixture = await openTokenFixture()

  const made = await fixture.create(input)

  expect(made.auth).toMatchObject(auth)
  expect(made.warnings).toEqual(warnings)
  const id = made.auth.client_token
  const shown = lookupData(await fixture.lookup(id), {
    id,
    now: fixture.clock.now(),
    identityPolicies: [],
    namespacePath: '',
  })
  expect(shown).toMatchObject(data)
  for (const key of absent) expect([...Object.keys(shown), ...Object.keys(made.auth)]).not.toContain(key)
})

test.each<{ input: Partial<CreateInput>; text: string }>([
  { input: { id: 'hvs.x' }, text: "custom token ID cannot have the 'hvs.' prefix" },
  { input: { id: 's.x' }, text: "custom token ID cannot have the 's.' prefix" },
  { input: { id: 'a.b' }, text: "custom token ID cannot have a '.' in the value" },
  { input: { id: 'root' }, text: 'cannot create a token with a duplicate ID' },
  { input: { id: 'x'.repeat(4097) }, text: 'custom token ID cannot be longer than 4096 characters' },
  { input: { ttl: '-1h' }, text: 'ttl must be positive' },
  { input: { lease: '-1h' }, text: 'lease must be positive' },
  { input: { explicit_max_ttl: '-1h' }, text: 'explicit_max_ttl must be positive' },
  { input: { period: '-1h' }, text: 'period must be positive' },
  { input: { ttl: 'x' }, text: 'time: invalid duration "x"' },
  { input: { num_uses: -1 }, text: 'number of uses cannot be negative' },
  { input: { type: 'foo' }, text: "invalid 'token_type' value" },
  { input: { type: 'default-service' }, text: "invalid 'token_type' value" },
  {
    input: { type: 'batch', num_uses: 3, policies: ['web'] },
    text: 'batch tokens cannot have "num_uses" set',
  },
  {
    input: { type: 'batch', num_uses: 3, period: '1h', explicit_max_ttl: '1h' },
    text: 'batch tokens cannot have "explicit_max_ttl" set',
  },
  { input: { type: 'batch', period: '1h' }, text: 'batch tokens cannot have "period" set' },
  { input: { type: 'batch', period: 'x' }, text: "'period' value could not be parsed" },
  { input: { type: 'batch', explicit_max_ttl: 'x' }, text: "'explicit_max_ttl' value could not be parsed" },
  { input: { type: 'batch' }, text: 'batch tokens cannot be root tokens' },
  { input: { policies: ['Response-Wrapping', 'a'] }, text: 'cannot assign policy "response-wrapping"' },
  { input: { entity_alias: 'bob' }, text: "'entity_alias' is only allowed in combination with token role" },
])('root cannot create $input: $text', async ({ input, text }) => {
  await using fixture = await openTokenFixture()
  const before = await fixture.view.listKeys('')

  const failure = await refusal(fixture, input)

  expect(failure).toMatchObject({ text, kind: 'invalid', wrapped: false })
  expect(await fixture.view.listKeys('')).toEqual(before)
})

test.each<{ input: Partial<CreateInput>; sudo?: boolean; text: string }>([
  { input: { policies: ['db'] }, text: 'child policies must be subset of parent' },
  {
    input: { policies: ['root'] },
    sudo: true,
    text: 'root tokens may not be created without parent token being root',
  },
  { input: { period: '1h' }, text: 'root or sudo privileges required to create periodic token' },
  { input: { no_parent: true }, text: 'root or sudo privileges required to create orphan token' },
  { input: { id: 'x' }, text: 'root or sudo privileges required to specify token id' },
  { input: { id: 'x', policies: ['db'] }, text: 'root or sudo privileges required to specify token id' },
  {
    input: { no_parent: true, period: '1h' },
    text: 'root or sudo privileges required to create orphan token',
  },
])('a caller with policy web cannot create $input: $text', async ({ input, sudo = false, text }) => {
  await using fixture = await openTokenFixture()
  const caller = await callerWith(fixture, { policies: ['web'] })

  expect(await refusal(fixture, input, { caller, sudo })).toMatchObject({ text, kind: 'invalid' })
})

test('an expiring root token cannot create a non-expiring one', async () => {
  await using fixture = await openTokenFixture()
  const caller = await callerWith(fixture, { ttl: '2h' })

  expect(await refusal(fixture, {}, { caller, sudo: true })).toMatchObject({
    text: 'expiring root tokens cannot create non-expiring root tokens',
  })
  const made = await fixture.create({ ttl: '1h' }, { caller, sudo: true })
  expect(made.auth).toMatchObject({ policies: ['root'], lease_duration: 3600 })
})

test('create-orphan creates an orphan without sudo', async () => {
  await using fixture = await openTokenFixture()
  const caller = await callerWith(fixture, { policies: ['web'] })

  const { auth } = await fixture.create({}, { caller, sudo: false, form: 'create-orphan' })

  expect(auth.orphan).toBe(true)
  expect((await fixture.lookup(auth.client_token)).path).toBe('auth/token/create-orphan')
})

test('a token with limited uses cannot create tokens, and on its last use the error says that the parent no longer exists', async () => {
  await using fixture = await openTokenFixture()
  const caller = await callerWith(fixture, { policies: ['web'], num_uses: 2 })
  const first = await fixture.tokens.spendUse(caller)
  const last = first === undefined ? undefined : await fixture.tokens.spendUse(first)

  expect(await refusal(fixture, {}, { caller: first })).toMatchObject({
    text: 'restricted use token cannot generate child tokens',
  })
  expect(await refusal(fixture, {}, { caller: last })).toMatchObject({
    text: 'parent token lookup failed: no parent found',
  })
})

test('a token that is revoked in the meantime cannot create a child', async () => {
  await using fixture = await openTokenFixture()
  const caller = await callerWith(fixture, { policies: ['web'] })
  await fixture.revoker.revoke(caller.accessor)

  expect(await refusal(fixture, {}, { caller })).toMatchObject({ text: 'parent token not found' })
})

test('a child whose parent is revoked while it is written is not returned, and nothing of it is left', async () => {
  await using fixture = await openTokenFixture()
  const caller = await callerWith(fixture, { policies: ['web'] })
  const { view, revoker } = fixture
  fixture.parts.view = new Proxy(view, {
    get: (target, name) =>
      name === 'write'
        ? async (...batch: Parameters<typeof view.write>) => {
            await revoker.revoke(caller.accessor)
            return view.write(...batch)
          }
        : Reflect.get(target, name),
  })

  expect(await refusal(fixture, {}, { caller })).toMatchObject({ text: 'parent token not found' })
  expect(await view.listKeys('token/')).toHaveLength(1)
  expect(await view.listKeys('child/')).toEqual([])
})

test('a child inherits the entity and its policies, an orphan does not', async () => {
  await using fixture = await openTokenFixture()
  const login = await fixture.login({ policies: ['web'] })
  const caller = await fixture.lookup(login.auth.client_token)

  const child = await fixture.create({}, { caller, sudo: false })
  const orphan = await fixture.create({}, { caller, sudo: false, form: 'create-orphan' })

  expect(child.auth.entity_id).toBe(login.auth.entity_id)
  expect(orphan.auth.entity_id).toBe('')
})

test('a child inherits bound addresses, an orphan and a non-expiring root token do not', async () => {
  await using fixture = await openTokenFixture()
  const login = await fixture.login({ policies: ['web'], boundCidrs: ['127.0.0.1', '1.2.3.4/8'] })
  const caller = await fixture.lookup(login.auth.client_token)
  const bound = async (...args: Parameters<Fixture['create']>) =>
    (await fixture.lookup((await fixture.create(...args)).auth.client_token)).bound_cidrs

  expect(await bound({}, { caller, sudo: false })).toEqual(['127.0.0.1', '1.2.3.4/8'])
  expect(await bound({}, { caller, sudo: false, form: 'create-orphan' })).toEqual([])
  expect(await bound({ no_parent: true }, { caller, sudo: true })).toEqual([])
})
