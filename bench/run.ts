import { parseArgs } from 'node:util'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { exitOnSignals } from '../simulators/exit.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { measureAcl } from './acl.ts'
import { measureAgainst } from './against.ts'
import { measureAttacks } from './attacks.ts'
import { measureBackup } from './backup.ts'
import type { BenchOptions, Workload } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { measureBeside } from './beside.ts'
import { measureBesideSecrets } from './beside-secrets.ts'
import { measureCloud } from './cloud.ts'
import { measureDirect } from './direct.ts'
import { checkRatios, recordRatios } from './expected.ts'
import { measureFilledStore } from './filled-store.ts'
import { measureForgedLogins } from './forged-logins.ts'
import { type Generator, startGenerator } from './generator.ts'
import { measureLeases } from './leases.ts'
import { measureManySecrets } from './many-secrets.ts'
import { type MeasuredCase, measureCase } from './measure.ts'
import { measureObservedLogins } from './observed-logins.ts'
import { measureOverload } from './overload.ts'
import { measurePasswords, measurePasswordTimes } from './passwords.ts'
import { configureLogins } from './pipeline-logins.ts'
import { measurePostgres } from './postgres.ts'
import { startProgram } from './program.ts'
import { measureSecretIds } from './secret-ids.ts'
import { measureSecrets } from './secrets.ts'
import { measureSlowCommits } from './slow-commits.ts'
import { describeExecutable, describeStart } from './start.ts'
import { measureStaticRoles } from './static-roles.ts'
import { measureStoredPolicies } from './stored-policies.ts'
import { missed, renderTable } from './table.ts'
import { measureTransports } from './transports.ts'
import { measureWebUi } from './web-ui.ts'
import { onlyIfAsked, sharedWorkloads, workloads } from './workloads.ts'

/**
 * `npm run bench`: measures every workload against the floor program and a bare route, in turns; prints
 * ratios. `docs/performance.md` has the commands.
 *
 * Options: `--quick` for a first impression, `--only login,lookup-self`, `--seconds 3` per round, `--rounds
 * 3`, `--fresh 3000` new subjects per round, `--generator own|wrk`. `--check` fails if a ratio is more than 20 % below
 * the one in `expected.json`, which `--record` writes. `--keep FOLDER` keeps the store that `--fill` or `--beside` fills,
 * and uses it again.
 *
 * Only if asked for: `--only algorithms` other algorithms beside RS256, `--only executable` the start of the single
 * executable, `--only writes` each kind of write of configuration (`BENCH_KINDS='mount;tune'` some of them), `--only
 * web-ui` the web UI in Chromium. `--only acl` measures access decisions alone, with 1,000 or `--policies 10000` of them.
 *
 * Separate modes: `--against COMMAND` for another server that speaks the API: `--against 'bench/openbao.sh bao'`
 * (`other-server.ts`); `--postgres` for servers on PostgreSQL, also with `--against` and `--fill`; `--commit-delay 5`
 * (milliseconds) for a slow disk; `--observed` for what explanations, failures, metrics and audit cost a login, also with
 * `--commit-delay`; `--fill 1000000` tokens, entities, secrets and leases in one store; `--beside 1000000` secret ids listed,
 * and other work beside reads; `--leases 1000000`, `--policies 1000000`, `--secret-ids 1000000` or `--secrets 1000000` in the
 * store; `--backup 1000000` tokens in the store during backups; `--cloud 10000` cloud credentials issued and revoked;
 * `--static-roles 1000` passwords of the cloud read, and rotated in one minute.
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
    'secret-ids': { type: 'string' },
    secrets: { type: 'string' },
    policies: { type: 'string' },
    backup: { type: 'string' },
    cloud: { type: 'string' },
    'static-roles': { type: 'string' },
    postgres: { type: 'boolean', default: false },
    against: { type: 'string' },
    check: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    observed: { type: 'boolean', default: false },
    beside: { type: 'string' },
    keep: { type: 'string' },
    generator: { type: 'string' },
  },
})

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
  if (values.observed) {
    print(await measureObservedLogins({ commitDelayMs, generator, options }))
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
  if (values.cloud !== undefined) {
    print(await measureCloud({ credentials: Number(values.cloud), generator }))
    return 0
  }
  if (values['static-roles'] !== undefined) {
    print(await measureStaticRoles({ roles: Number(values['static-roles']), generator }))
    return 0
  }
  if (values.fill !== undefined) {
    const { fill, keep, postgres } = values
    const filled = { records: Number(fill), keep, usesPostgres: postgres, idleSeconds }
    print(await measureFilledStore({ ...filled, generator, options }))
    return 0
  }
  if (values.beside !== undefined) {
    const { beside, keep } = values
    print(await measureBeside({ secretIds: Number(beside), keep, generator, options }))
    return 0
  }
  if (values.postgres) {
    print(await measurePostgres({ generator, options, against: values.against, isWanted }))
    return 0
  }
  const { against } = values
  const measured =
    against === undefined
      ? await measureWorkloads(generator)
      : await measureAgainst({ command: against, workloads: wantedOf(sharedWorkloads), generator, options })
  if (values.check || values.record) {
    // the record decides, not the aims
    process.stdout.write(`${renderTable(measured)}\n`)
    if (values.check) print(await checkRatios(measured))
    else await recordRatios(measured)
    return 0
  }
  if (measured.length > 0) print(renderTable(measured))
  if (against === undefined) await measureOthers(generator)
  const failures = measured.flatMap(({ case: one, ours, theirs }) =>
    [ours, theirs]
      .filter((side) => Object.keys(side.failures).length > 0)
      .map((side) => `${one.name}, ${one.connections}: ${JSON.stringify(side.failures)}`),
  )
  if (failures.length > 0) print(`failed requests by status:\n${failures.join('\n')}`)
  return failures.length > 0 ? 1 : 0
}

/** What is not a row of the table. */
async function measureOthers(generator: Generator): Promise<void> {
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
  if (isWanted('transports')) print(await measureTransports({ options }))
  if (isWanted('start')) print(await describeStart(idleSeconds))
  if (isAsked('executable')) print(await describeExecutable(idleSeconds))
  if (isAsked('web-ui')) print(await measureWebUi({ idleSeconds: values.quick ? 60 : 180 }))
}

function wantedOf(all: Readonly<Record<string, Workload>>): Workload[] {
  const isMeasured = (name: string) => (onlyIfAsked.includes(name) ? isAsked : isWanted)(name)
  return Object.entries(all).flatMap(([name, one]) => (isMeasured(name) ? [one] : []))
}

async function measureWorkloads(generator: Generator): Promise<MeasuredCase[]> {
  const wanted = wantedOf(workloads)
  if (wanted.length === 0) return []
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['RS256', 'ES256', 'EdDSA'] })
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
  for (const makeCases of wanted) {
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
