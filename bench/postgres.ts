import { Client } from 'pg'
import { type Issuer, startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { PostgresInstallation, type PostgresServer } from '../simulators/postgres-server.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { type BenchCase, type BenchOptions, type Requests, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import { type Contenders, jobOf, type MeasuredCase, measureCase, median, sum } from './measure.ts'
import { startOtherServer } from './other-server.ts'
import { configureLogins, knownLogins, loginsWith, signLogins } from './pipeline-logins.ts'
import { readProcessFigures } from './process-figures.ts'
import { startProgram } from './program.ts'
import { renderTable, verdict } from './table.ts'

/** Logins per second at each server, far below what it can do. */
const constantRate = 50
const constantSeconds = 10
const sealKey = '5e'.repeat(32)

export type PostgresInput = {
  readonly generator: Generator
  readonly options: BenchOptions
  /** Starts another server: `OtherServerInput`. */
  readonly against: string | undefined
  /** Which parts are measured. */
  isWanted(part: string): boolean
}

/**
 * Measures servers on PostgreSQL: `logins` against the floor program and another server on the same PostgreSQL,
 * `notifications` on and off, two worker processes (`workers`), `two` and `four` servers over one database, and the cost of
 * a login by the number of servers (`costs`).
 */
export async function measurePostgres(input: PostgresInput): Promise<string> {
  const { generator, options, isWanted } = input
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['RS256', 'ES256'] })
  await using installation = await PostgresInstallation.open()
  await using postgres = await installation.start({ shared_buffers: '256MB', max_connections: 200 })
  const start = (name: string, environment: Record<string, string> = {}, at = folder.path) =>
    startServerProcess({
      folder: at,
      environment: {
        GATEHOUSE_STORAGE: postgres.url('gatehouse'),
        GATEHOUSE_SEAL_KEY: sealKey,
        GATEHOUSE_REPLICA_NAME: name,
        ...environment,
      },
    })
  for (const name of ['gatehouse', 'floor']) await createDatabase(postgres, name)
  await using gatehouse = await start('one')
  await configureLogins(gatehouse.url, gatehouse.rootToken, issuer)
  const lines: string[] = []
  if (isWanted('logins')) lines.push(...(await measureLogins(gatehouse, postgres, issuer, input)))
  const known = await knownLogins(issuer, 'RS256')
  const measure = (servers: readonly ServerProcess[]) => measureTogether(servers, known, generator, options)
  if (isWanted('notifications')) {
    await using quiet = await start('quiet', { GATEHOUSE_POSTGRES_NOTIFY: 'false' })
    lines.push(await compare('notifications off', measure, [gatehouse], [quiet], 0.98))
  }
  if (isWanted('workers')) {
    await using workers = await start('workers', { GATEHOUSE_WORKERS: '2' })
    lines.push(await compare('two worker processes', measure, [gatehouse], [workers], 1))
  }
  if (isWanted('two')) {
    await using two = await start('two')
    lines.push(await compare('two servers', measure, [gatehouse], [gatehouse, two], 1))
  }
  if (!isWanted('four') && !isWanted('costs')) return lines.join('\n')
  await using second = await start('second')
  await using third = await start('third')
  await using fourth = await start('fourth')
  const all = [gatehouse, second, third, fourth]
  if (isWanted('four')) lines.push(await compare('four servers', measure, [gatehouse], all, 1))
  if (!isWanted('costs')) return lines.join('\n')
  await using others = new AsyncDisposableStack()
  const alone: ServerProcess[] = []
  for (const name of ['alone_1', 'alone_2', 'alone_3']) {
    await createDatabase(postgres, name)
    const own = others.use(await makeBenchFolder())
    const server = others.use(await start(name, { GATEHOUSE_STORAGE: postgres.url(name) }, own.path))
    await configureLogins(server.url, server.rootToken, issuer)
    await measure([server])
    alone.push(server)
  }
  lines.push(
    await constantLoad(all, alone, (servers) =>
      measureTogether(servers, known, generator, { perSecond: constantRate, seconds: constantSeconds }),
    ),
  )
  return lines.join('\n')
}

/** A table of logins beside the floor program, and one beside another server if there is one. */
async function measureLogins(
  gatehouse: ServerProcess,
  postgres: PostgresServer,
  issuer: Issuer,
  { generator, options, against: command }: PostgresInput,
): Promise<string[]> {
  const casesOf = async (contender: 'floor' | 'other', aim: number): Promise<BenchCase[]> =>
    (await loginRequests(issuer, options, contender)).map(({ name, requests }) => ({
      name,
      connections: usualConnections,
      ours: requests,
      aim,
      aimP99Ms: 60,
      against: { contender, requests },
    }))
  const measure = async (cases: readonly BenchCase[], contenders: Omit<Contenders, 'gatehouse'>) => {
    const measured: MeasuredCase[] = []
    for (const one of cases)
      measured.push(await measureCase(one, { gatehouse, ...contenders }, generator, options))
    return renderTable(measured)
  }
  const tables: string[] = []
  {
    await using floor = await startProgram('floor.ts', [
      ...['--postgres', postgres.url('floor')],
      ...['--jwks', issuer.jwksUrl, '--issuer', issuer.url],
    ])
    tables.push(await measure(await casesOf('floor', 0.7), { floor }))
  }
  if (command === undefined) return tables
  await createDatabase(postgres, 'other')
  await using files = await makeBenchFolder()
  const database = postgres.url('other')
  await using other = await startOtherServer({ command, folder: files.path, database })
  await configureLogins(other.url, other.rootToken, issuer)
  tables.push(await measure(await casesOf('other', 10), { other }))
  return tables
}

