import { describe, expect, test } from 'vitest'
import { LoginSteps } from '../../../src/logins/explain/login-steps.ts'
import { ApproleMethod } from '../../../src/plugins/approle/method.ts'
import { Tidy } from '../../../src/plugins/approle/tidy.ts'
import { openMemory } from '../../../src/storage/sqlite/sqlite.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { openTestCore } from '../../support/open-core.ts'
import { quietLog } from '../../support/start-server.ts'

/** The method over a store in memory, with one mount. */
async function openMethod() {
  const clock = new FakeClock()
  await using opened = new AsyncDisposableStack()
  const storage = opened.use(await openMemory())
  const read: string[] = []
  const core = opened.use(
    await openTestCore({
      clock,
      storage: new Proxy(storage, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name)
          if (typeof member !== 'function') return member
          if (name === 'get' || name === 'list' || name === 'listKeys') read.push(name)
          return member.bind(target)
        },
      }),
      defaultMounts: [{ table: 'auth', path: 'machines', type: 'approle' }],
    }),
  )
  const { mounts } = core
  const method = new ApproleMethod({ ...core, identity: core.identities, failuresKept: 0 })
  const mount = mounts.table.all().find(({ plugin }) => plugin === 'approle')
  if (mount === undefined) throw new Error('there is no mount')
  const role = async (name: string) => {
    await method.putRole(mount, name, { role_id: `${name}-id` })
    const found = await method.rolesOf(mount).find(name)
    if (found === undefined) throw new Error('the role was not stored')
    return found
  }
  const fields = { metadata: '', cidr_list: [], token_bound_cidrs: [] }
  const held = opened.move()
  return {
    core,
    clock,
    method,
    mount,
    /** The number of reads of the storage meanwhile. */
    readsOf: async (work: () => Promise<unknown>) => {
      const before = read.length
      await work()
      return read.length - before
    },
    view: mounts.viewOf(mount),
    role,
    add: async (name: string, more: { ttl?: number; num_uses?: number } = {}) => {
      const found = await method.rolesOf(mount).find(name)
      if (found === undefined) throw new Error('there is no such role')
      return method.addSecretId(mount, found, { ...fields, ...more })
    },
    login: (roleId: string, secretId: string) =>
      method.login(
        { mount, namespacePath: '', path: 'auth/machines/login', remoteAddress: '127.0.0.1' },
        { roleId, secretId, role: '', steps: new LoginSteps([]) },
      ),
    sweep: () => method.sweep(new AbortController().signal),
    /** The numbers of records of secret ids, by kind. */
    counts: async () => {
      const keys = await mounts.viewOf(mount).listKeys('')
      const kinds = Map.groupBy(keys, (key) => key.split('/')[0] ?? '')
      const {
        keys: _,
        role: roles,
        'role-id': ids,
        ...rest
      } = Object.fromEntries([...kinds].map(([kind, found]) => [kind, found.length]))
      return rest
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

describe('the records of secret ids', () => {
  test('are deleted once they have ended, the others kept', async () => {
    await using given = await openMethod()
    await given.role('r')
    for (let made = 0; made < 130; made++) await given.add('r', { ttl: made % 2 === 0 ? 60 : 0 })
    given.clock.advance(59)
    await given.sweep()
    const before = await given.counts()

    given.clock.advance(1)
    await given.sweep()

    expect(before).toEqual({ 'secret-id': 130, accessor: 130, listed: 130, end: 65 })
    expect(await given.counts()).toEqual({ 'secret-id': 65, accessor: 65, listed: 65 })
  })

  test('of a deleted role are deleted, those of others kept, and the mark last', async () => {
    await using given = await openMethod()
    await given.role('kept')
    await given.role('gone')
    await given.add('kept', { ttl: 3600 })
    for (let made = 0; made < 70; made++) await given.add('gone', { ttl: 3600 })

    await given.method.rolesOf(given.mount).delete('gone')
    await given.sweep()
    const swept = await given.counts()
    given.clock.advance(601)
    await given.sweep()

    const one = { 'secret-id': 1, accessor: 1, listed: 1, end: 1 }
    expect(swept).toEqual({ ...one, void: 1 })
    expect(await given.counts()).toEqual(one)
  })

  test('of a role that another server has just deleted are not stored', async () => {
    await using given = await openMethod()
    const role = await given.role('r')
    await given.method.rolesOf(given.mount).delete('r')
    const { secretId } = await openedSecretId(given)

    const late = given.method.secretIdsOf(given.mount).add(role, 'secret', secretId)

    await expect(late).rejects.toThrow('role "r" does not exist')
    await given.sweep()
    expect(await given.counts()).toEqual({ 'secret-id': 1, accessor: 1, listed: 1, void: 1 })
  })

  test('go with the last use', async () => {
    await using given = await openMethod()
    await given.role('r')
    const { secret } = await given.add('r', { num_uses: 2, ttl: 3600 })

    await given.login('r-id', secret)
    const once = await given.counts()
    await given.login('r-id', secret)

    expect(once).toEqual({ 'secret-id': 1, accessor: 1, listed: 1, end: 1 })
    expect(await given.counts()).toEqual({})
  })

  test('that were stored again after their end survive the removal of the old ones', async () => {
    await using given = await openMethod()
    await given.role('r')
    const role = await given.method.rolesOf(given.mount).find('r')
    if (role === undefined) throw new Error('there is no such role')
    const chosen = { metadata: '', cidr_list: [], token_bound_cidrs: [], chosen: 'mine' }
    await given.method.addSecretId(given.mount, role, { ...chosen, ttl: 60 })
    given.clock.advance(60)
    await given.method.addSecretId(given.mount, role, { ...chosen, ttl: 90 })

    await given.sweep()

    expect(await given.counts()).toEqual({ 'secret-id': 1, accessor: 1, listed: 1, end: 1 })
    await expect(given.login('r-id', 'mine')).resolves.toMatchObject({ warnings: [] })
  })

  test('contain no secret id, not even when they are opened', async () => {
    await using given = await openMethod()
    await given.role('r')
    const { secret } = await given.add('r')

    const records = await given.view.list('')

    expect(JSON.stringify(records)).not.toContain(secret)
    expect(JSON.stringify(records.map(({ key }) => key))).not.toContain('r-id')
  })
})

test('an unknown role id costs one read, a wrong secret id at most three', async () => {
  await using given = await openMethod()
  await given.role('r')
  await given.add('r')
  const refused = (roleId: string, secretId: string) =>
    given.readsOf(() => expect(given.login(roleId, secretId)).rejects.toThrow('invalid role or secret ID'))

  expect(await refused('no', 'x')).toBe(1)
  expect(await refused('n'.repeat(100_000), 'x')).toBe(1)
  expect(await refused('r-id', 'x')).toBeLessThanOrEqual(3)
})

test('a mount is tidied up by one run at a time', async () => {
  await using given = await openMethod()
  await using tidy = new Tidy({ method: given.method, log: quietLog })

  expect([tidy.start(given.mount), tidy.start(given.mount)]).toEqual([true, false])
})

/** A valid secret id of another role. */
async function openedSecretId(given: Awaited<ReturnType<typeof openMethod>>) {
  await given.role('other')
  return given.add('other')
}
