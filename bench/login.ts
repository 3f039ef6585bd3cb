import { createHmac } from 'node:crypto'
import type { Issuer } from '../simulators/ci-issuer/issuer.ts'
import type { BenchCase, BenchSetup } from './bench-case.ts'
import { usualConnections } from './bench-case.ts'
import { knownLogins, loginsWith, roleName, signLogins } from './pipeline-logins.ts'

/** RS256 logins of one subject and of new subjects, against the floor program. */
export async function loginCases({ issuer, options }: BenchSetup): Promise<BenchCase[]> {
  const known = await knownLogins(issuer, 'RS256')
  const cases: BenchCase[] = []
  for (const connections of options.connections) {
    const count = (options.rounds + 1) * freshShare(connections, options.freshSubjects)
    const subject = (index: number) => `repo:acme/RS256-${connections}-${index}:ref:refs/heads/main`
    const fresh = {
      ...loginsWith(await signLogins(issuer, { algorithm: 'RS256', count, subject })),
      once: true,
    }
    cases.push(
      {
        name: 'login RS256, one subject',
        connections,
        ours: known,
        against: { contender: 'floor', requests: known },
        ...(connections === usualConnections && { aim: 0.95, aimP99Ratio: 1, aimBeside: 4.5 }),
      },
      {
        name: 'login RS256, fresh subjects',
        connections,
        ours: fresh,
        against: { contender: 'floor', requests: fresh },
        ...(connections === usualConnections && { aim: 0.8, aimBeside: 6 }),
      },
    )
  }
  return cases
}

/** Logins with other algorithms, and JWTs that are refused by theirs, against RS256 logins of the same server. */
export async function algorithmCases({ issuer }: BenchSetup): Promise<BenchCase[]> {
  const against = {
    contender: 'itself' as const,
    requests: await knownLogins(issuer, 'RS256'),
    name: 'login RS256',
  }
  const others = (['ES256', 'EdDSA'] as const).map(async (algorithm) => ({
    name: `login ${algorithm}`,
    connections: usualConnections,
    ours: await knownLogins(issuer, algorithm),
    against,
    aim: 0.9,
  }))
  return [
    ...(await Promise.all(others)),
    {
      name: 'HS256, keyed with the public key: refused',
      connections: usualConnections,
      ours: { ...loginsWith([symmetricLogin(issuer)]), refusedWith: 400 },
      against,
      aim: 1,
    },
  ]
}

/** A login whose JWT is authenticated with the text of a public key, for servers that let the JWT choose how. */
function symmetricLogin(issuer: Issuer): string {
  const { kid, publicKey } = issuer.keys.current('RS256')
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: issuer.url, sub: 'x', aud: 'gatehouse', repository_owner: 'acme' }
  const text = `${encoded({ alg: 'HS256', kid })}.${encoded(claims)}`
  const key = publicKey.export({ type: 'spki', format: 'pem' })
  return JSON.stringify({
    role: roleName,
    jwt: `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`,
  })
}

/** A single connection is much slower, so it gets fewer subjects. */
const freshShare = (connections: number, freshSubjects: number) =>
  connections === 1 ? Math.ceil(freshSubjects / 4) : freshSubjects
