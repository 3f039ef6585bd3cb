import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import { type Answer, inside } from '../../support/client.ts'
import { errors } from '../../support/error-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { reachedAnew } from '../../support/one-server.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

const admin = 'sys/config/ui/custom-messages'
const before = 'sys/internal/ui/unauthenticated-messages'
const after = 'sys/internal/ui/authenticated-messages'
const tooMany = 'too many requests of this address are waiting for messages'
const message = { title: 't', message: '', start_time: '2024-01-01T00:00:00Z' }

/** No connection is ahead of a new one. */
const anew = ({ url, server }: TestServer) => reachedAnew(url, server)

const keysOf = ({ body }: Answer) => body['data']?.['keys']

/** The current response of the endpoint, and how to wait for another one. */
async function poll(server: TestServer, path: string, { token = '', namespace = '', wait = '60s' } = {}) {
  const client = token === '' ? server.anonymous : server.as(token)
  const { headers } = await client.read(path, inside(namespace))
  const etag = String(headers['etag'])
  const again = (asked = wait) =>
    client.read(`${path}?wait=${asked}`, { headers: { 'If-None-Match': etag, ...inside(namespace).headers } })
  return { etag, again }
}

async function planned(server: TestServer, fields: object = {}, namespace = ''): Promise<string> {
  const { status, body } = await server.root.write(admin, { ...message, ...fields }, inside(namespace))
  expect(status).toBe(200)
  return String(body['data']?.['id'])
}

/** With one place, one of two waiting requests is refused, which shows that the other one is held. */
async function oneHeld(again: () => Promise<Answer>): Promise<{ held: Promise<Answer>; refused: Answer }> {
  const both = [again(), again()]
  const refused = await Promise.race(both)
  const place = await Promise.race(both.map((answer, index) => answer.then(() => index)))
  const held = both[1 - place]
  if (held === undefined) throw new Error('there are two')
  return { held, refused }
}

