import { expect, test } from 'vitest'
import type { View } from '../../../src/core/barrier/view.ts'
import { putEntity } from '../../../src/core/identity/entities/entity-changes.ts'
import { EntityRecords } from '../../../src/core/identity/entities/entity-records.ts'
import { jwtMount, openTokenFixture } from '../../support/token-fixture.ts'

/** The same view, with counts of its calls. */
function counted(view: View) {
  const count = { reads: 0, lists: 0 }
  const counting: View = {
    ...view,
    get: (key) => {
      count.reads += 1
      return view.get(key)
    },
    read: (key) => {
      count.reads += 1
      return view.read(key)
    },
    list: (prefix, range) => {
      count.lists += 1
      return view.list(prefix, range)
    },
    listKeys: (prefix, range) => {
      count.lists += 1
      return view.listKeys(prefix, range)
    },
  }
  return { counting, count }
}

test.each([1, 200])(
  'with %i other entities, a lookup by id, name, alias or alias id reads a record or two and lists nothing',
  async (others) => {
    await using fixture = await openTokenFixture()
    const { auth } = await fixture.login()
    for (let at = 0; at < others; at += 1)
      await putEntity(fixture.identity, { namespace: 'root', id: '', name: `other-${at}`, fields: {} })
    const stored = await fixture.identity.records.byId('root', auth.entity_id)
    const { counting, count } = counted(fixture.view)
    const records = new EntityRecords(counting, fixture.identity.records.keys)

    const found = [
      await records.byId('root', auth.entity_id),
      await records.byName('root', stored?.entity.name ?? ''),
      await records.byAlias('root', jwtMount.accessor, 'ALICE'),
      await records.byAliasId('root', stored?.entity.aliases[0]?.id ?? ''),
    ]

    expect(found.map((one) => one?.entity.id)).toEqual(Array(4).fill(auth.entity_id))
    expect(count).toEqual({ reads: 6, lists: 0 })
  },
)
