import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { NameCipher, nameKeysOf } from '../../../src/core/sealed-names/name-cipher.ts'
import { openSqlite } from '../../../src/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { borrowServer } from '../../support/borrowed-server.ts'
import { startTestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { newMount, put } from './kv-fixture.ts'

describe('the names in storage', () => {
  const cipher = new NameCipher(nameKeysOf(Buffer.alloc(32, 7)))
  const deep = (levels: number) => Array.from({ length: levels }, (_, at) => `s${at}`).join('/')

  test.each(['a', 'a/b/c', 'é/\u{1f600}', deep(16), deep(17), deep(100), 'k'.repeat(1024)])(
    '%s is found again',
    (path) => {
      const key = cipher.keyOf(path)

      expect(cipher.keyOf(path)).toBe(key)
      expect(cipher.pathOf(key)).toBe(path)
      expect(key).toMatch(/^[\w\-/]+$/)
      expect(key.length).toBeLessThan(2_000)
    },
  )

  test.each([
    { path: 'a', key: 'Orwa-6W271mviac59c6CXFg' },
    {
      path: 'app/db/password',
      key: 'p5ITJ78JB_MHvmxDyZ5Msli6mQ/b6jDo3z2f3PTqciaXPg2Mwrn/eeMTdTBNsHhko4N3Days6DQy8Sd_c-WJ',
    },
    {
      path: `é/${'k'.repeat(40)}`,
      key: 'EMCaC35hmhNM0vR4gPPc2k_W/ZIZhPMn0Hks3xiSVHFPkKT1cT7Rd9Cpdb7K1JYiSSC32JSPaiz82uuEjT1_-5saVo_YV2FMv9LA',
    },
  ])('$path is where existing stores have it', ({ path, key }) => {
    expect(cipher.keyOf(path)).toBe(key)
    expect(cipher.pathOf(key)).toBe(path)
  })

  test('the longest path with the most segments has a key that an index holds', () => {
    expect(cipher.keyOf('a/'.repeat(511) + 'ab').length).toBeLessThan(2_000)
  })

  test('a folder is a prefix, and one name differs between folders and secrets', () => {
    const { prefix, inner } = cipher.folderOf('a/b/')

    expect(inner).toBe('')
    expect(cipher.keyOf('a/b/c').startsWith(prefix)).toBe(true)
    expect(cipher.keyOf('a/b/c').slice(prefix.length)).not.toBe(cipher.keyOf('c'))
    expect(new NameCipher(nameKeysOf(Buffer.alloc(32, 8))).keyOf('c')).not.toBe(cipher.keyOf('c'))
    expect(cipher.folderOf(`${deep(18)}/`)).toMatchObject({ inner: 's16/s17/' })
  })

  test('below another base the same path looks different', () => {
    const [one, other] = ['o1/', 'o2/'].map((base) => new NameCipher(nameKeysOf(Buffer.alloc(32, 7)), base))

    for (const path of ['a', 'a//b', 'a/b/', deep(20)]) {
      const key = one?.keyOf(path) ?? ''
      expect(key.startsWith('o1/')).toBe(true)
      expect(one?.pathOf(key)).toBe(path)
      expect(other?.keyOf(path).slice(3)).not.toBe(key.slice(3))
    }
    expect(one?.folderOf('').prefix).toBe('o1/')
  })

  test('a damaged name is refused', () => {
    const key = cipher.keyOf('a/b')
    const other = key.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A'))

    expect(() => cipher.pathOf(other)).toThrow(expect.objectContaining({ kind: 'internal' }))
    expect(() => cipher.pathOf('A')).toThrow(expect.objectContaining({ kind: 'internal' }))
  })
})

describe('the records of secrets', () => {
  test('no value, and in version 2 no name, is legible; what has gone is gone from the store', async () => {
    await using folder = await temporaryFolder()
    const path = `${folder.path}/store.db`
    const settings = { STORAGE: `sqlite:${path}`, SEAL_KEY: '5e'.repeat(32) }
    const keysOf = async () => {
      await using storage = await openSqlite({ path, allowNetworkDisk: true })
      return (await storage.listKeys('mount/')).filter((key) => /\/(?:k|v|d|gone|e)\//.test(key))
    }
    let mount = ''
    {
      await using server = await startTestServer({ settings })
      mount = await newMount(server, 2, { max_versions: 3 })
      const versions = Array.from({ length: 5 }, (_, at) => ({ field: `legible-value-${at}` }))
      await put(server.root, `${mount}/data/legible-folder/legible-name`, ...versions)
      await put(server.root, `${mount}/data/second`, ...versions)
      await server.root.write(`${mount}/destroy/second`, { versions: [3, 4, 5] })
      await put(server.root, `${mount}/data/third`, ...versions)
      await server.root.delete(`${mount}/metadata/third`)
    }

    const stored = Buffer.concat(
      await Promise.all(['', '-wal'].map((end) => readFile(path + end).catch(() => Buffer.alloc(0)))),
    ).toString('latin1')
    for (const text of ['legible-value', 'legible-name', 'legible-folder']) expect(stored).not.toContain(text)
    const keys = await keysOf()
    expect(keys.filter((key) => key.includes('/k/'))).toHaveLength(2)
    expect(keys.filter((key) => key.includes('/v/'))).toHaveLength(4)
    expect(keys.filter((key) => key.includes('/gone/'))).toEqual([])

    await using again = await startTestServer({ settings })
    const { body } = await again.root.read(`${mount}/data/legible-folder/legible-name?version=3`)
    expect(body.data?.['data']).toEqual({ field: 'legible-value-2' })
    expect((await again.root.read(`${mount}/data/second?version=3`)).status).toBe(404)
    expect((await again.root.list(`${mount}/metadata`)).body.data?.['keys']).toEqual([
      'legible-folder/',
      'second',
    ])
  })

  test('metadata is read, and versions are deleted, without the data of earlier versions', async () => {
    await using folder = await temporaryFolder()
    const path = `${folder.path}/store.db`
    const settings = { STORAGE: `sqlite:${path}`, SEAL_KEY: '5e'.repeat(32) }
    const withStorage = async (work: (storage: Storage, keys: readonly string[]) => Promise<unknown>) => {
      await using storage = await openSqlite({ path, allowNetworkDisk: true })
      await work(
        storage,
        (await storage.listKeys('mount/')).filter((key) => /\/d\//.test(key)),
      )
    }
    let mount = ''
    let before: unknown
    const long = (at: number) => ({ at, field: 'x'.repeat(5_000) })
    {
      await using server = await startTestServer({ settings })
      mount = await newMount(server, 2)
      await put(server.root, `${mount}/data/a`, long(1), long(2), { at: 3 }, long(4))
      const { body } = await server.root.read(`${mount}/metadata/a`)
      before = body.data
      const second = await server.root.read(`${mount}/data/a?version=2`)
      expect(second.body.data?.['data']).toEqual(long(2))
      const restored = await server.root.write(`${mount}/restore/b`, { version: 1 })
      expect(restored.status).toBe(404)
    }

    await withStorage(async (storage, keys) => {
      expect(keys).toHaveLength(2)
      await storage.write([{ key: String(keys[0]), value: Buffer.from('damaged') }])
    })
    await using server = await startTestServer({ settings })
    const read = async (version: number) =>
      (await server.root.read(`${mount}/data/a?version=${version}`)).status

    expect((await server.root.read(`${mount}/metadata/a`)).body.data).toEqual(before)
    expect([await read(1), await read(2), await read(3)]).toEqual([500, 200, 200])
    expect((await server.root.write(`${mount}/delete/a`, { versions: [1, 2] })).status).toBe(204)
    expect([await read(2), await read(3)]).toEqual([404, 200])
    expect((await server.root.write(`${mount}/undelete/a`, { versions: [2] })).status).toBe(204)
    expect(await read(2)).toBe(200)
    await server.root.write(`${mount}/destroy/a`, { versions: [1, 2] })
    expect((await server.root.read(`${mount}/metadata/a`)).body.data?.['versions']).toMatchObject({
      '1': { destroyed: true },
      '2': { destroyed: true },
    })
    await server[Symbol.asyncDispose]()
    await withStorage(async (_, keys) => expect(keys).toEqual([]))
  })

  test('a restore and a copy of all versions take long data along', async () => {
    await using server = await borrowServer()
    const mount = await newMount(server, 2)
    const long = (at: number) => ({ at, field: 'x'.repeat(5_000) })
    await put(server.root, `${mount}/data/a`, long(1), long(2), { at: 3 })

    await server.root.write(`${mount}/restore/a`, { version: 1 })
    await server.root.write(`${mount}/copy/b`, { from: 'a', versions: 'all' })
    await server.root.delete(`${mount}/metadata/a`)

    const dataOf = async (version: number) =>
      (await server.root.read(`${mount}/data/b?version=${version}`)).body.data?.['data']
    expect(await Promise.all([1, 2, 3, 4].map(dataOf))).toEqual([long(1), long(2), { at: 3 }, long(1)])
  })

  test('a key with very many versions is gone at once, and then from the store', async () => {
    await using server = await borrowServer()
    const mount = await newMount(server, 2, { max_versions: 5000 })
    for (let round = 0; round < 12; round += 1)
      await Promise.all(Array.from({ length: 100 }, (_, at) => put(server.root, `${mount}/data/a`, { at })))

    expect((await server.root.read(`${mount}/metadata/a`)).body.data).toMatchObject({ current_version: 1200 })
    await server.root.write(`${mount}/copy/b`, { from: 'a', versions: 'all' })
    await server.root.write(`${mount}/config`, { max_versions: 2 })
    await put(server.root, `${mount}/data/b`, { last: true })
    const { body: small } = await server.root.read(`${mount}/metadata/b`)
    expect(Object.keys(small.data?.['versions'] ?? {})).toEqual(['1200', '1201'])
    await server.root.delete(`${mount}/metadata/a`)
    expect((await server.root.read(`${mount}/data/a`)).status).toBe(404)
    await put(server.root, `${mount}/data/a`, { new: true })

    const { body } = await server.root.read(`${mount}/metadata/a`)
    expect(Object.keys(body.data?.['versions'] ?? {})).toEqual(['1'])
    expect((await server.root.read(`${mount}/data/a?version=1`)).body.data?.['data']).toEqual({ new: true })
  })
})
