import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, existsSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterAll, describe, expect, test } from 'vitest'
import { freePort } from '../../simulators/free-port.ts'
import { programFile } from '../support/bundled.ts'
import { Authority } from '../support/certificates.ts'
import { Client } from '../support/client.ts'
import { noSimulatedDisk, simulateDisk } from '../support/disk/simulated-disk.ts'
import { startInFolder } from '../support/folder-server.ts'
import { frame, head, kinds, preface } from '../support/http2-frames.ts'
import { logLines } from '../support/log-lines.ts'
import { type ServerProcess, startProcess, startScriptFlags } from '../support/process.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const body = JSON.stringify({ policy: 'path "a" { capabilities = ["read"] }' })

/** A write whose head the server has taken (it answered 100 Continue) and whose body is still to come. */
async function aRunningWrite(server: { readonly url: string }, agent: Agent): Promise<ClientRequest> {
  const sent = request(`${server.url}/v1/sys/policies/acl/late`, {
    method: 'PUT',
    agent,
    headers: { 'X-Vault-Token': 'root', Expect: '100-continue', 'Content-Length': body.length },
  })
  sent.on('error', () => {})
  sent.flushHeaders()
  await once(sent, 'continue')
  return sent
}

test('SIGHUP reads settings again from the settings file, and an invalid one changes nothing; SIGINT ends with 0, and the store is closed', async () => {
  await using folder = await temporaryFolder()
  const settingsFile = folder.file('settings')
  const write = (...lines: string[]) => writeFileSync(settingsFile, lines.join('\n'))
  write('GATEHOUSE_LOG_LEVEL=info')
  writeFileSync(folder.file('headers.json'), '{"default":{"X-Kind":"new"}}')
  await using server = await startProcess({ folder: folder.path, settingsFile })
  const root = server.as(server.rootToken)
  const state = async () => {
    const { body, headers } = await root.read('sys/loggers')
    return [body['data'], headers['x-kind']]
  }

  const before = await state()
  write('GATEHOUSE_LOG_LEVEL=debug', 'GATEHOUSE_CUSTOM_HEADERS_FILE=headers.json')
  server.signal('SIGHUP')
  await server.logged('"event":"reloaded","log_level":"debug"')
  await server.logged('custom headers read now')
  const after = await state()
  write('GATEHOUSE_LOG_LEVEL=loud')
  server.signal('SIGHUP')
  await server.logged('the former settings stay in use: GATEHOUSE_LOG_LEVEL: ')
  const last = await state()
  const ended = await server.stop('SIGINT')
  await using next = await startInFolder({ folder: folder.path })

  expect([before, after]).toEqual([
    [{ core: 'info' }, undefined],
    [{ core: 'debug' }, 'new'],
  ])
  expect(last).toEqual(after)
  expect(ended.stderr).toContain('"event":"hangup"')
  expect(ended.stderr).toContain('"event":"stopping"')
  expect(ended.code).toBe(0)
  expect((await next.as(server.rootToken).read('auth/token/lookup-self')).status).toBe(200)
})

test('a stopping server reports not ready at once, serves until the end of GATEHOUSE_DRAIN_DELAY, finishes running requests, announces that it closes the connection, and ends with 0, whatever signals follow; the next start finds its code compiled', async () => {
  await using folder = await temporaryFolder()
  const cache = join(folder.path, 'compiled')
  await using server = await startProcess({
    folder: folder.path,
    args: ['--dev'],
    settings: { STORAGE: `sqlite:${folder.file('dev.db')}`, DRAIN_DELAY: '2s' },
    environment: { NODE_COMPILE_CACHE: cache },
  })
  using agent = disposable(new Agent({ keepAlive: true }))
  const running = await aRunningWrite(server, agent.agent)
  const before = await server.anonymous.read('/health/ready')

  server.signal('SIGTERM')
  await server.logged('stopping')
  const ready = await server.anonymous.read('/health/ready')
  const live = await server.anonymous.read('/health/live')
  const served = await server.as('root').read('auth/token/lookup-self')
  server.signal('SIGTERM')
  await refusesConnections(server)
  running.end(body)
  const [answer] = (await once(running, 'response')) as [IncomingMessage]
  answer.resume()
  const ended = await server.stop()
  await using next = await startInFolder({
    folder: folder.path,
    dev: true,
    settings: { STORAGE: `sqlite:${folder.file('dev.db')}` },
  })

  expect(before.body).toEqual({ status: 'ready' })
  expect([ready.status, ready.body]).toEqual([503, { status: 'stopping' }])
  expect([live.status, served.status]).toEqual([200, 200])
  expect(answer.statusCode).toBe(204)
  expect(answer.headers.connection).toBe('close')
  expect(ended.code).toBe(0)
  expect((await next.as('root').read('sys/policies/acl/late')).status).toBe(200)
  expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(50)
})

