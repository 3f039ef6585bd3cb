import { hostname } from 'node:os'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { Config } from '../config/settings.ts'
import { within } from '../lib/concurrency/within.ts'
import type { LogLine } from '../lib/system/log-fields.ts'
import { LogLines } from './log-lines.ts'

/** Every line says in `event` what has happened. */
export type Log = Omit<Logger, Level> & Readonly<Record<Level, LogLine>>

type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal'

const maxBufferedBytes = 1 << 20

/**
 * Logs to standard error, one JSON object per line: `time` (RFC 3339), `level` (word), `event`, `msg`,
 * `replica`. Neither a slow reader nor a failed write (full disk, closed terminal) blocks the server; lines
 * are dropped instead. docs/monitoring.md#logs
 */
export async function openLog(
  config: Pick<Config, 'logFormat' | 'replicaName'> & Partial<Pick<Config, 'logLevel'>>,
): Promise<Log> {
  const destination = standardError()
  const level = config.logLevel ?? 'info'
  const shown = config.logFormat === 'text' ? await readable(destination) : destination
  const lines = new LogLines(shown, numberOf(level))
  const log = pino(
    {
      level,
      base: { replica: config.replicaName ?? hostname() },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: errorFields },
    },
    lines,
  )
  const opened: OpenLog = { destination, lines, configured: level, current: level, dropped: 0 }
  destination.on('drop', () => {
    opened.dropped += 1
  })
  openLogs.set(log, opened)
  return log
}

type Destination = ReturnType<typeof pino.destination>

type OpenLog = {
  readonly destination: Destination
  readonly lines: LogLines
  configured: string
  current: string
  dropped: number
}

const openLogs = new WeakMap<Log, OpenLog>()

const numberOf = (level: string): number => pino.levels.values[level] ?? Number.POSITIVE_INFINITY

export const relayLine = (log: Log, line: string): void =>
  void openLogs.get(log)?.destination.write(`${line}\n`)

/** How many lines of the log were dropped, because its reader was too slow. */
export const droppedLines = (log: Log): number => openLogs.get(log)?.dropped ?? 0

/** The level of the log: `set` changes it until a `reset` to that of the settings, `configure` for good. */
export function logLevelsOf(log: Log) {
  const opened = openLogs.get(log)
  const levels = opened ?? { configured: log.level, current: log.level }
  const set = (level: string) => {
    levels.current = level
    if (opened === undefined) return
    opened.lines.level = numberOf(level)
    log.level = lowestOf(opened)
  }
  return {
    get current() {
      return levels.current
    },
    set,
    reset: () => set(levels.configured),
    configure: (level: string) => {
      levels.configured = level
      set(level)
    },
  }
}

/** Follows a change of the settings. The level stays what a request has set it to if they have not changed. */
export function changeLogLevel(log: Log, level: string): void {
  if (level === openLogs.get(log)?.configured) return
  logLevelsOf(log).configure(level)
  log.info({ event: 'reloaded', log_level: level }, `the level of the log is now ${level}`)
}

/** Calls `read` with each JSON line from this level on, until the returned function is called. */
export function watchLog(log: Log, level: string, read: (line: string) => void): () => void {
  const opened = openLogs.get(log)
  if (opened === undefined) return () => {}
  const { lines } = opened
  const reader = { level: numberOf(level), read }
  const change = (work: () => void) => {
    work()
    log.level = lowestOf(opened)
  }
  change(() => lines.add(reader))
  return () => change(() => lines.remove(reader))
}

/** The latest JSON lines of the log from this level on. */
export const recentLines = (log: Log, level: string): string[] =>
  openLogs.get(log)?.lines.recent(numberOf(level)) ?? []

const lowestOf = ({ lines }: OpenLog): string => pino.levels.labels[lines.lowest] ?? 'silent'

/**
 * Closes the log. Resolves when the last line is written, or after `withinMs`; lines not written by then are
 * dropped. A write that a slow reader blocks still keeps the process alive.
 */
export async function closeLog(log: Log, withinMs: number): Promise<void> {
  const destination = openLogs.get(log)?.destination
  if (destination === undefined) return
  openLogs.delete(log)
  const written = new Promise((settle) => destination.once('close', settle))
  destination.end()
  await within(withinMs, written)
  log.level = 'silent'
  destination.destroy()
}

function standardError(): Destination {
  const destination = pino.destination({ fd: 2, sync: false, maxLength: maxBufferedBytes })
  // pino flushes after a fatal line, which would overtake a line that is still being written; `closeLog` writes
  // both in order
  destination.flushSync = () => {}
  // a failed write cannot be reported; its lines wait for the next write and must not delay the exit
  destination.once('error', () => process.once('beforeExit', () => destination.destroy()))
  return destination.on('error', () => {})
}

async function readable(destination: Destination): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty')
  const format = prettyFactory({
    colorize: process.stderr.isTTY,
    ignore: 'pid,hostname,replica,event,exit_code',
    translateTime: 'SYS:HH:MM:ss',
  })
  return { write: (line) => void destination.write(format(line)) }
}

/** Type, code and message of an error and its causes, with the stack unless it is a ServiceError. */
function errorFields(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause = error.cause === undefined ? {} : { cause: errorFields(error.cause) }
  const stack = error.name === 'ServiceError' ? {} : { stack: error.stack }
  return { type: error.name, ...code, message: error.message, ...cause, ...stack }
}
