import { isUtf8 } from 'node:buffer'
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { comparing, discreetRefusal, type Refusal } from '../../logins/refusals/refusal.ts'
import { ownMember, parseStrictObject, type StrictObject } from './strict-json.ts'

/**
 * The parts of a compact JWS. Nothing is trusted yet: the signature is not checked and the payload is not
 * parsed.
 */
export type Jws = {
  /** The header's `alg`; "" if absent. May be unsupported. */
  readonly algorithm: string
  /** The header's `kid`; "" if absent. */
  readonly keyId: string
  /** The header's `typ`, whatever it is. */
  readonly type: unknown
  /** Header and payload as they are in the token. RFC 7515 §5.1 */
  readonly signedText: string
  readonly payload: Buffer
  readonly signature: Buffer
}

/** Why a text is not a JWS; follows `malformed jwt: `. */
export type MalformedJws = { readonly malformed: string }

export type JwsLimits = {
  /** Characters of the whole token; 0 means no limit. */
  readonly maxTokenSize: number
}

const maxKeyIdSize = 4096
const notTokenText = /[^A-Za-z0-9_.-]/
const whiteSpace = /\p{White_Space}/gu
const notBase64Url = /[^A-Za-z0-9_-]/
const base64UrlDigits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * Parses the compact serialisation only. Sizes are checked before any work. Header members that name or carry
 * keys (`jwk`, `jku`, `x5u`, `x5c`) are ignored; `crit` is refused. docs/contract/jwt.md#login-in-this-order,
 * docs/contract/jwt.md#limits
 */
export function parseJws(text: string, limits: JwsLimits): Jws | MalformedJws {
  if (limits.maxTokenSize > 0 && text.length > limits.maxTokenSize) return { malformed: 'token is too long' }
  const token = notTokenText.test(text) ? text.replace(whiteSpace, '') : text
  const parts = threeParts(token)
  if (parts === undefined) return { malformed: 'go-jose/go-jose: compact JWS format must have three parts' }
  const [header, payload, signature] = parts
  const members = readHeader(header)
  if ('malformed' in members) return members
  const decoded = { payload: decodeBase64Url(payload), signature: decodeBase64Url(signature) }
  if (typeof decoded.payload === 'number') return illegalBase64(decoded.payload)
  if (typeof decoded.signature === 'number') return illegalBase64(decoded.signature)
  return {
    ...members,
    signedText: token.slice(0, header.length + 1 + payload.length),
    payload: decoded.payload,
    signature: decoded.signature,
  }
}

const illegalBase64 = (at: number): MalformedJws => ({ malformed: `illegal base64 data at input byte ${at}` })

function threeParts(token: string): [string, string, string] | undefined {
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  if (first < 0 || second < 0 || token.indexOf('.', second + 1) >= 0) return undefined
  return [token.slice(0, first), token.slice(first + 1, second), token.slice(second + 1)]
}

/**
 * Accepts only canonical base64url; otherwise returns the position of the first wrong character. RFC 7515 §2,
 * RFC 4648 §3.5.
 */
function decodeBase64Url(text: string): Buffer | number {
  const wrong = text.search(notBase64Url)
  if (wrong >= 0) return wrong
  const rest = text.length % 4
  if (rest === 1) return text.length - 1
  const unusedBits = rest === 2 ? 0b1111 : rest === 3 ? 0b11 : 0
  if (unusedBits !== 0 && (base64UrlDigits.indexOf(text.charAt(text.length - 1)) & unusedBits) !== 0)
    return text.length - 1
  return Buffer.from(text, 'base64url')
}

type Header = Pick<Jws, 'algorithm' | 'keyId' | 'type'>

/**
 * jose parses the header. What jose would accept is refused before: non-canonical encodings, duplicate
 * members, `crit`.
 */
function readHeader(text: string): Header | MalformedJws {
  const bytes = decodeBase64Url(text)
  if (typeof bytes === 'number') return illegalBase64(bytes)
  if (parseJsonObject(bytes) === undefined)
    return { malformed: 'header is not a JSON object with unique member names' }
  const header = headerMembers(text)
  if (header === undefined) return { malformed: 'header is not a JSON object with unique member names' }
  if (Object.hasOwn(header, 'crit')) return { malformed: 'unsupported crit header' }
  const algorithm = ownText(header, 'alg')
  const keyId = ownText(header, 'kid')
  if (algorithm === undefined) return { malformed: 'failed to unmarshal algorithm' }
  if (keyId === undefined) return { malformed: 'failed to unmarshal kid' }
  if (Buffer.byteLength(keyId) > maxKeyIdSize) return { malformed: 'kid is too long' }
  return { algorithm, keyId, type: ownMember(header, 'typ') }
}

function headerMembers(text: string): StrictObject | undefined {
  try {
    return { ...decodeProtectedHeader({ protected: text }) }
  } catch {
    return undefined
  }
}

/** A string member: "" if absent or null, undefined for any other type. */
function ownText(object: StrictObject, name: string): string | undefined {
  const value = ownMember(object, name)
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : undefined
}

/**
 * The claims of a verified payload; undefined if it is not a JSON object with unique member names. A payload
 * of `null` has no claims. docs/contract/jwt.md#login-in-this-order
 */
export function parseClaims(payload: Buffer): StrictObject | undefined {
  const claims = parseJsonObject(payload)
  return claims === null ? {} : claims
}

/** The refusal of a payload without claims: only the operator is told what it is. */
export function malformedPayload(payload: Buffer, text: string): Refusal {
  const seen = kindOf(payload)
  return comparing(discreetRefusal('token_malformed', { text, cause: `${text} (payload: ${seen})` }), {
    expected: ['a JSON object in UTF-8'],
    seen,
    detail: 'payload',
    hint: '',
  })
}

/** By the beginning only, because a payload may be long. */
function kindOf(payload: Buffer): string {
  if (!isUtf8(payload)) return 'not UTF-8'
  const start = payload.toString('utf8', 0, 64).replace(/^[\t\n\r ]+/, '')
  return kinds.find(([begins]) => begins.test(start))?.[1] ?? 'not JSON'
}

const kinds: readonly (readonly [begins: RegExp, words: string])[] = [
  [/^\uFEFF/, 'byte order mark'],
  [/^$/, 'nothing'],
  [/^\[/, 'an array'],
  [/^"/, 'a text'],
  [/^-?\d/, 'a number'],
  [/^(?:true|false)/, 'a boolean'],
  [/^\{/, 'an object that is not JSON, has a member twice, or holds too much'],
]

const parseJsonObject = (bytes: Buffer): StrictObject | null | undefined =>
  isUtf8(bytes) ? parseStrictObject(bytes.toString('utf8')) : undefined
