import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { termOf } from '../../../src/core/barrier/sealed-value.ts'
import { errors } from '../../support/error-bodies.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { startTestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** The sealed root key and keyring of a database file. */
function sealedKeysOf(file: string): { root: string; ring: string } {
  const database = new Database(file, { readonly: true })
  const stored = database.prepare<[string], Buffer>('SELECT value FROM records WHERE key = ?').pluck()
  const [root, ring] = ['barrier/root-key', 'barrier/keyring'].map((key) => stored.get(key)?.toString('hex'))
  database.close()
  return { root: root ?? '', ring: ring ?? '' }
}

/** The terms that seal the values of a database file, and the length of its keyring. */
function sealsOf(file: string): { terms: number[]; ringBytes: number } {
  using database = Object.assign(new Database(file, { readonly: true }), {
    [Symbol.dispose](this: Database.Database) {
      this.close()
    },
  })
  const rows = database
    .prepare<[], { key: string; value: Uint8Array }>(
      "SELECT key, value FROM records WHERE key != 'barrier/root-key'",
    )
    .all()
  const ring = rows.find(({ key }) => key === 'barrier/keyring')
  const terms = rows.filter((row) => row !== ring).map(({ value }) => termOf(value) ?? -1)
  return { terms: [...new Set(terms)], ringBytes: ring?.value.length ?? 0 }
}

test('after rotations and restarts one key is left, and everything issued before works', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'gatehouse.db')
  const settings = { STORAGE: `sqlite:${file}`, SEAL_KEY_FILE: join(folder.path, 'seal.key') }
  const first = await startTestServer({ settings })
  const { body: service } = await first.root.write('auth/token/create', { policies: ['default'] })
  const { body: wrapped } = await first.root.read('sys/policies/acl/default', {
    headers: { 'X-Vault-Wrap-TTL': '1h' },
  })
  const size = sealsOf(file).ringBytes
  for (let rotation = 0; rotation < 25; rotation += 1)
    expect((await first.root.write('sys/rotate')).status).toBe(204)
  await first[Symbol.asyncDispose]()

  await using next = await startTestServer({ settings })
  let seals = sealsOf(file)
  while (seals.terms.join() !== '26' || seals.ringBytes > size + 20)
    seals = await next.root.read('sys/health').then(() => sealsOf(file))

  expect((await next.root.read('sys/key-status')).body.data).toMatchObject({ term: 26 })
  expect((await next.as(String(service.auth?.['client_token'])).read('auth/token/lookup-self')).status).toBe(
    200,
  )
  const unwrapped = await next.root.write('sys/wrapping/unwrap', { token: wrapped['wrap_info']?.['token'] })
  expect([unwrapped.status, unwrapped.body.data?.['name']]).toEqual([200, 'default'])
})

test('a batch token survives a rotation', async () => {
  await using server = await startTestServer()
  const { body } = await server.root.write('auth/token/create', {
    type: 'batch',
    policies: ['default'],
    ttl: '1h',
  })
  const token = String(body.auth?.['client_token'])

  for (let rotation = 0; rotation < 5; rotation += 1) await server.root.write('sys/rotate')

  const others = await Promise.all(
    Array.from({ length: 20 }, () => server.as(token).read('auth/token/lookup-self')),
  )
  expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]))
})

test('the schedule of automatic rotation can be read and set', async () => {
  await using server = await startTestServer()
  const rules = async (path = 'sys/rotate/config') => (await server.root.read(path)).body.data
  const set = async (body: object) => {
    const { status, body: answer } = await server.root.write('sys/rotate/config', body)
    return answer?.errors === undefined ? String(status) : `${status} ${String(answer.errors[0])}`
  }
  expect(await rules()).toEqual({ enabled: true, interval: 0, max_operations: 3_865_470_566 })

  expect(await set({ interval: '23h59m59s' })).toBe('400 interval must be greater or equal to 24h0m0s')
  for (const max_operations of [999_999, 3_865_470_567, -1, 0]) {
    expect(await set({ max_operations })).toBe('400 max_operations must be in the range [1000000,3865470566]')
  }
  expect(await rules()).toEqual({ enabled: true, interval: 0, max_operations: 3_865_470_566 })

  expect(await set({ interval: '24h', max_operations: 1_000_000 })).toBe('204')
  expect(await set({ enabled: false })).toBe('204')
  expect(await rules('sys/rotate/keyring/config')).toEqual({
    enabled: false,
    interval: 86_400,
    max_operations: 1_000_000,
  })
  expect(await set({ interval: 0, enabled: true })).toBe('204')
  expect(await rules()).toEqual({ enabled: true, interval: 0, max_operations: 1_000_000 })
})

