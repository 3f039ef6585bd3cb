import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { Session } from 'node:inspector/promises'
import { type AddressInfo, connect } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KnownHead } from '../../src/http/known-head.ts'
import { collector } from '../../src/lib/garbage.ts'

/** What Node's parser reads of some bytes: a request for each item, and how the connection ends. */
async function parsed(bytes: string): Promise<IncomingMessage[]> {
  const socket = connect(port, '127.0.0.1')
  requests = []
  socket.resume()
  socket.on('error', () => {})
  socket.end(bytes, 'latin1')
  await once(socket, 'close')
  return requests
}

const server = createServer({ requireHostHeader: false }, (request, response) => {
  requests.push(request)
  request.resume()
  response.end()
})
// such requests end the connection like any other
server.on('upgrade', (_request, socket) => socket.destroy())
let requests: IncomingMessage[] = []
let port: number
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterAll(() => void server.close())

const headOf = (line: string, lines: readonly string[]) => `${[line, ...lines].join('\r\n')}\r\n\r\n`

async function learn(lines: readonly string[], line = 'GET /first HTTP/1.1'): Promise<KnownHead | undefined> {
  const head = headOf(line, lines)
  const [request] = await parsed(head)
  return request && KnownHead.of(Buffer.from(head, 'latin1'), head.length, request)
}

const read = (known: KnownHead | undefined, text: string) => known?.read(Buffer.from(text, 'latin1'), text)

const usual = ['Host: a.example:8200', 'X-Vault-Token: hvs.secret', 'Accept: */*', 'User-Agent: x (y; z)']

test('a request with known header lines is read as the parser reads it', async () => {
  const known = await learn(usual)
  const text = headOf('LIST /v1/auth/jwt/role?after=a%20b HTTP/1.1', usual).replace('hvs.secret', 'hvs.other')

  const found = read(known, `${text}and more`)

  const raw = [
    'Host',
    'a.example:8200',
    'X-Vault-Token',
    'hvs.other',
    'Accept',
    '*/*',
    'User-Agent',
    'x (y; z)',
  ]
  expect(found).toMatchObject({
    method: 'LIST',
    url: '/v1/auth/jwt/role?after=a%20b',
    headers: {
      host: 'a.example:8200',
      'x-vault-token': 'hvs.other',
      accept: '*/*',
      'user-agent': 'x (y; z)',
    },
    bytes: text.length,
    bodyBytes: undefined,
  })
  expect(found?.rawHeaders()).toEqual(raw)
})

test('the length of a body may change', async () => {
  const known = await learn(['Host: a', 'Content-Length: 0'])

  const found = read(known, headOf('POST /b HTTP/1.1', ['Host: a', 'Content-Length: 12']))

  expect(found).toMatchObject({ method: 'POST', bodyBytes: 12 })
})

test('no secret is kept', async () => {
  const secrets = ['Authorization: Bearer', 'Proxy-Authorization: Basic', 'Cookie:', 'X-Vault-MFA: m:']
  const known = await learn([...usual, ...secrets.map((line) => `${line} hvs.secret`)])

  const kept = await privateText(known)

  expect(kept).toContain('a.example:8200')
  expect(kept).not.toContain('hvs.secret')
})

test('the text that the lines were read from is not kept', async () => {
  const collect = collector()
  const lines = ['Host: a', 'User-Agent: long enough to be a part', `Cookie: ${'a'.repeat(3900)}`]
  const head = headOf('GET / HTTP/1.1', lines)
  const [request] = await parsed(head)
  const bytes = Buffer.from(head, 'latin1')
  if (request === undefined) throw new Error('the parser read no request')
  collect()
  const before = process.memoryUsage().heapUsed

  const kept = Array.from({ length: 4000 }, () => KnownHead.of(bytes, bytes.length, request))
  collect()

  const grown = process.memoryUsage().heapUsed - before
  expect(kept[0]).toBeDefined()
  expect(grown / kept.length).toBeLessThan(bytes.length)
})

