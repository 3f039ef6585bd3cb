import { refuse } from '../../errors.ts'
import { systemRandom } from '../../lib/system/random.ts'
import { parseDuration } from '../../lib/text/go-duration.ts'
import { quoted } from '../../lib/text/go-text.ts'
import {
  isJsonNumber,
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
  jsonNumber,
  parseLossless,
} from '../../lib/text/json.ts'
import type { Entity } from '../identity/entities/entity.ts'
import { parseTemplate } from '../policies/templates.ts'
import type { TokenLogin } from '../tokens/store/token.ts'

/** Claims that only the server sets. docs/contract/identity-tokens.md#templates */
const reservedClaims = [
  'iat',
  'aud',
  'exp',
  'iss',
  'sub',
  'namespace',
  'nonce',
  'auth_time',
  'at_hash',
  'c_hash',
]

const isReserved = (name: string): boolean => reservedClaims.includes(name)

const maxTemplateLength = 65_536
const maxDirectives = 256
const maxDepth = 64

export type ClaimContext = {
  readonly entity: Pick<Entity, 'id' | 'name' | 'metadata' | 'aliases'>
  /** Direct and inherited groups. */
  readonly groups: readonly { readonly id: string; readonly name: string }[]
  /** Of the login of the caller's token; undefined if it stems from none. */
  readonly login?: TokenLogin | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Computes the value of a `{{ … }}`. */
type Directive = (context: ClaimContext) => JsonValue

/**
 * A parsed template. `claims` is JSON in which certain strings are placeholders for directives: an object, or
 * the placeholder of a directive that returns one.
 */
export type ClaimTemplate = {
  readonly claims: JsonValue
  readonly directives: ReadonlyMap<string, Directive>
}

/**
 * Parses the template of a role: a JSON object whose values may be `{{ … }}`. The JSON is parsed before any
 * value is filled in, and a directive replaces a whole value, so no one's name can add a claim. An empty text
 * has no claims. Throws `invalid`. docs/contract/identity-tokens.md#templates
 */
export function parseClaimTemplate(text: string): ClaimTemplate {
  if (text.length > maxTemplateLength)
    throw refuse('invalid', `error parsing template: it is longer than ${maxTemplateLength} characters`)
  const { literals, names } = directivesOf(text)
  // random, so that no text in the template can pass for a placeholder
  const secret = systemRandom.uuid()
  const placeholders = names.map((_, index) => `${secret}:${index}`)
  const directives = new Map(names.map((name, index) => [placeholders[index] ?? '', directiveOf(name)]))
  const json = literals
    .map(
      (literal, index) => literal + (index < placeholders.length ? JSON.stringify(placeholders[index]) : ''),
    )
    .join('')
  const claims = text === '' ? {} : parsed(json)
  if (!isValid(claims, directives, maxDepth))
    throw badJson(`a directive can only replace a value, and nesting is limited to ${maxDepth} levels`)
  if (!isJsonObject(fillPlaceholders(claims, directives, emptyContext)))
    throw badJson('it must be a JSON object')
  const reserved = isJsonObject(claims) ? Object.keys(claims).find(isReserved) : undefined
  if (reserved !== undefined)
    throw refuse(
      'invalid',
      `top level key ${quoted(reserved)} not allowed. Restricted keys: ${reservedClaims.join(', ')}`,
    )
  return { claims, directives }
}

/**
 * The claims for an entity. A missing value becomes an empty string or object. Reserved claims are removed: a
 * directive that replaces the whole object may return them.
 */
export function fillClaims({ claims, directives }: ClaimTemplate, context: ClaimContext): JsonObject {
  const filled = fillPlaceholders(claims, directives, context)
  return isJsonObject(filled)
    ? Object.fromEntries(Object.entries(filled).filter(([name]) => !isReserved(name)))
    : {}
}

function directivesOf(text: string): { literals: readonly string[]; names: readonly string[] } {
  const template = parseTemplate(text)
  if (template === 'unbalanced')
    throw refuse('invalid', 'error parsing template: unbalanced templating characters')
  if (template === undefined) return { literals: [text], names: [] }
  if (template.names.length > maxDirectives)
    throw refuse('invalid', `error parsing template: it has more than ${maxDirectives} directives`)
  return template
}

const emptyContext: ClaimContext = {
  entity: { id: '', name: '', metadata: null, aliases: [] },
  groups: [],
  now: 0,
}

const badJson = (detail: string) => refuse('invalid', `error parsing template JSON: ${detail}`)

function parsed(json: string): JsonValue {
  try {
    return parseLossless(json)
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw badJson(error.message)
    throw error
  }
}

/** Whether no member name is a placeholder and no value is nested too deeply. */
function isValid(value: JsonValue, directives: ReadonlyMap<string, Directive>, depthLeft: number): boolean {
  if (typeof value !== 'object' || value === null || isJsonNumber(value)) return true
  if (depthLeft === 0) return false
  const names = Array.isArray(value) ? [] : Object.keys(value)
  return (
    !names.some((name) => directives.has(name)) &&
    Object.values(value).every((item) => isValid(item, directives, depthLeft - 1))
  )
}

/** Replaces the placeholders. Members may have any name, including `__proto__`. */
function fillPlaceholders(
  value: JsonValue,
  directives: ReadonlyMap<string, Directive>,
  context: ClaimContext,
): JsonValue {
  if (typeof value === 'string') return directives.get(value)?.(context) ?? value
  if (Array.isArray(value)) return value.map((item) => fillPlaceholders(item, directives, context))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, fillPlaceholders(item, directives, context)]),
  )
}

