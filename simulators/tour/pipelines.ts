import { type Issuer, startIssuer } from '../ci-issuer/issuer.ts'
import type { Sender } from '../narration.ts'
import { type Answer, clientTokenOf } from '../operator.ts'
import { deployments, type Scene } from './scene.ts'
import { failedChecksOf } from './shown.ts'

type Logins = {
  jobJwt(claims?: object): Promise<string>
  logIn(jwt: string, expect: number, role?: string): Promise<Answer>
}

function loginsOf({ step, stranger }: Scene, issuer: Issuer): Logins {
  return {
    jobJwt: (claims = {}) =>
      issuer.signPipeline('github', { repository: 'acme/shop', aud: 'gatehouse', ...claims }),
    logIn: (jwt, expect, role = 'deploy') =>
      step(stranger, 'POST', 'auth/jwt/login', { expect, body: { role, jwt } }),
  }
}

/** A pipeline job gets a token for its JWT; other callers are refused. Returns the job. */
export async function pipelineLogins(scene: Scene, issuer: Issuer): Promise<Sender> {
  const { chapter, step, root, stranger } = scene
  const { jobJwt, logIn } = loginsOf(scene, issuer)

  chapter(
    'A server has started on an empty folder, next to a CI issuer. The operator makes the server trust the issuer',
  )
  await step(root, 'POST', 'auth/jwt/config', {
    expect: 204,
    body: { oidc_discovery_url: issuer.url, bound_issuer: issuer.url },
  })

  chapter('The operator writes a policy that defines what a deployment may do')
  const policy = [
    'path "auth/jwt/role/deploy" { capabilities = ["read"] }',
    'path "cloud/creds/shop" { capabilities = ["read"] }',
  ].join('\n')
  await step(root, 'PUT', 'sys/policies/acl/deploy', { expect: 204, body: { policy } })

  chapter('A role defines which pipelines are deployments: those of one repository, on its main branch')
  await step(root, 'POST', 'auth/jwt/role/deploy', { expect: 204, body: deployments })

  chapter('A CI job logs in with the JWT its platform signed for it')
  const job = { url: stranger.url, token: clientTokenOf(await logIn(await jobJwt(), 200)) }

  chapter('With its token the job may do what the policies allow, and no more')
  await step(job, 'GET', 'auth/jwt/role/deploy', { expect: 200, show: ({ data }) => data })
  await step(job, 'POST', 'cubbyhole/build', { expect: 204, body: { commit: 'd670460' } })
  await step(job, 'GET', 'cubbyhole/build', { expect: 200, show: ({ data }) => data })
  await step(job, 'GET', 'auth/jwt/config', { expect: 403 })

  chapter('A JWT of another branch, an expired JWT, and a JWT signed by somebody else are refused')
  await logIn(await jobJwt({ ref: 'refs/heads/experiment' }), 400)
  await logIn(await jobJwt({ iat: 1_700_000_000, nbf: 1_700_000_000, exp: 1_700_000_600 }), 400)
  await using forger = await startIssuer({ algorithms: ['RS256'] })
  await logIn(
    await forger.signPipeline('github', { repository: 'acme/shop', aud: 'gatehouse', iss: issuer.url }),
    400,
  )

  chapter('The CI platform rotates its keys; the server needs no change')
  await issuer.rotate({ keepOld: false })
  await logIn(await jobJwt(), 200)
  return job
}

/** A role has a typing error: the job is refused, and the server explains why. */
export async function explainedLogin(scene: Scene, issuer: Issuer): Promise<void> {
  const { chapter, step, root } = scene
  const { jobJwt, logIn } = loginsOf(scene, issuer)
  const jwt = await jobJwt()

  chapter('Another role has a typing error, and its jobs cannot log in')
  await step(root, 'POST', 'auth/jwt/role/preview', {
    expect: 204,
    body: { ...deployments, bound_audiences: ['GateHouse'] },
  })
  await logIn(jwt, 400, 'preview')

  chapter(
    'The operator asks why: one check failed, because the audience differs from the expected one in letter case',
  )
  const failedOnly = ({ data }: Record<string, unknown>) => failedChecksOf(data)
  await step(root, 'POST', 'auth/jwt/explain', {
    expect: 200,
    body: { role: 'preview', jwt },
    show: failedOnly,
  })
  await step(root, 'POST', 'auth/jwt/role/preview', { expect: 204, body: deployments })
  await logIn(jwt, 200, 'preview')
}
