import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { openBarrier } from '../../../src/core/barrier/barrier.ts'
import type { View } from '../../../src/core/barrier/view.ts'
import { Jobs } from '../../../src/core/jobs/jobs.ts'
import { type DefaultMount, firstMounts, namespaceMounts } from '../../../src/core/mounts/first-mounts.ts'
import type { Mount } from '../../../src/core/mounts/mount.ts'
import { mountPointOf } from '../../../src/core/mounts/mount-path.ts'
import { entriesFor } from '../../../src/core/mounts/mount-record.ts'
import { MountStore, type MountStoreParts } from '../../../src/core/mounts/mount-store.ts'
import { MountIndex } from '../../../src/core/mounts/mount-table.ts'
import { rootNamespace } from '../../../src/core/namespaces/namespace.ts'
import { refuse } from '../../../src/errors.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { StorageFaults } from '../../../src/storage/faults.ts'
import { openMemory } from '../../../src/storage/sqlite/sqlite.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { someMountTypes } from '../../support/mount-types.ts'
import { quietLog } from '../../support/start-server.ts'

const system = { defaultTtl: 2_764_800, maxTtl: 2_764_800 }
const anyNamespaces = { conflictWithMount: () => undefined, isLive: () => true, isEnding: () => false }

const theFirstMounts = (defaults: DefaultMount[] = []) =>
  firstMounts({ random: systemRandom, system, types: someMountTypes(), defaults })

/** What a store needs whose storage no other server writes. */
const alone = (clock: FakeClock) => ({
  shared: undefined,
  jobs: new Jobs({ shared: undefined, clock, log: quietLog }),
  onUnreadable: () => {},
})

/**
 * An open in-memory store whose first mounts are `auth/jwt/` and `cloud/`, and a second access to the same
 * records.
 */
