import { parseJson } from '../../api/json.ts'
import { strings } from '../../strings.ts'
import type { Charset, Generate, Made, Values } from './calls.ts'
import { shownValue } from './values.tsx'

const text = strings.secrets

/** A field that is being edited. */
export type Row = {
  readonly id: number
  readonly name: string
  readonly value: string
  readonly isJson: boolean
  /** The server makes the value: docs/contract/kv.md#generated-values. */
  readonly made?: TypedMade | undefined
}

export const charsets: readonly Charset[] = ['alnum', 'ascii', 'hex', 'base64url', 'digits']

/** How a value is made, as it is typed: by a password policy, or by length and charset. */
export type TypedMade = {
  readonly length: string
  /** `policy`: a password policy says what the value consists of. */
  readonly charset: Charset | 'policy'
  readonly policy: string
  readonly keep: boolean
}

export const usualMade: TypedMade = { length: '32', charset: 'alnum', policy: '', keep: false }

const typedMade = (made: Made): TypedMade => ({
  ...usualMade,
  ...('policy' in made
    ? { charset: 'policy', policy: made.policy }
    : { length: String(made.length), charset: made.charset }),
  keep: made.keep === true,
})

const madeOf = ({ length, charset, policy, keep }: TypedMade): Made => ({
  ...(charset === 'policy' ? { policy: policy.trim() } : { length: Number(length), charset }),
  ...(keep && { keep }),
})

let lastId = 0
export const newRow = (name = '', value: unknown = '', made?: TypedMade): Row => {
  lastId += 1
  return { id: lastId, name, value: shownValue(value), isJson: typeof value !== 'string', made }
}

export const rowsOf = (values: Values, generate: Generate = {}): readonly Row[] => [
  ...Object.entries(values).map(([name, value]) => newRow(name, value)),
  ...Object.entries(generate).map(([name, made]) => newRow(name, '', typedMade(made))),
]

export const valuesOf = (rows: readonly Row[]): Values =>
  Object.fromEntries(
    rows
      .filter(({ name, made }) => name !== '' && made === undefined)
      .map(({ name, value, isJson }) => [name, isJson ? parseJson(value) : value]),
  )

export const generateOf = (rows: readonly Row[]): Generate =>
  Object.fromEntries(rows.flatMap(({ name, made }) => (made === undefined ? [] : [[name, madeOf(made)]])))

type Problem = { readonly name?: string; readonly value?: string }

export function problemsOf(rows: readonly Row[], others: Values = {}): ReadonlyMap<number, Problem> {
  const problems = new Map<number, Problem>()
  const names = new Set(Object.keys(others))
  for (const { id, name, value, isJson, made } of rows) {
    if (name === '' && value === '' && made === undefined) continue
    const problem = {
      ...(name === '' && { name: text.nameMissing }),
      ...(names.has(name) && { name: text.nameTwice }),
      ...(made === undefined && isJson && !isJsonText(value) && { value: text.notJson }),
    }
    if (Object.keys(problem).length > 0) problems.set(id, problem)
    names.add(name)
  }
  return problems
}

const isJsonText = (value: string): boolean => {
  try {
    parseJson(value)
    return true
  } catch {
    return false
  }
}

/** All fields as one JSON object; undefined if the text is none. */
export function valuesOfJson(json: string): Values | undefined {
  if (!json.trim().startsWith('{') || !isJsonText(json)) return undefined
  return parseJson(json) as Values
}
