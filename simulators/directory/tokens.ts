import { createHash, generateKeyPair, type KeyObject, randomBytes, sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { Principal, Tenant } from './tenant.ts'

export type TokenClaims = {
  aud: string
  iss: string
  iat: number
  nbf: number
  exp: number
  appid: string
  oid: string
  sub: string
  tid: string
  idtyp: 'app'
  roles?: readonly string[]
  /** The resource of a managed identity. */
  xms_mirid?: string
}

/** The claims of an access token for a service principal. */
export const accessClaims = (
  { tenantId }: Tenant,
  { appId, id }: Principal,
  token: {
    audience: string
    issuedAt: number
    tokenLifetimeSeconds: number
    /** What the principal may do at the audience. */
    roles: readonly string[]
  },
): TokenClaims => ({
  aud: token.audience,
  iss: `https://sts.windows.net/${tenantId}/`,
  iat: token.issuedAt,
  nbf: token.issuedAt,
  exp: token.issuedAt + token.tokenLifetimeSeconds,
  appid: appId,
  oid: id,
  sub: id,
  tid: tenantId,
  idtyp: 'app',
  ...(token.roles.length > 0 && { roles: token.roles }),
})

/** Signs access tokens and keeps them. */
export type TokenBook = {
  issue(claims: TokenClaims, nowSeconds: number): string
  /** The claims of a token signed here, even if expired; undefined for any other text. */
  find(token: string): TokenClaims | undefined
  /** The JWK Set that verifies them. */
  readonly keys: { keys: Record<string, unknown>[] }
}

const makeKeyPair = promisify(generateKeyPair)
let pair: Promise<{ publicKey: KeyObject; privateKey: KeyObject }> | undefined

/** Access tokens in the format of RFC 9068. The key is created once per process, because that is slow. */
export async function makeTokenBook(): Promise<TokenBook> {
  pair ??= makeKeyPair('rsa', { modulusLength: 2048 })
  const { publicKey, privateKey } = await pair
  const jwk = publicKey.export({ format: 'jwk' })
  const kid = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url').slice(0, 27)
  const header = encode({ typ: 'JWT', alg: 'RS256', kid })
  const claimsByToken = new Map<string, TokenClaims>()
  return {
    issue: (claims, nowSeconds) => {
      // tokens are in order of issue, so nearly in order of expiry: removing the oldest bounds the map
      for (const [token, { exp }] of claimsByToken) {
        if (exp + 86_400 > nowSeconds) break
        claimsByToken.delete(token)
      }
      const signed = `${header}.${encode({ ...claims, uti: randomBytes(16).toString('base64url'), ver: '1.0' })}`
      const token = `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`
      claimsByToken.set(token, claims)
      return token
    },
    find: (token) => claimsByToken.get(token),
    keys: { keys: [{ ...jwk, kid, use: 'sig', alg: 'RS256' }] },
  }
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
