import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { expect, test } from 'vitest'
import { HttpSink } from '../../../src/core/audit/http-sink.ts'
import { providerTls } from '../../plugins/jwt-auth/certificates.ts'
import { type DeviceFixture, deviceFixture, entry, kindsOf, untilReady, verdictOf } from './opened-device.ts'

type Collector = AsyncDisposable & {
  readonly uri: string
  readonly requests: { readonly headers: IncomingMessage['headers']; readonly body: string }[]
  /** The bodies that got a 2xx. */
  readonly accepted: string[]
  connections: number
  answer: RequestListener
  stop(): Promise<void>
}

/** A server that keeps what it is sent. */
async function startCollector(port = 0): Promise<Collector> {
  const collector: Partial<Collector> & { answer: RequestListener } = {
    answer: (_, response) => void response.writeHead(204).end(),
  }
  const requests: Collector['requests'] = []
  const accepted: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    requests.push({ headers: request.headers, body })
    response.once('finish', () => response.statusCode < 300 && accepted.push(body))
    collector.answer(request, response)
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const at = typeof address === 'object' && address !== null ? address.port : 0
  const stop = async () => {
    server.closeAllConnections()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  const complete = Object.assign(collector, {
    uri: `http://127.0.0.1:${at}/audit`,
    requests,
    accepted,
    stop,
    connections: 0,
    [Symbol.asyncDispose]: stop,
  })
  server.on('connection', () => {
    complete.connections += 1
  })
  return complete
}

const openHttp = (
  fixture: DeviceFixture,
  { uri }: Collector,
  {
    headers = {},
    ...timing
  }: { headers?: Record<string, string>; deadlineMs?: number; checkMs?: number } = {},
) => fixture.open({ target: { kind: 'http', uri, headers }, timing })

test('each line is one POST, in order, over one connection', async () => {
  await using fixture = await deviceFixture()
  await using collector = await startCollector()
  const device = await openHttp(fixture, collector, { headers: { authorization: 'Bearer abc' } })

  await Promise.all(Array.from({ length: 20 }, (_, number) => device.write(entry(number))))
  await device[Symbol.asyncDispose]()

  const bodies = collector.requests.map(({ body }) => body)
  expect(bodies.every((body) => body.indexOf('\n') === body.length - 1)).toBe(true)
  expect(kindsOf(bodies.join(''))).toEqual(['start', ...Array(20).fill('request'), 'close', 'checkpoint'])
  expect(verdictOf([bodies.join('')])).toBe('intact')
  expect(collector.connections).toBe(1)
  expect(collector.requests[1]?.headers).toMatchObject({
    authorization: 'Bearer abc',
    'content-type': 'application/json',
  })
})

test('a connection that is used again and again collects no listeners', async () => {
  await using collector = await startCollector()
  const warnings: Error[] = []
  const keep = (warning: Error) => void warnings.push(warning)
  process.on('warning', keep)
  const sink = new HttpSink({ kind: 'http', uri: collector.uri, headers: {} }, 2_000)

  await sink.write(Array.from({ length: 20 }, (_, number) => `${entry(number)}\n`))
  sink.close()
  process.off('warning', keep)

  expect(collector.accepted).toHaveLength(20)
  expect(warnings).toEqual([])
})

test('lines that keep coming are not late while each is written in time', async () => {
  await using fixture = await deviceFixture()
  await using collector = await startCollector()
  const device = await openHttp(fixture, collector, { deadlineMs: 1_500 })
  const { answer } = collector
  const end = performance.now() + 1_700
  collector.answer = (request, response) => void setTimeout(() => answer(request, response), 5)

  const caller = async () => {
    while (performance.now() < end) await device.write(entry(1))
  }
  await Promise.all([caller(), caller(), caller()])

  expect(device.isUp).toBe(true)
})

test('a status other than 2xx is a failure, and the chain continues behind a gap record', async () => {
  await using fixture = await deviceFixture()
  await using collector = await startCollector()
  const device = await openHttp(fixture, collector)
  const { answer } = collector

  collector.answer = (_, response) => void response.writeHead(302, { location: '/elsewhere' }).end()
  await expect(device.write(entry(1))).rejects.toMatchObject({ code: 'HTTP_302' })
  collector.answer = answer
  await device.write(entry(2))
  await device[Symbol.asyncDispose]()

  const text = collector.accepted.join('')
  expect(kindsOf(text)).toEqual(['start', 'resume reopened', 'gap', 'request', 'close', 'checkpoint'])
  expect(verdictOf([text])).toBe('intact')
})

test('after a failure of a gateway a new chain begins, because the line may have been passed on', async () => {
  await using fixture = await deviceFixture()
  await using collector = await startCollector()
  const device = await openHttp(fixture, collector)
  const { answer } = collector

  collector.answer = (_, response) => void response.writeHead(504).end()
  await expect(device.write(entry(1))).rejects.toMatchObject({ code: 'HTTP_504' })
  collector.answer = answer
  await device.write(entry(2))
  await device[Symbol.asyncDispose]()

  const all = collector.requests.map(({ body }) => body).join('')
  expect(verdictOf([all], { isMixed: true })).toBe('intact')
})

test('a collector that is down fails at once, and lines go on when it is back', async () => {
  await using fixture = await deviceFixture()
  await using first = await startCollector()
  const device = await openHttp(fixture, first)

  await first.stop()
  await expect(device.write(entry(1))).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  await using second = await startCollector(Number(new URL(first.uri).port))
  await device.write(entry(2))
  await device[Symbol.asyncDispose]()

  expect(kindsOf(second.accepted.join(''))).toEqual([
    'resume reopened',
    'gap',
    'request',
    'close',
    'checkpoint',
  ])
  expect(verdictOf([[...first.accepted, ...second.accepted].join('')])).toBe('intact')
})

test('a silent collector fails at the deadline; then a new chain begins, because the line may have arrived', async () => {
  await using fixture = await deviceFixture()
  await using collector = await startCollector()
  const device = await openHttp(fixture, collector, { deadlineMs: 200, checkMs: 10 })
  await untilReady(device)
  const { answer } = collector

  collector.answer = () => {}
  await expect(device.write(entry(1))).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  await expect(device.write(entry(2))).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  collector.answer = answer
  await expect.poll(() => device.isUp).toBe(true)
  await device.write(entry(3))
  await device[Symbol.asyncDispose]()

  const all = collector.requests.map(({ body }) => body).join('')
  const chains = new Set(collector.accepted.map((line) => JSON.parse(line).chain.id))
  expect(chains.size).toBe(2)
  expect(verdictOf([collector.accepted.join('')], { isMixed: true })).toBe('intact')
  expect(verdictOf([all], { isMixed: true })).toBe('intact')
  expect(kindsOf(collector.accepted.join(''))).toContain('gap')
})

test('a connection that the collector has closed while idle costs no line', async () => {
  await using fixture = await deviceFixture()
  await using collector = await startCollector()
  const device = await openHttp(fixture, collector)

  collector.answer = (request, response) => {
    response.writeHead(204).end(() => request.socket.destroy())
  }
  for (let number = 0; number < 10; number += 1) await device.write(entry(number))
  await device[Symbol.asyncDispose]()

  expect(verdictOf([collector.accepted.join('')])).toBe('intact')
  expect(collector.accepted).toHaveLength(13)
})

test('an endless response body is cut off, and the line counts as written', async () => {
  await using fixture = await deviceFixture()
  await using collector = await startCollector()
  const device = await openHttp(fixture, collector)

  collector.answer = (_, response) => {
    response.writeHead(200)
    const more = () => {
      if (!response.destroyed) response.write(Buffer.alloc(16_384), () => setImmediate(more))
    }
    more()
  }

  await expect(device.write(entry(1))).resolves.toBeUndefined()
})

test('nothing is sent to a collector whose certificate is not trusted', async () => {
  await using fixture = await deviceFixture()
  let received = 0
  const server = createTlsServer(providerTls, () => {
    received += 1
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0

  const device = await fixture.open({
    target: { kind: 'http', uri: `https://127.0.0.1:${port}/`, headers: {} },
  })
  const written = device.write(entry(1))

  await expect(written).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  expect(received).toBe(0)
  server.close()
})

test('an uncertain restart begins a new chain, a clean one continues', async () => {
  await using fixture = await deviceFixture()
  await using collector = await startCollector()
  await (await openHttp(fixture, collector))[Symbol.asyncDispose]()
  await (await openHttp(fixture, collector))[Symbol.asyncDispose]()
  const [head] = await fixture.keys.heads()
  if (head !== undefined) await fixture.keys.storeHead('file/', 'one', { ...head, is_final: false })

  await (await openHttp(fixture, collector))[Symbol.asyncDispose]()

  const text = collector.accepted.join('')
  expect(kindsOf(text)).toEqual([
    ...['start', 'close', 'checkpoint', 'resume restart', 'close', 'checkpoint'],
    ...['start', 'close', 'checkpoint'],
  ])
  expect(verdictOf([text], { isMixed: true })).toBe('intact')
})
