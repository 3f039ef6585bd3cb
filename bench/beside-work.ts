import type { ServerProcess } from '../simulators/server-process.ts'
import type { BenchOptions } from './bench-case.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf, median } from './measure.ts'
import { verdict } from './table.ts'

export type BesideWork = {
  readonly generator: Generator
  readonly options: BenchOptions
  /** What the server does, as in "reads while …". */
  readonly name: string
  /** Does it once, and returns how many items it concerned; called again until the reads end. */
  work(run: number): Promise<number>
}

const [aim, besides] = [2, 200]

/** The latency of 200 reads per second while the server does something else again and again, against reads alone. */
export async function besideWork(
  server: ServerProcess,
  { generator, options, name, work }: BesideWork,
): Promise<string> {
  const { rootToken: token } = server
  const reads = jobOf({
    contender: server,
    requests: { method: 'GET', path: '/v1/auth/token/lookup-self', variants: [{ token }] },
    ...{ connections: 1, forMs: options.seconds * 1000, perSecond: besides },
  })
  await generator.run([reads])
  const rounds: { alone: LoadResult; beside: LoadResult }[] = []
  const [seconds, items]: [number[], number[]] = [[], []]
  for (let round = 0; round < options.rounds; round += 1) {
    const alone = resultOf(await generator.run([reads]))
    let isOver = false
    const working = (async () => {
      do {
        const startedAt = performance.now()
        items.push(await work(items.length))
        seconds.push((performance.now() - startedAt) / 1000)
      } while (!isOver)
    })()
    const beside = resultOf(await generator.run([reads]).finally(() => (isOver = true)))
    await working
    rounds.push({ alone, beside })
  }
  const of = (which: 'alone' | 'beside', key: 'p99Ms' | 'maxMs') =>
    median(rounds.map((round) => round[which][key])).toFixed(1)
  const ratio = median(rounds.map(({ alone, beside }) => beside.p99Ms / alone.p99Ms))
  return `reads while ${name} (${items.at(-1)} in ${median(seconds).toFixed(2)} s, ${items.length} times): p99 ${of('beside', 'p99Ms')} ms, max ${of('beside', 'maxMs')} ms, alone ${of('alone', 'p99Ms')} and ${of('alone', 'maxMs')} ms: ${ratio.toFixed(2)} (${verdict(ratio <= aim, `≤ ${aim}`)})`
}

function resultOf([result]: readonly LoadResult[]): LoadResult {
  if (result === undefined) throw new Error('no result')
  if (Object.keys(result.failures).length > 0) throw new Error(JSON.stringify(result.failures))
  return result
}