/** The private fields of an object, as JSON. */
async function privateText(object: unknown): Promise<string> {
  using session = new DebugSession()
  session.connect()
  Object.assign(globalThis, { inspected: object })
  const { result } = await session.post('Runtime.evaluate', { expression: 'inspected' })
  Object.assign(globalThis, { inspected: undefined })
  const properties = await session.post('Runtime.getProperties', { objectId: String(result.objectId) })
  // the protocol's answer has more than its type says
  const { privateProperties } = properties as unknown as PrivateProperties
  const texts = privateProperties.map(async ({ value: { objectId } }) => {
    const functionDeclaration = 'function () { return JSON.stringify(this) }'
    const text = await session.post('Runtime.callFunctionOn', { objectId, functionDeclaration })
    return text.result.value
  })
  return (await Promise.all(texts)).join()
}

type PrivateProperties = {
  readonly privateProperties: readonly { readonly value: { readonly objectId: string } }[]
}

class DebugSession extends Session {
  [Symbol.dispose](): void {
    this.disconnect()
  }
}

test.each([
  { name: 'two headers of one name', lines: ['Host: a', 'X-A: 1', 'x-a: 2'] },
  { name: 'a body of unknown length', lines: ['Host: a', 'Transfer-Encoding: chunked'], more: '0\r\n\r\n' },
  { name: 'a connection that ends', lines: ['Host: a', 'Connection: close'] },
  { name: 'another protocol', lines: ['Host: a', 'Connection: upgrade', 'Upgrade: x'] },
  { name: 'an expectation', lines: ['Host: a', 'Expect: 100-continue'] },
  { name: 'a length in another form', lines: ['Host: a', 'Content-Length: 00'] },
  { name: 'spaces around a value', lines: ['Host: a', 'X-A:  1'] },
  { name: 'a space after a value', lines: ['Host: a', 'X-A: 1 '] },
  { name: 'no space before a value', lines: ['Host: a', 'X-A:1'] },
  { name: 'an empty value', lines: ['Host: a', 'X-A: '] },
  { name: 'a tab', lines: ['Host: a', 'X-A: 1\t2'] },
  { name: 'bytes beyond ASCII', lines: ['Host: a', 'X-A: \xe9'] },
  { name: 'a name of the prototype', lines: ['Host: a', '__proto__: x'] },
  { name: 'a head that is too long', lines: ['Host: a', `X-A: ${'x'.repeat(4100)}`] },
])('a head with $name is left to the parser', async ({ lines }) => {
  expect(await learn(lines)).toBeUndefined()
})

test.each([
  { name: 'another value', lines: usual.with(2, 'Accept: text/html') },
  { name: 'another order', lines: [usual[1], usual[0], usual[2], usual[3]] },
  { name: 'another spelling of a name', lines: usual.with(0, 'host: a.example:8200') },
  { name: 'one more header', lines: [...usual, 'X-A: 1'] },
  { name: 'one less', lines: usual.slice(0, 3) },
  { name: 'a space after the token', lines: usual.with(1, 'X-Vault-Token: hvs.secret ') },
  { name: 'a space before the token', lines: usual.with(1, 'X-Vault-Token:  hvs.secret') },
  { name: 'an empty token', lines: usual.with(1, 'X-Vault-Token: ') },
  { name: 'a token with a control character', lines: usual.with(1, 'X-Vault-Token: a\tb') },
  { name: 'a token with a line feed', lines: usual.with(1, 'X-Vault-Token: a\nX-B: b') },
  { name: 'a token beyond ASCII', lines: usual.with(1, 'X-Vault-Token: \xe9') },
])('a head with $name is not a known one', async ({ lines }) => {
  const known = await learn(usual)

  expect(read(known, headOf('GET /x HTTP/1.1', usual))).toBeDefined()
  expect(read(known, headOf('GET /x HTTP/1.1', lines.map(String)))).toBeUndefined()
})

