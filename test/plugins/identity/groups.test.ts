import { describe, expect, test } from 'vitest'
import { many } from '../../support/rounds.ts'
import { openGroupFixture } from './group-fixture.ts'

const unknown = '00000000-0000-0000-0000-000000000000'
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
const time = expect.stringMatching(/^\d{4}-.*Z$/)

describe('groups', () => {
  test('a group is read completely, with unset fields as null', async () => {
    await using fixture = await openGroupFixture()
    const entity = await fixture.make('entity', { name: 'bob' })

    const made = await fixture.root.write('identity/group', {
      name: 'Team',
      policies: ' Q,p,,P',
      metadata: { a: 'b' },
      member_entity_ids: [entity, entity],
    })
    const bare = await fixture.make('group', {})

    expect(made.body.data).toEqual({ id: uuid, name: 'Team' })
    expect(await fixture.read('group', String(made.body.data?.id))).toEqual({
      id: made.body.data?.id,
      name: 'Team',
      type: 'internal',
      policies: ['p', 'q'],
      metadata: { a: 'b' },
      member_entity_ids: [entity],
      member_group_ids: null,
      parent_group_ids: null,
      alias: {},
      modify_index: 1,
      namespace_id: 'root',
      creation_time: time,
      last_update_time: time,
    })
    expect(await fixture.read('group', bare)).toMatchObject({
      name: expect.stringMatching(/^group_[0-9a-f]{8}$/),
      policies: null,
      metadata: null,
    })
  })

  test('absent fields are kept, sent ones replace, and each write is counted', async () => {
    await using fixture = await openGroupFixture()
    const [one, two] = [
      await fixture.make('entity', { name: 'one' }),
      await fixture.make('entity', { name: 'two' }),
    ]
    const id = await fixture.make('group', { name: 'team', policies: 'p', member_entity_ids: one })
    const { root } = fixture

    const answers = [
      await root.write('identity/group', { name: 'TEAM', policies: 'q' }),
      await root.write(`identity/group/id/${id}`, { member_entity_ids: two }),
      await root.write('identity/group/name/team', { metadata: { k: 'v' } }),
      await root.write('identity/group', { id, member_entity_ids: [] }),
      await root.write('identity/group', { id, name: '' }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204])
    expect(await fixture.read('group', id)).toMatchObject({
      name: 'team',
      policies: ['q'],
      metadata: { k: 'v' },
      member_entity_ids: null,
      modify_index: 6,
    })
  })

  test('a renamed group is found by its new name only', async () => {
    await using fixture = await openGroupFixture()
    const id = await fixture.make('group', { name: 'old' })

    await fixture.root.write(`identity/group/id/${id}`, { name: 'new' })

    expect((await fixture.root.read('identity/group/name/old')).status).toBe(404)
    expect((await fixture.root.read('identity/group/name/NEW')).body.data?.id).toBe(id)
    expect(await fixture.make('group', { name: 'old' })).not.toBe(id)
  })

  test('invalid writes of a group are refused', async () => {
    await using fixture = await openGroupFixture()
    const entity = await fixture.make('entity', { name: 'bob' })
    const g = await fixture.make('group', { name: 'int' })
    const h = await fixture.make('group', { name: 'ext', type: 'external' })
    await fixture.make('group', { name: 'other' })
    const before = [await fixture.read('group', g), await fixture.read('group', h)]

    const refusals: [object, string][] = [
      [{ id: '' }, 'empty group ID'],
      [{ id: unknown }, 'invalid group ID'],
      [{ id: 'x'.repeat(5000) }, 'invalid group ID'],
      [{ name: '' }, 'empty group name'],
      [{ name: ' \t' }, 'empty group name'],
      [{ id: g, type: 'external' }, 'group type cannot be changed'],
      [{ id: h, type: 'internal' }, 'group type cannot be changed'],
      [{ name: 'int', type: 'external' }, 'group type cannot be changed'],
      [{ name: 'x', type: 'weird' }, 'invalid group type "weird"'],
      [{ id: g, name: 'Other' }, 'group name is already in use'],
      [{ id: g, policies: ['a', 'root'] }, 'policies cannot contain root'],
      [{ id: g, policies: ['ROOT '] }, 'policies cannot contain root'],
      [{ id: g, policies: ['ｒｏｏｔ'] }, 'policies cannot contain root'],
      [{ name: 'x', policies: 'a, rOOt' }, 'policies cannot contain root'],
      [{ id: h, member_entity_ids: [entity] }, "member entities can't be set manually for external groups"],
      [{ id: h, member_entity_ids: [] }, "member entities can't be set manually for external groups"],
      [
        { name: 'x', type: 'external', member_entity_ids: [entity] },
        "member entities can't be set manually for external groups",
      ],
      [{ id: h, member_group_ids: [g] }, "member groups can't be set for external groups"],
      [{ id: g, member_entity_ids: [entity, unknown] }, `invalid entity ID "${unknown}"`],
      [{ id: g, member_entity_ids: ['nope'] }, 'invalid entity ID "nope"'],
      [{ id: g, member_entity_ids: [`${entity}.aB3xY9`] }, `invalid entity ID "${entity}.aB3xY9"`],
      [{ id: g, member_group_ids: [unknown] }, `invalid member group ID "${unknown}"`],
      [{ id: g, member_group_ids: [g] }, `member group ID "${g}" is same as the ID of the group`],
      [
        { id: g, metadata: { 'a b': '1' } },
        'invalid group metadata: failed to load metadata pair ("a b", "1"): key contains invalid characters',
      ],
    ]
    for (const [body, text] of refusals) {
      const answer = await fixture.root.write('identity/group', body)
      expect([answer.status, answer.body.errors?.[0]], JSON.stringify(body).slice(0, 200)).toEqual([
        400,
        text,
      ])
    }

    expect([await fixture.read('group', g), await fixture.read('group', h)]).toEqual(before)
    expect((await fixture.root.read('identity/group/name/x')).status).toBe(404)
  })

  test('an empty type counts as unset for a new group, and as a change for an existing one', async () => {
    await using fixture = await openGroupFixture()
    const [empty, none] = [
      await fixture.make('group', { name: 'e', type: '' }),
      await fixture.make('group', { name: 'n', type: null }),
    ]

    expect([await fixture.read('group', empty), await fixture.read('group', none)]).toMatchObject([
      { type: 'internal' },
      { type: 'internal' },
    ])
    expect((await fixture.root.write('identity/group', { id: empty, type: '' })).body.errors).toEqual([
      'group type cannot be changed',
    ])
  })

  test('a missing group is 404 to read, 400 to write and 204 to delete', async () => {
    await using fixture = await openGroupFixture()
    const path = `identity/group/id/${unknown}`

    expect((await fixture.root.read(path)).status).toBe(404)
    expect((await fixture.root.write(path, { policies: 'p' })).body.errors?.[0]).toBe('invalid group ID')
    expect((await fixture.root.delete(path)).status).toBe(204)
    expect((await fixture.root.delete('identity/group/name/none')).status).toBe(204)
    expect((await fixture.root.list('identity/group/id')).status).toBe(404)
    expect((await fixture.root.read('identity/group/id')).status).toBe(405)
  })

  test('lists by id have counts, lists by name only keys, and both are paged by after and limit', async () => {
    await using fixture = await openGroupFixture()
    const accessor = await fixture.mount('jwt')
    const entity = await fixture.make('entity', { name: 'bob' })
    const child = await fixture.make('group', { name: 'b', type: 'external' })
    const parent = await fixture.make('group', {
      name: 'a',
      member_entity_ids: entity,
      member_group_ids: child,
    })
    const alias = await fixture.make('group-alias', {
      name: 'eng',
      mount_accessor: accessor,
      canonical_id: child,
    })

    const byId = (await fixture.root.list('identity/group/id')).body.data
    const byName = (await fixture.root.list('identity/group/name')).body.data

    expect(byId?.keys).toEqual([child, parent].sort())
    expect(byId?.key_info).toEqual({
      [parent]: { name: 'a', num_member_entities: 1, num_parent_groups: 0 },
      [child]: {
        name: 'b',
        num_member_entities: 0,
        num_parent_groups: 1,
        alias: {
          id: alias,
          name: 'eng',
          mount_accessor: accessor,
          mount_type: 'jwt',
          mount_path: 'auth/jwt/',
        },
      },
    })
    expect(byName).toEqual({ keys: ['a', 'b'] })
    expect((await fixture.root.list('identity/group/name?limit=1')).body.data?.keys).toEqual(['a'])
    expect((await fixture.root.list('identity/group/name?after=a')).body.data?.keys).toEqual(['b'])
    expect(
      (await fixture.root.list(`identity/group/id?after=${[child, parent].sort()[0]}`)).body.data?.keys,
    ).toEqual([[child, parent].sort()[1]])
  })
})

