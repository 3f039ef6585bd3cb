import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openBarrier } from '../../../src/core/barrier/barrier.ts'
import { Jobs } from '../../../src/core/jobs/jobs.ts'
import { firstMounts } from '../../../src/core/mounts/first-mounts.ts'
import { entriesFor } from '../../../src/core/mounts/mount-record.ts'
import { MountStore } from '../../../src/core/mounts/mount-store.ts'
import { rootNamespace } from '../../../src/core/namespaces/namespace.ts'
import { NamespaceLife, type RemovalStep } from '../../../src/core/namespaces/namespace-life.ts'
import { NamespaceStore } from '../../../src/core/namespaces/namespace-store.ts'
import { type Random, systemRandom } from '../../../src/lib/system/random.ts'
import { openMemory } from '../../../src/storage/sqlite/sqlite.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { someMountTypes } from '../../support/mount-types.ts'
import { quietLog } from '../../support/start-server.ts'

const system = { defaultTtl: 1, maxTtl: 1 }
const types = someMountTypes()

type HouseOptions = { random?: Random; step?: Omit<RemovalStep, 'phase'>; steps?: RemovalStep[] }

/** Namespaces and mounts over one store, which `reopen` reads again. */
async function openFixture(options: HouseOptions = {}) {
  await using opened = new AsyncDisposableStack()
  const storage = opened.use(await openMemory())
  const clock = new FakeClock()
  const barrier = await openBarrier({
    storage,
    sealKey: randomBytes(32),
    clock,
    random: systemRandom,
    log: { error: () => {} },
  })
  const root = barrier.view('')
  await root.write(entriesFor(firstMounts({ random: systemRandom, system, types, defaults: [] })))
  const open = async ({ random = systemRandom, step, steps = [] }: HouseOptions) => {
    const jobs = new Jobs({ shared: undefined, clock, log: quietLog })
    const namespaces = await NamespaceStore.open({ view: root.view('core/'), random, onUnreadable: () => {} })
    const mounts = await MountStore.open({
      view: root,
      random: systemRandom,
      clock,
      system,
      types,
      namespaces,
      shared: undefined,
      jobs,
      onUnreadable: () => {},
      onFailure: () => {},
    })
    const failures: string[] = []
    const ended = Promise.withResolvers<string>()
    const life = new NamespaceLife({
      namespaces,
      mounts,
      random: systemRandom,
      jobs,
      shared: undefined,
      firstEntries: () => [],
      onFailure: (_, name) => failures.push(name),
      onRemoved: ({ path }) => ended.resolve(path),
    })
    life.addRemovalStep({ name: 'mounts', phase: 'mounts', remove: (id) => mounts.removeNamespace(id) })
    if (step !== undefined) life.addRemovalStep({ ...step, phase: 'data' })
    for (const one of steps) life.addRemovalStep(one)
    return { namespaces, mounts, life, failures, ended: ended.promise }
  }
  const fixture = await open(options)
  opened.use(fixture.mounts)
  opened.use(fixture.life)
  const held = opened.move()
  return { ...fixture, reopen: open, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

const none = () => ({})

test('a namespace and its mounts appear together, also for the next start', async () => {
  await using fixture = await openFixture()
  const made = await fixture.life.create(rootNamespace, 'a', none)
  const next = await fixture.reopen({})

  expect(next.namespaces.byPath('a/')).toEqual(made)
  expect(
    next.mounts.table
      .of(made.id)
      .map(({ path }) => path)
      .sort(),
  ).toEqual(['auth/token/', 'cubbyhole/', 'identity/', 'sys/'])
})

test('a failed step runs again at the next call, and until then the namespace stays unusable', async () => {
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
  await using fixture = await openFixture({ step })
  const made = await fixture.life.create(rootNamespace, 'a', none)
  await fixture.life.remove(made)
  await failed.promise

  expect(fixture.namespaces.isLive(made.id)).toBe(false)
  await expect(fixture.life.create(rootNamespace, 'a', none)).rejects.toThrow('is being deleted')
  works = true
  await fixture.life.remove(made)
  expect(await fixture.ended).toBe('a/')

  expect(fixture.failures).toEqual(['provider'])
  expect(fixture.namespaces.byPath('a/')).toBeUndefined()
  expect(fixture.mounts.table.of(made.id)).toEqual([])
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
  await using fixture = await openFixture()
  const stuck = await fixture.reopen({ step })
  const made = await stuck.life.create(rootNamespace, 'a', none)
  await stuck.life.remove(made)
  await reached.promise

  const next = await fixture.reopen({})
  expect(next.namespaces.byId(made.id)).toMatchObject({ tainted: true })
  next.life.resume()
  expect(await next.ended).toBe('a/')

  expect((await fixture.reopen({})).namespaces.byPath('a/')).toBeUndefined()
})

test('the id of a deleted namespace is never reused', async () => {
  let drawn = 0
  // the first two namespaces draw the same id
  const random: Random = {
    uuid: () => systemRandom.uuid(),
    bytes: (count) => new Uint8Array(count).fill(drawn++ < 2 ? 1 : 2),
  }
  await using fixture = await openFixture({ random })
  const first = await fixture.life.create(rootNamespace, 'a', none)
  await fixture.life.remove(first)
  await fixture.ended

  const second = await fixture.life.create(rootNamespace, 'a', none)

  expect(first.id).toBe('111111')
  expect(second.id).toBe('222222')
})

test('a namespace with children cannot be deleted, and none can be created below one that is being deleted', async () => {
  await using fixture = await openFixture()
  const parent = await fixture.life.create(rootNamespace, 'a', none)
  await fixture.life.create(parent, 'b', none)

  await expect(fixture.life.remove(parent)).rejects.toThrow(
    'unable to delete namespace containing child namespaces',
  )
  const child = fixture.namespaces.byPath('a/b/')
  if (child === undefined) throw new Error('the child is not there')
  const [removed, made] = await Promise.allSettled([
    fixture.life.remove(child),
    fixture.life.create(child, 'c', none),
  ])
  expect([removed.status, made.status]).toEqual(['fulfilled', 'rejected'])
})

test('the parts of a namespace are removed by phase, whatever the order of registration', async () => {
  const removed: string[] = []
  const step = (name: string, phase: RemovalStep['phase']): RemovalStep => ({
    name,
    phase,
    remove: () => void removed.push(name),
  })
  const steps = [
    step('messages', 'data'),
    step('tokens', 'tokens'),
    step('policies', 'data'),
    step('leases', 'leases'),
    step('requests', 'requests'),
    step('polls', 'waiting requests'),
  ]
  await using fixture = await openFixture({ steps })

  await fixture.life.remove(await fixture.life.create(rootNamespace, 'a', none))
  await fixture.ended

  expect(removed).toEqual(['polls', 'requests', 'leases', 'tokens', 'messages', 'policies'])
})
