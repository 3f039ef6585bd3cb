import { refuse } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { View } from '../barrier/view.ts'
import type { Identity } from '../identity/entities/identity-store.ts'
import { Changes } from '../records/change.ts'
import { IdentityTokenRoleStore } from './identity-token-role-store.ts'
import { identityTokenProblem } from './introspect.ts'
import { type IssuedIdentityToken, issueIdentityToken } from './issue-identity-token.ts'
import { configKey, isOfIssuer, mountsPrefix } from './issuer-keys.ts'
import { checkIssuer, type IssuerMount, issuerUrl, mountIssuerUrl } from './issuer-url.ts'
import type { KeyMounts } from './key-mounts.ts'
import { lengthProblem } from './mount-token-rules.ts'
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

type IssuerConfig = { readonly issuer: string }

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

  /** Empty if none is configured. */
  async configuredIssuer(mount: string): Promise<string> {
    return readConfig(await this.#view.get(configKey(mount)))?.issuer ?? ''
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
   * Issues a token of a role to an entity; `entityId` is empty for a caller without one. Throws `invalid`.
   */
  async issue(issuer: IssuerMount, roleName: string, entityId: string): Promise<IssuedIdentityToken> {
    const role = await this.roles.find(issuer.mount, roleName)
    if (role === undefined) throw refuse('invalid', `role ${quoted(roleName)} not found`)
    const key = await this.keys.find(issuer.mount, role.role.key)
    if (key === undefined) throw refuse('invalid', `key ${quoted(role.role.key)} not found`)
    return issueIdentityToken({
      roleName,
      role,
      key,
      identity: entityId === '' ? undefined : await this.#parts.identityOf(entityId),
      issuer: await this.issuerOf(issuer),
      namespace: issuer.namespace.id,
      now: this.#parts.clock.now(),
    })
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

/** A missing record has an empty issuer, so that its absence is cached too. */
function readConfig(value: unknown): IssuerConfig {
  const issuer = typeof value === 'object' && value !== null && 'issuer' in value ? value.issuer : ''
  return { issuer: typeof issuer === 'string' ? issuer : '' }
}
