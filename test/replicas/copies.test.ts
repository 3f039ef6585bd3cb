import { once } from 'node:events'
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { emptyDatabase, query } from '../support/postgres.ts'
import { startProcess } from '../support/process.ts'
import { startReplicas } from '../support/replicas.ts'
import { shared } from '../support/shared.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startTwoServers } from '../support/two-servers.ts'

const isAccepted = async (server: Pick<TestServer, 'as'>, token: string) =>
  (await server.as(token).read('auth/token/lookup-self')).status === 200

async function newToken({ root }: Pick<TestServer, 'root'>, input: object = {}): Promise<string> {
  const answer = await root.write('auth/token/create', { ttl: '1h', ...input })
  return String(answer.body.auth?.client_token)
}

/** Two servers, of which the other one hears of changes only by polls, and by a clock of its own. */
const withOldCopies = shared(async () => {
  let time = 0
  const servers = await startTwoServers({
    settings: { POSTGRES_NOTIFY: 'false', POSTGRES_POLL: '900ms' },
    of: (replica) => (replica === 1 ? { steady: () => time } : {}),
  })
  const ageCopies = () => {
    time += 1000
  }
  return { ...servers, ageCopies }
})

test('a server that has heard of no change serves nothing from copies that are a second old', async () => {
  const { one, other, ageCopies } = await withOldCopies()
  const token = await newToken(one)
  expect(await isAccepted(other, token)).toBe(true)
  await one.root.write('auth/token/revoke', { token })

  ageCopies()

  expect(await isAccepted(other, token)).toBe(false)
  expect(await isAccepted(one, token)).toBe(false)
})

test('a request whose body takes its time is refused if its token was revoked meanwhile', async () => {
  const { one, other, ageCopies } = await withOldCopies()
  const token = await newToken(one)
  expect(await isAccepted(other, token)).toBe(true)
  const slow = request(`${other.url}/v1/auth/token/lookup`, {
    method: 'POST',
    headers: { 'x-vault-token': token, expect: '100-continue' },
  })
  const answer = once(slow, 'response')
  // the server has begun with the request
  await once(slow, 'continue')

  await one.root.write('auth/token/revoke', { token })
  ageCopies()
  slow.end(JSON.stringify({ token }))

  const [{ statusCode }] = await answer
  expect(statusCode).toBe(403)
})

test('the first request to a server that was paused sees what was revoked meanwhile', async () => {
  await using emptied = await emptyDatabase()
  const database = emptied.url
  await using folder = await temporaryFolder()
  const settings = { STORAGE: database, SEAL_KEY: '5e'.repeat(32), POSTGRES_POOL: '3' }
  await using paused = await startProcess({
    folder: folder.path,
    settings: { ...settings, REPLICA_NAME: 'paused' },
  })
  await using running = await startTestServer({
    dev: false,
    settings: { ...settings, REPLICA_NAME: 'running' },
  })
  const root = running.as(paused.rootToken)
  const tokens = await Promise.all(Array.from({ length: 8 }, () => newToken({ root })))
  expect(await Promise.all(tokens.map((token) => isAccepted(paused, token)))).not.toContain(false)

  paused.signal('SIGSTOP')
  // longer than copies may be used: until it has missed its heartbeat
  const silence =
    "SELECT clock_timestamp() - heartbeat_at > interval '2 s' AS long FROM replicas WHERE name = 'paused'"
  await expect.poll(() => query(database, silence), { timeout: 20_000 }).toEqual([{ long: true }])
  for (const token of tokens) await root.write('auth/token/revoke', { token })
  const first = tokens.map((token) => isAccepted(paused, token))
  paused.signal('SIGCONT')

  expect(await Promise.all(first)).not.toContain(true)
})

test('a server that cannot register again is not ready, and serves nothing', async () => {
  let time = 0
  await using replicas = await startReplicas({ count: 1, steady: () => (time += 2000) })
  const [server] = replicas.servers
  if (server === undefined) throw new Error('a test needs a server')
  const states = async () => [
    (await server.anonymous.read('/health/ready')).body,
    (await server.anonymous.read('sys/health')).status,
    (await server.root.read('auth/token/lookup-self')).status,
  ]

  await query(
    replicas.database,
    "BEGIN; INSERT INTO meta (name, value) VALUES ('moved', 1); DELETE FROM replicas; COMMIT",
  )
  const refused = await states()
  await query(replicas.database, "DELETE FROM meta WHERE name = 'moved'")

  expect(refused).toEqual([{ status: 'storage' }, 503, 503])
  await expect.poll(states, { timeout: 20_000 }).toEqual([{ status: 'ready' }, 200, 200])
})
