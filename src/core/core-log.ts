type LogLine = (fields: object, text: string) => void

/** The log, as the core uses it. */
export type CoreLog = {
  readonly debug: LogLine
  readonly info: LogLine
  readonly warn: LogLine
  readonly error: LogLine
}
