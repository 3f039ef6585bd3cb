import { CompactSign } from 'jose'
import { refuse } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import type { Mount } from '../mounts/mount.ts'
import type { IdentityTokenUse } from '../mounts/mount-type.ts'
import type { IdentityTokens } from './identity-tokens.ts'
import { type IssuerMount, keysUrl, mountIssuerUrl } from './issuer-url.ts'
import { type KeyMounts, keyNameOf, keyProblem, lengthProblem } from './key-mounts.ts'
import type { KeySettings } from './named-key.ts'

type MountTokensParts = {
  readonly identityTokens: IdentityTokens
  readonly keyMounts: KeyMounts
  readonly clock: Clock
  readonly random: Random
}

/** Whose token is asked for: the mount's own, or that of a role, which has a lower-case name. */
type MountTokenHolder = { readonly mount: Mount; readonly role?: string | undefined }

/** What a verifier must trust, and where it finds the keys. */
export type MountIdentity = { readonly issuer: string; readonly subject: string; readonly jwksUri: string }

/** `rotationPeriod` is in seconds. */
type MountKey = { readonly name: string; readonly id: string; readonly rotationPeriod: number }

export type MountToken = {
  readonly token: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/**
 * Issues the tokens with which mounts prove themselves to other services. No caller receives the token of a
 * mount. docs/contract/identity-tokens.md#tokens-of-mounts
 */
export class MountTokens {
  readonly #parts: MountTokensParts

  constructor(parts: MountTokensParts) {
    this.#parts = parts
  }

  async issuerUrlOf(issuer: IssuerMount): Promise<string> {
    return mountIssuerUrl(await this.#parts.identityTokens.issuerOf(issuer))
  }

  async identityOf({ mount, role }: MountTokenHolder): Promise<MountIdentity> {
    const issuer = await this.issuerUrlOf(this.#parts.keyMounts.issuerOf(mount))
    return { issuer, subject: mountSubject(mount, role), jwksUri: keysUrl(issuer) }
  }

  /** Throws `invalid` if the mount's key may not sign such a token, or if verifiers would refuse it. */
  async check(holder: MountTokenHolder, use: IdentityTokenUse): Promise<void> {
    const { identityTokens, keyMounts } = this.#parts
    const { issuer, subject } = await this.identityOf(holder)
    const tooLong = lengthProblem({ issuer, subject, identity_token_audience: use.audience })
    if (tooLong !== undefined) throw refuse('invalid', tooLong)
    const name = keyNameOf(holder.mount)
    const settings = await identityTokens.keys.settingsOf(keyMounts.issuerOf(holder.mount).mount, name)
    checkKey(name, settings, use)
  }

  /** The key that signs the tokens of a mount now. */
  async signingKeyOf(mount: Mount): Promise<MountKey> {
    const { identityTokens, keyMounts } = this.#parts
    const name = keyNameOf(mount)
    const { key } = await identityTokens.keys.ready(keyMounts.issuerOf(mount).mount, name)
    return { name, id: key.signing.publicKey.kid, rotationPeriod: key.rotation_period }
  }

  /** Throws `invalid` if the mount's key may not sign such a token. */
  async sign(holder: MountTokenHolder, use: IdentityTokenUse): Promise<MountToken> {
    const { identityTokens, keyMounts, clock, random } = this.#parts
    const { mount } = holder
    const name = keyNameOf(mount)
    const { mount: issuerMount, namespace } = keyMounts.issuerOf(mount)
    const { key, signer } = await identityTokens.keys.ready(issuerMount, name)
    checkKey(name, key, use)
    const { issuer, subject } = await this.identityOf(holder)
    const iat = Math.floor(clock.now() / 1000)
    const exp = iat + use.ttl
    const payload = JSON.stringify({
      iss: issuer,
      sub: subject,
      aud: [use.audience],
      iat,
      nbf: iat,
      exp,
      jti: random.uuid(),
      'vaultproject.io': {
        accessor: mount.accessor,
        class: 'secret',
        namespace_id: mount.namespace,
        namespace_path: namespace.path,
        path: mount.path,
      },
    })
    const { kid, alg } = key.signing.publicKey
    const token = await new CompactSign(Buffer.from(payload)).setProtectedHeader({ alg, kid }).sign(signer)
    return { token, expiresAt: exp * 1000 }
  }
}

/**
 * The value of `sub`; `role` is a lower-case name. It does not change while the mount stays in its namespace.
 * docs/contract/identity-tokens.md#tokens-of-mounts
 */
const mountSubject = ({ namespace, accessor }: Mount, role: string | undefined): string =>
  `plugin-identity:${namespace}:secret:${accessor}${role === undefined ? '' : `:role:${role}`}`

function checkKey(name: string, settings: KeySettings | undefined, use: IdentityTokenUse): void {
  const problem = settings === undefined ? `cannot find key "${name}"` : keyProblem(name, settings, use)
  if (problem !== undefined) throw refuse('invalid', problem)
}