async function openMounts({
  revokeLeases = async () => {},
  ...parts
}: Partial<Omit<MountStoreParts, 'shared'>> & { revokeLeases?: (mount: Mount) => Promise<void> } = {}) {
  await using opened = new AsyncDisposableStack()
  const faults = new StorageFaults()
  const storage = opened.use(await openMemory({ faults }))
  const clock = new FakeClock()
  const barrier = await openBarrier({
    storage,
    sealKey: randomBytes(32),
    clock,
    random: systemRandom,
    log: { error: () => {} },
  })
  const root = barrier.view('')
  await root.write(
    entriesFor(
      theFirstMounts([
        { table: 'auth', path: 'jwt', type: 'jwt' },
        { table: 'secret', path: 'cloud', type: 'cloud' },
      ]),
    ),
  )
  const failures: unknown[] = []
  const open = async () => {
    const store = await MountStore.open({
      view: root.view('', { numbers: 'literal' }),
      random: systemRandom,
      clock,
      system,
      types: someMountTypes(),
      namespaces: anyNamespaces,
      ...alone(clock),
      onFailure: (_, error) => failures.push(error),
      ...parts,
    })
    store.beforeRemoval(revokeLeases)
    return store
  }
  const store = opened.use(await open())
  const held = opened.move()
  return {
    store,
    root,
    clock,
    faults,
    failures,
    reopen: open,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

const auth = (path: string) => mountPointOf('root', 'auth', path)
const secret = (path: string) => mountPointOf('root', 'secret', path)
const side = (path: string) => ({ namespace: rootNamespace, path })
const paths = (store: MountStore) =>
  store.table
    .all()
    .map((mount) => mount.path)
    .sort()

const inOrder = (store: MountStore): Mount[] => store.table.all().sort((a, b) => (a.uuid < b.uuid ? -1 : 1))

function mountAt(store: MountStore, path: string): Mount {
  const mount = store.table.at('root', path)
  if (mount === undefined) throw new Error(`${path} is not mounted`)
  return mount
}

/** The stored data of a mount, read without the store. */
const dataOf = (root: View, { uuid }: Mount) => root.listKeys(`mount/${uuid}/`)

/** Holds work at a point: `reached` resolves when someone waits at it. */
function gate() {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  return {
    reached: reached.promise,
    open: opened.resolve,
    wait: () => {
      reached.resolve()
      return opened.promise
    },
  }
}

const start = ['auth/jwt/', 'auth/token/', 'cloud/', 'cubbyhole/', 'identity/', 'sys/']

describe('the first mounts', () => {
  test('are the built-in ones and those of the list', async () => {
    await using mounts = await openMounts()

    expect(paths(mounts.store)).toEqual(start)
    expect(mountAt(mounts.store, 'auth/jwt/')).toMatchObject({
      type: 'jwt',
      options: null,
      accessor: expect.stringMatching(/^auth_jwt_[0-9a-f]{8}$/),
    })
    expect(mountAt(mounts.store, 'sys/')).toMatchObject({
      type: 'system',
      description: 'system endpoints used for control, policy and debugging',
      seal_wrap: true,
      options: null,
      config: {
        default_lease_ttl: 0,
        max_lease_ttl: 0,
        force_no_cache: false,
        passthrough_request_headers: ['Accept'],
      },
    })
    expect(mountAt(mounts.store, 'cubbyhole/')).toMatchObject({
      description: 'per-token private secret storage',
      local: true,
    })
    expect(mountAt(mounts.store, 'identity/').config.passthrough_request_headers).toEqual(['Authorization'])
    expect(mountAt(mounts.store, 'auth/token/')).toMatchObject({
      description: 'token based credentials',
      config: { token_type: 'default-service' },
    })
  })

  test('of a child namespace have types of their own', () => {
    const mounts = namespaceMounts(systemRandom, 'abc123', new MountIndex([]))

    expect(mounts.map(({ type }) => type).sort()).toEqual([
      'ns_cubbyhole',
      'ns_identity',
      'ns_system',
      'ns_token',
    ])
    expect(mounts.every((mount) => mount.namespace === 'abc123')).toBe(true)
  })
})

describe('opening', () => {
  test('finds every mount unchanged, including ids and tuning', async () => {
    await using mounts = await openMounts()
    await mounts.store.enable(auth('team/a'), { type: 'oidc', description: 'd', options: { a: 'b' } })
    await mounts.store.tune(auth('team/a'), { max_lease_ttl: '1h', listing_visibility: 'unauth' })

    await using again = await mounts.reopen()

    const byId = (a: Mount, b: Mount) => (a.uuid < b.uuid ? -1 : 1)
    expect(again.table.all().sort(byId)).toEqual(mounts.store.table.all().sort(byId))
    expect(mountAt(again, 'auth/team/a/').config).toMatchObject({
      max_lease_ttl: 3600,
      listing_visibility: 'unauth',
    })
  })

  test.each([
    { name: 'no object', value: 'x' },
    { name: 'another version’s record', value: { table: 'auth' } },
    { name: 'an unknown type', value: { ...theFirstMounts()[0], type: 'kv', uuid: 'some' } },
    { name: 'a record under another mount’s key', value: theFirstMounts()[0] },
  ])('fails when a record is $name', async ({ value }) => {
    await using mounts = await openMounts()
    await mounts.root.write([{ key: 'core/mounts/some', value }])

    await expect(mounts.reopen()).rejects.toThrow('the mount table cannot be read: record core/mounts/some')
  })

  test('fails when there is no table', async () => {
    await using mounts = await openMounts()
    await mounts.root.deletePrefix('core/mounts/')

    await expect(mounts.reopen()).rejects.toThrow('the mount table cannot be read')
  })
})

describe('a change', () => {
  test('is not seen when it cannot be stored', async () => {
    await using mounts = await openMounts()
    mounts.faults.arm('storage.before-commit', 'full')

    await expect(mounts.store.enable(secret('new'), { type: 'cloud' })).rejects.toThrow()

    expect(paths(mounts.store)).toEqual(start)
    await using again = await mounts.reopen()
    expect(paths(again)).toEqual(start)
  })

  test('of several concurrent mounts at one path, one is created', async () => {
    await using mounts = await openMounts()

    const outcomes = await Promise.allSettled(
      ['x', 'x', 'x/y', 'x'].map((path) => mounts.store.enable(secret(path), { type: 'cloud' })),
    )

    expect(outcomes.map((outcome) => outcome.status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
    ])
    expect(paths(mounts.store)).toEqual([...start, 'x/'])
  })

  test('does not alter a table that was read before', async () => {
    await using mounts = await openMounts()
    const before = mounts.store.table

    await mounts.store.tune(secret('cloud'), { description: 'new' })

    expect(before.at('root', 'cloud/')?.description).toBe('')
    expect(mountAt(mounts.store, 'cloud/').description).toBe('new')
  })
})

describe('tune', () => {
  test.each([auth('nope'), secret('nope'), secret('cloud/below')])(
    'of $path without a mount is refused',
    async (place) => {
      await using mounts = await openMounts()

      await expect(mounts.store.tune(place, { description: 'd' })).rejects.toThrow(
        `tune of path "${place.path}" failed: no mount entry found`,
      )
    },
  )

  test('of audit/ is refused although nothing is there', async () => {
    await using mounts = await openMounts()

    await expect(mounts.store.tune(secret('audit'), { description: 'd' })).rejects.toThrow(
      'cannot tune parameter description of audit/',
    )
  })

  test('finds an auth mount by its full path', async () => {
    await using mounts = await openMounts()

    await mounts.store.tune(secret('auth/jwt'), { max_lease_ttl: '1h' })

    expect(mountAt(mounts.store, 'auth/jwt/').config.max_lease_ttl).toBe(3600)
  })
})

describe('disable', () => {
  test.each([
    { place: secret('sys'), text: 'cannot unmount "sys/"' },
    { place: secret('cubbyhole'), text: 'cannot unmount "cubbyhole/"' },
    { place: secret('identity'), text: 'cannot unmount "identity/"' },
    { place: secret('auth/jwt'), text: 'cannot unmount "auth/jwt/"' },
    { place: auth('token'), text: 'token credential backend cannot be disabled' },
  ])('of $place.path is refused', async ({ place, text }) => {
    await using mounts = await openMounts()

    await expect(mounts.store.disable(place)).rejects.toThrow(
      expect.objectContaining({ kind: 'invalid', message: text }),
    )
    expect(paths(mounts.store)).toEqual(start)
  })

  test.each([
    secret('none'),
    secret('sys/x'),
    secret('auth'),
    secret('audit'),
    secret('cloud/x'),
    auth('none'),
    auth('token/x'),
  ])('of $path changes nothing', async (place) => {
    await using mounts = await openMounts()

    await mounts.store.disable(place)

    expect(paths(mounts.store)).toEqual(start)
  })

  test('deletes the data, and a new mount at the path begins empty with other ids', async () => {
    await using mounts = await openMounts()
    const before = mountAt(mounts.store, 'cloud/')
    const view = mounts.store.viewOf(before)
    await view.write([{ key: 'role/a', value: 1 }])
    await mounts.store.viewOf(mountAt(mounts.store, 'auth/jwt/')).write([{ key: 'role/a', value: 2 }])

    await mounts.store.disable(secret('cloud'))
    const after = await mounts.store.enable(secret('cloud'), { type: 'cloud' })

    expect(await dataOf(mounts.root, before)).toEqual([])
    expect(await dataOf(mounts.root, after)).toEqual([])
    expect(await dataOf(mounts.root, mountAt(mounts.store, 'auth/jwt/'))).toEqual([
      'mount/' + mountAt(mounts.store, 'auth/jwt/').uuid + '/role/a',
    ])
    expect([after.uuid === before.uuid, after.accessor === before.accessor]).toEqual([false, false])
    expect(mounts.store.table.byAccessor(before.accessor)).toBeUndefined()
  })

  test('waits for the requests inside, and lets no new one in', async () => {
    const revoked: string[] = []
    await using mounts = await openMounts({ revokeLeases: async (mount) => void revoked.push(mount.path) })
    const cloud = mountAt(mounts.store, 'cloud/')
    const leave = [mounts.store.enter(cloud), mounts.store.enter(cloud)]

    const removal = mounts.store.disable(secret('cloud'))
    await mounts.store.tune(auth('jwt'), { description: 'a change after the mark' })

    expect(mountAt(mounts.store, 'cloud/').tainted).toBe(true)
    expect(mounts.store.enter(cloud)).toBeUndefined()
    leave[0]?.()
    await mounts.store.tune(auth('jwt'), { description: 'another change' })
    expect(revoked).toEqual([])
    leave[1]?.()
    await removal
    expect(revoked).toEqual(['cloud/'])
    expect(mounts.store.enter(cloud)).toBeUndefined()
    expect(() => mounts.store.viewOf(cloud)).toThrow('the mount no longer exists')
  })

  test('that cannot revoke leaves the mount marked, and another one resumes', async () => {
    let works = false
    const revokeLeases = async () => {
      if (!works) throw refuse('upstream', 'directory is down')
    }
    await using mounts = await openMounts({ revokeLeases })
    const cloud = mountAt(mounts.store, 'cloud/')
    await mounts.store.viewOf(cloud).write([{ key: 'lease', value: 1 }])

    await expect(mounts.store.disable(secret('cloud'))).rejects.toThrow(
      expect.objectContaining({ kind: 'invalid', message: 'directory is down' }),
    )

    expect(mountAt(mounts.store, 'cloud/').tainted).toBe(true)
    expect(await dataOf(mounts.root, cloud)).toHaveLength(1)
    await expect(mounts.store.enable(secret('cloud'), { type: 'cloud' })).rejects.toThrow(
      'path is already in use at cloud/',
    )
    await expect(mounts.store.tune(secret('cloud'), {})).rejects.toThrow('no mount entry found')
    works = true
    await mounts.store.disable(secret('cloud'))
    expect(mounts.store.table.at('root', 'cloud/')).toBeUndefined()
    expect(await dataOf(mounts.root, cloud)).toEqual([])
  })

  test('that is under way when the server is sealed is refused', async () => {
    const revoking = gate()
    await using mounts = await openMounts({ revokeLeases: revoking.wait })
    const removal = mounts.store.disable(secret('cloud'))
    await revoking.reached

    mounts.store.seal()
    revoking.open()

    await expect(removal).rejects.toMatchObject({ kind: 'sealed' })
  })

  test('requested twice concurrently is done once', async () => {
    let revocations = 0
    await using mounts = await openMounts({ revokeLeases: async () => void revocations++ })

    await Promise.all([mounts.store.disable(secret('cloud')), mounts.store.disable(secret('cloud'))])

    expect(revocations).toBe(1)
  })

  test('that a crash interrupted is finished by the next start', async () => {
    await using mounts = await openMounts({ revokeLeases: () => Promise.reject(refuse('upstream', 'down')) })
    const cloud = mountAt(mounts.store, 'cloud/')
    await mounts.store.viewOf(cloud).write([{ key: 'role/a', value: 1 }])
    await expect(mounts.store.disable(secret('cloud'))).rejects.toThrow('down')

    const next = await openAgain(mounts.root)
    expect(next.enter(cloud)).toBeUndefined()
    next.resume()
    await next[Symbol.asyncDispose]()

    expect(next.table.at('root', 'cloud/')).toBeUndefined()
    expect(await dataOf(mounts.root, cloud)).toEqual([])
  })

  test('that fails again after a start is logged', async () => {
    await using mounts = await openMounts({ revokeLeases: () => Promise.reject(refuse('upstream', 'down')) })
    await expect(mounts.store.disable(secret('cloud'))).rejects.toThrow('down')

    const next = await mounts.reopen()
    next.resume()
    await next[Symbol.asyncDispose]()

    expect(mounts.failures).toEqual([expect.objectContaining({ message: 'down' })])
    expect(mountAt(next, 'cloud/').tainted).toBe(true)
  })
})

const openAgain = (root: View) =>
  MountStore.open({
    view: root,
    random: systemRandom,
    clock: new FakeClock(),
    system,
    types: someMountTypes(),
    namespaces: anyNamespaces,
    ...alone(new FakeClock()),
    onFailure: () => {},
  })

describe('remount', () => {
  test('keeps data and ids, ends leases and tokens, and is stored', async () => {
    const revoked: string[] = []
    await using mounts = await openMounts({ revokeLeases: async (mount) => void revoked.push(mount.path) })
    const before = mountAt(mounts.store, 'auth/jwt/')
    await mounts.store.viewOf(before).write([{ key: 'role/a', value: 'kept' }])

    const id = await mounts.store.moves.start(side('auth/jwt'), side('auth/team/deep/'))
    expect((await mounts.store.moves.find(id))?.migration_info.status).toBe('in-progress')
    await mounts.store[Symbol.asyncDispose]()

    const after = mountAt(mounts.store, 'auth/team/deep/')
    expect(after).toEqual({ ...before, path: 'auth/team/deep/', moves: 1 })
    expect(mounts.store.table.at('root', 'auth/jwt/')).toBeUndefined()
    expect(await mounts.store.viewOf(after).get('role/a')).toBe('kept')
    expect(mounts.store.enter(after)).toBeDefined()
    expect(revoked).toEqual(['auth/jwt/'])
    expect(await mounts.store.moves.find(id)).toEqual({
      migration_id: id,
      migration_info: { source_mount: 'auth/jwt/', status: 'success', target_mount: 'auth/team/deep/' },
    })
    await using again = await mounts.reopen()
    expect(mountAt(again, 'auth/team/deep/')).toEqual(after)
  })

  test('waits for running requests and lets no new ones in', async () => {
    await using mounts = await openMounts()
    const cloud = mountAt(mounts.store, 'cloud/')
    const leave = mounts.store.enter(cloud)

    await mounts.store.moves.start(side('cloud'), side('moved'))
    await mounts.store.tune(auth('jwt'), { description: 'something else happens' })

    expect(mounts.store.enter(cloud)).toBeUndefined()
    await expect(mounts.store.moves.start(side('cloud'), side('elsewhere'))).rejects.toThrow(
      'no matching mount at "cloud/"',
    )
    expect(mounts.store.table.at('root', 'cloud/')).toBeDefined()
    leave?.()
    await mounts.store[Symbol.asyncDispose]()
    expect(paths(mounts.store)).toEqual(start.map((path) => (path === 'cloud/' ? 'moved/' : path)).sort())
  })

  test('refuses requests that were already on the way to the old path', async () => {
    await using mounts = await openMounts()
    const before = mountAt(mounts.store, 'cloud/')

    await mounts.store.moves.start(side('cloud'), side('moved'))
    await mounts.store[Symbol.asyncDispose]()
    await mounts.store.tune(secret('moved'), { description: 'tuned' })

    expect(mounts.store.enter(before)).toBeUndefined()
    expect(mounts.store.enter(mountAt(mounts.store, 'moved/'))).toBeDefined()
  })

  test('that cannot revoke leaves the mount where it is, in use', async () => {
    await using mounts = await openMounts({ revokeLeases: () => Promise.reject(refuse('upstream', 'down')) })
    const before = mountAt(mounts.store, 'cloud/')

    const id = await mounts.store.moves.start(side('cloud'), side('moved'))
    await mounts.store[Symbol.asyncDispose]()

    expect((await mounts.store.moves.find(id))?.migration_info.status).toBe('failure')
    expect(mountAt(mounts.store, 'cloud/')).toEqual(before)
    expect(mounts.store.enter(before)).toBeDefined()
    expect(mounts.failures).toHaveLength(1)
  })

  test('fails if the new path was taken in the meantime', async () => {
    const revoking = gate()
    await using mounts = await openMounts({ revokeLeases: revoking.wait })

    const id = await mounts.store.moves.start(side('cloud'), side('moved'))
    await revoking.reached
    await mounts.store.enable(secret('moved'), { type: 'cloud' })
    revoking.open()
    await mounts.store[Symbol.asyncDispose]()

    expect((await mounts.store.moves.find(id))?.migration_info.status).toBe('failure')
    expect(mountAt(mounts.store, 'cloud/').uuid).not.toBe(mountAt(mounts.store, 'moved/').uuid)
  })

  test('does not revive a mount that is removed in the meantime', async () => {
    const revoking = gate()
    await using mounts = await openMounts({ revokeLeases: revoking.wait })

    const id = await mounts.store.moves.start(side('cloud'), side('moved'))
    await revoking.reached
    const removal = mounts.store.disable(secret('cloud'))
    revoking.open()
    await removal
    await mounts.store[Symbol.asyncDispose]()

    expect((await mounts.store.moves.find(id))?.migration_info.status).toBe('failure')
    expect(paths(mounts.store)).toEqual(start.filter((path) => path !== 'cloud/'))
  })

  test('that a crash interrupted is completed by the next start before any request gets in', async () => {
    const killed = gate()
    const revokeLeases = () => killed.wait().then(() => Promise.reject(new Error('killed')))
    await using mounts = await openMounts({ revokeLeases })
    const before = mountAt(mounts.store, 'cloud/')
    await mounts.store.viewOf(before).write([{ key: 'role/a', value: 'kept' }])
    const id = await mounts.store.moves.start(side('cloud'), side('moved'))

    // the first server does nothing any more
    mounts.store.moves.stop()
    const next = await openAgain(mounts.root)
    expect(next.enter(mountAt(next, 'cloud/'))).toBeUndefined()
    next.resume()
    expect((await next.moves.find(id))?.migration_info).toEqual({
      source_mount: 'cloud/',
      status: 'in-progress',
      target_mount: 'moved/',
    })
    await next[Symbol.asyncDispose]()

    expect((await next.moves.find(id))?.migration_info.status).toBe('success')
    expect(mountAt(next, 'moved/')).toEqual({ ...before, path: 'moved/', moves: 1 })
    expect(await next.viewOf(before).get('role/a')).toBe('kept')
    expect(inOrder(await openAgain(mounts.root))).toEqual(inOrder(next))
    killed.open()
  })

  test('that a stop of the server interrupted is completed by the next start', async () => {
    const revoking = gate()
    const revokeLeases = () =>
      revoking.wait().then(() => Promise.reject(refuse('unavailable', 'the server is stopping')))
    await using mounts = await openMounts({ revokeLeases })
    await mounts.store.moves.start(side('cloud'), side('moved'))
    await revoking.reached
    mounts.store.moves.stop()
    revoking.open()
    await mounts.store[Symbol.asyncDispose]()

    const next = await openAgain(mounts.root)
    next.resume()
    await next[Symbol.asyncDispose]()

    expect(next.table.at('root', 'cloud/')).toBeUndefined()
    expect(mountAt(next, 'moved/').moves).toBe(1)
  })

  test('that failed is not retried by the next start', async () => {
    await using mounts = await openMounts({ revokeLeases: () => Promise.reject(refuse('upstream', 'down')) })
    await mounts.store.moves.start(side('cloud'), side('moved'))
    await mounts.store[Symbol.asyncDispose]()

    const next = await openAgain(mounts.root)
    next.resume()
    await next[Symbol.asyncDispose]()

    expect(paths(next)).toEqual(start)
    expect(next.enter(mountAt(next, 'cloud/'))).toBeDefined()
  })

  test.each(['storage.before-commit', 'storage.after-commit'] as const)(
    'that cannot be stored (%s) is refused, and never happens',
    async (point) => {
      await using mounts = await openMounts()
      const before = mountAt(mounts.store, 'cloud/')
      mounts.faults.arm(point, 'io')

      await expect(mounts.store.moves.start(side('cloud'), side('moved'))).rejects.toThrow()

      expect(mountAt(mounts.store, 'cloud/')).toEqual(before)
      expect(mounts.store.enter(before)).toBeDefined()
      expect(inOrder(await openAgain(mounts.root))).toEqual(inOrder(mounts.store))
    },
  )
})

test('fields of a later version survive a change', async () => {
  await using mounts = await openMounts()
  const { uuid } = mountAt(mounts.store, 'auth/jwt/')
  const key = `core/mounts/${uuid}`
  await mounts.root.update(key, (stored) => ({
    ...Object(stored),
    later: [1],
    config: { ...Object(stored).config, later: 2 },
  }))
  await using reopened = await mounts.reopen()

  await reopened.tune(auth('jwt'), { description: 'new', default_lease_ttl: '1h' })

  expect(await mounts.root.get(key)).toMatchObject({
    description: 'new',
    later: [1],
    config: { default_lease_ttl: 3600, later: 2 },
  })
})
