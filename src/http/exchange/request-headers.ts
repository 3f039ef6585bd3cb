import type { IncomingMessage } from 'node:http'
import { refuse } from '../../errors.ts'
import { headerText } from '../../lib/net/header-text.ts'
import { parseDuration } from '../../lib/text/go-duration.ts'

/** The fields that may be read after a request's head alone has been looked at. */
const usedFields = [
  ...(['accept', 'accept-encoding', 'authorization', 'content-length', 'content-type'] as const),
  ...(['if-match', 'if-none-match', 'transfer-encoding', 'x-vault-mfa'] as const),
  ...(['x-vault-namespace', 'x-vault-token', 'x-vault-wrap-format', 'x-vault-wrap-ttl'] as const),
  'x-gatehouse-override',
  'x-gatehouse-role',
  'x-gatehouse-scope',
] as const
/** The scope of a JWT that is the token. docs/contract/scopes.md#with-a-jwt-as-the-token */
export const scopeHeader = 'x-gatehouse-scope' satisfies (typeof usedFields)[number]
export type UsedField = (typeof usedFields)[number]
const used = new Set<string>(usedFields)

/** Headers of a login that another request carries, in lower case; the names of parameters begin with the last one. */
export const inlineHeader = {
  path: 'x-vault-inline-auth-path',
  namespace: 'x-vault-inline-auth-namespace',
  operation: 'x-vault-inline-auth-operation',
  parameter: 'x-vault-inline-auth-parameter-',
} as const

/** Whether a header, in lower case, belongs to a login that the request carries. */
export const isOfInlineLogin = (name: string): boolean => name.startsWith('x-vault-inline-auth-')

/** Whether a header, in lower case, is a token or belongs to a login that the request carries. */
export const isCredential = (name: string): boolean =>
  name === 'x-vault-token' || name === 'authorization' || isOfInlineLogin(name)

const isUsed = (name: string): boolean => used.has(name) || isOfInlineLogin(name)

/**
 * Drops all other fields of a request that waits, but those that `isKept` names, in lower case. Returns the bytes that
 * this frees. In place: Node's messages of HTTP/2 hold both lists themselves, and read their method from one.
 */
export function dropUnusedFields(request: IncomingMessage, isKept: (name: string) => boolean): number {
  const before = headBytes(request)
  const { headers, rawHeaders } = request
  const kept: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2)
    const lower = name.toLowerCase()
    if (isUsed(lower) || isKept(lower)) kept.push(name, value)
  }
  rawHeaders.splice(0, rawHeaders.length, ...kept)
  for (const name of Object.keys(headers)) if (!isPseudo(name) && !isUsed(name)) delete headers[name]
  return before - headBytes(request)
}

/** Drops all fields of a request that has its response. */
export function forgetHead(request: IncomingMessage): void {
  request.rawHeaders.length = 0
  if (request.httpVersionMajor === 1) request.headers = {}
  else for (const name of Object.keys(request.headers)) if (!isPseudo(name)) delete request.headers[name]
}

/** RFC 9113 §8.3 */
const isPseudo = (name: string): boolean => name.startsWith(':')

/** What Node.js keeps beside the text of a field: its places in a list and in an object. In bytes. */
const fieldBytes = 200

/** The memory that the head of a request takes, about. Its target is kept twice: by the call, and by Node's parser. */
export const headBytes = ({ call, rawHeaders }: IncomingMessage): number =>
  2 * (call?.targetBytes ?? 0) + textBytes(rawHeaders) + (rawHeaders.length / 2) * fieldBytes

/** Node.js decodes each byte of a header as one character. */
export function textBytes(rawHeaders: readonly string[]): number {
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length
  return bytes
}

/** Values of every header of that name as sent; `name` in lower case. Node joins or drops repeated ones. */
export function valuesOf(request: IncomingMessage, name: string): string[] {
  const values: string[] = []
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    if (request.rawHeaders[index]?.toLowerCase() === name) values.push(request.rawHeaders[index + 1] ?? '')
  }
  return values
}

/**
 * The first value of a header that should occur once, as sent; empty if absent. Some clients, and proxies
 * before them, send one twice.
 */
export function firstValueOf(request: IncomingMessage, name: string): string {
  const sent = request.headers[name]
  if (sent === undefined) return ''
  return sent.includes(',') ? (valuesOf(request, name)[0] ?? '') : String(sent)
}

/**
 * The token of a request: `X-Vault-Token`, else the first `Authorization: Bearer`; empty if neither.
 * docs/contract/http.md#headers
 */
export function tokenOf(request: IncomingMessage): string {
  const token = headerText(firstValueOf(request, 'x-vault-token')).trim()
  if (token !== '') return token
  const authorization = request.headers.authorization
  if (authorization === undefined) return ''
  const bearer = authorization.startsWith('Bearer ')
    ? authorization
    : valuesOf(request, 'authorization').find((value) => value.startsWith('Bearer '))
  return bearer === undefined ? '' : headerText(bearer.slice(7)).trim()
}

/**
 * The wrapping TTL requested with `X-Vault-Wrap-TTL` in seconds; 0 for none. docs/contract/http.md#headers
 */
export function wrapTtlOf(request: IncomingMessage): number {
  const sent = headerText(firstValueOf(request, 'x-vault-wrap-ttl'))
  if (sent === '') return 0
  const ttl = parseDuration(sent, { signed: true })
  if ('error' in ttl) throw refuse('invalid', `error parsing X-Vault-Wrap-TTL header: ${ttl.error}`)
  if (ttl.seconds < 0)
    throw refuse('invalid', 'error parsing X-Vault-Wrap-TTL header: requested wrap ttl cannot be negative')
  // a fraction of a second counts too
  return ttl.seconds === 0 && /[1-9]/.test(sent) ? 0.001 : ttl.seconds
}

/** What comes with a wrapping token, if its caller asked for a JWT. docs/contract/wrapping.md#wrapping */
export const wrapFormatWarnings = (request: IncomingMessage): string[] =>
  firstValueOf(request, 'x-vault-wrap-format') === 'jwt'
    ? ['X-Vault-Wrap-Format "jwt" is not supported; the token is an ordinary one']
    : []

/**
 * Checks the form of `X-Vault-MFA`; no method that it could serve is configured. Returns true if it was sent.
 */
export function checkMfaHeader(request: IncomingMessage): boolean {
  if (request.headers['x-vault-mfa'] === undefined) return false
  for (const value of valuesOf(request, 'x-vault-mfa')) {
    if (value === '') continue
    const colon = value.indexOf(':')
    const method = colon < 0 ? value : value.slice(0, colon)
    if (method === '')
      throw refuse(
        'invalid',
        'failed to parse X-Vault-MFA header: invalid data in header "X-Vault-MFA"; missing method name or ID',
      )
    if (colon >= 0 && colon === value.length - 1) {
      throw refuse(
        'invalid',
        'failed to parse X-Vault-MFA header: invalid data in header "X-Vault-MFA"; missing method value',
      )
    }
  }
  return true
}
