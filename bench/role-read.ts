import { type BenchCase, type BenchSetup, bareRequests, usualConnections } from './bench-case.ts'
import { logIn, roleName, signLogins } from './pipeline-logins.ts'

/** Reading a role with a token whose policy allows it, against a bare route. */
export async function roleReadCases({ url, issuer }: BenchSetup): Promise<BenchCase[]> {
  const [token] = await logIn(
    url,
    await signLogins(issuer, { algorithm: 'ES256', count: 1, subject: () => 'repo:acme/reader' }),
  )
  return [
    {
      name: 'role read',
      connections: usualConnections,
      ours: {
        method: 'GET',
        path: `/v1/auth/jwt/role/${roleName}`,
        variants: [{ ...(token !== undefined && { token }) }],
      },
      against: { contender: 'bare', requests: bareRequests },
      aim: 0.2,
    },
  ]
}
