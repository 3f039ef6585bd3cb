import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { MeasuredCase } from './measure.ts'
import { verdict } from './table.ts'

/** Ratios of the rates to those of the floor program, the bare route or another server, by workload and connections. */
type Expected = Readonly<Record<string, number>>

const file = join(import.meta.dirname, 'expected.json')
const tolerance = 0.2

/** Compares what was measured with what was recorded before: one line for each workload that has a record. */
export async function checkRatios(measured: readonly MeasuredCase[]): Promise<string> {
  const expected = await readExpected()
  const lines = measured.flatMap((one) => {
    const before = expected[nameOf(one)]
    if (before === undefined) return []
    const least = before * (1 - tolerance)
    return `${nameOf(one)}: ratio ${ratioOf(one).toFixed(2)}, recorded ${before.toFixed(2)} (${verdict(ratioOf(one) >= least, `≥ ${least.toFixed(2)}`)})`
  })
  if (lines.length === 0) throw new Error('expected.json has none of these workloads')
  return lines.join('\n')
}

/** Records the ratios of these workloads; those of others stay. */
export async function recordRatios(measured: readonly MeasuredCase[]): Promise<void> {
  const fresh = measured.map((one) => [nameOf(one), Number(ratioOf(one).toFixed(2))] as const)
  const all = { ...(await readExpected()), ...Object.fromEntries(fresh) }
  await writeFile(file, `${JSON.stringify(all, null, 2)}\n`)
}

const nameOf = ({ case: { name, connections, against } }: MeasuredCase): string =>
  `${name}, ${connections} connections${against.contender === 'other' ? ', beside another server' : ''}`

const ratioOf = ({ ours, theirs }: MeasuredCase): number => ours.perSecond / theirs.perSecond

async function readExpected(): Promise<Expected> {
  return JSON.parse(await readFile(file, 'utf8')) as Expected
}
