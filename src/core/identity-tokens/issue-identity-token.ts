import { CompactSign } from 'jose'
import { refuse } from '../../errors.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { stringifyJson } from '../../lib/text/json.ts'
import { type Identity, identityIn } from '../identity/entities/identity-store.ts'
import { fillClaims } from './claim-template.ts'
import type { ReadyRole } from './identity-token-role.ts'
import { allowsClient } from './named-key.ts'
import type { ReadyKey } from './named-key-store.ts'

/** The response to a request for an identity token. */
export type IssuedIdentityToken = { readonly token: string; readonly client_id: string; readonly ttl: number }

export type IdentityTokenRequest = {
  readonly roleName: string
  readonly role: ReadyRole
  readonly key: ReadyKey
  /** Undefined if the caller's token has no entity. */
  readonly identity: Identity | undefined
  readonly issuer: string
  /** Namespace id. */
  readonly namespace: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** A template can repeat an entity's groups and metadata many times. */
const maxPayloadBytes = 262_144

/**
 * Signs a JWT with the caller's identity. Throws `invalid` if the role may not use its key, or if the caller
 * has no entity. docs/contract/identity-tokens.md#tokens
 */
export async function issueIdentityToken(request: IdentityTokenRequest): Promise<IssuedIdentityToken> {
  const { roleName, role, key, identity, issuer, namespace, now } = request
  const { key: keyName, client_id, ttl } = role.role
  if (!allowsClient(key.key, client_id)) {
    throw refuse(
      'invalid',
      `the key ${quoted(keyName)} does not list the client ID of the role ${quoted(roleName)} as an allowed client ID`,
    )
  }
  if (identity === undefined) throw refuse('invalid', "no entity associated with the request's token")
  const iat = Math.floor(now / 1000)
  const own = { iss: issuer, sub: identity.entity.id, aud: client_id, exp: iat + ttl, iat, namespace }
  const payload = Buffer.from(
    stringifyJson({
      ...own,
      ...fillClaims(role.claims, {
        entity: identity.entity,
        groups: identityIn(identity, namespace).groups,
        now,
      }),
    }),
  )
  if (payload.length > maxPayloadBytes)
    throw refuse(
      'invalid',
      `the claims of the role ${quoted(roleName)} are longer than ${maxPayloadBytes} bytes`,
    )
  const { kid, alg } = key.key.signing.publicKey
  return {
    token: await new CompactSign(payload).setProtectedHeader({ alg, kid }).sign(key.signer),
    client_id,
    ttl,
  }
}
