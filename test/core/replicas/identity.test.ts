import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteAlias, putAlias } from '../../../src/core/identity/entities/alias-changes.ts'
import { deleteEntity, putEntity } from '../../../src/core/identity/entities/entity-changes.ts'
import { IdentityTidy } from '../../../src/core/identity/entities/identity-tidy.ts'
import { mergeEntities } from '../../../src/core/identity/entities/merge.ts'
import {
  changesKey,
  deletedGroupKey,
  memberKey,
  membershipKey,
} from '../../../src/core/identity/groups/group-keys.ts'
import type { LoginAuth } from '../../../src/core/tokens/acts/issue-login.ts'
import { openPostgresCores, type SharedCore } from '../../support/postgres-cores.ts'

const root = 'root'
let servers: Awaited<ReturnType<typeof openPostgresCores>>
let one: SharedCore
let other: SharedCore
let names = 0

beforeAll(async () => {
  servers = await openPostgresCores()
  ;({ one, other } = servers)
})
afterAll(async () => {
  await servers[Symbol.asyncDispose]()
})

const newName = (kind: string) => `${kind}-${names++}`
const hear = () => Promise.all([one.hear(), other.hear()])
/** Calls at one server and the other in turn, all at once. */
const everywhere = <T>(count: number, call: (server: SharedCore, at: number) => Promise<T>) =>
  Promise.allSettled(Array.from({ length: count }, (_, at) => call(at % 2 === 0 ? one : other, at)))
const succeeded = (results: PromiseSettledResult<unknown>[]) =>
  results.filter(({ status }) => status === 'fulfilled')

async function entityOf(
  name = newName('user'),
  auth: Partial<LoginAuth> = {},
  server = one,
): Promise<string> {
  return (await server.login({ alias: { name, metadata: {} }, ...auth })).auth.entity_id
}
const policiesOf = async ({ identities }: SharedCore, entityId: string) =>
  (await identities.identityOf(entityId))?.policies
const groupWith = async (fields: Parameters<SharedCore['groups']['put']>[0]['fields'], server = one) =>
  (await server.groups.put({ namespace: root, fields })).group
async function externalGroup(alias: string, policies: string[] = []): Promise<string> {
  const { id } = await groupWith({ type: 'external', policies })
  const mountAccessor = one.mount('auth/jwt/').accessor
  await one.groups.putAlias({ namespace: root, name: alias, mountAccessor, canonicalId: id })
  return id
}

