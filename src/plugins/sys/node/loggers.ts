import { z } from 'zod'
import { refuse } from '../../../errors.ts'
import { type Resource, resource } from '../../../http/resource/resource.ts'
import { stringField } from '../../../lib/text/fields.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { answers } from '../answers/answers.ts'

/** The levels of the log, from the most to the least detailed. */
const levels = ['trace', 'debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof levels)[number]

export type LoggerParts = {
  readonly logLevels: { readonly current: string; set(level: LogLevel): void; reset(): void }
}

const loggerName = 'core'
const input = z.object({
  level: stringField
    .default('')
    .describe(`One of ${levels.join(', ')}`)
    .meta({ examples: levels }),
})

/** `sys/loggers`. docs/contract/node.md#log-levels */
export function loggerResources({ logLevels }: LoggerParts): Resource[] {
  const read = () => ({ data: { [loggerName]: logLevels.current } })
  return [
    resource('/loggers', {
      help: 'How much this server logs, until it is restarted.',
      read: { summary: 'Read the log level', ...answers.loggers, handle: read },
      write: {
        summary: 'Set the log level',
        input,
        required: ['level'],
        handle: ({ input: { level } }) => {
          logLevels.set(levelOf(level))
          return undefined
        },
      },
      delete: { summary: 'Return to the log level of the settings', handle: () => void logLevels.reset() },
    }),
    resource('/loggers/:name', {
      help: 'How much one logger logs; the only one is `core`.',
      read: {
        summary: 'Read the level of a logger',
        ...answers.loggers,
        handle: ({ params }) => known(params.name, read),
      },
      write: {
        summary: 'Set the level of a logger',
        input,
        required: ['level'],
        handle: ({ params, input: { level } }) => {
          const wanted = levelOf(level)
          known(params.name, () => logLevels.set(wanted))
          return undefined
        },
      },
      delete: {
        summary: 'Return a logger to the level of the settings',
        handle: ({ params }) => void known(params.name, () => logLevels.reset()),
      },
    }),
  ]
}

function known<T>(name: string, work: () => T): T {
  if (name !== loggerName) throw refuse('invalid', `logger ${quoted(name)} not found`)
  return work()
}

const spellings: Readonly<Record<string, LogLevel>> = {
  trace: 'trace',
  debug: 'debug',
  info: 'info',
  notice: 'info',
  '': 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  err: 'error',
}

function levelOf(written: string): LogLevel {
  if (written === '') throw refuse('invalid', 'level is required')
  const level = findLevel(written)
  if (level === undefined) throw refuse('invalid', `invalid level provided: unknown log level: ${written}`)
  return level
}

export const findLevel = (written: string): LogLevel | undefined => {
  const name = written.trim().toLowerCase()
  return Object.hasOwn(spellings, name) ? spellings[name] : undefined
}
