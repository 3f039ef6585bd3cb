import { setImmediate as nextTurn } from 'node:timers/promises'
import { isJsonNumber } from '../../lib/text/json.ts'
import { type Hiding, shownValue } from './hashing.ts'

/** Texts hidden in one turn of the event loop: about two milliseconds. */
const textsPerTurn = 2_000
/** A device has 2 s for a line. */
const maxLength = 16 * 1024 * 1024

type Frame = {
  readonly entries: Iterator<readonly [string, unknown]>
  readonly end: string
  readonly isSecret: boolean
  isFirst: boolean
}

/**
 * The JSON text of data with hidden texts, such as a list of a hundred thousand names, made in many turns so
 * that other requests are served meanwhile. Longer data is omitted. docs/contract/audit.md#long-data
 */
export async function longDataText(data: object, { hide, isSecretIn }: Hiding): Promise<string> {
  const pieces: string[] = []
  const open: Frame[] = []
  let length = 0
  let texts = 0
  const write = (piece: string) => {
    pieces.push(piece)
    length += piece.length
  }
  const enter = (value: object, key: string, isSecret: boolean) => {
    write(Array.isArray(value) ? '[' : '{')
    open.push({ ...membersOf(value, key), isSecret, isFirst: true })
  }
  enter(data, '', false)
  for (let frame = open.at(-1); frame !== undefined; frame = open.at(-1)) {
    if (length > maxLength) return JSON.stringify({ omitted: `longer than ${maxLength} characters` })
    const next = frame.entries.next()
    if (next.done === true) {
      write(frame.end)
      open.pop()
      continue
    }
    const [key, value] = next.value
    if (value === undefined) continue
    write(`${frame.isFirst ? '' : ','}${frame.end === '}' ? `${JSON.stringify(key)}:` : ''}`)
    frame.isFirst = false
    const isSecret = frame.isSecret || (open.length === 1 && isSecretIn?.(key) === true)
    if (typeof value === 'object' && value !== null && !isJsonNumber(value)) {
      enter(value, key, isSecret)
      continue
    }
    write(JSON.stringify(shownValue(value, { key, isSecret }, hide)))
    texts += 1
    if (texts % textsPerTurn === 0) await nextTurn()
  }
  return pieces.join('')
}

/** The elements of a list count under the list's key. */
const membersOf = (value: object, key: string): Pick<Frame, 'entries' | 'end'> =>
  Array.isArray(value)
    ? { entries: value.values().map((element) => [key, element] as const), end: ']' }
    : { entries: Object.entries(value).values(), end: '}' }
