import { writeFile } from 'node:fs/promises'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { StartError } from '../../src/errors.ts'
import { offer, textsOf } from '../support/ceremonies.ts'
import { emptyDatabase, newDatabase, query } from '../support/postgres.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const sealKey = '5e'.repeat(32)

type Server = TestServer & { readonly tokens: string[]; readonly lines: string[] }

/** A server on a database, not in development mode, with what it did with root tokens. */
async function start(
  database: string,
  number: number,
  settings: Record<string, string> = {},
  parts: Pick<TestServerOptions, 'steady' | 'rootToken'> = {},
): Promise<Server> {
  const tokens: string[] = []
  const lines: string[] = []
  const server = await startTestServer({
    dev: false,
    settings: {
      STORAGE: database,
      REPLICA_NAME: `server-${number}`,
      POSTGRES_POOL: '4',
      ...('SEAL_KEY_FILE' in settings ? {} : { SEAL_KEY: sealKey }),
      ...settings,
    },
    log: pino({}, { write: (line) => void lines.push(line) }),
    rootToken: {
      keep: (token) => void tokens.push(`kept ${token}`),
      tell: (token) => void tokens.push(`told ${token}`),
    },
    ...parts,
  })
  return Object.assign(server, { tokens, lines })
}

/** A server with a new store that is open. */
async function startWith(seal: string, database: string): Promise<Server & { readonly rootToken: string }> {
  if (seal === 'static') {
    const server = await start(database, 0)
    return Object.assign(server, { rootToken: rootOf([server]) })
  }
  const server = await start(database, 0, { SEAL: 'shamir' })
  const { body } = await server.anonymous.write('sys/init', { secret_shares: 1, secret_threshold: 1 })
  await server.anonymous.write('sys/unseal', { key: textsOf(body['keys'])[0] })
  return Object.assign(server, { rootToken: String(body['root_token']) })
}

