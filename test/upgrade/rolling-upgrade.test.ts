import { rm, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { openBarrier } from '../../src/core/barrier/barrier.ts'
import { parsePostgresUrl } from '../../src/lib/net/postgres-url.ts'
import { systemClock } from '../../src/lib/system/clock.ts'
import { systemRandom } from '../../src/lib/system/random.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import type { Client, Json } from '../support/client.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { shared } from '../support/shared.ts'
import { startTestServer } from '../support/start-server.ts'
import { startCodeIn, unpackOlderCode } from './older-code.ts'

/** Each start but the first finds its code compiled. */
const olderCode = shared(() => unpackOlderCode())

const sealKey = '5e'.repeat(32)
const policy = { policy: 'path "a" { capabilities = ["read"] }' }

const settingsOf = (database: string, name: string) => ({
  STORAGE: database,
  SEAL_KEY: sealKey,
  REPLICA_NAME: name,
  POSTGRES_POOL: '3',
})

/** A server of this version, in the test's process. */
const startThisCode = (database: string) =>
  startTestServer({ dev: false, settings: settingsOf(database, 'this') })

/** Adds a field of a later version to records under a prefix. */
async function addFields(database: string, prefix: string): Promise<string[]> {
  const address = parsePostgresUrl(database)
  if (typeof address === 'string') throw new Error(address)
  await using storage = await openPostgres({
    connection: {
      address,
      password: undefined,
      passwordFile: undefined,
      caFile: undefined,
      statementTimeoutMs: 5_000,
      prepares: true,
    },
    pool: 2,
    notifies: true,
    pollMs: 250,
    replicaName: 'later',
  })
  const barrier = await openBarrier({
    storage,
    clock: systemClock,
    random: systemRandom,
    log: { error: () => {} },
    sealKey: Buffer.from(sealKey, 'hex'),
  })
  const view = barrier.view('', { numbers: 'plain' })
  const without: string[] = []
  for (const { key, value } of await view.list(prefix)) {
    if (typeof value !== 'object' || value === null) continue
    if (!('of_later_version' in value)) without.push(key)
    await view.write([{ key, value: { ...value, of_later_version: 1 } }])
  }
  barrier.seal()
  return without
}

test('servers of two versions serve one store, each can be restarted, and the older one keeps fields of a later one', async () => {
  const folder = await olderCode()
  const database = await newDatabase()
  const older = await startCodeIn(folder.path, settingsOf(database, 'older'))
  const root = older.rootToken
  await using newer = await startThisCode(database)
  const both = [older, newer]

  for (const [number, server] of both.entries())
    expect((await server.as(root).write(`sys/policies/acl/p${number}`, policy)).status).toBe(204)
  const tokens = []
  for (const server of both) {
    const { body } = await server.as(root).write('auth/token/create', { policies: ['p0'] })
    tokens.push(String(body.auth?.['client_token']))
  }
  for (const server of both) {
    for (const name of ['p0', 'p1'])
      expect((await server.as(root).read(`sys/policies/acl/${name}`)).status).toBe(200)
    for (const token of tokens)
      expect((await server.as(token).read('auth/token/lookup-self')).status).toBe(200)
  }
  // each ends a token of the other, begins a term and replaces the root key
  for (const [number, server] of both.entries()) {
    expect((await server.as(root).write('auth/token/revoke', { token: tokens[1 - number] })).status).toBe(204)
    for (const change of ['sys/rotate', 'sys/rotate/root', 'sys/rotate'])
      expect((await server.as(root).write(change)).status).toBe(204)
  }
  for (const server of both)
    for (const token of tokens)
      await expect.poll(async () => (await server.as(token).read('auth/token/lookup-self')).status).toBe(403)
  const atOlder = older.as(root)
  const { body } = await atOlder.write('identity/entity', { name: 'a', metadata: { team: 'a' } })
  await atOlder.write('auth/token/roles/deploy', { renewable: true })
  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'a' }
  await atOlder.write('auth/jwt/role/ci', role)
  const prefixes = ['core/', 'mount/']
  for (const prefix of prefixes) await addFields(database, prefix)
  const changes = [
    await atOlder.write('sys/auth/jwt/tune', { description: 'tuned' }),
    await atOlder.write(`identity/entity/id/${String(body.data?.['id'])}`, { metadata: { team: 'b' } }),
    await atOlder.write('auth/token/roles/deploy', { renewable: false }),
    await atOlder.write('auth/jwt/role/ci', { ...role, token_ttl: '1h' }),
  ]
  expect(changes.filter(({ status }) => status >= 300).map(({ text }) => text)).toEqual([])
  const without = []
  for (const prefix of prefixes) without.push(...(await addFields(database, prefix)))
  expect(without).toEqual([])
  await older.stop()
  await using again = await startCodeIn(folder.path, settingsOf(database, 'older'))
  expect((await again.as(root).read('sys/policies/acl/p1')).status).toBe(200)
  expect((await again.as(root).write('sys/seal')).status).toBe(204)
  await expect.poll(async () => (await newer.anonymous.read('sys/health')).status).toBe(503)
})

