import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startProvider } from '../plugins/jwt-auth/provider.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

type Attribute = { key: string; value: Record<string, unknown> }
type SpanRecord = {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: Attribute[]
}

/** A collector that takes spans as OTLP over HTTP, in JSON, or refuses them. */
async function startCollector(status = 200) {
  const spans: SpanRecord[] = []
  let text = ''
  let resource: Attribute[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    text += body
    for (const one of JSON.parse(body).resourceSpans) {
      resource = one.resource.attributes
      for (const scope of one.scopeSpans) spans.push(...scope.spans)
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    text: () => text,
    resource: () => resource,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'
const secrets = ['hunter2', 'secret-subject', 'secret-name']

const stack = new AsyncDisposableStack()
let collector: Awaited<ReturnType<typeof startCollector>>
let server: TestServer
/** The `traceparent` headers that the issuer of keys has received. */
const received: string[] = []
let token = ''

beforeAll(async () => {
  collector = stack.use(await startCollector())
  const signer = aSigner('ES256', { kid: 'one' })
  const issuer = stack.use(
    await startProvider({
      '/keys': (response, { headers }) => {
        received.push(String(headers['traceparent']))
        response.end(JSON.stringify({ keys: [signer.jwk] }))
      },
    }),
  )
  server = await startTestServer({
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    },
  })
  await server.root.write('auth/jwt/config', { jwks_url: `${issuer.url}/keys` })
  await server.root.write('auth/jwt/role/ci', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gate',
  })
  const exp = Math.floor(Date.now() / 1000) + 60
  const jwt = signer.sign({ sub: 'secret-subject', aud: 'gate', exp })
  const headers = { traceparent: `00-${traceId}-${parentId}-01` }
  const login = await server.anonymous.write('auth/jwt/login', { role: 'ci', jwt }, { headers })
  token = String(login.body['auth']?.['client_token'])
  await server.root.write('cubbyhole/secret-name', { password: 'hunter2' })
  await server.root.read('cubbyhole/secret-name?note=hunter2', { headers: { 'X-Note': 'hunter2' } })
  for (const data of [{ password: 'hunter2' }, 'hunter2'])
    await server.root.write('secret/data/secret-name', { data, options: { cas: 0 } })
  await server.root.read('secret/data/secret-name?version=1')
  await server.root.write('secret/copy/b', { from: 'secret-name' })
  await server[Symbol.asyncDispose]()
})
afterAll(() => stack.disposeAsync())

const attributesOf = ({ attributes }: SpanRecord) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

test('a request continues the trace of its client', () => {
  const login = collector.spans.find(({ name }) => name === 'POST /jwt/login')

  expect(login).toMatchObject({ traceId, parentSpanId: parentId })
  expect(login && attributesOf(login)).toMatchObject({
    'http.request.method': 'POST',
    'http.route': '/jwt/login',
    'http.response.status_code': 200,
    'gatehouse.mount': 'auth/jwt/',
  })
})

test('its parts are spans below it: the login and what it stores', () => {
  const login = collector.spans.find(({ name }) => name === 'POST /jwt/login')
  const parts = collector.spans.filter(({ parentSpanId }) => parentSpanId === login?.spanId)

  expect(parts.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['login', 'storage get', 'storage write']),
  )
  expect(parts.every((part) => part.traceId === traceId)).toBe(true)
})

test('a request to another service carries the trace', () => {
  const fetch = collector.spans.find(({ name }) => name === 'GET keys')

  expect(fetch && attributesOf(fetch)).toMatchObject({
    'gatehouse.service': 'keys',
    'gatehouse.outcome': 'ok',
    'server.address': '127.0.0.1',
  })
  expect(received).toContain(`00-${fetch?.traceId}-${fetch?.spanId}-01`)
})

test('the resource names the service', () => {
  expect(attributesOf({ attributes: collector.resource() } as SpanRecord)).toMatchObject({
    'service.name': 'gatehouse',
    'deployment.environment.name': 'test',
  })
})

test('no span has a secret, a query, a body or a path that a client has chosen', () => {
  expect(collector.spans.length).toBeGreaterThan(5)
  expect(token).not.toBe('')
  for (const secret of [...secrets, token]) expect(collector.text()).not.toContain(secret)
})

test('a collector that is gone costs no request, and does not delay a stop', async () => {
  const dead = await startTestServer({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' } })
  const statuses = await Promise.all(
    Array.from({ length: 50 }, async () => (await dead.root.read('auth/token/lookup-self')).status),
  )
  await dead[Symbol.asyncDispose]()

  expect(new Set(statuses)).toEqual(new Set([200]))
})

test('while a collector refuses spans, few requests have any', async () => {
  await using refusing = await startCollector(400)
  const { promise: isRefused, resolve } = Promise.withResolvers<void>()
  const log = pino({ level: 'warn' }, { write: (line) => line.includes('"traces_refused"') && resolve() })
  const traced = await startTestServer({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: refusing.url }, log })
  let hasRefused = false
  void isRefused.then(() => {
    hasRefused = true
  })
  while (!hasRefused) await traced.root.read('auth/token/lookup-self')
  const before = refusing.spans.length
  const requests = 200

  for (let count = 0; count < requests; count++) await traced.root.read('auth/token/lookup-self')

  await traced[Symbol.asyncDispose]()
  const made = refusing.spans.slice(before).filter(({ name }) => name === 'GET /token/lookup-self')
  expect(before).toBeGreaterThan(100)
  expect(made.length).toBeLessThan(requests / 2)
})
