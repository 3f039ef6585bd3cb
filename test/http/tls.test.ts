import { X509Certificate } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect as connectHttp2, constants } from 'node:http2'
import { connect as connectPlain } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Authority } from '../support/certificates.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { shared } from '../support/shared.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { chunked, head, Wire } from './wire.ts'

const authority = new Authority()
const strangers = new Authority()
const ofGate = authority.sign('gate')
let folder: Awaited<ReturnType<typeof temporaryFolder>>

beforeAll(async () => {
  folder = await temporaryFolder()
  writeFileSync(folder.file('ca.pem'), authority.cert)
})

afterAll(async () => {
  authority[Symbol.dispose]()
  strangers[Symbol.dispose]()
  await folder[Symbol.asyncDispose]()
})

/** Writes a pair to the files of the settings `tlsSettings`. */
function writePair({ cert, key }: { cert: string; key: string }): void {
  writeFileSync(folder.file('cert.pem'), cert)
  writeFileSync(folder.file('key.pem'), key)
}

const tlsSettings = () => ({ TLS_CERT_FILE: folder.file('cert.pem'), TLS_KEY_FILE: folder.file('key.pem') })

async function startTls(settings: Record<string, string> = {}, parts = {}): Promise<TestServer> {
  writePair(ofGate)
  return startTestServer({ settings: { ...tlsSettings(), ...settings }, ...parts })
}

/** For the tests that change nothing of it. */
const sharedTls = shared(() => startTls())

/** Resolves when the handshake is complete on the client's side. */
async function shake({ url }: { url: string }, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const { port } = new URL(url)
  const socket = connect({ port: Number(port), host: '127.0.0.1', ca: authority.cert, ...options })
  await once(socket, 'secureConnect')
  return socket
}

const wireTo = async (server: { url: string }, options: ConnectionOptions = {}) =>
  new Wire(await shake(server, options), () => undefined)

async function askHttp1(server: { url: string }, options: ConnectionOptions, path: string, body?: object) {
  const text = body === undefined ? '' : JSON.stringify(body)
  const lines = ['X-Vault-Token: root', `Content-Length: ${text.length}`]
  using wire = await wireTo(server, options)
  wire.send(head(body === undefined ? 'GET' : 'POST', path, lines) + text)
  return (await wire.answer())?.status
}

async function askHttp2(server: { url: string }, options: ConnectionOptions, path: string, body?: object) {
  const session = connectHttp2(server.url, { ca: authority.cert, ...options })
  const method = body === undefined ? 'GET' : 'POST'
  const stream = session.request({ ':path': path, ':method': method, 'x-vault-token': 'root' })
  stream.end(body === undefined ? undefined : JSON.stringify(body))
  const [headers] = await once(stream, 'response')
  session.destroy()
  return headers[':status']
}

const nameOf = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN

test('HTTP/1.1 over TLS serves any verb, pipelined and split, and refuses like plain HTTP', async () => {
  const server = await sharedTls()
  using wire = await wireTo(server)
  const token = ['X-Vault-Token: root']

  wire.send(head('LIST', '/v1/sys/policies/acl', token) + head('FOO', '/v1/sys/policies/acl', token) + 'LI')
  const first = await wire.answers(2)
  wire.send(head('ST', '/v1/sys/policies/acl', token))
  wire.send(
    chunked('POST', '/v1/sys/tools/hash', ['{"input":', '"YQ=="}'], []).replace(
      'Host',
      'X-Vault-Token: root\r\nHost',
    ),
  )
  const second = await wire.answers(2)
  wire.send(head('GE(T', '/v1/sys/health'))

  expect(server.url).toMatch(/^https:\/\/127/)
  expect([...first, ...second].map(({ status }) => status)).toEqual([200, 405, 200, 200])
  expect((await wire.answer())?.status).toBe(400)
})

test('records that arrive together keep their order, also while a request waits for the one before it', async () => {
  const server = await sharedTls()
  const socket = await shake(server)
  socket.setMaxSendFragment(512)
  using wire = new Wire(socket, () => undefined)
  const pair =
    head('GET', '/v1/sys/seal-status') +
    head('POST', '/v1/sys/tools/hash', ['X-Vault-Token: root'], JSON.stringify({ input: 'YQ==' }))

  wire.send(pair.repeat(50))

  expect((await wire.answers(100)).map(({ status }) => status)).toEqual(Array(100).fill(200))
})

