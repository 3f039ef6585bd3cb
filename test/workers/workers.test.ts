import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../simulators/free-port.ts'
import { isAboutWorkers, missingFor, queries } from '../monitoring/queries.ts'
import { readScrape } from '../monitoring/series.ts'
import { Client } from '../support/client.ts'
import { endOf, logLines } from '../support/log-lines.ts'
import { newDatabase } from '../support/postgres.ts'
import { runCommand, runServer, type ServerProcess, startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const auditFile = 'data/audit/audit.log'
const sealKey = 'a5'.repeat(32)

/** All tests use one store. */
let database: string
let rootToken: string

/** Settings of two workers, which are the replicas `gate-1` and `gate-2` unless another name is given. */
const settingsOf = (settings: Record<string, string> = {}) => ({
  STORAGE: database,
  SEAL_KEY: sealKey,
  WORKERS: '2',
  REPLICA_NAME: 'gate',
  METRICS: 'open',
  ...settings,
})

/** The latest process of each worker. */
function pidsOf(server: Pick<ServerProcess, 'stderr'>): Map<string, number> {
  const whole = server.stderr.slice(0, server.stderr.lastIndexOf('\n') + 1)
  const started = logLines({ stderr: whole }).filter(({ event }) => event === 'worker_started')
  return new Map(started.map(({ replica, pid }) => [String(replica), Number(pid)]))
}

/** Repeats a call until its result is right. Each call has a connection of its own. */
async function until<T>(call: () => Promise<T>, isRight: (result: T) => boolean): Promise<T> {
  for (;;) {
    const result = await call()
    if (isRight(result)) return result
    await pause(10)
  }
}

/** A metric by process. `labels` is a part of its other labels. */
function figures(metrics: string, name: string, labels = ''): Record<string, number> {
  const lines = metrics.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(labels))
  const found = lines.map((line) => /process="([^"]+)"\} (\S+)$/.exec(line))
  return Object.fromEntries(found.map((match) => [match?.[1] ?? '', Number(match?.[2])]))
}

/** Calls until both workers have responded. */
const fromBoth = (call: () => Promise<unknown>, { anonymous }: ServerProcess, label: string) =>
  until(
    async () => {
      await call()
      const { text } = await anonymous.read('/metrics')
      return Object.keys(figures(text, 'gatehouse_http_requests_total', label))
    },
    (processes) => processes.length === 2,
  )

const contentOf = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : '')
const requestsIn = (file: string) => contentOf(file).match(/"type":"request"/g)?.length ?? 0

