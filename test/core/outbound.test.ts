import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { caCertificates, OutboundClient, OutboundError } from '../../src/core/outbound/outbound.ts'
import {
  providerTls,
  rotatedAuthority,
  selfSignedNamesakes,
  strangerCertificate,
} from '../plugins/jwt-auth/certificates.ts'
import { startProvider } from '../plugins/jwt-auth/provider.ts'

const open = new OutboundClient({ deny: [] })

test('a response is returned whole, whatever its status', async () => {
  await using provider = await startProvider({ '/x': { a: 1 } })

  const found = await open.get(`${provider.url}/x`)
  const missing = await open.get(`${provider.url}/y`)

  expect({ status: found.status, body: found.body.toString() }).toEqual({ status: 200, body: '{"a":1}' })
  expect({ status: missing.status, text: missing.statusText, body: missing.body.toString() }).toEqual({
    status: 404,
    text: 'Not Found',
    body: 'no',
  })
})

describe('a compressed answer', () => {
  const encoded = (encoding: string, body: Buffer) =>
    startProvider({ '/x': (answer) => answer.writeHead(200, { 'content-encoding': encoding }).end(body) })

  const text = '{"keys":[]}'
  const packed = gzipSync(text)

  test.each([
    ['gzip', packed],
    ['X-GZIP', packed],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
    ['gzip, gzip', gzipSync(packed)],
    ['deflate, br', brotliCompressSync(deflateSync(text))],
    ['identity', Buffer.from(text)],
    ['', Buffer.from(text)],
  ])('is decoded: %s', async (encoding, body) => {
    await using provider = await encoded(encoding, body)

    expect((await open.get(`${provider.url}/x`)).body.toString()).toBe(text)
  })

  test.each([
    ['gzip', gzipSync(Buffer.alloc(64 * 1024 ** 2))],
    ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(64 * 1024 ** 2)))],
    [
      'br',
      brotliCompressSync(Buffer.alloc(64 * 1024 ** 2), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
    ],
    // as received
    ['gzip', gzipSync(randomBytes(1024 ** 2 + 1))],
  ])('is refused once it is larger than the limit, however small it was sent: %s', async (encoding, body) => {
    await using provider = await encoded(encoding, body)

    await expect(open.get(`${provider.url}/x`)).rejects.toThrow('answer is larger than 1048576 bytes')
  })

  test.each([
    { name: 'that is cut', encoding: 'gzip', body: packed.subarray(0, 20), cause: 'cannot decode gzip' },
    { name: 'that is none', encoding: 'X-Gzip', body: Buffer.from(text), cause: 'cannot decode gzip' },
    {
      name: 'with bytes behind it',
      encoding: 'gzip',
      body: Buffer.concat([packed, Buffer.from('{}')]),
      cause: 'cannot decode gzip',
    },
    {
      name: 'with bytes behind it',
      encoding: 'br',
      body: Buffer.concat([brotliCompressSync(text), Buffer.from('{}')]),
      cause: 'cannot decode br',
    },
    { name: 'of another kind', encoding: 'zstd', body: packed, cause: 'unsupported content encoding "zstd"' },
    {
      name: 'of another kind',
      encoding: 'compress',
      body: packed,
      cause: 'unsupported content encoding "compress"',
    },
    {
      name: 'in three layers',
      encoding: 'gzip, gzip, gzip',
      body: gzipSync(gzipSync(packed)),
      cause: 'unsupported content encoding "gzip, gzip, gzip"',
    },
  ])('$name is an error: $encoding', async ({ encoding, body, cause }) => {
    await using provider = await encoded(encoding, body)
    const url = `${provider.url}/x`

    await expect(open.get(url)).rejects.toThrow(new OutboundError(`Get "${url}": ${cause}`))
  })

  test('counts against the time limit', async () => {
    await using provider = await startProvider({
      '/x': (answer) => answer.writeHead(200, { 'content-encoding': 'gzip' }).write(packed.subarray(0, 20)),
    })

    await expect(open.get(`${provider.url}/x`, { timeoutMs: 50 })).rejects.toThrow('time limit exceeded')
  })

  test('is not asked for', async () => {
    const asked: unknown[] = []
    await using provider = await startProvider({
      '/x': (answer, { headers }) => {
        asked.push(headers['accept-encoding'])
        answer.end(text)
      },
    })

    await open.get(`${provider.url}/x`)
    await open.post(`${provider.url}/x`, '')
    await open.exchange({
      service: 'kubernetes',
      method: 'GET',
      url: `${provider.url}/x`,
      headers: {},
      agent: open.connectionsTo(provider.url, ''),
      timeoutMs: 5000,
      maxBytes: 1024,
    })

    expect(asked).toEqual(['identity', 'identity', 'identity'])
  })

  test('of a service of the machine is decoded too', async () => {
    await using provider = await encoded('gzip', gzipSync(JSON.stringify({ keys: [] })))

    const { body } = await open.direct({
      service: 'metadata',
      url: `${provider.url}/x`,
      headers: {},
      connectMs: 5000,
      timeoutMs: 5000,
      maxBytes: 1024,
    })

    expect(body.toString()).toBe('{"keys":[]}')
  })
})

