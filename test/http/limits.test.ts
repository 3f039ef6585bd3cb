import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { StorageFaults } from '../../src/storage/faults.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { collect } from '../support/collect.ts'
import { errors, errorText, invalidToken, notAccepted } from '../support/error-bodies.ts'
import { shared } from '../support/shared.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { Gate, oddType } from './odd-type.ts'
import { type Answer, chunked, head, openWire, type Wire } from './wire.ts'

/** For the tests that leave behind nothing that others would notice. */
const sharedServer = shared(() => startTestServer())

const MiB = 1024 * 1024
const root = 'X-Vault-Token: root'
const overloaded = { errors: ['server is overloaded'] }
const json = (answer: Answer | undefined) => JSON.parse(answer?.body ?? '')

describe('bodies over the limit', () => {
  const maxBytes = 64 * 1024
  const settings = { MAX_REQUEST_SIZE: '64KiB' }
  const limitedServer = shared(() => startTestServer({ settings }))
  const smallServer = shared(() => startTestServer({ settings: { MAX_REQUEST_SIZE: '1KiB' } }))
  const refused = errors('http: request body too large')

  test.each([
    { name: 'too large', head: ['POST', '/v1/cubbyhole/a'], status: 413 },
    { name: 'for no path', head: ['POST', '//v1'], status: 404 },
    { name: 'for a verb nobody offers', head: ['FOO', '/v1/x'], status: 405 },
    { name: 'of a read', head: ['GET', '/v1/cubbyhole/a'], status: 404 },
  ])(
    'a client that closes after the response gets it, although its body is not read: $name',
    async ({ head: [verb = '', path = ''], status }) => {
      const server = await (status === 413 ? smallServer : sharedServer)()
      using wire = await openWire(server.url)
      wire.send(head(verb, path, [root, 'Connection: close'], ' '.repeat(16 * MiB)))

      expect((await wire.untilClosed()).map((answer) => answer.status)).toEqual([status])
    },
  )

  test.each([
    { name: 'with Content-Length', request: (body: string) => head('POST', '/v1/cubbyhole/a', [root], body) },
    {
      name: 'in chunks',
      request: (body: string) => chunked('POST', '/v1/cubbyhole/a', body.match(/.{1,4096}/gs) ?? []),
    },
    { name: 'of a read', request: (body: string) => head('GET', '/v1/cubbyhole/a', [root], body) },
    {
      name: 'of a deletion, in chunks',
      request: (body: string) => chunked('DELETE', '/v1/cubbyhole/a', [body]),
    },
    { name: 'for a node-level path', request: (body: string) => head('PUT', '/v1/sys/unseal', [], body) },
  ])('$name are 413 with a body, and the connection stays open', async ({ request }) => {
    const server = await limitedServer()
    using wire = await openWire(server.url)

    wire.send(request(' '.repeat(maxBytes + 1)))
    wire.send(head('GET', '/health/live'))
    const [first, second] = await wire.answers(2)

    expect(first).toMatchObject({ status: 413, headers: { 'content-type': 'application/json' } })
    expect(json(first)).toEqual(refused)
    expect(second?.status).toBe(200)
  })

  test('whose rest arrives while the server closes do not hold it up', async () => {
    const server = await startTestServer({ settings })
    using wire = await openWire(server.url)
    const request = head('POST', '/v1/cubbyhole/a', [root], ' '.repeat(maxBytes + 1))
    wire.send(request.slice(0, -1))
    const [refusal] = await wire.answers(1)

    const closed = server[Symbol.asyncDispose]()
    const another = async () => (await openWire(server.url)).close()
    await expect.poll(() => another().catch(({ code }) => code)).toBe('ECONNREFUSED')
    wire.send(request.slice(-1))

    expect(refusal?.status).toBe(413)
    await closed
  })

  test('MAX_REQUEST_SIZE=0 is no limit', async () => {
    await using server = await startTestServer({ settings: { MAX_REQUEST_SIZE: '0' } })
    const document = `{"a":"b"}${' '.repeat(33 * MiB)}`

    const announced = await server.root.write('cubbyhole/a', undefined, { raw: document })
    using wire = await openWire(server.url)
    wire.send(chunked('POST', '/v1/cubbyhole/b', document.match(/.{1,65536}/gs) ?? []))
    const [inChunks] = await wire.answers(1)

    expect([announced.status, inChunks?.status]).toEqual([204, 403])
  })

  test('a body one byte below the limit is accepted', async () => {
    const server = await limitedServer()

    const answer = await server.root.write('cubbyhole/a', undefined, {
      raw: `{"a":"b"}${' '.repeat(maxBytes - 9)}`,
    })

    expect(answer.status).toBe(204)
  })

  test('a client that writes everything in chunks before it reads gets its response', async () => {
    const server = await limitedServer()
    using wire = await openWire(server.url)
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    wire.send(
      `${head('POST', '/v1/cubbyhole/a', [root, 'Transfer-Encoding: chunked'])}${chunk.repeat(200)}0\r\n\r\n`,
    )

    expect(json(await wire.answer())).toEqual(refused)
  })

  test('the default is 32 MiB, and a client that writes everything before it reads gets its response', async () => {
    const server = await sharedServer()
    using wire = await openWire(server.url)
    wire.send(head('POST', '/v1/cubbyhole/a', [root, `Content-Length: ${32 * MiB + 1}`]))
    wire.send(' '.repeat(32 * MiB + 1))

    expect(json(await wire.answer())).toEqual(refused)
  })
})

