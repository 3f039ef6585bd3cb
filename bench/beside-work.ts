import type { ServerProcess } from '../simulators/server-process.ts'
import type { BenchOptions } from './bench-case.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf, median } from './measure.ts'
import { verdict } from './table.ts'
import type { TurnsFile } from './turns-file.ts'

export type BesideWork = {
  readonly generator: Generator
  readonly options: BenchOptions
  /** What the server does, as in "reads while …". */
  readonly name: string
  /** Does it once, and returns how many items it concerned. */
  work(run: number): Promise<number>
  /** Whether it is done once for each round; otherwise again and again until the reads end. */
  readonly isOnce?: boolean
  /** Of a server that notes them. */
  readonly turns?: TurnsFile
}

const [aim, aimMs, besides, turnAimMs] = [2, 15, 200, 10]

/** The latency of 200 reads per second while the server does something else, against reads alone. */
export async function besideWork(
  server: ServerProcess,
  { generator, options, name, work, isOnce = false, turns }: BesideWork,
): Promise<string> {
  const { rootToken: token } = server
  const reads = jobOf({
    contender: server,
    requests: { method: 'GET', path: '/v1/auth/token/lookup-self', variants: [{ token }] },
    connections: 1,
    forMs: options.seconds * 1000,
    perSecond: besides,
  })
  await generator.run([reads])
  const rounds: { alone: LoadResult; beside: LoadResult }[] = []
  const [seconds, items, longest]: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < options.rounds; round += 1) {
    const alone = resultOf(await generator.run([reads]))
    await turns?.reset()
    let isOver = false
    const working = (async () => {
      do {
        const startedAt = performance.now()
        items.push(await work(items.length))
        seconds.push((performance.now() - startedAt) / 1000)
      } while (!isOver && !isOnce)
    })()
    const beside = resultOf(await generator.run([reads]).finally(() => (isOver = true)))
    await working
    if (turns !== undefined) longest.push(await turns.longestMs())
    rounds.push({ alone, beside })
  }
  const of = (which: 'alone' | 'beside', key: 'p99Ms' | 'maxMs') =>
    median(rounds.map((round) => round[which][key])).toFixed(1)
  const ratio = median(rounds.map(({ alone, beside }) => beside.p99Ms / alone.p99Ms))
  const isHeld = ratio <= aim || median(rounds.map(({ beside }) => beside.p99Ms)) <= aimMs
  const did = `${items.at(-1)} in ${median(seconds).toFixed(2)} s, ${items.length} times`
  const figures = `p99 ${of('beside', 'p99Ms')} ms, max ${of('beside', 'maxMs')} ms, alone ${of('alone', 'p99Ms')} and ${of('alone', 'maxMs')} ms: ${ratio.toFixed(2)} (${verdict(isHeld, `≤ ${aim} or ${aimMs} ms`)})`
  const turn = median(longest)
  const held =
    turns === undefined
      ? ''
      : `; longest turn ${turn.toFixed(1)} ms of processor time (${verdict(turn <= turnAimMs, `≤ ${turnAimMs} ms`)})`
  return `reads while ${name} (${did}): ${figures}${held}`
}

function resultOf([result]: readonly LoadResult[]): LoadResult {
  if (result === undefined) throw new Error('no result')
  if (Object.keys(result.failures).length > 0) throw new Error(JSON.stringify(result.failures))
  return result
}
