import type { Comprehension, Expression, Item, MapEntry, MessageField } from './expression.ts'
import { partsOf, qualifiedName } from './expression.ts'
import { isEndOfInt, negative, type Token, tokensOf } from './lexer.ts'
import { SizeError, SourceError } from './source-error.ts'

/** A parsed expression, and how many nodes it has. */
export type Parsed = { readonly source: string; readonly expression: Expression; readonly nodes: number }

const mostDepth = 250
/** An expression within another one is a level: `a + b + c …` has as many as operators. */
const mostLevels = 1_250
/** Of a whole program. */
export const mostNodes = 10_000

/** Parses one expression. Throws a `SourceError`, or a `SizeError` if it is nested too deep or has too many nodes. */
export function parse(source: string): Parsed {
  const parser = new Parser(source)
  return { source, expression: parser.whole(), nodes: parser.nodes }
}

const relations = new Set(['==', '!=', '<', '<=', '>', '>=', 'in'])
const sums = new Set(['+', '-'])
const products = new Set(['*', '/', '%'])
const reserved = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

/** Macros on a target: the number of arguments that each may have, its variable included. */
const macros: ReadonlyMap<string, readonly number[]> = new Map([
  ['all', [2]],
  ['exists', [2]],
  ['exists_one', [2]],
  ['map', [2, 3]],
  ['filter', [2]],
  ['optMap', [2]],
  ['optFlatMap', [2]],
  ['sortBy', [2]],
])

class Parser {
  readonly #source: string
  readonly #tokens: readonly Token[]
  readonly #levels = new WeakMap<Expression, number>()
  #next = 0
  #depth = 0
  nodes = 0

  constructor(source: string) {
    this.#source = source
    this.#tokens = tokensOf(source)
  }

  whole(): Expression {
    const expression = this.#expression()
    if (this.#token.kind !== 'end') throw this.#unexpected()
    return expression
  }

  get #token(): Token {
    return this.#tokens[this.#next] ?? { at: this.#source.length, kind: 'end', text: '<EOF>' }
  }

