import { typedDuration } from '../../../components/time.tsx'
import { programOf } from './program.ts'

/** The fields of an object as the API names them. */
export type Values = Readonly<Record<string, unknown>>

/**
 * How a field is edited. `claims` maps a claim to the values that are accepted, `mappings` one
 * text to another; `pems` are several PEM blocks in one text, and a
 * `program` is that of a CEL role.
 */
type Kind =
  | 'text'
  | 'secret'
  | 'long'
  | 'number'
  | 'duration'
  | 'switch'
  | 'list'
  | 'policies'
  | 'claims'
  | 'mappings'
  | 'pems'
  | 'json'
  | 'program'

export type FieldSpec = {
  readonly name: string
  readonly kind: Kind
  /** The JSON that an empty text stands for; `{}` by default. */
  readonly empty?: unknown
  /** The only values, the first of which is the default. */
  readonly options?: readonly string[]
  readonly isRequired?: boolean
  /** Whether it is under "More". */
  readonly isMore?: boolean
  /** Whether it means anything for these values. */
  readonly when?: (form: Values) => boolean
}

/** A duration in the largest unit that says it exactly: `15m`. */
function durationText(seconds: unknown): string {
  if (typeof seconds !== 'number') return typeof seconds === 'string' ? seconds : ''
  return seconds === 0 ? '' : typedDuration(seconds)
}

/** A value as it is typed: texts for everything that is typed as text. */
function typed({ kind, options }: FieldSpec, value: unknown): unknown {
  if (options !== undefined) return typeof value === 'string' && value !== '' ? value : options[0]
  if (kind === 'switch') return value === true
  if (kind === 'duration') return durationText(value)
  if (kind === 'number') return value === undefined || value === 0 ? '' : String(value)
  if (kind === 'list' || kind === 'policies') return Array.isArray(value) ? value : []
  if (kind === 'pems') return Array.isArray(value) ? value.join('\n') : ''
  if (kind === 'program') return programOf(value)
  if (kind === 'claims' || kind === 'mappings') return value ?? {}
  if (kind === 'json') return isEmpty(value) ? '' : JSON.stringify(value, null, 2)
  return typeof value === 'string' ? value : ''
}

/** The values of a form. */
export const formOf = (specs: readonly FieldSpec[], values: Values): Values =>
  Object.fromEntries(specs.map((spec) => [spec.name, typed(spec, values[spec.name])]))

/** A typed value as a write sends it. */
function sent({ kind, options, empty = {} }: FieldSpec, value: unknown): unknown {
  if (options !== undefined || typeof value !== 'string') return value
  if (kind === 'duration') return value.trim() === '' ? 0 : value.trim()
  if (kind === 'number') return value.trim() === '' ? 0 : Number(value)
  if (kind === 'json') return value.trim() === '' ? empty : JSON.parse(value)
  if (kind === 'pems') return pemsOf(value)
  return kind === 'text' ? value.trim() : value
}

/** The blocks of a PEM text; a text that has none is one that the server refuses. */
const pemsOf = (typed: string): readonly string[] =>
  typed.match(/-----BEGIN [^-]+-----[^-]*-----END [^-]+-----/g) ?? (typed.trim() === '' ? [] : [typed])

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === false ||
  value === 0 ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

type Edited = {
  readonly specs: readonly FieldSpec[]
  /** As it was read; undefined for a new object. */
  readonly stored: Values | undefined
  readonly form: Values
}

/** The fields that a write must send: those that differ, and those that it would reset if they were absent. */
export function changedFields({ specs, stored, form }: Edited, always: readonly string[]): Values {
  const before = formOf(specs, stored ?? {})
  const isSent = (spec: FieldSpec) =>
    always.includes(spec.name) || (isShown(spec, form) && !isSame(form[spec.name], before[spec.name]))
  return Object.fromEntries(
    specs.filter(isSent).map((spec) => [spec.name, sent(spec, form[spec.name])] as const),
  )
}

/** All fields of an object that a write replaces as a whole, also those that the form does not have. */
export function allFields({ specs, stored = {}, form }: Edited): Values {
  const known = specs.filter(({ name }) => name in stored || !isEmpty(form[name]))
  const isLeft = (spec: FieldSpec) => spec.kind === 'secret' && isEmpty(form[spec.name])
  return {
    ...stored,
    ...Object.fromEntries(
      known.filter((spec) => !isLeft(spec)).map((spec) => [spec.name, sent(spec, form[spec.name])] as const),
    ),
  }
}

export const isShown = ({ when }: FieldSpec, form: Values): boolean => when?.(form) ?? true

/** The claims of which no value is accepted, which is nothing that anybody means. */
export const unfilledClaims = (specs: readonly FieldSpec[], form: Values): string[] =>
  specs
    .filter((spec) => spec.kind === 'claims' && isShown(spec, form))
    .flatMap(({ name }) =>
      Object.entries(Object(form[name])).flatMap(([claim, value]) =>
        value === '' || (Array.isArray(value) && value.length === 0) ? [claim] : [],
      ),
    )
