import { isIP } from 'node:net'

/**
 * Whether a text is one e-mail address as Go reads it: `a@b.c`, `"a b"@b.c`, `A B <a@b.c>`, `a@b.c (A B)`
 * (https://pkg.go.dev/net/mail#ParseAddress).
 */
export function isEmail(text: string): boolean {
  const reader = new Reader(text)
  return reader.address(true) === 1 && reader.skipComments() && reader.isAtEnd
}

const blanks = /[ \t]*/y
/** With dots, and all that is not ASCII. */
const atom = /[^\x00- \x7f()<>[\]:;@\\,"]+/y
const quotedText = /"((?:[^\x00-\x08\x0a-\x1f\x7f"\\]|\\[^\x00-\x08\x0a-\x1f\x7f])*)"/y
const domainLiteral = /\[([^\x00- \x7f[\]\\%]*)\]/y

/** Each method reads what it is named after, or else nothing. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length
  }

  /** How many addresses are there, as a group may hold any number; undefined if none can be read. */
  address(mayBeGroup: boolean): number | undefined {
    this.#match(blanks)
    const begin = this.#at
    if (this.#plainAddress()) {
      this.#match(blanks)
      return this.#text[this.#at] !== '(' || this.#nameInComment() ? 1 : undefined
    }
    this.#at = begin
    if (this.#text[begin] !== '<' && !this.#phrase()) return undefined
    this.#match(blanks)
    if (mayBeGroup && this.#take(':')) return this.#group()
    return this.#take('<') && this.#plainAddress() && this.#take('>') ? 1 : undefined
  }

  /** Blanks and comments. Returns false for a comment without an end. */
  skipComments(): boolean {
    this.#match(blanks)
    while (this.#take('(')) {
      if (this.#comment() === undefined) return false
      this.#match(blanks)
    }
    return true
  }

  /** Behind the colon. */
  #group(): number | undefined {
    let count = 0
    this.#match(blanks)
    while (!this.#take(';')) {
      if (count > 0 && !this.#take(',')) return undefined
      const found = this.address(false)
      if (found === undefined || !this.skipComments()) return undefined
      count += found
    }
    return this.skipComments() ? count : undefined
  }

  #plainAddress(): boolean {
    this.#match(blanks)
    const local = this.#match(quotedText)?.[1] ?? this.#dottedAtom()
    if (local === undefined || local === '' || !this.#take('@')) return false
    this.#match(blanks)
    const literal = this.#match(domainLiteral)
    return literal === undefined ? this.#dottedAtom() !== undefined : isIP(literal[1] ?? '') !== 0
  }

  /** Only a phrase may have dots at its ends, or two in a row. */
  #dottedAtom(): string | undefined {
    const found = this.#match(atom)?.[0]
    return found === undefined || /^\.|\.\.|\.$/.test(found) ? undefined : found
  }

  /** The name before an address: words, and comments between them. */
  #phrase(): boolean {
    for (let words = 0; ; words++) {
      if (words > 0 && !this.skipComments()) return false
      this.#match(blanks)
      if (this.#match(quotedText) !== undefined) continue
      const word = this.#match(atom)?.[0]
      if (word === undefined || isOfUnknownCharset(word)) return words > 0
    }
  }

  /** A comment behind an address is the name. */
  #nameInComment(): boolean {
    this.#at++
    const comment = this.#comment()
    return comment !== undefined && !comment.split(/[ \t]+/).some(isOfUnknownCharset)
  }

  /** Behind its parenthesis. Comments may contain comments. */
  #comment(): string | undefined {
    const begin = this.#at
    for (let depth = 1; depth > 0; this.#at++) {
      if (this.isAtEnd) return undefined
      const char = this.#text[this.#at]
      if (char === '\\' && this.#at + 1 < this.#text.length) this.#at++
      else if (char === '(') depth++
      else if (char === ')') depth--
    }
    return this.#text.slice(begin, this.#at - 1)
  }

  #take(char: string): boolean {
    const isThere = this.#text[this.#at] === char
    if (isThere) this.#at++
    return isThere
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text) ?? undefined
    this.#at += found?.[0].length ?? 0
    return found
  }
}

/** An encoded word, `=?utf-8?q?a=20b?=` (RFC 2047), that can be decoded but not read. One that cannot be decoded is plain text. */
function isOfUnknownCharset(word: string): boolean {
  const [, charset, encoding, text = ''] = /^=\?([^?]+)\?([bq])\?([^?]*)\?=$/i.exec(word) ?? []
  if (charset === undefined || /^(?:utf-8|iso-8859-1|us-ascii)$/i.test(charset)) return false
  return encoding?.toLowerCase() === 'b'
    ? /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)
    : /^(?:[\t\n\r -<>-~]|=[0-9A-Fa-f]{2})*$/.test(text)
}
