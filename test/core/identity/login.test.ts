import { expect, test } from 'vitest'
import { entityKey } from '../../../src/core/identity/identity-keys.ts'
import { issueLogin, type LoginAuth } from '../../../src/core/tokens/acts/issue-login.ts'
import { tokenKey } from '../../../src/core/tokens/store/token-keys.ts'
import {
  aLogin,
  aMount,
  defaultTtl,
  jwtMount,
  openTokenFixture,
  otherJwtMount,
} from '../../support/token-fixture.ts'

type Fixture = Awaited<ReturnType<typeof openTokenFixture>>

const entityOf = async (fixture: Fixture, id: string) => {
  const identity = await fixture.identity.identityOf(id)
  if (identity === undefined) throw new Error('the entity is gone')
  return identity.entity
}

/** Changes a stored entity without the store's knowledge; seen by a restarted server. */
async function changeEntity(fixture: Fixture, id: string, changes: object) {
  const entity = await entityOf(fixture, id)
  await fixture.view.write([{ key: entityKey(id), value: { ...entity, ...changes } }])
  return fixture.restarted()
}

const loginAt = (
  fixture: Fixture,
  { tokens, identity }: Pick<Fixture, 'tokens' | 'identity'>,
  auth = aLogin(),
) =>
  issueLogin(
    { ...fixture.parts, tokens, identity },
    { mount: jwtMount, path: 'auth/jwt/login', remoteAddress: '127.0.0.1', auth },
  )

test('the first login creates an entity with one alias, and an orphan token', async () => {
  await using fixture = await openTokenFixture()

  const { auth, warnings } = await fixture.login()

  expect(auth).toEqual({
    client_token: expect.stringMatching(/^hvs\.[0-9A-Za-z]{24}$/),
    accessor: expect.stringMatching(/^[0-9A-Za-z]{24}$/),
    policies: ['default'],
    token_policies: ['default'],
    metadata: { role: 'dev' },
    lease_duration: defaultTtl,
    renewable: true,
    entity_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    token_type: 'service',
    orphan: true,
    mfa_requirement: null,
    num_uses: 0,
  })
  expect(warnings).toEqual([])
  expect(await entityOf(fixture, auth.entity_id)).toEqual({
    id: auth.entity_id,
    name: expect.stringMatching(/^entity_[0-9a-f]{8}$/),
    namespace_id: 'root',
    metadata: null,
    policies: [],
    disabled: false,
    merged_entity_ids: null,
    made_by_login: true,
    creation_time: '2026-01-02T03:04:05.25Z',
    last_update_time: '2026-01-02T03:04:05.25Z',
    aliases: [
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        canonical_id: auth.entity_id,
        mount_accessor: 'auth_jwt_1',
        name: 'alice',
        metadata: { role: 'dev' },
        custom_metadata: null,
        merged_from_canonical_ids: null,
        local: false,
        creation_time: '2026-01-02T03:04:05.25Z',
        last_update_time: '2026-01-02T03:04:05.25Z',
      },
    ],
  })
  expect(await fixture.lookup(auth.client_token)).toMatchObject({
    path: 'auth/jwt/login',
    display_name: 'jwt-alice',
    internal: { role: 'dev' },
  })
})

test('a second login gets another token of the same entity', async () => {
  await using fixture = await openTokenFixture()

  const first = await fixture.login()
  const second = await fixture.login()
  const later = await loginAt(fixture, await fixture.restarted())

  expect(second.auth.client_token).not.toBe(first.auth.client_token)
  expect([second.auth.entity_id, later.auth.entity_id]).toEqual([first.auth.entity_id, first.auth.entity_id])
})

test('a login with a known name and known metadata writes its token and its expiry, and nothing of identity', async () => {
  await using fixture = await openTokenFixture()
  await fixture.login()
  const before = new Map((await fixture.view.list('')).map(({ key, revision }) => [key, revision]))

  await fixture.login()

  const changed = (await fixture.view.list(''))
    .filter(({ key, revision }) => before.get(key) !== revision)
    .map(({ key }) => key.split('/')[0])
  expect(changed).toEqual(['expire', 'token'])
})

