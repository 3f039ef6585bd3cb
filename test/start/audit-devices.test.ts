import { execFileSync } from 'node:child_process'
import { constants } from 'node:fs'
import { mkdir, open, readFile, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { verdictOn } from '../core/audit/opened-device.ts'
import { providerTls } from '../plugins/jwt-auth/certificates.ts'
import { logLines } from '../support/log-lines.ts'
import { startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A collector that answers until it is told not to. */
async function startCollector() {
  let isSilent = false
  let accepted = 0
  const kept: ServerResponse[] = []
  const server = createServer(providerTls, (request, response) => {
    request.resume()
    if (isSilent) kept.push(response)
    else response.writeHead(204).end(() => (accepted += 1))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  // a listening TCP server has an address with a port
  const { port } = server.address() as AddressInfo
  return {
    host: `127.0.0.1:${port}`,
    accepted: () => accepted,
    fallSilent: () => {
      isSilent = true
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

test('requests go on while devices hang beside one that works, and the server stops', async () => {
  await using folder = await temporaryFolder()
  await using collector = await startCollector()
  await writeFile(folder.file('authority.pem'), providerTls.cert)
  await mkdir(folder.file('data/audit'), { recursive: true })
  const fifo = folder.file('data/audit/fifo')
  execFileSync('mkfifo', [fifo])
  await using reader = await open(fifo, constants.O_RDONLY | constants.O_NONBLOCK)
  await using server = await startProcess({
    folder: folder.path,
    environment: { NODE_EXTRA_CA_CERTS: folder.file('authority.pem') },
    settings: {
      ROOT_TOKEN_FILE: 'token',
      AUDIT_HTTP_HOSTS: collector.host,
      AUDIT: JSON.stringify([
        { path: 'out', type: 'file', options: { file_path: 'stdout' } },
        { path: 'fifo', type: 'file', options: { file_path: 'data/audit/fifo' } },
        { path: 'http', type: 'http', options: { uri: `https://${collector.host}/` } },
        { path: 'file', type: 'file', options: { file_path: 'data/audit/audit.log' } },
      ]),
    },
  })
  const root = server.as((await readFile(folder.file('token'), 'utf8')).trim())

  const acceptedFirst = collector.accepted()
  server.ignoreOutput()
  collector.fallSilent()
  const failed = Promise.all(
    ['out', 'fifo', 'http'].map((device) => server.logged(`"event":"audit_failed","device":"${device}/"`)),
  ).then(() => 'failed')
  const statuses: number[] = []
  const deep = 'x'.repeat(30_000)
  while ((await Promise.race([failed, root.read(`nowhere/${deep}`)])) !== 'failed') {
    statuses.push((await root.read('auth/token/lookup-self')).status)
    await pause(10)
  }
  const { code, stderr } = await server.stop()

  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(code).toBe(0)
  expect(acceptedFirst).toBeGreaterThan(0)
  expect(logLines({ stderr }).filter(({ event }) => event === 'audit_failed')).toHaveLength(3)
  expect(await reader.read(Buffer.alloc(1))).toMatchObject({ bytesRead: 1 })
  expect(await verdictOn([folder.file('data/audit/audit.log')])).toBe('intact')
})
