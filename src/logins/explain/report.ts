import type { z } from 'zod'
import { quoted } from '../../lib/text/go-text.ts'
import { isJsonNumber, type JsonValue, numberText } from '../../lib/text/json.ts'
import { adviceFor, hintText } from './advice.ts'
import type { explanation } from './explain-answers.ts'
import type { ExplainedCheck } from './explained.ts'

/** The parts of an explanation that a report shows. */
export type ReportedLogin = Readonly<Omit<z.output<typeof explanation>, 'checks' | 'login' | 'report'>> & {
  readonly checks: readonly ExplainedCheck[]
}

const column = 14
const indent = ' '.repeat(6 + column)
/** Most values of one check in a report; the checks themselves have all. */
const maxValues = 6

/**
 * The explanation for people, in about twenty lines. Values from outside are quoted, so that they can neither
 * end a line nor control the terminal.
 */
export function reportOf(login: ReportedLogin, mountPath: string): string {
  const first = login.checks.find(({ verdict }) => verdict === 'fail')
  const lines = [
    `${mountPath}: the login${login.role === '' ? '' : ` of role ${quoted(login.role)}`} is ${login.allowed ? 'allowed' : `refused: ${login.reason} (${login.status})`}`,
    ...(login.error === '' ? [] : [`error         ${plain(login.error)}`]),
    ...(login.cause === '' || login.cause === login.error ? [] : [`cause         ${plain(login.cause)}`]),
    ...(login.request_id === undefined
      ? []
      : [
          `request       ${plain(login.request_id)} at ${login.time ?? ''} to ${login.path ?? ''} from ${plain(login.remote_address ?? '')}`,
        ]),
    ...clockLines(login.clock),
    '',
    ...checkLines(login.checks),
    ...(first === undefined ? [] : ['', `What to do: ${adviceFor(login.reason, login.cause)}`]),
  ]
  return `${lines.join('\n')}\n`
}

/** An estimate is shown only if the clock must be ahead, because tokens may be older than they look. */
function clockLines(clock: ReportedLogin['clock']): string[] {
  if (clock === null || clock.offset_seconds === 0 || (clock.estimated && clock.offset_seconds < 0)) return []
  const whose = clock.source === '' ? 'the issuer' : plain(clock.source)
  return [`clock         ${whose} is ${clock.estimated ? 'at least ' : ''}${clockText(clock.offset_seconds)}`]
}

const clockText = (seconds: number): string =>
  `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} this server`

/** One line per check, with details for those that refused; checks that were not reached share one line. */
function checkLines(checks: readonly ExplainedCheck[]): string[] {
  const isNotReached = ({ name, verdict }: ExplainedCheck) => verdict === 'skipped' && name !== 'userinfo'
  const skipped = checks.filter(isNotReached).map(({ name }) => name)
  const told = checks.filter((check) => !isNotReached(check)).flatMap(linesOf)
  return [...told, ...(skipped.length === 0 ? [] : [`skip  ${[...new Set(skipped)].join(', ')}`])]
}

function linesOf({ name, verdict, expected, seen, reason, hint, detail }: ExplainedCheck): string[] {
  const of = detail === '' ? '' : ` ${plain(detail)}`
  if (verdict === 'pass')
    return [
      `ok    ${`${name}${of}`.padEnd(column)}${seen === null ? '' : ` ${valuesText(asList(seen))}`}`.trimEnd(),
    ]
  if (verdict === 'skipped') return [`skip  ${name.padEnd(column)} ${valuesText(asList(seen))}`]
  return [
    `FAIL  ${name}: ${reason}${detail === '' ? '' : ` (${plain(detail)})`}`,
    `${indent} expected  ${expected.length === 0 ? '-' : valuesText(expected)}`,
    `${indent} seen      ${seen === null ? '-' : valuesText(asList(seen))}`,
    ...(hint === '' ? [] : [`${indent} hint      ${hintText(hint)}`]),
  ]
}

const asList = (value: JsonValue): readonly JsonValue[] => (Array.isArray(value) ? value : [value])

function valuesText(values: readonly JsonValue[]): string {
  const shown = values.slice(0, maxValues).map(valueText).join(', ')
  return values.length > maxValues ? `${shown}, and ${values.length - maxValues} more` : shown
}

function valueText(value: JsonValue): string {
  if (typeof value === 'string') return quoted(value, 1024)
  return isJsonNumber(value) ? numberText(value) : plain(JSON.stringify(value))
}

/** Without quotes, but also without anything that a line or a terminal would interpret. */
const plain = (text: string): string =>
  quoted(text, 2048)
    .slice(1, -1)
    .replaceAll(/\\(["\\])/g, '$1')

/** Whether the caller prefers plain text to JSON; without a preference it is JSON. RFC 9110 §12.5.1. */
export function wantsText(accept: string | undefined): boolean {
  if (accept === undefined || accept.length > 1024) return false
  const weight = (wanted: string): number => {
    const range = accept.split(',').find((part) => part.split(';', 1)[0]?.trim().toLowerCase() === wanted)
    if (range === undefined) return 0
    const q = /;\s*q=([01](?:\.\d{0,3})?)/i.exec(range)?.[1]
    return q === undefined ? 1 : Number(q)
  }
  return weight('text/plain') > weight('application/json')
}
