import { describe, expect, test } from 'vitest'
import type { Mount } from '../../../src/core/mounts/mount.ts'
import { mountPointOf } from '../../../src/core/mounts/mount-path.ts'
import { rootNamespace } from '../../../src/core/namespaces/namespace.ts'
import { refuse } from '../../../src/errors.ts'
import { fenced } from '../../../src/storage/shared-storage.ts'
import { openSharedCores, type SharedCore } from '../../support/shared-cores.ts'

const secret = (path: string) => mountPointOf('root', 'secret', path)
const side = (path: string) => ({ namespace: rootNamespace, path })
const cloud = { type: 'cloud' }

function mountAt({ mounts }: SharedCore, path: string): Mount {
  const mount = mounts.table.at('root', path)
  if (mount === undefined) throw new Error(`${path} is not mounted`)
  return mount
}

const statuses = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.map(({ status }) => status).sort()

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

describe('a mount', () => {
  test('that one server enables, tunes and removes is the same on the other', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.mounts.enable(secret('a'), cloud)
    await other.hear()
    const view = other.mounts.viewOf(mountAt(other, 'a/'))
    await view.write([{ key: 'x', value: 1 }])

    await other.mounts.tune(secret('a'), { description: 'tuned' })
    await one.hear()
    expect(mountAt(one, 'a/')).toEqual(mountAt(other, 'a/'))
    expect(mountAt(one, 'a/').description).toBe('tuned')
    const before = mountAt(other, 'a/')
    await one.mounts.disable(secret('a'))
    await other.hear()

    expect(other.mounts.table.at('root', 'a/')).toBeUndefined()
    expect(other.mounts.enter(before)).toBeUndefined()
    expect(() => other.mounts.viewOf(before)).toThrow('the mount no longer exists')
    expect(await view.listKeys('')).toEqual([])
  })

  test.each([
    { name: 'at the same path', path: 'a' },
    { name: 'below it', path: 'a/b' },
  ])('and another one $name are not both enabled by two servers', async ({ path }) => {
    await using servers = await openSharedCores()
    const { one, other } = servers

    const results = await Promise.allSettled([
      one.mounts.enable(secret('a'), cloud),
      other.mounts.enable(secret(path), cloud),
    ])

    expect(statuses(results)).toEqual(['fulfilled', 'rejected'])
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { kind: 'invalid', message: expect.stringMatching(/^path is already in use at a\//) },
    })
  })

  test('that two servers tune at the same time keeps both changes', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.mounts.enable(secret('a'), cloud)

    await Promise.all([
      one.mounts.tune(secret('a'), { description: 'tuned' }),
      other.mounts.tune(secret('a'), { max_lease_ttl: '1h' }),
    ])
    await one.hear()

    expect(mountAt(one, 'a/')).toMatchObject({ description: 'tuned', config: { max_lease_ttl: 3600 } })
  })

  test('is enabled by 20 callers of two servers at 20 paths', async () => {
    await using servers = await openSharedCores()
    const paths = Array.from({ length: 20 }, (_, number) => `m${number}`)

    await Promise.all(
      paths.map((path, number) =>
        (number % 2 ? servers.one : servers.other).mounts.enable(secret(path), cloud),
      ),
    )
    await servers.one.hear()

    expect(paths.every((path) => servers.one.mounts.table.at('root', `${path}/`))).toBe(true)
  })

  test('that another server removes stays closed here, although a change of it has not ended here', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.mounts.enable(secret('a'), cloud)
    const tuned = gate()
    one.mounts.onChange(({ changed }) =>
      changed.some(({ description, tainted }) => description === 'tuned' && !tainted)
        ? tuned.wait()
        : undefined,
    )
    const revoking = gate()
    other.mounts.beforeRemoval(revoking.wait)
    const tuning = one.mounts.tune(secret('a'), { description: 'tuned' })
    await tuned.reached

    const removal = other.mounts.disable(secret('a'))
    await revoking.reached
    await one.hear()
    tuned.open()
    await tuning
    const here = mountAt(one, 'a/')
    const leave = one.mounts.enter(here)
    leave?.()
    revoking.open()
    await removal

    expect(here).toMatchObject({ description: 'tuned', tainted: true })
    expect(leave).toBeUndefined()
  })

  test('whose record cannot be read does not keep others from being followed', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.root.write([{ key: 'core/mounts/odd', value: { table: 'auth' } }])
    await one.mounts.enable(secret('a'), cloud)

    await other.hear()

    expect(mountAt(other, 'a/')).toEqual(mountAt(one, 'a/'))
  })
})

