import type { FieldReading } from '../../lib/text/fields.ts'
import { edgeGlobMatches } from '../../lib/text/glob.ts'
import { isJsonNumber, isJsonObject, type JsonValue } from '../../lib/text/json.ts'
import { canonicalName } from '../identity/canonical-name.ts'
import { foldedName } from '../identity/same-name.ts'
import type { Grants, ParameterRules } from './grants.ts'

/** The fields of a request: the body of a write, the query of a read. */
export type RequestFields = Readonly<Record<string, unknown>>

/** How a path reads its fields, by name. Undefined if it does not say. */
export type Readings = (name: string) => FieldReading | undefined

/** How values are compared. `wholly`: as a whole only, for policies that were written for that. */
type Comparison = { readonly readings?: Readings | undefined; readonly wholly?: boolean | undefined }

/**
 * Whether the parameter rules allow these fields.
 * docs/contract/tokens-and-policies.md#parameters-wrapping-expiration
 */
export function parametersAllow(
  { requiredParameters, deniedParameters, allowedParameters }: Grants,
  fields: RequestFields,
  { readings, wholly = false }: Comparison = {},
): boolean {
  if (requiredParameters.some((name) => !Object.hasOwn(fields, name.toLowerCase()))) return false
  if (deniedParameters === undefined && allowedParameters === undefined) return true
  const sent = Object.keys(fields).map((name) =>
    wholly ? wholeField(name, fields[name]) : sentField(name, fields[name], readings?.(name)),
  )
  if (sent.length === 0) return true
  if (deniedParameters !== undefined && sent.some((field) => isDenied(deniedParameters, field))) return false
  if (allowedParameters === undefined || (allowedParameters.size === 1 && allowedParameters.has('*')))
    return true
  return sent.every((field) => isAllowed(allowedParameters, field))
}

/** A field as sent. `parts` are its elements if it is, or may be read as, a list. */
type SentField = {
  readonly name: string
  readonly value: unknown
  readonly parts: readonly unknown[]
  readonly isCommaText: boolean
  /** Names of policies are compared in the form in which they take effect. */
  readonly namesPolicies: boolean
  /** Whether the path makes texts, or numbers out of texts, of all elements. */
  readonly readsTexts: boolean
}

const wholeField = (name: string, value: unknown): SentField => ({
  name: name.toLowerCase(),
  value,
  parts: [value],
  isCommaText: false,
  namesPolicies: false,
  readsTexts: false,
})

function sentField(name: string, value: unknown, reading: FieldReading | undefined): SentField {
  const mayBeCommaList = reading === 'comma list' || reading === undefined
  const isCommaText = mayBeCommaList && typeof value === 'string' && value.includes(',')
  const parts = isCommaText ? value.split(',').filter((piece) => piece.trim() !== '') : elementsOf(value)
  const lower = name.toLowerCase()
  return {
    name: lower,
    value,
    parts: parts.map((part) => readPart(part, reading)),
    isCommaText,
    namesPolicies: policyFields.has(lower),
    readsTexts: reading === 'comma list' || reading === 'list',
  }
}

const elementsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])

/** What the path makes of an element, so that no spelling of it hides it. */
function readPart(part: unknown, reading: FieldReading | undefined): unknown {
  if (reading === 'plain') return part
  if (typeof part === 'string') return part.trim()
  if (reading === undefined) return part
  if (typeof part === 'boolean') return part ? '1' : '0'
  return isJsonNumber(part) ? part.rawJSON : part
}

function isDenied(denied: ParameterRules, field: SentField): boolean {
  if (denied.has('*')) return true
  const values = denied.get(field.name)
  if (values === undefined || values.length === 0) return values !== undefined
  const entries = new Entries(values, field.namesPolicies ? canonicalName : undefined)
  if (field.isCommaText && entries.match(field.parts)) return true
  return entries.match(field.value) || field.parts.some((part) => entries.match(part, field.readsTexts))
}

