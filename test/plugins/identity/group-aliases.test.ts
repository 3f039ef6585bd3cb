import { describe, expect, test } from 'vitest'
import { openGroupFixture } from './group-fixture.ts'

const unknown = '00000000-0000-0000-0000-000000000000'
const time = expect.stringMatching(/^\d{4}-.*Z$/)

describe('group aliases', () => {
  test('a group alias is created, read, listed, changed and deleted', async () => {
    await using fixture = await openGroupFixture()
    const accessor = await fixture.mount('jwt')
    const group = await fixture.make('group', { name: 'g', type: 'external' })
    const made = await fixture.root.write('identity/group-alias', {
      name: 'Eng',
      mount_accessor: accessor,
      canonical_id: group,
    })
    const id = String(made.body.data?.id)
    const path = `identity/group-alias/id/${id}`
    const place = { mount_accessor: accessor, mount_type: 'jwt', mount_path: 'auth/jwt/' }

    expect(made.body.data).toEqual({ id: expect.any(String), canonical_id: group })
    const own = {
      id,
      canonical_id: group,
      ...place,
      name: 'Eng',
      metadata: null,
      merged_from_canonical_ids: null,
      creation_time: time,
      last_update_time: time,
    }
    expect((await fixture.root.read(path)).body.data).toEqual({
      ...own,
      custom_metadata: null,
      local: false,
      namespace_id: 'root',
    })
    expect((await fixture.read('group', group)).alias).toEqual(own)
    expect((await fixture.root.list('identity/group-alias/id')).body.data).toEqual({
      keys: [id],
      key_info: {
        [id]: {
          name: 'Eng',
          canonical_id: group,
          custom_metadata: null,
          metadata: null,
          local: false,
          ...place,
        },
      },
    })
    expect((await fixture.root.write(path, { name: 'Ops', mount_accessor: accessor })).body.data).toEqual({
      id,
      canonical_id: group,
    })
    expect((await fixture.root.write(path, { name: 'Ops', mount_accessor: accessor })).status).toBe(204)
    expect((await fixture.root.delete(path)).status).toBe(204)
    expect((await fixture.root.delete(path)).status).toBe(204)
    expect((await fixture.root.read(path)).status).toBe(404)
    expect((await fixture.root.list('identity/group-alias/id')).status).toBe(404)
    expect((await fixture.read('group', group)).alias).toEqual({})
  })

  test('an alias without a group gets a new external one', async () => {
    await using fixture = await openGroupFixture()
    const accessor = await fixture.mount('jwt')

    const { body } = await fixture.root.write('identity/group-alias', {
      name: 'eng',
      mount_accessor: accessor,
    })

    const group = await fixture.read('group', String(body.data?.canonical_id))
    expect(group).toMatchObject({
      type: 'external',
      name: expect.stringMatching(/^group_[0-9a-f]{8}$/),
      alias: { name: 'eng' },
      modify_index: 1,
    })
    expect((await fixture.root.read(`identity/group/name/${String(group.name)}`)).status).toBe(200)
  })

  test('invalid writes of a group alias are refused', async () => {
    await using fixture = await openGroupFixture()
    const mount_accessor = await fixture.mount('jwt')
    const internal = await fixture.make('group', { name: 'int' })
    const [ext, ext2] = [
      await fixture.make('group', { name: 'ext', type: 'external' }),
      await fixture.make('group', { name: 'ext2', type: 'external' }),
    ]
    const id = await fixture.make('group-alias', { name: 'eng', mount_accessor, canonical_id: ext })
    const taken = 'combination of mount and group alias name is already in use'

    const refusals: [object, string][] = [
      [{}, 'missing alias name'],
      [{ name: 'x' }, 'missing mount_accessor'],
      [{ mount_accessor }, 'missing alias name'],
      [{ name: 'x', mount_accessor: 'auth_none_00000000' }, 'invalid mount accessor "auth_none_00000000"'],
      [{ name: 'x', mount_accessor, canonical_id: unknown }, "invalid group ID given in 'canonical_id'"],
      [{ name: 'x', mount_accessor, canonical_id: internal }, "alias can't be set on an internal group"],
      [{ name: 'eng', mount_accessor, canonical_id: ext }, taken],
      [{ name: 'ENG', mount_accessor, canonical_id: ext2 }, taken],
      [{ id: '', name: 'x', mount_accessor }, 'empty group alias ID'],
      [{ id: unknown, name: 'x', mount_accessor }, 'invalid group alias ID'],
      [{ id: 'none', name: 'x', mount_accessor }, 'invalid group alias ID'],
      [{ id }, 'missing alias name'],
      [{ id, name: 'dev' }, 'missing mount_accessor'],
    ]
    for (const [body, text] of refusals) {
      const answer = await fixture.root.write('identity/group-alias', body)
      expect([answer.status, answer.body.errors?.[0]], JSON.stringify(body)).toEqual([400, text])
    }

    expect((await fixture.read('group', ext2)).alias).toEqual({})
    expect((await fixture.root.list('identity/group-alias/id')).body.data?.keys).toEqual([id])
  })

  test('a local mount has no group aliases', async () => {
    await using fixture = await openGroupFixture()
    await fixture.root.write('sys/auth/near', { type: 'jwt', local: true })
    const mount_accessor = String((await fixture.root.read('sys/auth')).body['near/']?.accessor)

    const { status, body } = await fixture.root.write('identity/group-alias', { name: 'eng', mount_accessor })

    expect([status, body.errors]).toEqual([400, [`mount accessor "${mount_accessor}" is a local mount`]])
  })

  test('an alias ends with its group, and its name is free again', async () => {
    await using fixture = await openGroupFixture()
    const mount_accessor = await fixture.mount('jwt')
    const group = await fixture.make('group', { name: 'g', type: 'external', policies: 'p' })
    const alias = await fixture.make('group-alias', { name: 'eng', mount_accessor, canonical_id: group })
    await fixture.login(['eng'])

    await fixture.root.delete(`identity/group/id/${group}`)

    expect((await fixture.root.read(`identity/group-alias/id/${alias}`)).status).toBe(404)
    expect((await fixture.root.list('identity/group-alias/id')).status).toBe(404)
    expect(
      (
        await fixture.root.write('identity/lookup/group', {
          alias_name: 'eng',
          alias_mount_accessor: mount_accessor,
        })
      ).status,
    ).toBe(204)
    expect((await fixture.login(['eng'])).auth.identity_policies).toBeUndefined()
    const next = await fixture.make('group-alias', { name: 'ENG', mount_accessor })
    expect(next).not.toBe(alias)
  })

  test('an alias of a removed mount can be written unchanged, and any change needs a mount', async () => {
    await using fixture = await openGroupFixture()
    const mount_accessor = await fixture.mount('jwt')
    const { body } = await fixture.root.write('identity/group-alias', { name: 'eng', mount_accessor })
    const path = `identity/group-alias/id/${String(body.data?.id)}`
    await fixture.root.delete('sys/auth/jwt')

    expect((await fixture.root.write(path, { name: 'eng', mount_accessor })).status).toBe(204)
    expect(
      (await fixture.root.write(path, { name: 'eng', mount_accessor, canonical_id: body.data?.canonical_id }))
        .status,
    ).toBe(204)
    expect((await fixture.root.write(path, { name: 'dev', mount_accessor })).body.errors).toEqual([
      `invalid mount accessor "${mount_accessor}"`,
    ])
    expect(
      (await fixture.root.write(path, { name: 'eng', mount_accessor, canonical_id: unknown })).body.errors,
    ).toEqual(["invalid group ID given in 'canonical_id'"])
    expect((await fixture.root.read(path)).body.data).toMatchObject({ name: 'eng', mount_accessor })
  })

  test('a second alias of a group replaces the first, whose id and name become free', async () => {
    await using fixture = await openGroupFixture()
    const mount_accessor = await fixture.mount('jwt')
    const [g, h] = [
      await fixture.make('group', { name: 'g', type: 'external' }),
      await fixture.make('group', { name: 'h', type: 'external' }),
    ]
    const first = await fixture.make('group-alias', { name: 'one', mount_accessor, canonical_id: g })

    const second = await fixture.make('group-alias', { name: 'two', mount_accessor, canonical_id: g })

    expect((await fixture.root.read(`identity/group-alias/id/${first}`)).status).toBe(404)
    expect((await fixture.read('group', g)).alias?.id).toBe(second)
    await fixture.make('group-alias', { name: 'one', mount_accessor, canonical_id: h })
  })

  test('an alias moves to another group, and logins follow it', async () => {
    await using fixture = await openGroupFixture()
    const mount_accessor = await fixture.mount('jwt')
    const [g, h] = [
      await fixture.make('group', { name: 'g', type: 'external' }),
      await fixture.make('group', { name: 'h', type: 'external' }),
    ]
    const id = await fixture.make('group-alias', { name: 'eng', mount_accessor, canonical_id: g })
    const { entity } = await fixture.login(['eng'])

    const moved = await fixture.root.write(`identity/group-alias/id/${id}`, {
      name: 'eng',
      mount_accessor,
      canonical_id: h,
    })
    await fixture.login(['eng'])

    expect(moved.body.data).toEqual({ id, canonical_id: h })
    expect((await fixture.read('group', g)).alias).toEqual({})
    expect(await fixture.read('entity', entity)).toMatchObject({ direct_group_ids: [h] })
  })

  test('of many concurrent claims of one name, one succeeds', async () => {
    await using fixture = await openGroupFixture()
    const mount_accessor = await fixture.mount('jwt')

    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        fixture.root.write('identity/group-alias', { name: index % 2 ? 'ENG' : 'eng', mount_accessor }),
      ),
    )

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect((await fixture.root.list('identity/group/id')).body.data?.keys).toHaveLength(1)
  })
})

