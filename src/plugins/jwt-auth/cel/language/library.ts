import { coreFunctions } from './core-functions.ts'
import { type Call, qualifiedName } from './expression.ts'
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
const library = functionsOf([
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

/** The overloads that a call may mean, and whether the target is a part of their name. */
export function overloadsOf({ name, target }: Pick<Call, 'name' | 'target'>) {
  const namespace = target === undefined ? undefined : qualifiedName(target)
  const qualified = namespace === undefined ? undefined : library.get(`${namespace}.${name}`)
  if (qualified !== undefined) return { overloads: qualified, isQualified: true }
  const overloads = library.get(target === undefined ? name : `.${name}`)
  return overloads && { overloads, isQualified: false }
}

/** The names that a program knows, with what is known of their values. */
export type Names = ReadonlyMap<string, Kind>