test('new metadata replaces that of the alias as a whole', async () => {
  await using fixture = await openTokenFixture()
  const first = await fixture.login({ alias: { name: 'alice', metadata: { role: 'dev', team: 'a' } } })
  fixture.clock.advance(60)

  const { auth } = await fixture.login({ alias: { name: 'alice', metadata: { role: 'ops' } } })

  expect(auth).toMatchObject({ entity_id: first.auth.entity_id, metadata: { role: 'ops' } })
  const [alias] = (await entityOf(fixture, auth.entity_id)).aliases
  expect(alias).toMatchObject({
    metadata: { role: 'ops' },
    creation_time: '2026-01-02T03:04:05.25Z',
    last_update_time: '2026-01-02T03:05:05.25Z',
  })
  expect(alias?.metadata).toEqual({ role: 'ops' })
})

test('the same metadata in another order is not a change', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login({ alias: { name: 'alice', metadata: { a: '1', b: '2' } } })
  const before = await entityOf(fixture, auth.entity_id)
  fixture.clock.advance(60)

  await fixture.login({ alias: { name: 'alice', metadata: { b: '2', a: '1' } } })

  expect(await entityOf(fixture, auth.entity_id)).toEqual(before)
})

test('another spelling finds the same entity and changes neither name nor metadata', async () => {
  await using fixture = await openTokenFixture()
  const first = await fixture.login()

  const { auth } = await fixture.login({ alias: { name: 'ALICE', metadata: { role: 'ops' } } })
  const later = await loginAt(
    fixture,
    await fixture.restarted(),
    aLogin({ alias: { name: 'aLICE', metadata: {} } }),
  )

  expect([auth.entity_id, later.auth.entity_id]).toEqual([first.auth.entity_id, first.auth.entity_id])
  expect((await entityOf(fixture, auth.entity_id)).aliases).toEqual([
    expect.objectContaining({ name: 'alice', metadata: { role: 'dev' } }),
  ])
})

test('the same name at another mount is another entity', async () => {
  await using fixture = await openTokenFixture()

  const here = await fixture.login()
  const there = await fixture.login({}, otherJwtMount)

  expect(there.auth.entity_id).not.toBe(here.auth.entity_id)
})

test('policies of the entity are listed separately from those of the token', async () => {
  await using fixture = await openTokenFixture()
  const first = await fixture.login()
  const restarted = await changeEntity(fixture, first.auth.entity_id, { policies: ['p'] })

  const { auth } = await loginAt(fixture, restarted, aLogin({ policies: ['q'] }))

  expect(auth).toMatchObject({
    token_policies: ['default', 'q'],
    identity_policies: ['p'],
    policies: ['default', 'p', 'q'],
  })
  expect((await restarted.tokens.lookup(auth.client_token))?.policies).toEqual(['default', 'q'])
})

test.each<{ auth: Partial<LoginAuth>; text: string }>([
  { auth: { policies: ['x', 'Root'] }, text: 'auth methods cannot create root tokens' },
  { auth: { policies: ['response-wrapping'] }, text: 'cannot assign policy "response-wrapping"' },
  { auth: { alias: { name: '', metadata: {} } }, text: 'missing name in alias' },
  {
    auth: { alias: { name: 'alice', metadata: { 'a b': 'c' } } },
    text: 'invalid alias metadata: failed to load metadata pair ("a b", "c"): key contains invalid characters',
  },
])('a login is refused with "$text" and leaves nothing behind', async ({ auth, text }) => {
  await using fixture = await openTokenFixture()
  const before = await fixture.view.listKeys('')

  await expect(fixture.login(auth)).rejects.toMatchObject({ message: text, kind: 'invalid', wrapped: false })

  expect(await fixture.view.listKeys('')).toEqual(before)
})

test('a mount tuned to batch issues batch tokens, whatever the role says', async () => {
  await using fixture = await openTokenFixture()
  const mount = aMount({ config: { ...aMount().config, token_type: 'batch' } })

  const { auth } = await fixture.login({ tokenType: 'service' }, mount)

  expect(auth).toMatchObject({ token_type: 'batch', accessor: '', renewable: false })
})

test('a role without policies and without default issues a token without policies', async () => {
  await using fixture = await openTokenFixture()

  const { auth } = await fixture.login({ noDefaultPolicy: true })

  expect(auth.policies).toEqual([])
  expect(auth).not.toHaveProperty('token_policies')
})

