import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { View } from '../../../src/core/barrier/view.ts'
import { IdentityStore } from '../../../src/core/identity/entities/identity-store.ts'
import {
  deletedGroupKey,
  groupKey,
  memberKey,
  memberPrefix,
  membershipKey,
} from '../../../src/core/identity/groups/group-keys.ts'
import { GroupStore } from '../../../src/core/identity/groups/group-store.ts'
import { Servers } from '../../../src/core/servers/servers.ts'
import { issueLogin } from '../../../src/core/tokens/acts/issue-login.ts'
import { fail } from '../../../src/errors.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { aLogin, jwtMount, openTokenFixture } from '../../support/token-fixture.ts'

/** Groups and identities over the records of a token fixture, as a server that starts now sees them. */
async function openGroups(fixture: Awaited<ReturnType<typeof openTokenFixture>>, view: View = fixture.view) {
  const parts = { view, clock: fixture.clock, random: systemRandom }
  const groups = await GroupStore.open({
    ...parts,
    servers: new Servers(undefined, systemRandom),
    mountOf: (accessor) => fixture.mounts.get(accessor),
    isSameOrAbove: (upper, lower) => upper === 'root' || upper === lower,
  })
  const identity = await IdentityStore.open({ ...parts, memberships: groups })
  groups.onChange((change) => identity.groupsChanged(change))
  const login = (groupNames: readonly string[] = [], name = 'alice') =>
    issueLogin(
      { ...fixture.parts, view, identity },
      {
        mount: jwtMount,
        path: 'auth/jwt/login',
        remoteAddress: '127.0.0.1',
        auth: aLogin({ groupNames, alias: { name, metadata: { role: 'dev' } } }),
      },
    )
  return { groups, identity, login }
}

async function anExternalGroup(
  groups: GroupStore,
  alias: string,
  policies: readonly string[] = [],
): Promise<string> {
  const { group } = await groups.put({ namespace: 'root', fields: { type: 'external', policies } })
  await groups.putAlias({
    namespace: 'root',
    name: alias,
    mountAccessor: jwtMount.accessor,
    canonicalId: group.id,
  })
  return group.id
}

/** The same view, with counts of reads and of written rows. */
function counted(view: View): { view: View; reads: string[]; written: string[] } {
  const reads: string[] = []
  const written: string[] = []
  const count =
    <Args extends readonly [string, ...unknown[]], Result>(read: (...args: Args) => Result) =>
    (...args: Args): Result => {
      reads.push(args[0])
      return read(...args)
    }
  const watched: View = {
    get: count((key) => view.get(key)),
    watch: (prefix, listener) => view.watch(prefix, listener),
    read: count((key) => view.read(key)),
    list: count((prefix, range) => view.list(prefix, range)),
    listKeys: count((prefix, range) => view.listKeys(prefix, range)),
    pages: count((prefix, after) => view.pages(prefix, after)),
    keyPages: count((prefix, after) => view.keyPages(prefix, after)),
    update: (key, change) => view.update(key, change),
    take: (key) => view.take(key),
    write: (batch) => {
      written.push(...batch.map(({ key }) => key))
      return view.write(batch)
    },
    putIfAbsent: (key, value) => view.putIfAbsent(key, value),
    fromRoot: (entry) => view.fromRoot(entry),
    deletePrefix: (prefix) => view.deletePrefix(prefix),
    view: (prefix, options) => view.view(prefix, options),
  }
  return { view: watched, reads, written }
}

test('a known login whose groups are known reads nothing and writes the token alone', async () => {
  await using fixture = await openTokenFixture()
  const { view, reads, written } = counted(fixture.view)
  const { groups, login } = await openGroups(fixture, view)
  await anExternalGroup(groups, 'eng', ['web'])
  await login(['eng', 'other'])
  await login(['eng', 'other'])
  reads.length = 0
  written.length = 0

  const { auth } = await login(['eng', 'other'])

  expect(auth.identity_policies).toEqual(['web'])
  expect(reads).toEqual([])
  expect(written.map((key) => key.split('/')[0]).sort()).toEqual(['expire', 'token'])
})