const openPaths = [
  'auth/jwt/login',
  'sys/unseal',
  'sys/seal',
  'sys/wrapping/lookup',
  'auth/jwt/oidc/callback',
  'sys/internal/specs/openapi',
  '/health',
]

/** Tokens and leases can be revoked. */
async function revokes(server: TestServer): Promise<void> {
  expect((await server.root.write('auth/token/revoke', { token: 'none' })).status).toBe(204)
  for (const path of ['sys/leases/revoke', 'sys/revoke'])
    expect((await server.root.write(path, { lease_id: 'none' })).status, path).toBe(204)
  expect((await server.root.write('sys/leases/revoke-prefix/none')).status).toBe(204)
}

describe('bodies on paths that need no token', () => {
  const refused = errors('http: request body too large')
  const announced = (path: string, bytes: number, headers: string[] = []) =>
    head('POST', path.startsWith('/') ? path : `/v1/${path}`, [...headers, `Content-Length: ${bytes}`])

  test.each(openPaths)('bodies over 1 MiB are 413 on the head, whoever sends them: %s', async (path) => {
    const server = await sharedServer()

    for (const headers of [[], ['X-Vault-Token: bogus'], [root]]) {
      using wire = await openWire(server.url)
      wire.send(announced(path, MiB + 1, headers))
      const answer = await wire.answer()
      expect(answer?.status).toBe(413)
      expect(json(answer)).toEqual(refused)
    }
  })

  test('chunked bodies are 413 as soon as they exceed 1 MiB', async () => {
    const server = await sharedServer()
    using wire = await openWire(server.url)
    wire.send(head('POST', '/v1/auth/jwt/login', ['Transfer-Encoding: chunked']))
    wire.send(`${(MiB + 1).toString(16)}\r\n${' '.repeat(MiB + 1)}`)

    expect(json(await wire.answer())).toEqual(refused)
  })

  test('a body of 1 MiB is accepted, and a larger one on paths that need a token', async () => {
    const server = await sharedServer()
    const sized = (bytes: number) => ({ raw: `{"a":"b"}${' '.repeat(bytes - 9)}` })

    expect((await server.anonymous.write('auth/jwt/login', undefined, sized(MiB))).status).toBe(400)
    expect((await server.root.write('cubbyhole/a', undefined, sized(MiB + 1))).status).toBe(204)
  })

  test.each<{ settings: Record<string, string>; most: number }>([
    { settings: { MAX_LOGIN_SIZE: '2KiB' }, most: 2048 },
    { settings: { MAX_LOGIN_SIZE: '0', MAX_REQUEST_SIZE: '2MiB' }, most: 2 * MiB },
    { settings: { MAX_LOGIN_SIZE: '2MiB', MAX_REQUEST_SIZE: '4KiB' }, most: 4096 },
  ])('the limit can be set: $settings', async ({ settings, most }) => {
    await using server = await startTestServer({ settings })

    const statuses = [most, most + 1].map((bytes) =>
      server.anonymous.write('auth/jwt/login', undefined, { raw: ' '.repeat(bytes) }),
    )

    expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([400, 413])
  })

  const tooMany = /^refused (?:JSON|form) input due to high complexity: exceeded maximum number of values$/
  const list = (values: number) => `{"a":[${Array.from({ length: values - 2 }, () => '1').join()}]}`
  const form = (values: number) => Array.from({ length: values }, (_, index) => `a${index}`).join('&')
  const typed = { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }

  test('bodies hold at most 10,000 values, including numbers', async () => {
    await using server = await startTestServer({ settings: { MAX_JSON_STRINGS: '0' } })

    for (const [raw, options] of [
      [list, {}],
      [form, typed],
    ] as const) {
      const full = await server.anonymous.write('auth/jwt/login', undefined, { raw: raw(10_000), ...options })
      const over = await server.anonymous.write('auth/jwt/login', undefined, { raw: raw(10_001), ...options })
      expect(errorText(full.body)).toBe('could not load configuration')
      expect(over.status).toBe(400)
      expect(errorText(over.body)).toMatch(tooMany)
    }
    expect(
      errorText((await server.anonymous.write('sys/unseal', undefined, { raw: list(10_001) })).body),
    ).toMatch(tooMany)
  })

  test.each([
    { name: 'of many values', raw: list(50_000), known: 204 },
    { name: 'that is no JSON', raw: '['.repeat(100_000), known: 400 },
  ])(
    'on other paths, a large body $name is read only if it comes with a valid token',
    async ({ raw, known }) => {
      const server = await sharedServer()

      expect((await server.root.write('cubbyhole/a', undefined, { raw })).status).toBe(known)
      for (const [stranger, body] of [
        [server.anonymous, notAccepted],
        [server.as('bogus'), invalidToken],
      ] as const) {
        expect(await stranger.write('cubbyhole/a', undefined, { raw })).toMatchObject({ status: 403, body })
      }
    },
  )

  test('a large body with the last use of a token is read, and the token is spent', async () => {
    const server = await sharedServer()
    const made = await server.root.write('auth/token/create', { num_uses: 1 })
    const once = server.as(String(made.body.auth?.client_token))

    expect((await once.write('cubbyhole/a', undefined, { raw: list(50_000) })).status).toBe(204)
    expect((await once.write('cubbyhole/a', { a: 'b' })).status).toBe(403)
  })
})

