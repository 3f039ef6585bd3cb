import { expect, test } from 'vitest'
import { StorageFaults } from '../../../src/storage/faults.ts'
import type { Answer, Json } from '../../support/client.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { aLoginMount, type LoginMount } from './login-mount.ts'

const many = <T>(count: number, work: (at: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, at) => work(at)))
const texts = (list: Json | undefined): string[] => Object.values(list ?? {}).map(String)

/** Pseudo-random numbers that are the same in each run. */
function dice(seed: number) {
  let state = seed
  return (sides: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7f_ff_ff_ff
    return (state >>> 8) % sides
  }
}

test('concurrent first logins of one name in many spellings create one entity', async () => {
  await using server = await startTestServer()
  const mount = await aLoginMount(server, 'm')
  const spellings = ['mike', 'MIKE', 'Mike', 'mi\u212ae', 'mIKe']

  const logins = await many(35, (at) => mount.login(spellings[at % spellings.length] ?? ''))

  expect(new Set(logins.map(({ answer }) => answer.status))).toEqual(new Set([200]))
  expect(new Set(logins.map(({ entityId }) => entityId)).size).toBe(1)
  expect((await server.root.list('identity/entity-alias/id')).body.data?.keys).toHaveLength(1)
})

test('deleting a group while a member renews and logs in causes no failure and leaves no member and no rights', async () => {
  await using server = await startTestServer()
  const { root } = server
  const mount = await aLoginMount(server, 'm')
  for (const round of Array.from({ length: 8 }).keys()) {
    const body = { name: `g${round}`, type: 'external', policies: 'p' }
    const group = (await root.write('identity/group', body)).body.data?.id
    await root.write('identity/group-alias', {
      name: 'eng',
      mount_accessor: mount.accessor,
      canonical_id: group,
    })
    const { token, client, entityId } = await mount.login('alice', { groups: ['eng'] })

    const [ended, ...others] = await Promise.all([
      root.delete(`identity/group/id/${String(group)}`),
      root.write('auth/token/renew', { token }),
      mount.login('alice', { groups: ['eng'] }).then(({ answer }) => answer),
      mount.login('bob', { groups: ['eng'] }).then(({ answer }) => answer),
      root.write('auth/token/renew', { token }),
    ])

    expect([ended.status, ...others.map(({ status }) => status)]).toEqual([204, 200, 200, 200, 200])
    expect((await root.read(`identity/entity/id/${entityId}`)).body.data).toMatchObject({ group_ids: [] })
    expect((await client.read('auth/token/lookup-self')).body.data?.identity_policies).toBeUndefined()
  }
})

const storedIn = ({ file }: { file(name: string): string }) => ({
  STORAGE: `sqlite:${file('gatehouse.db')}`,
  SEAL_KEY_FILE: file('seal.key'),
})

testOfOneServer(
  'concurrent requests for one person, by several mounts, all succeed',
  { timeout: 60_000 },
  async () => {
    await using folder = await temporaryFolder()
    const settings = storedIn(folder)
    await using server = await startTestServer({ settings })
    const { root } = server
    const mounts = await many(5, (at) => aLoginMount(server, `m${at}`))
    const mountOf = (at: number) => mounts[at % mounts.length] as LoginMount // there are five
    const { entityId, token } = await mountOf(0).login('u')
    for (const { accessor } of mounts.slice(1))
      await root.write('identity/entity-alias', {
        name: 'u',
        mount_accessor: accessor,
        canonical_id: entityId,
      })
    for (const { accessor } of mounts)
      await root.write('identity/group-alias', { name: 'eng', mount_accessor: accessor })

    const answers = await Promise.all([
      ...Array.from({ length: 120 }, (_, at) =>
        root.write(`identity/entity/id/${entityId}`, { metadata: { at: `${at}` } }),
      ),
      ...Array.from(
        { length: 150 },
        async (_, at) =>
          (await mountOf(at).login('u', { team: `t${at}`, groups: at % 3 === 0 ? [] : ['eng'] })).answer,
      ),
      ...Array.from({ length: 40 }, () => root.write('auth/token/renew', { token })),
      ...Array.from({ length: 40 }, (_, at) =>
        root.write('identity/entity-alias', {
          name: at % 2 === 0 ? 'u' : 'U',
          mount_accessor: mountOf(at).accessor,
          custom_metadata: { at: `${at}` },
        }),
      ),
    ])

    expect(answers.filter(({ status }) => status !== 200 && status !== 204).map(({ text }) => text)).toEqual(
      [],
    )
    expect((await soundPeople(server)).size).toBe(1)
  },
)