test.each([
  { deny: ['127.0.0.0/8'], host: '127.0.0.1' },
  { deny: ['127.0.0.1'], host: '127.0.0.1' },
  { deny: ['127.0.0.0/8'], host: 'localhost' },
  { deny: ['127.0.0.0/8', '::1'], host: 'localhost' },
  { deny: ['127.0.0.0/8'], host: '2130706433' },
  { deny: ['127.0.0.0/8'], host: '0x7f.1' },
  { deny: ['127.0.0.0/8'], host: '0.0.0.0' },
  { deny: ['127.0.0.0/8'], host: '[::ffff:127.0.0.1]' },
  { deny: ['::1/128'], host: '[::]' },
  { deny: ['127.0.0.0/8'], host: '[::ffff:7f00:1]' },
  { deny: ['127.0.0.0/8'], host: '[::ffff:0.0.0.0]' },
  { deny: ['127.0.0.0/8'], host: '[::ffff:0:0]' },
  { deny: ['127.0.0.0/8'], host: '[::]' },
  { deny: ['127.0.0.0/8'], host: '[::127.0.0.1]' },
  { deny: ['127.0.0.0/8'], host: '[::ffff:0:127.0.0.1]' },
  { deny: ['::ffff:127.0.0.0/104'], host: '127.0.0.1' },
  { deny: ['0:0:0:0:0:ffff:7f00:1'], host: '127.0.0.1' },
  { deny: ['::1'], host: '[0:0:0:0:0:0:0:1]' },
])('$host is not reached if $deny is denied', async ({ deny, host }) => {
  await using provider = await startProvider({ '/': {} })
  const client = new OutboundClient({ deny })

  await expect(client.get(provider.url.replace('127.0.0.1', host))).rejects.toThrow(/denied network/)

  expect(provider.hits).toEqual([])
})

test.each([
  '169.254.169.254',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '[::169.254.169.254]',
  '[::ffff:0:169.254.169.254]',
  '[64:ff9b::169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::169.254.169.254]',
  '[64:ff9b:1:7:8:9:a9fe:a9fe]',
  '[64:ff9b:1:a9fe:a9:fe00::]',
  '[64:ff9b:1:a9:fe:a9fe::]',
  '[64:ff9b:1:1:a9:fea9:fe00::]',
  '[2002:a9fe:a9fe::1]',
  '[2001:0:a9fe:a9fe::1]',
  '[2001:0:808:808:0:1:5601:5601]',
  '[2001:db8::5efe:169.254.169.254]',
  '[2001:db8::200:5efe:169.254.169.254]',
  '[fe80::1]',
  '[fd00:ec2::254]',
  '168.63.129.16',
  '[64:ff9b::168.63.129.16]',
  '[2002:a83f:8110::]',
])('the default settings deny %s', async (host) => {
  const client = new OutboundClient({ deny: readConfig({}, { dev: true, warn: () => {} }).outboundDeny })

  await expect(client.get(`http://${host}:1/`, { timeoutMs: 2000 })).rejects.toThrow(/denied network/)
})

test('denying other networks has no effect', async () => {
  await using provider = await startProvider({ '/': {} })
  const client = new OutboundClient({ deny: ['169.254.0.0/16', 'fe80::/10'] })

  await expect(client.get(provider.url)).resolves.toMatchObject({ status: 200 })
})

test('redirects are followed on the same host, three at most', async () => {
  await using provider = await startProvider({
    '/1': (answer) => answer.writeHead(302, { location: '/2' }).end(),
    '/2': (answer) => answer.writeHead(307, { location: '/3' }).end(),
    '/3': (answer) => answer.writeHead(301, { location: './end' }).end(),
    '/end': { ok: true },
    '/loop': (answer) => answer.writeHead(302, { location: '/loop' }).end(),
  })

  await expect(open.get(`${provider.url}/1`)).resolves.toMatchObject({ status: 200 })
  await expect(open.get(`${provider.url}/loop`)).rejects.toThrow(/stopped after 3 redirects/)
  expect(provider.hits.filter((path) => path === '/loop')).toHaveLength(4)
})

