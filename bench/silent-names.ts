import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { send } from '../simulators/operator.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { fakeSystem, noFakedSystem } from '../test/support/system/faked-system.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf, median } from './measure.ts'
import { configureLogins, loginPath, signLogins } from './pipeline-logins.ts'
import { verdict } from './table.ts'

const aim = 0.9
const knownJwts = 256
/** More lookups than the thread pool has threads. */
const mounts = 32

/**
 * Measures logins in turns alone, and while logins at other mounts wait for a name server that never answers.
 */
export async function measureSilentNames({
  generator,
  options,
}: {
  generator: Generator
  options: BenchOptions
}): Promise<string> {
  if (noFakedSystem !== undefined) return `logins beside a silent name server: ${noFakedSystem}`
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  const system = fakeSystem(folder.path)
  await using server = await startServerProcess({ folder: folder.path, environment: system.environment })
  await configureLogins(server.url, server.rootToken, issuer)
  const far = Array.from({ length: mounts }, (_, index) => `far-${index}`)
  for (const mount of far) await mountFar(mount, server, issuer.jwksUrl)
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  const requests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const forMs = options.seconds * 1000
  const logins = jobOf({ contender: server, requests, connections: usualConnections, forMs })
  const jwt = await issuer.sign({ sub: 'x' }, { algorithm: 'ES256', header: { kid: 'unknown' } })

  await generator.run([{ ...logins, forMs: 5000 }])
  const alone: LoadResult[] = []
  const beside: LoadResult[] = []
  for (let round = 0; round < options.rounds; round++) {
    alone.push(...(await generator.run([logins])))
    system.silenceNames()
    const hanging = far.map((mount) =>
      send(server.url, { method: 'POST', path: `auth/${mount}/login`, body: { role: 'ci', jwt } }),
    )
    beside.push(...(await generator.run([logins])))
    system.answerNames()
    await Promise.all(hanging)
  }
  const ratio = rateOf(beside) / rateOf(alone)
  return `logins beside ${mounts} that wait for a silent name server: ${Math.round(rateOf(beside))}/s, alone ${Math.round(rateOf(alone))}/s: ${ratio.toFixed(2)} (${verdict(ratio >= aim, `≥ ${aim}`)})`
}

/** A mount whose keys are at a name that leads to the issuer as long as names are answered. */
async function mountFar(
  mount: string,
  { url, rootToken: token }: { url: string; rootToken: string },
  jwksUrl: string,
): Promise<void> {
  const write = async (path: string, body: object) => {
    const { status } = await send(url, { method: 'POST', path, token, body })
    if (status !== 204) throw new Error(`${path} was answered with ${status}`)
  }
  await write(`sys/auth/${mount}`, { type: 'jwt' })
  await write(`auth/${mount}/config`, { jwks_url: jwksUrl.replace('127.0.0.1', `${mount}.silent.test`) })
  await write(`auth/${mount}/role/ci`, { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'x' })
}

const rateOf = (results: readonly LoadResult[]) =>
  median(results.map(({ requests, seconds }) => requests / seconds))
