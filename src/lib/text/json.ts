import { Buffer } from 'node:buffer'

declare global {
  interface JSON {
    rawJSON(text: string): JsonNumber
    isRawJSON(value: unknown): value is JsonNumber
  }
}

/** A number as written: `1e3` stays `1e3`, also through `JSON.stringify`. */
export type JsonNumber = { readonly rawJSON: string }

/** Objects have no prototype, so `__proto__` and `constructor` are ordinary keys. */
export type JsonObject = { [key: string]: JsonValue }

export type JsonValue = null | boolean | string | JsonNumber | JsonValue[] | JsonObject

/** Limits on an untrusted document; 0 or less disables a limit. docs/contract/http.md#bodies */
export type JsonLimits = {
  /** Keys plus string values. */
  maxStrings: number
  /** Values of every kind: strings, numbers, literals, lists and objects, but not keys. */
  maxValues?: number
  /** Estimated decoded size: `bytesPerValue` for each key and value, plus its text. */
  maxMemory: number
  maxDepth: number
}

/** The document is not JSON or exceeds a limit. docs/contract/http.md#bodies has the texts. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError'
  /** True if the document exceeds a limit but was well-formed so far. */
  readonly tooComplex: boolean

  constructor(message: string, tooComplex = false) {
    super(message)
    this.tooComplex = tooComplex
  }
}

export const isJsonNumber = (value: unknown): value is JsonNumber => JSON.isRawJSON(value)

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isJsonNumber(value)

export const numberText = (value: JsonNumber): string => value.rawJSON

/** Texts without such a piece have no number beyond a double. */
const mayOverflow = /[eE]\+?\d\d|\d{309}/

/** Like `JSON.parse`, for the answers of other services. A number beyond a double is a `SyntaxError` as well. */
export const parseFinite = (text: string): unknown =>
  mayOverflow.test(text) ? JSON.parse(text, refuseInfinite) : JSON.parse(text)

function refuseInfinite(_name: string, value: unknown): unknown {
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    throw new SyntaxError('a number is beyond a double')
  return value
}

/** The value of a text, as `JSON.parse` has it; undefined if it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A number from its literal text; throws if the text is not a JSON number. */
export function jsonNumber(text: string): JsonNumber {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text))
    throw new JsonSyntaxError('not a JSON number')
  return JSON.rawJSON(text)
}

/**
 * Parses the first JSON value of an untrusted document. Anything after it must be well-formed JSON too and is ignored;
 * with `isAlone`, it is refused, and with `isUnique` a member that an object has twice. One pass without recursion takes time that is linear in the length. Throws only
 * `JsonSyntaxError`. docs/contract/http.md#bodies
 */
export function parseJson(
  bytes: Uint8Array,
  limits: JsonLimits,
  { isAlone = false, isUnique = false } = {},
): JsonValue {
  // a limit on values stops the parser early enough
  const isCounted = limits.maxMemory > 0 && !limits.maxValues && bytes.length > countedFrom
  if (isCounted && minimumSize(bytes) > limits.maxMemory) throw estimateExceeded()
  const reader = new JsonReader(bytes, limits, { isBounded: true, isUnique })
  const value = reader.value()
  if (isAlone && !reader.atEnd()) throw reader.unexpected('after top-level value')
  while (!reader.atEnd()) reader.value()
  return value
}

const estimateExceeded = () => new JsonSyntaxError('exceeded maximum estimated memory limits', true)

/** Documents longer than this are counted before they are parsed. */
const countedFrom = 64 * 1024

/**
 * A lower bound for the values of a document: each comma and colon outside strings precedes a key or value.
 */
function minimumSize(bytes: Uint8Array): number {
  let entries = 0
  let inText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) inText = !inText
    else if (inText) at += byte === backslash ? 1 : 0
    else if (byte === comma || byte === colon) entries++
  }
  return entries * bytesPerValue
}

/** Parses one JSON value without limits, for our own records. Numbers keep their text. */
export function parseLossless(text: string): JsonValue {
  const reader = new JsonReader(Buffer.from(text), { maxStrings: 0, maxMemory: 0, maxDepth: 0 })
  const value = reader.value()
  if (!reader.atEnd()) throw reader.unexpected('after top-level value')
  return value
}

/**
 * `JSON.stringify` for decoded JSON of any depth. A body may have 10,000 levels; `JSON.stringify` fails at
 * about 4,000.
 */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) return stringifyDeep(value)
    throw error
  }
}