/** Servers that start together, on an empty database of their own unless one is given. */
async function startAll(count: number, settings?: Record<string, string>, given?: string) {
  await using started = new AsyncDisposableStack()
  const database = given ?? started.use(await emptyDatabase()).url
  const starting = Array.from({ length: count }, (_, number) => start(database, number, settings))
  const servers = await Promise.all(starting)
  for (const server of servers) started.use(server)
  const held = started.move()
  const [one, other] = servers
  if (one === undefined || other === undefined) throw new Error('a test needs two servers')
  return { database, servers, one, other, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

const health = async (server: TestServer) => (await server.anonymous.read('sys/health')).status

/** Resolves once a server answers its health check so. */
async function untilHealth(server: TestServer, status: number): Promise<void> {
  await expect.poll(() => health(server)).toBe(status)
}

const rootOf = (servers: readonly Server[]): string =>
  servers
    .flatMap(({ tokens }) => tokens)
    .find((line) => line.startsWith('told '))
    ?.slice(5) ?? ''

/** What each server answers to the same call. */
const statusesOf = async (
  servers: readonly Server[],
  call: (server: Server) => Promise<{ status: number }>,
) => (await Promise.all(servers.map(call))).map(({ status }) => status)

/** Puts the records of one database into another, and says that anything may have changed. */
async function replaceRecords(database: string, other: string): Promise<void> {
  const hex = "SELECT key, encode(value, 'hex') AS value FROM records"
  const rows = (await query(other, hex)).map(({ key, value }) => `('${String(key)}', '\\x${String(value)}')`)
  await query(
    database,
    `BEGIN; DELETE FROM records; INSERT INTO records (key, value) VALUES ${rows.join(', ')};
     UPDATE cache_version SET version = version + 1;
     INSERT INTO changes (version, commit_id, prefix) SELECT version, 'test', '' FROM cache_version; COMMIT`,
  )
}

describe('with a static seal', () => {
  test('of five servers that start on an empty database, one creates the store and tells the root token', async () => {
    await using all = await startAll(5, {}, await newDatabase())
    const { servers } = all
    const token = rootOf(servers)

    const statuses = await statusesOf(servers, (server) => server.as(token).read('auth/token/lookup-self'))

    expect(servers.flatMap(({ tokens }) => tokens)).toEqual([`kept ${token}`, `told ${token}`])
    expect(statuses).toEqual(servers.map(() => 200))
    expect(
      servers.flatMap(({ lines }) => lines).filter((line) => line.includes('"initialized"')),
    ).toHaveLength(1)
  })

  test('a root token that the first server could not tell is told by one of those that start next', async () => {
    await using emptied = await emptyDatabase()
    const database = emptied.url
    let kept = ''
    const rootToken = {
      keep: (token: string) => {
        kept = token
      },
      tell: () => Promise.reject(new StartError(2, 'nobody listens')),
    }
    await expect(start(database, 0, {}, { rootToken })).rejects.toMatchObject({ message: 'nobody listens' })

    await using all = await startAll(2, {}, database)

    const tokens = all.servers.flatMap((server) => server.tokens)
    expect(tokens).toEqual([`kept ${kept}`, `told ${kept}`])
  })

  test('the seal key must be given, and opens the store; else nothing is written', async () => {
    await using emptied = await emptyDatabase()
    const database = emptied.url
    const noKey = { SEAL_KEY_FILE: '/nonexistent/seal.key' }

    await expect(start(database, 0, noKey)).rejects.toMatchObject({
      exitCode: 5,
      message: 'seal key file /nonexistent/seal.key is missing',
    })
    expect(await query(database, 'SELECT key FROM records')).toEqual([])
    await using server = await start(database, 0)
    // a start writes it in the background
    await expect
      .poll(() => query(database, "SELECT key FROM records WHERE key LIKE 'core/server/%'"))
      .toHaveLength(1)
    const before = await query(database, 'SELECT key, value FROM records ORDER BY key')
    await expect(start(database, 1, { SEAL_KEY: '66'.repeat(32) })).rejects.toMatchObject({
      exitCode: 5,
      message: 'seal key does not open this store',
    })
    await expect(start(database, 1, { SEAL: 'shamir' })).rejects.toMatchObject({ exitCode: 2 })

    expect(await query(database, 'SELECT key, value FROM records ORDER BY key')).toEqual(before)
    expect(await health(server)).toBe(200)
  })

  test('the seal key changes with the restart of one server, and the others go on until theirs', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.file('old.key'), sealKey, { mode: 0o600 })
    await using emptied = await emptyDatabase()
    const database = emptied.url
    await using one = await start(database, 0)
    const root = one.as(rootOf([one]))
    const newKey = { SEAL_KEY: '66'.repeat(32) }

    await using changed = await start(database, 1, {
      ...newKey,
      SEAL_PREVIOUS_KEY_FILE: folder.file('old.key'),
    })
    const rotated = await root.write('sys/rotate')
    const written = await root.write('sys/policies/acl/p', { policy: 'path "x" {}' })
    const late = await root.write('sys/rotate/root')

    expect([rotated.status, written.status, late.status]).toEqual([204, 204, 400])
    expect(changed.lines.join('')).toContain('the seal key was changed')
    await expect(start(database, 2)).rejects.toMatchObject({ exitCode: 5 })
    await using next = await start(database, 2, newKey)
    expect((await next.as(rootOf([one])).read('sys/policies/acl/p')).status).toBe(200)
    expect((await next.as(rootOf([one])).write('sys/rotate/root')).status).toBe(204)
    expect((await root.write('sys/rotate')).status).toBe(204)
  })

  test('a rotation of the data key and of the root key on one server leaves the others working', async () => {
    await using all = await startAll(3)
    const { one, other, servers } = all
    const token = rootOf(servers)
    const [root, atOther] = [one.as(token), other.as(token)]

    expect((await root.write('sys/rotate')).status).toBe(204)
    const { body } = await root.write('auth/token/create', {
      type: 'batch',
      policies: ['default'],
      ttl: '1h',
    })
    const batch = String(body.auth?.['client_token'])
    expect(await statusesOf(servers, (server) => server.as(batch).read('auth/token/lookup-self'))).toEqual([
      ...[200, 200, 200],
    ])
    for (const change of ['sys/rotate/root', 'sys/rotate', 'sys/rotate/root'])
      expect((await root.write(change)).status).toBe(204)
    expect((await atOther.write('sys/policies/acl/p', { policy: 'path "x" {}' })).status).toBe(204)
    expect((await atOther.write('sys/rotate')).status).toBe(204)
    expect((await atOther.write('sys/rotate/root')).status).toBe(204)
    expect((await root.write('sys/rotate/config', { interval: '24h' })).status).toBe(204)

    expect(await statusesOf(servers, (server) => server.as(token).read('sys/policies/acl/p'))).toEqual([
      ...[200, 200, 200],
    ])
    for (const server of servers)
      await expect
        .poll(async () => Number((await server.as(token).read('sys/key-status')).body.data?.['term']))
        .toBeGreaterThanOrEqual(4)
    await expect
      .poll(async () => Number((await atOther.read('sys/rotate/config')).body.data?.['interval']))
      .toBe(86_400)
    const resealed = () =>
      servers.filter(({ lines }) =>
        lines.some((line) => line.includes('"term":4,"msg":"all readable records')),
      )
    await expect.poll(() => resealed().length).toBeGreaterThan(0)
    const sealedWith =
      "SELECT DISTINCT get_byte(value, 3) AS term FROM records WHERE key NOT LIKE 'barrier/%'"
    expect(await query(all.database, sealedWith)).toEqual([{ term: 4 }])
    expect(resealed()).toHaveLength(1)
    // a later start finds the keys too
    await using late = await start(all.database, 9)
    expect(await health(late)).toBe(200)
  })

  test('sys/seal seals every server, and each is unsealed by itself; a start opens the store', async () => {
    await using all = await startAll(3)
    const { one, other, servers } = all
    const [, , third] = servers
    if (third === undefined) throw new Error('there is no third server')

    expect((await one.as(rootOf(servers)).write('sys/seal')).status).toBe(204)
    expect(await health(one)).toBe(503)
    for (const server of [other, third]) await untilHealth(server, 503)
    expect((await other.as(rootOf(servers)).read('auth/token/lookup-self')).status).toBe(503)
    expect((await other.anonymous.write('sys/unseal', { key: sealKey })).body['sealed']).toBe(false)
    await using late = await start(all.database, 9)

    expect(
      await statusesOf([one, other, third, late], (server) => server.anonymous.read('sys/health')),
    ).toEqual([...[503, 200, 503, 200]])
  })

  test('a server that was paused while the others were sealed seals itself before it serves its next request', async () => {
    await using emptied = await emptyDatabase()
    const database = emptied.url
    await using one = await start(database, 0)
    let time = 0
    // it hears nothing by itself for as long as a test lasts, and then its copies are too old
    const quiet = { POSTGRES_NOTIFY: 'false', POSTGRES_POLL: '900ms' }
    await using paused = await start(database, 1, quiet, { steady: () => time })
    const token = rootOf([one])
    expect((await paused.as(token).read('auth/token/lookup-self')).status).toBe(200)

    await one.as(token).write('sys/seal')
    time += 30_000

    expect((await paused.as(token).read('auth/token/lookup-self')).status).toBe(503)
    expect(await health(paused)).toBe(503)
  })

  test('while the storage cannot be written, sys/seal seals the server that was asked, and says that it was the only one', async () => {
    await using all = await startAll(2)
    const { one, other, servers } = all
    const root = one.as(rootOf(servers))
    expect((await root.read('auth/token/lookup-self')).status).toBe(200)
    await query(all.database, 'ALTER TABLE records RENAME TO hidden')

    const answer = await root.write('sys/seal')
    const body = (await one.anonymous.read('sys/health')).body
    await query(all.database, 'ALTER TABLE hidden RENAME TO records')

    expect([answer.status, textsOf(answer.body['errors'])]).toEqual([503, ['storage is unavailable']])
    expect(body['sealed']).toBe(true)
    expect(await health(other)).toBe(200)
  })

  test.each([
    { before: 'static', after: 'static' },
    { before: 'shamir', after: 'static' },
    { before: 'shamir', after: 'shamir' },
    { before: 'static', after: 'shamir' },
  ])(
    'a server whose keys are all gone forgets them: of a store with a $before seal, when one with a $after seal is in its place',
    async ({ before, after }) => {
      // another store with the same seal key takes the place of the first, as with a restoration
      await using first = await emptyDatabase()
      await using second = await emptyDatabase()
      const [database, other] = [first.url, second.url]
      const next = await startWith(after, other)
      await next[Symbol.asyncDispose]()
      await using server = await startWith(before, database)
      expect(await health(server)).toBe(200)

      await replaceRecords(database, other)

      // it opens the store, or stays sealed, as it would when it starts
      if (after === 'static')
        await expect
          .poll(async () => (await server.as(next.rootToken).read('auth/token/lookup-self')).status)
          .toBe(200)
      else await untilHealth(server, 503)
      expect(server.lines.join('')).toContain('cannot decrypt the keys that another server has written')
    },
  )

  test('of two first sets of recovery keys that two servers make at once, one is refused, and the other is known everywhere', async () => {
    await using all = await startAll(2)
    const { servers } = all
    const token = rootOf(servers)
    const plan = { secret_shares: 3, secret_threshold: 2 }

    const made = await Promise.all(
      servers.map((server) => server.as(token).write('sys/rekey-recovery-key/init', plan)),
    )

    // the second is refused, or has begun a ceremony that the holders of the first set must authorize
    const shares = made.flatMap(({ body }) => textsOf(body['keys']))
    expect(shares).toHaveLength(3)
    for (const server of servers) {
      const root = server.as(token)
      const begun = await root.write('sys/generate-root/attempt')
      const done = await offer(root, 'sys/generate-root/update', begun.body['nonce'], shares.slice(0, 2))
      expect([done.status, done.body['complete']]).toEqual([200, true])
    }
  })
})

