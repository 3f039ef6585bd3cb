import type { StrictObject } from '../../../jwt/jws/strict-json.ts'
import { check } from './language/check.ts'
import { evaluate, Scope } from './language/evaluate.ts'
import { fromJson, jsonText } from './language/json-functions.ts'
import * as kind from './language/kinds.ts'
import type { Names } from './language/library.ts'
import { mostNodes, type Parsed, parse } from './language/parser.ts'
import { SizeError, SourceError } from './language/source-error.ts'
import { CelError, LimitError, Timestamp, typeName, type Value } from './language/values.ts'
import { Work } from './language/work.ts'
import { type Outcome, outcomeOf, sharedName } from './outcome.ts'

/** A variable of a program: later ones and the expression see its value. */
export type Variable = { readonly name: string; readonly expression: string }

/** What decides about a login. docs/contract/cel.md#programs */
export type Program = { readonly variables: readonly Variable[]; readonly expression: string }

export type ParsedProgram = {
  readonly variables: readonly { readonly name: string; readonly parsed: Parsed }[]
  readonly main: Parsed
}

const mostText = 64 * 1024
const mostVariables = 100
/** Bytes of a result, and of all shown variables together. */
const mostResult = 1024 * 1024

const claimsKind = kind.mapOf(kind.string, kind.dyn)
const given: Names = new Map<string, kind.Kind>([
  ['claims', claimsKind],
  ['now', kind.timestamp],
  ['operation', kind.string],
])

const variableName = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/

/** Why a program is not accepted, as the caller of a write sees it. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError'
}

/** Parses a program and checks it as a write does. Throws a `ProgramError`. docs/contract/cel.md#programs */
export function checkedProgram(program: Program): ParsedProgram {
  const texts = [
    program.expression,
    ...program.variables.flatMap(({ name, expression }) => [name, expression]),
  ]
  const size = texts.reduce((sum, { length }) => sum + length, 0)
  if (size > mostText) throw tooLarge(`more than ${mostText} characters`)
  if (program.variables.length > mostVariables) throw tooLarge(`more than ${mostVariables} variables`)
  for (const [at, { name }] of program.variables.entries())
    if (!variableName.test(name))
      throw new ProgramError(`variable[${at}]: invalid name "${name.slice(0, 64)}"`)
  const parsed = parsedProgram(program)
  const taken = program.variables.find(({ name }) => given.has(name))
  if (taken !== undefined)
    throw new ProgramError(
      `error type-checking CEL MainProgram: overlapping identifier for name '${taken.name}'`,
    )
  const { expression, source } = parsed.main
  const names = new Map([...given, ...program.variables.map(({ name }) => [name, kind.dyn] as const)])
  explaining('error type-checking CEL MainProgram: ', () => check(expression, source, names))
  return parsed
}

function parsedProgram({ variables, expression }: Program): ParsedProgram {
  const main = explaining('invalid CEL syntax for main expression: ', () => parse(expression))
  const parsed = {
    variables: variables.map(({ name, expression }, at) => {
      const where = `failed to validate variables: variable[${at}].${name}: failed to validate: `
      return {
        name,
        parsed: explaining(`${where}invalid CEL syntax for variable '${name}': `, () => parse(expression)),
      }
    }),
    main,
  }
  const nodes = parsed.variables.reduce((sum, variable) => sum + variable.parsed.nodes, main.nodes)
  if (nodes > mostNodes) throw tooLarge(`more than ${mostNodes} nodes`)
  return parsed
}

const tooLarge = (what: string) => new ProgramError(`cel_program is too large: ${what}`)

function explaining<T>(prefix: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof SizeError) throw tooLarge(error.message)
    if (error instanceof SourceError) throw new ProgramError(prefix + error.message)
    throw error
  }
}

export type Input = {
  readonly claims: StrictObject
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly operation: string
}

/** What a variable was, as JSON, or why it has no value. */
export type ShownVariable = { readonly name: string; readonly value: string; readonly error: string }

export type Evaluated = { readonly variables: readonly ShownVariable[]; readonly outcome: Outcome }

/** `spentMs`: the processor time of this evaluation. With `isTraced`, the values of variables are told. */
type Run = { readonly isTraced: boolean; spentMs(): number }

/**
 * Evaluates a program: all variables in order, whether something uses them or not, then the expression. The first
 * variable that fails ends a login; a traced evaluation goes on with those that do not need it.
 */
export function run(program: ParsedProgram, input: Input, { isTraced, spentMs }: Run): Evaluated {
  const work = new Work(spentMs)
  const values = new Map<string, Value>()
  const results: Named[] = []
  const variables = () => (isTraced ? shownAll(results, spentMs) : [])
  let failed: Outcome | undefined
  try {
    const claims = attempt(() => fromJson(input.claims, work))
    if ('error' in claims) {
      const text = `failed to read the claims: ${claims.error}`
      return { variables: [], outcome: { kind: 'error', variable: '', text } }
    }
    values.set('claims', claims.value)
    values.set('now', new Timestamp(BigInt(input.now) * 1_000_000n))
    values.set('operation', input.operation)
    const scope = new Scope(values)
    for (const [at, { name, parsed }] of program.variables.entries()) {
      const result = attempt(() => evaluate(parsed.expression, scope, work))
      if ('value' in result) values.set(name, result.value)
      else
        failed ??= {
          kind: 'error',
          variable: name,
          text: `failed to evaluate variables: variable[${at}].${name}: ${result.error}`,
        }
      if (failed !== undefined && !isTraced) return { variables: [], outcome: failed }
      results.push({ name, result })
    }
    const result = attempt(() => evaluate(program.main.expression, scope, work))
    const outcome: Outcome =
      'value' in result
        ? withOwnNames(outcomeOf(result.value, new Work(spentMs, mostResult)), work)
        : { kind: 'error', variable: '', text: `failed to evaluate expression: ${result.error}` }
    return { variables: variables(), outcome: failed ?? outcome }
  } catch (error) {
    if (!(error instanceof LimitError)) throw error
    return { variables: variables(), outcome: { kind: 'limit', text: error.message } }
  }
}

/** Refuses a login with a name that several users may have. */
function withOwnNames(outcome: Outcome, work: Work): Outcome {
  const shared = outcome.kind === 'auth' ? sharedName(outcome.auth, work) : undefined
  if (shared === undefined) return outcome
  const text = `the number in ${shared} is beyond 2^53, where ids have no text of their own`
  return { kind: 'error', variable: '', text }
}

type Result = { readonly value: Value } | { readonly error: string }
type Named = { readonly name: string; readonly result: Result }

function attempt(work: () => Value): Result {
  try {
    return { value: work() }
  } catch (error) {
    if (error instanceof CelError) return { error: error.message }
    throw error
  }
}

const longestShown = 256

/** To show them is no part of the evaluation, so it has limits of its own. */
function shownAll(results: readonly Named[], spentMs: () => number): ShownVariable[] {
  const began = spentMs()
  const work = new Work(() => spentMs() - began, mostResult)
  return results.map(({ name, result }) =>
    'error' in result
      ? { name, value: '', error: result.error }
      : { name, value: shown(result.value, work), error: '' },
  )
}

/** As JSON; what has no JSON, or too much, by its type. */
function shown(value: Value, work: Work): string {
  try {
    return jsonText(value, work).slice(0, longestShown)
  } catch (error) {
    if (!(error instanceof CelError || error instanceof LimitError)) throw error
    return typeName(value)
  }
}