describe('groups in groups', () => {
  test('policies are inherited until the chain is broken', async () => {
    await using fixture = await openGroupFixture()
    await fixture.mount('jwt')
    const { entity, client } = await fixture.login([])
    const h = await fixture.make('group', { name: 'h', policies: 'ph', member_entity_ids: entity })
    const g = await fixture.make('group', { name: 'g', policies: 'pg', member_group_ids: h })
    const top = await fixture.make('group', { name: 'top', policies: 'pt', member_group_ids: g })
    const policies = async () => (await client.read('auth/token/lookup-self')).body.data?.identity_policies

    expect(await policies()).toEqual(['pg', 'ph', 'pt'])
    expect(await fixture.read('entity', entity)).toMatchObject({
      direct_group_ids: [h],
      inherited_group_ids: [g, top].sort(),
      group_ids: [h, ...[g, top].sort()],
    })
    await fixture.root.write(`identity/group/id/${top}`, { policies: 'other' })
    expect(await policies()).toEqual(['other', 'pg', 'ph'])
    await fixture.root.write(`identity/group/id/${g}`, { member_group_ids: [] })
    expect(await policies()).toEqual(['ph'])
    await fixture.root.delete(`identity/group/id/${h}`)
    expect(await policies()).toBeUndefined()
    expect(await fixture.read('entity', entity)).toMatchObject({
      direct_group_ids: [],
      inherited_group_ids: [],
      group_ids: [],
    })
  })

  test('a cycle is refused, however long', async () => {
    await using fixture = await openGroupFixture()
    const [a, b, c] = [
      await fixture.make('group', { name: 'a' }),
      await fixture.make('group', { name: 'b' }),
      await fixture.make('group', { name: 'c' }),
    ]
    const put = async (id: string, members: string[]) =>
      (await fixture.root.write('identity/group', { id, member_group_ids: members })).body?.errors?.[0]

    expect(await put(a, [b])).toBeUndefined()
    expect(await put(b, [a])).toBe(`cyclic relationship detected for member group ID "${a}"`)
    expect(await put(b, [c])).toBeUndefined()
    expect(await put(c, [a])).toBe(`cyclic relationship detected for member group ID "${a}"`)
    expect(await put(a, [b, c])).toBeUndefined()
    expect(await fixture.read('group', c)).toMatchObject({
      parent_group_ids: [a, b].sort(),
      member_group_ids: null,
    })
  })

  test('of concurrent writes that would form a cycle, one fails', async () => {
    await using fixture = await openGroupFixture()
    for (let round = 0; round < 10; round += 1) {
      const ids = [
        await fixture.make('group', {}),
        await fixture.make('group', {}),
        await fixture.make('group', {}),
      ]
      const write = (from: number) =>
        fixture.root.write('identity/group', { id: ids[from], member_group_ids: [ids[(from + 1) % 3]] })

      const answers = await Promise.all([write(0), write(1), write(2)])

      expect(answers.map(({ status }) => status).sort()).toEqual([204, 204, 400])
    }
  })

  test('a deleted group leaves its parents and children', async () => {
    await using fixture = await openGroupFixture()
    const child = await fixture.make('group', { name: 'child' })
    const middle = await fixture.make('group', { name: 'middle', member_group_ids: child })
    const parent = await fixture.make('group', { name: 'parent', member_group_ids: middle })

    await fixture.root.delete('identity/group/name/Middle')

    expect(await fixture.read('group', child)).toMatchObject({ parent_group_ids: null })
    expect(await fixture.read('group', parent)).toMatchObject({ member_group_ids: null })
    expect(await fixture.make('group', { name: 'middle' })).not.toBe(middle)
  })
})

