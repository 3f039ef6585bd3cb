import type { LogLine } from '../lib/system/log-fields.ts'

/** The part of the log that the core uses. */
export type CoreLog = {
  readonly debug: LogLine
  readonly info: LogLine
  readonly warn: LogLine
  readonly error: LogLine
}