test('a redirect to another host, port or scheme is refused and not followed', async () => {
  await using other = await startProvider({ '/': {} })
  await using provider = await startProvider()
  const elsewhere = [
    other.url,
    provider.url.replace('http:', 'https:'),
    provider.url.replace('127.0.0.1', 'localhost'),
    'file:///etc/passwd',
    '//127.0.0.1:1/',
  ]
  for (const location of elsewhere) {
    provider.routes.set('/', (answer) => answer.writeHead(302, { location }).end())
    await expect(open.get(provider.url)).rejects.toThrow(/redirect to another host refused/)
  }
  expect(other.hits).toEqual([])
})

test.each([
  { name: 'announced', headers: { 'content-length': '1048577' } },
  { name: 'unannounced', headers: {} },
])('a response over 1 MiB is cut off: $name', async ({ headers }) => {
  await using provider = await startProvider({
    '/': (answer) => answer.writeHead(200, headers).end(Buffer.alloc(1024 ** 2 + 1)),
  })

  await expect(open.get(provider.url)).rejects.toThrow(/larger than 1048576 bytes/)
})

test('a response of exactly 1 MiB passes', async () => {
  await using provider = await startProvider({
    '/': (answer) => answer.writeHead(200).end(Buffer.alloc(1024 ** 2)),
  })

  expect((await open.get(provider.url)).body).toHaveLength(1024 ** 2)
})

test.each([
  { name: 'never answers', route: () => {} },
  {
    name: 'never ends',
    route: (answer: import('node:http').ServerResponse) => answer.writeHead(200).write('{'),
  },
])('a server that $name is abandoned at the time limit', async ({ route }) => {
  await using provider = await startProvider({ '/': route })

  await expect(open.get(provider.url, { timeoutMs: 100 })).rejects.toThrow(/time limit exceeded/)
})

test('a server that switches protocols ends the request', async () => {
  await using provider = await startProvider({
    '/': (answer) => {
      answer.socket?.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')
    },
  })
  const direct = { service: 'provider', connectMs: 5000, timeoutMs: 5000, maxBytes: 10 } as const

  await expect(open.get(provider.url)).rejects.toThrow(/connection closed/)
  await expect(open.direct({ ...direct, url: provider.url, headers: {} })).rejects.toThrow(
    /connection closed/,
  )
})

test('the signal of the caller aborts a request', async () => {
  await using provider = await startProvider({ '/': () => {} })
  const leave = new AbortController()
  const answer = open.get(provider.url, { signal: leave.signal })
  leave.abort()

  await expect(answer).rejects.toThrow(/time limit exceeded/)
})

test.each(['not a url', 'ftp://127.0.0.1/', 'file:///etc/passwd', ''])('%j is not fetched', async (url) => {
  await expect(open.get(url)).rejects.toThrow(/unsupported protocol scheme or invalid URL/)
})

test('an error names neither user nor password of the URL', async () => {
  await expect(open.get('http://user:hidden@127.0.0.1:1/k')).rejects.toThrow(
    /^Get "http:\/\/127\.0\.0\.1:1\/k": .*connection refused$/,
  )
})

test('configured certificates replace the roots of the system', async () => {
  await using provider = await startProvider({ '/': {} }, providerTls)

  await expect(open.get(provider.url, { caPem: providerTls.cert })).resolves.toMatchObject({ status: 200 })
  await expect(
    open.get(provider.url, { caPem: `junk\n${strangerCertificate}\n${providerTls.cert}` }),
  ).resolves.toMatchObject({ status: 200 })
  await expect(open.get(provider.url)).rejects.toThrow(/certificate/)
  await expect(open.get(provider.url, { caPem: strangerCertificate })).rejects.toThrow(/certificate/)
  await expect(open.get(provider.url, { caPem: 'garbage' })).rejects.toThrow(
    'could not parse CA PEM value successfully',
  )
})

test('the host name must match the certificate', async () => {
  await using provider = await startProvider({ '/': {} }, providerTls)

  await expect(
    open.get(provider.url.replace('127.0.0.1', 'localhost'), { caPem: providerTls.cert }),
  ).rejects.toThrow(/x509: certificate is valid for 127\.0\.0\.1, not localhost$/)
})

