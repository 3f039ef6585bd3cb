import { indexOf } from './core-functions.ts'
import {
  type Call,
  type Comprehension,
  type Expression,
  type Item,
  type MessageLiteral,
  qualifiedName,
} from './expression.ts'
import { call } from './functions.ts'
import { overloadsOf, typeNamed } from './library.ts'
import { sortedBy } from './list-functions.ts'
import { made, messages, unset } from './messages.ts'
import { CelError, CelMap, isList, Message, noOverload, Optional, shortText, type Value } from './values.ts'
import type { Work } from './work.ts'

/** The variables of an expression. */
export class Scope {
  readonly #values: ReadonlyMap<string, Value>
  readonly #around: Scope | undefined

  constructor(values: ReadonlyMap<string, Value>, around?: Scope) {
    this.#values = values
    this.#around = around
  }

  find(name: string): Value | undefined {
    const value = this.#values.get(name)
    return value === undefined ? this.#around?.find(name) : value
  }

  with(name: string, value: Value): Scope {
    return new Scope(new Map([[name, value]]), this)
  }
}

/** The value of an expression. Throws a `CelError`, or a `LimitError` if it takes too much work. */
export function evaluate(expression: Expression, scope: Scope, work: Work): Value {
  work.step()
  switch (expression.kind) {
    case 'literal':
      return expression.value
    case 'name':
      return valueNamed(expression.name, scope)
    case 'select': {
      const name = expression.isOptional ? undefined : qualifiedName(expression)
      const known = name === undefined ? undefined : named(name, scope)
      if (known !== undefined) return known
      const operand = evaluate(expression.operand, scope, work)
      return looked(operand, expression, (value) => fieldOf(value, expression.field), expression.field)
    }
    case 'index': {
      const operand = evaluate(expression.operand, scope, work)
      const index = evaluate(expression.index, scope, work)
      return looked(operand, expression, (value) => elementOf(value, index), index)
    }
    case 'has':
      return isSet(evaluate(expression.operand, scope, work), expression.field)
    case 'if': {
      const condition = evaluate(expression.condition, scope, work)
      if (typeof condition !== 'boolean') throw noOverload()
      return evaluate(condition ? expression.yes : expression.no, scope, work)
    }
    case 'logic':
      return anyDecides(expression.operands, expression.operator === '_||_', (operand) =>
        evaluate(operand, scope, work),
      )
    case 'list':
      return itemsOf(expression.items, scope, work)
    case 'map': {
      const entries = expression.entries.map(({ key, ...item }) => {
        const name = evaluate(key, scope, work)
        return itemsOf([item], scope, work).map((value) => [name, value] as const)
      })
      return new CelMap(entries.flat())
    }
    case 'message':
      return messageOf(expression, scope, work)
    case 'comprehension':
      return comprehended(expression, scope, work)
    case 'call':
      return called(expression, scope, work)
  }
}

/** Null is a value, too. */
function named(name: string, scope: Scope): Value | undefined {
  const value = scope.find(name)
  return value === undefined ? typeNamed(name) : value
}

function valueNamed(name: string, scope: Scope): Value {
  const value = named(name, scope)
  if (value === undefined) throw new CelError(`no such attribute(s): ${name}`)
  return value
}

/** Looks into a value, or into what an optional contains. */
function looked(
  operand: Value,
  { isOptional }: { readonly isOptional: boolean },
  look: (value: Value) => Value | undefined,
  key: Value,
): Value {
  const inside = operand instanceof Optional ? operand.value : operand
  const found = inside === undefined ? undefined : look(inside)
  if (isOptional || operand instanceof Optional) return new Optional(found)
  if (found !== undefined) return found
  throw new CelError(
    isList(operand) ? `index out of bounds: ${shortText(key)}` : `no such key: ${shortText(key)}`,
  )
}

function fieldOf(value: Value, field: string): Value | undefined {
  if (value instanceof CelMap) return value.get(field)
  if (!(value instanceof Message)) throw noOverload()
  const kind = messages.get(value.name)?.get(field)
  if (kind === undefined) throw new CelError(`no such field '${field}'`)
  return value.fields.get(field) ?? unset(kind)
}