describe('an entity', () => {
  test('is created once by first logins of one name on two servers', async () => {
    const name = newName('user')

    const ids = await Promise.all(
      Array.from({ length: 12 }, (_, at) => entityOf(name, {}, at % 2 === 0 ? one : other)),
    )

    expect(new Set(ids).size).toBe(1)
    expect((await one.identities.records.byId(root, ids[0] ?? ''))?.entity.aliases).toHaveLength(1)
  })

  test('has the policies, on every server, that another one gave it', async () => {
    const id = await entityOf()
    await policiesOf(other, id)

    await putEntity(one.identities, { namespace: root, id, name: '', fields: { policies: ['p'] } })
    await other.hear()

    expect(await policiesOf(other, id)).toEqual(['p'])
  })

  test('is disabled and deleted on every server', async () => {
    const id = await entityOf()
    await policiesOf(other, id)

    await putEntity(one.identities, { namespace: root, id, name: '', fields: { disabled: true } })
    await other.hear()
    const disabled = await other.identities.identityOf(id)
    await deleteEntity(one.identities, root, { id })
    await other.hear()

    expect(disabled?.entity.disabled).toBe(true)
    expect(await other.identities.identityOf(id)).toBeUndefined()
  })

  test('gets no second name, nor the name of another one, from two servers', async () => {
    const name = newName('name')
    const ids = await Promise.all([entityOf(), entityOf(), entityOf(), entityOf()])

    const renamed = await everywhere(4, (server, at) =>
      putEntity(server.identities, { namespace: root, id: ids[at] ?? '', name, fields: {} }),
    )

    expect(succeeded(renamed)).toHaveLength(1)
  })

  test('has one alias of a name and mount, whoever writes it', async () => {
    const ids = await Promise.all([entityOf(), entityOf(), entityOf(), entityOf()])
    const mountAccessor = one.mount('auth/token/').accessor
    const name = newName('alias')

    await everywhere(4, (server, at) =>
      putAlias(
        { store: server.identities, mountOf: (accessor) => server.mounts.table.byAccessor(accessor) },
        { namespace: root, id: '', name, mountAccessor, canonicalId: ids[at] ?? '' },
      ),
    )

    const entities = await Promise.all(ids.map((id) => one.identities.records.byId(root, id)))
    const owners = entities.filter((found) => found?.entity.aliases.some((alias) => alias.name === name))
    expect(owners).toHaveLength(1)
  })

  test('whose alias another server has deleted is not that of the next login', async () => {
    const name = newName('user')
    const id = await entityOf(name)
    await entityOf(name, {}, other)
    const aliasId = (await one.identities.records.byId(root, id))?.entity.aliases[0]?.id ?? ''

    await deleteAlias(one.identities, root, aliasId)
    await other.hear()

    expect(await entityOf(name, {}, other)).not.toBe(id)
  })

  test('leads to the one that another server has merged it into', async () => {
    const name = newName('user')
    const [from, to] = [await entityOf(name), await groupless()]
    await policiesOf(other, from)

    await mergeEntities(one.identities, { namespace: root, to, from: [from], keep: [] })
    await other.hear()
    const merged = await other.identities.identityOf(from)
    const last = await groupless()
    await mergeEntities(one.identities, { namespace: root, to: last, from: [to], keep: [] })
    await other.hear()

    expect(merged?.entity.id).toBe(to)
    expect((await other.identities.identityOf(from))?.entity.id).toBe(last)
    expect(await entityOf(name, {}, other)).toBe(last)
  })

  test('is never merged both ways by two servers', async () => {
    const [a, b] = [await groupless(), await groupless()]

    const merged = await Promise.allSettled([
      mergeEntities(one.identities, { namespace: root, to: a, from: [b], keep: [] }),
      mergeEntities(other.identities, { namespace: root, to: b, from: [a], keep: [] }),
    ])

    expect(succeeded(merged)).toHaveLength(1)
  })

  test('that is unused is deleted and counted once by tidies on two servers', async () => {
    await Promise.all(Array.from({ length: 20 }, () => entityOf()))
    servers.clock.advance(90 * 86_400)
    const tidyOf = (server: SharedCore) =>
      new IdentityTidy({
        store: server.identities,
        tokens: server.tokens,
        systemTtl: { defaultTtl: 3600, maxTtl: 3600 },
        mountOf: (accessor) => server.mounts.table.byAccessor(accessor),
        tokenMountOf: () => server.mount('auth/token/'),
      })
    const request = { namespace: root, unusedForSeconds: 30 * 86_400 }
    const { count } = await tidyOf(one).run({ ...request, dryRun: true })

    const tidied = await Promise.all(
      [one, other].map((server) => tidyOf(server).run({ ...request, dryRun: false })),
    )

    expect(count).toBeGreaterThanOrEqual(20)
    expect(tidied.reduce((sum, done) => sum + done.count, 0)).toBe(count)
    await hear()
  })

  /** An entity without an alias, so that nothing clashes. */
  const groupless = async () =>
    (await putEntity(one.identities, { namespace: root, id: '', name: newName('made'), fields: {} }))?.id ??
    ''
})

