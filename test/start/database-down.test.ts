import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { Client } from '../support/client.ts'
import { messagesOf } from '../support/log-lines.ts'
import { postgresInstallation } from '../support/postgres.ts'
import { StartedProcess } from '../support/process.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

test('a server whose database is down says so, and opens when it comes', async () => {
  const installation = await postgresInstallation()
  await using database = await installation.start()
  await database.stop()
  const port = await freePort()
  const settings = {
    LISTEN: `127.0.0.1:${port}`,
    STORAGE: database.url(),
    SEAL_KEY: 'ab'.repeat(32),
    METRICS: 'open',
  }
  const starting = startTestServer({ settings })
  const client = new Client(`http://127.0.0.1:${port}`)
  await expect
    .poll(() => client.read('/health/ready').catch(() => undefined))
    .toMatchObject({ status: 503, body: { status: 'storage' } })

  const refused = await client.read('auth/token/lookup-self')
  await database.start()
  await using server = await starting

  expect([refused.status, refused.body]).toEqual([503, { errors: ['storage is unavailable'] }])
  expect(refused.headers['retry-after']).toBe('1')
  expect((await server.anonymous.read('/health/ready')).body).toEqual({ status: 'ready' })
  const metrics = async () => await (await fetch(`${server.url}/metrics`)).text()
  // the first work of the open server may hold all its connections for a moment
  await expect.poll(metrics).toMatch(/^gatehouse_storage_pool_connections\{state="idle"\} [1-9]/m)
  expect(await metrics()).toMatch(/^gatehouse_storage_bytes\{part="database"\} [1-9]/m)
})

test.each<{ name: string; settings: Record<string, string> }>([
  { name: 'a server that waits', settings: {} },
  { name: 'worker processes that wait', settings: { WORKERS: '2', SEAL_KEY: 'ab'.repeat(32) } },
])('$name for the database can be stopped', async ({ settings }) => {
  await using folder = await temporaryFolder()
  const child = new StartedProcess('src/process/main.ts', {
    folder: folder.path,
    settings: { STORAGE: `postgres://nobody@127.0.0.1:${await freePort()}/none`, ...settings },
  })
  await child.logged('"event":"storage_lost"')

  const ended = await child.end('SIGTERM')

  expect(ended.code).toBe(0)
  expect(messagesOf(ended, 'fatal')).toEqual([])
})
