import { parseArgs } from 'node:util'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { exitOnSignals } from '../simulators/exit.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { measureAcl } from './acl.ts'
import { measureAgainst } from './against.ts'
import { measureAttacks } from './attacks.ts'
import { measureAudit } from './audit.ts'
import { measureBackup } from './backup.ts'
import type { BenchCase, BenchOptions, BenchSetup } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { measureBesideSecrets } from './beside-secrets.ts'
import { measureCloud } from './cloud.ts'
import { measureDirect } from './direct.ts'
import { checkRatios, recordRatios } from './expected.ts'
import { measureFederated } from './federated.ts'
import { measureFilledStore } from './filled-store.ts'
import { measureForgedLogins } from './forged-logins.ts'
import { startGenerator } from './generator.ts'
import { healthCases } from './health.ts'
import { measureLeases } from './leases.ts'
import { listRolesCases } from './list-roles.ts'
import { loginCases, rememberedLoginCases } from './login.ts'
import { lookupSelfCases, lookupSelfInGroupsCases } from './lookup-self.ts'
import { measureManyEntities } from './many-entities.ts'
import { measureManySecrets } from './many-secrets.ts'
import { type MeasuredCase, measureCase } from './measure.ts'
import { messageCreateCases } from './message-creates.ts'
import { messageCases } from './messages.ts'
import { measureOpenId } from './openid.ts'
import { measureOverload } from './overload.ts'
import { measurePasswords, measurePasswordTimes } from './passwords.ts'
import { configureLogins } from './pipeline-logins.ts'
import { measurePostgres } from './postgres.ts'
import { startProgram } from './program.ts'
import { roleReadCases } from './role-read.ts'
import { measureRotation } from './rotation.ts'
import { measureScrapes } from './scrapes.ts'
import { measureSecretIds } from './secret-ids.ts'
import { measureSecrets } from './secrets.ts'
import { measureSilentNames } from './silent-names.ts'
import { measureSlowCommits } from './slow-commits.ts'
import { measureStart } from './start.ts'
import { measureStaticRoles } from './static-roles.ts'
import { measureStoredPolicies } from './stored-policies.ts'
import { megabytes, missed, renderTable, verdict } from './table.ts'
import { measureTransports } from './transports.ts'
import { measureUnreadLog } from './unread-log.ts'
import { measureWebUi } from './web-ui.ts'
import { writeCases } from './writes.ts'

/**
 * `npm run bench`: measures every workload against the floor program and a bare route, in turns; prints
 * ratios.
 *
 * Options: `--quick` for a first impression, `--only login,lookup-self`, `--seconds 3` per round, `--rounds
 * 3`, `--fresh 3000` new subjects per round, `--generator own|wrk`. `--check` fails if a ratio is more than 20 % below
 * the one in `expected.json`, which `--record` writes. `--only acl` measures access decisions
 * alone, with 1,000 or `--policies 10000` of them, `--only transports` logins with TLS, over HTTP/2 and beside slow
 * clients, `--only attacks` logins while other clients leave requests unfinished or connections idle, `--only
 * forged` logins while another address sends forged tokens, `--only overload` logins of ten times as many clients as
 * are served at a time, `--only silent-names` logins while others wait for a name server that never answers,
 * `--only unread-log` logins while nobody reads the log, `--only scrapes` logins while metrics are scraped, `--only passwords` JWT logins and reads beside
 * logins with passwords, `--only password-times` whether times tell who exists, `--only secrets` reads, writes and lists
 * of secrets, `--only direct` reads that carry their login, `--only writes` each kind of write of configuration (`BENCH_KINDS='mount;tune'` some of them), `--only beside-secrets` reads while secrets are listed, upgraded or waited for. `--only web-ui` measures the web UI in
 * Chromium.
 *
 * Separate modes: `--commit-delay 5` (milliseconds) for a slow disk; `--fill 1000000` tokens, `--leases
 * 1000000`, `--policies 1000000`, `--entities 500000` `--secret-ids 1000000` or
 * `--secrets 1000000` in the store; `--rotation 1000000` records sealed again under a new data
 * key during logins; `--backup 1000000` tokens in the store during backups; `--cloud 10000` cloud credentials issued and revoked; `--static-roles 1000` passwords of the cloud read, and rotated in one minute; `--federated` for assertions
 * and access tokens of federated roles; `--audit` for logins with and
 * without an audit device, also with `--commit-delay`; `--postgres` for servers on PostgreSQL,
 * also with `--fill`; `--against COMMAND` for another server that speaks the API, also with `--postgres`:
 * `--against 'bench/openbao.sh bao'` (`other-server.ts`).
 */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    fresh: { type: 'string' },
    'commit-delay': { type: 'string' },
    fill: { type: 'string' },
    leases: { type: 'string' },
    entities: { type: 'string' },
    'secret-ids': { type: 'string' },
    secrets: { type: 'string' },
    policies: { type: 'string' },
    rotation: { type: 'string' },
    backup: { type: 'string' },
    cloud: { type: 'string' },
    'static-roles': { type: 'string' },
    federated: { type: 'boolean', default: false },
    openid: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    against: { type: 'string' },
    check: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    audit: { type: 'boolean', default: false },
    generator: { type: 'string' },
  },
})

