import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { clientTokenOf, send } from '../simulators/operator.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import type { FailPoint } from '../src/storage/faults.ts'
import { startCredentialProvider } from '../test/support/credential-provider.ts'
import { type SimulatedDisk, seededRandom, simulateDisk } from '../test/support/disk/simulated-disk.ts'
import { disagreements, liveUntilCut, mountPractice } from './crash-lives.ts'
import { compareWithAnswers, writeUntilRefused } from './crash-refusals.ts'
import { mountSecrets, secretProblems, writeSecretsUntilCut } from './crash-secrets.ts'
import { mountLogins, settingsProblems, writeSettingsUntilCut } from './crash-settings.ts'
import { configureLogins, signLogins } from './pipeline-logins.ts'

export type CrashOptions = {
  rounds: number
  /** Folder for the server's files; with `power` it must hold nothing else. */
  folder: string
  /** Cuts the power of a simulated disk instead of only killing the process. */
  power: boolean
  /** An empty database, instead of a file in the folder: `GATEHOUSE_STORAGE`. */
  storage?: string | undefined
  /** Kills the process when it passes this fail point, instead of at any moment. */
  point?: FailPoint | undefined
  /** Determines the times of the crashes, and what survives a power cut. */
  seed: number
  /** Greatest number of disk syncs before a power cut; default 150. */
  maxSyncs?: number
  /** The server; default: from the sources. */
  entry?: string
  say(line: string): void
}

/** `rounds` counts rounds with an acknowledged write; rounds without one are `idle` and are repeated. */
export type CrashCounts = {
  rounds: number
  idle: number
  acknowledged: number
  lost: number
  doubled: number
  lives: number
  /** Acknowledged changes of secrets. */
  secrets: number
  /** Acknowledged changes of roles, users, mounts and groups. */
  settings: number
  disagreeing: number
  /** Refused writes, and how many of them existed after a crash. */
  refused: number
  returned: number
}

const connections = 32
const subjects = 64
const longestRoundMs = 400
/** A round without a disk sync, or without its fail point, ends after this time. */
const longestPowerRoundMs = 2_000
/** A sync fails in one of this many rounds. */
const refusalEvery = 4
const maxPassing = 5
const practiceServer = join(import.meta.dirname, '../test/support/practice-server.ts')

/** A login whose complete response arrived. */
type Acknowledged = { subject: number; token: string }

/**
 * Crashes a server during logins, renewals, revocations and writes of secrets, restarts it, and checks all
 * acknowledged writes. Rejects if a server does not start again, or if most rounds acknowledge nothing.
 */
