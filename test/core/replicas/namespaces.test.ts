import { expect, test } from 'vitest'
import { mountPointOf } from '../../../src/core/mounts/mount-path.ts'
import { rootNamespace } from '../../../src/core/namespaces/namespace.ts'
import { openSharedCores, type SharedCore } from '../../support/shared-cores.ts'

const noMetadata = () => ({})
const create = ({ namespaceLife }: SharedCore, name: string) =>
  namespaceLife.create(rootNamespace, name, noMetadata)
const statuses = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.map(({ status }) => status).sort()

function at({ namespaces }: SharedCore, path: string) {
  const found = namespaces.byPath(path)
  if (found === undefined) throw new Error(`there is no namespace ${path}`)
  return found
}

test('a namespace that one server creates, changes and locks is the same on the other', async () => {
  await using servers = await openSharedCores()
  const { one, other } = servers
  const made = await create(one, 'a')
  await one.namespaceLife.create(made, 'b', noMetadata)
  await other.hear()
  expect(at(other, 'a/b/').id).toBe(at(one, 'a/b/').id)
  expect(other.mounts.table.of(made.id)).toHaveLength(4)

  await other.namespaceLife.replaceMetadata(made, { owner: 'team' })
  const key = await other.namespaces.lock(made)
  await one.hear()

  expect(at(one, 'a/').custom_metadata).toEqual({ owner: 'team' })
  expect(one.namespaces.lockRefusal(at(one, 'a/b/'))?.message).toMatch(/^API access/)
  await one.namespaces.unlock(made, key)
  await other.hear()
  expect(other.namespaces.lockRefusal(made)).toBeUndefined()
})

test('of two servers that create the same namespace, both get the one that exists', async () => {
  await using servers = await openSharedCores()
  const { one, other } = servers

  const [first, second] = await Promise.all([create(one, 'a'), create(other, 'a')])

  expect(first.id).toBe(second.id)
  expect(await one.root.listKeys('core/namespace/')).toHaveLength(1)
})

test('a namespace and a mount of one name are not both created by two servers', async () => {
  await using servers = await openSharedCores()
  const { one, other } = servers

  const results = await Promise.allSettled([
    create(one, 'a'),
    other.mounts.enable(mountPointOf('root', 'secret', 'a'), { type: 'cloud' }),
  ])

  expect(statuses(results)).toEqual(['fulfilled', 'rejected'])
})

test('a namespace is not deleted while another server creates one below it', async () => {
  await using servers = await openSharedCores()
  const { one, other } = servers
  const parent = await create(one, 'a')
  await other.hear()

  const results = await Promise.allSettled([
    one.namespaceLife.remove(parent),
    other.namespaceLife.create(parent, 'b', noMetadata),
  ])

  expect(statuses(results)).toEqual(['fulfilled', 'rejected'])
})

test('a deletion closes the namespace on every server, and waits for what is inside', async () => {
  await using servers = await openSharedCores()
  const { one, other } = servers
  const ended: string[] = []
  for (const [name, server] of Object.entries({ one, other })) {
    server.namespaceLife.addRemovalStep({
      name: 'waits',
      phase: 'waiting requests',
      remove: () => void ended.push(name),
    })
    server.start()
  }
  const made = await create(one, 'a')
  await other.hear()
  const [mount] = other.mounts.table.of(made.id)
  if (mount === undefined) throw new Error('no mount')
  const leave = other.mounts.enter(mount)

  await one.namespaceLife.remove(made)
  await expect.poll(() => one.root.listKeys('core/mount-busy/')).toHaveLength(1)
  const refused = other.mounts.enter(mount)
  const isLive = other.namespaces.isLive(made.id)
  const left = one.mounts.table.of(made.id).length
  leave?.()
  await expect.poll(() => one.namespaces.byPath('a/')).toBeUndefined()
  await other.hear()

  expect({ refused, isLive, left }).toEqual({ refused: undefined, isLive: false, left: 4 })
  expect(new Set(ended)).toEqual(new Set(['one', 'other']))
  expect(other.namespaces.byPath('a/')).toBeUndefined()
  expect(other.mounts.table.of(made.id)).toEqual([])
  expect(await one.root.listKeys('core/mount-busy/')).toEqual([])
})

test('a deletion is completed by another server if the first one is gone', async () => {
  await using servers = await openSharedCores()
  const { one, other } = servers
  const held = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  one.namespaceLife.addRemovalStep({
    name: 'data',
    phase: 'data',
    remove: () => {
      reached.resolve()
      return held.promise
    },
  })
  one.start()
  other.start()
  const made = await create(one, 'a')
  await other.hear()
  await one.namespaceLife.remove(made)
  await reached.promise
  await other.hear()

  one.storage.die()
  await expect.poll(() => other.namespaces.byPath('a/')).toBeUndefined()
  held.resolve()
  await one.hear()

  expect(one.namespaces.byPath('a/')).toBeUndefined()
})

test('a rate limit ends with its mount, whichever server knows of it', async () => {
  await using servers = await openSharedCores()
  const { one, other } = servers
  const mount = await one.mounts.enable(mountPointOf('root', 'secret', 'a'), { type: 'cloud' })
  await one.quotas.rules.put(() => ({
    name: 'q',
    namespace: '',
    mount: mount.uuid,
    suffix: '',
    role: '',
    rate: 1,
    interval: 1,
    blockInterval: 0,
    inheritable: false,
    groupBy: 'ip',
  }))

  await other.mounts.disable(mountPointOf('root', 'secret', 'a')).catch(() => undefined)
  await other.hear()
  await other.mounts.disable(mountPointOf('root', 'secret', 'a'))
  await one.hear()

  expect(one.quotas.rules.names).toEqual([])
})