describe('a removal', () => {
  test('waits for requests that are inside the mount on the other server', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.mounts.enable(secret('a'), cloud)
    await other.hear()
    const mount = mountAt(other, 'a/')
    await other.mounts.viewOf(mount).write([{ key: 'x', value: 1 }])
    const leave = other.mounts.enter(mount)
    const revoking = gate()
    one.mounts.beforeRemoval(revoking.wait)

    const removal = one.mounts.disable(secret('a'))
    await expect.poll(() => one.root.listKeys('core/mount-busy/')).toHaveLength(1)
    const refused = other.mounts.enter(mount)
    const before = await Promise.race([revoking.reached, 'waiting'])
    leave?.()
    revoking.open()
    await removal

    expect({ refused, before }).toEqual({ refused: undefined, before: 'waiting' })
    expect(await other.root.listKeys(`mount/${mount.uuid}/`)).toEqual([])
    expect(await other.root.listKeys('core/mount-busy/')).toEqual([])
  })

  test('waits no longer than the requests of another server, even if a job of that server has heard of it', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.mounts.enable(secret('a'), cloud)
    await other.hear()
    const leave = other.mounts.enter(mountAt(other, 'a/'))
    const fence = { job: 'mount/some', epoch: 7 }
    const removal = one.mounts.disable(secret('a'))
    await fenced(fence, () => other.hear())
    await expect.poll(() => one.root.listKeys('core/mount-busy/')).toHaveLength(1)

    leave?.()
    await removal

    expect(one.mounts.table.at('root', 'a/')).toBeUndefined()
  })

  test('does not wait for a server that is gone', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.mounts.enable(secret('a'), cloud)
    await other.hear()
    other.mounts.enter(mountAt(other, 'a/'))
    const revoking = gate()
    one.mounts.beforeRemoval(revoking.wait)
    const removal = one.mounts.disable(secret('a'))
    await expect.poll(() => one.root.listKeys('core/mount-busy/')).toHaveLength(1)

    other.storage.die()
    revoking.open()
    await removal

    expect(one.mounts.table.at('root', 'a/')).toBeUndefined()
  })

  test('that another server was asked for too is done once, and both callers hear of its end', async () => {
    const ended: string[] = []
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.mounts.enable(secret('a'), cloud)
    const revoking = gate()
    one.mounts.beforeRemoval(() => revoking.wait().then(() => void ended.push('one')))
    other.mounts.beforeRemoval(async () => void ended.push('other'))

    const removals = [one.mounts.disable(secret('a'))]
    await revoking.reached
    await other.hear()
    removals.push(other.mounts.disable(secret('a')))
    revoking.open()
    await removals[0]
    await other.hear()
    await removals[1]

    expect(ended).toEqual(['one'])
    expect(other.mounts.table.at('root', 'a/')).toBeUndefined()
  })

  test('that failed is not repeated by another server until a caller asks', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.mounts.enable(secret('a'), cloud)
    one.mounts.beforeRemoval(() => Promise.reject(refuse('upstream', 'the cloud is down')))

    await expect(one.mounts.disable(secret('a'))).rejects.toThrow('the cloud is down')
    await other.hear()
    expect(mountAt(other, 'a/')).toMatchObject({ tainted: true, failure: 'the cloud is down' })
    await other.mounts.disable(secret('a'))
    await one.hear()

    expect(one.mounts.table.at('root', 'a/')).toBeUndefined()
  })

  test('that is asked of a server which is then sealed is refused there, and goes on elsewhere', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.mounts.enable(secret('a'), cloud)
    const revoking = gate()
    one.mounts.beforeRemoval(revoking.wait)
    const removal = one.mounts.disable(secret('a'))
    await revoking.reached
    await other.hear()

    const refused = other.mounts.disable(secret('a'))
    await other.seal()
    await expect(refused).rejects.toMatchObject({ kind: 'sealed' })
    other.storage.die()
    revoking.open()
    await removal

    expect(one.mounts.table.at('root', 'a/')).toBeUndefined()
  })

  test('of a server that is gone is completed by another one', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    other.start()
    await one.mounts.enable(secret('a'), cloud)
    const revoking = gate()
    one.mounts.beforeRemoval(revoking.wait)
    const removal = one.mounts.disable(secret('a'))
    await revoking.reached
    await other.hear()

    one.storage.die()
    await expect.poll(() => other.mounts.table.at('root', 'a/')).toBeUndefined()
    revoking.open()

    await expect(removal).resolves.toBeUndefined()
  })
})