test('requests that still run after GATEHOUSE_STOP_TIMEOUT are cut off, with exit code 6', async () => {
  await using folder = await temporaryFolder()
  await using server = await startProcess({
    folder: folder.path,
    args: ['--dev'],
    settings: { STOP_TIMEOUT: '200ms', LOG_FORMAT: 'json' },
  })
  using agent = disposable(new Agent({ keepAlive: true }))
  await aRunningWrite(server, agent.agent)

  const ended = await server.stop()

  expect(ended.code).toBe(6)
  expect(logLines(ended).at(-1)).toMatchObject({
    event: 'stopped',
    exit_code: 6,
    msg: expect.stringContaining('GATEHOUSE_STOP_TIMEOUT'),
  })
})

describe.skipIf(noSimulatedDisk !== undefined)('on a disk whose syncs never return', () => {
  test.each([
    { name: 'a write', begin: (root: Client) => root.write('sys/policies/acl/late', { policy: '' }) },
    { name: 'the end of the store', begin: (root: Client) => root.read('auth/token/lookup-self') },
  ])('$name does not keep a server alive after its time limit', async ({ begin }) => {
    await using folder = await temporaryFolder()
    using disk = simulateDisk(folder.file('data'))
    await using server = await startProcess({
      folder: folder.path,
      environment: await disk.environment(),
      settings: { STOP_TIMEOUT: '500ms', LOG_FORMAT: 'json' },
    })

    disk.hang()
    const answer = begin(server.as(server.rootToken)).catch(() => undefined)
    const ended = await server.stop()
    await answer

    expect(ended.code).toBe(6)
    expect(logLines(ended).at(-1)).toMatchObject({ event: 'stopped', exit_code: 6 })
  })
})

