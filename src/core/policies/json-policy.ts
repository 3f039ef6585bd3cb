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
 * Parses a JSON policy into the tree of its HCL form: `{"path": {"a": {…}}}` and `{"path": [{"a": {…}}]}` are
 * blocks `path "a" { … }`. docs/contract/tokens-and-policies.md#policies
 */
export function parseJsonPolicy(text: string): ObjectNode {
  const document = new JsonTreeReader(text).document()
  if (document.kind !== 'object') throw policyFault('a policy in JSON is an object')
  return {
    ...document,
    entries: document.entries.flatMap((entry) =>
      entry.keys[0].text === 'path' ? blocks(entry.keys[0], entry.value) : [entry],
    ),
  }
}

function blocks(path: SyntaxKey, value: SyntaxNode): SyntaxEntry[] {
  if (value.kind === 'list') return value.items.flatMap((item) => blocks(path, item))
  if (value.kind !== 'object') throw syntaxFault(value, '"path" takes an object of paths')
  return value.entries.flatMap(({ keys: [label], value: stanza }) => {
    const stanzas = stanza.kind === 'list' ? stanza.items : [stanza]
    return stanzas.map((body): SyntaxEntry => ({ keys: [path, label], value: body }))
  })
}

/** Reads JSON into a tree with positions and keeps duplicate keys. `JSON.parse` validates the scalars. */
export class JsonTreeReader {
  readonly #text: string
  readonly #token = /[{}[\],:]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\],:"]+/y
  #at = 0
  #line = 1
  #lineStart = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): SyntaxNode {
    const value = this.#value()
    if (this.#peek() !== '') throw syntaxFault(this.#position(), 'text after the JSON value')
    return value
  }

  #value(): SyntaxNode {
    const at = this.#position()
    const token = this.#take()
    if (token === '{')
      return this.#nested(at, () => ({
        kind: 'object',
        entries: this.#until('}', () => this.#entry()),
        ...at,
      }))
    if (token === '[')
      return this.#nested(at, () => ({ kind: 'list', items: this.#until(']', () => this.#value()), ...at }))
    const value = scalarValue(token)
    if (value === undefined) throw syntaxFault(at, 'not a JSON value')
    if (value === null) return { kind: 'null', ...at }
    if (typeof value === 'string') return { kind: 'text', value, ...at }
    return typeof value === 'boolean'
      ? { kind: 'bool', value, ...at }
      : { kind: 'number', value: token, ...at }
  }

  #entry(): SyntaxEntry {
    const at = this.#position()
    const key = scalarValue(this.#take())
    if (typeof key !== 'string') throw syntaxFault(at, 'not a JSON key')
    this.#expect(':')
    return { keys: [{ text: key, ...at }], value: this.#value() }
  }

  #until<T>(closing: string, read: () => T): T[] {
    const found: T[] = []
    if (this.#peek() !== closing) {
      found.push(read())
      while (this.#peek() === ',') {
        this.#take()
        found.push(read())
      }
    }
    this.#expect(closing)
    return found
  }

  #expect(sign: string): void {
    const at = this.#position()
    if (this.#take() !== sign) throw syntaxFault(at, `expected '${sign}'`)
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

/** The value of a JSON string, number or literal; undefined if it is none. */
function scalarValue(token: string): string | number | boolean | null | undefined {
  try {
    const value: unknown = JSON.parse(token)
    if (typeof value === 'string') return value.toWellFormed()
    return value === null || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
  } catch {
    return undefined
  }
}
