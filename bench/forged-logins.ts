import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { sendSuccessfully } from '../simulators/operator.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import type { LoadResult, Variant } from './load.ts'
import { jobOf, median, sum } from './measure.ts'
import { configureLogins, knownBodies, loginPath, loginsWith, roleName } from './pipeline-logins.ts'
import { verdict } from './table.ts'

const aim = 0.25
const callers = 8
const knownJwts = 256
/** The least number of forged logins beside which a rate counts. */
const forgeries = 10_000
const [callerAddress, forgerAddress] = ['127.0.0.2', '127.0.0.3']

type Forgery = { readonly name: string; readonly path: string; readonly variants: readonly Variant[] }

/**
 * Measures the RS256 logins of eight callers, in turns alone and while another address sends JWTs whose
 * signatures are expensive to check and wrong. Needs a system where all of 127.0.0.0/8 is loopback.
 */
export async function measureForgedLogins({
  generator,
  options,
}: {
  generator: Generator
  options: BenchOptions
}): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['RS256', 'ES384'] })
  await using server = await startServerProcess({ folder: folder.path })
  await configureLogins(server.url, server.rootToken, issuer)
  const large = generateKeyPairSync('rsa', { modulusLength: 4096 })
  await mountLargeKey(server, large.publicKey)
  const bodies = await knownBodies(issuer, 'RS256')
  const { kid, privateKey } = issuer.keys.current('ES384')
  const attacks: readonly Forgery[] = [
    {
      name: 'ES384',
      path: loginPath,
      variants: forged({ alg: 'ES384', kid }, (text) =>
        sign('sha384', text, { key: privateKey, dsaEncoding: 'ieee-p1363' }),
      ),
    },
    {
      name: 'RS256 with 4,096 bits',
      path: '/v1/auth/large/login',
      variants: forged({ alg: 'RS256' }, (text) => sign('sha256', text, large.privateKey)),
    },
  ]
  const forMs = options.seconds * 1000
  const logins = jobOf({
    contender: server,
    requests: loginsWith(bodies),
    connections: callers,
    from: callerAddress,
    forMs,
  })
  await generator.run([{ ...logins, forMs: 5000 }])
  const lines: string[] = []
  for (const { name, path, variants } of attacks) {
    const attack = jobOf({
      contender: server,
      requests: { method: 'POST', path, variants: [...variants] },
      connections: usualConnections,
      from: forgerAddress,
      forMs,
    })
    const alone: LoadResult[] = []
    const beside: LoadResult[] = []
    const forgers: LoadResult[] = []
    const sent = () => sum(forgers.map(({ requests }) => requests))
    while (beside.length < options.rounds || sent() < forgeries) {
      alone.push(...(await generator.run([logins])))
      const [besides, forger] = await generator.run([logins, attack])
      if (besides === undefined || forger === undefined)
        throw new Error('the load generator returned no result')
      beside.push(besides)
      forgers.push(forger)
    }
    lines.push(lineOf({ name, alone, beside, forgers }))
  }
  return lines.join('\n')
}

type Figures = Record<'alone' | 'beside' | 'forgers', readonly LoadResult[]>

function lineOf({ name, alone, beside, forgers }: Figures & { readonly name: string }): string {
  const ratio = rate(beside) / rate(alone)
  const failed = [...alone, ...beside].flatMap(({ failures }) =>
    Object.entries(failures).map(([status, times]) => `${times} × ${status}`),
  )
  const isHeld = ratio >= aim && failed.length === 0
  const count = sum(forgers.map(({ requests }) => requests))
  const failures = failed.length === 0 ? '' : `  failures: ${failed.join(', ')}`
  return `logins of ${callers} callers beside ${count.toLocaleString('en')} forged ${name} (${Math.round(rate(forgers))}/s): ${Math.round(rate(beside))}/s, alone ${Math.round(rate(alone))}/s: ${ratio.toFixed(2)} (${verdict(isHeld, `≥ ${aim}`)})${failures}`
}

/** A second mount, whose only key has 4,096 bits. */
async function mountLargeKey(
  { url, rootToken: token }: { url: string; rootToken: string },
  key: KeyObject,
): Promise<void> {
  const write = (path: string, body: object) => sendSuccessfully(url, { method: 'POST', path, token, body })
  await write('sys/auth/large', { type: 'jwt' })
  await write('auth/large/config', { jwt_validation_pubkeys: [key.export({ type: 'spki', format: 'pem' })] })
  await write(`auth/large/role/${roleName}`, { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'x' })
}

/** JWTs with a signature of another payload, so that only the whole check refuses them. */
function forged(header: object, signWith: (text: Buffer) => Buffer): Variant[] {
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const head = encoded(header)
  const signature = signWith(Buffer.from(`${head}.${encoded({ sub: 'x' })}`)).toString('base64url')
  return Array.from({ length: knownJwts }, (_, index) => {
    const payload = encoded({ sub: 'repo:acme/shop:ref:refs/heads/main', aud: 'gatehouse', jti: `${index}` })
    return { body: JSON.stringify({ role: roleName, jwt: `${head}.${payload}.${signature}` }) }
  })
}

const rate = (results: readonly LoadResult[]) =>
  median(results.map(({ requests, seconds }) => requests / seconds))
