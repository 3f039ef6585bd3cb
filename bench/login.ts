import { sendSuccessfully } from '../simulators/operator.ts'
import type { BenchCase, BenchSetup } from './bench-case.ts'
import { usualConnections } from './bench-case.ts'
import { configureLogins, loginPath, signLogins } from './pipeline-logins.ts'

const knownJwts = 256

const forgetful = 'auth/forgetful'

/** Logins of one subject and of new subjects, with RS256 and ES256, against the floor program. */
export async function loginCases({ issuer, options }: BenchSetup): Promise<BenchCase[]> {
  const cases: BenchCase[] = []
  for (const algorithm of ['RS256', 'ES256'] as const) {
    const known = await signLogins(issuer, {
      algorithm,
      count: knownJwts,
      subject: () => 'repo:acme/shop:ref:refs/heads/main',
    })
    for (const connections of options.connections) {
      const count = (options.rounds + 1) * freshShare(connections, options.freshSubjects)
      const subject = (index: number) => `repo:acme/${algorithm}-${connections}-${index}:ref:refs/heads/main`
      const fresh = await signLogins(issuer, { algorithm, count, subject })
      const same = requests(known)
      const always = requests(fresh)
      cases.push(
        {
          name: `login ${algorithm}, one subject`,
          connections,
          ours: same,
          against: { contender: 'floor', requests: same },
          ...aims(connections, 0.75),
        },
        {
          name: `login ${algorithm}, fresh subjects`,
          connections,
          ours: { ...always, once: true },
          against: { contender: 'floor', requests: { ...always, once: true } },
          ...(connections === usualConnections && { aim: 0.5 }),
        },
      )
    }
  }
  return cases
}

/** Logins that their mount remembers, against those of a mount that remembers none. docs/contract/what-if.md#what-is-kept */
export async function rememberedLoginCases({ url, rootToken, issuer }: BenchSetup): Promise<BenchCase[]> {
  const body = { type: 'jwt', options: { history_days: '0' } }
  await sendSuccessfully(url, { method: 'POST', path: `sys/${forgetful}`, token: rootToken, body })
  await configureLogins(url, rootToken, issuer, forgetful)
  const subject = () => 'repo:acme/shop:ref:refs/heads/main'
  const known = await signLogins(issuer, { algorithm: 'ES256', count: knownJwts, subject })
  const against = {
    contender: 'itself' as const,
    requests: requests(known, `/v1/${forgetful}/login`),
    name: 'not remembered',
  }
  return [
    { name: 'remembered login', connections: usualConnections, ours: requests(known), against, aim: 0.97 },
  ]
}

const requests = (bodies: readonly string[], path = loginPath) => ({
  method: 'POST',
  path,
  variants: bodies.map((body) => ({ body })),
})

/** A single connection is much slower, so it gets fewer subjects. */
const freshShare = (connections: number, freshSubjects: number) =>
  connections === 1 ? Math.ceil(freshSubjects / 4) : freshSubjects

const aims = (connections: number, aim: number) =>
  connections === usualConnections ? { aim, aimP99Ms: 25 } : {}
