import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import {
  type BenchCase,
  type BenchOptions,
  type BenchSetup,
  usualConnections,
  type Workload,
} from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import { type MeasuredCase, measureCase } from './measure.ts'
import { startOtherServer } from './other-server.ts'
import { configureLogins } from './pipeline-logins.ts'

export type AgainstInput = {
  /** Starts the other server: `OtherServerInput`. */
  readonly command: string
  readonly workloads: readonly Workload[]
  readonly generator: Generator
  readonly options: BenchOptions
}

/**
 * Measures Gatehouse against another server that speaks the API, in turns. Both get the same configuration and the
 * same load.
 */
export async function measureAgainst(input: AgainstInput): Promise<MeasuredCase[]> {
  const { command, workloads, generator, options } = input
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
  const measured: MeasuredCase[] = []
  for (const casesOf of workloads) {
    const [own = [], others = []] = await Promise.all(setups.map(casesOf))
    for (const [index, one] of own.entries()) {
      const pair = besides(one, others[index])
      measured.push(await measureCase(pair, { gatehouse, other }, generator, options))
      process.stderr.write('.')
    }
  }
  process.stderr.write('\n')
  return measured
}

/** The same requests to both servers, each with tokens of its own. */
function besides({ name, connections, ours, aimBeside }: BenchCase, other: BenchCase | undefined): BenchCase {
  if (other === undefined) throw new Error(`${name} is a case of one server only`)
  const against = { contender: 'other' as const, requests: other.ours }
  return { name, connections, ours, against, ...(aimBeside !== undefined && { aim: aimBeside }) }
}
