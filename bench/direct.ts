import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { sendSuccessfully } from '../simulators/operator.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import {
  type BenchCase,
  type BenchOptions,
  type BenchSetup,
  type Requests,
  usualConnections,
} from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { secretOf } from './fill-secrets.ts'
import type { Generator } from './generator.ts'
import type { Variant } from './load.ts'
import { type MeasuredCase, measureCase } from './measure.ts'
import { configureLogins, logIn, loginPath, roleName, signLogins } from './pipeline-logins.ts'
import { renderTable } from './table.ts'

/** Each is sent again and again, as the requests of one job are. */
const jwts = 64
const secretPath = '/v1/secret/data/one'

/**
 * Reads of a secret that carry their login, against reads with a batch token and against "login + read" of the same
 * server. The first ratio is meant for processor time: at least 0.5. docs/performance.md
 */
export async function measureDirect({
  generator,
  options,
}: {
  readonly generator: Generator
  readonly options: BenchOptions
}): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await using server = await startServerProcess({ folder: folder.path })
  const { url, rootToken } = server
  await configureLogins(url, rootToken, issuer)
  const { carried, asTokens, loginsAndReads, batchReads } = await requestsOf(
    { url, rootToken, issuer, options },
    'batch',
  )
  const opponents = { 'batch token': batchReads, 'login + read': loginsAndReads }
  const measured: MeasuredCase[] = []
  for (const [name, ours] of Object.entries({ 'inline read': carried, 'JWT as token': asTokens })) {
    for (const [opponent, requests] of Object.entries(opponents)) {
      const against = { contender: 'itself' as const, name: opponent, requests }
      const one = { name, connections: usualConnections, ours, against }
      measured.push(await measureCase(one, { gatehouse: server, itself: server }, generator, options))
    }
  }
  return renderTable(measured)
}

/** The same for two servers. One that takes no JWT as token gets what takes its place. */
export async function directCases(setup: BenchSetup): Promise<BenchCase[]> {
  const { carried, asTokens, loginsAndReads, takesTokens } = await requestsOf(setup, 'service')
  const rows: Record<string, { requests: Requests; aimBeside?: number }> = {
    'inline read': { requests: carried },
    'JWT as token / inline read': { requests: takesTokens ? asTokens : carried, aimBeside: 8 },
    'login + read': { requests: loginsAndReads },
    'JWT as token / login + read': { requests: takesTokens ? asTokens : loginsAndReads, aimBeside: 12 },
  }
  return Object.entries(rows).map(([name, { requests, ...aim }]) => ({
    name,
    ...aim,
    connections: usualConnections,
    ours: requests,
    against: { contender: 'itself', requests },
  }))
}

const reads = (variants: Variant[]): Requests => ({ method: 'GET', path: secretPath, variants })

async function requestsOf({ url, rootToken, issuer }: BenchSetup, tokenType: 'batch' | 'service') {
  const send = (method: string, path: string, body?: object) =>
    sendSuccessfully(url, { method, path, token: rootToken, body })
  await send('POST', 'sys/mounts/secret', { type: 'kv-v2' })
  await send('POST', 'sys/policies/acl/direct', { policy: 'path "secret/*" { capabilities = ["read"] }' })
  const keys = { jwks_url: issuer.jwksUrl, bound_issuer: issuer.url, default_role: roleName }
  await send('POST', 'auth/jwt/config', { ...keys, accept_as_token: true, token_max_lifetime: '24h' })
  const { body: config } = await send('GET', 'auth/jwt/config')
  const role = { user_claim: 'sub', role_type: 'jwt', bound_audiences: ['gatehouse'] }
  const rights = { token_policies: ['direct'], token_ttl: '15m' }
  await send('POST', `auth/jwt/role/${roleName}`, { ...role, ...rights, token_type: tokenType })
  // by now another server has prepared its new mount
  await send('POST', 'secret/data/one', { data: secretOf(0) })
  const bodies = await signLogins(issuer, {
    algorithm: 'RS256',
    count: jwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  const tokens = await logIn(url, bodies)
  return {
    takesTokens: JSON.stringify(config).includes('"accept_as_token":true'),
    carried: reads(bodies.map((body) => ({ headers: headersOf(body) }))),
    asTokens: reads(bodies.map((body) => ({ token: fieldOf(body, 'jwt') }))),
    batchReads: reads(tokens.map((token) => ({ token }))),
    loginsAndReads: {
      ...reads(
        bodies.flatMap((body, index): Variant[] => [
          { method: 'POST', path: loginPath, body },
          { token: tokens[index] ?? '' },
        ]),
      ),
      steps: 2,
    },
  }
}

/** The head of a request that carries this login. */
const headersOf = (body: string): Record<string, string> => ({
  'x-vault-inline-auth-path': 'auth/jwt/login',
  ...Object.fromEntries(
    ['role', 'jwt'].map((key) => [
      `x-vault-inline-auth-parameter-${key}`,
      Buffer.from(JSON.stringify({ key, value: fieldOf(body, key) })).toString('base64url'),
    ]),
  ),
})

function fieldOf(body: string, name: string): string {
  const fields: Record<string, string> = JSON.parse(body)
  return fields[name] ?? ''
}
