import type { BenchCase, BenchOptions, Opponent, Requests } from './bench-case.ts'
import type { Generator } from './generator.ts'
import type { LoadJob, LoadResult } from './load.ts'
import { readProcessFigures } from './process-figures.ts'

type Contender = { port: number; pid: number }
export type Contenders = { gatehouse: Contender } & { readonly [Name in Opponent]?: Contender }

/** All rounds of one contender together. CPU and RSS are undefined where the system does not report them. */
type Measured = {
  requests: number
  perSecond: number
  /** Median of the rounds; p99 too. */
  p50Ms: number
  p99Ms: number
  cpuMicrosPerRequest: number | undefined
  rssBytes: number | undefined
  failures: Record<string, number>
}

export type MeasuredCase = { case: BenchCase; ours: Measured; theirs: Measured }

type Round = { result: LoadResult; cpuSeconds: number | undefined; rssBytes: number | undefined }
type Side = { contender: Contender; requests: Requests; rounds: Round[] }

/** Runs a case's rounds in turns, ours and theirs, so that a disturbance affects both. */
export async function measureCase(
  one: BenchCase,
  contenders: Contenders,
  generator: Generator,
  options: BenchOptions,
): Promise<MeasuredCase> {
  const ours: Side = { contender: contenders.gatehouse, requests: one.ours, rounds: [] }
  const opponent = contenders[one.against.contender]
  if (opponent === undefined) throw new Error(`${one.against.contender} was not started`)
  const theirs: Side = { contender: opponent, requests: one.against.requests, rounds: [] }
  // round 0 is a warm-up and is not counted
  for (let round = 0; round <= options.rounds; round++) {
    for (const { contender, requests, rounds } of [ours, theirs]) {
      const forMs =
        requests.once === true ? onceLimitMs : Math.max(options.seconds * 1000, round === 0 ? minWarmUpMs : 0)
      const job = jobOf({
        contender,
        requests: shareOf(requests, round, options.rounds + 1),
        connections: one.connections,
        forMs,
      })
      const done = await runRound(contender, job, generator)
      if (round > 0) rounds.push(done)
    }
  }
  return { case: one, ours: together(ours), theirs: together(theirs) }
}

/** The JIT compiler needs tens of thousands of requests until it reaches a steady state. */
const minWarmUpMs = 5000
const onceLimitMs = 60_000

type JobInput = {
  contender: Contender
  requests: Requests
  connections: number
  forMs: number
  perSecond?: number
  from?: string
}

export function jobOf({ contender: { port }, requests, ...job }: JobInput): LoadJob {
  const { method, path, variants, once = false } = requests
  return { ...job, port, method, path, variants, once }
}

/** Requests that are sent only once are divided among the rounds. */
function shareOf(requests: Requests, round: number, rounds: number): Requests {
  if (requests.once !== true) return requests
  const size = Math.floor(requests.variants.length / rounds)
  return { ...requests, variants: requests.variants.slice(round * size, (round + 1) * size) }
}

async function runRound({ pid }: Contender, job: LoadJob, generator: Generator): Promise<Round> {
  const before = await readProcessFigures(pid)
  const [result] = await generator.run([job])
  const after = await readProcessFigures(pid)
  if (result === undefined) throw new Error('the load generator returned no result')
  return {
    result,
    cpuSeconds: before && after && after.cpuSeconds - before.cpuSeconds,
    rssBytes: after?.rssBytes,
  }
}

function together({ rounds, requests: { steps = 1, refusedWith } }: Side): Measured {
  const results = rounds.map(({ result }) => result)
  const sent = sum(results.map((result) => result.requests))
  const requests = sent / steps
  const cpuSeconds = rounds.some((round) => round.cpuSeconds === undefined)
    ? undefined
    : sum(rounds.map((round) => round.cpuSeconds ?? 0))
  const failures: Record<string, number> = {}
  for (const [status, count] of results.flatMap((result) => Object.entries(result.failures)))
    failures[status] = (failures[status] ?? 0) + count
  if (refusedWith !== undefined) {
    const served = sent - sum(Object.values(failures))
    delete failures[refusedWith]
    if (served > 0) failures['served'] = served
  }
  return {
    requests,
    perSecond: requests / sum(results.map((result) => result.seconds)),
    p50Ms: median(results.map((result) => result.p50Ms)),
    p99Ms: median(results.map((result) => result.p99Ms)),
    cpuMicrosPerRequest: cpuSeconds && (cpuSeconds * 1e6) / requests,
    rssBytes: rounds.at(-1)?.rssBytes,
    failures,
  }
}

export const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

/** The median; 0 for an empty list. */
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