test('a client that has ended its side still gets its response', async () => {
  const server = await sharedTls()
  using wire = await wireTo(server)

  wire.send(head('LIST', '/v1/sys/policies/acl', ['X-Vault-Token: root']))
  wire.end()

  expect((await wire.untilClosed()).map(({ status }) => status).at(-1)).toBe(200)
})

/** A log, and the lines about handshakes in it. */
function handshakeLog() {
  const lines: Record<string, unknown>[] = []
  const written = new EventEmitter()
  const write = (text: string) => {
    const line = JSON.parse(text)
    if (line.event !== 'tls_handshake_failed') return
    lines.push(line)
    written.emit('line')
  }
  /** The lines, once there are this many. */
  const until = async (count: number) => {
    while (lines.length < count) await once(written, 'line')
    return lines
  }
  return { log: pino({}, { write }), lines, until }
}

/** Sends bytes without TLS, and returns what the server sends until it closes the connection. */
async function askPlain(server: { url: string }, sent: string | undefined): Promise<string> {
  const plain = connectPlain(Number(new URL(server.url).port), '127.0.0.1')
  const received: Buffer[] = []
  plain.on('data', (bytes: Buffer) => received.push(bytes)).on('error', () => {})
  if (sent === undefined) plain.end()
  else plain.write(sent)
  await once(plain, 'close')
  return Buffer.concat(received).toString('latin1')
}

test('plain HTTP on a port of TLS is told so, whatever its verb, and both are counted', async () => {
  const { log, until } = handshakeLog()
  await using server = await startTls({ METRICS: 'open' }, { log })
  using wire = await wireTo(server)

  for (const [index, verb] of ['GET', 'LIST', 'OPTIONS', 'PROPFIND'].entries()) {
    const received = await askPlain(server, head(verb, '/v1/sys/health'))
    const lines = await until(index + 1)
    wire.send(head('GET', '/metrics'))
    const metrics = (await wire.answer())?.body ?? ''

    expect(received, verb).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/)
    expect(received.split('\r\n\r\n')[1], verb).toBe('Client sent an HTTP request to an HTTPS server.\n')
    expect(lines[index]).toMatchObject({
      remote_address: '127.0.0.1',
      reason: 'the client speaks plain HTTP',
    })
    expect(metrics).toContain(`gatehouse_http_refused_total{reason="handshake"} ${index + 1}`)
    expect(metrics).toContain('gatehouse_http_connections{protocol="http/1.1"} 1')
  }
})