test('a disabled entity cannot log in', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login()
  const restarted = await changeEntity(fixture, auth.entity_id, { disabled: true })

  await expect(loginAt(fixture, restarted)).rejects.toMatchObject({
    message: 'permission denied',
    kind: 'denied',
    wrapped: false,
  })
})

test('a name gets a new entity after the old one was deleted', async () => {
  await using fixture = await openTokenFixture()
  const first = await fixture.login()
  await fixture.view.write([{ key: entityKey(first.auth.entity_id), value: undefined }])
  const restarted = await fixture.restarted()

  const { auth } = await loginAt(fixture, restarted)

  expect(auth.entity_id).not.toBe(first.auth.entity_id)
  expect(await restarted.identity.identityOf(first.auth.entity_id)).toBeUndefined()
  expect((await loginAt(fixture, restarted)).auth.entity_id).toBe(auth.entity_id)
})

test('metadata of a known alias is stored without a check', async () => {
  await using fixture = await openTokenFixture()
  await fixture.login()

  const { auth } = await fixture.login({ alias: { name: 'alice', metadata: { 'a b': 'x'.repeat(513) } } })

  expect((await entityOf(fixture, auth.entity_id)).aliases[0]?.metadata).toEqual({ 'a b': 'x'.repeat(513) })
})

test('concurrent first logins of one name create one entity', async () => {
  await using fixture = await openTokenFixture()
  const other = await fixture.restarted()

  const logins = await Promise.all(
    Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? fixture.login() : loginAt(fixture, other))),
  )

  expect(new Set(logins.map(({ auth }) => auth.entity_id)).size).toBe(1)
  expect(await fixture.view.listKeys('entity/')).toHaveLength(1)
  expect(await fixture.view.listKeys('entity-alias/')).toHaveLength(1)
  expect(await fixture.view.listKeys('entity-name/')).toHaveLength(1)
  for (const { auth } of logins) expect(await fixture.tokens.lookup(auth.client_token)).toBeDefined()
})

test('concurrent logins of one name with different metadata all succeed', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login()
  const roles = Array.from({ length: 64 }, (_, at) => `role-${at}`)

  const logins = await Promise.all(
    roles.map((role) => fixture.login({ alias: { name: 'alice', metadata: { role } } })),
  )

  expect(logins.map((login) => login.auth.metadata?.role)).toEqual(roles)
  expect(roles).toContain((await entityOf(fixture, auth.entity_id)).aliases[0]?.metadata?.role)
})

test('fields of a later version survive a login', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login()
  const restarted = await changeEntity(fixture, auth.entity_id, { from_the_future: [1] })

  await loginAt(fixture, restarted, aLogin({ alias: { name: 'alice', metadata: { role: 'ops' } } }))

  expect(await fixture.view.get(entityKey(auth.entity_id))).toMatchObject({
    from_the_future: [1],
    aliases: [{ metadata: { role: 'ops' } }],
  })
})

test('the TTLs of role and mount decide, with a warning where one is capped', async () => {
  await using fixture = await openTokenFixture()
  const mount = aMount({ config: { ...aMount().config, default_lease_ttl: 900, max_lease_ttl: 1800 } })

  expect((await fixture.login({}, mount)).auth.lease_duration).toBe(900)
  expect((await fixture.login({ period: 60 }, mount)).auth.lease_duration).toBe(60)
  expect(await fixture.login({ ttl: 3600 }, mount)).toMatchObject({
    auth: { lease_duration: 1800 },
    warnings: ['TTL of "1h" exceeded the effective max_ttl of "30m"; TTL value is capped accordingly'],
  })
})

test('the token has the uses, bound addresses and periods of the role', async () => {
  await using fixture = await openTokenFixture()

  const { auth } = await fixture.login({
    numUses: 3,
    boundCidrs: ['10.0.0.0/8'],
    explicitMaxTtl: 7200,
    period: 60,
  })

  const stored = await fixture.view.get(tokenKey(fixture.tokens.keys.hashOf(auth.accessor)))
  expect(stored).toMatchObject({
    num_uses: 3,
    bound_cidrs: ['10.0.0.0/8'],
    explicit_max_ttl: 7200,
    period: 60,
    ttl: 60,
  })
  expect(auth.num_uses).toBe(3)
})
