import {
  maxNesting,
  type ObjectNode,
  type Position,
  policyFault,
  type SyntaxEntry,
  type SyntaxKey,
  type SyntaxNode,
  syntaxFault,
} from './policy-syntax.ts'

/**
 * A policy written as JSON, as the tree its HCL form has: `{"path": {"a": {…}}}` and `{"path": [{"a": {…}}]}` are blocks `path "a" { … }`.
 * Contract tokens §4.1.
 */
export function parseJsonPolicy(text: string): ObjectNode {
  assertJson(text)
  const document = new JsonTreeReader(text).value()
  if (document.kind !== 'object') throw policyFault('a policy in JSON is an object')
  return { ...document, entries: document.entries.flatMap((entry) => (entry.keys[0].text === 'path' ? blocks(entry.keys[0], entry.value) : [entry])) }
}

function blocks(path: SyntaxKey, value: SyntaxNode): SyntaxEntry[] {
  if (value.kind === 'list') return value.items.flatMap((item) => blocks(path, item))
  if (value.kind !== 'object') throw syntaxFault(value, '"path" takes an object of paths')
  return value.entries.flatMap(({ keys: [label], value: stanza }) => {
    const stanzas = stanza.kind === 'list' ? stanza.items : [stanza]
    return stanzas.map((body): SyntaxEntry => ({ keys: [path, label], value: body }))
  })
}

/** The platform's parser decides what is JSON; the reader below only finds out where things stand. */
function assertJson(text: string): void {
  try {
    JSON.parse(text)
  } catch (cause) {
    const place = cause instanceof Error ? /line (\d+) column (\d+)/.exec(cause.message) : null
    throw place === null ? policyFault('invalid JSON') : syntaxFault({ line: Number(place[1]), column: Number(place[2]) }, 'invalid JSON')
  }
}

/** Reads text that is known to be JSON into a tree with positions; keys given twice are both kept. */
class JsonTreeReader {
  readonly #text: string
  readonly #token = /[{}[\],:]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\],:"]+/y
  #at = 0
  #line = 1
  #lineStart = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): SyntaxNode {
    const at = this.#position()
    const token = this.#take()
    if (token === '{') return this.#nested(at, () => ({ kind: 'object', entries: this.#until('}', () => this.#entry()), ...at }))
    if (token === '[') return this.#nested(at, () => ({ kind: 'list', items: this.#until(']', () => this.value()), ...at }))
    if (token.startsWith('"')) return { kind: 'text', value: stringValue(token), ...at }
    if (token === 'null') return { kind: 'null', ...at }
    return token === 'true' || token === 'false' ? { kind: 'bool', value: token === 'true', ...at } : { kind: 'number', value: token, ...at }
  }

  #entry(): SyntaxEntry {
    const at = this.#position()
    const key = { text: stringValue(this.#take()), ...at }
    this.#take()
    return { keys: [key], value: this.value() }
  }

  #until<T>(closing: string, read: () => T): T[] {
    const found: T[] = []
    while (this.#peek() !== closing) {
      found.push(read())
      if (this.#peek() === ',') this.#take()
    }
    this.#take()
    return found
  }

  #nested(at: Position, read: () => SyntaxNode): SyntaxNode {
    if (this.#depth === maxNesting) throw syntaxFault(at, `nested more than ${maxNesting} levels deep`)
    this.#depth++
    const node = read()
    this.#depth--
    return node
  }

  #position(): Position {
    this.#skipBlanks()
    return { line: this.#line, column: this.#at - this.#lineStart + 1 }
  }

  #peek(): string {
    this.#skipBlanks()
    return this.#text.charAt(this.#at)
  }

  #take(): string {
    this.#skipBlanks()
    this.#token.lastIndex = this.#at
    const token = this.#token.exec(this.#text)?.[0] ?? ''
    this.#at += token.length
    return token
  }

  #skipBlanks(): void {
    for (; ; this.#at++) {
      const character = this.#text.charAt(this.#at)
      if (character === '\n') {
        this.#line++
        this.#lineStart = this.#at + 1
      } else if (character !== ' ' && character !== '\t' && character !== '\r') return
    }
  }
}

const stringValue = (token: string): string => String(JSON.parse(token)).toWellFormed()
