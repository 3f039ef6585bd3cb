import { SourceError } from './source-error.ts'
import { endOfInt, Uint, type Value } from './values.ts'

export type Token = {
  readonly at: number
  /** `name`, `literal`, `end`, or the symbol itself. */
  readonly kind: string
  readonly text: string
  readonly value?: Value
}

const symbols = /==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()[\]{}]/y
const blanks = /(?:[ \t\r\n\f]+|\/\/[^\n]*)+/y
const names = /[A-Za-z_][A-Za-z0-9_]*/y
const numbers = /(?:0[xX][0-9a-fA-F]+[uU]?|(?:\d+\.\d+|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?|\d+[uU]?)/y
const quotes = /([rR]?[bB]?|[bB][rR])("""|'''|"|')/y
const constants: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['true', true],
  ['false', false],
  ['null', null],
])

const mostUint = 2n ** 64n - 1n

/** The tokens of a program. Throws a `SourceError`. */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    return pattern.exec(source)
  }
  for (;;) {
    at += match(blanks)?.[0].length ?? 0
    if (at >= source.length) return [...tokens, { at: source.length, kind: 'end', text: '<EOF>' }]
    const quote = match(quotes)
    if (quote !== null) {
      const [opening, prefix = '', mark = ''] = quote
      const end = endOfText(source, at, { begin: at + opening.length, mark, isRaw: /r/i.test(prefix) })
      const inner = source.slice(at + opening.length, end)
      tokens.push({ at, kind: 'literal', text: inner, value: literalOf(inner, prefix, { source, at }) })
      at = end + mark.length
      continue
    }
    const number = match(numbers)?.[0]
    const name = number === undefined ? match(names)?.[0] : undefined
    const text = number ?? name ?? match(symbols)?.[0]
    if (text === undefined)
      throw new SourceError(
        source,
        at,
        `Syntax error: token recognition error at: '${source.slice(at, at + 1)}'`,
      )
    if (number !== undefined)
      tokens.push({ at, kind: 'literal', text, value: numberOf(text, { source, at }) })
    else if (name === undefined) tokens.push({ at, kind: text, text })
    else if (constants.has(text))
      tokens.push({ at, kind: 'literal', text, value: constants.get(text) ?? null })
    else tokens.push({ at, kind: text === 'in' ? 'in' : 'name', text })
    at += text.length
  }
}

type Place = { readonly source: string; readonly at: number }

/** `-` in front of a number is a part of it, because the least int has no positive counterpart. */
export function negative(token: Token): Value | undefined {
  const { value } = token
  return typeof value === 'number' || typeof value === 'bigint' ? -value : undefined
}

/** Whether a literal is the one number that is an int only behind a `-`. */
export const isEndOfInt = ({ value }: Token): boolean => value === endOfInt

function numberOf(text: string, { source, at }: Place): Value {
  if (/^(?:0x[0-9a-f]+|\d+)u?$/i.test(text)) {
    const isUnsigned = /u$/i.test(text)
    const value = BigInt(isUnsigned ? text.slice(0, -1) : text)
    if (isUnsigned && value <= mostUint) return new Uint(value)
    if (!isUnsigned && value <= endOfInt) return value
    throw new SourceError(source, at, `Syntax error: invalid ${isUnsigned ? 'uint' : 'int'} literal`)
  }
  const value = Number(text)
  if (Number.isFinite(value)) return value
  throw new SourceError(source, at, 'Syntax error: invalid double literal')
}

type Opened = { readonly begin: number; readonly mark: string; readonly isRaw: boolean }

function endOfText(source: string, at: number, { begin, mark, isRaw }: Opened): number {
  for (let end = begin; end < source.length; end++) {
    if (source.startsWith(mark, end)) return end
    const char = source[end]
    if (char === '\\' && !isRaw) end++
    else if (mark.length === 1 && (char === '\n' || char === '\r')) break
  }
  throw new SourceError(
    source,
    at,
    `Syntax error: token recognition error at: '${source.slice(at, at + 20)}'`,
  )
}

const escapes =
  /\\(?:([abfnrtv\\"'`?])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|)/g
const letters: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

function literalOf(inner: string, prefix: string, place: Place): Value {
  const isBytes = /b/i.test(prefix)
  if (/r/i.test(prefix)) return isBytes ? Buffer.from(inner) : inner
  // each byte of UTF-8 as a character, until escapes, which are ASCII, have become bytes too
  const written = isBytes ? Buffer.from(inner).toString('latin1') : inner
  const text = written.replace(escapes, (_all, letter, hex, short, long, octal) => {
    if (letter !== undefined) return letters[letter] ?? letter
    const code = Number.parseInt(hex ?? short ?? long ?? octal ?? 'x', octal === undefined ? 16 : 8)
    const isCharacter = hex === undefined && octal === undefined
    if (isBytes ? isCharacter : !(code <= 0x10ffff) || (code >= 0xd800 && code < 0xe000))
      throw new SourceError(place.source, place.at, 'Syntax error: invalid escape sequence')
    return String.fromCodePoint(code)
  })
  return isBytes ? Buffer.from(text, 'latin1') : text
}
