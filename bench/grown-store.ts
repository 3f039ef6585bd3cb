import type { ServerProcess, ServerProcessOptions } from '../simulators/server-process.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, type Requests, usualConnections } from './bench-case.ts'
import type { Generator } from './generator.ts'
import { measureCase } from './measure.ts'
import { measureStart } from './start.ts'
import { megabytes, renderTable } from './table.ts'

export type GrownStoreInput = {
  /** The folders of two stopped servers, and the program that serves them; default that of `npm start`. */
  readonly large: string
  readonly small: string
  readonly entry?: string
  readonly idleSeconds: number
  readonly generator: Generator
  readonly options: BenchOptions
  /** The requests to a server, by name. */
  requests(server: ServerProcess, folder: string): Promise<Readonly<Record<string, Requests>>>
}

/** Measures start, idle memory and requests of a store with many records, in turns with one that has few. */
export async function measureGrownStore({
  large,
  small,
  entry,
  idleSeconds,
  generator,
  options,
  requests,
}: GrownStoreInput): Promise<string> {
  const of = (folder: string): ServerProcessOptions => ({ folder, ...(entry !== undefined && { entry }) })
  const [largeStart, smallStart] = [
    await measureStart(of(large), idleSeconds),
    await measureStart(of(small), idleSeconds),
  ]
  await using many = await startServerProcess(of(large))
  await using few = await startServerProcess(of(small))
  const toMany = await requests(many, large)
  const toFew = await requests(few, small)
  const measured = []
  for (const [name, ours] of Object.entries(toMany)) {
    const theirs = toFew[name]
    if (theirs === undefined) continue
    measured.push(
      await measureCase(
        {
          name,
          connections: usualConnections,
          ours,
          against: { contender: 'empty', requests: theirs, name: 'few' },
        },
        { gatehouse: many, empty: few },
        generator,
        options,
      ),
    )
  }
  const start = ({ readyMs, cpuMs, idleRssBytes }: typeof largeStart) =>
    `ready after ${Math.round(readyMs)} ms with ${Math.round(cpuMs)} ms of CPU time, RSS after ${idleSeconds} s idle ${megabytes(idleRssBytes)} MB`
  return [`many: ${start(largeStart)}`, `few: ${start(smallStart)}`, renderTable(measured)].join('\n')
}
