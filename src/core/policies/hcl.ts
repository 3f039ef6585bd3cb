import {
  maxNesting,
  type ObjectNode,
  type Position,
  type SyntaxEntry,
  type SyntaxKey,
  type SyntaxNode,
  syntaxFault,
} from './policy-syntax.ts'

type TokenKind = 'identifier' | 'text' | 'number' | '=' | '{' | '}' | '[' | ']' | ',' | 'end'
type Token = Position & { readonly kind: TokenKind; readonly text: string }

/**
 * Parses the subset of HCL (version 1) that policies use, in one pass and linear time.
 * docs/contract/tokens-and-policies.md#policies
 */
export function parseHcl(text: string): ObjectNode {
  return new HclParser(new HclScanner(text)).document()
}

class HclParser {
  readonly #scanner: HclScanner
  #next: Token
  #depth = 0

  constructor(scanner: HclScanner) {
    this.#scanner = scanner
    this.#next = scanner.token()
  }

  document(): ObjectNode {
    return { kind: 'object', entries: this.#entries('end'), line: 1, column: 1 }
  }

  #take(): Token {
    const token = this.#next
    this.#next = this.#scanner.token()
    return token
  }

  #entries(closing: 'end' | '}'): SyntaxEntry[] {
    const entries: SyntaxEntry[] = []
    while (this.#next.kind !== closing) {
      entries.push(this.#entry())
      if (this.#next.kind === ',') this.#take()
    }
    return entries
  }

  #entry(): SyntaxEntry {
    if (this.#next.kind === 'end') throw syntaxFault(this.#next, 'object expected closing RBRACE got: EOF')
    const keys: [SyntaxKey, ...SyntaxKey[]] = [this.#key()]
    while (this.#next.kind === 'identifier' || this.#next.kind === 'text') keys.push(this.#key())
    if (this.#next.kind === '{') return { keys, value: this.#value() }
    const sign = this.#take()
    if (sign.kind !== '=')
      throw syntaxFault(sign, `a key must be followed by '{' or '=', got: ${shown(sign)}`)
    if (keys.length > 1) throw syntaxFault(sign, `a labelled block needs '{', got: '='`)
    return { keys, value: this.#value() }
  }

  #key(): SyntaxKey {
    const token = this.#take()
    if (token.kind !== 'identifier' && token.kind !== 'text')
      throw syntaxFault(token, `expected a key, got: ${shown(token)}`)
    return token
  }

  #value(): SyntaxNode {
    const token = this.#take()
    const { line, column } = token
    switch (token.kind) {
      case 'text':
      case 'number':
        return { kind: token.kind, value: token.text, line, column }
      case '{':
        return this.#nested(token, () => {
          const entries = this.#entries('}')
          this.#take()
          return { kind: 'object', entries, line, column }
        })
      case '[':
        return this.#nested(token, () => ({ kind: 'list', items: this.#items(), line, column }))
      case 'identifier':
        if (token.text === 'true' || token.text === 'false')
          return { kind: 'bool', value: token.text === 'true', line, column }
    }
    throw syntaxFault(token, `expected a value, got: ${shown(token)}`)
  }

  #items(): SyntaxNode[] {
    const items: SyntaxNode[] = []
    while (this.#next.kind !== ']') {
      items.push(this.#value())
      const after: Token = this.#next
      if (after.kind === ']') break
      if (after.kind !== ',')
        throw syntaxFault(after, `error parsing list, expected comma or list end, got: ${shown(after)}`)
      this.#take()
    }
    this.#take()
    return items
  }

  #nested(at: Position, read: () => SyntaxNode): SyntaxNode {
    if (this.#depth === maxNesting) throw syntaxFault(at, `nested more than ${maxNesting} levels deep`)
    this.#depth++
    const node = read()
    this.#depth--
    return node
  }
}

const shown = (token: Token): string => (token.kind === 'end' ? 'EOF' : `'${token.kind}'`)

const isLetter = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
const isWordPart = (code: number): boolean =>
  isLetter(code) || isDigit(code) || code === 0x2d || code === 0x2e

const newline = 0x0a
const signs = '={}[],'
const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
  '"': '"',
  '\\': '\\',
}

class HclScanner {
  readonly #text: string
  #at = 0
  #line = 1
  #lineStart = 0

  constructor(text: string) {
    this.#text = text
  }

