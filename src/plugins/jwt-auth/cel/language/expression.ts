import type { Value } from './values.ts'

/** `at` is the offset in the text that an error names. */
type At = { readonly at: number }

/** An element that is left out if its value is an empty optional. */
export type Item = { readonly value: Expression; readonly isOptional: boolean }
export type MapEntry = Item & { readonly key: Expression }
export type MessageField = Item & At & { readonly name: string }

type Name = At & { readonly kind: 'name'; readonly name: string }
export type Select = At & {
  readonly kind: 'select'
  readonly operand: Expression
  readonly field: string
  readonly isOptional: boolean
}
type Index = At & {
  readonly kind: 'index'
  readonly operand: Expression
  readonly index: Expression
  readonly isOptional: boolean
}
/** A function, a method with its target, or an operator by its name in CEL: `_+_`. */
export type Call = At & {
  readonly kind: 'call'
  readonly name: string
  readonly target: Expression | undefined
  readonly args: readonly Expression[]
}
export type MessageLiteral = At & {
  readonly kind: 'message'
  readonly name: string
  readonly fields: readonly MessageField[]
}
type Logic = At & {
  readonly kind: 'logic'
  readonly operator: '_&&_' | '_||_'
  readonly operands: readonly Expression[]
}
/** `list.all(x, …)` and its like: `steps` are evaluated with the variable set. */
export type Comprehension = At & {
  readonly kind: 'comprehension'
  readonly macro: string
  readonly target: Expression
  readonly variable: string
  readonly steps: readonly Expression[]
}

export type Expression =
  | (At & { readonly kind: 'literal'; readonly value: Value })
  | Name
  | Select
  | Index
  | Call
  | (At & { readonly kind: 'list'; readonly items: readonly Item[] })
  | (At & { readonly kind: 'map'; readonly entries: readonly MapEntry[] })
  | MessageLiteral
  | Logic
  | (At & {
      readonly kind: 'if'
      readonly condition: Expression
      readonly yes: Expression
      readonly no: Expression
    })
  | (At & { readonly kind: 'has'; readonly operand: Expression; readonly field: string })
  | Comprehension

/** The expressions directly inside one. */
export function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'literal':
    case 'name':
      return []
    case 'select':
    case 'has':
      return [expression.operand]
    case 'index':
      return [expression.operand, expression.index]
    case 'call':
      return expression.target === undefined ? expression.args : [expression.target, ...expression.args]
    case 'list':
      return expression.items.map(({ value }) => value)
    case 'map':
      return expression.entries.flatMap(({ key, value }) => [key, value])
    case 'message':
      return expression.fields.map(({ value }) => value)
    case 'logic':
      return expression.operands
    case 'if':
      return [expression.condition, expression.yes, expression.no]
    case 'comprehension':
      return [expression.target, ...expression.steps]
  }
}

/** `a.b.c` as a text; undefined for anything else. */
export function qualifiedName(expression: Expression): string | undefined {
  if (expression.kind === 'name') return expression.name
  if (expression.kind !== 'select' || expression.isOptional) return undefined
  const above = qualifiedName(expression.operand)
  return above === undefined ? undefined : `${above}.${expression.field}`
}
