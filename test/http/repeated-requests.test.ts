import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConnectionOptions } from '../../src/http/wire/list-verb.ts'
import { collect } from '../support/collect.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { type Answer, head, listen, openWire } from './wire.ts'

/** Responds to `/known` with a number; responses to all else are left to the test. */
async function aServer(options: Partial<ConnectionOptions> = {}) {
  const asked: ServerResponse[] = []
  let ids = 0
  const server = await listen(options, (request, response) => {
    if (request.url !== '/known') asked.push(response)
    else setImmediate(() => response.writeHead(200, { id: String(++ids), 'content-length': '2' }).end('ok'))
  })
  return {
    server,
    /** The response to the next request that is not for `/known`. */
    async other(): Promise<ServerResponse> {
      for (;;) {
        const response = asked.shift()
        if (response !== undefined) return response
        await nextTurn()
      }
    },
  }
}

const known = head('GET', '/known')
const idsOf = (answers: readonly Answer[]) => answers.map(({ headers }) => headers['id'])

test('a repeated request that waited for a change is answered, also if its client ends its side', async () => {
  const { server, other } = await aServer()
  await using _server = server
  const wire = await server.open()
  wire.send(known)
  await wire.answer()
  await wire.sendApart([head('POST', '/other', [], ''), known])
  wire.end()
  const response = await other()

  setImmediate(() => response.writeHead(200, { id: 'other', 'content-length': '0' }).end())

  expect(idsOf(await wire.untilClosed())).toEqual(['other', '2'])
})

test('each of several repeated requests that waited for a change gets its own response', async () => {
  const { server, other } = await aServer()
  await using _server = server
  const wire = await server.open()
  wire.send(known)
  await wire.answer()
  await wire.sendApart([head('POST', '/other', [], ''), known])
  wire.send(known)
  const response = await other()

  setImmediate(() => response.writeHead(200, { id: 'other', 'content-length': '0' }).end())

  expect(idsOf(await wire.answers(3))).toEqual(['other', '2', '3'])
})

