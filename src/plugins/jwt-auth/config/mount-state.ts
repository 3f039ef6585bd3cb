import type { View, ViewEntry, ViewRecord } from '../../../core/barrier/view.ts'
import type { CacheUses } from '../../../core/records/cache-use.ts'
import { StoredRoles } from '../../../core/records/stored-roles.ts'
import { DiscoveredProvider } from '../../../jwt/keys/discovered-provider.ts'
import {
  JwksKeyset,
  type Keyset,
  type KeysetParts,
  MultiJwksKeyset,
  StaticKeyset,
} from '../../../jwt/keys/keyset.ts'
import { allowedKeys } from '../../../jwt/keys/pins.ts'
import { parsePublicKeyPem } from '../../../jwt/keys/public-key-pem.ts'
import { isJsonNumber, numberText } from '../../../lib/text/json.ts'
import { type CelRole, readCelRole } from '../cel/cel-role.ts'
import { type Config, discoverySource, jwksPairs, jwksSource, readConfig } from './jwt-config.ts'
import { type Role, readRole } from './role.ts'

/** A mount's configuration with its keys and, if found by discovery, the provider for browser logins. */
export type ReadyConfig = {
  readonly config: Config
  readonly keyset: Keyset
  readonly provider: DiscoveredProvider | undefined
  /** When it was written, in milliseconds since the epoch; 0 if that was not stored. */
  readonly written: number
  /** Why a source could not be fetched when it was written with `skip_jwks_validation`; else empty. */
  readonly unchecked: string
}

/** With the revision of its record. */
type LoadedConfig = ReadyConfig & { readonly revision: number }

export type MountStateParts = Omit<KeysetParts, 'fetchedAfter'> & {
  readonly caches?: CacheUses
  /** Called after each write of a configuration, by any server. */
  onConfig?(): void
}

const configKey = 'config'

/**
 * Configuration and roles of one mount: stored in its view, with parsed copies in memory. Copies are as new
 * as the last write of this process; a failed write drops them too, because it may have been stored
 * nevertheless. They follow the writes of other servers. A mount shares keys with others, but after a write
 * of its configuration, by any server, it uses only those fetched since. docs/contract/jwt.md#keys
 */
export class MountState implements Disposable {
  readonly #view: View
  readonly #parts: MountStateParts
  readonly #unwatch: () => void
  #ready: Promise<ReadyConfig | undefined> | undefined
  /** What was loaded last, also if it may be outdated. */
  #last: LoadedConfig | undefined
  /** Whether this server has loaded or written a configuration. */
  #isKnown = false
  readonly roles: StoredRoles<Role>
  readonly celRoles: StoredRoles<CelRole>

  /** `view` is the mount's own; it keeps the text of numbers. */
  constructor(view: View, parts: MountStateParts) {
    this.#view = view
    this.#parts = parts
    const stored = { view, caches: parts.caches }
    this.roles = new StoredRoles({ ...stored, prefix: 'role/', read: readRole })
    this.celRoles = new StoredRoles({ ...stored, prefix: 'cel/role/', read: readCelRole })
    this.#unwatch = view.watch(configKey, () => this.#outdate())
  }

  /** The key of the configuration, from the root of the storage. */
  get configRecord(): string {
    return this.#view.fromRoot({ key: configKey, value: undefined }).key
  }

  #outdate(): void {
    this.#ready = undefined
    this.#parts.onConfig?.()
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
      const stored = await this.#view.read(configKey)
      if (stored !== undefined) ready = this.#loaded(stored)
      return ready
    } finally {
      if (ready === undefined) this.#ready = undefined
    }
  }

  /** What was loaded before, if the record is unchanged. */
  #loaded({ value, revision }: ViewRecord): ReadyConfig {
    if (this.#last?.revision === revision) return this.#last
    const { sources } = this.#parts
    // a record that is new to this server was written after it loaded another one
    const write = readWrite(value)
    const fetchedAfter = this.#isKnown ? sources.lastNumber : sources.lastNumberBefore(write.written)
    this.#isKnown = true
    this.#last = { ...readyConfig(readConfig(value), { ...this.#parts, fetchedAfter }), ...write, revision }
    return this.#last
  }

  /** A configuration that is not stored. */
  readied(config: Config): ReadyConfig {
    const fetchedAfter = this.#parts.sources.lastNumber
    return { ...readyConfig(config, { ...this.#parts, fetchedAfter }), written: 0, unchecked: '' }
  }

  [Symbol.dispose](): void {
    this.#unwatch()
    this.roles[Symbol.dispose]()
    this.celRoles[Symbol.dispose]()
  }

  /**
   * `change` returns the new configuration for the stored one; `unchecked` is that of `ReadyConfig`. `put` writes its
   * entry together with others.
   */
  async changeConfig(
    change: (before: Config | undefined) => Config,
    {
      unchecked = '',
      put,
    }: {
      unchecked?: string | undefined
      put?: ((entryOf: () => Promise<ViewEntry>) => Promise<void>) | undefined
    } = {},
  ): Promise<void> {
    const written = this.#parts.clock.now()
    const changedFrom = (current: unknown) =>
      changed(current, {
        ...change(current === undefined ? undefined : readConfig(current)),
        written,
        unchecked,
      })
    try {
      if (put === undefined) await this.#view.update(configKey, changedFrom)
      else
        await put(async () => {
          const stored = await this.#view.read(configKey)
          const value = changedFrom(stored?.value)
          return this.#view.fromRoot({ key: configKey, value, expect: stored?.revision ?? 'absent' })
        })
    } finally {
      this.#outdate()
      this.#isKnown = true
    }
  }

  /** The configuration as it is stored now, whatever copies say. */
  async storedConfig(): Promise<Config | undefined> {
    const stored = await this.#view.get(configKey)
    return stored === undefined ? undefined : readConfig(stored)
  }
}

/** Fields of a later version are kept. */
const changed = (current: unknown, record: object): object =>
  typeof current === 'object' ? { ...current, ...record } : record

/** What a record says of the write of its configuration. */
function readWrite(stored: unknown): Pick<ReadyConfig, 'written' | 'unchecked'> {
  const { written, unchecked }: { written?: unknown; unchecked?: unknown } = Object(stored)
  return {
    written: isJsonNumber(written) ? Number(numberText(written)) : 0,
    unchecked: typeof unchecked === 'string' ? unchecked : '',
  }
}

/** Selects the source that verifies a JWT. docs/contract/jwt.md#configuration */
function readyConfig(config: Config, given: KeysetParts): Omit<ReadyConfig, 'written' | 'unchecked'> {
  const parts = { ...given, allowed: allowedKeys(config.allowed_key_thumbprints) }
  if (config.oidc_discovery_url !== '') {
    const provider = new DiscoveredProvider(discoverySource(config), parts)
    return { config, keyset: provider, provider }
  }
  return { config, keyset: ownKeyset(config, parts), provider: undefined }
}

function ownKeyset(config: Config, parts: KeysetParts): Keyset {
  if (config.jwt_validation_pubkeys.length > 0)
    return new StaticKeyset(config.jwt_validation_pubkeys.map(parsePublicKeyPem), parts)
  return config.jwks_url === ''
    ? new MultiJwksKeyset(jwksPairs(config), parts)
    : new JwksKeyset(jwksSource(config), parts)
}
