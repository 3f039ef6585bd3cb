import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openBarrier } from '../../../src/core/barrier/barrier.ts'
import { firstMounts } from '../../../src/core/mounts/first-mounts.ts'
import { entriesFor } from '../../../src/core/mounts/mount-record.ts'
import { MountStore } from '../../../src/core/mounts/mount-store.ts'
import { rootNamespace } from '../../../src/core/namespaces/namespace.ts'
import { NamespaceLife, type RemovalStep } from '../../../src/core/namespaces/namespace-life.ts'
import { NamespaceStore } from '../../../src/core/namespaces/namespace-store.ts'
import { type Random, systemRandom } from '../../../src/lib/random.ts'
import { openMemory } from '../../../src/storage/sqlite.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const system = { defaultTtl: 1, maxTtl: 1 }

type HouseOptions = { random?: Random; step?: RemovalStep }

/** Namespaces and mounts over one store, which `reopen` reads anew. */
async function openHouse(options: HouseOptions = {}) {
  await using opened = new AsyncDisposableStack()
  const storage = opened.use(await openMemory())
  const clock = new FakeClock()
  const barrier = await openBarrier({ storage, sealKey: randomBytes(32), clock, random: systemRandom, log: { error: () => {} } })
  const root = barrier.view('')
  await root.write(entriesFor(firstMounts(systemRandom, system, [])))
  const open = async ({ random = systemRandom, step }: HouseOptions) => {
    const namespaces = await NamespaceStore.open({ view: root.view('core/'), random })
    const mounts = await MountStore.open({
      view: root,
      random: systemRandom,
      clock,
      system,
      revokeLeases: async () => {},
      namespaceInTheWay: (id, path) => namespaces.inTheWay(id, path),
      isLive: (id) => namespaces.isLive(id),
      onFailure: () => {},
      onMoveEnd: () => {},
    })
    const failures: string[] = []
    const ended = Promise.withResolvers<string>()
    const life = new NamespaceLife({
      namespaces,
      mounts,
      random: systemRandom,
      firstEntries: () => [],
      steps: [...(step === undefined ? [] : [step]), { name: 'mounts', remove: (id) => mounts.removeNamespace(id) }],
      onFailure: (_, name) => failures.push(name),
      onRemoved: ({ path }) => ended.resolve(path),
    })
    return { namespaces, mounts, life, failures, ended: ended.promise }
  }
  const house = await open(options)
  opened.use(house.mounts)
  opened.use(house.life)
  const held = opened.move()
  return { ...house, reopen: open, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

const none = () => ({})

test('a namespace and its mounts appear together, also for the next start', async () => {
  await using house = await openHouse()
  const made = await house.life.create(rootNamespace, 'a', none)
  const next = await house.reopen({})

  expect(next.namespaces.byPath('a/')).toEqual(made)
  expect(
    next.mounts.table
      .of(made.id)
      .map(({ path }) => path)
      .sort(),
  ).toEqual(['auth/token/', 'cubbyhole/', 'identity/', 'sys/'])
})

test('a step that failed runs again at the next call, and until then the namespace stays, dead', async () => {
  let works = false
  const failed = Promise.withResolvers<void>()
  const step = {
    name: 'provider',
    remove: async () => {
      if (works) return
      failed.resolve()
      throw new Error('down')
    },
  }
  await using house = await openHouse({ step })
  const made = await house.life.create(rootNamespace, 'a', none)
  await house.life.remove(made)
  await failed.promise

  expect(house.namespaces.isLive(made.id)).toBe(false)
  await expect(house.life.create(rootNamespace, 'a', none)).rejects.toThrow('is being deleted')
  works = true
  await house.life.remove(made)
  expect(await house.ended).toBe('a/')

  expect(house.failures).toEqual(['provider'])
  expect(house.namespaces.byPath('a/')).toBeUndefined()
  expect(house.mounts.table.of(made.id)).toEqual([])
})

test('a removal that a stop interrupted resumes on request', async () => {
  const reached = Promise.withResolvers<void>()
  const step = {
    name: 'slow',
    remove: () => {
      reached.resolve()
      return new Promise<never>(() => {})
    },
  }
  await using house = await openHouse()
  const stuck = await house.reopen({ step })
  const made = await stuck.life.create(rootNamespace, 'a', none)
  await stuck.life.remove(made)
  await reached.promise

  const next = await house.reopen({})
  expect(next.namespaces.byId(made.id)).toMatchObject({ tainted: true })
  next.life.resume()
  expect(await next.ended).toBe('a/')

  expect((await house.reopen({})).namespaces.byPath('a/')).toBeUndefined()
})

test('the id of a deleted namespace is never reused', async () => {
  let drawn = 0
  // the first two namespaces draw the same id
  const random: Random = { uuid: () => systemRandom.uuid(), bytes: (count) => new Uint8Array(count).fill(drawn++ < 2 ? 1 : 2) }
  await using house = await openHouse({ random })
  const first = await house.life.create(rootNamespace, 'a', none)
  await house.life.remove(first)
  await house.ended

  const second = await house.life.create(rootNamespace, 'a', none)

  expect(first.id).toBe('111111')
  expect(second.id).toBe('222222')
})

test('a namespace with others inside, and one below a dying one, are refused', async () => {
  await using house = await openHouse()
  const parent = await house.life.create(rootNamespace, 'a', none)
  await house.life.create(parent, 'b', none)

  await expect(house.life.remove(parent)).rejects.toThrow('unable to delete namespace containing child namespaces')
  const child = house.namespaces.byPath('a/b/')
  if (child === undefined) throw new Error('the child is not there')
  const [removed, made] = await Promise.allSettled([house.life.remove(child), house.life.create(child, 'c', none)])
  expect([removed.status, made.status]).toEqual(['fulfilled', 'rejected'])
})
