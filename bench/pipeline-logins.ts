import type { Issuer } from '../simulators/ci-issuer/issuer.ts'
import type { Algorithm } from '../simulators/ci-issuer/signing-keys.ts'
import { clientTokenOf, send, sendSuccessfully } from '../simulators/operator.ts'
import type { Requests } from './bench-case.ts'

export const roleName = 'bench'
export const loginPath = '/v1/auth/jwt/login'
const signedAtOnce = 256
const knownJwts = 256
/** Longer than any run of a bench. */
const validSeconds = 6 * 3600

/** Configures the mount, a policy and a role, as an operator of a CI platform would. */
export async function configureLogins(url: string, rootToken: string, issuer: Issuer): Promise<void> {
  const write = (path: string, body: unknown) =>
    sendSuccessfully(url, { method: 'POST', path, token: rootToken, body })
  await write('auth/jwt/config', { jwks_url: issuer.jwksUrl, bound_issuer: issuer.url })
  await write('sys/policies/acl/bench', {
    policy:
      'path "auth/jwt/role/*" { capabilities = ["read"] }\npath "auth/jwt/role" { capabilities = ["list"] }',
  })
  await write(`auth/jwt/role/${roleName}`, {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: ['gatehouse'],
    bound_claims: { repository_owner: 'acme' },
    token_policies: ['bench'],
    token_ttl: '15m',
  })
}

export type SignLogins = { algorithm: Algorithm; count: number; subject: (index: number) => string }

/** Signs the login bodies before the measurement starts. */
export async function signLogins(
  issuer: Issuer,
  { algorithm, count, subject }: SignLogins,
): Promise<string[]> {
  const bodies: string[] = []
  while (bodies.length < count) {
    const indices = Array.from(
      { length: Math.min(signedAtOnce, count - bodies.length) },
      (_, index) => bodies.length + index,
    )
    bodies.push(...(await Promise.all(indices.map((index) => signLogin(issuer, algorithm, subject(index))))))
  }
  return bodies
}

async function signLogin(issuer: Issuer, algorithm: Algorithm, sub: string): Promise<string> {
  const jwt = await issuer.signPipeline(
    'github',
    { sub, aud: 'gatehouse', exp: Math.floor(Date.now() / 1000) + validSeconds },
    { algorithm },
  )
  return JSON.stringify({ role: roleName, jwt })
}

/** The bodies of logins with different JWTs of one subject. */
export const knownBodies = (issuer: Issuer, algorithm: Algorithm): Promise<string[]> =>
  signLogins(issuer, { algorithm, count: knownJwts, subject: () => 'repo:acme/shop:ref:refs/heads/main' })

export const knownLogins = async (issuer: Issuer, algorithm: Algorithm): Promise<Requests> =>
  loginsWith(await knownBodies(issuer, algorithm))

/** Logins with these bodies. */
export const loginsWith = (bodies: readonly string[]): Requests => ({
  method: 'POST',
  path: loginPath,
  variants: bodies.map((body) => ({ body })),
})

/** Logs in once with each body; returns the tokens. */
export async function logIn(url: string, bodies: readonly string[]): Promise<string[]> {
  return await Promise.all(
    bodies.map(async (text) => {
      const body: unknown = JSON.parse(text)
      return clientTokenOf(await send(url, { method: 'POST', path: 'auth/jwt/login', body }))
    }),
  )
}
