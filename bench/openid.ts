import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { type Issuer, startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { clientTokenOf, send, sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { type CodeProvider, startCodeProvider } from './code-provider.ts'
import type { Generator } from './generator.ts'
import { jobOf, median } from './measure.ts'
import { configureLogins, loginPath, roleName, signLogins } from './pipeline-logins.ts'
import { readProcessFigures } from './process-figures.ts'
import { verdict } from './table.ts'

export type OpenIdInput = { generator: Generator; options: BenchOptions }

/** Below the limit of pending logins per address. */
const browserLogins = 600
const warmUp = 100
const turn = 50
const unknownKids = 10_000
const unknownKidSeconds = 10
const knownJwts = 256
const clientId = 'gatehouse'
const redirectUri = 'http://localhost:8250/oidc/callback'

/**
 * Measures the cost of a browser login, the key fetches that unknown keys cause at the provider, and the
 * login rate while the provider is down.
 */
export async function measureOpenId({ generator, options }: OpenIdInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await using provider = await startCodeProvider(issuer, clientId)
  await using server = await startServerProcess({ folder: folder.path })
  await configureLogins(server.url, server.rootToken, issuer)
  await configureBrowserLogins(server, provider)
  return [
    await compareCallback(server, provider, issuer),
    await compareWithoutProvider(server, { issuer, generator, options }),
    await countFetches(server, { issuer, generator }),
  ].join('\n')
}

async function configureBrowserLogins(
  { url, rootToken: token }: ServerProcess,
  provider: CodeProvider,
): Promise<void> {
  const write = (path: string, body: unknown) => sendSuccessfully(url, { method: 'POST', path, token, body })
  await write('sys/auth/oidc', { type: 'oidc' })
  await write('auth/oidc/config', {
    oidc_discovery_url: provider.url,
    oidc_client_id: clientId,
    oidc_client_secret: 'bench',
  })
  await write('auth/oidc/role/people', {
    user_claim: 'sub',
    allowed_redirect_uris: redirectUri,
    bound_claims: { email_verified: true },
    token_ttl: '15m',
  })
  await write('auth/oidc/role/jobs', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: clientId,
    bound_claims: { email_verified: true },
    token_ttl: '15m',
  })
}

type Callback = { state: string; code: string }

type Side = { readonly ms: number[]; cpuSeconds: number }

/**
 * Compares callbacks (code exchange and userinfo) with JWT logins of the same person on the same mount, in
 * short turns on one connection. On a busy machine the server's CPU time is a better measure than elapsed
 * time.
 */
async function compareCallback(
  server: ServerProcess,
  provider: CodeProvider,
  issuer: Issuer,
): Promise<string> {
  const callbacks: Callback[] = []
  for (let index = 0; index < browserLogins; index++) callbacks.push(await beginLogin(server, provider))
  const now = Math.floor(Date.now() / 1000)
  const jwt = await issuer.sign({
    iss: provider.url,
    sub: 'octavia',
    aud: clientId,
    iat: now,
    exp: now + 3600,
    email: 'octavia@acme.example',
    email_verified: true,
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const [whole, own, login]: [Side, Side, Side] = [newSide(), newSide(), newSide()]
  for (let start = 0; start < callbacks.length; start += turn) {
    const counts = start >= warmUp
    const jwtCpu = await cpuOf(server, async () => {
      for (let index = 0; index < turn; index++) {
        const ms = await timed(agent, server, {
          method: 'POST',
          path: '/v1/auth/oidc/login',
          body: JSON.stringify({ role: 'jobs', jwt }),
        })
        if (counts) login.ms.push(ms)
      }
    })
    const callbackCpu = await cpuOf(server, async () => {
      for (const { state, code } of callbacks.slice(start, start + turn)) {
        const busyBefore = provider.busyMs
        const ms = await timed(agent, server, {
          method: 'GET',
          path: `/v1/auth/oidc/oidc/callback?state=${state}&code=${code}`,
        })
        if (counts) whole.ms.push(ms)
        if (counts) own.ms.push(ms - (provider.busyMs - busyBefore))
      }
    })
    if (counts) login.cpuSeconds += jwtCpu
    if (counts) own.cpuSeconds += callbackCpu
  }
  agent.destroy()
  const ratio = median(own.ms) / median(login.ms)
  return [
    `callback ${median(whole.ms).toFixed(2)} ms, without the provider's time ${median(own.ms).toFixed(2)} ms; JWT login ${median(login.ms).toFixed(2)} ms`,
    `  ratio ${ratio.toFixed(2)} (${verdict(ratio <= 3, '≤ 3')}), of the server's CPU time ${(own.cpuSeconds / login.cpuSeconds).toFixed(2)}; medians of ${own.ms.length}, 1 connection`,
  ].join('\n')
}

const newSide = (): Side => ({ ms: [], cpuSeconds: 0 })

/** CPU seconds the server used during `work`; NaN where the system does not report them. */
async function cpuOf({ pid }: ServerProcess, work: () => Promise<void>): Promise<number> {
  const before = await readProcessFigures(pid)
  await work()
  const after = await readProcessFigures(pid)
  return (after?.cpuSeconds ?? Number.NaN) - (before?.cpuSeconds ?? Number.NaN)
}

async function beginLogin({ url }: ServerProcess, provider: CodeProvider): Promise<Callback> {
  const { body } = await send(url, {
    method: 'POST',
    path: 'auth/oidc/oidc/auth_url',
    body: { role: 'people', redirect_uri: redirectUri },
  })
  const { data } = body ?? {}
  const authUrl = typeof data === 'object' && data !== null && 'auth_url' in data ? String(data.auth_url) : ''
  const login = new URL(authUrl).searchParams
  return { state: login.get('state') ?? '', code: await provider.makeCode(login.get('nonce') ?? '') }
}

type Timed = { method: string; path: string; body?: string }

/** Milliseconds from the request to the last byte of its response, which must contain a token. */
function timed(agent: Agent, { port }: ServerProcess, { method, path, body }: Timed): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers =
      body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const startedAt = performance.now()
    const sent = request({ host: '127.0.0.1', port, agent, method, path, headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      answer.on('end', () => {
        const ms = performance.now() - startedAt
        try {
          clientTokenOf({
            status: answer.statusCode ?? 0,
            headers: new Headers(),
            body: JSON.parse(text) as Record<string, unknown>,
          })
          resolve(ms)
        } catch (error) {
          reject(error)
        }
      })
    })
    sent.on('error', reject).end(body)
  })
}