  token(): Token {
    this.#skipBlanksAndComments()
    const at = this.#position()
    const code = this.#text.charCodeAt(this.#at)
    if (Number.isNaN(code)) return { ...at, kind: 'end', text: '' }
    if (isLetter(code)) return { ...at, kind: 'identifier', text: this.#word() }
    if (isDigit(code) || code === 0x2d) return { ...at, kind: 'number', text: this.#number() }
    const character = this.#text.charAt(this.#at)
    if (character === '"') return { ...at, kind: 'text', text: this.#string() }
    if (this.#text.startsWith('<<', this.#at)) return { ...at, kind: 'text', text: this.#heredoc() }
    if (!isSign(character)) throw syntaxFault(at, 'illegal char')
    this.#at++
    return { ...at, kind: character, text: character }
  }

  #position(): Position {
    return { line: this.#line, column: this.#at - this.#lineStart + 1 }
  }

  /** Must be called once for each line break, with the offset after it. */
  #startLine(at: number): void {
    this.#line++
    this.#lineStart = at
  }

  #skipBlanksAndComments(): void {
    const text = this.#text
    for (;;) {
      const code = text.charCodeAt(this.#at)
      if (code === newline) this.#startLine(++this.#at)
      else if (code === 0x20 || code === 0x09 || code === 0x0d) this.#at++
      else if (code === 0x23 || text.startsWith('//', this.#at)) this.#skipTo('\n', 0)
      else if (text.startsWith('/*', this.#at)) this.#skipComment()
      else return
    }
  }

  #skipTo(end: string, extra: number): void {
    const at = this.#text.indexOf(end, this.#at)
    this.#at = at === -1 ? this.#text.length : at + extra
  }

  #skipComment(): void {
    const end = this.#text.indexOf('*/', this.#at + 2)
    if (end === -1) throw syntaxFault(this.#position(), 'comment not terminated')
    for (; this.#at < end + 2; this.#at++)
      if (this.#text.charCodeAt(this.#at) === newline) this.#startLine(this.#at + 1)
  }

  #word(): string {
    const start = this.#at
    while (isWordPart(this.#text.charCodeAt(this.#at))) this.#at++
    return this.#text.slice(start, this.#at)
  }

  /** A JSON number, except that leading zeros are allowed. */
  #number(): string {
    const at = this.#position()
    const negative = this.#text.charAt(this.#at) === '-'
    if (negative) this.#at++
    const whole = this.#digits(at).replace(/^0+(?=\d)/, '')
    let rest = ''
    if (this.#text.charAt(this.#at) === '.') {
      this.#at++
      rest = `.${this.#digits(at)}`
    }
    const exponent = this.#text.charAt(this.#at)
    if (exponent === 'e' || exponent === 'E') {
      this.#at++
      const sign = this.#text.charAt(this.#at)
      const isSigned = sign === '+' || sign === '-'
      if (isSigned) this.#at++
      rest += `e${isSigned ? sign : ''}${this.#digits(at)}`
    }
    return `${negative ? '-' : ''}${whole}${rest}`
  }

  #digits(at: Position): string {
    const start = this.#at
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at++
    if (start === this.#at) throw syntaxFault(at, 'not a number')
    return this.#text.slice(start, this.#at)
  }

  /** Inside `${ … }`, quotes, line breaks and escapes are ordinary text. */
  #string(): string {
    let value = ''
    let braces = 0
    let plainFrom = ++this.#at
    for (; ; this.#at++) {
      const character = this.#text.charAt(this.#at)
      if (character === '' || (character === '\n' && braces === 0))
        throw syntaxFault(this.#position(), 'literal not terminated')
      if (character === '\n') this.#startLine(this.#at + 1)
      else if (character === '"' && braces === 0) break
      else if (character === '\\') {
        if (braces > 0) this.#at++
        else {
          value += this.#text.slice(plainFrom, this.#at) + this.#escape()
          plainFrom = this.#at + 1
        }
      } else if (
        character === '{' &&
        (braces > 0 || (this.#text.charAt(this.#at - 1) === '$' && this.#at > plainFrom))
      )
        braces++
      else if (character === '}' && braces > 0) braces--
    }
    value += this.#text.slice(plainFrom, this.#at)
    this.#at++
    return value
  }

  /** Reads an escape and stops at its last character. */
  #escape(): string {
    const at = this.#position()
    const letter = this.#text.charAt(++this.#at)
    const plain = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined
    if (plain !== undefined) return plain
    const length = letter === 'u' ? 4 : letter === 'U' ? 8 : 0
    const digits = this.#text.slice(this.#at + 1, this.#at + 1 + length)
    const codePoint =
      length > 0 && /^[0-9A-Fa-f]+$/.test(digits) && digits.length === length
        ? Number.parseInt(digits, 16)
        : Number.NaN
    if (!(codePoint <= 0x10ffff)) throw syntaxFault(at, 'illegal char escape')
    this.#at += length
    return String.fromCodePoint(codePoint).toWellFormed()
  }

  /**
   * `<<EOF` keeps the lines as they are; `<<-EOF` strips the indentation of the closing line if every line
   * has it.
   */
  #heredoc(): string {
    const at = this.#position()
    this.#at += 2
    const isIndented = this.#text.charAt(this.#at) === '-'
    if (isIndented) this.#at++
    const anchor = this.#word()
    if (this.#text.charAt(this.#at) === '\r') this.#at++
    if (anchor === '' || this.#text.charCodeAt(this.#at) !== newline)
      throw syntaxFault(at, 'a heredoc needs a word at the end of its first line')
    const lines: string[] = []
    for (;;) {
      const start = this.#at + 1
      this.#startLine(start)
      const end = this.#text.indexOf('\n', start)
      const line = this.#text.slice(start, end === -1 ? undefined : end)
      this.#at = end
      if (line.trim() === anchor) {
        this.#at = end === -1 ? this.#text.length : end
        return heredocText(lines, isIndented ? line.slice(0, line.indexOf(anchor)) : '')
      }
      if (end === -1) throw syntaxFault(at, 'heredoc not terminated')
      lines.push(line)
    }
  }
}

function heredocText(lines: readonly string[], indent: string): string {
  const cut = lines.every((line) => line.startsWith(indent)) ? indent.length : 0
  return lines.map((line) => `${line.slice(cut)}\n`).join('')
}

const isSign = (character: string): character is '=' | '{' | '}' | '[' | ']' | ',' =>
  character !== '' && signs.includes(character)