describe('JSON over the limits', () => {
  const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`

  test.each([
    {
      name: 'deeper than 10,000',
      raw: nested(10_001),
      text: /^failed to parse JSON input: .*exceeded max depth/,
    },
    { name: 'a million open brackets', raw: '['.repeat(1e6), text: /exceeded max depth/ },
    {
      name: '1,001 strings',
      raw: JSON.stringify({ a: Array.from({ length: 1000 }, () => 'x') }),
      text: /exceeded maximum number of strings$/,
    },
  ])('$name is 400, on every kind of path', async ({ raw, text }) => {
    const server = await sharedServer()

    for (const path of ['cubbyhole/a', 'auth/jwt/login', 'sys/unseal', 'nope']) {
      const { status, body } = await server.root.write(path, undefined, { raw })
      expect(status).toBe(400)
      expect(errorText(body)).toMatch(text)
    }
  })

  test.each([
    { name: 'a million small values', raw: `{"a":[${'1,'.repeat(1e6)}1]}` },
    { name: 'a million empty lists', raw: `{"a":[${'[],'.repeat(1e6)}[]]}` },
  ])('$name are 400 on every path that needs a token', async ({ raw }) => {
    const server = await sharedServer()

    for (const path of ['cubbyhole/a', 'nope']) {
      const { status, body } = await server.root.write(path, undefined, { raw })
      expect(status).toBe(400)
      expect(errorText(body)).toMatch(/exceeded maximum estimated memory limits$/)
    }
  })

  test('a value nested 10,000 deep is stored and read back', async () => {
    const server = await sharedServer()

    expect((await server.root.write('cubbyhole/a', undefined, { raw: nested(10_000) })).status).toBe(204)
    const { text } = await server.root.read('cubbyhole/a')

    expect(text).toContain(`"data":${nested(10_000)}`)
  })
})

/** Resolves when the server, whose limit is a single request, is idle. */
async function becomesIdle(server: TestServer): Promise<void> {
  for (;;) {
    if ((await server.root.read('auth/token/lookup-self')).status === 200) return
    await nextTurn()
  }
}

/** A write of `{"a":"b"}` whose head the server has read, and whose body is still to come. */
async function begunWrite(server: TestServer, from?: string) {
  const wire = await openWire(server.url, from)
  wire.send(head('POST', '/v1/cubbyhole/a', [root, 'Content-Length: 9', 'Expect: 100-continue']))
  expect((await wire.answer())?.status).toBe(100)
  return wire
}

/** A server whose reads of `odd/wait` wait at `gate`. */
async function startGatedServer(settings: Record<string, string>) {
  const gate = new Gate()
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) })
  const server = await startTestServer({ settings, log, plugins: [oddType(gate)] })
  expect((await server.root.write('sys/mounts/odd', { type: 'odd' })).status).toBe(204)
  return { gate, server, lines, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

const waiting = head('GET', '/v1/odd/wait', [root])
const exemptReads = [
  'sys/health',
  'sys/seal-status',
  'sys/leader',
  '/health',
  '/health/live',
  '/health/ready',
]

describe('MAX_IN_FLIGHT', () => {
  const settings = { MAX_IN_FLIGHT: '1', IN_FLIGHT_WAIT: '1ms' }

  test('requests beyond it get 503 with Retry-After, but state and revocation are served', async () => {
    await using gated = await startGatedServer(settings)
    const { gate, server, lines } = gated
    using slow = await openWire(server.url)
    slow.send(waiting)
    await gate.holds(1)

    expect(await server.root.read('auth/token/lookup-self')).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      body: overloaded,
    })
    expect(await server.anonymous.read('nope')).toMatchObject({ status: 503, body: overloaded })
    expect(await server.root.write('cubbyhole/a', { a: 'b' })).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      body: overloaded,
    })
    expect(lines.filter(({ event }) => event === 'overloaded')).toMatchObject([{ refused: 1 }])
    for (const path of exemptReads) expect((await server.anonymous.read(path)).status).toBe(200)
    await revokes(server)

    gate.open()
    expect((await slow.answer())?.status).toBe(200)
    expect((await server.root.write('cubbyhole/a', { a: 'b' })).status).toBe(204)
  })

  test('a request beyond it waits, and is served once a place is free', async () => {
    await using gated = await startGatedServer({ MAX_IN_FLIGHT: '1', IN_FLIGHT_WAIT: '1h' })
    const { gate, server } = gated
    using slow = await openWire(server.url)
    slow.send(waiting)
    await gate.holds(1)
    using next = await openWire(server.url)
    next.send(head('GET', '/v1/auth/token/lookup-self', [root]))
    // the server has met the request before it
    expect((await server.anonymous.read('/health/live')).status).toBe(200)

    gate.open()

    expect((await slow.answer())?.status).toBe(200)
    expect((await next.answer())?.status).toBe(200)
  })

  test('a login over the limit of its role is refused without waiting for a place', async () => {
    await using gated = await startGatedServer({ MAX_IN_FLIGHT: '1', IN_FLIGHT_WAIT: '1h' })
    const { gate, server } = gated
    const rule = { path: 'auth/jwt', role: 'ci', rate: 1, interval: '1h' }
    expect((await server.root.write('sys/quotas/rate-limit/ci', rule)).status).toBe(204)
    const login = () => server.anonymous.write('auth/jwt/login', { role: 'ci', jwt: 'a.b.c' })
    expect((await login()).status).toBe(400)
    using slow = await openWire(server.url)
    slow.send(waiting)
    await gate.holds(1)

    expect((await login()).status).toBe(429)

    const other = server.anonymous.write('auth/jwt/login', { role: 'other', jwt: 'a.b.c' })
    gate.open()
    expect((await slow.answer())?.status).toBe(200)
    expect((await other).status).toBe(400)
  })

  test('requests that are still arriving do not count', async () => {
    await using server = await startTestServer({ settings })
    using counted = await begunWrite(server)
    using inChunks = await openWire(server.url)
    inChunks.send(head('POST', '/v1/auth/jwt/login', ['Transfer-Encoding: chunked', 'Expect: 100-continue']))
    expect((await inChunks.answer())?.status).toBe(100)
    inChunks.send('ff\r\n{"a":')

    expect((await server.root.read('auth/token/lookup-self')).status).toBe(200)
    expect((await server.root.write('cubbyhole/b', { a: 'b' })).status).toBe(204)

    counted.send('{"a":"b"}')
    expect((await counted.answer())?.status).toBe(204)
  })

  const faults = new StorageFaults()
  const slowServer = shared(() => startTestServer({ settings, faults }))
  test.each([
    {
      name: 'in the middle of a body',
      sent: `${head('POST', '/v1/cubbyhole/a', [root, 'Content-Length: 900'])}{"a":`,
    },
    {
      name: 'in the middle of a chunk',
      sent: `${head('POST', '/v1/cubbyhole/a', [root, 'Transfer-Encoding: chunked'])}ff\r\n{"a":`,
    },
    { name: 'while it is served', sent: head('POST', '/v1/cubbyhole/a', [root], '{"a":"b"}') },
    {
      name: 'with more requests in the pipe',
      sent: head('POST', '/v1/cubbyhole/a', [root], '{"a":"b"}').repeat(5),
    },
    {
      name: 'behind a refused head',
      sent: head('POST', '/v1/cubbyhole/a', [root, 'Content-Length: 999999999']),
    },
  ])('a client that leaves $name frees its place', async ({ sent }) => {
    const server = await slowServer()
    faults.delay('storage.before-commit', 5)

    for (let round = 0; round < 20; round++) {
      using wire = await openWire(server.url)
      wire.send(sent)
      await nextTurn()
    }

    await becomesIdle(server)
  })

  test('work for a client that left is still counted', async () => {
    const faults = new StorageFaults()
    await using folder = await temporaryFolder()
    const onDisk = {
      STORAGE: `sqlite:${folder.file('gatehouse.db')}`,
      SEAL_KEY_FILE: folder.file('seal.key'),
    }
    await using server = await startTestServer({ settings: { ...settings, ...onDisk }, faults })
    faults.delay('storage.before-commit', 300)
    using gone = await begunWrite(server)
    gone.send('{"a":"b"}')
    for (let other = 0; other < 5; other++) await server.anonymous.read('/health/live')
    gone.close()
    await server.anonymous.read('/health/live')

    expect((await server.root.read('auth/token/lookup-self')).status).toBe(503)
    await becomesIdle(server)
    expect((await server.root.read('cubbyhole/a')).status).toBe(200)
  })
})

describe('MAX_BUFFERED', () => {
  const settings = { MAX_BUFFERED: '128KiB' }
  const half = '"'.padEnd(70_000, 'x')

  /** Sends the first part of a body, and waits until the server has read it. */
  async function holdsBody(server: TestServer) {
    const wire = await openWire(server.url)
    wire.send(`${head('POST', '/v1/cubbyhole/a', [root, 'Content-Length: 100000'])}${half}`)
    return wire
  }

  test('a body that no longer fits gets 503 with Retry-After, and small token revocations still pass', async () => {
    await using server = await startTestServer({ settings })
    using first = await holdsBody(server)
    using second = await holdsBody(server)
    const refused = await Promise.race([first.answer(), second.answer()])

    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(json(refused)).toEqual(overloaded)
    await revokes(server)
  })

  test('small bodies find room while large ones stay unfinished: the largest is dropped', async () => {
    await using server = await startTestServer({ settings })
    const unfinished = async (bytes: number) => {
      const wire = await openWire(server.url)
      wire.send(head('POST', '/v1/cubbyhole/a', ['Content-Length: 100000', 'Expect: 100-continue']))
      expect((await wire.answer())?.status).toBe(100)
      wire.send(' '.repeat(bytes))
      return wire
    }
    using larger = await unfinished(70_000)
    using smaller = await unfinished(50_000)

    for (let round = 0; round < 10; round++) {
      expect((await server.root.write('cubbyhole/a', { a: 'x'.repeat(20_000) })).status).toBe(204)
    }

    expect(await larger.answer()).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    smaller.send(' '.repeat(50_000))
    expect((await smaller.answer())?.status).toBe(403)
  })

  const bufferingServer = shared(() => startTestServer({ settings }))
  test.each([
    { name: 'when they are answered', sent: `{"a":${half}"}`, answers: 1 },
    { name: 'when they are refused', sent: `{"a":${half}`, answers: 1 },
    { name: 'when the client leaves', sent: undefined, answers: 0 },
  ])('the memory of bodies is released $name', async ({ sent, answers }) => {
    const server = await bufferingServer()

    for (let round = 0; round < 10; round++) {
      using wire = sent === undefined ? await holdsBody(server) : await openWire(server.url)
      if (sent !== undefined) wire.send(head('POST', '/v1/cubbyhole/a', [root], sent))
      for (const answer of await wire.answers(answers)) expect(answer.status).not.toBe(503)
      wire.close()
      await nextTurn()
    }

    await expect
      .poll(async () => (await server.root.write('cubbyhole/a', { a: 'x'.repeat(70_000) })).status)
      .toBe(204)
  })

  test('large responses count until their clients have received them', async () => {
    await using server = await startTestServer({ settings: { MAX_BUFFERED: '20MiB' } })
    const polled = 'sys/internal/ui/unauthenticated-messages'
    const made = await server.root.write('sys/config/ui/custom-messages', {
      title: 't',
      message: 'QUJD'.repeat(4 * MiB),
      start_time: 0,
      authenticated: false,
    })
    expect(made.status).toBe(200)
    const { hostname, port } = new URL(server.url)
    const slow = [1, 2].map(() => connect(Number(port), hostname).on('error', () => undefined))
    for (const socket of slow) {
      socket.write(head('GET', `/v1/${polled}`))
      await once(socket, 'readable')
    }

    const refused = await server.anonymous.read(polled)
    expect(refused).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1', 'cache-control': 'no-store' },
      body: overloaded,
    })
    expect(refused.headers['etag']).toBeUndefined()
    expect((await server.anonymous.read('sys/internal/ui/authenticated-messages')).status).toBe(200)

    for (const socket of slow) socket.destroy()
    await expect.poll(async () => (await server.anonymous.read(polled)).status).toBe(200)
  })

  test('a list that would take more is refused before it is complete, and its parts are sent', async () => {
    await using server = await startTestServer({ settings: { MAX_BUFFERED: '16KiB' } })
    await server.root.write('sys/mounts/secret', { type: 'kv-v2' })
    await Promise.all(
      Array.from({ length: 60 }, (_, key) => server.root.write(`secret/data/${key}`, { data: { key } })),
    )

    const all = await server.root.list('secret/detailed-metadata')

    expect(all).toMatchObject({
      status: 400,
      body: errors(
        'the list is longer than a response may be: ask for parts of it, with "limit" and "after"',
      ),
    })
    expect((await server.root.list('secret/detailed-metadata?limit=20')).body.data?.keys).toHaveLength(20)
  })

  test('a body sent in single bytes counts by its length', async () => {
    await using server = await startTestServer({ settings: { BODY_TIMEOUT: '1m' } })
    using wire = await openWire(server.url)
    const bytes = 250_000
    collect()
    const before = process.memoryUsage().heapUsed
    wire.send(head('POST', '/v1/cubbyhole/a', [root, 'Transfer-Encoding: chunked']))
    wire.send('1\r\n \r\n'.repeat(bytes))
    await expect.poll(() => wire.isDrained, { timeout: 20_000 }).toBe(true)
    // what is left counts, not what the parser makes and drops for each chunk
    collect()
    const during = process.memoryUsage().heapUsed
    wire.send('0\r\n\r\n')

    expect((await wire.answer())?.status).toBe(400)
    expect(during - before).toBeLessThan(bytes * 40)
  })
})

