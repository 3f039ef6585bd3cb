import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import { type KeptClaims, keptClaims } from '../../../jwt/history/hashed-claims.ts'
import type { NotedLogin } from '../../../jwt/history/login-history.ts'
import { matchedPattern } from '../../../jwt/history/patterns.ts'
import { parseJws } from '../../../jwt/jws/jws.ts'
import type { StrictObject } from '../../../jwt/jws/strict-json.ts'
import type { Keyset } from '../../../jwt/keys/keyset.ts'
import { lookupClaim } from '../../../lib/text/json-pointer.ts'
import { scalarValue } from '../checks/bound-claims.ts'
import type { ReadToken } from '../checks/trace.ts'
import type { Role } from '../config/role.ts'
import type { Attempt } from '../login/flow-trace.ts'

/** The role, the token and the keys that decided a login. */
export type Accepted = {
  readonly role: Role
  readonly token: Pick<ReadToken, 'claims' | 'algorithm' | 'keyId' | 'signer'>
  /** The keys that verified it; undefined for an ID token. */
  readonly keyset?: Keyset
}

/** The claims that a role looks at. */
type Looked = {
  /** On whose values it depends whether a login succeeds. */
  readonly deciding: readonly string[]
  readonly all: ReadonlySet<string>
}

function lookedAt({ record, boundClaims, policyTemplates = [] }: Role): Looked {
  const deciding = [
    ...(record.bound_subject === undefined || record.bound_subject === '' ? [] : ['sub']),
    ...(record.groups_claim === undefined || record.groups_claim === '' ? [] : [record.groups_claim]),
    ...boundClaims.map(({ name }) => name),
  ]
  const others = [
    ...(record.user_claim === undefined ? [] : [record.user_claim]),
    ...Object.keys(record.claim_mappings ?? {}),
    ...policyTemplates.flatMap(({ claims }) => claims.map((steps) => pointerTo(steps))),
  ]
  return { deciding, all: new Set([...deciding, ...others]) }
}

/** The names of the claims that a role looks at, with that of its audience. */
export const claimsLookedAt = (role: Role): string[] => [
  ...lookedAt(role).all,
  ...((role.record.bound_audiences ?? []).length > 0 ? ['aud'] : []),
]

/** How a role names the claim of a policy template. RFC 6901 §3 */
export const pointerTo = (steps: readonly string[]): string =>
  steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

export type How = Pick<NotedLogin, 'path' | 'asToken' | 'byDefault' | 'address'>

/** A login by an ordinary role, or by a CEL role. */
export function notedLogin({ alias }: LoginAuth, { role, token }: Accepted, how: How): NotedLogin {
  const { deciding, all } = lookedAt(role)
  const { claims } = token
  return {
    ...how,
    role: role.isCel === true ? `cel/${role.name}` : role.name,
    subject: alias?.name ?? '',
    sameAs: sameText(claims, deciding, how),
    remember: (hash) => ({
      ...keptClaims(claims, all, { hash, lookup: comparedValue }),
      algorithm: token.algorithm,
      keyId: (token.keyId ?? '').slice(0, 256),
      matched: matchedBy(role, claims),
    }),
  }
}

/** A login in a browser; of one that ended elsewhere, the claims are gone. */
export function notedBrowserLogin(
  auth: LoginAuth,
  { flow, token }: Attempt,
  address: string,
): NotedLogin | undefined {
  const { role, claims } = flow
  if (role === undefined) return undefined
  const how = { path: 'oidc/callback', asToken: false, byDefault: false, address } as const
  if (claims === undefined)
    return {
      ...how,
      role: role.name,
      subject: auth.alias?.name ?? '',
      sameAs: '',
      remember: () => nothingKept,
    }
  const jws = parseJws(token, { maxTokenSize: 0 })
  const { algorithm, keyId } = 'malformed' in jws ? { algorithm: '', keyId: '' } : jws
  return notedLogin(auth, { role, token: { claims, algorithm, keyId } }, how)
}

const nothingKept: KeptClaims & { algorithm: string; keyId: string; matched: Record<string, string> } = {
  issuer: '',
  audiences: undefined,
  names: undefined,
  values: {},
  algorithm: '',
  keyId: '',
  matched: {},
}

/** A claim as bound claims compare it: large numbers by their integer part. */
const comparedValue = (claims: StrictObject, name: string): unknown => scalarValue(lookupClaim(claims, name))

/** Compared letter for letter at each login, so it is made quickly. */
function sameText(
  claims: StrictObject,
  deciding: readonly string[],
  { path, asToken, byDefault }: How,
): string {
  let text = `${path} ${asToken} ${byDefault}\n${textOf(claims['iss'])}\n${textOf(claims['aud'])}\n`
  for (const name of deciding) text += `${textOf(lookupClaim(claims, name))}\n`
  for (const name in claims) text += `${name}\n`
  return text
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : textOfOther(value))

const textOfOther = (value: unknown): string =>
  JSON.stringify(value, (_name, item: unknown) => (typeof item === 'bigint' ? item.toString() : item)) ?? ''

/** The patterns of the role that claims matched. */
function matchedBy({ boundClaims }: Role, claims: StrictObject): Record<string, string> {
  const found = boundClaims.flatMap(({ name, type, expected }) => {
    if (type !== 'glob' || 'unusable' in expected) return []
    const texts = [lookupClaim(claims, name)].flat().filter((value) => typeof value === 'string')
    const pattern = matchedPattern(
      expected.map(({ text }) => text),
      texts,
    )
    return pattern === undefined ? [] : [[name, pattern] as const]
  })
  return Object.fromEntries(found)
}