function elementOf(value: Value, index: Value): Value | undefined {
  if (value instanceof CelMap) return value.get(index)
  if (!isList(value)) throw noOverload()
  return value[indexOf(index)]
}

function isSet(value: Value, field: string): boolean {
  const inside = value instanceof Optional ? value.value : value
  if (inside === undefined) return false
  if (inside instanceof CelMap) return inside.get(field) !== undefined
  return fieldOf(inside, field) !== undefined && inside instanceof Message && inside.fields.has(field)
}

/**
 * Whether one of them decides, or else the opposite. Then errors of the others do not count; if none decides, the first
 * one is thrown.
 */
function anyDecides<Of>(items: readonly Of[], decisive: boolean, evaluated: (item: Of) => Value): boolean {
  let failure: CelError | undefined
  for (const item of items) {
    try {
      const value = evaluated(item)
      if (value === decisive) return decisive
      if (typeof value !== 'boolean') failure ??= noOverload()
    } catch (error) {
      if (!(error instanceof CelError)) throw error
      failure ??= error
    }
  }
  if (failure !== undefined) throw failure
  return !decisive
}

function itemsOf(items: readonly Item[], scope: Scope, work: Work): Value[] {
  return items.flatMap(({ value, isOptional }) => {
    const item = evaluate(value, scope, work)
    if (!isOptional) return [item]
    if (!(item instanceof Optional)) throw noOverload()
    return item.value === undefined ? [] : [item.value]
  })
}

function messageOf({ name, fields }: MessageLiteral, scope: Scope, work: Work): Message {
  const values = fields.flatMap((field) =>
    itemsOf([field], scope, work).map((value) => [field.name, value] as const),
  )
  return made(name, new Map(values))
}

function called(expression: Call, scope: Scope, work: Work): Value {
  const { name, target, args } = expression
  const found = overloadsOf(expression)
  const values = found?.isQualified === true || target === undefined ? [] : [evaluate(target, scope, work)]
  const [optional] = values
  // an alternative that is not needed is not evaluated
  if (optional instanceof Optional && optional.value !== undefined && args.length === 1) {
    if (name === 'or') return optional
    if (name === 'orValue') return optional.value
  }
  if (found === undefined) throw new CelError(`no such overload: ${name}`)
  // a long sum is nested as deep: a loop needs half of the stack that callbacks would
  for (const each of args) values.push(evaluate(each, scope, work))
  return call(found.overloads, values, work)
}

function unreachable(): never {
  throw new Error('an argument that was counted is missing')
}

function comprehended(expression: Comprehension, scope: Scope, work: Work): Value {
  const { macro, target, variable, steps } = expression
  const range = evaluate(target, scope, work)
  const [first, second] = steps
  const run = (step: Expression | undefined, item: Value): Value =>
    evaluate(step ?? unreachable(), scope.with(variable, item), work)
  const test = (item: Value): boolean => {
    const value = run(first, item)
    if (typeof value !== 'boolean') throw noOverload()
    return value
  }
  if (range instanceof Optional) return mapped(macro, range, (item) => run(first, item))
  const items = range instanceof CelMap && macro !== 'sortBy' ? keysOf(range, work) : range
  if (!isList(items)) throw noOverload()
  switch (macro) {
    case 'all':
      return anyDecides(items, false, (item) => run(first, item))
    case 'exists':
      return anyDecides(items, true, (item) => run(first, item))
    case 'exists_one':
      return items.filter(test).length === 1
    case 'filter':
      return items.filter(test)
    case 'map':
      return second === undefined
        ? items.map((item) => run(first, item))
        : items.filter(test).map((item) => run(second, item))
    case 'sortBy':
      return sortedBy(
        items,
        items.map((item) => run(first, item)),
        work,
      )
    default:
      throw noOverload()
  }
}

function keysOf(map: CelMap, work: Work): Value[] {
  work.list(map.size)
  return map.keys()
}

function mapped(macro: string, { value }: Optional, run: (value: Value) => Value): Value {
  if (macro !== 'optMap' && macro !== 'optFlatMap') throw noOverload()
  if (value === undefined) return new Optional()
  const result = run(value)
  if (macro === 'optMap') return new Optional(result)
  if (!(result instanceof Optional)) throw noOverload()
  return result
}
