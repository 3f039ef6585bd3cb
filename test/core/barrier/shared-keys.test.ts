import { expect, test } from 'vitest'
import { type Barrier, type BarrierParts, openBarrier } from '../../../src/core/barrier/barrier.ts'
import { keyringKey } from '../../../src/core/barrier/keyring-record.ts'
import { handOverKey } from '../../../src/core/barrier/root-key-handover.ts'
import { termOf } from '../../../src/core/barrier/sealed-value.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { collectKeys } from '../../support/collected-keys.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { openSharedMemory, type SharedMemory } from '../../support/shared-memory.ts'
import { sealKey } from './barrier-fixture.ts'

const quiet = { info: () => {}, error: () => {} }

/** Servers that share a storage and hear of each other's writes when the test delivers them. */
async function openServers(count: number, parts: Partial<BarrierParts> = {}) {
  const shared = await openSharedMemory(count)
  const unreadable: string[] = []
  const log = { error: ({ key }: { key: string }) => void unreadable.push(key) }
  const open = (storage: Storage, more: Partial<BarrierParts> = {}) =>
    openBarrier({
      storage,
      sealKey: sealKey(1),
      clock: new FakeClock(0),
      random: systemRandom,
      log,
      ...parts,
      ...more,
    })
  const barriers: Barrier[] = []
  for (const server of shared.servers) barriers.push(await open(server))
  const [storage, otherStorage] = shared.servers
  const [one, other] = barriers
  if (one === undefined || other === undefined || storage === undefined || otherStorage === undefined)
    throw new Error('a test needs two servers')
  return {
    one,
    other,
    barriers,
    storage,
    otherStorage,
    unreadable,
    open,
    deliver: async () => {
      for (const server of shared.servers) await server.deliver()
    },
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  }
}

const put = (barrier: Barrier, key: string) => barrier.view('n/').update(key, () => key)

async function termAt(storage: SharedMemory, key: string): Promise<number | undefined> {
  const record = await storage.get(`n/${key}`)
  return record && termOf(record.value)
}

test('a server reads what another has encrypted with a term that it has not heard of', async () => {
  await using servers = await openServers(2)
  const { one, other } = servers
  await one.rotate()
  for (const key of ['a', 'b', 'c', 'd']) await put(one, key)
  const text = await one.sealText('out/x', 'text')
  const view = other.view('n/')

  expect(await view.get('a')).toBe('a')

  await one.rotate()
  await put(one, 'a')
  expect((await view.list('')).map(({ value }) => value)).toEqual(['a', 'b', 'c', 'd'])
  await one.rotate()
  await put(one, 'b')
  expect(await view.update('b', (current) => `${String(current)}!`)).toBe('b!')
  await one.rotate()
  await put(one, 'c')
  expect(await view.take('c')).toBe('c')
  await one.rotate()
  await put(one, 'd')
  expect(await view.read('d')).toMatchObject({ value: 'd' })
  expect(await other.openText('out/x', text)).toBe('text')
  expect(servers.unreadable).toEqual([])
})

test('a term that nobody has begun is a damaged record, not one to wait for', async () => {
  await using servers = await openServers(2)
  await put(servers.one, 'a')
  const { value = new Uint8Array() } = (await servers.storage.get('n/a')) ?? {}
  const damaged = Buffer.from(value)
  damaged.writeUInt32BE(9)
  await servers.storage.write([{ key: 'n/a', value: damaged }])

  await expect(servers.other.view('n/').get('a')).rejects.toMatchObject({ kind: 'internal' })
  expect(servers.unreadable).toEqual(['n/a'])
})

test('a server that hears of a new term encrypts with it from then on', async () => {
  await using servers = await openServers(2)
  await servers.one.rotate()

  await put(servers.other, 'before')
  await servers.deliver()
  await put(servers.other, 'after')

  expect(await termAt(servers.storage, 'before')).toBe(1)
  expect(await termAt(servers.storage, 'after')).toBe(2)
  expect(servers.other.keyStatus().term).toBe(2)
})

test('no term exceeds its limit while servers begin terms and hear of them late', async () => {
  const limits = { perKey: 10, block: 4 }
  await using servers = await openServers(3, { limits })
  const { barriers, storage } = servers

  for (let round = 0; round < 12; round += 1) {
    await Promise.all(barriers.map((barrier, index) => put(barrier, `${round}-${index}`)))
    if (round % 3 === 0) await barriers[round % 2]?.rotate()
    if (round % 4 === 0) await servers.deliver()
    // changes the keyring of a server that may have missed a term
    await barriers[2]?.changeRotationRules((rules) => rules)
    await Promise.all(barriers.map((barrier, index) => put(barrier, `${round}-${index}-again`)))
  }

  const counts = new Map<number | undefined, number>()
  for (const { value } of await storage.list('n/'))
    counts.set(termOf(value), (counts.get(termOf(value)) ?? 0) + 1)
  expect([...counts.values()].reduce((sum, count) => sum + count)).toBe(72)
  expect(Math.max(...counts.values())).toBeLessThanOrEqual(limits.perKey)
})