describe('a group', () => {
  test('gives and takes its policies on every server', async () => {
    const id = await entityOf()
    expect(await policiesOf(other, id)).toEqual([])

    const group = await groupWith({ policies: ['g'], member_entity_ids: [id] })
    await other.hear()
    const joined = await policiesOf(other, id)
    await one.groups.put({ namespace: root, id: group.id, fields: { policies: ['h'] } })
    await other.hear()
    const changed = await policiesOf(other, id)
    await one.groups.remove(root, group.id)
    await other.hear()

    expect([joined, changed, await policiesOf(other, id)]).toEqual([['g'], ['h'], []])
  })

  test('gives the policies of its parents on every server', async () => {
    const id = await entityOf()
    const child = await groupWith({ member_entity_ids: [id] })
    await policiesOf(other, id)

    const parent = await groupWith({ policies: ['up'], member_group_ids: [child.id] })
    await other.hear()
    const nested = await policiesOf(other, id)
    await one.groups.put({ namespace: root, id: parent.id, fields: { member_group_ids: [] } })
    await other.hear()

    expect([nested, await policiesOf(other, id)]).toEqual([['up'], []])
  })

  test('is joined at logins on every server once one of them knows its alias', async () => {
    const alias = newName('team')
    await entityOf(newName('user'), { groupNames: [alias] }, other)
    await externalGroup(alias, ['team'])
    await other.hear()

    const id = await entityOf(newName('user'), { groupNames: [alias] }, other)

    expect(await policiesOf(other, id)).toEqual(['team'])
    expect(await policiesOf(one, id)).toEqual(['team'])
  })

  test('is left on every server by a login on one of them', async () => {
    const [alias, name] = [newName('team'), newName('user')]
    await externalGroup(alias, ['team'])
    await other.hear()
    const id = await entityOf(name, { groupNames: [alias] })
    expect(await policiesOf(other, id)).toEqual(['team'])

    await entityOf(name, { groupNames: [] })
    await other.hear()

    expect(await policiesOf(other, id)).toEqual([])
  })

  test('counts each join and leave on any server', async () => {
    const alias = newName('team')
    const id = await externalGroup(alias)
    await other.hear()
    const index = async (server: SharedCore) => {
      const group = await server.groups.byId(root, id)
      return group === undefined ? 0 : (await server.groups.details(group)).modifyIndex
    }
    const before = await index(one)

    await everywhere(20, (server) => entityOf(newName('user'), { groupNames: [alias] }, server))

    expect([await index(one), await index(other)]).toEqual([before + 20, before + 20])
  })

  test('keeps the counts of servers that are gone in one record', async () => {
    const alias = newName('team')
    const id = await externalGroup(alias)
    await other.hear()
    const index = async () => {
      const group = await one.groups.byId(root, id)
      return group === undefined ? 0 : (await one.groups.details(group)).modifyIndex
    }
    const before = await index()
    const counts = ['gone-1', 'gone-2'].map((server) => ({ key: changesKey(id, server), value: 3 }))
    await one.view.write(counts)

    await entityOf(newName('user'), { groupNames: [alias] }, other)

    const keys = () => one.view.listKeys(changesKey(id))
    await expect.poll(keys).toEqual([changesKey(id), changesKey(id, other.servers.ownId)])
    await entityOf(newName('user'), { groupNames: [alias] }, one)
    expect(await index()).toBe(before + 3 + 3 + 2)
    expect(await keys()).toHaveLength(3)
  })

  test('has one name, and an alias one group, whoever writes them', async () => {
    const [name, alias] = [newName('group'), newName('team')]
    const ids = await Promise.all([1, 2, 3, 4].map(async () => (await groupWith({ type: 'external' })).id))
    const mountAccessor = one.mount('auth/jwt/').accessor

    const named = await everywhere(4, (server, at) =>
      server.groups.put({ namespace: root, id: ids[at], fields: { name } }),
    )
    const aliased = await everywhere(4, (server, at) =>
      server.groups.putAlias({ namespace: root, name: alias, mountAccessor, canonicalId: ids[at] ?? '' }),
    )

    expect([succeeded(named), succeeded(aliased)].map(({ length }) => length)).toEqual([1, 1])
  })

  test('is never nested in itself by two servers', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [a, b] = [await groupWith({}), await groupWith({})]

      const nested = await Promise.allSettled([
        one.groups.put({ namespace: root, id: a.id, fields: { member_group_ids: [b.id] } }),
        other.groups.put({ namespace: root, id: b.id, fields: { member_group_ids: [a.id] } }),
      ])

      expect(succeeded(nested)).toHaveLength(1)
    }
  })

  test('has no child that another server deletes meanwhile', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [parent, child] = [await groupWith({}), await groupWith({})]

      await Promise.allSettled([
        one.groups.put({ namespace: root, id: parent.id, fields: { member_group_ids: [child.id] } }),
        other.groups.remove(root, child.id),
      ])

      expect((await one.groups.details(parent)).memberGroupIds).toEqual([])
    }
  })

  test('has no member that another server deletes or merges meanwhile', async () => {
    for (let round = 0; round < 8; round += 1) {
      const [group, id] = [await groupWith({}), await entityOf()]
      const to = (
        await putEntity(one.identities, { namespace: root, id: '', name: newName('to'), fields: {} })
      )?.id

      await Promise.allSettled([
        one.groups.put({ namespace: root, id: group.id, fields: { member_entity_ids: [id] } }),
        round % 2 === 0
          ? deleteEntity(other.identities, root, { id })
          : mergeEntities(other.identities, { namespace: root, to: to ?? '', from: [id], keep: [] }),
      ])

      expect((await one.groups.details(group)).memberEntityIds).not.toContain(id)
    }
  })
})