test.each([
  { line: 'GET /x HTTP/1.0' },
  { line: 'GET  /x HTTP/1.1' },
  { line: 'GET /x  HTTP/1.1' },
  { line: 'GET /x HTTP/1.1 ' },
  { line: ' GET /x HTTP/1.1' },
  { line: 'get /x HTTP/1.1' },
  { line: 'HEAD /x HTTP/1.1' },
  { line: 'CONNECT /x HTTP/1.1' },
  { line: 'OPTIONS * HTTP/1.1' },
  { line: 'GET http://a/x HTTP/1.1' },
  { line: 'GET /x#y HTTP/1.1' },
  { line: 'GET /x\\y HTTP/1.1' },
  { line: 'GET /\xe9 HTTP/1.1' },
  { line: 'GET /x HTTP/1.1\nX: y' },
  { line: '\r\nGET /x HTTP/1.1' },
])('the request line $line is left to the parser', async ({ line }) => {
  const known = await learn(usual)

  expect(read(known, headOf(line, usual))).toBeUndefined()
})

const goodLine = fc.constantFrom(
  'Accept: */*',
  'X-Vault-Token: a',
  'Cookie: a=b',
  'Connection: keep-alive',
  'x-b: c d',
)
const badLine = fc
  .tuple(
    fc.constantFrom('Accept', 'X-A', 'Cookie', 'X-Vault-Token', 'Content-Length', 'Connection', 'TE', 'Host'),
    fc.constantFrom(': ', ': ', ':', ' : ', ':\t'),
    fc.oneof(
      fc.constantFrom('a', 'keep-alive', 'close', 'a b', 'a,b', '', ' a', 'a ', '0', '1', '+0', '00'),
      fc.string({ unit: fc.constantFrom('a', ' ', ':', '\t', '\r', '\n', '\xe9', '"', '\0'), maxLength: 4 }),
    ),
  )
  .map((parts) => parts.join(''))
const anyLine = fc.oneof({ weight: 4, arbitrary: goodLine }, { weight: 1, arbitrary: badLine })
const tokenLine = fc
  .string({
    unit: fc.constantFrom('a', 'b', 'c', ' ', '\t', '\r', '\n', '\xe9', ',', ':'),
    minLength: 1,
    maxLength: 3,
  })
  .map((value) => `X-Vault-Token: ${value}`)
const requestLines = fc
  .tuple(
    fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'HEAD', 'get'),
    fc.string({
      unit: fc.constantFrom('/', 'a', 'b', '%', '?', '#', '.', '\\', '\xe9', '&', '"', ' '),
      maxLength: 4,
    }),
    fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/1.1 ', 'http/1.1'),
  )
  .map(([method, target, version]) => `${method} /${target} ${version}`)

test('whatever known header lines make of a request, the parser makes the same of it', async () => {
  let compared = 0
  const heads = fc.record({
    lines: fc.uniqueArray(anyLine, { maxLength: 2 }),
    line: requestLines,
    first: tokenLine,
  })
  await fc.assert(
    fc.asyncProperty(heads, async ({ lines, line, first }) => {
      const known = await learn(['Host: a', 'X-Vault-Token: b', ...lines])
      const sent = ['Host: a', first, ...lines]
      const found = read(known, headOf(line, sent))
      if (found === undefined) return
      compared += 1
      const [request, ...others] = await parsed(headOf(line, sent))
      expect(others).toEqual([])
      expect({ ...found, rawHeaders: found.rawHeaders() }).toMatchObject({
        method: request?.method,
        url: request?.url,
        headers: { ...request?.headers },
        rawHeaders: request?.rawHeaders,
      })
      expect(request?.httpVersion).toBe('1.1')
    }),
    { numRuns: 1000 },
  )
  expect(compared).toBeGreaterThan(10)
})
