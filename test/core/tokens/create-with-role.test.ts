import { expect, test } from 'vitest'
import type { CreateInput } from '../../../src/core/tokens/acts/create-input.ts'
import type { CreateRequest } from '../../../src/core/tokens/acts/create-token.ts'
import { lookupData } from '../../../src/core/tokens/acts/lookup-data.ts'
import { changedTokenRole, type TokenRoleRecord } from '../../../src/core/tokens/store/token-role.ts'
import { defaultTtl, openTokenFixture, tokenMount } from '../../support/token-fixture.ts'

type Fixture = Awaited<ReturnType<typeof openTokenFixture>>

const withRole = (record: TokenRoleRecord, request: Partial<CreateRequest> = {}) => ({
  role: { name: 'r', record: changedTokenRole(undefined, record) },
  ...request,
})

const shownOf = async (fixture: Fixture, id: string) =>
  lookupData(await fixture.lookup(id), {
    id,
    now: fixture.clock.now(),
    identityPolicies: [],
    namespacePath: '',
  })

const lesser = (what: string, seconds: number) =>
  `${what} specified both during creation call and in role; using the lesser value of ${seconds} seconds`

test.each<{
  row: string
  role: TokenRoleRecord
  input?: Partial<CreateInput>
  auth?: object
  data?: object
  warnings?: string[]
  absent?: string[]
}>([
  { row: 'path and role', role: {}, data: { path: 'auth/token/create/r', role: 'r' } },
  { row: 'path suffix', role: { path_suffix: 'team.x' }, data: { path: 'auth/token/create/r/team.x' } },
  { row: 'orphan', role: { orphan: true }, auth: { orphan: true } },
  { row: 'no_parent is ignored', role: {}, input: { no_parent: true }, auth: { orphan: false } },
  { row: 'not renewable', role: { renewable: false }, auth: { renewable: false } },
  {
    row: 'default stays where no policy is listed',
    role: { token_no_default_policy: true },
    auth: { policies: ['default', 'web'] },
  },
  { row: 'limited uses', role: { token_num_uses: 10 }, auth: { num_uses: 10 } },
  {
    row: 'limited uses, fewer asked for',
    role: { token_num_uses: 10 },
    input: { num_uses: 5 },
    auth: { num_uses: 5 },
  },
  {
    row: 'limited uses, more asked for',
    role: { token_num_uses: 10 },
    input: { num_uses: 15 },
    auth: { num_uses: 10 },
  },
  { row: 'a role without limit', role: {}, input: { num_uses: 15 }, auth: { num_uses: 15 } },
  { row: 'period', role: { token_period: 3600 }, auth: { lease_duration: 3600 }, absent: ['period'] },
  {
    row: 'a greater period',
    role: { token_period: 3600 },
    input: { period: '2h' },
    auth: { lease_duration: 3600 },
    data: { period: 7200 },
    warnings: [lesser('Period', 3600)],
  },
  {
    row: 'a lesser period',
    role: { token_period: 3600 },
    input: { period: '30m' },
    auth: { lease_duration: 1800 },
    warnings: [lesser('Period', 1800)],
  },
  {
    row: 'explicit maximum',
    role: { token_explicit_max_ttl: 600 },
    auth: { lease_duration: 600 },
    data: { explicit_max_ttl: 0 },
    warnings: ['TTL of "768h" exceeded the effective max_ttl of "10m"; TTL value is capped accordingly'],
  },
  {
    row: 'both explicit maxima',
    role: { token_explicit_max_ttl: 600, token_period: 300 },
    input: { explicit_max_ttl: '20m', period: '10m' },
    auth: { lease_duration: 300 },
    data: { explicit_max_ttl: 1200, period: 600 },
    warnings: [lesser('Explicit max TTL', 600), lesser('Period', 300)],
  },
  {
    row: 'an explicit maximum above the mount’s',
    role: { token_explicit_max_ttl: 2 * defaultTtl },
    auth: { lease_duration: defaultTtl },
  },
  {
    row: 'batch: the role, whatever is asked',
    role: { token_type: 'batch', orphan: true, renewable: false },
    input: { type: 'service' },
    auth: { token_type: 'batch', orphan: true, num_uses: 0, renewable: false },
    data: { num_uses: 0, role: 'r' },
  },
  {
    row: 'default-batch, with service fields',
    role: { token_type: 'default-batch', token_period: 3600 },
    auth: { token_type: 'batch', lease_duration: defaultTtl, num_uses: 0 },
    data: { explicit_max_ttl: 0 },
    absent: ['period'],
  },
  {
    row: 'default-batch, with an explicit maximum',
    role: { token_type: 'default-batch', token_explicit_max_ttl: 7200 },
    input: { ttl: '1h' },
    auth: { token_type: 'batch', lease_duration: 3600 },
  },
  {
    row: 'batch asked for, with an explicit maximum that is shorter',
    role: { token_explicit_max_ttl: 1800 },
    input: { type: 'batch', ttl: '1h' },
    auth: { token_type: 'batch', lease_duration: 1800 },
    data: { explicit_max_ttl: 0 },
    warnings: ['TTL of "1h" exceeded the effective max_ttl of "30m"; TTL value is capped accordingly'],
  },
  {
    row: 'default-batch, service asked for',
    role: { token_type: 'default-batch', token_period: 3600 },
    input: { type: 'service', num_uses: 3 },
    auth: { token_type: 'service', lease_duration: 3600, num_uses: 3 },
  },
  {
    row: 'bound addresses',
    role: { token_bound_cidrs: ['127.0.0.1/32', '1.2.3.4/8'] },
    data: { bound_cidrs: ['127.0.0.1', '1.2.3.4/8'] },
  },
])(
  'a token of a role: $row',
  async ({ role, input = {}, auth = {}, data = {}, warnings = [], absent = [] }) => {
    await using fixture = await openTokenFixture()

    const made = await fixture.create({ policies: ['web'], ...input }, withRole(role))

    expect(made.auth).toMatchObject(auth)
    expect(made.warnings).toEqual(warnings)
    const shown = await shownOf(fixture, made.auth.client_token)
    expect(shown).toMatchObject(data)
    for (const key of absent) expect(shown).not.toHaveProperty(key)
  },
)

