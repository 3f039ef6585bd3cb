import { expect, test } from 'vitest'
import { putAlias } from '../../../src/core/identity/entities/alias-changes.ts'
import { deleteEntity, putEntity } from '../../../src/core/identity/entities/entity-changes.ts'
import { mergeEntities } from '../../../src/core/identity/entities/merge.ts'
import { entityPrefix } from '../../../src/core/identity/identity-keys.ts'
import { issueLogin } from '../../../src/core/tokens/acts/issue-login.ts'
import { aLogin, jwtMount, openTokenFixture } from '../../support/token-fixture.ts'

type Fixture = Awaited<ReturnType<typeof openTokenFixture>>

const many = <T>(count: number, work: (at: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, at) => work(at)))

const put = (fixture: Fixture, fields: { id?: string; name?: string; policies?: string[] }) =>
  putEntity(fixture.identity, {
    namespace: 'root',
    id: fields.id ?? '',
    name: fields.name ?? '',
    fields: { policies: fields.policies },
  })

const made = async (fixture: Fixture, name: string): Promise<string> => {
  const entity = await put(fixture, { name })
  if (entity === undefined) throw new Error('there was one')
  return entity.id
}

const aliasParts = (fixture: Fixture) => ({
  store: fixture.identity,
  mountOf: (accessor: string) => fixture.mounts.get(accessor),
})
const anAlias = (fixture: Fixture, name: string, canonicalId = '') =>
  putAlias(aliasParts(fixture), {
    namespace: 'root',
    id: '',
    name,
    mountAccessor: jwtMount.accessor,
    canonicalId,
  })

/** Checks that every row leads to a record that owns it, and that every alias and name has its row. */
async function expectSound(fixture: Fixture) {
  const { records } = fixture.identity
  const entities = await Array.fromAsync(records.all('root'))
  const aliases = entities.flatMap((entity) => entity.aliases.map((alias) => ({ entity, alias })))
  for (const entity of entities) {
    expect((await records.byName('root', entity.name))?.entity.id).toBe(entity.id)
    expect(new Set(entity.aliases.map((alias) => alias.mount_accessor)).size).toBe(entity.aliases.length)
  }
  for (const { entity, alias } of aliases) {
    expect(alias.canonical_id).toBe(entity.id)
    expect((await records.byAlias('root', alias.mount_accessor, alias.name))?.entity.id).toBe(entity.id)
    expect((await records.byAliasId('root', alias.id))?.entity.id).toBe(entity.id)
  }
  expect(await fixture.view.listKeys('entity-name/')).toHaveLength(entities.length)
  expect(await fixture.view.listKeys('entity-alias/')).toHaveLength(aliases.length)
}

test('concurrent writes of one name create one entity', async () => {
  await using fixture = await openTokenFixture()

  const fresh = await many(20, (at) =>
    put(fixture, { name: at % 2 === 0 ? 'bob' : 'BOB', policies: [`p${at}`] }),
  )

  expect(fresh.filter((entity) => entity !== undefined)).toHaveLength(1)
  expect(await fixture.view.listKeys(entityPrefix('root'))).toHaveLength(1)
  await expectSound(fixture)
})

test('of many concurrent requests for a new name, one gets it', async () => {
  await using fixture = await openTokenFixture()
  const ids = await many(8, (at) => made(fixture, `e${at}`))

  const results = await Promise.allSettled(ids.map((id) => put(fixture, { id, name: 'wanted' })))

  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  await expectSound(fixture)
})

test('concurrent logins of a name and writes of its alias leave one alias and one entity', async () => {
  await using fixture = await openTokenFixture()
  const target = await made(fixture, 'target')
  const other = await fixture.restarted()

  const [logins] = await Promise.all([
    many(10, () => fixture.login()),
    many(5, () => anAlias(fixture, 'Alice', target)),
    many(5, () =>
      issueLogin(
        { ...fixture.parts, ...other },
        { mount: jwtMount, path: 'auth/jwt/login', remoteAddress: '127.0.0.1', auth: aLogin() },
      ),
    ),
  ])

  expect(logins).toHaveLength(10)
  await expectSound(fixture)
  const owner = await fixture.identity.records.byAlias('root', jwtMount.accessor, 'alice')
  expect(owner?.entity.id).toBe(target)
  expect((await fixture.login()).auth.entity_id).toBe(target)
})

