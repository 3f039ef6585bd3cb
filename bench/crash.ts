import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { exitOnSignals } from '../simulators/exit.ts'
import { clientTokenOf, send } from '../simulators/operator.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { startCredentialProvider } from '../test/support/credential-provider.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { disagreements, liveUntilCut, mountPractice } from './crash-lives.ts'
import { configureLogins, signLogins } from './pipeline-logins.ts'

/**
 * `npm run crash -- --rounds 50`: kill -9 in the middle of logins over 32 connections, start again, and ask for every token that was answered. `lost`: it
 * does not work any more. `doubled`: it was given out twice, or its subject has got a second entity. Meanwhile tokens and leases are made, renewed and revoked;
 * `disagreeing`: one is there that was answered to have ended, or the other way round, or its provider thinks otherwise. Ends 1 if there is any.
 */
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '50' } } })

const connections = 32
const subjects = 64
const longestRoundMs = 400
const entry = join(import.meta.dirname, '../test/support/practice-server.ts')

/** A login whose answer arrived whole. */
type Acknowledged = { subject: number; token: string }

exitOnSignals()
process.exitCode = await runRounds(Number(values.rounds))

async function runRounds(rounds: number): Promise<number> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  await using provider = await startCredentialProvider()
  const environment = { PRACTICE_PROVIDER: provider.url }
  await using servers = new AsyncDisposableStack()
  const launch = async () => servers.use(await startServerProcess({ folder: folder.path, entry, environment }))
  let server = await launch()
  await configureLogins(server.url, server.rootToken, issuer)
  await mountPractice(server.url, server.rootToken)
  const bodies = await signLogins(issuer, { algorithm: 'ES256', count: subjects, subject: (index) => `repo:acme/crash-${index}` })
  const seenTokens = new Set<string>()
  const entityOf = new Map<number, string>()
  const counts = { acknowledged: 0, lost: 0, doubled: 0, lives: 0, disagreeing: 0 }

  for (let round = 1; round <= rounds; round++) {
    const logins = logInUntilCut(server.url, bodies)
    const living = liveUntilCut(server.url, server.rootToken)
    await wait(Math.random() * longestRoundMs)
    await server.stop('SIGKILL')
    const acknowledged = await logins
    server = await launch()
    const entities = await inTurn(acknowledged, ({ token }) => entityOfToken(server.url, token))
    for (const [index, { subject, token }] of acknowledged.entries()) {
      const entity = entities[index]
      if (entity === undefined) counts.lost++
      else if (seenTokens.has(token) || (entityOf.get(subject) ?? entity) !== entity) counts.doubled++
      else entityOf.set(subject, entity)
      seenTokens.add(token)
    }
    counts.acknowledged += acknowledged.length
    const lives = await living
    const problems = await disagreements({ url: server.url, rootToken: server.rootToken, provider }, lives)
    counts.lives += lives.length
    counts.disagreeing += problems.length
    for (const problem of problems) process.stdout.write(`round ${round}: ${problem}\n`)
    process.stdout.write(`round ${round}: ${acknowledged.length} acknowledged, ready again after ${Math.round(server.readyAfterMs)} ms\n`)
  }
  process.stdout.write(`${rounds} rounds, ${counts.acknowledged} acknowledged, ${counts.lost} lost, ${counts.doubled} doubled; `)
  process.stdout.write(`${counts.lives} tokens with two leases each, ${counts.disagreeing} disagreeing\n`)
  return counts.lost + counts.doubled + counts.disagreeing > 0 ? 1 : 0
}

/** Logs in over all connections until the server is gone. An answer of any other status than 200 is an error. */
async function logInUntilCut(url: string, bodies: readonly string[]): Promise<Acknowledged[]> {
  const acknowledged: Acknowledged[] = []
  const logIn = async (connection: number) => {
    for (let turn = connection; ; turn++) {
      const subject = turn % bodies.length
      const body: unknown = JSON.parse(bodies[subject] ?? '')
      const answer = await send(url, { method: 'POST', path: 'auth/jwt/login', body }).catch(() => undefined)
      if (answer === undefined) return
      acknowledged.push({ subject, token: clientTokenOf(answer) })
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, connection) => logIn(connection)))
  return acknowledged
}

/** The entity a token belongs to; undefined when the token does not work. */
async function entityOfToken(url: string, token: string): Promise<string | undefined> {
  const { status, body } = await send(url, { method: 'GET', path: 'auth/token/lookup-self', token })
  const data = body?.data
  return status === 200 && typeof data === 'object' && data !== null && 'entity_id' in data ? String(data.entity_id) : undefined
}

/** Maps with as many calls at a time as there are connections. */
async function inTurn<In, Out>(items: readonly In[], map: (item: In) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = []
  const entries = items.entries()
  const work = async () => {
    for (const [index, item] of entries) results[index] = await map(item)
  }
  await Promise.all(Array.from({ length: connections }, work))
  return results
}
