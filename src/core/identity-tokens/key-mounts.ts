import { fail, refuse } from '../../errors.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { Mount } from '../mounts/mount.ts'
import { fixedPaths } from '../mounts/mount-path.ts'
import type { MountStore } from '../mounts/mount-store.ts'
import type { IdentityTokenUse } from '../mounts/mount-type.ts'
import type { NamespaceStore } from '../namespaces/namespace-store.ts'
import type { IssuerMount } from './issuer-url.ts'
import { allowsClient, defaultKeyName, type KeySettings } from './named-key.ts'

type KeyMountsParts = {
  readonly mounts: Pick<MountStore, 'table' | 'types' | 'whileUnchanged'>
  readonly namespaces: Pick<NamespaceStore, 'byId'>
}

/** The name of the key that signs the tokens of a mount. */
export const keyNameOf = ({ config }: Pick<Mount, 'config'>): string =>
  config.identity_token_key ?? defaultKeyName

/**
 * Which mounts use which keys; `issuer` is the UUID of an identity mount.
 * docs/contract/identity-tokens.md#tokens-of-mounts
 */
export class KeyMounts {
  readonly #parts: KeyMountsParts

  constructor(parts: KeyMountsParts) {
    this.#parts = parts
  }

  /** The issuer in the namespace of a mount. */
  issuerOf({ namespace }: Pick<Mount, 'namespace'>): IssuerMount {
    const { mounts, namespaces } = this.#parts
    const found = namespaces.byId(namespace)
    const identity = mounts.table.at(namespace, fixedPaths.identity)
    if (found === undefined || identity === undefined)
      throw fail('missing', 'the namespace of the mount no longer exists')
    return { mount: identity.uuid, namespace: found }
  }

  /** The names of the keys that sign tokens of mounts of an issuer's namespace, sorted. */
  keyNames(issuer: string): string[] {
    const { types } = this.#parts.mounts
    const signing = this.#mountsOf(issuer).filter(({ plugin }) => types.hasIdentityTokens(plugin))
    return [...new Set(signing.map(keyNameOf))].sort()
  }

  /** Throws if a mount names the key. */
  checkUnused(issuer: string, name: string): void {
    const naming = this.#mountsOf(issuer).filter(({ config }) => config.identity_token_key === name)
    if (naming.length > 0) throw inUse('delete', name, naming)
  }

  /** Throws if a mount needs tokens that the key may not sign with these settings. */
  async checkSettings(issuer: string, name: string, settings: KeySettings): Promise<void> {
    const broken: Mount[] = []
    for (const mount of this.#mountsOf(issuer))
      if (keyNameOf(mount) === name && (await this.#problemOf(mount, settings)) !== undefined)
        broken.push(mount)
    if (broken.length > 0) throw inUse('update', name, broken)
  }

  /**
   * Throws if a mount names an unknown key, or one that may not sign the tokens that the mount needs now.
   * `settingsOf` returns the settings of a key.
   */
  async checkMount(
    mount: Mount,
    settingsOf: (issuer: string, name: string) => Promise<KeySettings | undefined>,
  ): Promise<void> {
    const { mounts } = this.#parts
    if (mount.config.identity_token_key === undefined && !mounts.types.hasIdentityTokens(mount.plugin)) return
    const name = keyNameOf(mount)
    const settings = await settingsOf(this.issuerOf(mount).mount, name)
    if (settings === undefined) throw refuse('invalid', `cannot find key ${quoted(name)}`)
    // a new mount needs no token yet
    if (mounts.table.byUuid(mount.uuid) === undefined) return
    const problem = await this.#problemOf(mount, settings)
    if (problem !== undefined) throw refuse('invalid', problem)
  }

  /** Like `MountStore.whileUnchanged`. */
  get whileUnchanged(): MountStore['whileUnchanged'] {
    const { mounts } = this.#parts
    return (decide) => mounts.whileUnchanged(decide)
  }

  async #problemOf(mount: Mount, settings: KeySettings): Promise<string | undefined> {
    const uses = await this.#parts.mounts.types.identityTokenUses(mount)
    return uses.map((use) => keyProblem(keyNameOf(mount), settings, use)).find((one) => one !== undefined)
  }

  #mountsOf(issuer: string): Mount[] {
    const { table } = this.#parts.mounts
    const identity = table.byUuid(issuer)
    return identity === undefined ? [] : table.of(identity.namespace)
  }
}

function inUse(what: 'delete' | 'update', name: string, mounts: readonly Mount[]) {
  const paths = mounts.map(({ path }) => path).sort()
  return refuse(
    'invalid',
    `unable to ${what} key ${quoted(name)} because it is currently referenced by these mounts: ${paths.join(', ')}`,
  )
}

/** The longest issuer, subject and audience that verifiers accept, in characters. */
const maxLength = 600

/** Why a key may not sign tokens for an audience; undefined if it may. */
export function keyProblem(
  name: string,
  settings: KeySettings,
  { audience, ttl }: IdentityTokenUse,
): string | undefined {
  const key = quoted(name)
  // verifiers of workload identities accept nothing else
  if (settings.algorithm !== 'RS256') return `key ${key} must use RS256`
  if (!allowsClient(settings, audience))
    return `the key ${key} does not list the audience ${quoted(audience)} as an allowed client ID`
  if (ttl > settings.verification_ttl)
    return `identity_token_ttl cannot be longer than the verification_ttl of key ${key}`
  return undefined
}

/** Which of these is too long for verifiers; undefined if none is. */
export function lengthProblem(named: Readonly<Record<string, string>>): string | undefined {
  const long = Object.entries(named).find(([, text]) => text.length > maxLength)
  return long === undefined ? undefined : `${long[0]} must have at most ${maxLength} characters`
}