describe('MAX_CONNECTIONS', () => {
  const ping = head('GET', '/v1/sys/seal-status')
  const pong = async (wire: Wire) => {
    wire.send(ping)
    expect((await wire.answer())?.status).toBe(200)
  }
  const served = async (server: TestServer, from?: string) => {
    const wire = await openWire(server.url, from)
    await pong(wire)
    return wire
  }
  const everyone = { MAX_CONNECTION_SHARE: '100%' }
  /** What tests leave on it has been idle longer than what the next one opens. */
  const smallServer = shared(() => startTestServer({ settings: { MAX_CONNECTIONS: '2', ...everyone } }))

  test('a client holds at most its share, and its own longest idle connection makes room for its next', async () => {
    await using server = await startTestServer({ settings: { MAX_CONNECTIONS: '29' } })
    using first = await served(server, '127.0.0.2')
    using second = await served(server, '127.0.0.2')
    using other = await served(server, '127.0.0.3')
    await pong(first)

    using third = await served(server, '127.0.0.2')

    expect(await second.untilClosed()).toEqual([])
    for (const wire of [first, third, other]) await pong(wire)
  })

  test.each([
    { name: 'says nothing', sent: '' },
    { name: 'sends part of a head', sent: 'POST /v1/auth/jwt/login HTTP/1.1\r\nHost:' },
    {
      name: 'sends a head without its body',
      sent: head('POST', '/v1/auth/jwt/login', ['Content-Length: 9']),
    },
    {
      name: 'sends part of a chunk',
      sent: `${head('POST', '/v1/auth/jwt/login', ['Transfer-Encoding: chunked'])}ff\r\n{"a":`,
    },
    {
      name: 'waits for the rest of a refused body',
      sent: head('POST', '/v1/auth/jwt/login', ['Content-Length: 99999999']),
    },
  ])(
    'a full server closes the connection that has been idle longest, even if its client $name',
    async ({ sent }) => {
      const server = await smallServer()
      using silent = await openWire(server.url, '127.0.0.2')
      silent.send(sent)
      using second = await served(server, '127.0.0.2')

      using third = await served(server, '127.0.0.3')

      await silent.untilClosed()
      for (const wire of [second, third]) await pong(wire)
    },
  )

  test('a connection whose client does not read its responses is closed too', async () => {
    await using gated = await startGatedServer({ MAX_CONNECTIONS: '1', ...everyone })
    const { server } = gated
    const { hostname, port } = new URL(server.url)
    const slow = connect(Number(port), hostname).on('error', () => undefined)
    const closed = once(slow, 'close')
    slow.write(head('GET', '/v1/odd/large', [root]).repeat(20))
    await once(slow, 'readable')

    using next = await served(server)

    slow.resume()
    await closed
    await pong(next)
  })

  test('a connection is idle since its last response, not since its last request', async () => {
    await using gated = await startGatedServer({ MAX_CONNECTIONS: '2', ...everyone })
    const { gate, server } = gated
    using slow = await openWire(server.url)
    slow.send(waiting)
    await gate.holds(1)
    using quick = await served(server)
    gate.open()
    expect((await slow.answer())?.status).toBe(200)

    using next = await served(server)

    expect(await quick.untilClosed()).toEqual([])
    for (const wire of [slow, next]) await pong(wire)
  })

  test('while requests run on all connections, only state, sealing and revocation are served on further ones', async () => {
    await using gated = await startGatedServer({ MAX_CONNECTIONS: '2', ...everyone })
    const { gate, server } = gated
    using busy = await openWire(server.url)
    using alsoBusy = await openWire(server.url)
    for (const wire of [busy, alsoBusy]) wire.send(waiting)
    await gate.holds(2)

    for (const path of exemptReads) {
      expect(await server.anonymous.read(path)).toMatchObject({
        status: 200,
        headers: { connection: 'close' },
      })
    }
    await revokes(server)
    for (const refused of [
      await server.root.read('auth/token/lookup-self'),
      await server.anonymous.read('sys/internal/ui/unauthenticated-messages'),
      await server.root.write('cubbyhole/a', { a: 'b' }),
    ]) {
      expect(refused).toMatchObject({
        status: 503,
        headers: { 'retry-after': '1', connection: 'close' },
        body: overloaded,
      })
    }
    // sealing also ends requests that wait at the gate
    expect((await server.root.write('sys/seal')).status).toBe(204)
    gate.open()
    expect((await busy.answer())?.status).toBe(200)
    expect((await server.anonymous.read('sys/seal-status')).body).toMatchObject({ sealed: true })
  })

  test('a connection beyond the limit becomes an ordinary one when there is room', async () => {
    await using gated = await startGatedServer({ MAX_CONNECTIONS: '1', ...everyone })
    const { gate, server } = gated
    using busy = await openWire(server.url)
    busy.send(waiting)
    await gate.holds(1)
    using beyond = await openWire(server.url)
    gate.open()
    expect((await busy.answer())?.status).toBe(200)

    for (let round = 0; round < 3; round++) {
      beyond.send(head('GET', '/v1/auth/token/lookup-self', [root]))
      expect((await beyond.answer())?.status).toBe(200)
    }
  })

  test('however many silent clients exceed the limit, a health check is answered', async () => {
    await using gated = await startGatedServer({ MAX_CONNECTIONS: '1', ...everyone })
    const { gate, server } = gated
    using busy = await openWire(server.url)
    busy.send(waiting)
    await gate.holds(1)
    const silent = await Promise.all(Array.from({ length: 200 }, () => openWire(server.url)))

    expect((await server.anonymous.read('/health/ready')).status).toBe(200)

    gate.open()
    expect((await busy.answer())?.status).toBe(200)
    for (const wire of silent) wire.close()
  })

  describe('behind a trusted proxy', () => {
    const proxied = { MAX_CONNECTIONS: '20', TRUSTED_PROXIES: '127.0.0.1/32' }
    const forwarded = (address: string) => `X-Forwarded-For: ${address}`
    const unfinished = async (server: TestServer, address: string) => {
      const wire = await openWire(server.url)
      wire.send(
        head('POST', '/v1/cubbyhole/a', [
          root,
          forwarded(address),
          'Content-Length: 9',
          'Expect: 100-continue',
        ]),
      )
      expect((await wire.answer())?.status).toBe(100)
      return wire
    }

    test('requests count for their forwarded address, IPv6 by /64', async () => {
      await using server = await startTestServer({ settings: proxied })
      using first = await unfinished(server, '2001:db8::1')
      using other = await unfinished(server, '2001:db8:0:1::1')
      using second = await unfinished(server, '2001:db8::2')

      using third = await unfinished(server, '2001:db8::3')

      expect(await first.untilClosed()).toEqual([])
      for (const wire of [second, third, other]) {
        wire.send('{"a":"b"}')
        expect((await wire.answer())?.status).toBe(204)
      }
    })

    test('connections without a request count for nobody, and serve different clients in turn', async () => {
      await using server = await startTestServer({ settings: proxied })
      const pool = await Promise.all(Array.from({ length: 10 }, () => openWire(server.url)))

      for (const client of ['192.0.2.1', '192.0.2.2']) {
        for (const wire of pool) {
          wire.send(head('GET', '/v1/auth/token/lookup-self', [root, forwarded(client)]))
          expect((await wire.answer())?.status).toBe(200)
        }
      }
      for (const wire of pool) wire.close()
    })

    test("a client beyond its share gets 503, and the proxy's connection stays open for others", async () => {
      await using gated = await startGatedServer({ ...proxied })
      const { gate, server } = gated
      using busy = await openWire(server.url)
      using alsoBusy = await openWire(server.url)
      const asked = head('GET', '/v1/odd/wait', [root, forwarded('192.0.2.1')])
      for (const wire of [busy, alsoBusy]) wire.send(asked)
      await gate.holds(2)
      using wire = await openWire(server.url)
      const statusFor = async (client: string, path = 'auth/token/lookup-self') => {
        wire.send(head('GET', `/v1/${path}`, [root, forwarded(client)]))
        return (await wire.answer())?.status
      }

      expect([
        await statusFor('192.0.2.1'),
        await statusFor('192.0.2.2'),
        await statusFor('192.0.2.1', 'sys/health'),
      ]).toEqual([503, 200, 200])

      gate.open()
      expect((await busy.answer())?.status).toBe(200)
      expect((await alsoBusy.answer())?.status).toBe(200)
      expect(await statusFor('192.0.2.1')).toBe(200)
    })
  })
})

