import { Buffer } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import type { Barrier } from '../../../src/core/barrier/barrier.ts'
import { StorageFaults } from '../../../src/storage/faults.ts'
import { openMemory, openSqlite } from '../../../src/storage/sqlite/sqlite.ts'
import { collectKeys } from '../../support/collected-keys.ts'
import { runProcess } from '../../support/process.ts'
import { startTestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { aBarrierFixture, sealKey } from './barrier-fixture.ts'

async function use(barrier: Barrier): Promise<void> {
  await barrier.view('n/').update('a', () => 'one')
  await barrier.view('n/').get('a')
}

test('an open barrier holds one root key and one data key, each in memory of its own', async () => {
  await using fixture = await aBarrierFixture()
  using keys = collectKeys()

  await use(await fixture.open())

  expect(keys.left()).toHaveLength(2)
  for (const { buffer, byteOffset } of keys.buffers())
    expect([buffer.byteLength, byteOffset]).toEqual([32, 0])
})

test('sealing overwrites every key', async () => {
  await using fixture = await aBarrierFixture()
  using keys = collectKeys()
  await using staging = await openMemory()
  const barrier = await fixture.open({ first: { staging, fill: use } })
  await use(barrier)
  await barrier.rotate()
  await use(barrier)
  await barrier.rotateRootKey(sealKey(1))
  await barrier.rekey(sealKey(2))
  await barrier.opensRootKey(sealKey(2))
  expect(keys.left()).toHaveLength(3)

  barrier.seal()

  expect(keys.left()).toEqual([])
})

test.each([
  { name: 'data keys', change: (barrier: Barrier) => barrier.rotate() },
  { name: 'the root key', change: (barrier: Barrier) => barrier.rotateRootKey(sealKey(1)) },
])('sealing overwrites every key at once while a change of $name is being written', async ({ change }) => {
  await using folder = await temporaryFolder()
  const faults = new StorageFaults()
  await using storage = await openSqlite({ path: folder.file('store.db'), faults })
  await using fixture = await aBarrierFixture()
  using keys = collectKeys()
  const barrier = await fixture.open({ storage })
  await use(barrier)
  const before = keys.left().length
  faults.delay('storage.before-commit', 100)
  const changing = change(barrier)
  while (keys.left().length === before) await nextTurn()

  barrier.seal()

  expect(keys.left()).toEqual([])
  await Promise.allSettled([changing])
  expect(keys.left()).toEqual([])
})

test('a data key is overwritten once nothing needs it any more', async () => {
  await using fixture = await aBarrierFixture()
  using keys = collectKeys()
  const barrier = await fixture.open()
  await use(barrier)
  const before = keys.left()
  await using resealer = barrier.resealing({ info: () => {}, error: () => {} })
  resealer.start()

  await barrier.rotate()
  await resealer.settled()
  await use(barrier)

  const after = keys.left()
  expect(after).toHaveLength(2)
  // the root key is still the same
  expect(after.filter((key) => before.includes(key))).toHaveLength(1)
})

test('a root key is overwritten when another one replaces it', async () => {
  await using fixture = await aBarrierFixture()
  using keys = collectKeys()
  const barrier = await fixture.open()
  await use(barrier)
  const before = keys.left()

  await barrier.rotateRootKey(sealKey(1))
  await barrier.changeRotationRules((rules) => rules)
  await use(barrier)

  const after = keys.left()
  expect(after).toHaveLength(2)
  // the data key is still the same
  expect(after.filter((key) => before.includes(key))).toHaveLength(1)
})

test('changes of the keys that fail leave no key behind', async () => {
  await using fixture = await aBarrierFixture()
  using keys = collectKeys()
  const barrier = await fixture.open()
  await use(barrier)
  const before = keys.left()

  const fail = async (change: () => Promise<unknown>) => {
    fixture.faults.arm('storage.before-commit', 'full')
    await expect(change()).rejects.toMatchObject({ kind: 'unavailable' })
  }
  await fail(() => barrier.rotate())
  await fail(() => barrier.rotateRootKey(sealKey(1)))
  await fail(() => barrier.rekey(sealKey(2)))
  await expect(barrier.rotateRootKey(sealKey(2))).rejects.toMatchObject({ kind: 'invalid' })
  await expect(
    barrier.changeRotationRules(() => {
      throw new Error('refused')
    }),
  ).rejects.toThrow('refused')

  expect(keys.left()).toEqual(before)
})

test('a start that fails leaves no key behind', async () => {
  await using fixture = await aBarrierFixture()
  await use(await fixture.open())
  await fixture.storage.update('barrier/keyring', () => Buffer.alloc(200))
  using keys = collectKeys()

  await expect(fixture.open()).rejects.toMatchObject({ exitCode: 5 })

  expect([keys.buffers().length, keys.left()]).toEqual([1, []])
})

test('a first start that fails leaves no key behind', async () => {
  await using fixture = await aBarrierFixture()
  using keys = collectKeys()
  await using staging = await openMemory()
  const fill = async () => {
    throw new Error('no disk for the token file')
  }

  await expect(fixture.open({ first: { staging, fill } })).rejects.toThrow('no disk for the token file')

  expect([keys.buffers().length > 0, keys.left()]).toEqual([true, []])
})

test('a server that cannot read its store leaves no key behind', async () => {
  await using folder = await temporaryFolder()
  const [file, keyFile] = [folder.file('store.db'), folder.file('seal.key')]
  const settings = { STORAGE: `sqlite:${file}`, SEAL_KEY_FILE: keyFile }
  await (await startTestServer({ settings }))[Symbol.asyncDispose]()
  new Database(file).exec("UPDATE records SET value = zeroblob(80) WHERE key LIKE 'core/%'").close()
  using keys = collectKeys()

  await expect(startTestServer({ settings })).rejects.toMatchObject({ exitCode: 1 })

  expect([keys.buffers().length > 0, keys.left()]).toEqual([true, []])
})

test('a server that stops leaves no key behind, and no seal key once it has started', async () => {
  await using folder = await temporaryFolder()
  using keys = collectKeys()
  const settings = { STORAGE: `sqlite:${folder.file('store.db')}`, SEAL_KEY_FILE: folder.file('seal.key') }

  for (const start of ['first', 'second']) {
    const server = await startTestServer({ settings })
    await server.root.write('sys/rotate')
    const sealKey = (await readFile(folder.file('seal.key'), 'utf8')).trim()
    expect(keys.left().length).toBeGreaterThanOrEqual(2)
    expect(keys.left()).not.toContain(sealKey)
    await server[Symbol.asyncDispose]()

    expect(keys.left(), start).toEqual([])
  }
})

test.runIf(process.platform === 'linux')(
  'the memory of a process holds the seal key only while it starts, and no key at all once it is sealed',
  async () => {
    await using folder = await temporaryFolder()
    const args = [folder.file('store.db'), folder.file('seal.key')]

    const { stdout, stderr } = await runProcess('test/core/barrier/memory-program.ts', {
      folder: folder.path,
      args,
    })

    expect(stderr).toBe('')
    const { keyrings, open, sealed } = JSON.parse(stdout)
    expect(keyrings).toEqual({ first: 0, second: 0, third: 0 })
    expect(open).toMatchObject({ seal: 0, sealText: 0 })
    // more than one while a change of the keys is being written
    for (const copies of [open.root, open.data]) expect(copies).toBeGreaterThanOrEqual(1)
    expect(sealed).toEqual({ seal: 0, sealText: 0, root: 0, data: 0 })
  },
)