test.each([
  {
    row: 'of type default-batch of an earlier version',
    role: { token_num_uses: 3 },
    stored: 'default-batch',
  },
  { row: 'that lets the caller choose batch', role: { token_num_uses: 3 }, input: { type: 'batch' } },
])('no batch token escapes the use limit of a role $row', async ({ role, input = {}, stored }) => {
  await using fixture = await openTokenFixture()
  const request = withRole(role)
  const earlier = stored === undefined ? request.role.record : { ...request.role.record, token_type: stored }

  const making = fixture.create(
    { policies: ['web'], ...input },
    { role: { ...request.role, record: earlier } },
  )

  await expect(making).rejects.toThrow('batch tokens cannot have "num_uses" set')
})

test('bound addresses of a role do not apply to a non-expiring root token', async () => {
  await using fixture = await openTokenFixture()

  const made = await fixture.create({}, withRole({ token_bound_cidrs: ['1.2.3.4/8'] }))

  expect(made.auth).toMatchObject({ policies: ['root'], lease_duration: 0 })
  expect((await fixture.lookup(made.auth.client_token)).bound_cidrs).toEqual([])
})

test('with a role only the addresses of the role count, not those of the caller', async () => {
  await using fixture = await openTokenFixture()
  const caller = await fixture.lookup(
    (await fixture.login({ policies: ['web'], boundCidrs: ['127.0.0.1'] })).auth.client_token,
  )

  const made = await fixture.create({}, withRole({}, { caller, sudo: false }))

  expect((await fixture.lookup(made.auth.client_token)).bound_cidrs).toEqual([])
})

test('a role that lists policies frees the caller from its own policies, one that does not keeps it bound to them', async () => {
  await using fixture = await openTokenFixture()
  const caller = await fixture.lookup((await fixture.create({ policies: ['web'] })).auth.client_token)
  const asCaller = { caller, sudo: false }

  expect(
    (await fixture.create({ policies: ['db'] }, withRole({ allowed_policies: ['db'] }, asCaller))).auth
      .policies,
  ).toEqual(['db', 'default'])
  await expect(fixture.create({ policies: ['db'] }, withRole({}, asCaller))).rejects.toMatchObject({
    message: 'child policies must be subset of parent',
  })
  await expect(fixture.create({}, withRole({ allowed_policies: ['root'] }, asCaller))).rejects.toMatchObject({
    message: 'root tokens may not be created without parent token being root',
  })
  await expect(fixture.create({ period: '1h' }, withRole({}, asCaller))).rejects.toMatchObject({
    message: 'root or sudo privileges required to create periodic token',
  })
  await expect(fixture.create({ id: 'x' }, withRole({}, asCaller))).rejects.toMatchObject({
    message: 'root or sudo privileges required to specify token id',
  })
})

test('concurrent tokens for one name have one entity', async () => {
  await using fixture = await openTokenFixture()
  const request = withRole({ allowed_entity_aliases: ['al*'] })

  const made = await Promise.all(
    Array.from({ length: 8 }, () => fixture.create({ policies: ['web'], entity_alias: 'Alice' }, request)),
  )
  const again = await fixture.create({ policies: ['web'], entity_alias: 'alice', type: 'batch' }, request)

  const ids = new Set([...made, again].map(({ auth }) => auth.entity_id))
  expect(ids.size).toBe(1)
  const identity = await fixture.identity.identityOf(again.auth.entity_id)
  expect(identity?.entity.aliases).toMatchObject([
    { name: 'Alice', mount_accessor: tokenMount.accessor, metadata: null },
  ])
  expect(await fixture.lookup(made[0]?.auth.client_token ?? '')).toMatchObject({
    entity_id: again.auth.entity_id,
  })
})