test('a lookup takes exactly one criterion', async () => {
  await using fixture = await openGroupFixture()
  const accessor = await fixture.mount('jwt')
  const id = await fixture.make('group', { name: 'Team', type: 'external' })
  const alias = await fixture.make('group-alias', { name: 'Eng', mount_accessor: accessor, canonical_id: id })
  const conflict = 'query parameter conflict; please supply distinct set of query parameters'
  const half = "both 'alias_name' and 'alias_mount_accessor' needs to be set"
  const outcome = async (body: object) => {
    const answer = await fixture.root.write('identity/lookup/group', body)
    return answer.status === 200
      ? answer.body.data?.id
      : answer.status === 204
        ? 204
        : answer.body.errors?.[0]
  }

  const cases: [object, unknown][] = [
    [{ id }, id],
    [{ name: 'tEAM' }, id],
    [{ alias_id: alias }, id],
    [{ alias_name: 'eng', alias_mount_accessor: accessor }, id],
    [{}, 'query parameter not supplied'],
    [{ id, name: 'Team' }, conflict],
    [{ id: '', name: 'Team' }, conflict],
    [{ id: '', alias_name: 'eng', alias_mount_accessor: accessor }, conflict],
    [{ id: '' }, 204],
    [{ name: 'Team', alias_name: 'eng', alias_mount_accessor: accessor }, conflict],
    [{ alias_name: 'eng' }, half],
    [{ alias_mount_accessor: accessor }, half],
    [{ id: 'none' }, 204],
    [{ name: 'none' }, 204],
    [{ alias_id: id }, 204],
    [{ alias_name: 'eng', alias_mount_accessor: 'auth_none_1' }, 204],
  ]
  for (const [body, expected] of cases) expect(await outcome(body), JSON.stringify(body)).toBe(expected)
})
