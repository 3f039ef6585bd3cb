import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { type LoadJob, type LoadResult, runLoad } from '../../bench/load.ts'

async function listenWith(answer: RequestListener): Promise<AsyncDisposable & { port: number }> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  // a TCP server that listens has an AddressInfo
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: stop }
}

const aJob = (job: Partial<LoadJob> & { port: number }): LoadJob => ({
  connections: 4,
  forMs: 60_000,
  method: 'GET',
  path: '/',
  variants: [{}],
  once: true,
  ...job,
})

test('each variant is sent once, with its token and its body', async () => {
  const seen: string[] = []
  await using server = await listenWith((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      seen.push(`${request.method} ${request.url} ${request.headers['x-vault-token']} ${body}`)
      response.setHeader('content-length', 2).end('{}')
    })
  })
  const variants = Array.from({ length: 25 }, (_, index) => ({ token: `t${index}`, body: `{"é":${index}}` }))

  const result = await runLoad(aJob({ port: server.port, method: 'POST', path: '/v1/x', variants }))

  expect(result).toMatchObject({ requests: 25, failures: {} })
  expect(seen.toSorted()).toEqual(variants.map(({ token, body }) => `POST /v1/x ${token} ${body}`).toSorted())
})

test('responses other than 2xx are counted by status, and an empty 204 is a success', async () => {
  const statuses = [200, 204, 400, 403, 403]
  let next = 0
  await using server = await listenWith((_request, response) => {
    const status = statuses[next++] ?? 500
    if (status === 204) response.writeHead(204).end()
    else response.writeHead(status, { 'content-length': 3000 }).end('x'.repeat(3000))
  })

  const result = await runLoad(
    aJob({ port: server.port, connections: 1, variants: statuses.map(() => ({})) }),
  )

  expect(result).toMatchObject({ requests: 5, failures: { 400: 1, 403: 2 } })
})

test('a response in chunks ends with the last one', async () => {
  await using server = await listenWith((_request, response) => {
    response.write('{"a":')
    // the rest comes later than the head
    setImmediate(() => response.end('0}'))
  })

  const result = await runLoad(aJob({ port: server.port, variants: Array.from({ length: 9 }, () => ({})) }))

  expect(result).toMatchObject({ requests: 9, failures: {} })
})

test('a connection dropped by the server is a failure and ends the run', async () => {
  await using server = await listenWith((request) => request.socket.destroy())

  const result = await runLoad(aJob({ port: server.port, connections: 3, once: false }))

  expect(Object.keys(result.failures)).toEqual(['0'])
  expect(result.requests).toBeGreaterThanOrEqual(3)
})

test('without a limit on requests, the run ends when its time is up', async () => {
  await using server = await listenWith((_request, response) =>
    response.setHeader('content-length', 2).end('{}'),
  )

  // a time in which each connection can repeat its request
  let forMs = 25
  let result: LoadResult
  do {
    forMs *= 2
    result = await runLoad(aJob({ port: server.port, forMs, once: false }))
  } while (result.requests <= 4)

  expect(result.seconds * 1000).toBeGreaterThanOrEqual(forMs)
  expect(result.p50Ms).toBeLessThanOrEqual(result.p99Ms)
  expect(result.p99Ms).toBeLessThanOrEqual(result.maxMs)
})
