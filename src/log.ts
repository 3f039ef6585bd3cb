import { hostname } from 'node:os'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { Config } from './config.ts'

export type Log = Logger

const maxWaitingBytes = 1 << 20

/**
 * One JSON object a line on standard error: `time` (RFC 3339), `level` (word), `event`, `msg`, `replica`. A reader that does not keep up loses
 * lines, it never holds the server up; nor does a log that cannot be written, on a full disk or a closed terminal. Contract operations §6.
 */
export async function openLog(config: Pick<Config, 'logFormat' | 'replicaName'> & Partial<Pick<Config, 'logLevel'>>): Promise<Log> {
  return pino(
    {
      level: config.logLevel ?? 'info',
      base: { replica: config.replicaName ?? hostname() },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: errorFields },
    },
    config.logFormat === 'text' ? await readable() : standardError(),
  )
}

function standardError() {
  const destination = pino.destination({ fd: 2, sync: false, maxLength: maxWaitingBytes })
  // there is nowhere to tell it: lines wait for the next one, and do not hold up the end of the process
  destination.once('error', () => process.once('beforeExit', () => destination.destroy()))
  return destination.on('error', () => {})
}

async function readable(): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty')
  const format = prettyFactory({ colorize: process.stderr.isTTY, ignore: 'pid,hostname,replica,event,exit_code', translateTime: 'SYS:HH:MM:ss' })
  const destination = standardError()
  return { write: (line) => void destination.write(format(line)) }
}

/** Type, code and message of a failure, and of its causes; the stack only of what is no ServiceError. */
function errorFields(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause = error.cause === undefined ? {} : { cause: errorFields(error.cause) }
  const stack = error.name === 'ServiceError' ? {} : { stack: error.stack }
  return { type: error.name, ...code, message: error.message, ...cause, ...stack }
}
