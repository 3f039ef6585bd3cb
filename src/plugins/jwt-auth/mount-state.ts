import type { View } from '../../core/barrier/view.ts'
import { RecordCache } from '../../core/record-cache.ts'
import { type Config, jwksPairs, readConfig } from './jwt-config.ts'
import { DiscoveredProvider } from './discovered-provider.ts'
import { JwksKeyset, type Keyset, type KeysetParts, MultiJwksKeyset, StaticKeyset } from './keyset.ts'
import { parsePublicKeyPem } from './public-key-pem.ts'
import { type Role, readRole } from './role.ts'

/** A mount's configuration with its keys and, if found by discovery, the provider for browser logins. */
export type ReadyConfig = {
  readonly config: Config
  readonly keyset: Keyset
  readonly provider: DiscoveredProvider | undefined
}

export type MountStateParts = Omit<KeysetParts, 'fetchedAfter'>

const maxCachedRoles = 10_000
const configKey = 'config'
const roleKey = (name: string) => `role/${name}`

/**
 * Configuration and roles of one mount: stored in its view, with parsed copies in memory. Copies are as new
 * as the last write of this process; a failed write drops them too, because it may have been stored
 * nevertheless. A mount shares keys with others, but after a write of its configuration it uses only those
 * fetched since. docs/contract/jwt.md#keys
 */
export class MountState {
  readonly #view: View
  readonly #parts: MountStateParts
  #fetchedAfter = 0
  #ready: Promise<ReadyConfig | undefined> | undefined
  readonly #roles = new RecordCache<Role>(maxCachedRoles)

  /** `view` is the mount's own; it keeps the text of numbers. */
  constructor(view: View, parts: MountStateParts) {
    this.#view = view
    this.#parts = parts
  }

  /**
   * Undefined if the mount was never configured. Concurrent callers share one result, and so the keys it
   * fetches.
   */
  findConfig(): Promise<ReadyConfig | undefined> {
    this.#ready ??= this.#load()
    return this.#ready
  }

  /** Keeps what it finds until the next write; keeps neither an absence nor a failure. */
  async #load(): Promise<ReadyConfig | undefined> {
    let ready: ReadyConfig | undefined
    try {
      const stored = await this.#view.get(configKey)
      ready =
        stored === undefined
          ? undefined
          : readyConfig(readConfig(stored), { ...this.#parts, fetchedAfter: this.#fetchedAfter })
      return ready
    } finally {
      if (ready === undefined) this.#ready = undefined
    }
  }

  /** `change` returns the new configuration for the stored one. */
  async changeConfig(change: (before: Config | undefined) => Config): Promise<void> {
    try {
      await this.#view.update(configKey, (current) =>
        changed(current, change(current === undefined ? undefined : readConfig(current))),
      )
    } finally {
      this.#ready = undefined
      this.#fetchedAfter = this.#parts.sources.lastNumber
    }
  }

  /** Names are lower-case. */
  findRole(name: string): Promise<Role | undefined> {
    return this.#roles.read(name, async () => {
      const stored = await this.#view.get(roleKey(name))
      return stored === undefined ? undefined : readRole(name, stored)
    })
  }

  /**
   * `change` returns the new record for the stored one; if it throws, nothing is written. Returns the role as
   * written.
   */
  async changeRole(name: string, change: (before: Role | undefined) => object): Promise<Role> {
    try {
      const stored = await this.#view.update(roleKey(name), (current) =>
        changed(current, change(current === undefined ? undefined : readRole(name, current))),
      )
      return readRole(name, stored)
    } finally {
      this.#roles.drop(name)
    }
  }

  async deleteRole(name: string): Promise<void> {
    try {
      await this.#view.write([{ key: roleKey(name), value: undefined }])
    } finally {
      this.#roles.drop(name)
    }
  }

  /** All of them, in no particular order. */
  async roles(): Promise<Role[]> {
    const records = await this.#view.list(roleKey(''))
    return records.map(({ key, value }) => readRole(key.slice(roleKey('').length), value))
  }

  /** Sorted. */
  async roleNames(): Promise<string[]> {
    const keys = await this.#view.listKeys(roleKey(''))
    return keys.map((key) => key.slice(roleKey('').length))
  }
}

/** Fields of a later version are kept. */
const changed = (current: unknown, record: object): object =>
  typeof current === 'object' ? { ...current, ...record } : record

/** Selects the source that verifies a JWT. docs/contract/jwt.md#configuration */
function readyConfig(config: Config, parts: KeysetParts): ReadyConfig {
  if (config.oidc_discovery_url !== '') {
    const provider = new DiscoveredProvider(
      { url: config.oidc_discovery_url, caPem: config.oidc_discovery_ca_pem },
      parts,
    )
    return { config, keyset: provider, provider }
  }
  return { config, keyset: ownKeyset(config, parts), provider: undefined }
}

function ownKeyset(config: Config, parts: KeysetParts): Keyset {
  if (config.jwt_validation_pubkeys.length > 0)
    return new StaticKeyset(config.jwt_validation_pubkeys.map(parsePublicKeyPem), parts)
  if (config.jwks_url !== '')
    return new JwksKeyset({ url: config.jwks_url, caPem: config.jwks_ca_pem }, parts)
  return new MultiJwksKeyset(jwksPairs(config.jwks_pairs), parts)
}