test('membership, aliases and counts survive a restart', async () => {
  await using fixture = await openTokenFixture()
  const before = await openGroups(fixture)
  const id = await anExternalGroup(before.groups, 'Eng', ['web'])
  const { auth } = await before.login(['eng'])

  const after = await openGroups(fixture)
  const group = await after.groups.byId('root', id)

  expect((await after.identity.identityOf(auth.entity_id))?.policies).toEqual(['web'])
  expect(group && (await after.groups.details(group))).toMatchObject({
    memberEntityIds: [auth.entity_id],
    modifyIndex: 3,
  })
  expect((await after.login(['ENG'])).auth.identity_policies).toEqual(['web'])
  expect((await after.groups.byAlias('root', jwtMount.accessor, 'eng'))?.id).toBe(id)
})

test('a login that cannot be written leaves no membership', async () => {
  await using fixture = await openTokenFixture()
  const { groups, identity, login } = await openGroups(fixture)
  const id = await anExternalGroup(groups, 'eng', ['web'])
  const { auth } = await login([])

  await expect(
    issueLogin(
      { ...fixture.parts, identity },
      {
        mount: jwtMount,
        path: 'auth/jwt/login',
        remoteAddress: '127.0.0.1',
        auth: aLogin({ groupNames: ['eng'], policies: ['response-wrapping'] }),
      },
    ),
  ).rejects.toThrow('cannot assign policy "response-wrapping"')

  expect(await fixture.view.listKeys(memberPrefix(id))).toEqual([])
  expect((await identity.identityOf(auth.entity_id))?.policies).toEqual([])
})

test('remains of a group whose deletion was interrupted have no effect and are removed at the next start', async () => {
  await using fixture = await openTokenFixture()
  const { login } = await openGroups(fixture)
  const { auth } = await login([])
  const gone = '00000000-0000-0000-0000-000000000001'
  await fixture.view.write([
    { key: deletedGroupKey(gone), value: true },
    { key: memberKey(gone, auth.entity_id), value: true },
    { key: membershipKey(auth.entity_id, gone), value: true },
  ])

  const { identity } = await openGroups(fixture)

  expect((await identity.identityOf(auth.entity_id))?.groups).toEqual([])
  expect(
    await Promise.all(
      [memberKey(gone, auth.entity_id), membershipKey(auth.entity_id, gone), deletedGroupKey(gone)].map(
        (key) => fixture.view.get(key),
      ),
    ),
  ).toEqual([undefined, undefined, undefined])
})

test('a group with more members than one step deletes is gone at once and leaves nothing', async () => {
  await using fixture = await openTokenFixture()
  const { groups, login } = await openGroups(fixture)
  const id = await anExternalGroup(groups, 'eng')
  await Promise.all(Array.from({ length: 620 }, (_, index) => login(['eng'], `job-${index}`)))

  const removal = groups.remove('root', id)
  await removal

  expect(await groups.byId('root', id)).toBeUndefined()
  expect(await fixture.view.listKeys(memberPrefix(id))).toEqual([])
  expect((await fixture.view.listKeys('entity-group/')).filter((key) => key.endsWith(id))).toEqual([])
  expect(await fixture.view.get(deletedGroupKey(id))).toBeUndefined()
})

