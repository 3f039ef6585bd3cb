import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const MiB = 1024 * 1024

/** The most memory that a process has had, in bytes. */
async function peakMemory(pid: number): Promise<number> {
  const [, kilobytes] = /^VmHWM:\s*(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

/** Sends all but the last byte of a body. Resolves with the status of a refusal, or 0 once all is sent. */
function sendWithoutEnd(url: string, token: string, body: Buffer): Promise<number> {
  const { hostname, port } = new URL(url)
  const { promise, resolve } = Promise.withResolvers<number>()
  const socket = connect(Number(port), hostname)
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => resolve(Number(text.slice(9, 12))))
  socket.on('error', () => resolve(503))
  socket.write(
    `POST /v1/cubbyhole/a HTTP/1.1\r\nHost: x\r\nX-Vault-Token: ${token}\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  socket.write(body.subarray(1), () => resolve(0))
  return promise
}

test.skipIf(process.platform !== 'linux')(
  '256 clients that together send 1 GiB of unfinished bodies take a fraction of that from memory',
  async () => {
    await using folder = await temporaryFolder()
    // on a busy machine the bodies take long, and the time limits are not what this is about
    await using server = await startProcess({
      folder: folder.path,
      settings: { MAX_BUFFERED: '32MiB', HEADER_TIMEOUT: '10m', BODY_TIMEOUT: '10m' },
    })
    const before = await peakMemory(server.pid)
    const body = Buffer.alloc(4 * MiB, ' ')

    const outcomes = await Promise.all(
      Array.from({ length: 256 }, () => sendWithoutEnd(server.url, server.rootToken, body)),
    )
    const growth = (await peakMemory(server.pid)) - before
    const health = await server.anonymous.read('sys/health')

    // 32 MiB of bodies, and what the engine has not collected yet: on a busy machine, its threads come later to that
    expect(growth / MiB).toBeLessThan(512)
    expect(new Set(outcomes)).toEqual(new Set([0, 503]))
    expect(health.status).toBe(200)
  },
)