describe('a connection whose client only keeps it open does not delay a clean stop', () => {
  const authority = new Authority()
  afterAll(() => authority[Symbol.dispose]())

  /** Resolves when the server has sent something. */
  const heard = async (socket: Socket): Promise<Socket> => {
    await once(socket, 'data')
    return socket
  }
  const plain = async (port: number) => {
    const socket = new Socket({ allowHalfOpen: true }).connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
  const overTls = async (port: number, protocol: string) => {
    const socket = connectTls({ socket: await plain(port), ca: authority.cert, ALPNProtocols: [protocol] })
    await once(socket, 'secureConnect')
    return socket
  }
  const asked = (socket: Socket) => {
    socket.write('GET /health/live HTTP/1.1\r\nHost: gate\r\n\r\n')
    return heard(socket)
  }
  const asked2 = (socket: Socket) => {
    socket.write(Buffer.concat([preface, frame(kinds.headers, 5, 1, head)]))
    return heard(socket)
  }

  type Ports = { readonly port: number; readonly metrics: number }
  const http1 = ({ port }: Ports) => overTls(port, 'http/1.1')
  const http2 = ({ port }: Ports) => overTls(port, 'h2')

  test.each<{ name: string; end?: 'SIGHUP'; connections: readonly ((ports: Ports) => Promise<Socket>)[] }>([
    {
      name: 'silent and after a request, also to the metrics, when the terminal of a development server closes',
      end: 'SIGHUP',
      connections: [
        ({ port }) => plain(port),
        async ({ port }) => asked(await plain(port)),
        ({ metrics }) => plain(metrics),
        async ({ metrics }) => asked(await plain(metrics)),
      ],
    },
    {
      name: 'with TLS: without a handshake, silent and after a request, also of HTTP/2',
      connections: [
        ({ port }) => plain(port),
        http1,
        async (ports) => asked(await http1(ports)),
        http2,
        async (ports) => asked2(await http2(ports)),
      ],
    },
  ])('($name)', async ({ name, end, connections }) => {
    await using folder = await temporaryFolder()
    const { cert, key } = authority.sign('gate')
    writeFileSync(folder.file('cert.pem'), cert)
    writeFileSync(folder.file('key.pem'), key)
    const metrics = await freePort()
    await using server = await startProcess({
      folder: folder.path,
      args: ['--dev'],
      settings: {
        STOP_TIMEOUT: '6s',
        HEADER_TIMEOUT: '60s',
        METRICS_LISTEN: `127.0.0.1:${metrics}`,
        ...(name.startsWith('with TLS') && {
          TLS_CERT_FILE: folder.file('cert.pem'),
          TLS_KEY_FILE: folder.file('key.pem'),
        }),
      },
    })
    const ports = { port: Number(new URL(server.url).port), metrics }
    const sockets = await Promise.all(connections.map((open) => open(ports)))
    for (const socket of sockets) socket.on('error', () => {}).resume()

    const ended = await server.stop(end)
    for (const socket of sockets) socket.destroy()

    expect(ended.code).toBe(0)
  })
})

test('a sealed server serves nothing until its next start', async () => {
  await using folder = await temporaryFolder()
  await using server = await startInFolder({ folder: folder.path })
  const root = server.as(server.rootToken)

  const refused = await server.anonymous.call('PUT', 'sys/seal')
  const sealed = await root.call('PUT', 'sys/seal')
  const lookup = await root.read('auth/token/lookup-self')
  const health = await server.anonymous.read('sys/health')
  const ready = await server.anonymous.read('/health/ready')
  const status = await server.anonymous.read('sys/seal-status')
  await server.stop()
  await using next = await startInFolder({ folder: folder.path })
  const again = await next.as(server.rootToken).read('auth/token/lookup-self')

  expect([refused.status, sealed.status]).toEqual([403, 204])
  expect([lookup.status, lookup.body['errors']]).toEqual([503, ['Vault is sealed']])
  expect([health.status, health.body['sealed']]).toEqual([503, true])
  expect([ready.status, ready.body]).toEqual([503, { status: 'sealed' }])
  expect(status.body).toMatchObject({ type: 'static', sealed: true, initialized: true, recovery_seal: true })
  expect(again.status).toBe(200)
})

/** A server whose log pipe is read until it says that it listens, and never again. */
async function startOnUnreadPipe(folder: string, settings: Record<string, string>) {
  const pipe = join(folder, 'log')
  execFileSync('mkfifo', [pipe])
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(pipe, constants.O_WRONLY)
  const named = Object.entries({ LISTEN: '127.0.0.1:0', ...settings }).map(([name, value]) => [
    `GATEHOUSE_${name}`,
    value,
  ])
  const child = spawn(process.execPath, [...startScriptFlags, programFile('src/process/main.ts'), '--dev'], {
    cwd: folder,
    env: { ...process.env, ...Object.fromEntries(named) },
    stdio: ['ignore', 'ignore', writer],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  const ended = once(child, 'exit')
  closeSync(writer)
  const unread = new Socket({ fd: reader, readable: true, writable: false })
  let log = ''
  let url: string | undefined
  for (; url === undefined; url = /listening on (http:[^\s"]+)/.exec(log)?.[1])
    log += String(await once(unread, 'data'))
  unread.pause()
  const dispose = () => {
    child.kill('SIGKILL')
    unread.destroy()
  }
  return { url, log, child, ended, client: new Client(url), [Symbol.dispose]: dispose }
}

/**
 * A pipe holds 64 KiB, and a line has 200 bytes at least. The rest stays in the server's memory: it answers all the
 * same.
 */
async function fillLog(client: Client): Promise<void> {
  for (let lines = 0; lines < 700; lines += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.read('sys/health')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  }
}

test('the log is text with GATEHOUSE_LOG_FORMAT=text, and a full pipe that nobody reads neither blocks a server nor keeps a stopping one alive', async () => {
  await using folder = await temporaryFolder()
  using server = await startOnUnreadPipe(folder.path, {
    ACCESS_LOG: 'true',
    STOP_TIMEOUT: '20s',
    LOG_FORMAT: 'text',
  })
  await fillLog(server.client)

  server.child.kill('SIGTERM')

  expect(server.log).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: Gatehouse \S+ is listening on http:/m)
  expect(server.log).not.toMatch(/^\{/m)
  expect(await server.ended).toEqual([0, null])
})

test('a full log pipe that nobody reads does not keep a server alive after its time limit', async () => {
  await using folder = await temporaryFolder()
  const settings = { ACCESS_LOG: 'true', STOP_TIMEOUT: '200ms', LOG_FORMAT: 'json' }
  using server = await startOnUnreadPipe(folder.path, settings)
  using agent = disposable(new Agent({ keepAlive: true }))
  await fillLog(server.client)
  await aRunningWrite(server, agent.agent)

  server.child.kill('SIGTERM')

  expect(await server.ended).toEqual([6, null])
})

test('a stop cuts off no request of busy clients: each is answered, or its connection is refused', async () => {
  await using folder = await temporaryFolder()
  await using server = await startProcess({
    folder: folder.path,
    args: ['--dev'],
    settings: { LOG_FORMAT: 'json' },
  })
  let answers = 0
  const cutOff: unknown[] = []
  const stopping = new AbortController()
  let stoppedAt = Number.POSITIVE_INFINITY
  /**
   * A connection that was made before the stop is accepted, and an idle one is served for a second more: a busy
   * server may read what comes late in that second only after its end. Later connections may be reset: the
   * system makes connections that the server never sees.
   */
  const mustBeServed = ({ isReused, connectedAt, sentAt }: Journey) =>
    isReused ? sentAt < stoppedAt + 300 : connectedAt < stoppedAt
  async function ask(agent: Agent | false) {
    for (;;) {
      const sent = request(`${server.url}/v1/sys/internal/ui/mounts`, {
        agent,
        headers: { 'X-Vault-Token': 'root' },
      })
      const journey = journeyOf(sent)
      try {
        const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage]
        await answer.resume().toArray()
        answers += 1
        if (answers === 600) stopping.abort()
      } catch (error) {
        if (mustBeServed(journey)) cutOff.push({ error, ...journey, stoppedAt })
        return
      }
    }
  }
  const agents = Array.from({ length: 40 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  // the others connect for each request
  const clients = [...agents, ...agents.map(() => false as const)].map(ask)
  await once(stopping.signal, 'abort')

  stoppedAt = performance.now()
  server.signal('SIGTERM')
  await Promise.all(clients)
  const ended = await server.ended
  for (const agent of agents) agent.destroy()

  expect([cutOff, ended.code]).toEqual([[], 0])
})

type Journey = { isReused: boolean; connectedAt: number; sentAt: number }

/** How far a request has come, in milliseconds; infinite for what has not happened. */
function journeyOf(sent: ClientRequest): Journey {
  const never = Number.POSITIVE_INFINITY
  const journey = { isReused: false, connectedAt: never, sentAt: never }
  sent.once('socket', (socket) => {
    journey.isReused = sent.reusedSocket
    if (journey.isReused) return
    socket.once('connect', () => {
      journey.connectedAt = performance.now()
    })
  })
  // the system has all of it
  sent.once('finish', () => {
    journey.sentAt = performance.now()
  })
  return journey
}

test('a stopping server accepts all connections that the system has queued for it, however late it runs', async () => {
  await using server = await startTestServer()
  const sent = Array.from({ length: 700 }, () => request(`${server.url}/health/live`, { agent: false }).end())
  const answers = sent.map(async (one) => ((await once(one, 'response')) as [IncomingMessage])[0].resume())
  // each has called the system by then, and the server has accepted none
  await new Promise(process.nextTick)

  const stopped = server.server.drain(0)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
  const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode)
  await stopped

  expect(statuses).toEqual(sent.map(() => 200))
})

test('a signal before the server has started ends it, even as process 1 of a container', async () => {
  await using folder = await temporaryFolder()
  // the server handles SIGTERM by then
  const signalAtOnce = `process.on('newListener', (name) => {
    if (name === 'SIGINT') process.kill(process.pid, 'SIGTERM')
  })`
  const before = [...startScriptFlags, '--import', `data:text/javascript,${encodeURIComponent(signalAtOnce)}`]
  const child = spawn(process.execPath, [...before, programFile('src/process/main.ts')], {
    cwd: folder.path,
    env: { ...process.env, GATEHOUSE_LISTEN: '127.0.0.1:0' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  child.stdout.resume()

  expect(await once(child, 'exit')).toEqual([0, null])
  expect(existsSync(folder.file('data'))).toBe(false)
})

const disposable = (agent: Agent) => ({ agent, [Symbol.dispose]: () => agent.destroy() })

/** Sends requests until connections are refused. */
async function refusesConnections(server: ServerProcess): Promise<void> {
  const answers = () =>
    server.anonymous.read('/health/live').then(
      () => true,
      () => false,
    )
  await expect.poll(answers, { interval: 50 }).toBe(false)
}
