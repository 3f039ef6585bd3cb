import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { type BenchCase, type BenchOptions, type BenchSetup, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { directCases } from './direct.ts'
import type { Generator } from './generator.ts'
import { healthCases } from './health.ts'
import { listRolesCases } from './list-roles.ts'
import { loginCases } from './login.ts'
import { lookupSelfCases } from './lookup-self.ts'
import { measureCase } from './measure.ts'
import { startOtherServer } from './other-server.ts'
import { configureLogins } from './pipeline-logins.ts'
import { roleReadCases } from './role-read.ts'
import { renderTable } from './table.ts'

export type AgainstInput = {
  /** Starts the other server: `OtherServerInput`. */
  readonly command: string
  readonly generator: Generator
  readonly options: BenchOptions
}

const workloads = [loginCases, lookupSelfCases, roleReadCases, listRolesCases, healthCases, directCases]

/**
 * Measures Gatehouse against another server that speaks the API, in turns: logins, `lookup-self`, a role, a list,
 * `sys/health`. Both get the same configuration and the same load.
 */
export async function measureAgainst({ command, generator, options }: AgainstInput): Promise<string> {
  await using ours = await makeBenchFolder()
  await using theirs = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['RS256', 'ES256'] })
  await using gatehouse = await startServerProcess({ folder: ours.path })
  await using other = await startOtherServer({ command, folder: theirs.path })
  const setups = [gatehouse, other].map(
    ({ url, rootToken }): BenchSetup => ({
      url,
      rootToken,
      issuer,
      options: { ...options, connections: [usualConnections] },
    }),
  )
  for (const { url, rootToken } of setups) await configureLogins(url, rootToken, issuer)
  const measured = []
  for (const casesOf of workloads) {
    const [own = [], others = []] = await Promise.all(setups.map(casesOf))
    for (const [index, one] of own.entries()) {
      const pair = besides(one, others[index])
      measured.push(await measureCase(pair, { gatehouse, other }, generator, options))
      process.stderr.write('.')
    }
  }
  process.stderr.write('\n')
  return renderTable(measured)
}

/** The same requests to both servers, each with tokens of its own. */
function besides({ name, connections, ours }: BenchCase, other: BenchCase | undefined): BenchCase {
  if (other === undefined) throw new Error(`${name} is a case of one server only`)
  return { name, connections, ours, against: { contender: 'other', requests: other.ours } }
}
