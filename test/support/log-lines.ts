import type { Outcome } from './process.ts'

export type LogLine = {
  readonly level: string
  readonly event?: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** The lines of a JSON log. Throws on a line that is not JSON. */
export const logLines = ({ stderr }: Pick<Outcome, 'stderr'>): LogLine[] =>
  stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogLine)

/** The messages of this level. */
export const messagesOf = (outcome: Pick<Outcome, 'stderr'>, level: string): string[] =>
  logLines(outcome)
    .filter((line) => line.level === level)
    .map(({ msg }) => msg)

/** How a process ended, what it printed on standard output, and why, according to its log. */
export const endOf = (outcome: Outcome): { code: number | null; stdout: string; fatal: string[] } => ({
  code: outcome.code,
  stdout: outcome.stdout,
  fatal: messagesOf(outcome, 'fatal'),
})
