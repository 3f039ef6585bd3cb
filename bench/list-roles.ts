import { sendSuccessfully } from '../simulators/operator.ts'
import { type BenchCase, type BenchSetup, bareRequests, usualConnections } from './bench-case.ts'

const roles = 20

/** The LIST verb and the equivalent `GET ?list=true` over the same roles, against a bare route. */
export async function listRolesCases({ url, rootToken: token }: BenchSetup): Promise<BenchCase[]> {
  const body = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['gatehouse'] }
  for (let index = 0; index < roles; index++)
    await sendSuccessfully(url, { method: 'POST', path: `auth/jwt/role/listed-${index}`, token, body })
  const listing = (name: string, method: string, path: string): BenchCase => ({
    name,
    connections: usualConnections,
    ours: { method, path, variants: [{ token }] },
    against: { contender: 'bare', requests: bareRequests },
    aim: 0.51,
  })
  return [
    listing(`LIST ${roles} roles`, 'LIST', '/v1/auth/jwt/role'),
    listing('the same by GET', 'GET', '/v1/auth/jwt/role?list=true'),
  ]
}
