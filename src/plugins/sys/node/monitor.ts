import { PassThrough } from 'node:stream'
import { z } from 'zod'
import type { Token } from '../../../core/tokens/store/token.ts'
import type { TokenStore } from '../../../core/tokens/store/token-store.ts'
import { refuse } from '../../../errors.ts'
import { type Resource, resource } from '../../../http/resource/resource.ts'
import { boolField, stringField } from '../../../lib/text/fields.ts'
import { answers } from '../answers/answers.ts'
import { findLevel, type LogLevel } from './loggers.ts'

export type MonitorParts = {
  /** Calls `read` with each line of the log from this level on, until the returned function is called. */
  watchLog(level: LogLevel, read: (line: string) => void): () => void
  recentLines(level: LogLevel): readonly string[]
  readonly tokens: Pick<TokenStore, 'isStillValid'>
  readonly monitors: Monitors
}

const contentType = 'text/plain; charset=utf-8'
const maxMonitors = 16
/** Lines that a client does not take in time are dropped. */
const maxHeldBytes = 1 << 20
const checkMs = 5_000

export class Monitors {
  readonly #open = new Set<() => void>()

  get areTooMany(): boolean {
    return this.#open.size >= maxMonitors
  }

  add(end: () => void): () => void {
    this.#open.add(end)
    return () => void this.#open.delete(end)
  }

  endAll(): void {
    for (const end of this.#open) end()
  }
}

const input = z.object({
  log_level: stringField
    .default('info')
    .describe('Lowest level of the lines: trace, debug, info, warn or error'),
  log_format: stringField.default('standard').describe('`standard` or `json`'),
  recent: boolField.default(false).describe('The latest lines instead of those to come'),
})

/** `sys/monitor`: the log as it is written, until the client leaves. docs/contract/node.md#log-stream */
export const monitorResources = (parts: MonitorParts): Resource[] => [
  resource('/monitor', {
    help: 'The log of this server as it is written, until you hang up.',
    read: {
      summary: 'Follow the log',
      ...answers.logStream,
      input,
      handle: ({ call, caller, input: { log_level, log_format, recent } }) => {
        const level = findLevel(log_level)
        if (level === undefined) throw refuse('invalid', 'unknown log level')
        if (log_format !== 'standard' && log_format !== 'json') throw refuse('invalid', 'unknown log format')
        if (recent) {
          const lines = parts.recentLines(level)
          const body = (log_format === 'json' ? lines : lines.map(standardLine)).join('')
          return { raw: { status: 200, contentType, body } }
        }
        if (parts.monitors.areTooMany) throw refuse('throttled', 'too many clients follow the log')
        const stream = openStream(parts, { level, isJson: log_format === 'json', token: caller?.token })
        // it waits for lines, so it takes no place of a request
        const resume = call.setAside?.()
        stream.once('close', () => resume?.())
        return { raw: { status: 200, contentType, body: '', stream: { stream } } }
      },
    },
  }),
]

type Wanted = { readonly level: LogLevel; readonly isJson: boolean; readonly token: Token | undefined }

function openStream(
  { watchLog, tokens, monitors }: MonitorParts,
  { level, isJson, token }: Wanted,
): PassThrough {
  const stream = new PassThrough()
  const unwatch = watchLog(level, (line) => {
    if (stream.readableLength + stream.writableLength < maxHeldBytes)
      stream.write(isJson ? line : standardLine(line))
  })
  const forget = monitors.add(() => stream.end())
  const check = setInterval(() => {
    if (token === undefined) return
    tokens.isStillValid(token).then(
      (isValid) => void (isValid || stream.end()),
      () => stream.end(),
    )
  }, checkMs).unref()
  stream.once('close', () => {
    clearInterval(check)
    unwatch()
    forget()
  })
  return stream
}

/** `2026-03-01T09:30:00.000Z [INFO]  text: name=value`, as Vault's monitor shows lines. */
function standardLine(json: string): string {
  const { time, level, msg, ...fields } = z.record(z.string(), z.unknown()).parse(JSON.parse(json))
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${shownValue(value)}`)
  const mark = `[${String(level).toUpperCase()}]`.padEnd(7)
  return `${String(time)} ${mark} ${String(msg)}${shown.length === 0 ? '' : `: ${shown.join(' ')}`}\n`
}

const shownValue = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
