import { CompactSign } from 'jose'
import type { Mount } from '../mounts/mount.ts'
import type { ReadyKey } from './named-key-store.ts'

/** The claims of a token of a mount, or of one of its roles. */
type MountClaims = {
  readonly issuer: string
  readonly subject: string
  readonly audience: string
  readonly mount: Mount
  /** The path of the mount's namespace. */
  readonly namespacePath: string
  readonly tokenId: string
  /** Seconds since the epoch. */
  readonly issuedAt: number
  /** Seconds. */
  readonly ttl: number
}

/**
 * The value of `sub`; `role` is a lower-case name. It does not change while the mount stays in its namespace.
 * docs/contract/identity-tokens.md#tokens-of-mounts
 */
export const mountSubject = ({ namespace, accessor }: Mount, role: string | undefined): string =>
  `plugin-identity:${namespace}:secret:${accessor}${role === undefined ? '' : `:role:${role}`}`

/** Signs on the thread pool. */
export function signMountToken({ key, signer }: ReadyKey, claims: MountClaims): Promise<string> {
  const { issuer, subject, audience, mount, namespacePath, tokenId, issuedAt, ttl } = claims
  const payload = JSON.stringify({
    iss: issuer,
    sub: subject,
    aud: [audience],
    iat: issuedAt,
    nbf: issuedAt,
    exp: issuedAt + ttl,
    jti: tokenId,
    'vaultproject.io': {
      accessor: mount.accessor,
      class: 'secret',
      namespace_id: mount.namespace,
      namespace_path: namespacePath,
      path: mount.path,
    },
  })
  const { kid, alg } = key.signing.publicKey
  return new CompactSign(Buffer.from(payload)).setProtectedHeader({ alg, kid }).sign(signer)
}