test('a token with a scope has no rights at an older server, which keeps its scope', async () => {
  const folder = await olderCode()
  const database = await newDatabase()
  await using older = await startCodeIn(folder.path, settingsOf(database, 'older'))
  const root = older.rootToken
  await using newer = await startThisCode(database)
  const signer = aSigner('ES256')
  const atNewer = newer.as(root)
  await atNewer.write('sys/policies/acl/reader', {
    policy: 'path "sys/mounts" { capabilities = ["read"] } path "sys/auth" { capabilities = ["read"] }',
  })
  await atNewer.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
  const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'a', token_policies: ['reader'] }
  const scoped: Json[] = []
  for (const token_type of ['service', 'batch']) {
    await atNewer.write('auth/jwt/role/r', { ...role, token_type })
    const now = Math.floor(Date.now() / 1000)
    const { body } = await newer.anonymous.write('auth/jwt/login', {
      role: 'r',
      jwt: signer.sign({ sub: 'a', iat: now, exp: now + 60 }),
      scope_paths: ['sys/mounts'],
    })
    if (body.auth !== undefined) scoped.push(body.auth)
  }
  const statuses = async (server: { as(token: string): Client }) => {
    const found = []
    for (const auth of scoped)
      for (const path of ['sys/mounts', 'sys/auth'])
        found.push((await server.as(String(auth?.['client_token'])).read(path)).status)
    return found
  }

  expect(await statuses(newer)).toEqual([200, 403, 200, 403])
  expect(await statuses(older)).toEqual([403, 403, 403, 403])
  const renewed = await older
    .as(root)
    .write('auth/token/renew-accessor', { accessor: scoped[0]?.['accessor'], increment: '2h' })
  expect(renewed.status).toBe(200)
  expect(await statuses(newer)).toEqual([200, 403, 200, 403])
})

test('servers of a new release that start together migrate once, beside one of this release', async () => {
  const folder = await olderCode()
  const schema = 9
  const migration = folder.file(`migrations/postgres/000${schema}-next-release.sql`)
  // fails if it is applied twice
  await writeFile(
    migration,
    'CREATE TABLE next_release (a integer); ALTER TABLE records ADD COLUMN b integer;',
  )
  await using ends = new AsyncDisposableStack()
  ends.defer(() => rm(migration))
  const database = await newDatabase()
  await using _first = await startThisCode(database)

  const next = await Promise.all(
    [1, 2].map((n) => startCodeIn(folder.path, settingsOf(database, `next-${n}`))),
  )
  for (const server of next) ends.use(server)
  const statuses = await Promise.all(
    [_first, ...next].map(async (server) => (await server.anonymous.read('sys/health')).status),
  )

  expect(statuses).toEqual([200, 200, 200])
  expect(await query(database, "SELECT value FROM meta WHERE name = 'schema'")).toEqual([
    { value: String(schema) },
  ])
  // this release may still start, until a later one says otherwise
  await using more = await startTestServer({ dev: false, settings: settingsOf(database, 'more') })
  expect((await more.anonymous.read('sys/health')).status).toBe(200)
  await query(
    database,
    `INSERT INTO meta (name, value) VALUES ('compatible_from', ${schema}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  )
  await expect(startTestServer({ dev: false, settings: settingsOf(database, 'last') })).rejects.toMatchObject(
    {
      exitCode: 4,
      message: expect.stringMatching(
        /^cannot open the database: it needs schema 9 or later, this program knows \d$/,
      ),
    },
  )
})