describe('clients that half-close the connection', () => {
  test('a client that half-closes after its login gets its token', async () => {
    const server = await sharedServer()
    const signer = aSigner('ES256')
    await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
    await server.root.write('auth/jwt/role/r', { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'a' })
    const seconds = Math.floor(Date.now() / 1000)
    const jwt = signer.sign({ sub: 'x', aud: 'a', iat: seconds, exp: seconds + 600 })
    using wire = await openWire(server.url)
    wire.send(head('POST', '/v1/auth/jwt/login', [], JSON.stringify({ role: 'r', jwt })))
    wire.end()

    const [answer, ...more] = await wire.untilClosed()

    expect(more).toEqual([])
    expect(answer?.status).toBe(200)
    expect((await server.as(json(answer).auth.client_token).read('auth/token/lookup-self')).status).toBe(200)
  })

  test('a client whose response takes long is probed, and gets its response', async () => {
    await using gated = await startGatedServer({})
    const { gate, server } = gated
    using wire = await openWire(server.url)
    wire.send(waiting)
    wire.end()
    await gate.holds(1)

    expect((await wire.answer())?.status).toBe(100)
    gate.open()

    expect((await wire.untilClosed()).map(({ status }) => status)).toEqual([200])
  })

  test('no work is done for a client that has disconnected', async () => {
    await using server = await startTestServer({ settings: { MESSAGE_WAITERS: '1' } })
    const polled = 'sys/internal/ui/unauthenticated-messages'
    const known = { 'If-None-Match': String((await server.anonymous.read(polled)).headers['etag']) }
    const waitBriefly = async () =>
      (await server.anonymous.read(`${polled}?wait=1ms`, { headers: known })).status
    const gone = connect(Number(new URL(server.url).port), '127.0.0.1')
    gone.write(head('GET', `/v1/${polled}?wait=60`, [`If-None-Match: ${known['If-None-Match']}`]))
    // nobody else may have the only place when it asks
    const inProgress = async () => (await server.root.read('sys/in-flight-req')).text
    await expect.poll(inProgress).toContain(polled)
    expect(await waitBriefly()).toBe(429)

    gone.destroy()

    await expect.poll(waitBriefly).toBe(304)
  })
})

