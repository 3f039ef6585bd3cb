import { createPublicKey, randomUUID, verify } from 'node:crypto'
import { CompactSign } from 'jose'
import type { Algorithm, SigningKeys } from '../ci-issuer/signing-keys.ts'
import type { Objects, Owner } from './objects.ts'

export type Claims = Readonly<Record<string, unknown>>

export type TokenOptions = {
  /** By default the account's own. */
  readonly uid?: string
  /** Seconds from now; default an hour. */
  readonly lifetime?: number
  readonly audiences?: readonly string[]
  /** Added to the claims; undefined removes one. */
  readonly claims?: Claims
  readonly algorithm?: Algorithm
  readonly header?: Claims
}

/** The claims of a projected token, which TokenRequest also makes. */
export function projectedClaims(
  { namespace, name, uid }: Owner,
  {
    issuer,
    now,
    lifetime,
    audiences,
  }: { issuer: string; now: number; lifetime: number; audiences: readonly string[] },
): Claims {
  return {
    iss: issuer,
    sub: `system:serviceaccount:${namespace}:${name}`,
    aud: audiences,
    iat: now,
    nbf: now,
    exp: now + lifetime,
    'kubernetes.io': {
      namespace,
      pod: { name: `${name}-0`, uid: randomUUID() },
      serviceaccount: { name, uid },
    },
  }
}

/** The claims of the token in a secret: it has no times and no audience. */
export const secretClaims = ({ namespace, name, uid }: Owner): Claims => ({
  iss: 'kubernetes/serviceaccount',
  sub: `system:serviceaccount:${namespace}:${name}`,
  'kubernetes.io/serviceaccount/namespace': namespace,
  'kubernetes.io/serviceaccount/secret.name': `${name}-token-x7k2p`,
  'kubernetes.io/serviceaccount/service-account.name': name,
  'kubernetes.io/serviceaccount/service-account.uid': uid,
})

export function signClaims(
  keys: SigningKeys,
  claims: Claims,
  { algorithm = 'RS256', header = {} }: Pick<TokenOptions, 'algorithm' | 'header'>,
): Promise<string> {
  const { kid, privateKey } = keys.current(algorithm)
  return new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ kid, ...header, alg: algorithm })
    .sign(privateKey)
}

/** The claims of a token of this cluster that is still in force. The cluster signs with RS256 alone. */
export function claimsInForce(token: string, keys: SigningKeys, objects: Objects): Claims | undefined {
  const [header = '', payload = '', signature = ''] = token.split('.')
  const input = Buffer.from(`${header}.${payload}`)
  const signed = Buffer.from(signature, 'base64url')
  const isSigned = keys
    .published()
    .filter(({ kty }) => kty === 'RSA')
    .some((jwk) => verify('sha256', input, createPublicKey({ key: { ...jwk }, format: 'jwk' }), signed))
  if (!isSigned || objects.deleted.has(token)) return undefined
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Claims
  const { exp } = claims
  if (typeof exp === 'number' && exp <= Date.now() / 1000) return undefined
  return objects.exists(ownerOf(claims)) ? claims : undefined
}

/** Whom the claims of a token name. */
export function ownerOf(claims: Claims): Owner {
  const projected = claims['kubernetes.io']
  if (projected !== undefined) {
    const namespace = textAt(projected, 'namespace')
    const account = memberAt(projected, 'serviceaccount')
    return { namespace, name: textAt(account, 'name'), uid: textAt(account, 'uid') }
  }
  const prefix = 'kubernetes.io/serviceaccount/'
  return {
    namespace: textAt(claims, `${prefix}namespace`),
    name: textAt(claims, `${prefix}service-account.name`),
    uid: textAt(claims, `${prefix}service-account.uid`),
  }
}

/** A member of an object; undefined of anything else. */
export const memberAt = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined

function textAt(value: unknown, name: string): string {
  const text = memberAt(value, name)
  return typeof text === 'string' ? text : ''
}
