import { expect, test } from 'vitest'
import { putAlias } from '../../../src/core/identity/alias-changes.ts'
import { deleteEntity, putEntity } from '../../../src/core/identity/entity-changes.ts'
import { entityPrefix } from '../../../src/core/identity/identity-keys.ts'
import { mergeEntities } from '../../../src/core/identity/merge.ts'
import { issueLogin } from '../../../src/core/tokens/issue-login.ts'
import { aLogin, jwtMount, openTokenHouse } from '../../support/token-house.ts'

type House = Awaited<ReturnType<typeof openTokenHouse>>

const many = <T>(count: number, work: (at: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, at) => work(at)))

const put = (house: House, fields: { id?: string; name?: string; policies?: string[] }) =>
  putEntity(house.identity, { namespace: 'root', id: fields.id ?? '', name: fields.name ?? '', fields: { policies: fields.policies } })

const made = async (house: House, name: string): Promise<string> => {
  const entity = await put(house, { name })
  if (entity === undefined) throw new Error('there was one')
  return entity.id
}

const aliasParts = (house: House) => ({ store: house.identity, mountOf: (accessor: string) => house.mounts.get(accessor) })
const anAlias = (house: House, name: string, canonicalId = '') =>
  putAlias(aliasParts(house), { namespace: 'root', id: '', name, mountAccessor: jwtMount.accessor, canonicalId })

/** Every row leads to a record that owns it, and every alias and name has its row. */
async function expectSound(house: House) {
  const { records } = house.identity
  const entities = await records.page('root', { limit: 1000 })
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
  expect(await house.view.listKeys('entity-name/')).toHaveLength(entities.length)
  expect(await house.view.listKeys('entity-alias/')).toHaveLength(aliases.length)
}

test('concurrent writes of one name create one entity', async () => {
  await using house = await openTokenHouse()

  const fresh = await many(20, (at) => put(house, { name: at % 2 === 0 ? 'bob' : 'BOB', policies: [`p${at}`] }))

  expect(fresh.filter((entity) => entity !== undefined)).toHaveLength(1)
  expect(await house.view.listKeys(entityPrefix('root'))).toHaveLength(1)
  await expectSound(house)
})

test('of many who want the same new name, one gets it', async () => {
  await using house = await openTokenHouse()
  const ids = await many(8, (at) => made(house, `e${at}`))

  const results = await Promise.allSettled(ids.map((id) => put(house, { id, name: 'wanted' })))

  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  await expectSound(house)
})

test('concurrent logins of a name and writes of its alias leave one alias and one entity', async () => {
  await using house = await openTokenHouse()
  const target = await made(house, 'target')
  const other = await house.restarted()

  const [logins] = await Promise.all([
    many(10, () => house.login()),
    many(5, () => anAlias(house, 'Alice', target)),
    many(5, () => issueLogin({ ...house.parts, ...other }, { mount: jwtMount, path: 'auth/jwt/login', auth: aLogin() })),
  ])

  expect(logins).toHaveLength(10)
  await expectSound(house)
  const owner = await house.identity.records.byAlias('root', jwtMount.accessor, 'alice')
  expect(owner?.entity.id).toBe(target)
  expect((await house.login()).auth.entity_id).toBe(target)
})

test('of aliases written concurrently for one entity and mount, one stays', async () => {
  await using house = await openTokenHouse()
  const target = await made(house, 'target')

  const results = await Promise.allSettled(Array.from({ length: 8 }, (_, at) => anAlias(house, `n${at}`, target)))

  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  await expectSound(house)
})

test('concurrent merges in a ring, deletions and logins leave every row with its owner', async () => {
  await using house = await openTokenHouse()
  const logins = await many(6, (at) => house.login({ alias: { name: `p${at}`, metadata: {} } }))
  const ids = logins.map(({ auth }) => auth.entity_id)
  const keep = (await house.identity.records.page('root', { limit: 100 })).flatMap((entity) => entity.aliases.map(({ id }) => id))

  await Promise.allSettled([
    ...ids.map((from, at) => mergeEntities(house.identity, { namespace: 'root', to: ids[(at + 1) % ids.length] ?? '', from: [from], keep })),
    ...ids.slice(0, 2).map((id) => deleteEntity(house.identity, 'root', { id })),
    ...ids.map((_, at) => house.login({ alias: { name: `P${at}`, metadata: { again: 'yes' } } })),
  ])

  await expectSound(house)
  const restarted = await house.restarted()
  for (const id of ids) expect((await restarted.identity.identityOf(id))?.entity.id).toBe((await house.identity.identityOf(id))?.entity.id)
})

test('the day of a login is recorded once a day, with no other change', async () => {
  await using house = await openTokenHouse()
  const { auth } = await house.login()
  const before = (await house.identity.identityOf(auth.entity_id))?.entity
  house.clock.advance(86_400)

  await many(5, () => house.login())
  const revision = (await house.identity.records.byId('root', auth.entity_id))?.revision
  await house.login()

  expect((await house.identity.identityOf(auth.entity_id))?.entity).toEqual({ ...before, last_login_day: '2026-01-03' })
  expect((await house.identity.records.byId('root', auth.entity_id))?.revision).toBe(revision)
})

test('no text that people chose is in a key', async () => {
  await using house = await openTokenHouse()
  await house.login({ alias: { name: 'secretive', metadata: {} } })
  await put(house, { name: 'SecretName' })

  for (const key of await house.view.listKeys('')) expect(key.toLowerCase()).not.toContain('secret')
})

test('removing a namespace removes everything of it, and nothing else', async () => {
  await using house = await openTokenHouse()
  await house.login()
  const inside = { namespace: 'aB3xY9', id: '', name: 'bob', fields: {} }
  const entity = await putEntity(house.identity, inside)
  const mounts = new Map([['auth_ns', { ...jwtMount, namespace: 'aB3xY9', accessor: 'auth_ns' }]])
  await putAlias(
    { store: house.identity, mountOf: (accessor) => mounts.get(accessor) },
    { namespace: 'aB3xY9', id: '', name: 'x', mountAccessor: 'auth_ns', canonicalId: entity?.id ?? '' },
  )
  const ofRoot = (await house.view.listKeys('')).filter((key) => !key.includes('aB3xY9'))
  expect(await house.identity.identityOf(entity?.id ?? '')).toBeDefined()

  await house.identity.removeNamespace('aB3xY9')

  expect(await house.view.listKeys('')).toEqual(ofRoot)
  expect(await house.identity.identityOf(entity?.id ?? '')).toBeUndefined()
})
