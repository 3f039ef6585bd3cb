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
import { lazyMethods, library, type Names, typeNamed } from './library.ts'
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

/** The overloads that a call may mean, and whether the target is a part of their name. */
function overloadsOf({ name, target }: Call) {
  const namespace = target === undefined ? undefined : qualifiedName(target)
  const qualified = namespace === undefined ? undefined : library.get(`${namespace}.${name}`)
  if (qualified !== undefined) return { overloads: qualified, isQualified: true }
  const overloads = library.get(target === undefined ? name : `.${name}`)
  if (overloads !== undefined) return { overloads, isQualified: false }
  return target !== undefined && lazyMethods.has(name) ? { overloads: [], isQualified: false } : undefined
}

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

const ordered: ReadonlySet<string> = new Set(['_<_', '_<=_', '_>_', '_>=_'])
const compared: ReadonlySet<string> = new Set(['_==_', '_!=_', ...ordered])
const withoutOrder: ReadonlySet<string> = new Set(['list', 'map', 'null', 'type', 'optional_type'])

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
      case 'index':
        return this.#index(expression, names)
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

  #field(operand: Kind, field: string, at: number): Kind {
    if (operand.base === 'dyn' || operand.base === 'optional_type')
      return operand.base === 'dyn' ? kind.dyn : kind.optional
    if (operand.base === 'map') return operand.inner[1] ?? kind.dyn
    const fields = messages.get(operand.base)
    if (fields === undefined)
      return this.#problem(at, `type '${kind.shownKind(operand)}' does not support field selection`)
    return fields.get(field) ?? this.#problem(at, `undefined field '${field}'`)
  }

  #index(expression: Extract<Expression, { kind: 'index' }>, names: Names): Kind {
    const operand = this.kindOf(expression.operand, names)
    const index = this.kindOf(expression.index, names)
    const [first = kind.dyn, second = kind.dyn] = operand.inner
    const isList = operand.base === 'list' && kind.mayBe(kind.int, index)
    const isMap = operand.base === 'map' && kind.mayBe(first, index)
    if (!isList && !isMap && operand.base !== 'dyn' && operand.base !== 'optional_type')
      return this.#noOverload('_[_]', [operand, index], expression.at)
    const element = isList ? first : isMap ? second : kind.dyn
    return expression.isOptional || operand.base === 'optional_type' ? kind.optional : element
  }

  #item({ value, isOptional }: Item, names: Names): Kind {
    const of = this.kindOf(value, names)
    if (!isOptional) return of
    if (!kind.mayBe(kind.optional, of))
      return this.#problem(value.at, `expected type 'optional_type(dyn)' but found '${kind.shownKind(of)}'`)
    return of.inner[0] ?? kind.dyn
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
    const receiver =
      isMethod && (found !== undefined || qualifiedName(target) === undefined)
        ? [this.kindOf(target, names)]
        : []
    if (found === undefined) return this.#undeclared(name, at)
    const kinds = [...receiver, ...args.map((each) => this.kindOf(each, names))]
    if (isMethod && lazyMethods.has(name) && kinds.length === 2) return kind.dyn
    const result = isComparable(name, kinds) ? resultOf(found.overloads, kinds) : undefined
    if (result !== undefined) return result
    if (!isMethod) return this.#noOverload(name, kinds, at)
    const [of = kind.dyn, ...others] = kinds
    return this.#problem(
      at,
      `found no matching overload for '${name}' applied to '${kind.shownKind(of)}.(${others.map(kind.shownKind).join(', ')})'`,
    )
  }

  #comprehension({ macro, target, variable, steps, at }: Comprehension, names: Names): Kind {
    const range = this.kindOf(target, names)
    const isOptional = macro === 'optMap' || macro === 'optFlatMap'
    const bases = isOptional ? ['optional_type', 'dyn'] : ['list', 'map', 'dyn']
    if (!bases.includes(range.base))
      return this.#problem(
        at,
        `expression of type '${kind.shownKind(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
      )
    const element = range.inner[0] ?? kind.dyn
    const inside = new Map([...names, [variable, element]])
    const results = steps.map((step) => this.kindOf(step, inside))
    const [test = kind.dyn] = results
    const tests = macro === 'map' ? results.length === 2 : !isOptional && macro !== 'sortBy'
    if (tests && !kind.mayBe(kind.bool, test))
      return this.#problem(
        at,
        `found no matching overload for '_&&_' applied to '(bool, ${kind.shownKind(test)})'`,
      )
    if (isOptional) return macro === 'optMap' ? kind.optionalOf(test) : kind.optional
    if (macro === 'map') return kind.listOf(results.at(-1) ?? kind.dyn)
    return macro === 'filter' || macro === 'sortBy' ? kind.listOf(element) : kind.bool
  }
}

function named(name: string, names: Names): Kind | undefined {
  return names.get(name) ?? (typeNamed(name) === undefined ? undefined : kind.type)
}

const joinedAll = (kinds: readonly Kind[]): Kind =>
  kinds.length === 0 ? kind.dyn : kinds.reduce(kind.joined)

/** Whether values of these kinds can be compared, if the operator compares. */
function isComparable(name: string, [one = kind.dyn, other = kind.dyn]: readonly Kind[]): boolean {
  if (!compared.has(name)) return true
  if (ordered.has(name) && (withoutOrder.has(one.base) || withoutOrder.has(other.base))) return false
  const isNothing = one.base === 'null' || other.base === 'null'
  return kind.mayBe(one, other) || (isNothing && !ordered.has(name) && isNullable(one) && isNullable(other))
}

const isNullable = ({ base }: Kind): boolean =>
  base === 'null' || base === 'timestamp' || base === 'duration' || messages.has(base)