function isAllowed(allowed: ParameterRules, field: SentField): boolean {
  const values = allowed.get(field.name)
  if (values === undefined || values.length === 0) return values !== undefined || allowed.has('*')
  const entries = new Entries(values, field.namesPolicies ? grantedName : undefined)
  if (field.isCommaText ? entries.haveExactly(field.value) : entries.match(field.value)) return true
  return field.parts.every((part) => entries.match(part, field.readsTexts))
}

const policyFields: ReadonlySet<string> = new Set([
  'policies',
  'token_policies',
  'identity_policies',
  'allowed_policies',
  'disallowed_policies',
  'allowed_policies_glob',
  'disallowed_policies_glob',
])

const grantedName = (name: string): string => foldedName(name.trim())

/** The values of a rule, in which patterns apply to texts that are not inside a list or an object. */
class Entries {
  readonly #canonical: ((text: string) => string) | undefined
  readonly #texts = new Set<string>()
  readonly #patterns: string[] = []
  readonly #others: unknown[] = []

  constructor(values: readonly JsonValue[], canonical: ((text: string) => string) | undefined) {
    this.#canonical = canonical
    for (const value of values) {
      const entry = this.#form(value)
      if (typeof entry !== 'string') this.#others.push(entry)
      else if (isPattern(entry)) this.#patterns.push(entry)
      else this.#texts.add(entry)
    }
  }

  /** Whether the value equals an entry that is not a pattern. */
  haveExactly(value: unknown): boolean {
    const form = this.#form(value)
    return typeof form === 'string' && this.#texts.has(form)
  }

  /** `isRead`: the value is what a list of texts or of numbers has as an element. */
  match(value: unknown, isRead = false): boolean {
    const form = this.#form(value)
    if (typeof form !== 'string') return this.#others.some((entry) => isDeepEqual(entry, form))
    if (this.#texts.has(form) || this.#patterns.some((pattern) => edgeGlobMatches(pattern, form))) return true
    return isRead && this.#others.some((entry) => isSameScalar(entry, form))
  }

  /** Of a list, that of its elements. */
  #form(value: unknown): unknown {
    const canonical = this.#canonical
    if (canonical === undefined) return value
    if (typeof value === 'string') return canonical(value)
    return Array.isArray(value)
      ? value.map((element: unknown) => (typeof element === 'string' ? canonical(element) : element))
      : value
  }
}

const isPattern = (entry: string): boolean =>
  entry.length > 1 && (entry.startsWith('*') || entry.endsWith('*'))

/** Whether a number or boolean of a policy is what the text stands for. */
function isSameScalar(entry: unknown, text: string): boolean {
  if (typeof entry === 'boolean') return text === (entry ? '1' : '0')
  return isJsonNumber(entry) && text !== '' && equalsNumber(entry.rawJSON, Number(text))
}

/** Recurses no deeper than the policy's value, whose depth is limited. */
function isDeepEqual(expected: unknown, value: unknown): boolean {
  if (isJsonNumber(expected)) return equalsNumber(expected.rawJSON, value)
  if (Array.isArray(expected)) {
    return (
      Array.isArray(value) &&
      value.length === expected.length &&
      expected.every((item, index) => isDeepEqual(item, value[index]))
    )
  }
  if (expected === null || typeof expected !== 'object') return expected === value
  if (!isJsonObject(value)) return false
  const entries = Object.entries(expected)
  return (
    entries.every(([key, item]) => Object.hasOwn(value, key) && isDeepEqual(item, value[key])) &&
    Object.keys(value).length === entries.length
  )
}

/** Compares by value, not by spelling; integers without rounding to a double. */
function equalsNumber(expected: string, value: unknown): boolean {
  const text = typeof value === 'number' ? String(value) : isJsonNumber(value) ? value.rawJSON : undefined
  if (text === undefined) return false
  if (text === expected) return true
  const isWhole = (digits: string) => /^-?\d+$/.test(digits)
  return Number(expected) === Number(text) && !(isWhole(expected) && isWhole(text) && Number(text) !== 0)
}