describe('long polls for messages', () => {
  test('end with the new response when a message is created, changed or deleted, in the namespace or above', async () => {
    await using server = await borrowServer()
    await server.root.write('sys/namespaces/a', {})
    const changes: (() => Promise<unknown>)[] = []
    const id = await planned(server, { authenticated: false })
    changes.push(() => planned(server, { authenticated: false }, 'a'))
    changes.push(() =>
      server.root.write(`${admin}/${id}`, { ...message, authenticated: false, title: 'other' }),
    )
    changes.push(() => server.root.delete(`${admin}/${id}`))

    for (const change of changes) {
      const { etag, again } = await poll(server, before, { namespace: 'a' })
      const waiting = again()
      await change()
      const answer = await waiting
      expect(answer.status).toBe(200)
      expect(answer.headers['etag']).not.toBe(etag)
    }
  })

  test('end with 304 if nothing changed', async () => {
    await using server = await borrowServer()
    await planned(server, { authenticated: false, start_time: '2100-01-01T00:00:00Z' })
    const { etag, again } = await poll(server, before)

    const answer = await again('20ms')

    expect([answer.status, answer.text, answer.headers['etag']]).toEqual([304, '', etag])
    expect(answer.headers['x-next-change-at']).toBe('2100-01-01T00:00:00Z')
  })

  test('continue if a change does not affect the caller', async () => {
    await using server = await borrowServer()
    const { again } = await poll(server, before)

    const waiting = again()
    await planned(server)
    await planned(server, { authenticated: false, start_time: '2100-01-01T00:00:00Z' })
    const id = await planned(server, { authenticated: false })

    expect(keysOf(await waiting)).toEqual([id])
  })

  test('end when a window opens and when it closes', async () => {
    const clock = new FakeClock(Date.UTC(2024, 5, 1))
    await using server = await startTestServer({ clock })
    const id = await planned(server, {
      authenticated: false,
      start_time: '2024-06-01T00:00:00.020Z',
      end_time: '2024-06-01T00:00:00.040Z',
    })

    const opening = (await poll(server, before)).again()
    clock.advance(0.021)
    expect(keysOf(await opening)).toEqual([id])
    const closing = (await poll(server, before)).again()
    clock.advance(0.019)
    expect((await closing).body['data']).toEqual({})
  })

  const withoutPlaces = shared(() => startTestServer({ settings: { MESSAGE_WAITERS: '0' } }))
  test.each([
    { name: 'no tag', ask: (server: TestServer) => server.anonymous.read(`${before}?wait=60s`), status: 200 },
    {
      name: 'another tag',
      ask: (server: TestServer) =>
        server.anonymous.read(`${before}?wait=60s`, { headers: { 'If-None-Match': '"x"' } }),
      status: 200,
    },
    {
      name: 'no time',
      ask: async (server: TestServer) => (await poll(server, before)).again('0'),
      status: 304,
    },
    {
      name: 'a time that is empty',
      ask: async (server: TestServer) => (await poll(server, before)).again(''),
      status: 304,
    },
  ])('respond at once: $name', async ({ ask, status }) => {
    const server = await withoutPlaces()

    expect((await ask(server)).status).toBe(status)
  })

  test('respond at once if the response is to be wrapped', async () => {
    const server = await withoutPlaces()

    const answer = await server.root.read(`${after}?wait=60s`, {
      headers: { 'X-Vault-Wrap-TTL': '60', 'If-None-Match': '*' },
    })

    expect(answer.body).toMatchObject({ wrap_info: { token: expect.any(String) } })
  })

  const anyServer = shared(startTestServer)
  test.each(['abc', '-1', '-1s', '1.5', '10x', 's', '1e1', '1s&wait=2s'])(
    'are refused with a wait of %s',
    async (wait) => {
      const server = await anyServer()

      for (const path of [before, after]) {
        const answer = await server.root.read(`${path}?wait=${wait}`)
        expect(answer.status).toBe(400)
        expect(String(answer.body['errors']?.[0])).toMatch(
          /^Field validation failed: error converting input for field "wait": /,
        )
        expect(answer.headers['cache-control']).toBe('no-store')
      }
    },
  )

  test.each(['24h', '9000000000', '7d'])(
    'are capped with a wait of %s, and still notice a change',
    async (wait) => {
      await using server = await borrowServer()
      const waiting = (await poll(server, before)).again(wait)

      const id = await planned(server, { authenticated: false })

      expect(keysOf(await waiting)).toEqual([id])
    },
  )

  test('end after a change for a client that accepts any tag, with the current tag', async () => {
    await using server = await borrowServer()
    const { etag } = await poll(server, before)
    const waiting = server.anonymous.read(`${before}?wait=60s`, { headers: { 'If-None-Match': '*' } })

    await planned(server, { authenticated: false })
    const now = await poll(server, before)
    const answer = await waiting

    expect(answer.status).toBe(304)
    expect([etag, now.etag]).toContain(answer.headers['etag'])
  })

  test('all end with one change', async () => {
    await using server = await startTestServer({ settings: { MESSAGE_WAITERS: '64' } })
    const { again } = await poll(server, before)
    const { again: againAfter } = await poll(server, after, { token: 'root' })
    const waiting = Array.from({ length: 64 }, (_, index) => (index % 2 === 0 ? again() : againAfter()))

    const ids = [await planned(server, { authenticated: false }), await planned(server)]
    const answers = await Promise.all(waiting)

    expect(answers.map(({ status }) => status)).toEqual(waiting.map(() => 200))
    expect(answers.map(keysOf)).toEqual(waiting.map((_, index) => [ids[index % 2]]))
  })

  test('miss no change, even if changes and waits follow without pause', async () => {
    await using server = await borrowServer()
    let known = 0
    const read = async () => {
      let etag = '""'
      while (known < 40) {
        const answer = await server.anonymous.read(`${before}?wait=60s`, {
          headers: { 'If-None-Match': etag },
        })
        expect(answer.status).toBe(200)
        etag = String(answer.headers['etag'])
        known = Math.max(
          known,
          keysOf(answer)?.['length'] === undefined ? 0 : Number(keysOf(answer)?.['length']),
        )
      }
    }
    const readers = Array.from({ length: 8 }, read)

    for (let index = 0; index < 40; index += 1) await planned(server, { authenticated: false })

    await Promise.all(readers)
    expect(known).toBe(40)
  })
})