describe('heads over the limits', () => {
  test.each([
    {
      name: 'a token of 1 MiB',
      request: head('GET', '/v1/sys/mounts', [`X-Vault-Token: ${'x'.repeat(MiB)}`]),
      status: 431,
    },
    {
      name: 'a namespace of 1 MiB',
      request: head('LIST', '/v1/sys/mounts', [`X-Vault-Namespace: ${'x'.repeat(MiB)}`]),
      status: 431,
    },
    {
      name: 'two thousand headers',
      request: head(
        'GET',
        '/v1/sys/mounts',
        Array.from({ length: 2000 }, (_, i) => `x${i}: y`),
      ),
      status: 431,
    },
    { name: 'a path of 33 KiB', request: head('GET', `/v1/${'x'.repeat(33 * 1024)}`), status: 431 },
    { name: 'a query of 33 KiB', request: head('LIST', `/v1/x?${'x'.repeat(33 * 1024)}`), status: 431 },
    { name: 'a path of 1 MiB', request: head('GET', `/v1/${'x'.repeat(MiB)}`), status: 431 },
    { name: 'a broken escape', request: head('GET', '/v1/sys/%zz'), status: 400 },
    { name: 'half an escape', request: head('GET', '/v1/sys/%4'), status: 400 },
    { name: 'a method nobody could mean', request: head('X'.repeat(40), '/v1/sys/mounts'), status: 400 },
  ])('$name is $status', async ({ request, status }) => {
    const server = await sharedServer()
    using wire = await openWire(server.url)
    wire.send(request)

    const answer = await wire.answer()

    expect(answer).toMatchObject({
      status,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    })
    expect(json(answer)).toEqual(errors())
  })

  test('MAX_HEAD_SIZE and MAX_HEAD_FIELDS allow more: then a target over 64 KiB is 414', async () => {
    const settings = { MAX_HEAD_SIZE: '128KiB', MAX_HEAD_FIELDS: '1000' }
    await using server = await startTestServer({ settings })
    using wire = await openWire(server.url)
    wire.send(head('GET', `/v1/${'x'.repeat(65 * 1024)}`))
    const headers = Object.fromEntries(Array.from({ length: 990 }, (_, index) => [`x${index}`, 'y']))

    expect((await server.root.read('sys/mounts', { headers })).status).toBe(200)
    expect((await wire.answer())?.status).toBe(414)
  })

  test('a token longer than any valid one is refused like any invalid token', async () => {
    const server = await sharedServer()

    expect(await server.as('x'.repeat(30_000)).read('sys/mounts')).toMatchObject({
      status: 403,
      body: invalidToken,
    })
  })
})

