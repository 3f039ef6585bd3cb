import { tmpdir } from 'node:os'
import { startIssuer } from './ci-issuer/issuer.ts'
import { exitOnSignals, makeTemporaryFolder } from './exit.ts'
import { narrate } from './narration.ts'
import { clientTokenOf } from './operator.ts'
import { startServerProcess } from './server-process.ts'

/** `npm run demo`: the whole way of a pipeline JWT through a real server, request by request. Ends 1 when an answer is not the expected one. */
exitOnSignals()
await tellStory()

async function tellStory(): Promise<void> {
  const { chapter, step } = narrate()
  await using folder = await makeTemporaryFolder(tmpdir(), 'gatehouse-demo-')
  await using servers = new AsyncDisposableStack()
  await using issuer = await startIssuer()
  const launch = async () => servers.use(await startServerProcess({ folder: folder.path }))
  const server = await launch()
  const root = { url: server.url, token: server.rootToken }
  const stranger = { url: server.url }

  chapter('A server has started on an empty folder, and a CI issuer beside it. The operator makes the one trust the other')
  await step(root, 'POST', 'auth/jwt/config', { expect: 204, body: { oidc_discovery_url: issuer.url, bound_issuer: issuer.url } })

  chapter('The operator writes a policy: what a deployment may do')
  const policy = ['path "auth/jwt/role/deploy" { capabilities = ["read"] }', 'path "auth/jwt/role" { capabilities = ["list"] }'].join('\n')
  await step(root, 'PUT', 'sys/policies/acl/deploy', { expect: 204, body: { policy } })

  chapter('A role says which pipelines are deployments: those of one repository, on its main branch')
  const boundClaims = { repository: 'acme/shop', ref: 'refs/heads/main' }
  const role = {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: ['gatehouse'],
    bound_claims: boundClaims,
    token_policies: ['deploy'],
    token_ttl: '15m',
  }
  await step(root, 'POST', 'auth/jwt/role/deploy', { expect: 204, body: role })

  chapter('A CI job logs in with the JWT its platform signed for it')
  const jobJwt = (claims = {}) => issuer.signPipeline('github', { repository: 'acme/shop', aud: 'gatehouse', ...claims })
  const login = async (jwt: string, expect: number) => await step(stranger, 'POST', 'auth/jwt/login', { expect, body: { role: 'deploy', jwt } })
  const job = { url: server.url, token: clientTokenOf(await login(await jobJwt(), 200)) }

  chapter('With its token it does what the policies allow')
  await step(job, 'GET', 'auth/token/lookup-self', { expect: 200 })
  await step(job, 'GET', 'auth/jwt/role/deploy', { expect: 200 })
  await step(job, 'LIST', 'auth/jwt/role', { expect: 200 })
  await step(job, 'POST', 'cubbyhole/build', { expect: 204, body: { commit: 'd670460' } })
  await step(job, 'GET', 'cubbyhole/build', { expect: 200 })

  chapter('What they do not allow is refused')
  await step(job, 'GET', 'auth/jwt/config', { expect: 403 })
  await step(job, 'PUT', 'sys/policies/acl/deploy', { expect: 403, body: { policy: 'path "*" { capabilities = ["sudo"] }' } })

  chapter('So is a JWT of another branch, for another audience, out of date, or signed by somebody else')
  await login(await jobJwt({ ref: 'refs/heads/experiment' }), 400)
  await login(await jobJwt({ aud: 'somewhere-else' }), 400)
  await login(await jobJwt({ iat: 1_700_000_000, nbf: 1_700_000_000, exp: 1_700_000_600 }), 400)
  await using forger = await startIssuer({ algorithms: ['RS256'] })
  await login(await forger.signPipeline('github', { repository: 'acme/shop', aud: 'gatehouse', iss: issuer.url }), 400)

  chapter('The CI platform rotates its keys; nobody has to touch the server')
  await issuer.rotate({ keepOld: false })
  await login(await jobJwt(), 200)

  chapter('The server is killed without warning and started again; the token still works')
  await server.stop('SIGKILL')
  const survivor = { ...job, url: (await launch()).url }
  await step(survivor, 'GET', 'auth/token/lookup-self', { expect: 200 })

  chapter('The job gives its token back; it opens nothing any more')
  await step(survivor, 'POST', 'auth/token/revoke-self', { expect: 204 })
  await step(survivor, 'GET', 'auth/token/lookup-self', { expect: 403 })

  chapter('That was all. Temporary files and processes are being removed')
}
