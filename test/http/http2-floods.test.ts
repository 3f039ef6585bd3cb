import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Authority } from '../support/certificates.ts'
import { frame, head, header, kinds, preface } from '../support/http2-frames.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const authority = new Authority()
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let server: TestServer

beforeAll(async () => {
  folder = await temporaryFolder()
  const { cert, key } = authority.sign('gate')
  writeFileSync(folder.file('cert.pem'), cert)
  writeFileSync(folder.file('key.pem'), key)
  server = await startTestServer({
    settings: { TLS_CERT_FILE: folder.file('cert.pem'), TLS_KEY_FILE: folder.file('key.pem') },
  })
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  authority[Symbol.dispose]()
  await folder[Symbol.asyncDispose]()
})

/** A client that writes frames itself. */
async function open(): Promise<TLSSocket> {
  const port = Number(new URL(server.url).port)
  const socket = connect({ port, host: '127.0.0.1', ca: authority.cert, ALPNProtocols: ['h2'] })
  await once(socket, 'secureConnect')
  socket.on('error', () => {})
  socket.resume()
  socket.write(preface)
  return socket
}

/** Writes frames until the server closes the connection; resolves with the bytes that were accepted. */
async function floodUntilClosed(socket: TLSSocket, next: (count: number) => Buffer): Promise<number> {
  let isClosed = false
  const closed = new Promise((settle) => socket.once('close', settle)).then(() => {
    isClosed = true
  })
  for (let count = 0; !isClosed; count++) {
    const isTaken = socket.write(next(count))
    if (!isTaken) await Promise.race([closed, once(socket, 'drain').catch(() => {})])
  }
  return socket.bytesWritten
}

async function expectService(): Promise<void> {
  const session = connectHttp2(server.url, { ca: authority.cert })
  const stream = session.request({ ':path': '/v1/sys/health' })
  const [headers] = await once(stream, 'response')
  session.destroy()
  expect(headers[':status']).toBe(200)
}

const MiB = 1024 * 1024

test('a head that is continued without end closes the connection, after little of it', async () => {
  const socket = await open()
  socket.write(frame(kinds.headers, 0, 1, head))

  const bytes = await floodUntilClosed(socket, () =>
    frame(kinds.continuation, 0, 1, header('x-a', 'y'.repeat(100))),
  )

  expect(bytes).toBeLessThan(8 * MiB)
  await expectService()
})

test.each([
  {
    name: 'requests that are reset at once',
    flood: (count: number) => {
      const stream = 2 * count + 1
      return Buffer.concat([
        frame(kinds.headers, 5, stream, head),
        frame(kinds.reset, 0, stream, Buffer.from([0, 0, 0, 8])),
      ])
    },
  },
  {
    name: 'empty frames of continued heads',
    flood: (count: number) =>
      count === 0 ? frame(kinds.headers, 0, 1, head) : frame(kinds.continuation, 0, 1),
  },
  { name: 'pings', flood: () => frame(kinds.ping, 0, 0, Buffer.alloc(8)) },
  { name: 'settings', flood: () => frame(kinds.settings, 0, 0) },
])('a flood of $name closes the connection', async ({ flood }) => {
  const socket = await open()
  // a client that floods does not read either
  socket.pause()

  await floodUntilClosed(socket, flood)

  await expectService()
})