describe('a request that its connection repeats', () => {
  const messages = 'sys/internal/ui/unauthenticated-messages'
  const config = 'sys/config/ui/custom-messages'
  const clock = new FakeClock(Date.UTC(2026, 0, 2, 12))
  let server: TestServer
  let id: string
  beforeAll(async () => {
    server = await startTestServer({ clock })
    await server.root.write('sys/namespaces/a', {})
    const { body } = await server.root.write(config, message('first'))
    id = String(Object(body).data.id)
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const message = (title: string, more: object = {}) => ({
    title,
    message: 'w6k=',
    start_time: '2026-01-01T00:00:00Z',
    authenticated: false,
    ...more,
  })

  const namespace = { 'X-Vault-Namespace': 'a' }
  test.each<{
    change: string
    make: () => Promise<unknown>
    headers?: Record<string, string>
    /** What the response contains before and afterwards. */
    seen: [string, string]
  }>([
    {
      change: 'the message is changed',
      make: () => server.root.write(`${config}/${id}`, message('second')),
      seen: ['"first"', '"second"'],
    },
    {
      change: 'a message is added',
      make: () => server.root.write(config, message('third', { end_time: '2026-01-02T13:00:00Z' })),
      seen: ['"second"', '"third"'],
    },
    { change: 'a message ends', make: async () => clock.advance(3601), seen: ['"third"', '"second"'] },
    {
      change: 'the message is deleted',
      make: () => server.root.delete(`${config}/${id}`),
      seen: ['"second"', '"data":{}'],
    },
    {
      change: 'its namespace is locked',
      make: () => server.root.write('sys/namespaces/api-lock/lock/a'),
      headers: namespace,
      seen: ['"data":{}', '"errors"'],
    },
    {
      change: 'its namespace is unlocked',
      make: () => server.root.write('sys/namespaces/api-lock/unlock/a'),
      headers: namespace,
      seen: ['"errors"', '"data":{}'],
    },
    {
      change: 'its namespace is deleted',
      make: () => server.root.delete('sys/namespaces/a'),
      headers: namespace,
      seen: ['"data":{}', 'namespace is tainted'],
    },
    {
      change: 'a rate limit is reached',
      make: async () => {
        await server.root.write('sys/quotas/rate-limit/x', { rate: 0.001, path: 'sys/', interval: 3600 })
        for (const _ of [1, 2, 3, 4]) await server.anonymous.read(messages)
      },
      seen: ['"data":{}', 'rate limit quota exceeded'],
    },
  ])('learns at once that $change', async ({ make, headers = {}, seen: [before, after] }) => {
    const wire = await openWire(server.url)
    const ask = async () => {
      wire.send(
        head(
          'GET',
          `/v1/${messages}`,
          Object.entries(headers).map((pair) => pair.join(': ')),
        ),
      )
      return (await wire.answer())?.body ?? ''
    }
    const first = [await ask(), await ask(), await ask()]

    await make()
    const next = await ask()

    for (const text of first) expect(text).toContain(before)
    expect(next).toContain(after)
    wire.close()
  })
})

test('a connection that repeats a request is told when the server stops', async () => {
  await using server = await startTestServer()
  const wire = await openWire(server.url)
  const ask = async () => {
    wire.send(head('GET', '/v1/sys/internal/ui/unauthenticated-messages'))
    const answer = await wire.answer()
    return `${answer?.status} ${answer?.headers['connection']}`
  }
  const before = [await ask(), await ask(), await ask()]

  const drained = server.server.drain(0)
  let last = await ask()
  while (last === '200 keep-alive') last = await ask()

  expect([...before, last]).toEqual(['200 keep-alive', '200 keep-alive', '200 keep-alive', '200 close'])
  await drained
})

test('a repeated request is told the idle time only if there is one', async () => {
  const { server } = await aServer({ idleTimeoutMs: 0 })
  await using _server = server
  const wire = await server.open()
  wire.send(known)
  const first = await wire.answer()

  wire.send(known)

  expect(first?.headers).not.toHaveProperty('keep-alive')
  expect((await wire.answer())?.headers).toEqual({ ...first?.headers, id: '2', date: expect.any(String) })
})

test('half a head after repeated requests is refused in time', async () => {
  const { server } = await aServer({ headerTimeoutMs: 50, timeoutCheckMs: 10 })
  await using _server = server
  const wire = await server.open()
  for (const _ of [1, 2, 3]) {
    wire.send(known)
    await wire.answer()
  }

  wire.send(known.slice(0, 20))

  expect((await wire.untilClosed()).map(({ status }) => status)).toEqual([408])
})

test('a connection keeps nothing of its requests while it waits for the next', async () => {
  const { server, other } = await aServer()
  await using _server = server
  const wire = await server.open()
  const asked = async () => {
    wire.send(head('GET', '/other', ['X-Vault-Token: hvs.secret']))
    const response = await other()
    response.writeHead(200, { 'content-length': '0' }).end()
    await wire.answer()
    return new WeakRef(response.req)
  }

  const requests = [await asked(), await asked(), await asked()]

  const left = async () => {
    collect()
    return requests.filter((request) => request.deref() !== undefined).length
  }
  await expect.poll(left).toBe(0)
})

test('no request after a response that closes the connection is served', async () => {
  const { server, other } = await aServer()
  await using _server = server
  const wire = await server.open()
  wire.send(known)
  await wire.answer()
  await wire.sendApart([head('POST', '/second', [], ''), head('POST', '/third', [], '')])
  const second = await other()

  second.shouldKeepAlive = false
  second.writeHead(200, { id: 'second', 'content-length': '0' }).end()

  expect(idsOf(await wire.untilClosed())).toEqual(['second'])
})

test('an idle connection keeps little, whatever the heads of its requests were', async () => {
  await using server = await startTestServer()
  const request = (kind: number) => {
    const fields = Array.from({ length: 120 }, (_, index) => `x-${kind}-${index}: ${'v'.repeat(16)}`)
    return head('GET', '/v1/sys/seal-status', fields)
  }
  const idle = async () => {
    const wire = await openWire(server.url)
    for (const kind of [0, 1, 2, 3]) {
      wire.send(request(kind))
      await wire.answer()
    }
    return wire
  }
  // warms up what the server keeps once
  ;(await idle()).close()
  const used = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = used()

  const wires = await Promise.all(Array.from({ length: 40 }, idle))
  const kept = (used() - before) / wires.length

  expect(kept).toBeLessThan(48 * 1024)
  for (const wire of wires) wire.close()
})