describe('a new root key', () => {
  test('replaces the old one at once, and everything stays readable, also after a restart', async () => {
    await using folder = await temporaryFolder()
    const file = folder.file('gatehouse.db')
    const settings = { STORAGE: `sqlite:${file}`, SEAL_KEY_FILE: folder.file('seal.key') }
    const lines: string[] = []
    const first = await startTestServer({
      settings,
      log: pino({}, { write: (line) => void lines.push(line) }),
    })
    const before = sealedKeysOf(file)

    expect((await first.root.write('sys/rotate/root')).status).toBe(204)

    const after = sealedKeysOf(file)
    expect([after.root === before.root, after.ring === before.ring]).toEqual([false, false])
    expect(await first.root.write('sys/rotate')).toMatchObject({ status: 204 })
    await first[Symbol.asyncDispose]()
    await using next = await startTestServer({ settings })
    expect(await next.root.read('sys/key-status')).toMatchObject({ status: 200, body: { data: { term: 2 } } })
    expect(
      lines
        .map((line) => JSON.parse(line))
        .filter(({ event }) => event === 'key_rotated')
        .map(({ msg, term }) => [msg, term]),
    ).toEqual([
      ['the root key was replaced', undefined],
      ['new records are encrypted with a new data key', 2],
    ])
  })

  test('needs the seal key of the store in its file', async () => {
    await using folder = await temporaryFolder()
    const [file, keyFile] = [folder.file('gatehouse.db'), folder.file('seal.key')]
    await using server = await startTestServer({
      settings: { STORAGE: `sqlite:${file}`, SEAL_KEY_FILE: keyFile },
    })
    const before = sealedKeysOf(file)

    await writeFile(keyFile, '00'.repeat(32))
    const other = await server.root.write('sys/rotate/root')
    await rm(keyFile)
    const missing = await server.root.write('sys/rotate/root')

    expect(other).toMatchObject({ status: 400, body: errors('seal key does not open this store') })
    expect(missing).toMatchObject({ status: 400, body: errors(`seal key file ${keyFile} is missing`) })
    expect(sealedKeysOf(file)).toEqual(before)
  })

  testOfOneServer('is not available where people hold the seal key; new data keys are', async () => {
    await using server = await startTestServer({ dev: false, settings: { SEAL: 'shamir' } })
    const { body } = await server.anonymous.call('PUT', 'sys/init', { secret_shares: 1, secret_threshold: 1 })
    await server.anonymous.call('PUT', 'sys/unseal', { key: body['keys']?.[0] })
    const root = server.as(String(body['root_token']))

    expect(await root.write('sys/rotate/root')).toMatchObject({
      status: 400,
      body: errors('rotate/root is not available with seal type shamir'),
    })
    for (const path of ['sys/rotate', 'sys/rotate/keyring']) expect((await root.write(path)).status).toBe(204)
    expect((await root.read('sys/key-status')).body).toMatchObject({ term: 3, data: { term: 3 } })
  })
})

testOfOneServer('the key of a new server has encrypted few records', async () => {
  await using server = await startTestServer()

  const { encryptions } = (await server.root.read('sys/key-status')).body.data ?? {}

  expect(encryptions).toBeGreaterThan(3)
  expect(encryptions).toBeLessThan(1000)
})

testOfOneServer('so has that of one that a client has initialized', async () => {
  await using server = await startTestServer({ dev: false, settings: { SEAL: 'shamir' } })
  const { body } = await server.anonymous.write('sys/init', { secret_shares: 1, secret_threshold: 1 })
  await server.anonymous.write('sys/unseal', { key: String(body['keys']) })

  const status = await server.as(String(body['root_token'])).read('sys/key-status')

  expect(status.body.data?.['encryptions']).toBeGreaterThan(3)
  expect(status.body.data?.['encryptions']).toBeLessThan(1000)
})
