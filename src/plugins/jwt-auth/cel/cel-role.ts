import { z } from 'zod'
import { refuse } from '../../../errors.ts'
import {
  commaListField,
  convertFields,
  mapOrTextField,
  signedDurationField,
  stringField,
} from '../../../lib/text/fields.ts'
import { goTypeName } from '../../../lib/text/go-type-names.ts'
import {
  isJsonNumber,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  numberText,
} from '../../../lib/text/json.ts'
import { mergePatched } from '../../../lib/text/merge-patch.ts'
import { checkedProgram, type Program, ProgramError, type Variable } from './program.ts'

/** docs/contract/cel.md#roles. Durations are whole seconds. */
export const celRoleFields = z.object({
  cel_program: mapOrTextField.describe(
    'The program: `expression`, and `variables` with `name` and `expression` each, which it may use',
  ),
  bound_audiences: commaListField.default([]).describe('Accepted `aud` values; one match suffices'),
  clock_skew_leeway: signedDurationField
    .default(60)
    .describe('Tolerance of all times; 0 is 60 s, negative none'),
  expiration_leeway: signedDurationField
    .default(150)
    .describe('How long after `iat` or `nbf` a token without `exp` counts; 0 is 150 s, negative none'),
  not_before_leeway: signedDurationField
    .default(150)
    .describe('How long before `exp` a token without `nbf` and `iat` counts; 0 is 150 s, negative none'),
  message: stringField.describe(
    'What a caller is told instead of the cause, if the program is false or fails',
  ),
})

export type CelRoleInput = z.output<typeof celRoleFields>

/** As stored, and as shown without the name. */
type CelRoleRecord = Omit<CelRoleInput, 'cel_program'> & {
  /** Without `variables` if there are none. */
  readonly cel_program: { readonly expression: string; readonly variables?: readonly Variable[] }
}

/** A role whose program decides. */
export type CelRole = { readonly name: string; readonly record: CelRoleRecord; readonly program: Program }

/** Parses a stored record as a role. */
export function readCelRole(name: string, stored: unknown): CelRole {
  if (typeof stored !== 'object' || stored === null) throw new Error('a stored CEL role is not an object')
  return roleOf(name, convertFields(celRoleFields, { ...stored }).values)
}

function roleOf(name: string, { cel_program, ...fields }: CelRoleInput): CelRole {
  const program = readProgram(cel_program)
  const { expression, variables } = program
  return {
    name,
    program,
    record: { ...fields, cel_program: variables.length === 0 ? { expression } : { variables, expression } },
  }
}

/** The role that a write makes. Throws `invalid` for a program that is not accepted. docs/contract/cel.md#roles */
export function newCelRole(name: string, input: CelRoleInput): CelRole {
  const role = roleOf(name, input)
  checkProgram(role.program)
  return role
}

/** Throws `invalid` for a program that is not accepted. */
export function checkProgram(program: Program): void {
  try {
    checkedProgram(program)
  } catch (error) {
    if (error instanceof ProgramError) throw refuse('invalid', error.message)
    throw error
  }
}

/** A role with a merge patch applied. Throws `invalid`, or a `FieldError`. */
export function patchedCelRole({ name, record }: CelRole, patch: JsonObject): CelRole {
  const { cel_program, ...fields } = record
  const before = { ...fields, cel_program: { ...cel_program } } as unknown as JsonObject
  return newCelRole(name, convertFields(celRoleFields, mergePatched(before, lowered(patch))).values)
}

/** The patch with the names of the program's members as they are stored: whatever their case, they replace those. */
function lowered({ cel_program, ...patch }: JsonObject): JsonObject {
  if (cel_program === undefined) return patch
  if (!isJsonObject(cel_program)) return { ...patch, cel_program }
  const members = Object.entries(cel_program).map(([name, value]) => [name.toLowerCase(), value])
  return { ...patch, cel_program: Object.fromEntries(members) }
}

export const shownCelRole = ({ name, record }: CelRole) => ({ name, ...record })

/** The warnings of a write. */
export function celRoleWarnings({ program }: CelRole): string[] {
  const names = program.variables.map(({ name }) => name)
  const repeated = [...new Set(names.filter((name, at) => names.indexOf(name) !== at))]
  return repeated.map((name) => `cel_program has several variables "${name}"; the last one counts`)
}

/** Names of members count whatever their case. */
function member(object: JsonObject, name: string): JsonValue | undefined {
  const found = Object.keys(object).find((key) => key === name) ?? keyLike(object, name)
  return found === undefined ? undefined : object[found]
}

const keyLike = (object: JsonObject, name: string): string | undefined =>
  Object.keys(object).find((key) => key.toLowerCase() === name)

/** The program in a field. Throws `invalid` if it has none. docs/contract/cel.md#programs */
export function readProgram(field: CelRoleInput['cel_program']): Program {
  if (field === null) throw refuse('invalid', "missing required field 'cel_program'")
  const expression = textOf(field, 'expression', 'Expression')
  if (expression === '') throw refuse('invalid', 'cel_program.expression cannot be empty')
  const variables = member(field, 'variables') ?? []
  if (!Array.isArray(variables))
    throw undecodable(`'Variables' source data must be an array or slice, got ${kindOf(variables)}`)
  return { variables: variables.map(readVariable), expression }
}

function readVariable(variable: JsonValue, at: number): Variable {
  if (!isJsonObject(variable))
    throw undecodable(`'Variables[${at}]' expected a map or struct, got "${kindOf(variable)}"`)
  return {
    name: textOf(variable, 'name', `Variables[${at}].Name`),
    expression: textOf(variable, 'expression', `Variables[${at}].Expression`),
  }
}

const kindOf = (value: JsonValue): string => (isJsonObject(value) ? 'map' : goTypeName(value))

function textOf(object: JsonObject, name: string, shown: string): string {
  const value = member(object, name) ?? ''
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (isJsonNumber(value)) return numberText(value)
  throw undecodable(`'${shown}' expected type 'string', got unconvertible type '${kindOf(value)}'`)
}

const undecodable = (problem: string) =>
  refuse(
    'invalid',
    `failed to decode 'cel_program': decoding failed due to the following error(s):\n\n${problem}`,
  )
