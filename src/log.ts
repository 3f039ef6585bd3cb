import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { Config } from './config.ts'

export type Log = Logger

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
  const log = pino(
    {
      level: config.logLevel ?? 'info',
      base: { replica: config.replicaName ?? hostname() },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: errorFields },
    },
    config.logFormat === 'text' ? await readable(destination) : destination,
  )
  destinations.set(log, destination)
  return log
}

/** Writes a line of another process's log. */
export const relayLine = (log: Log, line: string): void => void destinations.get(log)?.write(`${line}\n`)

/** How many lines of the log were dropped, because its reader was too slow or writing failed. */
export const droppedLines = (log: Log): number => {
  const destination = destinations.get(log)
  return destination === undefined ? 0 : (dropped.get(destination) ?? 0)
}

const dropped = new WeakMap<Destination, number>()

/** The destinations of open logs. */
const destinations = new WeakMap<Log, Destination>()
type Destination = ReturnType<typeof pino.destination>

/**
 * Closes the log. Resolves when the last line is written, or after `withinMs`; lines not written by then are
 * dropped. A write that a slow reader blocks still keeps the process alive.
 */
export async function closeLog(log: Log, withinMs: number): Promise<void> {
  const destination = destinations.get(log)
  if (destination === undefined) return
  destinations.delete(log)
  const written = new Promise((settle) => destination.once('close', settle))
  destination.end()
  const limit = new AbortController()
  await Promise.race([written, pause(withinMs, undefined, { signal: limit.signal }).catch(() => undefined)])
  limit.abort()
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
  destination.on('drop', () => void dropped.set(destination, (dropped.get(destination) ?? 0) + 1))
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