describe('who waits after login', () => {
  test('a token that is revoked during a wait learns nothing more', async () => {
    await using server = await borrowServer()
    const { body } = await server.root.write('auth/token/create', { policies: ['team'] })
    const token = String(body['auth']?.['client_token'])
    await planned(server, { audience: { policies: ['team'] } })
    const { again } = await poll(server, after, { token })
    const waiting = again()

    await server.root.write('auth/token/revoke', { token })
    await planned(server, { audience: { policies: ['team'] } })
    const answer = await waiting

    expect([answer.status, answer.body['data']]).toEqual([200, {}])
  })

  test('a token that is revoked during a wait learns nothing, even if its messages are unchanged', async () => {
    await using server = await borrowServer()
    const { body } = await server.root.write('auth/token/create', { policies: ['team'] })
    const token = String(body['auth']?.['client_token'])
    await planned(server)
    const { again } = await poll(server, after, { token })
    const waiting = again()

    await server.root.write('auth/token/revoke', { token })
    await planned(server, { authenticated: false })
    const answer = await waiting

    expect([answer.status, answer.body['data']]).toEqual([200, {}])
  })

  test('a message for others is not a change', async () => {
    await using server = await borrowServer()
    const { again } = await poll(server, after, { token: 'root' })
    const waiting = again()

    await planned(server, { audience: { policies: ['team'] } })
    const id = await planned(server, { audience: { policies: ['root'] } })

    expect(keysOf(await waiting)).toEqual([id])
  })
})

describe('places to wait', () => {
  test('beyond the limit a request gets 429 with Retry-After, and a change frees a place', async () => {
    await using server = await startTestServer({ settings: { MESSAGE_WAITERS: '1' } })
    const { again } = await poll(server, before)

    const { held, refused } = await oneHeld(again)
    expect([refused.status, refused.body]).toEqual([429, errors(tooMany)])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await (await poll(server, after, { token: 'root' })).again('0')).status).toBe(304)
    await planned(server, { authenticated: false })

    expect((await held).status).toBe(200)
    expect((await (await poll(server, before)).again('1ms')).status).toBe(304)
  })

  test('each address has its own places', async () => {
    await using server = await startTestServer({ settings: { MESSAGE_WAITERS: '1' } })
    const { etag, again } = await poll(server, before)
    const { held } = await oneHeld(again)

    const other = await server.anonymous.read(`${before}?wait=1ms`, {
      headers: { 'If-None-Match': etag },
      localAddress: '127.0.0.2',
    })

    expect(other.status).toBe(304)
    await planned(server, { authenticated: false })
    await held
  })

  test('a client counts as one, whichever address of its IPv6 network it uses', async () => {
    await using server = await startTestServer({
      settings: { MESSAGE_WAITERS: '1', TRUSTED_PROXIES: '127.0.0.0/8' },
    })
    const { etag } = await poll(server, before)
    const ask = (from: string, wait: string) =>
      server.anonymous.read(`${before}?wait=${wait}`, {
        headers: { 'If-None-Match': etag, 'X-Forwarded-For': from },
      })
    const { held } = await oneHeld(() => ask('2001:db8:1:2::1', '60s'))

    const answers: number[] = []
    for (const from of ['2001:db8:1:2:ffff::9', '2001:0DB8:1:2::1', '2001:db8:1:3::1', '64:ff9b::1'])
      answers.push((await ask(from, '1ms')).status)

    expect(answers).toEqual([429, 429, 304, 304])
    await planned(server, { authenticated: false })
    expect((await held).status).toBe(200)
  })

  test.each([
    {
      name: 'counts for a trusted proxy',
      settings: { TRUSTED_PROXIES: '127.0.0.0/8' },
      statuses: [429, 304, 304, 429],
    },
    {
      name: 'counts for no one else',
      settings: { TRUSTED_PROXIES: '192.0.2.0/24' },
      statuses: [429, 429, 429, 429],
    },
  ])('X-Forwarded-For $name', async ({ settings, statuses }) => {
    await using server = await startTestServer({ settings: { MESSAGE_WAITERS: '1', ...settings } })
    const { etag } = await poll(server, before)
    const ask = (from: string, wait: string) =>
      server.anonymous.read(`${before}?wait=${wait}`, {
        headers: { 'If-None-Match': etag, 'X-Forwarded-For': from },
      })
    const { held } = await oneHeld(() => ask('198.51.100.1', '60s'))

    const answers: number[] = []
    for (const from of ['198.51.100.1', '198.51.100.2', '2001:db8::1', '198.51.100.2, 198.51.100.1'])
      answers.push((await ask(from, '1ms')).status)

    expect(answers).toEqual(statuses)
    await planned(server, { authenticated: false })
    expect((await held).status).toBe(200)
  })

  test('a client that disconnects frees its place', async () => {
    await using server = await startTestServer({ settings: { MESSAGE_WAITERS: '1' } })
    const { etag, again } = await poll(anew(server), before)
    const { hostname, port } = new URL(server.url)
    const request = `GET /v1/${before}?wait=60s HTTP/1.1\r\nHost: x\r\nIf-None-Match: ${etag}\r\n\r\n`

    for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => undefined)
      socket.write(request)
      // until this one is held, the others may briefly find the place free
      while ((await again('1ms')).status !== 429);
      socket[leave]()
      while ((await again('1ms')).status !== 304);
    }
  })

  test('requests after a waiting one on the same connection are answered after it', async () => {
    await using server = await borrowServer()
    const { etag } = await poll(server, before)
    const { hostname, port } = new URL(server.url)
    const get = (path: string) => `GET /v1/${path} HTTP/1.1\r\nHost: x\r\nIf-None-Match: ${etag}\r\n`
    const socket = connect(Number(port), hostname)
    socket.write(`${get(`${before}?wait=50ms`)}\r\n${get(before)}Connection: close\r\n\r\n`)

    let text = ''
    for await (const chunk of socket) text += String(chunk)

    expect(text.match(/HTTP\/1\.1 304/g)).toHaveLength(2)
  })

  test('several waits on one connection each count, and end with it without a warning', async () => {
    await using server = await startTestServer({ settings: { MESSAGE_WAITERS: '8', MAX_IN_FLIGHT: '40' } })
    const { etag, again } = await poll(anew(server), before)
    const warnings: string[] = []
    const note = ({ name }: Error) => warnings.push(name)
    process.on('warning', note)
    const { hostname, port } = new URL(server.url)

    for (let round = 0; round < 3; round += 1) {
      const socket = connect(Number(port), hostname)
      // as many as may be under way on one connection: docs/limits.md
      socket.write(
        `GET /v1/${before}?wait=60s HTTP/1.1\r\nHost: x\r\nIf-None-Match: ${etag}\r\n\r\n`.repeat(8),
      )
      while ((await again('1ms')).status !== 429);
      socket.destroy()
      while ((await again('1ms')).status !== 304);
    }
    process.off('warning', note)

    expect(warnings).toEqual([])
    expect((await server.root.read('auth/token/lookup-self')).status).toBe(200)
  })

  test('waiting requests do not block others', async () => {
    await using server = await startTestServer({ settings: { MAX_IN_FLIGHT: '2', MESSAGE_WAITERS: '9' } })
    const { again } = await poll(server, before)
    const waiting: Promise<Answer>[] = []
    for (let index = 0; index < 9; index += 1) {
      waiting.push(again())
      // one more is held, or this one is briefly refused
      while ((await server.root.read('auth/token/lookup-self')).status !== 200);
    }

    await planned(server, { authenticated: false })

    for (const answer of await Promise.all(waiting)) expect([200, 503]).toContain(answer.status)
    expect((await server.root.read('auth/token/lookup-self')).status).toBe(200)
  })
})