const workloads: Record<string, (setup: BenchSetup) => Promise<BenchCase[]>> = {
  login: loginCases,
  'remembered-logins': rememberedLoginCases,
  'lookup-self': lookupSelfCases,
  'lookup-self-groups': lookupSelfInGroupsCases,
  'role-read': roleReadCases,
  'list-roles': listRolesCases,
  health: healthCases,
  messages: messageCases,
  'message-create': messageCreateCases,
  writes: writeCases,
}

const options: BenchOptions = {
  seconds: Number(values.seconds ?? (values.quick ? 1 : 3)),
  rounds: Number(values.rounds ?? (values.quick ? 1 : 3)),
  freshSubjects: Number(values.fresh ?? 3000),
  connections: values.quick ? [32] : [1, 32, 256],
}
const idleSeconds = values.quick ? 3 : 10
const only = values.only?.split(',')
const isAsked = (name: string) => only?.includes(name) === true
const isWanted = (name: string) => only === undefined || isAsked(name)
let isMissed = false
const print = (text: string) => {
  isMissed ||= text.includes(missed)
  process.stdout.write(`${text}\n`)
}

exitOnSignals()
const code = await runAll()
process.exitCode = isMissed ? 1 : code

/** Returns the exit code: 1 if any request failed. The program also ends with 1 if an aim was missed. */
async function runAll(): Promise<number> {
  await using generator = startGenerator(
    values.generator === 'own' || values.generator === 'wrk' ? values.generator : undefined,
  )
  print(`load by ${generator.name}, ${options.rounds} × ${options.seconds} s, node ${process.version}`)
  const commitDelayMs = Number(values['commit-delay'] ?? 0)
  if (values.audit) {
    print(await measureAudit({ commitDelayMs, generator, options }))
    return 0
  }
  if (commitDelayMs > 0) {
    print(await measureSlowCommits({ commitDelayMs, generator, options }))
    return 0
  }
  if (values.leases !== undefined) {
    print(await measureLeases({ leases: Number(values.leases), idleSeconds, generator, options }))
    return 0
  }
  if (values.policies !== undefined && !isAsked('acl')) {
    const policies = Number(values.policies)
    print(await measureStoredPolicies({ policies, idleSeconds, generator, options }))
    return 0
  }
  if (values.entities !== undefined) {
    print(await measureManyEntities({ entities: Number(values.entities), generator, options }))
    return 0
  }
  if (values['secret-ids'] !== undefined) {
    print(
      await measureSecretIds({ secretIds: Number(values['secret-ids']), idleSeconds, generator, options }),
    )
    return 0
  }
  if (values.secrets !== undefined) {
    const secrets = Number(values.secrets)
    print(await measureManySecrets({ secrets, idleSeconds, generator, options }))
    return 0
  }
  if (values.backup !== undefined) {
    print(await measureBackup({ tokens: Number(values.backup), generator, options }))
    return 0
  }
  if (values.rotation !== undefined) {
    print(await measureRotation({ records: Number(values.rotation), generator, options }))
    return 0
  }
  if (values.cloud !== undefined) {
    print(await measureCloud({ credentials: Number(values.cloud), generator }))
    return 0
  }
  if (values['static-roles'] !== undefined) {
    print(await measureStaticRoles({ roles: Number(values['static-roles']), generator }))
    return 0
  }
  if (values.federated) {
    print(await measureFederated({ generator, options }))
    return 0
  }
  if (values.fill !== undefined) {
    const filled = { tokens: Number(values.fill), usesPostgres: values.postgres, idleSeconds }
    print(await measureFilledStore({ ...filled, generator, options }))
    return 0
  }
  if (values.postgres) {
    print(await measurePostgres({ generator, options, against: values.against }))
    return 0
  }
  if (values.against !== undefined) {
    print(await measureAgainst({ command: values.against, generator, options }))
    return 0
  }
  if (values.openid) {
    print(await measureOpenId({ generator, options }))
    return 0
  }
  const measured = await measureWorkloads(generator)
  if (values.check || values.record) {
    // the record decides, not the aims
    process.stdout.write(`${renderTable(measured)}\n`)
    if (values.check) print(await checkRatios(measured))
    else await recordRatios(measured)
    return 0
  }
  if (measured.length > 0) print(renderTable(measured))
  if (isWanted('acl'))
    print(await measureAcl({ policies: Number(values.policies ?? 1000), rounds: options.rounds }))
  if (isWanted('attacks')) print(await measureAttacks({ generator, options }))
  if (isWanted('forged')) print(await measureForgedLogins({ generator, options }))
  if (isWanted('passwords')) print(await measurePasswords({ generator, options }))
  if (isWanted('password-times')) print(await measurePasswordTimes({ options }))
  if (isWanted('secrets')) print(await measureSecrets({ generator, options }))
  if (isWanted('direct')) print(await measureDirect({ generator, options }))
  if (isWanted('beside-secrets')) print(await measureBesideSecrets({ generator, options }))
  if (isWanted('overload')) print(await measureOverload({ generator, options }))
  if (isWanted('silent-names')) print(await measureSilentNames({ generator, options }))
  if (isWanted('unread-log')) print(await measureUnreadLog({ generator, options }))
  if (isWanted('scrapes')) print(await measureScrapes({ generator, options }))
  if (isWanted('transports')) print(await measureTransports({ options }))
  if (isWanted('start')) print(await describeStart())
  if (isAsked('web-ui')) print(await measureWebUi({ idleSeconds: values.quick ? 60 : 180 }))
  const failures = measured.flatMap(({ case: one, ours, theirs }) =>
    [ours, theirs]
      .filter((side) => Object.keys(side.failures).length > 0)
      .map((side) => `${one.name}, ${one.connections}: ${JSON.stringify(side.failures)}`),
  )
  if (failures.length > 0) print(`failed requests by status:\n${failures.join('\n')}`)
  return failures.length > 0 ? 1 : 0
}

