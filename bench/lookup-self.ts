import { type BenchCase, type BenchSetup, bareRequests, usualConnections } from './bench-case.ts'
import { logIn, signLogins } from './pipeline-logins.ts'

const tokens = 64

/** `lookup-self` of several tokens in turn, against a bare route. */
export async function lookupSelfCases({ url, issuer }: BenchSetup): Promise<BenchCase[]> {
  const bodies = await signLogins(issuer, { algorithm: 'ES256', count: tokens, subject: (index) => `repo:acme/lookup-${index}` })
  const variants = (await logIn(url, bodies)).map((token) => ({ token }))
  return [
    {
      name: 'lookup-self',
      connections: usualConnections,
      ours: { method: 'GET', path: '/v1/auth/token/lookup-self', variants },
      against: { contender: 'bare', requests: bareRequests },
      aim: 0.35,
    },
  ]
}