test.each([
  { name: 'rotate/root', change: (barrier: Barrier) => barrier.rotateRootKey(sealKey(1)) },
  { name: 'rekey', change: (barrier: Barrier) => barrier.rekey(sealKey(2)) },
])('after $name and rotations on one server, the others continue', async ({ change }) => {
  await using servers = await openServers(2)
  const { one, other } = servers
  await put(one, 'a')

  // the other has heard of nothing
  await one.rotate()
  await change(one)
  await one.rotate()
  await put(one, 'b')
  expect(await other.view('n/').get('b')).toBe('b')
  await change(one)
  await other.rotate()
  await put(other, 'c')
  await servers.deliver()

  expect(await one.view('n/').get('c')).toBe('c')
  for (const barrier of [one, other]) expect(barrier.keyStatus().term).toBe(4)
})

test('a root key that another server has replaced is overwritten in memory, and opens nothing any more', async () => {
  await using servers = await openServers(2)
  using keys = collectKeys()
  const late = await servers.open(servers.otherStorage)
  await put(late, 'a')
  const before = keys.left()

  await servers.one.rotateRootKey(sealKey(1))
  await servers.deliver()
  await put(late, 'a')

  // the data key is still the same
  expect(keys.left().filter((key) => before.includes(key))).toHaveLength(1)
  servers.one.seal()
  late.seal()
  servers.other.seal()
  expect(keys.left()).toEqual([])
})

test('two servers may replace the root key at the same time', async () => {
  await using servers = await openServers(2)

  await Promise.all(servers.barriers.map((barrier) => barrier.rotateRootKey(sealKey(1))))
  await servers.one.rotateRootKey(sealKey(1))
  await servers.other.rotate()
  await servers.deliver()

  for (const barrier of servers.barriers) await barrier.rotate()
  expect(servers.other.keyStatus().term).toBe(4)
  expect((await servers.open(servers.storage)).keyStatus().term).toBe(4)
})

test('of two rekeys at the same time one is refused', async () => {
  await using servers = await openServers(2)

  const written = await Promise.all([servers.one.rekey(sealKey(2)), servers.other.rekey(sealKey(3))])

  expect(written.filter((isWritten) => isWritten)).toHaveLength(1)
  const key = written[0] === true ? 2 : 3
  // nor does a server rekey that has not heard of it
  const late = written[0] === true ? servers.other : servers.one
  expect(await late.rekey(sealKey(4))).toBe(false)
  expect(await servers.one.opensRootKey(sealKey(key))).toBe(true)
})

test('once a term is gone, its key does not reveal the root key', async () => {
  await using servers = await openServers(2)
  const { one, storage } = servers
  await one.rotate()
  await one.rotateRootKey(sealKey(1))
  const handOver = async () => Object.keys(JSON.parse(String((await storage.get(handOverKey))?.value)))
  expect(await handOver()).toEqual(['1', '2'])
  await using resealer = one.resealing(quiet)

  resealer.start()
  await resealer.settled()

  expect(await handOver()).toEqual(['2'])
})

test('re-encryption waits for what another server is writing with the older term', async () => {
  await using servers = await openServers(2)
  const { one, storage, otherStorage, open } = servers
  const written = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const slow = await open({
    ...otherStorage,
    write: async (batch) => {
      begun.resolve()
      await written.promise
      return await otherStorage.write(batch)
    },
  })
  const writing = slow.view('n/').write([{ key: 'late', value: 1 }])
  await begun.promise
  await one.rotate()
  await using resealer = one.resealing(quiet)

  resealer.start()
  const isOver = await Promise.race([resealer.settled().then(() => true), Promise.resolve(false)])
  written.resolve()
  await writing
  await resealer.settled()

  expect(isOver).toBe(false)
  expect(await termAt(storage, 'late')).toBe(2)
  expect(await slow.view('n/').get('late')).toBe(1)
})

test('re-encryption that waits for another server ends when its own server stops', async () => {
  await using servers = await openServers(2)
  const { storage, open } = servers
  const waiting = Promise.withResolvers<void>()
  const one = await open({
    ...storage,
    shared: {
      ...storage.shared,
      confirmedByAll: () => {
        waiting.resolve()
        return new Promise(() => {})
      },
    },
  })
  const ended = new AbortController()
  const resealer = one.resealing(quiet)
  const working = resealer.work({ ended: ended.signal, run: (work) => work() })
  await one.rotate()
  await waiting.promise

  ended.abort()
  await working
  await resealer[Symbol.asyncDispose]()

  expect(one.keyStatus().term).toBe(2)
})

test('a server that cannot find the new keys any more is sealed', async () => {
  await using servers = await openServers(2)
  const { one, otherStorage, storage, open } = servers
  let isLost = false
  using keys = collectKeys()
  const paused = await open(otherStorage, {
    keysLost: () => {
      isLost = true
    },
  })
  otherStorage.die()
  await one.rotate()
  await using resealer = one.resealing(quiet)
  resealer.start()
  await resealer.settled()
  await one.rotateRootKey(sealKey(1))
  expect((await storage.get(keyringKey))?.key).toBe(keyringKey)

  await otherStorage.deliver()

  expect([isLost, paused.isSealed()]).toEqual([true, true])
  await expect(put(paused, 'a')).rejects.toMatchObject({ kind: 'sealed' })
  one.seal()
  expect(keys.left()).toEqual([])
})

test('a server that starts while another replaces the root key opens the store', async () => {
  await using servers = await openServers(2)
  const { one, otherStorage, open } = servers
  let isReplaced = false
  const starting = await open({
    ...otherStorage,
    get: async (key) => {
      if (key === keyringKey && !isReplaced) {
        isReplaced = true
        await one.rotateRootKey(sealKey(1))
      }
      return await otherStorage.get(key)
    },
  })

  await put(starting, 'a')
  expect(await one.view('n/').get('a')).toBe('a')
})