test('a refusal leaves neither token nor entity behind, also when the id is taken', async () => {
  await using fixture = await openTokenFixture()
  const before = await fixture.view.listKeys('')
  const request = withRole({ allowed_entity_aliases: ['*'] })

  await expect(
    fixture.create({ policies: ['web'], entity_alias: 'bob', id: 'root' }, request),
  ).rejects.toMatchObject({ message: 'cannot create a token with a duplicate ID' })
  await expect(fixture.create({ policies: ['web'], entity_alias: ' ' }, request)).rejects.toMatchObject({
    message: 'missing name in alias',
  })

  expect(await fixture.view.listKeys('')).toEqual(before)
})

const child = { ...tokenMount, namespace: 'aB3xY9', accessor: 'auth_token_2' }

test.each<{ input: Partial<CreateInput>; sudo?: boolean; text: string }>([
  {
    input: {},
    sudo: false,
    text: 'root or sudo privileges required to directly generate a token in a child namespace',
  },
  { input: { policies: ['web', 'Root '] }, text: 'root tokens may not be created from a parent namespace' },
  {
    input: { type: 'x', policies: ['root'] },
    text: 'root tokens may not be created from a parent namespace',
  },
  { input: { id: 'x' }, text: 'token IDs can only be manually specified in the root namespace' },
])('in a child namespace $input is refused: $text', async ({ input, sudo = true, text }) => {
  await using fixture = await openTokenFixture()
  fixture.mounts.set(child.accessor, child)

  await expect(fixture.create(input, { mount: child, sudo })).rejects.toMatchObject({
    message: text,
    kind: 'invalid',
    wrapped: false,
  })
})

test.each<{ input: Partial<CreateInput>; policies: string[] }>([
  { input: {}, policies: ['default'] },
  { input: { policies: ['web'] }, policies: ['default', 'web'] },
  { input: { no_default_policy: true }, policies: [] },
])('in a child namespace nothing is inherited: $input', async ({ input, policies }) => {
  await using fixture = await openTokenFixture()
  fixture.mounts.set(child.accessor, child)

  const { auth } = await fixture.create(input, { mount: child })

  expect(auth.policies).toEqual(policies)
  expect(auth.client_token).toMatch(/^hvs\.[0-9A-Za-z]{24}\.aB3xY9$/)
  expect(auth.accessor).toMatch(/^[0-9A-Za-z]{24}\.aB3xY9$/)
  expect(await fixture.tokens.lookupByAccessor(auth.accessor)).toEqual(
    await fixture.lookup(auth.client_token),
  )
  for (const other of [auth.client_token.slice(0, -7), auth.client_token.replace('aB3xY9', 'aB3xY8')]) {
    expect(await fixture.tokens.lookup(other)).toBeUndefined()
  }
  expect(await fixture.tokens.lookupByAccessor(auth.accessor.slice(0, -7))).toBeUndefined()
})

test('a token is not renewed without its role, and a role of that name elsewhere does not help', async () => {
  await using fixture = await openTokenFixture()
  await fixture.roles.change('root', 'r', () => ({}))
  await fixture.roles.change('aB3xY9', 'r', () => ({}))
  const made = await fixture.create({ policies: ['web'] }, { role: { name: 'r', record: {} } })
  const token = await fixture.lookup(made.auth.client_token)
  await fixture.renew(token)

  await fixture.roles.remove('root', 'r')

  await expect(fixture.renew(token)).rejects.toMatchObject({
    message: 'failed to renew entry: original token role "r" could not be found, not renewing',
    kind: 'invalid',
    wrapped: false,
  })
})

test('a renewal uses the current period and explicit maximum of the role', async () => {
  await using fixture = await openTokenFixture()
  const role = await fixture.roles.change('root', 'r', () => ({ token_period: 3600 }))
  const token = await fixture.lookup(
    (await fixture.create({ policies: ['web'], explicit_max_ttl: '10h' }, { role })).auth.client_token,
  )
  const renewed = async (record: TokenRoleRecord, increment = 0) => {
    await fixture.roles.change('root', 'r', () => record)
    return (await fixture.renew(token, increment))?.auth.lease_duration
  }

  expect(await renewed({ token_period: 600 })).toBe(600)
  expect(await renewed({ token_period: 600 }, 60)).toBe(600)
  expect(await renewed({})).toBe(600)
  expect(await renewed({}, 300)).toBe(300)
  expect(await renewed({ token_explicit_max_ttl: 100 }, 300)).toBe(100)
  fixture.clock.advance(50)
  expect(await renewed({ token_explicit_max_ttl: 100 }, 300)).toBe(50)
})
