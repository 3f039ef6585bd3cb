import type { KeyedHash } from '../../core/records/keyed-hash.ts'
import { excerpt } from '../../lib/text/go-text.ts'
import { lookupClaim } from '../../lib/text/json-pointer.ts'
import { type LoginFailures, maxRecordedToken, type SentFacts } from '../../logins/explain/login-failures.ts'
import { parseClaims, parseJws } from '../jws/jws.ts'
import { ownMember, type StrictObject } from '../jws/strict-json.ts'
import { type KeptClaims, keptClaims } from './hashed-claims.ts'

/** The refused logins of a mount that takes JWTs; those with a valid signature keep all claims, hashed. */
export type JwtFailures = LoginFailures<KeptClaims>

const maxClaims = 32
const maxName = 64

/** Claims that are kept in clear, and most characters of one. */
const maxLooked = 12
const maxValue = 256

/** `looked`: names of claims that the role looks at. */
type Sent = { readonly token: string; readonly verified: boolean; readonly looked: Iterable<string> }

/** The facts about the sent token that a failure keeps; "" if there was none. */
export const sentToken =
  ({ token, verified, looked }: Sent) =>
  (hash: KeyedHash): SentFacts<KeptClaims> => {
    const { claims, ...header } = readToken(token)
    const subject = ownMember(claims, 'sub')
    return {
      ...header,
      subject: typeof subject === 'string' ? subject : '',
      discreet: {
        ...(typeof subject === 'string' && { subject: excerpt(subject, maxValue) }),
        looked_at: clearClaims(claims, looked),
      },
      claims: Object.fromEntries(
        Object.entries(claims).map(([name, value]) => [name.slice(0, maxName), textOf(value)]),
      ),
      kept: verified ? allClaims(claims, hash) : undefined,
    }
  }

/** Those of the claims that a token has. */
function clearClaims(claims: StrictObject, looked: Iterable<string>): Record<string, string> {
  const found = [...looked].flatMap((name) => {
    const value = lookupClaim(claims, name)
    return value === undefined || value === null
      ? []
      : [[name.slice(0, maxName), excerpt(textOf(value), maxValue)] as const]
  })
  return Object.fromEntries(found.slice(0, maxLooked))
}

/** The first claims of a token, and how it was signed. */
function readToken(token: string): { alg: string; kid: string; claims: StrictObject } {
  const isRead = token !== '' && token.length <= maxRecordedToken
  const jws = isRead ? parseJws(token, { maxTokenSize: maxRecordedToken }) : undefined
  if (jws === undefined || 'malformed' in jws) return { alg: '', kid: '', claims: {} }
  const claims = Object.entries(parseClaims(jws.payload) ?? {}).slice(0, maxClaims)
  return {
    alg: jws.algorithm.slice(0, maxName),
    kid: jws.keyId.slice(0, maxName),
    claims: Object.fromEntries(claims),
  }
}

/** If there may be more claims, their names are not known. */
function allClaims(claims: StrictObject, hash: KeyedHash): KeptClaims {
  const names = Object.keys(claims)
  const kept = keptClaims(claims, names, { hash, lookup: ownMember })
  return names.length < maxClaims ? kept : { ...kept, names: undefined }
}

/** A text unchanged, anything else as JSON. */
const textOf = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : (JSON.stringify(value, (_name, item: unknown) => (typeof item === 'bigint' ? item.toString() : item)) ??
      '')
