import { createWriteStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { type ClientRequest, get, type IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { describe, expect, test } from 'vitest'
import { verifyDatabase } from '../../../src/storage/copies/verify.ts'
import { enableAuditFile } from '../../support/audit-file.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const path = 'sys/storage/snapshot'

const serverOn = (file: string, settings: Record<string, string> = {}): Promise<TestServer> =>
  startTestServer({ settings: { STORAGE: `sqlite:${file}`, SEAL_KEY_FILE: `${file}.key`, ...settings } })

/** The head of a snapshot whose body nobody reads yet. */
function ask(server: TestServer): Promise<{ response: IncomingMessage; request: ClientRequest }> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-Vault-Token': 'root' }
    const request = get(`${server.url}/v1/${path}`, { headers, agent: false })
    request.once('response', (response) => resolve({ response, request })).once('error', reject)
  })
}

/** More than the buffers of a connection hold. */
async function fill(server: TestServer): Promise<void> {
  for (let index = 0; index < 12; index++)
    await server.root.write(`cubbyhole/${index}`, { text: 'x'.repeat(1_000_000) })
}

/** The status of one more snapshot, whose body is read and forgotten. */
async function statusOfNext(server: TestServer): Promise<number | undefined> {
  const { response } = await ask(server)
  response.resume()
  return response.statusCode
}

const gauge = async (server: TestServer): Promise<string | undefined> =>
  /^gatehouse_last_backup_timestamp_seconds (.*)$/m.exec((await server.root.read('/metrics')).text)?.[1]

test('a snapshot is a backup: whole, without a trace in the data folder, and noted as the last one', async () => {
  await using folder = await temporaryFolder()
  await using server = await serverOn(folder.file('gatehouse.db'))
  const before = await gauge(server)
  const { body: health } = await server.root.read('sys/health')

  const { response } = await ask(server)
  await pipeline(response, createWriteStream(folder.file('b')))

  const { facts, records } = verifyDatabase(folder.file('b'))
  expect(response.statusCode).toBe(200)
  expect(response.headers['content-type']).toBe('application/octet-stream')
  expect(response.headers['cache-control']).toBe('no-store')
  expect(facts).toMatchObject({ records, cluster_id: health['cluster_id'], seal_type: 'static' })
  expect(await readdir(folder.path)).not.toContain('gatehouse.db.snapshot')
  expect(before).toBeUndefined()
  expect(Number(await gauge(server))).toBeGreaterThan(1_700_000_000)
})

test('a snapshot is audited like any request', async () => {
  await using folder = await temporaryFolder()
  await using server = await serverOn(folder.file('gatehouse.db'), { AUDIT_DIRS: folder.file('logs') })
  const audit = await enableAuditFile(server.root, folder.file('logs/audit.log'))

  const [request, response, ...more] = await audit.during(() => server.root.read(path))

  expect([request?.['type'], response?.['type'], more.length]).toEqual(['request', 'response', 0])
  expect(response?.['request']?.['path']).toBe(path)
})

test('one snapshot is taken at a time, and one that its client abandons makes room for the next', async () => {
  await using folder = await temporaryFolder()
  await using server = await serverOn(folder.file('gatehouse.db'))
  await fill(server)

  const first = await ask(server)
  const second = await server.root.read(path)
  first.request.destroy()
  const statuses: number[] = []
  await expect
    .poll(
      async () => {
        const status = await statusOfNext(server)
        statuses.push(status ?? 0)
        return status
      },
      { timeout: 10_000 },
    )
    .toBe(200)

  expect([second.status, second.body['errors']]).toEqual([429, ['another snapshot is being taken']])
  expect(statuses.every((status) => status === 200 || status === 429)).toBe(true)
})

test('a client that leaves while the copy is made ends it', async () => {
  await using folder = await temporaryFolder()
  await using server = await serverOn(folder.file('gatehouse.db'))
  await fill(server)

  const leaving = get(`${server.url}/v1/${path}`, { headers: { 'X-Vault-Token': 'root' }, agent: false })
  leaving.once('error', () => {})
  await expect.poll(() => readdir(folder.path), { interval: 1 }).toContain('gatehouse.db.snapshot')
  leaving.destroy()

  await expect.poll(() => statusOfNext(server)).toBe(200)
  expect(await readdir(folder.path)).not.toContain('gatehouse.db.snapshot')
})

describe('without the right to it', () => {
  test('a snapshot needs sudo and the root namespace', async () => {
    await using folder = await temporaryFolder()
    await using server = await serverOn(folder.file('gatehouse.db'))
    const tokenFor = async (capabilities: string[]) => {
      const name = capabilities.join('-')
      const policy = `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }`
      await server.root.write(`sys/policies/acl/${name}`, { policy })
      const { body } = await server.root.write('auth/token/create', { policies: [name] })
      return String(body.auth?.client_token)
    }
    await server.root.write('sys/namespaces/team')

    const reader = await server.as(await tokenFor(['read'])).read(path)
    const sudoer = await server.as(await tokenFor(['read', 'sudo'])).read(path)
    const nobody = await server.anonymous.read(path)
    const inside = await server.root.read(path, { headers: { 'X-Vault-Namespace': 'team' } })
    const written = await server.root.write(path, {})

    expect([reader.status, sudoer.status, nobody.status]).toEqual([403, 200, 403])
    expect([inside.status, inside.body['errors']]).toEqual([400, ['operation unavailable in namespaces']])
    expect(written.status).toBe(405)
  })

  testOfOneServer('storage in memory has none', async () => {
    await using server = await startTestServer()

    const refused = await server.root.read(path)

    expect([refused.status, refused.body['errors']]).toEqual([400, ['storage in memory has no snapshot']])
  })
})