testOfOneServer(
  'writes of groups and deletions of entities that arrive during a commit share the next one',
  async () => {
    await using folder = await temporaryFolder()
    const settings = storedIn(folder)
    const faults = new StorageFaults()
    await using server = await startTestServer({ settings, faults })
    const { root } = server
    const entities = await many(40, async () => String((await root.write('identity/entity')).body.data?.id))
    const [first, ...others] = entities
    const commits = async () => {
      const { text } = await root.read('/metrics')
      return Number(/^gatehouse_storage_commit_duration_seconds_count (\d+)$/m.exec(text)?.[1])
    }
    const before = await commits()
    faults.delay('storage.before-commit', 25)

    const made = await many(40, (at) =>
      root.write('identity/group', { name: `g${at}`, member_entity_ids: entities[at] }),
    )
    const changed = await Promise.all([
      ...others.map((id) => root.delete(`identity/entity/id/${id}`)),
      root.write('identity/group', { name: 'g0', policies: 'p' }),
      // both write the record of the same entity
      ...['same', 'same'].map((name) => root.write('identity/group', { name, member_entity_ids: [first] })),
    ])

    expect([...made, ...changed].filter(({ status }) => status >= 300).map(({ text }) => text)).toEqual([])
    expect((await commits()) - before).toBeLessThan(30)
    const people = await soundPeople(server)
    expect([...people.keys()]).toEqual([first])
    const names = (await root.list('identity/group/name')).body.data?.keys
    expect(texts(names).sort()).toEqual(['same', ...Array.from({ length: 40 }, (_, at) => `g${at}`)].sort())
  },
)

/** The stored people and groups; throws if two records contradict each other. */
async function soundPeople({ root }: TestServer): Promise<Map<string, Json>> {
  const people = new Map<string, Json>()
  const lookup = async (body: object) => (await root.write('identity/lookup/entity', body)).body?.data?.id
  for (const id of texts((await root.list('identity/entity/id')).body.data?.keys)) {
    const entity = (await root.read(`identity/entity/id/${id}`)).body.data as Json
    people.set(id, entity)
    expect(await lookup({ name: entity.name })).toBe(id)
    const aliases = Object.values(entity.aliases ?? {})
    expect(new Set(aliases.map(({ mount_accessor }) => mount_accessor)).size).toBe(aliases.length)
    for (const alias of aliases) {
      expect(alias.canonical_id).toBe(id)
      expect(await lookup({ alias_id: alias.id })).toBe(id)
      expect(await lookup({ alias_name: alias.name, alias_mount_accessor: alias.mount_accessor })).toBe(id)
    }
  }
  const memberships = [...people].flatMap(([id, entity]) =>
    texts(entity.direct_group_ids).map((group) => `${group} ${id}`),
  )
  const members: string[] = []
  for (const group of texts((await root.list('identity/group/id')).body.data?.keys)) {
    const { data } = (await root.read(`identity/group/id/${group}`)).body
    members.push(...texts(data?.member_entity_ids).map((id) => `${group} ${id}`))
  }
  expect(members.sort()).toEqual(memberships.sort())
  expect(texts((await root.list('identity/entity-alias/id')).body.data?.keys)).toHaveLength(
    [...people.values()].flatMap(({ aliases }) => Object.values(aliases ?? {})).length,
  )
  return people
}