describe('with a Shamir seal', () => {
  test('one server is initialized for all, each is unsealed, and a rekey on one leaves the others open', async () => {
    await using all = await startAll(2, { SEAL: 'shamir' })
    const { one, other, servers } = all
    const plan = { secret_shares: 3, secret_threshold: 2 }

    const inits = await Promise.all(servers.map((server) => server.anonymous.write('sys/init', plan)))
    expect(inits.map(({ status }) => status).sort()).toEqual([200, 400])
    const { body } = inits.find(({ status }) => status === 200) ?? (await one.anonymous.read('sys/health'))
    const [token, shares] = [String(body['root_token']), textsOf(body['keys'])]
    for (const server of servers) {
      await untilHealth(server, 503)
      for (const key of shares.slice(1)) await server.anonymous.write('sys/unseal', { key })
      expect(await health(server)).toBe(200)
    }

    const root = one.as(token)
    const begun = await root.write('sys/rekey/init', { secret_shares: 2, secret_threshold: 2 })
    const rekeyed = await offer(root, 'sys/rekey/update', begun.body['nonce'], shares.slice(1))
    expect(rekeyed.body['complete']).toBe(true)
    expect((await other.as(token).write('sys/rotate')).status).toBe(204)
    expect((await other.as(token).write('sys/policies/acl/p', { policy: 'path "x" {}' })).status).toBe(204)
    expect((await other.as(token).write('sys/seal')).status).toBe(204)
    await untilHealth(one, 503)

    for (const server of servers) {
      const status = await server.anonymous.read('sys/seal-status')
      expect([status.body['n'], status.body['t']]).toEqual([2, 2])
      for (const key of textsOf(rekeyed.body['keys'])) await server.anonymous.write('sys/unseal', { key })
      expect((await server.as(token).read('sys/policies/acl/p')).status).toBe(200)
    }
  })

  test('of two rekeys on two servers, the second to end is refused', async () => {
    await using all = await startAll(2, { SEAL: 'shamir' })
    const { one, servers } = all
    const single = { secret_shares: 1, secret_threshold: 1 }
    const { body } = await one.anonymous.write('sys/init', single)
    const [token, [key]] = [String(body['root_token']), textsOf(body['keys'])]
    for (const server of servers) {
      await untilHealth(server, 503)
      await server.anonymous.write('sys/unseal', { key })
    }
    const verified = { ...single, require_verification: true }
    const ceremonies = await Promise.all(
      servers.map(async (server) => {
        const root = server.as(token)
        const begun = await root.write('sys/rekey/init', verified)
        const issued = await root.write('sys/rekey/update', { nonce: begun.body['nonce'], key })
        const [share] = textsOf(issued.body['keys'])
        return () => root.write('sys/rekey/verify', { nonce: issued.body['verification_nonce'], key: share })
      }),
    )

    const ends = []
    for (const verify of ceremonies) ends.push((await verify()).status)

    expect(ends).toEqual([200, 400])
  })
})