describe('membership of a group', () => {
  test('a deleted entity leaves, and a merged entity passes its membership on', async () => {
    await using fixture = await openGroupFixture()
    const [a, b, c] = [
      await fixture.make('entity', { name: 'a' }),
      await fixture.make('entity', { name: 'b' }),
      await fixture.make('entity', { name: 'c' }),
    ]
    const both = await fixture.make('group', { name: 'both', member_entity_ids: [a, b, c] })
    const from = await fixture.make('group', { name: 'from', member_entity_ids: [b] })

    await fixture.root.write('identity/entity/merge', { to_entity_id: a, from_entity_ids: b })
    await fixture.root.delete(`identity/entity/id/${c}`)

    expect(await fixture.read('group', both)).toMatchObject({ member_entity_ids: [a], modify_index: 3 })
    expect(await fixture.read('group', from)).toMatchObject({ member_entity_ids: [a], modify_index: 2 })
    expect(await fixture.read('entity', a)).toMatchObject({ direct_group_ids: [both, from].sort() })
  })

  test('an entity that is deleted while it is added to a group is in no group afterwards', async () => {
    await using fixture = await openGroupFixture()
    const group = await fixture.make('group', { name: 'g' })
    for (let round = 0; round < 10; round += 1) {
      const entity = await fixture.make('entity', {})

      await Promise.all([
        fixture.root.write('identity/group', { id: group, member_entity_ids: [entity] }),
        fixture.root.delete(`identity/entity/id/${entity}`),
      ])

      expect((await fixture.read('group', group)).member_entity_ids ?? []).not.toContain(entity)
    }
  })

  test('a group with many members can be written, joined by a login, counted and deleted', {
    timeout: 60_000,
  }, async () => {
    await using fixture = await openGroupFixture()
    const accessor = await fixture.mount('jwt')
    const ext = await fixture.make('group', { name: 'ext', type: 'external' })
    await fixture.make('group-alias', { name: 'eng', mount_accessor: accessor, canonical_id: ext })
    const members = many(400, 1_200)
    const logins: Awaited<ReturnType<typeof fixture.login>>[] = []
    while (logins.length < members) {
      logins.push(
        ...(await Promise.all(
          Array.from({ length: 100 }, (_, index) =>
            fixture.login(['eng'], { sub: `job-${logins.length + index}` }),
          ),
        )),
      )
    }
    const entities = new Set(logins.map(({ entity }) => entity))
    const internal = await fixture.make('group', {
      name: 'int',
      policies: 'p',
      member_entity_ids: [...entities].join(','),
    })

    const info = (await fixture.root.list('identity/group/id')).body.data?.key_info

    expect(entities.size).toBe(members)
    expect(info?.[ext]).toMatchObject({ num_member_entities: members })
    expect(info?.[internal]).toMatchObject({ num_member_entities: members })
    expect(await fixture.read('group', ext)).toMatchObject({ modify_index: members + 2 })
    for (const id of [ext, internal])
      expect((await fixture.root.delete(`identity/group/id/${id}`)).status).toBe(204)
    expect(await fixture.read('entity', String(logins[members / 2]?.entity))).toMatchObject({ group_ids: [] })
    expect(
      (await logins[members / 2]?.client.read('auth/token/lookup-self'))?.body.data?.identity_policies,
    ).toBeUndefined()
  })
})
