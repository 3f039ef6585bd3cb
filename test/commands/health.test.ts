import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { Authority } from '../support/certificates.ts'
import { commandHere } from '../support/command-here.ts'
import { runCommand } from '../support/process.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** What `gatehouse health` says with these settings. */
async function healthWith(settings: Record<string, string>) {
  await using folder = await temporaryFolder()
  return await commandHere('health', { folder: folder.path, settings })
}

test('gatehouse health succeeds while requests are served, at each kind of listener, and fails once the server is sealed', async () => {
  await using folder = await temporaryFolder()
  const socket = `unix:${folder.file('socket')}`
  await using server = await startTestServer({ settings: { LISTEN: `127.0.0.1:0,${socket}` } })
  const { port } = new URL(server.url)

  const everywhere = await healthWith({ LISTEN: `0.0.0.0:${port}`, TLS: 'off' })
  const unix = await healthWith({ LISTEN: `127.0.0.1:1,${socket}` })
  const metrics = await healthWith({ LISTEN: '127.0.0.1:1', METRICS_LISTEN: `127.0.0.1:${port}` })
  await server.root.call('PUT', 'sys/seal')
  const sealed = await healthWith({ LISTEN: `127.0.0.1:${port}` })

  const ready = { code: 0, stdout: '{"status":"ready"}\n', stderr: '' }
  expect([everywhere, unix, metrics]).toEqual([ready, ready, ready])
  expect(sealed).toEqual({ code: 1, stdout: '', stderr: '{"status":"sealed"}\n' })
})

test('gatehouse health asks a server with TLS, whoever signed its certificate', async () => {
  await using folder = await temporaryFolder()
  using authority = new Authority()
  const { cert, key } = authority.sign('gate')
  await writeFile(folder.file('cert'), cert)
  await writeFile(folder.file('key'), key)
  const tls = { TLS_CERT_FILE: folder.file('cert'), TLS_KEY_FILE: folder.file('key') }
  await using server = await startTestServer({ settings: { LISTEN: '127.0.0.1:0', ...tls } })

  const outcome = await healthWith({ LISTEN: new URL(server.url).host, ...tls })

  expect(outcome).toEqual({ code: 0, stdout: '{"status":"ready"}\n', stderr: '' })
})

test('gatehouse health fails without a server, and names the address', async () => {
  await using folder = await temporaryFolder()
  const outcome = await runCommand('health', { folder: folder.path, settings: { LISTEN: '127.0.0.1:1' } })

  expect(outcome).toEqual({ code: 1, stdout: '', stderr: 'no response from 127.0.0.1:1: ECONNREFUSED\n' })
})
