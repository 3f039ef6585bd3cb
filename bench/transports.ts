import { writeFileSync } from 'node:fs'
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { Authority } from '../test/support/certificates.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { hasH2load, postsPerSecond } from './h2load.ts'
import { median } from './measure.ts'
import { configureLogins, knownBodies, loginPath } from './pipeline-logins.ts'
import { readProcessFigures } from './process-figures.ts'
import { startSecure } from './secure-server.ts'
import { SlowClients, slowClients } from './slow-clients.ts'
import { megabytes, verdict } from './table.ts'

/** Logs in once; rejects unless the response is 200. */
type Login = (body: string) => Promise<void>
/** Logs in for some seconds. */
type Client = { readonly server: ServerProcess; rate(seconds: number): Promise<number>; close(): void }
/** Logins per second, and the milliseconds of processor time that the server needs for one. */
type Measured = { readonly rate: number; readonly cpuMs: number }

/**
 * Measures logins on connections that are kept alive: with TLS against plain HTTP, over HTTP/2 against HTTP/1.1
 * with TLS, and beside clients that send one byte per second. The load comes from h2load if it is on PATH, else
 * from this process, whose client of HTTP/2 needs more time than that of HTTP/1.1.
 */
export async function measureTransports({ options }: { options: BenchOptions }): Promise<string> {
  using authority = new Authority()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  const bodies = await knownBodies(issuer, 'ES256')
  await using plainFolder = await makeBenchFolder()
  await using plain = await startServerProcess({ folder: plainFolder.path })
  await configureLogins(plain.url, plain.rootToken, issuer)
  await using secureFolder = await makeBenchFolder()
  await using secure = await startSecure(secureFolder.path, authority, {
    configure: (url, token) => configureLogins(url, token, issuer),
  })
  const bodyFile = `${secureFolder.path}/login.json`
  writeFileSync(bodyFile, bodies[0] ?? '')
  const clients = hasH2load()
    ? clientsOfH2load(plain, secure, bodyFile)
    : {
        'plain HTTP': overHttp1(plain, undefined, bodies),
        'HTTP/1.1 with TLS': overHttp1(secure, authority.cert, bodies),
        'HTTP/2': overHttp2(secure, authority.cert, 1, bodies),
        'HTTP/2, 8 connections': overHttp2(secure, authority.cert, 8, bodies),
      }
  const measured = await measureClients(Object.entries(clients), options)
  const rate = (name: keyof typeof clients) => median((measured.get(name) ?? []).map((one) => one.rate))
  const lines = [
    `load by ${hasH2load() ? 'h2load' : 'clients of Node.js'}`,
    compared('HTTP/1.1 with TLS', 'plain HTTP', 0.85),
    compared('HTTP/2', 'HTTP/1.1 with TLS', 1),
    compared('HTTP/2, 8 connections', 'HTTP/1.1 with TLS', 1),
    await besideSlowClients(plain, clients['plain HTTP'], options),
  ]
  for (const client of Object.values(clients)) client.close()
  return lines.join('\n')

  function compared(name: keyof typeof clients, other: keyof typeof clients, aim: number): string {
    const ratio = ratioOf('rate')
    // unlike rates, it is measured well on a busy machine
    const cpu = ratioOf('cpuMs')
    return `logins over ${name}: ${Math.round(rate(name))}/s, ${other} ${Math.round(rate(other))}/s: ${ratio.toFixed(2)} (${verdict(ratio >= aim, `≥ ${aim}`)}); processor time per login ${cpu.toFixed(2)}`

    // neighbours in time are compared: the machine is not equally fast all the time
    function ratioOf(figure: keyof Measured): number {
      const others = measured.get(other) ?? []
      const rounds = measured.get(name) ?? []
      return median(rounds.map((one, round) => one[figure] / (others[round] ?? one)[figure]))
    }
  }
}

function clientsOfH2load(plain: ServerProcess, secure: ServerProcess, bodyFile: string) {
  const client = (server: ServerProcess, connections: number, streams: number | 'http/1.1'): Client => ({
    server,
    rate: (seconds) =>
      postsPerSecond({ url: `${server.url}${loginPath}`, bodyFile, connections, streams }, seconds),
    close: () => {},
  })
  return {
    'plain HTTP': client(plain, usualConnections, 'http/1.1'),
    'HTTP/1.1 with TLS': client(secure, usualConnections, 'http/1.1'),
    'HTTP/2': client(secure, 1, usualConnections),
    'HTTP/2, 8 connections': client(secure, 8, usualConnections / 8),
  }
}

