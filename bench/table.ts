import type { MeasuredCase } from './measure.ts'

const headings = [
  'workload',
  'conns',
  'req/s',
  'p50 ms',
  'p99 ms',
  'CPU µs/req',
  'RSS MB',
  'against',
  'req/s',
  'p99 ms',
  'CPU µs/req',
  'ratio',
  'aim',
]

/** One line per case, ours on the left, the opponent on the right. */
export function renderTable(measured: readonly MeasuredCase[]): string {
  const rows = [headings, ...measured.map(row)]
  const widths = headings.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join('  ')
  return rows.map(line).join('\n')
}

function row({ case: one, ours, theirs }: MeasuredCase): string[] {
  return [
    one.name,
    String(one.connections),
    whole(ours.perSecond),
    ours.p50Ms.toFixed(2),
    ours.p99Ms.toFixed(2),
    whole(ours.cpuMicrosPerRequest),
    megabytes(ours.rssBytes),
    one.against.name ?? one.against.contender,
    whole(theirs.perSecond),
    theirs.p99Ms.toFixed(2),
    whole(theirs.cpuMicrosPerRequest),
    (ours.perSecond / theirs.perSecond).toFixed(2),
    aims({ case: one, ours, theirs }),
  ]
}

function aims({ case: { aim, aimP99Ms, aimP99Ratio }, ours, theirs }: MeasuredCase): string {
  const parts: string[] = []
  if (aim !== undefined) parts.push(verdict(ours.perSecond / theirs.perSecond >= aim, `≥ ${aim.toFixed(2)}`))
  if (aimP99Ms !== undefined) parts.push(verdict(ours.p99Ms <= aimP99Ms, `p99 ≤ ${aimP99Ms} ms`))
  if (aimP99Ratio !== undefined) {
    const ratio = ours.p99Ms / theirs.p99Ms
    parts.push(`p99 × ${ratio.toFixed(2)} (${verdict(ratio <= aimP99Ratio, `≤ ${aimP99Ratio}`)})`)
  }
  return parts.join(', ')
}

/** In a text that states an aim which was not met. */
export const missed = 'MISSED'

/** The aim, and whether it was met. */
export const verdict = (met: boolean, aim: string) => `${aim} ${met ? 'met' : missed}`

const whole = (value: number | undefined) =>
  value === undefined ? '–' : Math.round(value).toLocaleString('en')

/** Bytes as whole MB of 1,000,000. */
export const megabytes = (bytes: number | undefined) => (bytes === undefined ? '–' : whole(bytes / 1e6))

const textColumns = new Set([0, 7, 12])
const pad = (cell: string, width: number, column: number) =>
  textColumns.has(column) ? cell.padEnd(width) : cell.padStart(width)