test('https goes through the configured proxy, http and excepted hosts do not', async () => {
  const asked: string[] = []
  const proxy = createServer().on('connect', (request, socket) => {
    asked.push(request.url ?? '')
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  const { port } = proxy.address() as AddressInfo
  await using plain = await startProvider({ '/': {} })
  await using secure = await startProvider({ '/': {} }, providerTls)
  const httpsProxy = `127.0.0.1:${port}`
  const client = new OutboundClient({ deny: [], httpsProxy })
  const excepting = new OutboundClient({ deny: [], httpsProxy, noProxy: '127.0.0.1' })

  await expect(client.get('https://keys.example/jwks')).rejects.toThrow()
  await expect(client.get(plain.url)).resolves.toMatchObject({ status: 200 })
  await expect(excepting.get(secure.url, { caPem: providerTls.cert })).resolves.toMatchObject({ status: 200 })

  expect(asked).toEqual(['keys.example:443'])
  proxy.close()
})

test.each([
  { name: 'none', pem: 'garbage', count: 0 },
  {
    name: 'one among other blocks',
    pem: `-----BEGIN X-----\nAA==\n-----END X-----\n${providerTls.cert}`,
    count: 1,
  },
  { name: 'two', pem: providerTls.cert + strangerCertificate, count: 2 },
  {
    name: 'one, beside a broken one',
    pem: `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${providerTls.cert}`,
    count: 1,
  },
  { name: 'openings without an end', pem: '-----BEGIN CERTIFICATE-----'.repeat(100_000), count: 0 },
])('certificates in a text: $name', ({ pem, count }) => {
  expect(caCertificates(pem)).toHaveLength(count)
})

test.each([
  { name: 'the first', order: [0, 1] },
  { name: 'the second', order: [1, 0] },
])('of two authorities with one name and no key identifiers, $name is found', async ({ order }) => {
  await using provider = await startProvider({ '/': { ok: true } }, rotatedAuthority.leaf)
  const caPem = order.map((at) => rotatedAuthority.authorities[at]).join('')

  await expect(open.get(provider.url, { caPem })).resolves.toMatchObject({ status: 200 })
  await expect(open.get(provider.url, { caPem: caPem + providerTls.cert })).resolves.toMatchObject({
    status: 200,
  })
  await expect(open.get(provider.url, { caPem: rotatedAuthority.authorities[1] })).rejects.toThrow(
    /certificate signature failure/,
  )
})

test('reused connections also find the right one of two authorities with one name', async () => {
  await using provider = await startProvider({ '/': { ok: true } }, rotatedAuthority.leaf)
  const [signer, namesake] = rotatedAuthority.authorities
  const call = {
    service: 'login',
    method: 'GET',
    url: provider.url,
    headers: {},
    timeoutMs: 5_000,
    maxBytes: 1_000,
  } as const

  for (const caPem of [`${signer}${namesake}`, `${namesake}${signer}`]) {
    const agent = open.connections(caPem)
    await expect(open.exchange({ ...call, agent })).resolves.toMatchObject({ status: 200 })
    await expect(open.exchange({ ...call, agent })).resolves.toMatchObject({ status: 200 })
  }
  await expect(open.exchange({ ...call, agent: open.connections(namesake) })).rejects.toThrow(
    /certificate signature failure/,
  )
})

describe('both orders work for', () => {
  const { served, namesake } = selfSignedNamesakes
  const [signer] = rotatedAuthority.authorities
  const { otherCase, leaf } = rotatedAuthority

  test.each([
    {
      name: 'two self-signed certificates with one name and one serial number',
      tls: served,
      right: served.cert,
      wrong: namesake,
    },
    { name: 'two authorities whose names differ in case only', tls: leaf, right: signer, wrong: otherCase },
  ])('$name', async ({ tls, right, wrong }) => {
    await using provider = await startProvider({ '/': { ok: true } }, tls)

    for (const caPem of [right + wrong, wrong + right]) {
      await expect(open.get(provider.url, { caPem })).resolves.toMatchObject({ status: 200 })
      const agent = open.connections(caPem)
      await expect(
        open.exchange({
          service: 'login',
          method: 'GET',
          url: provider.url,
          headers: {},
          agent,
          timeoutMs: 5_000,
          maxBytes: 1_000,
        }),
      ).resolves.toMatchObject({ status: 200 })
    }
    await expect(open.get(provider.url, { caPem: wrong })).rejects.toThrow(/unknown authority/)
  })
})

test('a proxy that is not a URL ends the start', () => {
  expect(() => new OutboundClient({ deny: [], httpsProxy: 'http://[' })).toThrow(
    'HTTPS_PROXY: must be a URL like http://proxy:3128',
  )
})