const aliasPrefix = 'identity.entity.aliases.'
const entityPrefix = 'identity.entity.'
const loginPrefix = 'login.'

function directiveOf(name: string): Directive {
  const directive = name.startsWith(aliasPrefix)
    ? aliasDirective(name.slice(aliasPrefix.length))
    : name.startsWith(entityPrefix)
      ? entityDirective(name.slice(entityPrefix.length))
      : name.startsWith(loginPrefix)
        ? loginDirective(name.slice(loginPrefix.length))
        : timeDirective(name)
  if (directive === undefined)
    throw refuse(
      'invalid',
      'error parsing template: no value could be found for one of the template directives',
    )
  return directive
}

function entityDirective(field: string): Directive | undefined {
  switch (field) {
    case 'id':
      return ({ entity }) => entity.id
    case 'name':
      return ({ entity }) => entity.name
    case 'groups.names':
      return ({ groups }) => groups.map(({ name }) => name)
    case 'groups.ids':
      return ({ groups }) => groups.map(({ id }) => id)
    default: {
      const value = metadataValue(field, 'metadata')
      return value && (({ entity }) => value(entity.metadata))
    }
  }
}

function aliasDirective(selector: string): Directive | undefined {
  const dot = selector.indexOf('.')
  if (dot < 0) return undefined
  const [accessor, field] = [selector.slice(0, dot), selector.slice(dot + 1)]
  const aliasOf = ({ entity }: ClaimContext) =>
    entity.aliases.find(({ mount_accessor }) => mount_accessor === accessor)
  if (field === 'id') return (context) => aliasOf(context)?.id ?? ''
  if (field === 'name') return (context) => aliasOf(context)?.name ?? ''
  const own = metadataValue(field, 'metadata')
  if (own !== undefined) return (context) => own(aliasOf(context)?.metadata)
  const custom = metadataValue(field, 'custom_metadata')
  return custom && ((context) => custom(aliasOf(context)?.custom_metadata))
}

function loginDirective(field: string): Directive | undefined {
  const value = metadataValue(field, 'metadata')
  return value && (({ login }) => value(login?.metadata))
}

type Metadata = Readonly<Record<string, string>> | null | undefined

/** `metadata` is the whole object, `metadata.<key>` one value. */
function metadataValue(field: string, name: string): ((metadata: Metadata) => JsonValue) | undefined {
  if (field === name) return (metadata) => ({ ...metadata })
  if (!field.startsWith(`${name}.`)) return undefined
  const key = field.slice(name.length + 1)
  return (metadata) => (metadata && Object.hasOwn(metadata, key) ? (metadata[key] ?? '') : '')
}

function timeDirective(name: string): Directive | undefined {
  if (name === 'time.now') return ({ now }) => secondsAt(now, 0)
  const sign = name.startsWith('time.now.plus.') ? 1 : name.startsWith('time.now.minus.') ? -1 : undefined
  if (sign === undefined) return undefined
  const duration = parseDuration(name.slice((sign === 1 ? 'time.now.plus.' : 'time.now.minus.').length))
  if ('error' in duration) return undefined
  return ({ now }) => secondsAt(now, sign * duration.seconds)
}

const secondsAt = (now: number, shift: number): JsonValue =>
  jsonNumber(String(Math.floor(now / 1000) + shift))
