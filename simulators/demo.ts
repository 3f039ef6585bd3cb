import { tmpdir } from 'node:os'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { startIssuer } from './ci-issuer/issuer.ts'
import { startDirectory } from './directory/start-directory.ts'
import { exitOnSignals, makeTemporaryFolder } from './exit.ts'
import { narrate } from './narration.ts'
import { samplePassword } from './sample/people.ts'
import { startSample } from './sample/sample.ts'
import { startServerProcess } from './server-process.ts'
import { cloudCredential, cloudEnvironment, cloudRevocation, slowToAgree } from './tour/credentials.ts'
import { bannerForFrontEnds } from './tour/messages.ts'
import { personLogin } from './tour/people.ts'
import { explainedLogin, pipelineLogins } from './tour/pipelines.ts'
import { podLogins } from './tour/pods.ts'
import { rotatedPassword, tokenWithoutSecret } from './tour/without-secrets.ts'

/**
 * `npm run demo`: a server with sample data for its web UI, then an offline tour of another one, request by
 * request. Exits with code 1 when a response is not the expected one. On a terminal the web UI stays until Ctrl-C.
 */
exitOnSignals()
await using sample = await startSample()
const webUi = `${sample.url}/ui/`
print(`The web UI: ${webUi}

  Log in with “Name and password”: olga is an operator, ada a developer; the password is ${samplePassword}.
  Single sign-on accepts any name with any password. Two tenants have their own people, such as mia:
  ${webUi}?namespace=acme and ${webUi}?namespace=globex`)
await runTour()
if (process.stdin.isTTY) {
  print(`\nThe web UI stays at ${webUi} until you press Ctrl-C.`)
  await new Promise(() => setInterval(() => {}, 1 << 30))
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

async function runTour(): Promise<void> {
  const narration = narrate()
  const { chapter, step } = narration
  await using folder = await makeTemporaryFolder(tmpdir(), 'gatehouse-demo-')
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await using directory = await startDirectory({ settings: slowToAgree })
  setDefaultCACertificates([...getCACertificates(), directory.ca])
  await using servers = new AsyncDisposableStack()
  const launch = async () =>
    servers.use(await startServerProcess({ folder: folder.path, environment: cloudEnvironment(directory) }))
  const server = await launch()
  const scene = {
    ...narration,
    root: { url: server.url, token: server.rootToken },
    stranger: { url: server.url },
  }

  const job = await pipelineLogins(scene, issuer)
  await explainedLogin(scene, issuer)
  await podLogins(scene)
  await personLogin(scene)
  await bannerForFrontEnds(scene)
  const credential = await cloudCredential(scene, job, directory)
  await tokenWithoutSecret(scene, job, directory)

  chapter('The server is killed without warning and started again; the token of the job still works')
  await server.stop('SIGKILL')
  const { url } = await launch()
  const survivor = { ...job, url }
  await step(survivor, 'GET', 'auth/token/lookup-self', { expect: 200, show: ({ data }) => data })
  const later = { ...scene, root: { ...scene.root, url } }
  await cloudRevocation(later, directory, credential)
  await rotatedPassword(later, directory)

  chapter('The job revokes its token, which is refused from then on')
  await step(survivor, 'POST', 'auth/token/revoke-self', { expect: 204 })
  await step(survivor, 'GET', 'auth/token/lookup-self', { expect: 403 })

  chapter('The tour is complete. Its temporary files and processes are being removed')
}