function stringifyDeep(document: unknown): string {
  const pieces: string[] = []
  const work: ({ text: string } | { value: unknown })[] = [{ value: document }]
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    if ('text' in next) {
      pieces.push(next.text)
    } else if (typeof next.value !== 'object' || next.value === null || isJsonNumber(next.value)) {
      pieces.push(JSON.stringify(next.value))
    } else {
      // push in reverse: the stack writes the last one first
      const isList = Array.isArray(next.value)
      const entries = Object.entries(next.value).filter(([, value]) => value !== undefined)
      work.push({ text: isList ? ']' : '}' })
      for (const [index, [key, value]] of [...entries.entries()].reverse()) {
        work.push({ value }, { text: `${index > 0 ? ',' : ''}${isList ? '' : `${JSON.stringify(key)}:`}` })
      }
      work.push({ text: isList ? '[' : '{' })
    }
  }
  return pieces.join('')
}

const bytesPerValue = 48

const quote = 0x22
const comma = 0x2c
const minus = 0x2d
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
/** By the letter after the backslash. */
const isShortEscape = new Uint8Array(256)
for (const letter of Buffer.from('"\\/bfnrt')) isShortEscape[letter] = 1
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

const isHexDigit = (byte: number | undefined): boolean =>
  isDigit(byte) || (byte !== undefined && ((byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)))

/** V8 copies a slice of fewer characters, so the slice does not keep the whole text in memory. */
const copiedBelow = 13
/** A longer document is not copied: its numbers are decoded one by one. */
const decodedBelow = 1024 * 1024

/** Works on bytes and copies each text, so a short value never keeps a long document in memory. */
class JsonReader {
  readonly #bytes: Buffer
  /** The document as Latin-1, made for its first number: a slice costs a fraction of decoding a few bytes. */
  #latin1: string | undefined
  readonly #limits: JsonLimits
  #at = 0
  readonly #maxValues: number
  /** Whether numbers that a double cannot hold are refused: readers that calculate would take them for infinite. */
  readonly #isBounded: boolean
  readonly #isUnique: boolean
  #values = 0
  #strings = 0
  #memory = 0

  constructor(bytes: Uint8Array, limits: JsonLimits, { isBounded = false, isUnique = false } = {}) {
    this.#bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#limits = limits
    this.#isBounded = isBounded
    this.#isUnique = isUnique
    this.#maxValues = limits.maxValues || Number.POSITIVE_INFINITY
  }

  atEnd(): boolean {
    this.#skipBlanks()
    return this.#at >= this.#bytes.length
  }

  unexpected(where: string): JsonSyntaxError {
    const byte = this.#bytes[this.#at]
    return new JsonSyntaxError(
      byte === undefined ? 'unexpected EOF' : `invalid character ${quoteByte(byte)} ${where}`,
    )
  }