export async function createDatabase(postgres: PostgresServer, name: string): Promise<void> {
  const client = new Client(postgres.url())
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`).finally(() => client.end())
}

/** Logins of one subject, and of new ones: each of them is sent once. */
async function loginRequests(
  issuer: Issuer,
  { rounds, freshSubjects }: BenchOptions,
  against: string,
): Promise<{ name: string; requests: Requests }[]> {
  const fresh = await signLogins(issuer, {
    algorithm: 'RS256',
    count: (rounds + 1) * freshSubjects,
    subject: (index) => `repo:acme/${against}-${index}:ref:refs/heads/main`,
  })
  return [
    { name: 'login, one subject', requests: await knownLogins(issuer, 'RS256') },
    { name: 'login, fresh subjects', requests: { ...loginsWith(fresh), once: true } },
  ]
}

type Together = {
  readonly perSecond: number
  /** CPU time of a request. */
  readonly cpuMicros: number
  /** The same at the first server. */
  readonly firstCpuMicros: number
}

/** One round at several servers at once; the usual number of connections in all. */
async function measureTogether(
  servers: readonly ServerProcess[],
  requests: Requests,
  generator: Generator,
  { seconds, perSecond }: { readonly seconds: number; readonly perSecond?: number },
): Promise<Together> {
  const jobs = servers.map((contender) =>
    jobOf({
      contender,
      requests,
      connections: usualConnections / servers.length,
      forMs: seconds * 1000,
      ...(perSecond !== undefined && { perSecond }),
    }),
  )
  const cpu = async () => {
    const figures = await Promise.all(servers.map(({ pid }) => readProcessFigures(pid)))
    return figures.map((figure) => figure?.cpuSeconds ?? 0)
  }
  const before = await cpu()
  const results = await generator.run(jobs)
  const used = (await cpu()).map((seconds, at) => (seconds - (before[at] ?? 0)) * 1e6)
  const counts = results.map(({ requests }) => requests)
  return {
    perSecond: sum(results.map(({ requests, seconds }) => requests / seconds)),
    cpuMicros: sum(used) / sum(counts),
    firstCpuMicros: (used[0] ?? 0) / (counts[0] ?? 1),
  }
}

/**
 * The CPU cost of a login at the first server, by the number of servers that share its database; in turns. The
 * same number of servers always gets the same load: the others have databases of their own, so that the machine
 * is equally busy.
 */
async function constantLoad(
  sharing: readonly ServerProcess[],
  alone: readonly ServerProcess[],
  measure: (servers: readonly ServerProcess[]) => Promise<Together>,
): Promise<string> {
  const costs = [1, 2, sharing.length].map((count) => ({
    count,
    micros: [] as number[],
    servers: [...sharing.slice(0, count), ...alone.slice(0, sharing.length - count)],
  }))
  for (let round = 0; round < 5; round++)
    for (const { servers, micros } of costs) micros.push((await measure(servers)).firstCpuMicros)
  const texts = costs.map(({ count, micros }) => `${count}: ${Math.round(median(micros))} µs`)
  return (
    `CPU of a login at one of ${sharing.length} servers with ${constantRate}/s each, ` +
    `by the number that shares its database: ${texts.join(', ')}`
  )
}

/** Compares in turns, after each server has been warmed up. */
async function compare(
  name: string,
  measure: (servers: readonly ServerProcess[]) => Promise<Together>,
  base: readonly ServerProcess[],
  other: readonly ServerProcess[],
  aim: number,
): Promise<string> {
  for (let round = 0; round < 3; round++) for (const server of other) await measure([server])
  const counted: { base: Together; other: Together }[] = []
  for (let round = 0; round < 3; round++)
    counted.push({ base: await measure(base), other: await measure(other) })
  const mean = (pick: (round: (typeof counted)[number]) => number) =>
    counted.reduce((total, round) => total + pick(round), 0) / counted.length
  const [baseRate, rate] = [mean(({ base }) => base.perSecond), mean(({ other }) => other.perSecond)]
  const cpus = [mean(({ base }) => base.cpuMicros), mean(({ other }) => other.cpuMicros)]
  const [before, after] = cpus.map((micros) => Math.round(micros))
  return (
    `${name}: ${Math.round(rate)} logins/s against ${Math.round(baseRate)} of one server, ` +
    `ratio ${(rate / baseRate).toFixed(2)} (${verdict(rate / baseRate >= aim, `≥ ${aim}`)}), ` +
    `CPU of a login ${after} µs against ${before} µs`
  )
}