async function measureWorkloads(generator: ReturnType<typeof startGenerator>): Promise<MeasuredCase[]> {
  const wanted = Object.entries(workloads).filter(([name]) => (name === 'writes' ? isAsked : isWanted)(name))
  if (wanted.length === 0) return []
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['RS256', 'ES256'] })
  await using gatehouse = await startServerProcess({ folder: folder.path })
  await using floor = await startProgram('floor.ts', [
    '--file',
    `${folder.path}/floor.db`,
    '--jwks',
    issuer.jwksUrl,
    '--issuer',
    issuer.url,
  ])
  await using bare = await startProgram('bare.ts')
  await configureLogins(gatehouse.url, gatehouse.rootToken, issuer)
  const measured: MeasuredCase[] = []
  for (const [, makeCases] of wanted) {
    for (const one of await makeCases({
      url: gatehouse.url,
      rootToken: gatehouse.rootToken,
      issuer,
      options,
    })) {
      measured.push(await measureCase(one, { gatehouse, itself: gatehouse, floor, bare }, generator, options))
      process.stderr.write('.')
    }
  }
  process.stderr.write('\n')
  return measured
}

async function describeStart(): Promise<string> {
  await using folder = await makeBenchFolder()
  const { readyMs, idleRssBytes } = await measureStart({ folder: folder.path }, idleSeconds)
  const ready = `ready after ${Math.round(readyMs)} ms (${verdict(readyMs <= 500, '≤ 500 ms')})`
  return `${ready}, RSS after ${idleSeconds} s idle ${megabytes(idleRssBytes)} MB (${verdict((idleRssBytes ?? 0) <= 110e6, '≤ 110 MB')})`
}
