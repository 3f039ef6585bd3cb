import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { clearNamesFacts, unpackStore } from './old-store.ts'

const keysOf = (path: string): string[] => {
  const database = new Database(path, { readonly: true })
  try {
    return database.prepare<[], string>('SELECT key FROM records').pluck().all()
  } finally {
    database.close()
  }
}
const inClear = /legible|nicode|many|bob|eve/

test('names that an earlier version stored in clear are encrypted, and all calls find what they named', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  await unpackStore('clear-names', path)
  const { now, sealKey, root: token, inner } = await clearNamesFacts()
  const options = {
    dev: false,
    clock: new FakeClock(now + 60_000),
    settings: { STORAGE: `sqlite:${path}`, SEAL_KEY: sealKey },
  }
  const many = Array.from({ length: 70 }, (_, at) => String(at)).sort()

  expect(keysOf(path).some((key) => inClear.test(key))).toBe(true)
  // the second start finds nothing to encrypt
  for (const _start of [1, 2]) {
    await using server = await startTestServer(options)
    const root = server.as(token)
    const keys = async (list: string, client = root) => (await client.list(list)).body.data?.['keys']
    const data = async (read: string, client = root) => (await client.read(read)).body.data
    const login = async (name: string) =>
      (await server.anonymous.write(`auth/up/login/${name}`, { password: 'pw' })).status

    expect(await keys('kv1')).toEqual(['legible', 'legible/', 'many/', 'ünicode'])
    expect(await keys('kv1/legible')).toEqual(['b', 'c/'])
    expect(await keys('kv1/many')).toEqual(many)
    expect(await data('kv1/legible/c/d')).toEqual({ at: 1 })
    expect(await data('kv1/many/69')).toEqual({ at: 73 })
    expect(await keys('auth/up/users')).toEqual(['bob', 'eve'])
    expect(await data('auth/up/users/bob')).toMatchObject({ token_policies: ['p'] })
    expect([await login('bob'), await login('eve')]).toEqual([200, 200])
    expect(await keys('cubbyhole')).toEqual(['legible', 'legible/'])
    expect(await data('cubbyhole/legible/path')).toEqual({ a: 1 })
    expect(await data('ns1/cubbyhole/legible')).toEqual({ c: 3 })
    expect(await keys('ns1/cubbyhole/inner', server.as(inner))).toEqual(['legible'])
    expect(await data('ns1/cubbyhole/inner/legible', server.as(inner))).toEqual({ d: 4 })
  }

  expect(keysOf(path).filter((key) => inClear.test(key))).toEqual([])
})

test('a record that cannot be decrypted keeps its name, and harms no other', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  await unpackStore('clear-names', path)
  const { now, sealKey, root: token } = await clearNamesFacts()
  const database = new Database(path)
  const damaged = database.prepare(
    "UPDATE records SET value = x'00' WHERE key LIKE '%/1/many/7' OR key LIKE '%/legible/path' OR key LIKE '%/user/bob'",
  )
  expect(damaged.run().changes).toBe(3)
  database.close()

  await using server = await startTestServer({
    dev: false,
    clock: new FakeClock(now + 60_000),
    settings: { STORAGE: `sqlite:${path}`, SEAL_KEY: sealKey },
  })
  const root = server.as(token)
  const keys = async (list: string) => (await root.list(list)).body.data?.['keys']

  expect(await keys('kv1/many')).toHaveLength(69)
  expect((await root.read('cubbyhole/legible')).body.data).toEqual({ b: 2 })
  expect(await keys('auth/up/users')).toEqual(['eve'])
})

test('what was encrypted can be deleted, and ends with its token and namespace', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  await unpackStore('clear-names', path)
  const { now, sealKey, root: token, inner } = await clearNamesFacts()
  await using server = await startTestServer({
    dev: false,
    clock: new FakeClock(now + 60_000),
    settings: { STORAGE: `sqlite:${path}`, SEAL_KEY: sealKey },
  })
  const root = server.as(token)
  const rows = (part: string) => keysOf(path).filter((key) => key.includes(part)).length

  await root.delete('kv1/legible')
  await root.delete('auth/up/users/eve')
  await server.as(inner).write('ns1/auth/token/revoke-self')
  await root.delete('sys/namespaces/ns1')

  expect((await root.read('kv1/legible')).status).toBe(404)
  expect((await root.list('kv1')).body.data?.['keys']).toEqual(['legible/', 'many/', 'ünicode'])
  expect((await root.list('auth/up/users')).body.data?.['keys']).toEqual(['bob'])
  // the imported hash, and all of the namespace
  expect(rows('/i/')).toBe(0)
  await expect.poll(() => rows('/~/')).toBe(2)
})
