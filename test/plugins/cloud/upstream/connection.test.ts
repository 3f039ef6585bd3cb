import { once } from 'node:events'
import { createServer as createPlainServer, type IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { expect, test } from 'vitest'
import { OutboundClient } from '../../../../src/core/outbound/outbound.ts'
import { UpstreamConnection } from '../../../../src/plugins/cloud/upstream/connection.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { providerTls } from '../../jwt-auth/certificates.ts'
import { aim, failureOf } from './aimed.ts'

const request = {
  service: 'directory',
  operation: 'createApplication',
  repeatable: false,
  method: 'POST',
  headers: {},
  body: '{}',
} as const

test.each([
  { deny: ['127.0.0.0/8'], replace: (url: string) => url },
  { deny: ['127.0.0.1'], replace: (url: string) => url },
  { deny: ['127.0.0.0/8', '::1'], replace: (url: string) => url.replace('127.0.0.1', 'localhost') },
])('networks in OUTBOUND_DENY are denied for the cloud as well: $deny', async ({ deny, replace }) => {
  await using aimed = await aim()
  const clock = new FakeClock()
  const connection = new UpstreamConnection(
    { outbound: new OutboundClient({ deny }), clock },
    aimed.directory.ca,
  )

  const error = await failureOf(
    connection.send(
      { ...request, url: replace(aimed.directory.directoryUrl) },
      { deadline: clock.now() + 9_000, correlationId: 'c' },
    ),
  )

  expect(error).toMatchObject({ status: 0, code: 'no_connection', lost: false })
  expect(error.message).toMatch(/denied network/)
  expect(aimed.directory.journal.entries()).toEqual([])
})

test('an untrusted certificate fails without a retry, and nothing is sent', async () => {
  await using aimed = await aim()
  const upstream = aimed.open({ caPem: undefined })

  const login = await failureOf(upstream.directory.createApplication({ displayName: 'x' }, aimed.call()))

  expect(login).toMatchObject({ service: 'login', code: 'no_connection', lost: false })
  expect([aimed.clock.pauses, aimed.directory.journal.entries()]).toEqual([[], []])
})

test("configured certificates are trusted in addition to the system's", async () => {
  await using aimed = await aim()
  const clock = new FakeClock()
  const both = new UpstreamConnection(
    { outbound: new OutboundClient({ deny: [] }), clock },
    `${aimed.directory.ca}\n${providerTls.cert}`,
  )
  await using stranger = await tlsServer()
  const call = { deadline: clock.now() + 9_000, correlationId: 'c' }

  const [first, second] = await Promise.all([
    failureOf(both.send({ ...request, url: `${aimed.directory.directoryUrl}/v1.0/x` }, call)),
    failureOf(both.send({ ...request, url: stranger.url }, call)),
  ])

  expect([first.status, second.status]).toEqual([401, 418])
})

test('connections are reused', async () => {
  await using aimed = await aim()
  const clock = new FakeClock()
  await using server = await tlsServer()
  const connection = new UpstreamConnection(
    { outbound: new OutboundClient({ deny: [] }), clock },
    `${aimed.directory.ca}\n${providerTls.cert}`,
  )

  for (const _ of Array(5))
    await failureOf(
      connection.send({ ...request, url: server.url }, { deadline: clock.now() + 9_000, correlationId: 'c' }),
    )

  expect(new Set(server.requests.map(({ socket }) => socket.remotePort)).size).toBe(1)
})

test('plain http is refused, so neither token nor secret is sent unencrypted', async () => {
  const seen: string[] = []
  const plain = createPlainServer((message, response) => {
    seen.push(message.url ?? '')
    response.end()
  }).listen(0, '127.0.0.1')
  await once(plain, 'listening')
  await using _ = { [Symbol.asyncDispose]: async () => void plain.close() }
  const clock = new FakeClock()
  const connection = new UpstreamConnection({ outbound: new OutboundClient({ deny: [] }), clock }, undefined)
  // a TCP server that listens has an AddressInfo
  const { port } = plain.address() as AddressInfo

  const error = await failureOf(
    connection.send(
      { ...request, url: `http://127.0.0.1:${port}/` },
      { deadline: clock.now() + 9_000, correlationId: 'c' },
    ),
  )

  expect(error.message).toMatch(/unsupported protocol scheme/)
  expect(seen).toEqual([])
})

test('requests use the proxy, except for excluded hosts', async () => {
  await using server = await tlsServer()
  const asked: string[] = []
  const proxy = createPlainServer().on('connect', (message: IncomingMessage, socket, head: Buffer) => {
    asked.push(message.url ?? '')
    const [host, port] = (message.url ?? '').split(':')
    const through = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      through.write(head)
      socket.pipe(through).pipe(socket)
    })
    socket.on('error', () => through.destroy())
    through.on('error', () => socket.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  await using _ = { [Symbol.asyncDispose]: async () => void proxy.close() }
  // a TCP server that listens has an AddressInfo
  const httpsProxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const clock = new FakeClock()
  const call = { deadline: clock.now() + 9_000, correlationId: 'c' }
  const proxied = new UpstreamConnection(
    { outbound: new OutboundClient({ deny: [], httpsProxy }), clock },
    providerTls.cert,
  )
  const direct = new UpstreamConnection(
    { outbound: new OutboundClient({ deny: [], httpsProxy, noProxy: '127.0.0.1' }), clock },
    providerTls.cert,
  )

  const errors = [
    await failureOf(proxied.send({ ...request, url: server.url }, call)),
    await failureOf(direct.send({ ...request, url: server.url }, call)),
  ]

  expect(errors.map(({ status }) => status)).toEqual([418, 418])
  expect(asked).toEqual([new URL(server.url).host])
})

/** Answers 418 to everything. */
async function tlsServer() {
  const requests: IncomingMessage[] = []
  const server = createServer(providerTls, (message, response) => {
    requests.push(message)
    message
      .resume()
      .on('end', () => response.writeHead(418, { 'content-type': 'application/json' }).end('{}'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    // as above
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

test('a caller that disconnects ends the request, and the outcome of a creation is unknown', async () => {
  await using aimed = await aim()
  await aimed.upstream.tokens.token('directory', aimed.call())
  aimed.directory.fault({ kind: 'held', operation: 'createApplication' })
  const caller = new AbortController()
  const asked = failureOf(
    aimed.upstream.directory.createApplication(
      { displayName: 'x' },
      { ...aimed.call(), signal: caller.signal },
    ),
  )
  await aimed.directory.journal.arrived('createApplication')

  caller.abort()

  expect(await asked).toMatchObject({ status: 0, lost: true })
})
