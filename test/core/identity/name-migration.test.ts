import { expect, test } from 'vitest'
import type { View, ViewEntry } from '../../../src/core/barrier/view.ts'
import { canonicalName } from '../../../src/core/identity/canonical-name.ts'
import { putAlias } from '../../../src/core/identity/entities/alias-changes.ts'
import { putEntity } from '../../../src/core/identity/entities/entity-changes.ts'
import { IdentityStore } from '../../../src/core/identity/entities/identity-store.ts'
import { migrateNames } from '../../../src/core/identity/entities/name-migration.ts'
import { aliasPrefix, namePrefix } from '../../../src/core/identity/groups/group-keys.ts'
import { GroupStore } from '../../../src/core/identity/groups/group-store.ts'
import { IdentityKeys } from '../../../src/core/identity/identity-keys.ts'
import { Servers } from '../../../src/core/servers/servers.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { openCoreView } from '../../support/core-view.ts'
import { jwtMount } from '../../support/token-fixture.ts'

const names = ['ａｄｍｉｎ', '  Bob  Smith', 'Straße', 'plain', 'ad\u200bele', 'Zoe\u0308']
const namespace = 'root'
const mountAccessor = jwtMount.accessor

async function openStores(view: View, clock: { now(): number }) {
  const parts = { view, clock, random: systemRandom }
  const servers = new Servers(undefined, systemRandom)
  const groups = await GroupStore.open({
    ...parts,
    servers,
    mountOf: () => jwtMount,
    isSameOrAbove: () => true,
  })
  return {
    groups,
    identity: await IdentityStore.open({ ...parts, memberships: groups }),
    keys: await IdentityKeys.open(view, systemRandom),
  }
}

/**
 * Entities and groups of all `names`, in a store as an older version wrote it: each row under the hash of the
 * canonical form.
 */
async function openOldStore() {
  const { view, clock, ...core } = await openCoreView()
  const { groups, identity, keys } = await openStores(view, clock)
  const ids: Record<string, { entity: string; group: string }> = {}
  const aged: ViewEntry[] = []
  for (const name of names) {
    const entity = await putEntity(identity, { namespace, id: '', name, fields: {} })
    const entityId = entity?.id ?? ''
    await putAlias(
      { store: identity, mountOf: () => jwtMount },
      { namespace, id: '', name, mountAccessor, canonicalId: entityId },
    )
    const { group } = await groups.put({ namespace, fields: { name, type: 'external' } })
    await groups.putAlias({ namespace, name, mountAccessor, canonicalId: group.id })
    ids[name] = { entity: entityId, group: group.id }
    const hash = (kind: Parameters<IdentityKeys['wideHashOf']>[0]) => keys.wideHashOf(kind, namespace, name)
    const row = { group: group.id, name: canonicalName(name) }
    aged.push(
      { key: `entity-name/${namespace}/${hash('entity')}`, value: entityId },
      { key: `entity-alias/${namespace}/${mountAccessor}/${hash('alias')}`, value: entityId },
      { key: namePrefix(namespace) + hash('group'), value: group.id },
      { key: aliasPrefix(namespace, mountAccessor) + hash('group-alias'), value: row },
    )
  }
  const newRows = [
    'entity-name/',
    'entity-alias/',
    'entity-alike/',
    namePrefix(namespace),
    aliasPrefix(namespace, mountAccessor),
  ]
  for (const prefix of newRows) await view.deletePrefix(prefix)
  await view.write(aged)
  return { view, clock, ids, ...core }
}

async function expectAllFound(
  view: View,
  clock: { now(): number },
  ids: Record<string, { entity: string; group: string }>,
) {
  const { identity, groups } = await openStores(view, clock)
  for (const name of names) {
    const found = {
      name: (await identity.records.byName(namespace, name))?.entity.id,
      alias: (await identity.records.byAlias(namespace, mountAccessor, name))?.entity.id,
      login: (await identity.forLogin({ namespace, mountAccessor, name, metadata: null })).identity.entity.id,
      group: (await groups.byName(namespace, name))?.id,
      groupAlias: (await groups.byAlias(namespace, mountAccessor, name))?.id,
    }
    const { entity, group } = ids[name] ?? {}
    expect(found).toEqual({ name: entity, alias: entity, login: entity, group, groupAlias: group })
    const canonical = canonicalName(name)
    if (canonical === name.toLowerCase()) continue
    expect(await identity.records.byName(namespace, canonical)).toBeUndefined()
    expect(await identity.records.byAlias(namespace, mountAccessor, canonical)).toBeUndefined()
    expect(await groups.byName(namespace, canonical)).toBeUndefined()
    expect(await groups.byAlias(namespace, mountAccessor, canonical)).toBeUndefined()
    const lookalike = await identity.forLogin({ namespace, mountAccessor, name: canonical, metadata: null })
    expect(lookalike.identity.entity.aliases[0]?.resembles).toBe(entity)
  }
}

const migrate = async (view: View, failures: string[] = []) =>
  migrateNames({
    view,
    keys: await IdentityKeys.open(view, systemRandom),
    onFailure: (key) => failures.push(key),
  })

test('names of an older store are found after the migration, each by its own spelling only', async () => {
  await using store = await openOldStore()

  const moved = await migrate(store.view)

  expect(moved).toBeGreaterThan(0)
  await expectAllFound(store.view, store.clock, store.ids)
})

test('the migration happens once', async () => {
  await using store = await openOldStore()
  await migrate(store.view)

  expect(await migrate(store.view)).toBeUndefined()
})

test('a new store needs no migration', async () => {
  await using core = await openCoreView()

  expect([await migrate(core.view), await migrate(core.view)]).toEqual([0, undefined])
})

test.each([0, 1, 2])('a crash after %i writes is completed by the next start', async (writes) => {
  await using store = await openOldStore()
  let left = writes
  const dying = new Proxy(store.view, {
    get: (view, member) => {
      if (member !== 'write') return Reflect.get(view, member).bind(view)
      return (batch: readonly ViewEntry[]) => {
        left -= 1
        return left < 0 ? Promise.reject(new Error('killed')) : view.write(batch)
      }
    },
  })
  const failures: string[] = []
  await migrate(dying, failures).catch(() => failures.push('killed'))
  expect(failures).not.toEqual([])

  await migrate(store.view)

  await expectAllFound(store.view, store.clock, store.ids)
})

test('a record that cannot be read does not stop the migration of the others', async () => {
  await using store = await openOldStore()
  const broken = store.ids['plain']?.entity ?? ''
  await store.view.write([{ key: `entity/${namespace}/${broken}`, value: 'no entity' }])
  const failures: string[] = []

  await migrate(store.view, failures)

  expect(failures).toEqual([`entity/${namespace}/${broken}`])
  const { identity } = await openStores(store.view, store.clock)
  expect((await identity.records.byName(namespace, 'ａｄｍｉｎ'))?.entity.id).toBe(
    store.ids['ａｄｍｉｎ']?.entity,
  )
})

test('names with different lone surrogates have different keys', async () => {
  await using core = await openCoreView()
  const keys = await IdentityKeys.open(core.view, systemRandom)

  const places = ['x\ud800', 'x\udbff', 'x\ufffd', 'x'].map((name) => keys.entityName(namespace, name))

  expect(new Set(places).size).toBe(4)
  expect(keys.entityName(namespace, 'X\ud800')).toBe(places[0])
})