  value(): JsonValue {
    const open: (JsonValue[] | JsonObject)[] = []
    const keys: string[] = []
    for (;;) {
      this.#skipBlanks()
      let value: JsonValue
      const byte = this.#bytes[this.#at]
      if (byte === openBrace || byte === openBracket) {
        this.#count(0)
        if (this.#limits.maxDepth > 0 && open.length >= this.#limits.maxDepth)
          throw new JsonSyntaxError('exceeded max depth')
        this.#countValue()
        this.#at++
        const container: JsonValue[] | JsonObject = byte === openBracket ? [] : Object.create(null)
        this.#skipBlanks()
        if (this.#bytes[this.#at] === (byte === openBracket ? closeBracket : closeBrace)) {
          this.#at++
          value = container
        } else {
          open.push(container)
          keys.push(byte === openBracket ? '' : this.#key())
          continue
        }
      } else {
        this.#countValue()
        value = this.#scalar(byte)
      }
      // a complete value goes into its container, which may then be complete too
      for (;;) {
        const around = open.at(-1)
        if (around === undefined) return value
        this.#skipBlanks()
        const next = this.#bytes[this.#at]
        if (Array.isArray(around)) {
          around.push(value)
          if (next !== comma && next !== closeBracket) throw this.unexpected('after array element')
        } else {
          const key = keys.at(-1) ?? ''
          if (this.#isUnique && key in around) throw new JsonSyntaxError('duplicate object key')
          around[key] = value
          if (next !== comma && next !== closeBrace) throw this.unexpected('after object key:value pair')
        }
        this.#at++
        if (next === comma) {
          if (!Array.isArray(around)) keys[keys.length - 1] = this.#key()
          break
        }
        open.pop()
        keys.pop()
        value = around
      }
    }
  }

  #skipBlanks(): void {
    const bytes = this.#bytes
    let at = this.#at
    for (; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
    }
    this.#at = at
  }

  #countValue(): void {
    this.#values++
    if (this.#values > this.#maxValues) throw new JsonSyntaxError('exceeded maximum number of values', true)
  }

  #count(textBytes: number): void {
    this.#memory += bytesPerValue + textBytes
    if (this.#limits.maxMemory > 0 && this.#memory > this.#limits.maxMemory) {
      throw estimateExceeded()
    }
  }

  #key(): string {
    this.#skipBlanks()
    if (this.#bytes[this.#at] !== quote) throw this.unexpected('looking for beginning of object key string')
    const key = this.#string()
    this.#skipBlanks()
    if (this.#bytes[this.#at] !== colon) throw this.unexpected('after object key')
    this.#at++
    return key
  }

  #scalar(byte: number | undefined): JsonValue {
    switch (byte) {
      case quote:
        return this.#string()
      case 0x74:
        return this.#word('true', true)
      case 0x66:
        return this.#word('false', false)
      case 0x6e:
        return this.#word('null', null)
      default:
        if (byte === minus || isDigit(byte)) return this.#number()
        throw this.unexpected('looking for beginning of value')
    }
  }

  #word<T>(word: string, value: T): T {
    this.#count(0)
    this.#at++
    for (let index = 1; index < word.length; index++, this.#at++) {
      if (this.#bytes[this.#at] !== word.charCodeAt(index))
        throw this.unexpected(`in literal ${word} (expecting '${word[index]}')`)
    }
    return value
  }

  #number(): JsonNumber {
    const start = this.#at
    if (this.#bytes[this.#at] === minus) this.#at++
    if (this.#bytes[this.#at] === 0x30) this.#at++
    else this.#digits('in numeric literal')
    if (this.#bytes[this.#at] === 0x2e) {
      this.#at++
      this.#digits('after decimal point in numeric literal')
    }
    const exponent = this.#bytes[this.#at]
    if (exponent === 0x65 || exponent === 0x45) {
      this.#at++
      const sign = this.#bytes[this.#at]
      if (sign === 0x2b || sign === minus) this.#at++
      this.#digits('in exponent of numeric literal')
    }
    this.#count(this.#at - start)
    const text = this.#ascii(start, this.#at)
    if (this.#isBounded && !Number.isFinite(Number(text)))
      throw new JsonSyntaxError(
        `json: cannot unmarshal number ${text.slice(0, 32)} into Go value of type float64`,
      )
    return JSON.rawJSON(text)
  }

  #ascii(start: number, end: number): string {
    if (end - start >= copiedBelow || this.#bytes.length >= decodedBelow)
      return this.#bytes.toString('latin1', start, end)
    this.#latin1 ??= this.#bytes.toString('latin1')
    return this.#latin1.slice(start, end)
  }

  #digits(where: string): void {
    if (!isDigit(this.#bytes[this.#at])) throw this.unexpected(where)
    while (isDigit(this.#bytes[this.#at])) this.#at++
  }

  #string(): string {
    this.#strings++
    if (this.#limits.maxStrings > 0 && this.#strings > this.#limits.maxStrings) {
      throw new JsonSyntaxError('exceeded maximum number of strings', true)
    }
    const start = this.#at
    const end = this.#closingQuote(start + 1)
    let text: string
    try {
      text = JSON.parse(this.#bytes.toString('utf8', start, end + 1))
    } catch {
      throw this.#brokenString(start + 1)
    }
    this.#at = end + 1
    this.#count(end - start - 1)
    // a lone surrogate has no UTF-8 form: replace it here, so that all copies have U+FFFD
    return text.toWellFormed()
  }

  /** The first quote that no backslash escapes. The engine finds it in a fraction of the time of a loop over the bytes. */
  #closingQuote(from: number): number {
    const bytes = this.#bytes
    let end = bytes.indexOf(quote, from)
    for (; end >= 0; end = bytes.indexOf(quote, end + 1)) {
      let before = end
      while (before > from && bytes[before - 1] === backslash) before--
      if ((end - before) % 2 === 0) return end
    }
    throw this.#brokenString(from)
  }

  /** What is wrong with a string that the engine does not take. */
  #brokenString(from: number): JsonSyntaxError {
    let at = from
    for (; (this.#bytes[at] ?? 0) >= 0x20; at++)
      if (this.#bytes[at] === backslash) {
        at++
        if (isShortEscape[this.#bytes[at] ?? 0] !== 1) at = this.#longEscape(at)
      }
    this.#at = at
    return this.unexpected('in string literal')
  }

  /** Checks `\u` and four digits; the letter is at `at`. Returns the position of the last digit. */
  #longEscape(at: number): number {
    if (this.#bytes[at] !== 0x75) {
      this.#at = at
      throw this.unexpected('in string escape code')
    }
    for (let digit = at + 1; digit <= at + 4; digit++) {
      if (isHexDigit(this.#bytes[digit])) continue
      this.#at = digit
      throw this.unexpected('in \\u hexadecimal character escape')
    }
    return at + 4
  }
}

/** A byte as Go prints it: as the character with that code. */
function quoteByte(byte: number): string {
  if (byte === 0x27) return "'\\''"
  if (byte === quote) return "'\"'"
  if (byte < 0x20 || byte === 0x7f) return `'\\x${byte.toString(16).padStart(2, '0')}'`
  return `'${String.fromCharCode(byte)}'`
}