test('the members of a group are removed by another server if the first one was killed', async () => {
  const [gone, id] = [await groupWith({}), await entityOf()]
  await one.view.write([
    { key: deletedGroupKey(gone.id), value: true },
    { key: memberKey(gone.id, id), value: true },
    { key: membershipKey(id, gone.id), value: true },
  ])

  await other.groups.completeRemovals()

  const keys = [deletedGroupKey(gone.id), memberKey(gone.id, id), membershipKey(id, gone.id)]
  expect(await Promise.all(keys.map((key) => one.view.get(key)))).toEqual([undefined, undefined, undefined])
})

describe('identity tokens', () => {
  test('follow the keys, roles and issuer that another server has written', async () => {
    const mount = one.mounts.table.at(root, 'identity/')?.uuid ?? ''
    const issuer = { mount, namespace: { id: root, path: '' } }
    const [mine, theirs] = [one.identityTokens, other.identityTokens]
    const entity = await entityOf()
    await mine.keys.write(mount, 'k', { algorithm: 'ES256', allowed_client_ids: ['*'] })
    await mine.roles.write(mount, 'r', { key: 'k', ttl: 60 })
    const kidsOf = async (tokens: typeof mine) => [...(await tokens.published.of(mount)).byId.keys()].sort()
    await Promise.all([kidsOf(theirs), theirs.issuerOf(issuer), theirs.issue(issuer, 'r', entity)])

    await mine.keys.rotate(mount, 'k', undefined)
    await mine.roles.write(mount, 'r', { ttl: 90 })
    await mine.configureIssuer(issuer, 'https://issuer.example')
    await other.hear()

    expect(await kidsOf(theirs)).toEqual(await kidsOf(mine))
    expect(await theirs.issuerOf(issuer)).toBe(await mine.issuerOf(issuer))
    const { token, ttl } = await theirs.issue(issuer, 'r', entity)
    expect(ttl).toBe(90)
    expect(await mine.problemOf(issuer, token, '')).toBeUndefined()
  })

  test('are refused no change that the settings of another server allow', async () => {
    const mount = one.mounts.table.at(root, 'identity/')?.uuid ?? ''
    const [mine, theirs] = [one.identityTokens.keys, other.identityTokens.keys]
    const name = newName('key')
    await mine.write(mount, name, { algorithm: 'ES256', rotation_period: 3600, verification_ttl: 3600 })
    await other.hear()
    await mine.find(mount, name)
    await theirs.write(mount, name, { rotation_period: 360_000 })

    await mine.write(mount, name, { verification_ttl: 72_000 })

    expect(await mine.settingsOf(mount, name)).toMatchObject({
      rotation_period: 360_000,
      verification_ttl: 72_000,
    })
  })

  test('have no role whose key another server deletes meanwhile', async () => {
    const mount = one.mounts.table.at(root, 'identity/')?.uuid ?? ''
    for (let round = 0; round < 5; round += 1) {
      const name = newName('key')
      await one.identityTokens.keys.write(mount, name, { algorithm: 'ES256', allowed_client_ids: ['*'] })

      const changes = await Promise.allSettled([
        one.identityTokens.roles.write(mount, newName('role'), { key: name, ttl: 60 }),
        other.identityTokens.keys.remove(mount, name),
      ])

      expect(succeeded(changes)).toHaveLength(1)
    }
  })
})