const failures = [
  {
    client: { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const,
    alert: 'tlsv1 alert protocol version',
    reason: 'unsupported protocol',
  },
  {
    client: { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' } as const,
    alert: 'ssl/tls alert handshake failure',
    reason: 'no shared cipher',
  },
  {
    client: { ALPNProtocols: ['smtp'] },
    alert: 'tlsv1 alert no application protocol',
    reason: 'no application protocol',
  },
]

test('a handshake that fails ends with its alert, and is logged', async () => {
  const { log, until } = handshakeLog()
  await using server = await startTls({}, { log })

  for (const [index, { client, alert, reason }] of failures.entries()) {
    await expect(shake(server, client)).rejects.toMatchObject({ reason: alert })
    expect((await until(index + 1))[index]).toMatchObject({ level: 40, remote_address: '127.0.0.1', reason })
  }
})

test('bytes that are no handshake are logged, and a probe of the port is not', async () => {
  const { log, until } = handshakeLog()
  await using server = await startTls({}, { log })

  await askPlain(server, undefined)
  await askPlain(server, 'x'.repeat(100))

  expect(await until(1)).toMatchObject([{ reason: 'wrong version number', unlogged: 0 }])
})

test('a client that leaves during its handshake is logged', async () => {
  const { log, until } = handshakeLog()
  await using server = await startTls({}, { log })
  const plain = connectPlain(Number(new URL(server.url).port), '127.0.0.1')
  const shaking = connect({ socket: plain, ca: authority.cert })

  shaking.on('error', () => {}).once('keylog', () => plain.resetAndDestroy())

  expect(await until(1)).toMatchObject([{ reason: 'the connection ended' }])
})

test('a handshake that is not complete in time is logged', async () => {
  const { log, until } = handshakeLog()
  await using server = await startTls({ HEADER_TIMEOUT: '1s' }, { log })

  const received = await askPlain(server, '\x16')

  expect(received).toBe('')
  expect(await until(1)).toMatchObject([{ reason: 'it was not complete in time' }])
})

test('a client whose handshakes fail all the time fills no log, and hides nothing', async () => {
  const { log, until } = handshakeLog()
  const clock = new FakeClock()
  await using server = await startTls({}, { log, clock })

  for (let failures = 0; failures < 20; failures++) await askPlain(server, 'x'.repeat(100))
  clock.advance(60)
  await askPlain(server, 'x'.repeat(100))

  expect((await until(6)).map(({ unlogged }) => unlogged)).toEqual([0, 0, 0, 0, 0, 15])
})

const lowestServers = {
  '1.2': shared(() => startTls({ TLS_MIN_VERSION: '1.2' })),
  '1.3': shared(() => startTls({ TLS_MIN_VERSION: '1.3' })),
}

test.each([
  { lowest: '1.2', client: 'TLSv1.1', works: false },
  { lowest: '1.2', client: 'TLSv1.2', works: true },
  { lowest: '1.2', client: 'TLSv1.3', works: true },
  { lowest: '1.3', client: 'TLSv1.2', works: false },
  { lowest: '1.3', client: 'TLSv1.3', works: true },
] as const)(
  'with $lowest as the lowest version, $client works: $works',
  async ({ lowest, client, works }) => {
    const server = await lowestServers[lowest]()

    const shaken = shake(server, { minVersion: client, maxVersion: client, ciphers: 'DEFAULT@SECLEVEL=0' })

    expect(
      await shaken.then(
        (socket) => !socket.destroy().authorized === false,
        () => false,
      ),
    ).toBe(works)
  },
)

test('ciphers without forward secrecy are refused', async () => {
  const server = await sharedTls()

  await expect(shake(server, { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' })).rejects.toThrow()
})

test('a reload gives new connections the new certificate, and a bad one changes nothing', async () => {
  const lines: Record<string, unknown>[] = []
  await using server = await startTls(
    { METRICS: 'open' },
    { log: pino({}, { write: (line: string) => lines.push(JSON.parse(line)) }) },
  )
  const before = await shake(server)
  const renewed = authority.sign('renewed', 1)
  const reloaded = async (write: () => void) => {
    write()
    await server.server.reload()
    const socket = await shake(server)
    const name = nameOf(socket)
    socket.destroy()
    return name
  }

  const names = [
    nameOf(before),
    await reloaded(() => writePair(renewed)),
    await reloaded(() => writePair({ cert: authority.sign('other').cert, key: renewed.key })),
    await reloaded(() => writePair({ cert: 'no certificate', key: renewed.key })),
    await reloaded(() => writePair({ cert: renewed.cert, key: 'no key' })),
    await reloaded(() => writePair(authority.sign('expired', -1))),
    await reloaded(() => writePair(authority.sign('again'))),
  ]
  const old = new Wire(before, () => undefined)
  old.send(head('GET', '/metrics'))
  const metrics = (await old.answer())?.body ?? ''
  old.close()

  expect(names).toEqual(['gate', 'renewed', 'renewed', 'renewed', 'renewed', 'renewed', 'again'])
  expect(
    lines
      .filter(({ event }) => String(event).startsWith('reload'))
      .map(({ event, reason }) => [event, reason]),
  ).toEqual([
    ['reloaded', undefined],
    ['reload_failed', 'GATEHOUSE_TLS_KEY_FILE: the key does not belong to the certificate'],
    ['reload_failed', 'GATEHOUSE_TLS_CERT_FILE: has no certificate in PEM'],
    ['reload_failed', 'GATEHOUSE_TLS_KEY_FILE: has no unencrypted private key in PEM'],
    ['reload_failed', 'GATEHOUSE_TLS_CERT_FILE: the certificate has expired'],
    ['reloaded', undefined],
  ])
  expect(metrics).toContain('gatehouse_tls_reloads_total{outcome="loaded"} 2')
  expect(metrics).toContain('gatehouse_tls_reloads_total{outcome="failed"} 4')
  const [, expiry] = /^gatehouse_tls_certificate_expiry_timestamp_seconds (\S+)$/m.exec(metrics) ?? []
  expect(Number(expiry) * 1000).toBeGreaterThan(Date.now())
})

test.each([
  { auth: 'optional', without: undefined },
  { auth: 'require', without: 'a client certificate is required' },
])('client certificates, $auth: who may not connect learns why', async ({ auth, without }) => {
  const { log, until } = handshakeLog()
  await using server = await startTls(
    { TLS_CLIENT_CA_FILE: folder.file('ca.pem'), TLS_CLIENT_AUTH: auth },
    { log },
  )
  const ask = async (pair: { cert?: string; key?: string }) => {
    using wire = await wireTo(server, pair)
    wire.send(head('GET', '/v1/sys/health'))
    return await wire.answer()
  }
  const expired = 'the client certificate is refused: CERT_HAS_EXPIRED'
  const unknown = 'the client certificate is refused: UNABLE_TO_VERIFY_LEAF_SIGNATURE'

  expect(await ask(authority.sign('client'))).toMatchObject({ status: 200 })
  expect(await ask({})).toMatchObject(
    without === undefined ? { status: 200 } : { status: 400, body: `${without}\n` },
  )
  expect(await ask(strangers.sign('stranger'))).toMatchObject({ status: 400, body: `${unknown}\n` })
  expect(await ask(authority.sign('former client', -1))).toMatchObject({ status: 400, body: `${expired}\n` })
  const refused = [unknown, expired]
  expect((await until(without === undefined ? 2 : 3)).map(({ reason }) => reason)).toEqual(
    without === undefined ? refused : [without, ...refused],
  )
})

test('a client of HTTP/2 whose certificate is refused gets GOAWAY with the reason', async () => {
  await using server = await startTls({
    TLS_CLIENT_CA_FILE: folder.file('ca.pem'),
    TLS_CLIENT_AUTH: 'require',
  })
  const session = connectHttp2(server.url, { ca: authority.cert })
  session.on('error', () => {})

  const [code, , text] = await once(session, 'goaway')
  session.destroy()

  expect(code).toBe(constants.NGHTTP2_INADEQUATE_SECURITY)
  expect(String(text)).toBe('a client certificate is required')
})

test.each(['http/1.1', 'h2'])('%s: the audit log names the certificate of a client', async (protocol) => {
  const { cert, key } = authority.sign('client')
  await using server = await startTls({ TLS_CLIENT_CA_FILE: folder.file('ca.pem'), AUDIT_DIRS: folder.path })
  const file = folder.file(`audit-${protocol.replace('/', '')}.log`)
  const device = { type: 'file', options: { file_path: file } }
  const ask = (options: ConnectionOptions, path: string, body?: object) =>
    protocol === 'h2' ? askHttp2(server, options, path, body) : askHttp1(server, options, path, body)

  expect(await ask({}, '/v1/sys/audit/file', device)).toBe(204)
  expect(await ask({ cert, key }, '/v1/sys/mounts')).toBe(200)
  expect(await ask({}, '/v1/sys/mounts')).toBe(200)

  const requests = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"type":"response"') && line.includes('"path":"sys/mounts"'))
    .map((line) => JSON.parse(line)['request']['client_certificate_serial_number'])
  const serial = BigInt(`0x${new X509Certificate(cert).serialNumber}`).toString()
  expect(requests).toEqual([serial, undefined])
})

test.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'a session of %s does not admit a client whose authority a reload has removed',
  async (version) => {
    writeFileSync(folder.file('clients.pem'), `${authority.cert}${strangers.cert}`)
    await using server = await startTls({
      TLS_CLIENT_CA_FILE: folder.file('clients.pem'),
      TLS_CLIENT_AUTH: 'require',
      TLS_MIN_VERSION: '1.2',
    })
    const client = { ...strangers.sign('client'), maxVersion: version }
    const first = await shake(server, client)
    const sessions: Buffer[] = []
    first.on('session', (session: Buffer) => sessions.push(session))
    const wire = new Wire(first, () => undefined)
    wire.send(head('GET', '/v1/sys/health'))
    expect((await wire.answer())?.status).toBe(200)
    const session = sessions.at(-1) ?? first.getSession()
    wire.close()
    const again = async () => {
      const next = await wireTo(server, { ...client, session }).catch(() => undefined)
      next?.send(head('GET', '/v1/sys/health'))
      const answer = await next?.answer()
      next?.close()
      return answer?.status
    }

    const before = await again()
    writeFileSync(folder.file('clients.pem'), authority.cert)
    await server.server.reload()
    const after = await again()

    expect([before, after]).toEqual([200, 400])
  },
)

test('a connection without a handshake counts, and ends when the server stops', async () => {
  const server = await startTls({ MAX_CONNECTIONS: '1', MAX_CONNECTION_SHARE: '100%' })
  const port = Number(new URL(server.url).port)
  const silent = connectPlain(port, '127.0.0.1')
  const first = once(silent, 'close')
  await once(silent, 'connect')

  const busy = await shake(server)
  await first
  const last = connectPlain(port, '127.0.0.1')
  await once(last, 'connect')
  const ended = once(last, 'close')
  busy.destroy()
  await server[Symbol.asyncDispose]()
  await ended

  expect([silent.destroyed, last.destroyed]).toEqual([true, true])
})