describe('two workers', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let server: ServerProcess
  let root: Client
  let metrics: Client
  let settingsFile: string

  beforeAll(async () => {
    folder = await temporaryFolder()
    const device = { path: 'file', type: 'file', options: { file_path: auditFile } }
    database = await newDatabase()
    const port = await freePort()
    metrics = new Client(`http://127.0.0.1:${port}`)
    settingsFile = folder.file('settings')
    writeFileSync(settingsFile, '')
    server = await startProcess({
      folder: folder.path,
      settingsFile,
      settings: settingsOf({
        AUDIT: JSON.stringify([device]),
        METRICS_LISTEN: `127.0.0.1:${port}`,
        LISTEN: `127.0.0.1:0,unix:${folder.file('gate.sock')}`,
        UNIX_SOCKET_MODE: '0660',
      }),
    })
    rootToken = server.rootToken
    root = server.as(rootToken)
    await server.logged('"replica":"gate-2","event":"worker_started"')
  })

  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  const sealed = async () => figures((await server.anonymous.read('/metrics')).text, 'gatehouse_sealed')

  test('print one root token, which both accept', async () => {
    const statuses = new Set<number>()
    await fromBoth(
      async () => statuses.add((await root.read('auth/token/lookup-self')).status),
      server,
      'route="/token/lookup-self"',
    )

    expect(server.stdout.match(/Root token/g)).toHaveLength(1)
    expect([...statuses]).toEqual([200])
  })

  test('are ready, and name themselves in one log', async () => {
    const ready = await server.anonymous.read('/health/ready')

    expect(ready.body).toEqual({ status: 'ready' })
    expect([...pidsOf(server).keys()]).toEqual(['gate-1', 'gate-2'])
    expect(logLines(server).filter(({ event }) => event === 'started')).toMatchObject([{ replica: 'gate' }])
  })

  test('show the metrics of all processes in one scrape, each value with its process', async () => {
    const { text } = await server.anonymous.read('/metrics')
    const json = await server.anonymous.read('/v1/sys/metrics')

    const values = text.split('\n').filter((line) => /^[a-z]/.test(line))
    expect(values.filter((line) => !line.includes('process="gate'))).toEqual([])
    expect(Object.keys(figures(text, 'process_resident_memory_bytes'))).toEqual(['gate', 'gate-1', 'gate-2'])
    expect(figures(text, 'gatehouse_sealed')).toEqual({ 'gate-1': 0, 'gate-2': 0 })
    expect(text.match(/^# TYPE gatehouse_sealed gauge$/gm)).toHaveLength(1)
    const { series } = readScrape(text)
    expect(queries.filter(isAboutWorkers).flatMap(({ query }) => missingFor(query, series))).toEqual([])
    expect(text).toContain('gatehouse_worker_up{worker="gate-2",process="gate"} 1')
    expect(json.body['Gauges']).toContainEqual({
      Name: 'gatehouse_sealed',
      Value: 0,
      Labels: { process: 'gate-2' },
    })
  })

  test('share one listener for metrics and health, which their supervisor serves', async () => {
    const [found, ready, live] = await Promise.all(
      ['/metrics', '/health/ready', '/health/live'].map((path) => metrics.read(path)),
    )

    expect(figures(found?.text ?? '', 'gatehouse_sealed')).toEqual({ 'gate-1': 0, 'gate-2': 0 })
    expect([ready?.status, live?.status]).toEqual([200, 200])
  })

  test('both serve the LIST verb', async () => {
    const statuses = new Set<number>()
    await fromBoth(
      async () => statuses.add((await root.call('LIST', 'sys/policies/acl')).status),
      server,
      'method="LIST"',
    )

    expect([...statuses]).toEqual([200])
  })

  test('both serve a Unix socket, which has its mode', async () => {
    const local = new Client(`unix:${folder.file('gate.sock')}`, rootToken)
    const statuses = new Set<number>()
    await fromBoth(
      async () => statuses.add((await local.call('HELP', 'sys/policies/acl')).status),
      server,
      'method="HELP"',
    )

    expect([...statuses]).toEqual([200])
    expect(statSync(folder.file('gate.sock')).mode & 0o777).toBe(0o660)
  })

  test('write an audit file each, which SIGHUP opens again, with intact chains', async () => {
    const files = [1, 2].map((number) => folder.file(`data/audit/audit-${number}.log`))
    const isWritten = () =>
      until(
        () => root.read('sys/policies/acl/default').then(() => files.map(requestsIn)),
        (counts) => counts.every((count) => count > 0),
      )
    await isWritten()
    for (const file of files) await rename(file, `${file}.1`)
    server.signal('SIGHUP')
    await isWritten()
    const verified = await Promise.all(
      files.map((file) => runCommand('audit-verify', { folder: folder.path, args: [`${file}.1`, file] })),
    )

    expect(verified.map(({ code, stdout }) => [code, stdout.trimEnd().split('\n').at(-1)])).toEqual([
      [0, 'intact'],
      [0, 'intact'],
    ])
    expect(existsSync(folder.file(auditFile))).toBe(false)
  })

  test('follow the log level in the settings file on SIGHUP', async () => {
    writeFileSync(settingsFile, 'GATEHOUSE_LOG_LEVEL=debug')
    server.signal('SIGHUP')

    for (const name of ['gate', 'gate-1', 'gate-2'])
      await server.logged(`"replica":"${name}","event":"reloaded","log_level":"debug"`)
  })

  test('are sealed together, and unsealed together', async () => {
    const sealing = await root.write('sys/seal')
    const afterSealing = await until(sealed, (states) => states['gate-1'] === states['gate-2'])
    const readiness = await metrics.read('/health/ready')
    const unsealing = await server.anonymous.write('sys/unseal', { key: sealKey })
    const afterUnsealing = await until(sealed, (states) => states['gate-1'] === states['gate-2'])

    expect([sealing.status, unsealing.status]).toEqual([204, 200])
    expect(afterSealing).toEqual({ 'gate-1': 1, 'gate-2': 1 })
    expect([readiness.status, readiness.body]).toEqual([503, { status: 'sealed' }])
    expect(afterUnsealing).toEqual({ 'gate-1': 0, 'gate-2': 0 })
  })

  test('replace a worker that was killed, and the others serve what it would have served', async () => {
    const killed = pidsOf(server).get('gate-1') ?? 0
    process.kill(killed, 'SIGKILL')
    await server.logged('"event":"worker_crashed"')
    const statuses = new Set<number>()
    for (let calls = 0; calls < 20; calls++) statuses.add((await root.read('auth/token/lookup-self')).status)
    await expect.poll(() => pidsOf(server).get('gate-1'), { interval: 10, timeout: 20_000 }).not.toBe(killed)
    await until(
      () => server.anonymous.read('/metrics'),
      ({ text }) => text.includes('gatehouse_worker_up{worker="gate-1",process="gate"} 1'),
    )
    const { text } = await server.anonymous.read('/metrics')

    expect([...statuses]).toEqual([200])
    expect(text).toContain('gatehouse_worker_restarts{worker="gate-1",process="gate"} 1')
    expect(logLines(server)).toContainEqual(
      expect.objectContaining({
        event: 'worker_crashed',
        replica: 'gate',
        worker: 'gate-1',
        signal: 'SIGKILL',
      }),
    )
  })

  test('stop together: each request is answered, or its connection is refused', async () => {
    const cutOff: unknown[] = []
    let answers = 0
    const busy = Promise.withResolvers<void>()
    let stoppedAt = Number.POSITIVE_INFINITY
    async function client() {
      for (;;) {
        const startedAt = performance.now()
        try {
          const { status } = await root.read('sys/internal/ui/mounts')
          if (status !== 200) cutOff.push(status)
          answers += 1
          if (answers === 200) busy.resolve()
        } catch (error) {
          // a connection that is made while the address closes may be reset before it is accepted
          if (startedAt < stoppedAt) cutOff.push(error)
          return
        }
      }
    }
    const clients = Array.from({ length: 16 }, client)
    await busy.promise

    stoppedAt = performance.now()
    server.signal('SIGTERM')
    await Promise.all(clients)
    const ended = await server.ended

    expect([cutOff, ended.code]).toEqual([[], 0])
    expect(existsSync(folder.file('gate.sock'))).toBe(false)
    expect(logLines(ended).filter(({ level }) => level === 'fatal')).toEqual([])
  })
})

const policy = JSON.stringify({ policy: 'path "a" { capabilities = ["read"] }' })

/** A write whose head a worker has taken, and whose body is still to come. */
async function aRunningWrite(server: ServerProcess): Promise<ClientRequest> {
  const sent = request(`${server.url}/v1/sys/policies/acl/late`, {
    method: 'PUT',
    agent: new Agent({ keepAlive: true }),
    headers: { 'X-Vault-Token': rootToken, Expect: '100-continue', 'Content-Length': policy.length },
  })
  sent.on('error', () => {})
  sent.flushHeaders()
  await once(sent, 'continue')
  return sent
}

test('workers whose requests run after GATEHOUSE_STOP_TIMEOUT are killed, with exit code 6', async () => {
  await using folder = await temporaryFolder()
  const settings = settingsOf({ REPLICA_NAME: 'slow', STOP_TIMEOUT: '300ms' })
  await using server = await startProcess({ folder: folder.path, settings })
  await aRunningWrite(server)

  const ended = await server.stop()

  expect(ended.code).toBe(6)
  expect(ended.stderr).toContain('requests were still running after GATEHOUSE_STOP_TIMEOUT')
})

test('workers whose supervisor is killed finish their requests, end, and leave the address free', async () => {
  await using folder = await temporaryFolder()
  const settings = settingsOf({ REPLICA_NAME: 'orphan' })
  await using server = await startProcess({ folder: folder.path, settings })
  const running = await aRunningWrite(server)

  process.kill(server.pid, 'SIGKILL')
  // a connection that is made while the address closes may be reset
  const refused = await until(
    () => server.anonymous.read('/health/live').catch((error: NodeJS.ErrnoException) => error),
    (answer) => 'syscall' in answer && answer.syscall === 'connect',
  )
  running.end(policy)
  const [answer] = (await once(running, 'response')) as [IncomingMessage]
  answer.resume()
  // its standard output ends with the last process that holds it
  await server.ended

  expect(refused).toMatchObject({ code: 'ECONNREFUSED' })
  expect(answer.statusCode).toBe(204)
})

test('a start of workers that fails ends with the exit code of one server, and one line that says why', async () => {
  await using folder = await temporaryFolder()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const address = other.address()
  const taken = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`

  const ends = await Promise.all(
    [
      settingsOf({ LISTEN: taken }),
      settingsOf({ SEAL_KEY: 'b6'.repeat(32) }),
      settingsOf({ SEAL: 'shamir' }),
    ].map(async (settings) => endOf(await runServer({ folder: folder.path, settings }))),
  )
  other.close()

  expect(ends).toEqual([
    {
      code: 2,
      stdout: '',
      fatal: [
        `GATEHOUSE_LISTEN: cannot listen on ${taken}: EADDRINUSE: another program listens there; stop it, or set another address`,
      ],
    },
    { code: 5, stdout: '', fatal: [expect.stringContaining('seal key does not open this store')] },
    { code: 2, stdout: '', fatal: [expect.stringContaining('GATEHOUSE_WORKERS: must be 1 with')] },
  ])
})