  #take(kind: string): Token | undefined {
    const token = this.#token
    if (token.kind !== kind) return undefined
    this.#next++
    return token
  }

  #expect(kind: string): Token {
    const token = this.#take(kind)
    if (token === undefined) throw this.#unexpected(kind)
    return token
  }

  #unexpected(wanted?: string): SourceError {
    const { at, text } = this.#token
    const expecting = wanted === undefined ? '' : ` expecting '${wanted}'`
    return this.#problem(at, `Syntax error: mismatched input '${text.slice(0, 64)}'${expecting}`)
  }

  #problem(at: number, problem: string): SourceError {
    return new SourceError(this.#source, at, problem)
  }

  #made<Made extends Expression>(expression: Made): Made {
    if (++this.nodes > mostNodes) throw new SizeError(`more than ${mostNodes} nodes`)
    const inside = partsOf(expression).map((part) => this.#levels.get(part) ?? 0)
    const levels = 1 + inside.reduce((most, each) => Math.max(most, each), 0)
    if (levels > mostLevels) throw new SizeError(`more than ${mostLevels} levels`)
    this.#levels.set(expression, levels)
    return expression
  }

  #nested<T>(parse: () => T): T {
    if (++this.#depth > mostDepth) throw new SizeError(`expression recursion limit exceeded: ${mostDepth}`)
    const parsed = parse()
    this.#depth--
    return parsed
  }

  #expression(): Expression {
    return this.#nested(() => {
      const condition = this.#logic('||')
      const question = this.#take('?')
      if (question === undefined) return condition
      const yes = this.#logic('||')
      this.#expect(':')
      const no = this.#expression()
      return this.#made({ kind: 'if', condition, yes, no, at: question.at })
    })
  }

  #logic(symbol: '||' | '&&'): Expression {
    const part = () => (symbol === '||' ? this.#logic('&&') : this.#binary(relations))
    const operands = [part()]
    const at = this.#token.at
    while (this.#take(symbol) !== undefined) operands.push(part())
    const [only] = operands
    return operands.length === 1 && only !== undefined
      ? only
      : this.#made({ kind: 'logic', operator: symbol === '||' ? '_||_' : '_&&_', operands, at })
  }

  #binary(symbols: ReadonlySet<string>): Expression {
    const part = () =>
      symbols === relations ? this.#binary(sums) : symbols === sums ? this.#binary(products) : this.#unary()
    let left = part()
    while (symbols.has(this.#token.kind)) {
      const { kind, at } = this.#token
      this.#next++
      const name = kind === 'in' ? '@in' : `_${kind}_`
      left = this.#made({ kind: 'call', name, target: undefined, args: [left, part()], at })
    }
    return left
  }

  #unary(): Expression {
    const { at } = this.#token
    const not = this.#take('!')
    const minus = not === undefined ? this.#take('-') : undefined
    if (minus !== undefined) {
      const number = negative(this.#token)
      if (number !== undefined) {
        this.#next++
        return this.#member(this.#made({ kind: 'literal', value: number, at }))
      }
    }
    if (not === undefined && minus === undefined) return this.#member(this.#primary())
    const name = not === undefined ? '-_' : '!_'
    return this.#nested(() =>
      this.#made({ kind: 'call', name, target: undefined, args: [this.#unary()], at }),
    )
  }

  #member(first: Expression): Expression {
    let operand = first
    let depth = 0
    for (;;) {
      const { at } = this.#token
      const parsed = this.#suffix(operand, at)
      if (parsed === undefined) break
      operand = parsed
      if (++depth + this.#depth > mostDepth)
        throw new SizeError(`expression recursion limit exceeded: ${mostDepth}`)
    }
    return operand
  }

  /** What may follow an operand; undefined if nothing does. */
  #suffix(operand: Expression, at: number): Expression | undefined {
    if (this.#take('.') !== undefined) {
      const isOptional = this.#take('?') !== undefined
      const field = this.#selector()
      const open = isOptional ? undefined : this.#take('(')
      return open === undefined
        ? this.#made({ kind: 'select', operand, field, isOptional, at })
        : this.#methodCall(operand, field, open.at)
    }
    if (this.#take('[') !== undefined) {
      const isOptional = this.#take('?') !== undefined
      const index = this.#expression()
      this.#expect(']')
      return this.#made({ kind: 'index', operand, index, isOptional, at })
    }
    const name = this.#token.kind === '{' ? qualifiedName(operand) : undefined
    if (name === undefined) return undefined
    this.#expect('{')
    const fields = this.#fields()
    return this.#made({ kind: 'message', name, fields, at })
  }

  #selector(): string {
    // reserved words are allowed here, as protobuf has fields with such names
    const token = this.#take('name')
    if (token === undefined) throw this.#unexpected('IDENTIFIER')
    return token.text
  }

  #methodCall(target: Expression, name: string, at: number): Expression {
    const args = this.#arguments()
    const [variable, ...steps] = args
    if (macros.get(name)?.includes(args.length) !== true)
      return this.#made({ kind: 'call', name, target, args, at })
    if (variable?.kind !== 'name') throw this.#problem(variable?.at ?? at, 'argument must be a simple name')
    const macro: Comprehension = {
      kind: 'comprehension',
      macro: name,
      target,
      variable: variable.name,
      steps,
      at,
    }
    return this.#made(macro)
  }

  /** Behind the opening parenthesis. */
  #arguments(): Expression[] {
    return this.#listed(')', () => this.#expression())
  }

  /** What stands between commas, up to the closing symbol. A comma may precede that, except in a call. */
  #listed<T>(closing: string, parse: () => T): T[] {
    const listed: T[] = []
    while (this.#take(closing) === undefined) {
      if (listed.length > 0) {
        this.#expect(',')
        if (closing !== ')' && this.#take(closing) !== undefined) break
      }
      listed.push(parse())
    }
    return listed
  }

  #item(): Item {
    const isOptional = this.#take('?') !== undefined
    return { isOptional, value: this.#expression() }
  }

  #fields(): MessageField[] {
    return this.#listed('}', () => {
      const isOptional = this.#take('?') !== undefined
      const name = this.#selector()
      const { at } = this.#expect(':')
      return { isOptional, name, value: this.#expression(), at }
    })
  }

  #entry(): MapEntry {
    const isOptional = this.#take('?') !== undefined
    const key = this.#expression()
    this.#expect(':')
    return { isOptional, key, value: this.#expression() }
  }

  #primary(): Expression {
    const { at, value } = this.#token
    if (value !== undefined) {
      if (isEndOfInt(this.#token)) throw this.#problem(at, 'Syntax error: invalid int literal')
      this.#next++
      return this.#made({ kind: 'literal', value, at })
    }
    if (this.#take('(') !== undefined) {
      const inner = this.#expression()
      this.#expect(')')
      return inner
    }
    if (this.#take('[') !== undefined)
      return this.#made({ kind: 'list', items: this.#listed(']', () => this.#item()), at })
    if (this.#take('{') !== undefined)
      return this.#made({ kind: 'map', entries: this.#listed('}', () => this.#entry()), at })
    // a dot in front means the outermost name, and there is no other
    this.#take('.')
    return this.#name()
  }

  #name(): Expression {
    const token = this.#expect('name')
    const { text: name, at } = token
    if (reserved.has(name)) throw this.#problem(at, `reserved identifier: ${name}`)
    const open = this.#take('(')
    if (open === undefined) return this.#made({ kind: 'name', name, at })
    const args = this.#arguments()
    if (name !== 'has' || args.length !== 1)
      return this.#made({ kind: 'call', name, target: undefined, args, at: open.at })
    const [tested] = args
    if (tested?.kind !== 'select' || tested.isOptional)
      throw this.#problem(open.at, 'invalid argument to has() macro')
    return this.#made({ kind: 'has', operand: tested.operand, field: tested.field, at: open.at })
  }
}
