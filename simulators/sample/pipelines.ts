import { type Issuer, startIssuer } from '../ci-issuer/issuer.ts'
import { clientTokenOf } from '../operator.ts'
import { deployments } from '../tour/scene.ts'
import type { Operator } from './operator.ts'

const policy = `
path "team/data/shop/*" { capabilities = ["read"] }
path "cloud/creds/*" { capabilities = ["read"] }
`

const jobs = ['build-4711', 'build-4712', 'deploy-318', 'deploy-319']

/** Jobs that log in, and five that are refused, each for another reason. Returns the tokens of the jobs. */
export async function pipelines(operator: Operator, issuer: Issuer): Promise<readonly string[]> {
  const { write, as } = operator
  await write('sys/policies/acl/deploy', { policy })
  await write('auth/jwt/config', { oidc_discovery_url: issuer.url, bound_issuer: issuer.url })
  await write('auth/jwt/role/deploy', deployments)
  await write('auth/jwt/role/preview', { ...deployments, bound_audiences: ['GateHouse'] })
  await write('auth/jwt/role/nightly', {
    ...deployments,
    bound_claims: { repository: 'acme/*', ref: 'refs/heads/main' },
  })
  const jwtOf = (from: Issuer, claims: object = {}) =>
    from.signPipeline('github', { repository: 'acme/shop', aud: 'gatehouse', ...claims })
  const logIn = (jwt: string, role = 'deploy') =>
    as(undefined, { method: 'POST', path: 'auth/jwt/login', body: { role, jwt } })
  const tokens = []
  for (const sub of jobs) tokens.push(clientTokenOf(await logIn(await jwtOf(issuer, { sub }))))

  await using forger = await startIssuer({ algorithms: ['RS256'] })
  await logIn(await jwtOf(issuer), 'preview')
  await logIn(await jwtOf(issuer, { ref: 'refs/heads/experiment' }))
  await logIn(await jwtOf(issuer, { iat: 1_700_000_000, nbf: 1_700_000_000, exp: 1_700_000_600 }))
  await logIn(await jwtOf(forger, { iss: issuer.url }))
  await logIn(await jwtOf(issuer), 'deplyo')
  return tokens
}
