import {
  type Call,
  type Comprehension,
  type Expression,
  type Item,
  type MessageLiteral,
  qualifiedName,
  type Select,
} from './expression.ts'
import { resultOf } from './functions.ts'
import * as kind from './kinds.ts'
import { type Names, overloadsOf, typeNamed } from './library.ts'
import { messages } from './messages.ts'
import { SourceError } from './source-error.ts'
import { typeName, type Value } from './values.ts'

type Kind = kind.Kind

/**
 * Refuses what cannot work whatever the claims are: unknown names, functions and fields, and values of a type that is
 * known to be wrong. Throws a `SourceError`. docs/contract/cel.md#programs
 */
export function check(expression: Expression, source: string, names: Names): void {
  new Checker(source).kindOf(expression, names)
}

/** Whether an expression, without its parts, calls a function that nobody knows. */
export const isUnknownCall = (expression: Expression): expression is Call =>
  expression.kind === 'call' && overloadsOf(expression) === undefined

const literalKinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['null_type', kind.nothing],
  ['bool', kind.bool],
  ['int', kind.int],
  ['uint', kind.uint],
  ['double', kind.double],
  ['string', kind.string],
  ['bytes', kind.bytes],
])

const kindOfValue = (value: Value): Kind => literalKinds.get(typeName(value)) ?? kind.dyn

const compared: ReadonlySet<string> = new Set(['_==_', '_!=_', '_<_', '_<=_', '_>_', '_>=_'])

class Checker {
  readonly #source: string

  constructor(source: string) {
    this.#source = source
  }

  kindOf(expression: Expression, names: Names): Kind {
    switch (expression.kind) {
      case 'literal':
        return kindOfValue(expression.value)
      case 'name':
        return named(expression.name, names) ?? this.#undeclared(expression.name, expression.at)
      case 'select':
        return this.#select(expression, names)
      case 'index': {
        this.kindOf(expression.operand, names)
        this.kindOf(expression.index, names)
        return expression.isOptional ? kind.optional : kind.dyn
      }
      case 'has':
        this.#field(this.kindOf(expression.operand, names), expression.field, expression.at)
        return kind.bool
      case 'if': {
        const condition = this.kindOf(expression.condition, names)
        const [yes, no] = [this.kindOf(expression.yes, names), this.kindOf(expression.no, names)]
        if (!kind.mayBe(kind.bool, condition)) this.#noOverload('_?_:_', [condition, yes, no], expression.at)
        return kind.joined(yes, no)
      }
      case 'logic':
        for (const operand of expression.operands) {
          const of = this.kindOf(operand, names)
          if (!kind.mayBe(kind.bool, of)) this.#noOverload(expression.operator, [of], expression.at)
        }
        return kind.bool
      case 'list':
        return kind.listOf(joinedAll(expression.items.map((item) => this.#item(item, names))))
      case 'map': {
        const keys = expression.entries.map(({ key }) => this.kindOf(key, names))
        const values = expression.entries.map((entry) => this.#item(entry, names))
        return kind.mapOf(joinedAll(keys), joinedAll(values))
      }
      case 'message':
        return this.#message(expression, names)
      case 'comprehension':
        return this.#comprehension(expression, names)
      case 'call':
        return this.#call(expression, names)
    }
  }

  #problem(at: number, problem: string): never {
    throw new SourceError(this.#source, at, problem)
  }

  #undeclared(name: string, at: number): never {
    return this.#problem(at, `undeclared reference to '${name}' (in container '')`)
  }

  #noOverload(name: string, args: readonly Kind[], at: number): never {
    const shown = args.map(kind.shownKind).join(', ')
    return this.#problem(at, `found no matching overload for '${name}' applied to '(${shown})'`)
  }

  #select(expression: Select, names: Names): Kind {
    const name = expression.isOptional ? undefined : qualifiedName(expression)
    const known = name === undefined ? undefined : named(name, names)
    if (known !== undefined) return known
    const operand = this.kindOf(expression.operand, names)
    const field = this.#field(operand, expression.field, expression.at)
    return expression.isOptional ? kind.optionalOf(field) : field
  }

  /** Of a message; what other values have inside is not known. */
  #field({ base }: Kind, field: string, at: number): Kind {
    const fields = messages.get(base)
    if (fields === undefined) return kind.dyn
    return fields.get(field) ?? this.#problem(at, `undefined field '${field}'`)
  }

  #item({ value, isOptional }: Item, names: Names): Kind {
    const of = this.kindOf(value, names)
    return isOptional ? (of.inner[0] ?? kind.dyn) : of
  }

  #message({ name, fields, at }: MessageLiteral, names: Names): Kind {
    const known = messages.get(name)
    if (known === undefined) return this.#undeclared(name, at)
    for (const field of fields) {
      const of = this.#item(field, names)
      const wanted = known.get(field.name) ?? this.#problem(field.at, `undefined field '${field.name}'`)
      const mayBeNull = of.base === 'null' && (messages.has(wanted.base) || wanted.base === 'timestamp')
      if (!mayBeNull && !kind.mayBe(wanted, of))
        this.#problem(
          field.at,
          `expected type of field '${field.name}' is '${kind.shownKind(wanted)}' but provided type is '${kind.shownKind(of)}'`,
        )
    }
    return kind.message(name)
  }

  #call(expression: Call, names: Names): Kind {
    const { name, target, args, at } = expression
    const found = overloadsOf(expression)
    const isMethod = target !== undefined && found?.isQualified !== true
    // an unknown namespace is an unknown function
    const kinds =
      isMethod && (found !== undefined || qualifiedName(target) === undefined)
        ? [this.kindOf(target, names)]
        : []
    if (found === undefined) return this.#undeclared(name, at)
    // a long sum is nested as deep: a loop needs half of the stack that callbacks would
    for (const each of args) kinds.push(this.kindOf(each, names))
    const result = isComparable(name, kinds) ? resultOf(found.overloads, kinds) : undefined
    if (result !== undefined) return result
    if (!isMethod) return this.#noOverload(name, kinds, at)
    const [of = kind.dyn, ...others] = kinds
    return this.#problem(
      at,
      `found no matching overload for '${name}' applied to '${kind.shownKind(of)}.(${others.map(kind.shownKind).join(', ')})'`,
    )
  }

  #comprehension({ macro, target, variable, steps }: Comprehension, names: Names): Kind {
    this.kindOf(target, names)
    const inside = new Map([...names, [variable, kind.dyn]])
    for (const step of steps) this.kindOf(step, inside)
    return resultsOfMacros.get(macro) ?? kind.bool
  }
}

const resultsOfMacros: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['map', kind.list],
  ['filter', kind.list],
  ['sortBy', kind.list],
  ['optMap', kind.optional],
  ['optFlatMap', kind.optional],
])

function named(name: string, names: Names): Kind | undefined {
  return names.get(name) ?? (typeNamed(name) === undefined ? undefined : kind.type)
}

const joinedAll = (kinds: readonly Kind[]): Kind =>
  kinds.length === 0 ? kind.dyn : kinds.reduce(kind.joined)

/** Whether values of these kinds can be compared, if the operator compares. */
const isComparable = (name: string, [one = kind.dyn, other = kind.dyn]: readonly Kind[]): boolean =>
  !compared.has(name) || kind.mayBe(one, other) || one.base === 'null' || other.base === 'null'
