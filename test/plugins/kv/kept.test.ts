import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { termOf } from '../../../src/core/barrier/sealed-value.ts'
import { startInFolder } from '../../support/folder-server.ts'
import { emptyDatabase, query } from '../../support/postgres.ts'
import { startProcess } from '../../support/process.ts'
import { sealKey } from '../../support/replicas.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { newMount, put } from './kv-fixture.ts'

/** The rows of secrets in a database file. */
function rowsOf(file: string): { key: string; term: number | undefined }[] {
  const database = new Database(file, { readonly: true })
  try {
    return database
      .prepare<[], { key: string; value: Uint8Array }>(
        "SELECT key, value FROM records WHERE key GLOB 'mount/*/[kv1]/*' OR key GLOB 'mount/*/names'",
      )
      .all()
      .map(({ key, value }) => ({ key, term: termOf(value) }))
  } finally {
    database.close()
  }
}

/** Secrets of every kind: with earlier, deleted and destroyed versions, with metadata only, and of version 1. */
async function fill(server: TestServer): Promise<{ first: string; second: string }> {
  const [first, second] = [await newMount(server, 1), await newMount(server, 2)]
  await server.root.write(`${first}/team/a`, { password: 'legible-value' })
  await put(
    server.root,
    `${second}/data/legible-folder/legible-name`,
    { v: 'legible-value' },
    { v: 2 },
    { v: 3 },
  )
  await server.root.write(`${second}/metadata/legible-folder/legible-name`, {
    custom_metadata: { owner: 'legible-owner' },
  })
  await server.root.write(`${second}/delete/legible-folder/legible-name`, { versions: [2] })
  await server.root.write(`${second}/metadata/bare`, { max_versions: 3 })
  return { first, second }
}

/** Everything that can be read of the secrets that `fill` has written. */
const told = async (
  server: Pick<TestServer, 'root'>,
  { first, second }: { first: string; second: string },
) => {
  const paths = [
    `${first}/team/a`,
    ...['', '?version=1', '?version=2'].map((query) => `${second}/data/legible-folder/legible-name${query}`),
    `${second}/metadata/legible-folder/legible-name`,
    `${second}/metadata/bare`,
    `${second}/metadata/?scan=true`,
  ]
  return Promise.all(
    paths.map(async (path) => {
      const { status, body } = await server.root.read(path)
      return { path, status, data: body.data }
    }),
  )
}

test('secrets outlive a seal, a rotation of the key, a restart and a backup', async () => {
  await using folder = await temporaryFolder()
  const file = folder.file('gatehouse.db')
  const settings = { STORAGE: `sqlite:${file}`, SEAL_KEY: sealKey }
  let before: Awaited<ReturnType<typeof told>>
  let mounts: { first: string; second: string }
  {
    await using server = await startTestServer({ settings })
    mounts = await fill(server)
    before = await told(server, mounts)

    expect((await server.root.call('PUT', 'sys/seal')).status).toBe(204)
    for (const path of before.map(({ path }) => path)) expect((await server.root.read(path)).status).toBe(503)
    await server.anonymous.call('PUT', 'sys/unseal', { key: sealKey })
    expect(await told(server, mounts)).toEqual(before)

    await server.root.write('sys/rotate')
    await expect.poll(() => new Set(rowsOf(file).map(({ term }) => term))).toEqual(new Set([2]))
    expect(await told(server, mounts)).toEqual(before)
    const again = await server.root.write(`${mounts.second}/data/bare`, { data: {}, options: { cas: 0 } })
    expect(again.status).toBe(200)
    await writeFile(folder.file('snapshot.db'), await snapshotOf(server), { mode: 0o600 })
    await server.root.delete(`${mounts.second}/metadata/legible-folder/legible-name`)
  }

  await using restored = await startTestServer({
    settings: { STORAGE: `sqlite:${folder.file('snapshot.db')}`, SEAL_KEY: sealKey },
  })
  const after = await told(restored, mounts)
  expect(after.filter(({ path }) => !path.endsWith('/bare'))).toEqual(
    before.filter(({ path }) => !path.endsWith('/bare')),
  )
  await using restarted = await startTestServer({ settings })
  const gone = await told(restarted, mounts)
  expect(gone.map(({ status }) => status)).toEqual([200, 404, 404, 404, 404, 200, 200])
})