test('of aliases written concurrently for one entity and mount, one stays', async () => {
  await using fixture = await openTokenFixture()
  const target = await made(fixture, 'target')

  const results = await Promise.allSettled(
    Array.from({ length: 8 }, (_, at) => anAlias(fixture, `n${at}`, target)),
  )

  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  await expectSound(fixture)
})

test('concurrent merges in a ring, deletions and logins leave every row with its owner', async () => {
  await using fixture = await openTokenFixture()
  const logins = await many(6, (at) => fixture.login({ alias: { name: `p${at}`, metadata: {} } }))
  const ids = logins.map(({ auth }) => auth.entity_id)
  const keep = (await Array.fromAsync(fixture.identity.records.all('root'))).flatMap((entity) =>
    entity.aliases.map(({ id }) => id),
  )

  await Promise.allSettled([
    ...ids.map((from, at) =>
      mergeEntities(fixture.identity, {
        namespace: 'root',
        to: ids[(at + 1) % ids.length] ?? '',
        from: [from],
        keep,
      }),
    ),
    ...ids.slice(0, 2).map((id) => deleteEntity(fixture.identity, 'root', { id })),
    ...ids.map((_, at) => fixture.login({ alias: { name: `P${at}`, metadata: { again: 'yes' } } })),
  ])

  await expectSound(fixture)
  const restarted = await fixture.restarted()
  for (const id of ids)
    expect((await restarted.identity.identityOf(id))?.entity.id).toBe(
      (await fixture.identity.identityOf(id))?.entity.id,
    )
})

test('the day of a login is recorded once a day, with no other change', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login()
  const before = (await fixture.identity.identityOf(auth.entity_id))?.entity
  fixture.clock.advance(86_400)

  await many(5, () => fixture.login())
  const revision = (await fixture.identity.records.byId('root', auth.entity_id))?.revision
  await fixture.login()

  expect((await fixture.identity.identityOf(auth.entity_id))?.entity).toEqual({
    ...before,
    last_login_day: '2026-01-03',
  })
  expect((await fixture.identity.records.byId('root', auth.entity_id))?.revision).toBe(revision)
})

test('no storage key contains a text that people chose', async () => {
  await using fixture = await openTokenFixture()
  await fixture.login({ alias: { name: 'secretive', metadata: {} } })
  await put(fixture, { name: 'SecretName' })

  for (const key of await fixture.view.listKeys('')) expect(key.toLowerCase()).not.toContain('secret')
})

test('removing a namespace removes everything of it, and nothing else', async () => {
  await using fixture = await openTokenFixture()
  await fixture.login()
  const inside = { namespace: 'aB3xY9', id: '', name: 'bob', fields: {} }
  const entity = await putEntity(fixture.identity, inside)
  const mounts = new Map([['auth_ns', { ...jwtMount, namespace: 'aB3xY9', accessor: 'auth_ns' }]])
  await putAlias(
    { store: fixture.identity, mountOf: (accessor) => mounts.get(accessor) },
    { namespace: 'aB3xY9', id: '', name: 'x', mountAccessor: 'auth_ns', canonicalId: entity?.id ?? '' },
  )
  const ofRoot = (await fixture.view.listKeys('')).filter((key) => !key.includes('aB3xY9'))
  expect(await fixture.identity.identityOf(entity?.id ?? '')).toBeDefined()

  await fixture.identity.removeNamespace('aB3xY9')

  expect(await fixture.view.listKeys('')).toEqual(ofRoot)
  expect(await fixture.identity.identityOf(entity?.id ?? '')).toBeUndefined()
})