export async function runCrashRounds({
  rounds,
  folder,
  power,
  point,
  storage,
  seed,
  maxSyncs = 150,
  entry = practiceServer,
  say,
}: CrashOptions): Promise<CrashCounts> {
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  await using provider = await startCredentialProvider()
  using disk = power ? simulateDisk(folder) : undefined
  await using servers = new AsyncDisposableStack()
  if (storage !== undefined) await writeFile(join(folder, 'seal.key'), '5e'.repeat(32), { mode: 0o600 })
  let launches = 0
  const launch = async () => {
    const environment = {
      PRACTICE_PROVIDER: provider.url,
      // the killed server counts as running for a while, so that the next one has another name
      ...(storage !== undefined && {
        GATEHOUSE_STORAGE: storage,
        GATEHOUSE_REPLICA_NAME: `crash-${launches++}`,
      }),
      ...(point !== undefined && { KILL_AT: point }),
      ...(await disk?.environment()),
    }
    return servers.use(await startServerProcess({ folder, entry, environment }))
  }
  const random = seededRandom(seed)
  let server = await launch()
  await configureLogins(server.url, server.rootToken, issuer)
  await mountPractice(server.url, server.rootToken)
  await mountSecrets(server.url, server.rootToken)
  await mountLogins(server.url, server.rootToken)
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: subjects,
    subject: (index) => `repo:acme/crash-${index}`,
  })
  const seenTokens = new Set<string>()
  const entityOf = new Map<number, string>()
  const counts: CrashCounts = {
    rounds: 0,
    idle: 0,
    acknowledged: 0,
    lost: 0,
    doubled: 0,
    lives: 0,
    secrets: 0,
    settings: 0,
    disagreeing: 0,
    refused: 0,
    returned: 0,
  }

  const failOneSync = async (disk: SimulatedDisk) => {
    const { rootToken } = server
    const prefix = `crash-${seed}-${counts.rounds}`
    const answers = await writeUntilRefused(
      { url: server.url, rootToken },
      disk,
      prefix,
      1 + Math.floor(random() * maxPassing),
    )
    await server.stop('SIGKILL')
    server = await launch()
    const { lost, returned } = await compareWithAnswers({ url: server.url, rootToken }, answers)
    counts.acknowledged += answers.acknowledged.length
    counts.refused += answers.refused.length
    counts.lost += lost
    counts.returned += returned
    say(
      `round ${counts.rounds}: a sync failed and the process was killed: ${lost} lost, ${returned} refused writes returned`,
    )
  }

  while (counts.rounds < rounds) {
    const logins = logInUntilCut(server.url, bodies)
    const living = liveUntilCut(server.url, server.rootToken)
    const writing = writeSecretsUntilCut(server.url, server.rootToken, `${counts.rounds}-${counts.idle}`)
    const setting = writeSettingsUntilCut(server.url, server.rootToken, `${counts.rounds}-${counts.idle}`)
    const how = await endServer(server, { disk, point, random, maxSyncs })
    const acknowledged = await logins
    const lives = await living
    const secrets = await writing
    const settings = await setting
    server = await launch()
    const entities = await mapConcurrently(acknowledged, ({ token }) => entityOfToken(server.url, token))
    for (const [index, { subject, token }] of acknowledged.entries()) {
      const entity = entities[index]
      if (entity === undefined) counts.lost++
      else if (seenTokens.has(token) || (entityOf.get(subject) ?? entity) !== entity) counts.doubled++
      else entityOf.set(subject, entity)
      seenTokens.add(token)
    }
    const problems = [
      ...(await disagreements({ url: server.url, rootToken: server.rootToken, provider }, lives)),
      ...(await secretProblems(server.url, server.rootToken, secrets)),
      ...(await settingsProblems(server.url, server.rootToken, settings)),
    ]
    counts.acknowledged += acknowledged.length
    counts.lives += lives.length
    counts.secrets += secrets.reduce((sum, { done }) => sum + done, 0)
    counts.settings += settings.reduce((sum, { done }) => sum + done, 0)
    counts.disagreeing += problems.length
    const doesCount = acknowledged.length + lives.length > 0
    if (doesCount) counts.rounds++
    else counts.idle++
    const name = doesCount ? `round ${counts.rounds}` : 'a round that does not count'
    for (const problem of problems) say(`${name}: ${problem}`)
    say(
      `${name}: ${how}, ${acknowledged.length} acknowledged, ready again after ${Math.round(server.readyAfterMs)} ms`,
    )
    if (disk !== undefined && doesCount && counts.rounds % refusalEvery === 1) await failOneSync(disk)
    if (counts.idle > rounds + 10) throw new Error('most rounds acknowledged nothing')
  }
  return counts
}

/**
 * Ends the server; resolves with a description when the process has ended. After a power cut the folder holds
 * what survived on the disk.
 */
async function endServer(
  server: {
    readonly pid: number
    stop(signal: NodeJS.Signals): Promise<void>
    readonly ended: Promise<void>
  },
  {
    disk,
    point,
    random,
    maxSyncs,
  }: {
    disk: SimulatedDisk | undefined
    point: FailPoint | undefined
    random: () => number
    maxSyncs: number
  },
): Promise<string> {
  if (disk === undefined) {
    await wait(random() * longestRoundMs)
    if (point !== undefined) {
      process.kill(server.pid, 'SIGUSR2')
      await Promise.race([server.ended, wait(longestPowerRoundMs)])
    }
    await server.stop('SIGKILL')
    return point === undefined ? 'killed' : `killed at ${point}`
  }
  disk.cutAtSync(1 + Math.floor(random() * maxSyncs))
  await Promise.race([server.ended, wait(longestPowerRoundMs)])
  await server.stop('SIGKILL')
  const loss = random() < 0.5 ? 'all' : 'torn'
  await disk.loseUnsynced(loss, random)
  return loss === 'all' ? 'power cut, all unsynced writes lost' : 'power cut, unsynced writes torn'
}

/** Logs in over all connections until the server ends. Any status other than 200 is an error. */
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

/** The entity of a token; undefined if the token does not work. */
async function entityOfToken(url: string, token: string): Promise<string | undefined> {
  const { status, body } = await send(url, { method: 'GET', path: 'auth/token/lookup-self', token })
  const data = body?.data
  return status === 200 && typeof data === 'object' && data !== null && 'entity_id' in data
    ? String(data.entity_id)
    : undefined
}

/** Maps with as many concurrent calls as there are connections. */
async function mapConcurrently<In, Out>(
  items: readonly In[],
  map: (item: In) => Promise<Out>,
): Promise<Out[]> {
  const results: Out[] = []
  const entries = items.entries()
  const work = async () => {
    for (const [index, item] of entries) results[index] = await map(item)
  }
  await Promise.all(Array.from({ length: connections }, work))
  return results
}
