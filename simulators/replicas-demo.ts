import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Balancer } from './balancer.ts'
import { type Issuer, startIssuer } from './ci-issuer/issuer.ts'
import { exitOnSignals, makeTemporaryFolder } from './exit.ts'
import { narrate } from './narration.ts'
import { clientTokenOf, send, sendSuccessfully } from './operator.ts'
import { Pipelines, pipelineLogin } from './pipelines.ts'
import { PostgresInstallation } from './postgres-server.ts'
import { startServerProcess } from './server-process.ts'

/**
 * `npm run demo:replicas`: two servers over one PostgreSQL, behind a balancer. One is killed while clients go
 * on. Exits with code 1 if a client could not.
 */
exitOnSignals()
await runDemo()

async function runDemo(): Promise<void> {
  const { chapter, aside, step } = narrate()
  const names = ['one', 'two'] as const

  chapter('PostgreSQL 18 starts, and two servers that store everything in it')
  await using folder = await makeTemporaryFolder(tmpdir(), 'gatehouse-replicas-')
  await using installation = await PostgresInstallation.open()
  await using database = await installation.start()
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await using processes = new AsyncDisposableStack()
  await using balancer = await Balancer.start()
  // a key for both: servers that share a database never create one
  await writeFile(join(folder.path, 'seal.key'), randomBytes(32).toString('hex'), { mode: 0o600 })
  const launch = async (name: string) => {
    const server = await startServerProcess({
      folder: folder.path,
      environment: {
        GATEHOUSE_STORAGE: database.url(),
        GATEHOUSE_REPLICA_NAME: name,
        GATEHOUSE_DRAIN_DELAY: '1s',
      },
    })
    processes.use(server)
    await balancer.add(name, server.url)
    aside(`Server ${name} is ready at ${server.url}.`)
    return server
  }
  const one = await launch('one')
  const two = await launch('two')
  aside(`The balancer at ${balancer.url} asks both every 200 ms whether they are ready.`)

  chapter('Four pipelines log in through the balancer, again and again, and look at their tokens')
  const root = { url: balancer.url, token: one.rootToken }
  await trustIssuer(root, issuer)
  const pipelines = new Pipelines(balancer.url, issuer)
  pipelines.start(4)
  const report = async (logins: number) => {
    const before = balancer.served
    const retries = pipelines.retries
    await pipelines.moreLogins(logins)
    const counts = names.map(
      (name) => `${(balancer.served.get(name) ?? 0) - (before.get(name) ?? 0)} by ${name}`,
    )
    const again = pipelines.retries - retries
    aside(`${logins} more logins. Requests served: ${counts.join(', ')}. Sent a second time: ${again}.`)
  }
  await report(20)

  chapter('A token that one server revokes is refused by the other')
  const login = await send(one.url, { ...(await pipelineLogin(issuer)) })
  const token = clientTokenOf(login)
  await step({ url: two.url, token }, 'GET', 'auth/token/lookup-self', {
    expect: 200,
    show: ({ data }) => ({ data: pick(data, ['display_name', 'policies', 'ttl']) }),
  })
  await step({ url: one.url, token }, 'POST', 'auth/token/revoke-self', { expect: 204 })
  await untilRefused(two.url, token)
  await step({ url: two.url, token }, 'GET', 'auth/token/lookup-self', { expect: 403 })

  chapter('Server two is killed without warning, like a machine that loses its power')
  await two.stop('SIGKILL')
  await balancer.lost('two')
  aside(
    'The balancer has noticed it. Tokens of server two are valid at server one: both store in PostgreSQL.',
  )
  await report(20)

  chapter('Server two is started again, and the balancer uses it as soon as it is ready')
  await launch('two')
  await report(20)

  chapter(
    'Server one is stopped in order, as for an upgrade: it reports not ready, and finishes what it has begun',
  )
  const stopping = one.stop()
  await balancer.lost('one')
  await report(20)
  await stopping
  aside('Server one has ended.')

  const { logins, retries } = pipelines
  await pipelines.stop()
  chapter(
    `The pipelines have logged in ${logins} times and sent ${retries} requests a second time; none was left without a token. Everything is being removed`,
  )
}

async function trustIssuer(root: { url: string; token: string }, issuer: Issuer): Promise<void> {
  await sendSuccessfully(root.url, {
    method: 'POST',
    path: 'auth/jwt/config',
    token: root.token,
    body: { jwks_url: issuer.jwksUrl, bound_issuer: issuer.url },
  })
  await sendSuccessfully(root.url, {
    method: 'POST',
    path: 'auth/jwt/role/ci',
    token: root.token,
    body: { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gatehouse', token_ttl: '15m' },
  })
}

function pick(data: unknown, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(data ?? {}).filter(([name]) => names.includes(name)))
}

/** A revocation reaches all servers within a second. */
async function untilRefused(url: string, token: string): Promise<void> {
  const end = performance.now() + 1000
  while (performance.now() < end) {
    const { status } = await send(url, { method: 'GET', path: 'auth/token/lookup-self', token })
    if (status === 403) return
  }
}