test('a change affects only members of the group or of groups below it', async () => {
  await using fixture = await openTokenFixture()
  const { groups, identity, login } = await openGroups(fixture)
  const [a, b] = [(await login([], 'a')).auth.entity_id, (await login([], 'b')).auth.entity_id]
  const child = (await groups.put({ namespace: 'root', fields: { member_entity_ids: [a] } })).group
  const parent = (await groups.put({ namespace: 'root', fields: { member_group_ids: [child.id] } })).group
  /** Those of a and b whose identity must be read again after a change. */
  const affectedBy = async (fields: Parameters<GroupStore['put']>[0]['fields'], id?: string) => {
    const before = await Promise.all([a, b].map((one) => identity.identityOf(one)))
    await groups.put({ namespace: 'root', id, fields })
    const after = await Promise.all([a, b].map((one) => identity.identityOf(one)))
    return ['a', 'b'].filter((_, at) => before[at] !== after[at])
  }

  expect(await affectedBy({ policies: ['p'] }, parent.id)).toEqual(['a'])
  expect(await affectedBy({ member_entity_ids: [b] }, parent.id)).toEqual(['a', 'b'])
  expect(await affectedBy({ member_group_ids: [] }, parent.id)).toEqual(['a', 'b'])
  expect(await affectedBy({ name: 'nobody here' })).toEqual([])
})

test('a deleted namespace takes its groups, their names, aliases and memberships with it', async () => {
  await using fixture = await openTokenFixture()
  const { groups, login } = await openGroups(fixture)
  const { auth } = await login([])
  fixture.mounts.set('auth_jwt_ns', { ...jwtMount, accessor: 'auth_jwt_ns', namespace: 'aB3xY9' })
  await groups.put({ namespace: 'aB3xY9', fields: { name: 'in', member_entity_ids: [auth.entity_id] } })
  await groups.putAlias({ namespace: 'aB3xY9', name: 'eng', mountAccessor: 'auth_jwt_ns', canonicalId: '' })
  const kept = (
    await groups.put({ namespace: 'root', fields: { name: 'out', member_entity_ids: [auth.entity_id] } })
  ).group

  await groups.removeNamespace('aB3xY9')

  expect((await fixture.view.listKeys('')).filter((key) => key.includes('aB3xY9'))).toEqual([])
  expect((await groups.membershipsOf(auth.entity_id)).direct.map(({ id }) => id)).toEqual([kept.id])
})

test('a storage that fails while a namespace loses its groups fails the removal alone', async () => {
  await using fixture = await openTokenFixture()
  const { groups } = await openGroups(fixture)
  for (const name of ['a', 'b', 'c']) await groups.put({ namespace: 'aB3xY9', fields: { name } })
  const { view } = counted(fixture.view)
  const down = fail('unavailable', 'storage is unavailable')
  let listed = 0
  const failing: View = {
    ...view,
    get: (key) => {
      // the list of the groups: it ends at the second one
      if (key.startsWith('group/aB3xY9/') && ++listed > 1) return Promise.reject(down)
      return view.get(key)
    },
    read: () => Promise.reject(down),
    write: () => Promise.reject(down),
  }
  const unhandled: unknown[] = []
  const collect = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', collect)
  try {
    const other = await openGroups(fixture, failing)

    await expect(other.groups.removeNamespace('aB3xY9')).rejects.toBe(down)

    // an unhandled rejection would be reported by now
    await nextTurn()
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', collect)
  }
})

test('a group that is renamed while a write looks for it by its old name keeps its new one', async () => {
  await using fixture = await openTokenFixture()
  const { groups } = await openGroups(fixture)
  const { id } = (await groups.put({ namespace: 'root', fields: { name: 'old' } })).group
  let renamed: Promise<unknown> | undefined
  const slow: View = {
    ...counted(fixture.view).view,
    read: async (key) => {
      // the write has read the row of the name by now
      if (key === groupKey(id)) {
        renamed ??= groups.put({ namespace: 'root', id, fields: { name: 'new' } })
        await renamed
      }
      return await fixture.view.read(key)
    },
  }
  const other = await openGroups(fixture, slow)

  const written = await other.groups.put({ namespace: 'root', fields: { name: 'old', policies: ['p'] } })

  expect([written.created, written.group.id === id]).toEqual([true, false])
  expect((await groups.byId('root', id))?.name).toBe('new')
})