function snapshotOf({ url }: TestServer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-Vault-Token': 'root' }
    request(`${url}/v1/sys/storage/snapshot`, { headers, agent: false })
      .on('response', (response) => resolve(buffer(response)))
      .on('error', reject)
      .end()
  })
}

test('a mount or a namespace that is removed leaves no row of its secrets', async () => {
  await using folder = await temporaryFolder()
  const file = folder.file('gatehouse.db')
  await using server = await startTestServer({ settings: { STORAGE: `sqlite:${file}`, SEAL_KEY: sealKey } })
  await server.root.write('sys/namespaces/team')
  await server.root.write('team/sys/mounts/own', { type: 'kv-v2' })
  const mount = await newMount(server, 2)
  const rows = () => rowsOf(file).length
  const before = rows()
  for (const at of [mount, 'team/own'])
    await Promise.all(
      Array.from({ length: 150 }, (_, number) =>
        put(server.root, `${at}/data/f/k${number}`, { a: 1 }, { a: 2 }),
      ),
    )
  expect(rows()).toBeGreaterThanOrEqual(before + 600)

  await server.root.delete(`sys/mounts/${mount}`)
  expect((await server.root.read(`${mount}/data/f/k1`)).status).toBe(404)
  await server.root.delete('sys/namespaces/team')
  expect((await server.root.read('team/own/data/f/k1')).status).toBe(404)

  await expect.poll(rows).toBeLessThanOrEqual(before)
})

test('in PostgreSQL no value and no name is legible', async () => {
  await using database = await emptyDatabase()
  await using server = await startTestServer({ settings: { STORAGE: database.url, SEAL_KEY: sealKey } })
  await fill(server)

  const [row] = await query(
    database.url,
    "SELECT string_agg(key || encode(value, 'escape'), ' ') || (SELECT string_agg(keys::text, ' ') FROM changes) AS dump FROM records",
  )

  const dump = String(row?.['dump'])
  expect(dump).not.toContain('team/a')
  for (const text of ['legible-value', 'legible-name', 'legible-folder', 'legible-owner'])
    expect(dump).not.toContain(text)
})

test('an upgrade whose server is killed goes on when it starts again, and no entry is lost or doubled', async () => {
  await using folder = await temporaryFolder()
  const paths = Array.from({ length: 300 }, (_, number) => `k${number}`)
  let token: string
  {
    await using killed = await startProcess({ folder: folder.path })
    token = killed.rootToken
    const root = killed.as(token)
    await root.write('sys/mounts/own', { type: 'kv-v1' })
    await Promise.all(paths.map((path) => root.write(`own/${path}`, { path })))
    const tuned = root.write('sys/mounts/own/tune', { options: { version: '2' } }).catch(() => 'cut')
    await expect.poll(async () => (await root.read('own/data/k0')).status, { interval: 1 }).not.toBe(404)
    await killed.stop('SIGKILL')
    await tuned
  }

  await using again = await startInFolder({ folder: folder.path })
  const root = again.as(token)
  await expect.poll(async () => (await root.list('own/metadata')).status).toBe(200)
  expect((await root.list('own/metadata')).body.data?.['keys']).toEqual(paths.toSorted())
  const kept = await Promise.all(paths.map(async (path) => (await root.read(`own/data/${path}`)).body.data))
  for (const [at, path] of paths.entries())
    expect(kept[at]).toMatchObject({ data: { path }, metadata: { version: 1 } })
  await again.stop()
  const left = rowsOf(folder.file('data/gatehouse.db')).filter(({ key }) => key.includes('/1/k'))
  expect(left).toEqual([])
})