describe('a move', () => {
  test('has its state on every server, which sends requests to the new path', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.mounts.enable(secret('a'), cloud)
    await other.hear()
    const before = mountAt(other, 'a/')
    const revoking = gate()
    one.mounts.beforeRemoval(revoking.wait)

    const id = await one.mounts.moves.start(side('a'), side('b'))
    await revoking.reached
    expect((await other.mounts.moves.find(id))?.migration_info.status).toBe('in-progress')
    expect(other.mounts.enter(before)).toBeUndefined()
    revoking.open()
    await expect.poll(async () => (await other.mounts.moves.find(id))?.migration_info.status).toBe('success')
    await other.hear()

    expect(mountAt(other, 'b/')).toEqual({ ...before, path: 'b/', moves: 1 })
    expect(other.mounts.enter(mountAt(other, 'b/'))).toBeDefined()
    expect(other.mounts.enter(before)).toBeUndefined()
  })

  test('that failed opens the mount again on every server', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.mounts.enable(secret('a'), cloud)
    await other.hear()
    one.mounts.beforeRemoval(() => Promise.reject(refuse('upstream', 'down')))

    const id = await one.mounts.moves.start(side('a'), side('b'))
    await expect.poll(async () => (await other.mounts.moves.find(id))?.migration_info.status).toBe('failure')
    await other.hear()

    expect(other.mounts.enter(mountAt(other, 'a/'))).toBeDefined()
  })

  test('to a path where another server enables a mount happens only if that fails', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.mounts.enable(secret('a'), cloud)
    const revoking = gate()
    one.mounts.beforeRemoval(revoking.wait)
    const id = await one.mounts.moves.start(side('a'), side('b'))
    await revoking.reached

    await other.mounts.enable(secret('b'), cloud)
    revoking.open()
    await expect.poll(async () => (await other.mounts.moves.find(id))?.migration_info.status).toBe('failure')

    expect(mountAt(one, 'a/').uuid).not.toBe(mountAt(one, 'b/').uuid)
  })

  test('of a server that is gone is completed by another one, and not by that one later', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    other.start()
    await one.mounts.enable(secret('a'), cloud)
    const revoking = gate()
    one.mounts.beforeRemoval(revoking.wait)
    const id = await one.mounts.moves.start(side('a'), side('b'))
    await revoking.reached
    await other.hear()

    one.storage.die()
    await expect.poll(async () => (await other.mounts.moves.find(id))?.migration_info.status).toBe('success')
    revoking.open()
    await one.hear()

    expect(mountAt(one, 'b/').moves).toBe(1)
    expect(await one.root.listKeys('core/mounts/')).toHaveLength(one.mounts.table.all().length)
  })
})