testOfOneServer(
  'concurrent logins, renewals, merges, moves of aliases, deletions and group changes leave a consistent state, also after a restart',
  { timeout: 60_000 },
  async () => {
    await using folder = await temporaryFolder()
    const settings = storedIn(folder)
    const unexpected: string[] = []
    let before: Map<string, Json>
    {
      await using server = await startTestServer({ settings })
      const { root } = server
      const mounts = [await aLoginMount(server, 'm1'), await aLoginMount(server, 'm2')]
      const mountOf = (roll: number) => mounts[roll % 2] as LoginMount // there are two
      const note = (what: string, { status, text }: Answer) => {
        if (![200, 204, 400].includes(status)) unexpected.push(`${what}: ${status} ${text}`)
      }
      const aGroup = async (at: number): Promise<void> => {
        const made = await root.write(`identity/group/name/x${at}`, { type: 'external', policies: `p${at}` })
        const canonical_id = made.body?.data?.id
        if (canonical_id !== undefined)
          note(
            'alias',
            await root.write('identity/group-alias', {
              name: `g${at}`,
              mount_accessor: mountOf(at).accessor,
              canonical_id,
            }),
          )
      }
      await many(4, aGroup)
      const tokens: string[] = []
      const logins = async (roll: ReturnType<typeof dice>) => {
        for (let left = 60; left > 0; left -= 1) {
          const groups = [`g${roll(4)}`, `g${roll(4)}`].slice(roll(3))
          const { answer, token } = await mountOf(roll(2)).login(`u${roll(4)}`, {
            team: `t${roll(3)}`,
            groups,
          })
          if (answer.status !== 200) unexpected.push(`login: ${answer.text}`)
          tokens.push(token)
          note('renewal', await root.write('auth/token/renew', { token: tokens[roll(tokens.length)] }))
        }
      }
      const changes = async (roll: ReturnType<typeof dice>) => {
        for (let left = 60; left > 0; left -= 1) {
          const ids = texts((await root.list('identity/entity/id')).body.data?.keys)
          const aliases = texts((await root.list('identity/entity-alias/id')).body.data?.keys)
          const one = () => ids[roll(ids.length || 1)] ?? 'none'
          const alias = `identity/entity-alias/id/${aliases[roll(aliases.length || 1)] ?? 'none'}`
          const at = roll(4)
          const merge = {
            to_entity_id: one(),
            from_entity_ids: one(),
            conflicting_alias_ids_to_keep: aliases.filter(() => roll(2) === 0),
          }
          const ways: (() => Promise<Answer>)[] = [
            () => root.write('identity/entity/merge', merge),
            () => root.delete(`identity/entity/id/${one()}`),
            () => root.write('identity/entity/batch-delete', { entity_ids: [one(), one()] }),
            () => root.write(alias, { canonical_id: one() }),
            () => root.write(alias, { name: `u${at}`, mount_accessor: mountOf(roll(2)).accessor }),
            () =>
              root.write('identity/entity-alias', {
                name: `U${at}`,
                mount_accessor: mountOf(roll(2)).accessor,
                canonical_id: one(),
              }),
            () => root.delete(alias),
            () =>
              root.write(`identity/entity/id/${one()}`, { name: `n${at}`, metadata: { left: `${left}` } }),
            () =>
              root.write('identity/group/name/int', { member_entity_ids: ids.filter(() => roll(2) === 0) }),
            () => root.delete(`identity/group/name/x${at}`),
          ]
          const which = roll(ways.length)
          note(`change ${which}`, (await ways[which]?.()) as Answer) // the roll picks one of them
          if (which === 9) await aGroup(at)
        }
      }

      await Promise.all([
        logins(dice(1)),
        logins(dice(2)),
        logins(dice(3)),
        changes(dice(4)),
        changes(dice(5)),
        changes(dice(6)),
      ])
      await many(8, (at) => mountOf(at).login(`u${at >> 1}`, { groups: ['g0', 'g1'] }))
      before = await soundPeople(server)
    }
    await using again = await startTestServer({ settings })

    expect(unexpected).toEqual([])
    expect(await soundPeople(again)).toEqual(before)
    expect(before.size).toBeGreaterThan(3)
  },
)