/** The clients take turns, so that a disturbance affects all. */
async function measureClients(
  clients: readonly (readonly [string, Client])[],
  { rounds, seconds }: BenchOptions,
): Promise<Map<string, Measured[]>> {
  const measured = new Map<string, Measured[]>(clients.map(([name]) => [name, []]))
  for (const [, client] of clients) await client.rate(2)
  for (let round = 0; round < rounds; round++)
    for (const [name, client] of clients) measured.get(name)?.push(await measureClient(client, seconds))
  return measured
}

async function measureClient(client: Client, seconds: number): Promise<Measured> {
  const cpuSeconds = async () => (await readProcessFigures(client.server.pid))?.cpuSeconds ?? 0
  const before = await cpuSeconds()
  const rate = await client.rate(seconds)
  return { rate, cpuMs: (1000 * ((await cpuSeconds()) - before)) / (rate * seconds) }
}

async function rateOf(login: Login, bodies: readonly string[], seconds: number): Promise<number> {
  const start = performance.now()
  const end = start + seconds * 1000
  let count = 0
  const worker = async () => {
    while (performance.now() < end) await login(bodies[count++ % bodies.length] ?? '')
  }
  await Promise.all(Array.from({ length: usualConnections }, worker))
  return (count * 1000) / (performance.now() - start)
}

function overHttp1(server: ServerProcess, ca: string | undefined, bodies: readonly string[]): Client {
  const { port } = server
  const options = { keepAlive: true, maxSockets: usualConnections }
  const agent = ca === undefined ? new HttpAgent(options) : new HttpsAgent({ ...options, ca })
  const send = ca === undefined ? httpRequest : httpsRequest
  const login: Login = (body) =>
    new Promise<void>((resolve, reject) => {
      const headers = { 'content-length': Buffer.byteLength(body) }
      const sent = send(
        { host: '127.0.0.1', port, agent, method: 'POST', path: loginPath, headers },
        (answer) => {
          answer.resume()
          answer.on('end', () => (answer.statusCode === 200 ? resolve() : reject(refused(answer.statusCode))))
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  return { server, rate: (seconds) => rateOf(login, bodies, seconds), close: () => agent.destroy() }
}

function overHttp2(
  server: ServerProcess,
  ca: string,
  connections: number,
  bodies: readonly string[],
): Client {
  const sessions = Array.from({ length: connections }, () =>
    connectHttp2(`https://127.0.0.1:${server.port}`, { ca }),
  )
  let next = 0
  const login: Login = (body) =>
    new Promise<void>((resolve, reject) => {
      const session = sessions[next++ % sessions.length]
      const headers = { ':method': 'POST', ':path': loginPath, 'content-length': Buffer.byteLength(body) }
      const stream = session?.request(headers)
      if (stream === undefined) return reject(new Error('no connection'))
      let status: number | undefined
      stream.on('response', (head) => {
        status = head[':status']
      })
      stream.on('error', reject)
      stream.on('end', () => (status === 200 ? resolve() : reject(refused(status))))
      stream.resume()
      stream.end(body)
    })
  const close = () => {
    for (const session of sessions) session.destroy()
  }
  return { server, rate: (seconds) => rateOf(login, bodies, seconds), close }
}

const refused = (status: number | undefined) => new Error(`a login was answered ${status}`)

async function besideSlowClients(
  server: ServerProcess,
  client: Client,
  options: BenchOptions,
): Promise<string> {
  const alone: number[] = []
  const beside: number[] = []
  let before: number | undefined
  for (let round = 0; round < options.rounds; round++) {
    alone.push(await client.rate(options.seconds))
    before ??= await rssOf(server)
    using _slow = new SlowClients(server.port)
    beside.push(await client.rate(options.seconds))
  }
  const ratio = median(beside) / median(alone)
  return `logins beside ${slowClients} clients that send one byte per second: ${ratio.toFixed(2)} of those alone (${verdict(ratio >= 0.9, '≥ 0.9')}), RSS ${megabytes(before)} MB before, ${megabytes(await rssOf(server))} MB after`
}

const rssOf = async ({ pid }: ServerProcess) => (await readProcessFigures(pid))?.rssBytes
