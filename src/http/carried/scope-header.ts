import { Buffer } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { scopeFields } from '../../core/tokens/store/scope.ts'
import { refuse } from '../../errors.ts'
import type { JsonLimits, JsonValue } from '../../lib/text/json.ts'
import { scopeHeader, valuesOf } from '../exchange/request-headers.ts'
import { jsonObjectIn } from './inline-headers.ts'

const refused = (why: string) => refuse('invalid', `X-Gatehouse-Scope: ${why}`)

/**
 * The fields of a scope that come with a JWT as the token. A scope is never ignored: throws `invalid` for what is none.
 * docs/contract/scopes.md#with-a-jwt-as-the-token
 */
export function sentScope(request: IncomingMessage, limits: JsonLimits): Readonly<Record<string, JsonValue>> {
  const [text, ...more] = valuesOf(request, scopeHeader)
  if (text === undefined) return {}
  if (more.length > 0) throw refused('expected exactly one value')
  const fields = jsonObjectIn(Buffer.from(text, 'latin1'), limits, { isUnique: true })
  if (fields === undefined) throw refused('expected a JSON object')
  const names = Object.keys(fields)
  if (Object.values(fields).every((value) => value === null)) throw refused('it names no limit')
  if (!names.every((name) => Object.hasOwn(scopeFields, name)))
    throw refused(`it may have ${Object.keys(scopeFields).join(', ')}`)
  return fields
}

/** Throws `invalid` for a scope that does not come with a JWT. */
export function checkNoScope(request: IncomingMessage): void {
  if (request.headers[scopeHeader] !== undefined) throw refused('the token is no JWT')
}
