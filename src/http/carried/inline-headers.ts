import { Buffer, isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { refuse } from '../../errors.ts'
import { headerText } from '../../lib/net/header-text.ts'
import {
  isJsonNumber,
  type JsonLimits,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
  parseJson,
  stringifyJson,
} from '../../lib/text/json.ts'
import { firstValueOf, inlineHeader, scopeHeader, tokenOf, valuesOf } from '../exchange/request-headers.ts'

/** A login as the headers of another request describe it. */
export type InlineLogin = {
  /** As sent, relative to its namespace, whose names it may begin with. */
  readonly path: string
  /** The header that names the namespace of the login. */
  readonly namespace: string
  /** What it does to the path: a login that reads has its fields in the query otherwise. */
  readonly operation: 'create' | 'update' | 'read'
  readonly fields: Readonly<Record<string, JsonValue>>
}

export const inlinePrefix = 'failed to perform inline authentication: '
const refused = (why: string) => refuse('invalid', inlinePrefix + why)

/** Whether the headers of a request carry a login. */
export const hasInlineLogin = ({ headers }: IncomingMessage): boolean =>
  headers[inlineHeader.path] !== undefined

/**
 * Reads the login in the headers of a request. Throws the refusals of docs/contract/inline-login.md#refusals in their
 * order. `isNamespace`: whether there is a namespace of this name.
 */
export function readInlineLogin(
  request: IncomingMessage,
  { limits, isNamespace }: { limits: JsonLimits; isNamespace(named: string): boolean },
): InlineLogin {
  const [path = '', ...more] = valuesOf(request, inlineHeader.path)
  if (more.length > 0) throw refused('expected exactly one value for X-Vault-Inline-Auth-Path')
  if (tokenOf(request) !== '') throw refused('cannot layer inline authentication with token authentication')
  if (request.headers[scopeHeader] !== undefined)
    throw refused('X-Gatehouse-Scope is for a JWT as the token; here, its fields are parameters')
  const operation = operationOf(valuesOf(request, inlineHeader.operation))
  const namespace = namespaceOf(request)
  if (!isNamespace(namespace)) throw refused('inline auth namespace was not found')
  return { path: headerText(path).trim(), namespace, operation, fields: fieldsOf(request, limits) }
}

function operationOf([operation = 'update', ...more]: readonly string[]): InlineLogin['operation'] {
  if (more.length > 0) throw refused('expected exactly one value for X-Vault-Inline-Auth-Operation')
  if (operation === 'create' || operation === 'update' || operation === 'read') return operation
  throw refused('expected a valid login operation in X-Vault-Inline-Auth-Operation')
}

function namespaceOf(request: IncomingMessage): string {
  const [namespace, ...more] = valuesOf(request, inlineHeader.namespace)
  if (more.length > 0) throw refused('expected at most one value for X-Vault-Inline-Auth-Namespace')
  return namespace === undefined ? firstValueOf(request, 'x-vault-namespace') : namespace.trim()
}

/** The parameters in the order in which they were sent; what stands behind the last dash of a name means nothing. */
function fieldsOf({ rawHeaders }: IncomingMessage, limits: JsonLimits): Record<string, JsonValue> {
  const fields: JsonObject = Object.create(null)
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? ''
    if (!name.startsWith(inlineHeader.parameter)) continue
    const { key, value } = parameterOf(rawHeaders[at + 1] ?? '', limits)
    const before = fields[key]
    const isOther = before !== undefined && stringifyJson(before) !== stringifyJson(value)
    if (seen.has(name) || isOther) throw refused('expected exactly one value for each auth header parameter')
    seen.add(name)
    fields[key] = value
  }
  return fields
}

const base64Url = /^[A-Za-z0-9_-]*$/

/** The field in the base64url text of a JSON object that has its name and its value. */
function parameterOf(text: string, limits: JsonLimits): { key: string; value: JsonValue } {
  if (!base64Url.test(text) || text.length % 4 === 1)
    throw refused('failed raw url-safe base64 decoding header value')
  const { key, value, ...others } = objectIn(Buffer.from(text, 'base64url'), limits)
  if (key === undefined) throw refused('decoded header lacked `key` field')
  if (typeof key !== 'string') throw refused('decoded header had incorrect type for `key` field')
  if (value === undefined) throw refused('decoded header lacked `value` field')
  for (const _other in others) throw refused('unexpected field in decoded request parameter')
  return { key, value }
}

function objectIn(bytes: Buffer, limits: JsonLimits): JsonObject {
  const object = jsonObjectIn(bytes, limits)
  if (object === undefined) throw refused('failed json decoding header value')
  return object
}

/** The JSON object that these bytes are; `null` is an empty one. Undefined if they are none, or with `isUnique`, if a member is there twice. */
export function jsonObjectIn(
  bytes: Buffer,
  limits: JsonLimits,
  { isUnique = false } = {},
): JsonObject | undefined {
  const value = isUtf8(bytes) ? parsed(bytes, limits, isUnique) : undefined
  if (value === null) return {}
  return typeof value === 'object' && !Array.isArray(value) && !isJsonNumber(value) ? value : undefined
}

/** Undefined for what is no JSON, and for text with something behind it. */
function parsed(bytes: Buffer, limits: JsonLimits, isUnique: boolean): JsonValue | undefined {
  try {
    return parseJson(bytes, limits, { isAlone: true, isUnique })
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined
    throw error
  }
}