describe('what ends all waits', () => {
  test('stopping the server, at once', async () => {
    const server = await startTestServer({ settings: { MESSAGE_WAITERS: '1' } })
    const { held } = await oneHeld((await poll(server, before)).again)

    await server[Symbol.asyncDispose]()

    const answer = await held
    expect([answer.status, answer.headers['connection']]).toEqual([304, 'close'])
  })

  test('sealing the server', async () => {
    await using server = await startTestServer({ settings: { MESSAGE_WAITERS: '1' } })
    const { held } = await oneHeld((await poll(server, before)).again)

    await server.root.call('PUT', 'sys/seal')

    expect((await held).body).toEqual(errors('Vault is sealed'))
  })

  test('deleting the namespace', async () => {
    await using server = await startTestServer({ settings: { MESSAGE_WAITERS: '1' } })
    await server.root.write('sys/namespaces/a', {})
    const { held } = await oneHeld((await poll(server, before, { namespace: 'a' })).again)

    await server.root.delete('sys/namespaces/a')

    expect((await held).status).toBe(404)
    while ((await server.root.read('sys/namespaces/a')).status !== 404);
  })

  test('locking the namespace, with nothing revealed at the end of a wait', async () => {
    await using server = await startTestServer({ settings: { MESSAGE_WAITERS: '1' } })
    await server.root.write('sys/namespaces/a', {})
    const { held } = await oneHeld((await poll(server, before, { namespace: 'a' })).again)

    await server.root.write('sys/namespaces/api-lock/lock/a')
    await planned(server, { authenticated: false })

    expect((await held).status).toBe(503)
  })
})
