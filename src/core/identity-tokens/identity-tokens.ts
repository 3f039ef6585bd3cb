import { CompactSign } from 'jose'
import { refuse } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { stringifyJson } from '../../lib/text/json.ts'
import type { View } from '../barrier/view.ts'
import { type Identity, identityIn } from '../identity/entities/identity-store.ts'
import { Changes } from '../records/change.ts'
import type { TokenLogin } from '../tokens/store/token.ts'
import { fillClaims } from './claim-template.ts'
import { IdentityTokenRoleStore } from './identity-token-role-store.ts'
import { identityTokenProblem } from './introspect.ts'
import { configKey, isOfIssuer, mountsPrefix } from './issuer-keys.ts'
import { checkIssuer, type IssuerMount, issuerUrl, mountIssuerUrl } from './issuer-url.ts'
import { type KeyMounts, lengthProblem } from './key-mounts.ts'
import { allowsClient } from './named-key.ts'
import { type KeyRules, NamedKeyStore } from './named-key-store.ts'
import { PublishedKeys } from './published-keys.ts'

export type IdentityTokensParts = {
  /** The storage root. */
  readonly root: View
  readonly clock: Clock
  readonly random: Random
  /** The server's public base URL, without a trailing slash. */
  readonly apiAddr: string
  identityOf(entityId: string): Promise<Identity | undefined>
  readonly keyMounts: Pick<KeyMounts, 'keyNames' | KeyRules>
}

/** The response to a request for an identity token. */
export type IssuedIdentityToken = { readonly token: string; readonly client_id: string; readonly ttl: number }

/** A template can repeat an entity's groups and metadata many times. */
const maxPayloadBytes = 262_144

/** Verifiers of the tokens of mounts store no more. */
const mostKeysForMounts = 100

/**
 * Issues identity tokens; each namespace has its own issuer. Configuration, keys and roles are stored with
 * the namespace's identity mount. docs/contract/identity-tokens.md
 */
export class IdentityTokens {
  readonly #parts: IdentityTokensParts
  readonly #view: View
  readonly keys: NamedKeyStore
  readonly roles: IdentityTokenRoleStore
  /** The keys of roles. */
  readonly published: PublishedKeys
  /** The keys of mounts. */
  readonly publishedForMounts: PublishedKeys

  constructor(parts: IdentityTokensParts) {
    const { root, clock, random, keyMounts } = parts
    this.#parts = parts
    this.#view = root.view('', { numbers: 'plain' })
    const changes = new Changes({ view: this.#view, tooMany: 'too many changes at a time' })
    const onChange = (mount: string) => {
      this.published.drop(mount)
      this.publishedForMounts.drop(mount)
    }
    this.keys = new NamedKeyStore({ view: this.#view, clock, random, changes, keyMounts, onChange })
    this.roles = new IdentityTokenRoleStore({ view: this.#view, random, changes, keys: this.keys, onChange })
    this.published = new PublishedKeys({ clock, keysOf: (mount) => this.keys.used(mount) })
    this.publishedForMounts = new PublishedKeys({
      clock,
      mostKeys: mostKeysForMounts,
      keysOf: (mount) => Promise.all(keyMounts.keyNames(mount).map((name) => this.keys.ready(mount, name))),
    })
    this.#view.watch(mountsPrefix, (written) => this.#follow(written))
  }

  /** Drops copies of what has been written, by any server. The keys are relative to the root. */
  #follow(written: readonly string[] | undefined): void {
    const ours = written?.filter(isOfIssuer)
    this.keys.follow(ours)
    this.published.follow(ours)
    this.publishedForMounts.follow(ours)
  }

  /** The key of the record with the configured issuer, from the root of the storage. */
  issuerRecord(mount: string): string {
    return configKey(mount)
  }

  /** Empty if none is configured. */
  async configuredIssuer(mount: string): Promise<string> {
    const stored = await this.#view.get(configKey(mount))
    const issuer = typeof stored === 'object' && stored !== null && 'issuer' in stored ? stored.issuer : ''
    return typeof issuer === 'string' ? issuer : ''
  }

  /** Throws `invalid` for an invalid issuer, and for one that verifiers of the tokens of mounts would refuse. */
  async configureIssuer({ mount, namespace }: IssuerMount, issuer: string): Promise<void> {
    checkIssuer(issuer)
    const tooLong = lengthProblem({ issuer: mountIssuerUrl(issuerUrl(issuer, namespace.path)) })
    if (issuer !== '' && tooLong !== undefined) throw refuse('invalid', tooLong)
    await this.#view.write([{ key: configKey(mount), value: { issuer } }])
  }

  /** The value of `iss`. */
  async issuerOf({ mount, namespace }: IssuerMount): Promise<string> {
    return issuerUrl((await this.configuredIssuer(mount)) || this.#parts.apiAddr, namespace.path)
  }

  /**
   * Signs a JWT with the identity of an entity; `entityId` is empty for a caller without one. Throws `invalid` for
   * such a caller, and if the role may not use its key. docs/contract/identity-tokens.md#tokens
   */
  async issue(
    issuer: IssuerMount,
    roleName: string,
    entityId: string,
    login?: TokenLogin,
  ): Promise<IssuedIdentityToken> {
    const found = await this.roles.find(issuer.mount, roleName)
    if (found === undefined) throw refuse('invalid', `role ${quoted(roleName)} not found`)
    const { key: keyName, client_id, ttl } = found.role
    const ready = await this.keys.find(issuer.mount, keyName)
    if (ready === undefined) throw refuse('invalid', `key ${quoted(keyName)} not found`)
    if (!allowsClient(ready.key, client_id)) {
      throw refuse(
        'invalid',
        `the key ${quoted(keyName)} does not list the client ID of the role ${quoted(roleName)} as an allowed client ID`,
      )
    }
    const identity = entityId === '' ? undefined : await this.#parts.identityOf(entityId)
    if (identity === undefined) throw refuse('invalid', "no entity associated with the request's token")
    const { entity } = identity
    const namespace = issuer.namespace.id
    const now = this.#parts.clock.now()
    const iat = Math.floor(now / 1000)
    const iss = await this.issuerOf(issuer)
    const own = { iss, sub: entity.id, aud: client_id, exp: iat + ttl, iat, namespace }
    const { groups } = identityIn(identity, namespace)
    const payload = Buffer.from(
      stringifyJson({ ...own, ...fillClaims(found.claims, { entity, groups, login, now }) }),
    )
    if (payload.length > maxPayloadBytes)
      throw refuse(
        'invalid',
        `the claims of the role ${quoted(roleName)} are longer than ${maxPayloadBytes} bytes`,
      )
    const { kid, alg } = ready.key.signing.publicKey
    const token = await new CompactSign(payload).setProtectedHeader({ alg, kid }).sign(ready.signer)
    return { token, client_id, ttl }
  }

  /** Why a token is invalid; undefined if it is valid. */
  async problemOf(issuer: IssuerMount, token: string, clientId: string): Promise<string | undefined> {
    return identityTokenProblem({
      token,
      clientId,
      keys: await this.published.of(issuer.mount),
      issuer: await this.issuerOf(issuer),
      now: this.#parts.clock.now(),
      findIdentity: (entityId) => this.#parts.identityOf(entityId),
    })
  }
}
