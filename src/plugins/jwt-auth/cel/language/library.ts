import { coreFunctions } from './core-functions.ts'
import { functionsOf } from './functions.ts'
import { jsonFunctions } from './json-functions.ts'
import { type Kind, typeNames } from './kinds.ts'
import { listFunctions } from './list-functions.ts'
import { mathFunctions } from './math-functions.ts'
import { messages } from './messages.ts'
import { optionalFunctions } from './optional-functions.ts'
import { patternFunctions } from './pattern-functions.ts'
import { textFunctions } from './text-functions.ts'
import { timeFunctions } from './time-functions.ts'
import { TypeValue } from './values.ts'

/** All functions, methods and operators by name. docs/contract/cel.md#functions */
export const library = functionsOf([
  ...coreFunctions,
  ...textFunctions,
  ...listFunctions,
  ...mathFunctions,
  ...patternFunctions,
  ...timeFunctions,
  ...optionalFunctions,
  ...jsonFunctions,
])

/** A type by its name in a program. */
export function typeNamed(name: string): TypeValue | undefined {
  return typeNames.get(name) ?? (messages.has(name) ? new TypeValue(name) : undefined)
}

/** The names that a program knows, with what is known of their values. */
export type Names = ReadonlyMap<string, Kind>