type Load = { issuer: Issuer; generator: Generator; options: BenchOptions }

/** Rounds in turns: with the provider up and down. The keys are cached from the first login on. */
async function compareWithoutProvider(
  server: ServerProcess,
  { issuer, generator, options }: Load,
): Promise<string> {
  const bodies = await signLogins(issuer, {
    algorithm: 'RS256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  const requests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const job = jobOf({
    contender: server,
    requests,
    connections: usualConnections,
    forMs: options.seconds * 1000,
  })
  await generator.run([job])
  const rates: { up: number[]; down: number[] } = { up: [], down: [] }
  const cpuMs: { up: number[]; down: number[] } = { up: [], down: [] }
  let failed = 0
  for (let round = 0; round < options.rounds; round++) {
    // the order alternates, so that the after-effects of a round affect both
    for (const side of round % 2 === 0 ? (['up', 'down'] as const) : (['down', 'up'] as const)) {
      if (side === 'down') await issuer.goDown()
      let requests = 0
      const cpuSeconds = await cpuOf(server, async () => {
        const [result] = await generator.run([job])
        if (result === undefined) throw new Error('the load generator returned no result')
        requests = result.requests
        rates[side].push(requests / result.seconds)
        failed += Object.values(result.failures).reduce((total, count) => total + count, 0)
      })
      if (side === 'down') await issuer.comeBack()
      cpuMs[side].push((cpuSeconds * 1000) / requests)
    }
  }
  const ratio = median(rates.down) / median(rates.up)
  const figures = `logins ${Math.round(median(rates.up))}/s with the provider, ${Math.round(median(rates.down))}/s while it is down, ${failed} refused`
  const cpuRatio = median(cpuMs.down) / median(cpuMs.up)
  return `${figures}: ratio ${ratio.toFixed(2)} (${verdict(ratio >= 0.95 && failed === 0, '≥ 0.95')}), CPU time a login ${cpuRatio.toFixed(2)}`
}

/** Counts the key fetches caused by tokens with unknown, distinct key ids. */
async function countFetches(
  server: ServerProcess,
  { issuer, generator }: Pick<Load, 'issuer' | 'generator'>,
): Promise<string> {
  const [body] = await signLogins(issuer, { algorithm: 'RS256', count: 1, subject: () => 'repo:acme/nobody' })
  const { jwt } = JSON.parse(body ?? '') as { jwt: string }
  const signed = jwt.slice(jwt.indexOf('.'))
  const unknown = () =>
    Buffer.from(JSON.stringify({ alg: 'RS256', kid: randomBytes(12).toString('hex') })).toString(
      'base64url',
    ) + signed
  const variants = Array.from({ length: unknownKids }, () => ({
    body: JSON.stringify({ role: roleName, jwt: unknown() }),
  }))
  const fetches = () => issuer.requestsByPath.get(new URL(issuer.jwksUrl).pathname) ?? 0
  const before = fetches()
  const job = jobOf({
    contender: server,
    requests: { method: 'POST', path: loginPath, variants, once: true },
    connections: usualConnections,
    forMs: 60_000,
  })
  const [result] = await generator.run([job])
  if (result === undefined) throw new Error('the load generator returned no result')
  const made = fetches() - before
  const refused = result.failures['400'] ?? 0
  const slow =
    result.seconds <= unknownKidSeconds
      ? ''
      : `, longer than the planned ${unknownKidSeconds} s: the machine is busy`
  const figures = `${refused} logins with unknown key ids refused in ${result.seconds.toFixed(1)} s${slow}`
  return `${figures}: ${made} fetches of the keys (${verdict(made <= 12 && refused === unknownKids, '≤ 12')})`
}