describe('slow clients', () => {
  test('half a head is 408 after HEADER_TIMEOUT, and half a body after BODY_TIMEOUT', async () => {
    await using server = await startTestServer({
      settings: { HEADER_TIMEOUT: '100ms', BODY_TIMEOUT: '200ms' },
    })
    using heads = await openWire(server.url)
    using bodies = await openWire(server.url)
    heads.send('GET /v1/sys/mounts HTTP/1.1\r\nHost:')
    bodies.send(`${head('POST', '/v1/cubbyhole/a', [root, 'Content-Length: 9'])}{`)

    expect(await heads.answer()).toMatchObject({ status: 408, body: '{"errors":[]}\n' })
    expect(await bodies.answer()).toMatchObject({ status: 408, body: '{"errors":[]}\n' })
  })
})

test('requests to a mount that is being disabled are either served or told that it is gone', async () => {
  const faults = new StorageFaults()
  await using server = await startTestServer({ faults })
  expect((await server.root.write('sys/auth/busy', { type: 'jwt' })).status).toBe(204)
  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['x'] }
  faults.delay('storage.before-commit', 3)

  const writes = Array.from({ length: 100 }, (_, index) =>
    server.root.write(`auth/busy/role/r${index}`, role),
  )
  const disabled = server.root.delete('sys/auth/busy')
  const more = Array.from({ length: 100 }, (_, index) => server.root.read(`auth/busy/role/r${index}`))
  const answers = await Promise.all([...writes, ...more])

  expect((await disabled).status).toBe(204)
  for (const { status, body } of answers) {
    if (status === 204 || status === 200 || body['errors']?.['length'] === (0 as unknown)) continue
    expect(status).toBe(404)
    expect(errorText(body)).toMatch(/^no handler for route "auth\/busy\/role\/r\d+"/)
  }
  faults.delay('storage.before-commit', 0)
  expect((await server.root.write('sys/auth/busy', { type: 'jwt' })).status).toBe(204)
  expect((await server.root.list('auth/busy/role')).status).toBe(404)
})
