import type { View, ViewEntry } from '../../core/barrier/view.ts'
import type { MountToken } from '../../core/identity-tokens/mount-tokens.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import { Changes } from '../../core/records/change.ts'
import type { Servers } from '../../core/servers/servers.ts'
import { fail, refuse } from '../../errors.ts'
import { KeyedMutex } from '../../lib/concurrency/keyed-mutex.ts'
import type { WaitingBounds } from '../../lib/concurrency/limiter.ts'
import { Cache } from '../../lib/data/cache.ts'
import { Loaded } from '../../lib/data/loaded.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { allRoles } from './all-roles.ts'
import { type ConfigRecord, readConfigRecord } from './config/config-record.ts'
import {
  effectiveClientId,
  effectiveLogin,
  effectiveSettings,
  type OperatorSettings,
  withLiveCertificate,
} from './config/effective-settings.ts'
import { KeptTokens } from './federation/kept-tokens.ts'
import { type FieldNames, namesOf } from './field-names.ts'
import type { Intents, RecordedIntents } from './intents/intents.ts'
import { PoolStore } from './pool/pool-store.ts'
import { type RoleRecord, readRole } from './roles/role-record.ts'
import { OwnIdentity } from './sign-in/own-identity.ts'
import { StaticRoleStore } from './static-roles/static-role-store.ts'
import type { TokenExchange, Upstream, UpstreamSettings } from './upstream/index.ts'
import type { LoginSettings } from './upstream/transport.ts'

/** A client of the three upstream services, with the settings it signs in with. */
export type ReadyUpstream = Upstream & { readonly settings: UpstreamSettings }

export type MountStateParts = {
  readonly clock: Clock
  readonly operator: OperatorSettings
  readonly servers: Pick<Servers, 'exclusively'>
  openUpstream(settings: UpstreamSettings, mount: Mount): Upstream
  /** Whether the mount may sign in as the machine on which the server runs. */
  isHostOffered(mount: Mount): boolean
  openExchange(settings: LoginSettings): TokenExchange
  openIntents(mount: Mount, state: MountState): Intents
  /** Changed by tests only. */
  readonly limits?: Partial<RoleLimits> | undefined
}

/** The most roles of a kind, and credentials made ahead, that a mount can have. docs/limits.md#cloud-credentials */
const usualLimits = {
  staticRoles: 1_000,
  federatedRoles: 1_000,
  /** Of all its pools together. */
  pooled: 500,
  /** How long a write of a role waits for other writes of it, and how many may wait. */
  writeWaitMs: 20_000,
  waitingWrites: 20,
}

export type RoleLimits = Readonly<typeof usualLimits>

const configKey = 'config'
const rolePrefix = 'role/'
/** How long an upstream client is reused. docs/contract/cloud.md#effective-settings */
const upstreamLifeMs = 30 * 60_000

/**
 * Everything of one mount. Caches what it reads from the mount's storage view. Every write drops the cached copy,
 * even a failed one, because that may be stored, and so do the writes of other servers.
 */
export class MountState implements AsyncDisposable {
  readonly view: View
  readonly names: FieldNames
  /** Does not change when the mount moves. */
  readonly accessor: string
  readonly intents: Intents
  readonly staticRoles: StaticRoleStore
  readonly pool: PoolStore
  readonly limits: RoleLimits
  /** Dropped with the configuration. */
  readonly ownIdentity: OwnIdentity
  readonly #parts: MountStateParts
  readonly #mount: Mount
  readonly #config: Loaded<ConfigRecord | undefined>
  #upstream:
    | { readonly ready: ReadyUpstream; readonly until: number; readonly isHostOffered: boolean }
    | undefined
  #changes = 0
  #exchange: TokenExchange | undefined
  /** Access tokens of roles. Dropped with a role or the configuration. */
  readonly tokens: KeptTokens
  /**
   * The last assertion of each role, dropped with the role or the configuration. Callers within one second share it: a
   * signature takes as long as twenty requests.
   */
  readonly assertions: Cache<Promise<MountToken>>
  readonly #roles = new Cache<RoleRecord>({ name: 'cloud roles', most: 10_000, mostWeight: 16 * 1024 * 1024 })
  /** Dropped with every change of a role. */
  readonly #pooledRoles = new Loaded(async () =>
    (await this.roles()).filter(({ role }) => (role.pool ?? 0) > 0),
  )
  readonly #mutex = new KeyedMutex()
  readonly #configChanges: Changes
  readonly #unwatch: readonly (() => void)[]

  constructor(mount: Mount, view: View, parts: MountStateParts) {
    this.view = view
    this.#config = new Loaded(async () => {
      const stored = await view.get(configKey)
      return stored === undefined ? undefined : readConfigRecord(stored)
    })
    this.#configChanges = new Changes({ view, tooMany: 'the configuration is changed by too many at once' })
    this.#mount = mount
    this.names = namesOf(mount)
    this.accessor = mount.accessor
    this.#parts = parts
    this.limits = { ...usualLimits, ...parts.limits }
    this.ownIdentity = new OwnIdentity(parts.clock)
    this.tokens = new KeptTokens(parts.clock)
    const ttl = { ms: 1_000, clock: parts.clock }
    this.assertions = new Cache({ name: 'recent assertions', most: 2_000, ttl })
    this.intents = parts.openIntents(mount, this)
    this.staticRoles = new StaticRoleStore(view, parts.clock)
    this.pool = new PoolStore(view)
    this.#unwatch = [
      view.watch(configKey, () => this.#configChanged()),
      view.watch(rolePrefix, (keys) => this.#followRoles(keys)),
    ]
  }

  #followRoles(keys: readonly string[] | undefined): void {
    const names = keys?.map((key) => key.slice(rolePrefix.length))
    this.#roles.follow(names)
    this.#pooledRoles.drop()
    if (names === undefined) this.#dropTokens()
    else for (const name of names) this.#dropTokensOf(name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const unwatch of this.#unwatch) unwatch()
    this.staticRoles[Symbol.dispose]()
    await this.intents[Symbol.asyncDispose]()
  }

  get operator(): OperatorSettings {
    return this.#parts.operator
  }

  /** The key of a record, from the root of the storage. */
  recordKey(kind: 'config' | 'role' | 'static-role', name = ''): string {
    const key = kind === 'config' ? configKey : `${kind}/${name}`
    return this.view.fromRoot({ key, value: undefined }).key
  }

  /** Undefined if the mount is not configured. */
  findConfig(): Promise<ConfigRecord | undefined> {
    return this.#config.get()
  }

  /**
   * Writes the configuration that `change` derives from the stored one, together with further entries and intents,
   * which are then undone; `keep` writes nothing. `change` runs again after a conflicting write, and its errors abort
   * the change. Drops the upstream client.
   */
  async changeConfig(change: (before: ConfigRecord | undefined) => ConfigChange | 'keep'): Promise<void> {
    let undone: readonly string[] = []
    try {
      await this.#configChanges.run(configKey, async (write) => {
        const stored = await this.view.read(configKey)
        const changed = change(stored === undefined ? undefined : readConfigRecord(stored.value))
        if (changed === 'keep') return
        const entry = {
          key: configKey,
          value: changed.config,
          expect: stored?.revision ?? ('absent' as const),
        }
        undone = changed.undoes?.ids ?? []
        await write([entry, ...(changed.alongside ?? []), ...(changed.undoes?.entries ?? [])])
      })
    } finally {
      this.#configChanged()
      // a failed write may be stored; an intent that is not stored has nothing to undo
      await this.intents.undo(undone)
    }
  }

  #configChanged(): void {
    this.#changes += 1
    this.#config.drop()
    this.#upstream = undefined
    this.#exchange = undefined
    this.ownIdentity.drop()
    this.#dropTokens()
  }

  #dropTokens(): void {
    this.tokens.dropAll()
    this.assertions.dropAll()
  }

  #dropTokensOf(role: string): void {
    this.tokens.drop(holderOfRole(role))
    this.assertions.drop(role)
  }

  /**
   * The client for the effective settings, reused for 30 minutes or until the configuration changes. Throws if a
   * setting is missing.
   */
  async upstream(): Promise<ReadyUpstream> {
    const now = this.#parts.clock.now()
    // a mount that was moved may have lost the identity of the host
    const { isHostOffered } = this
    const known = this.#upstream
    if (known !== undefined && now < known.until && known.isHostOffered === isHostOffered) return known.ready
    const changes = this.#changes
    const config = withLiveCertificate(await this.findConfig(), now)
    const ready = this.open(effectiveSettings(config, this.#parts.operator, isHostOffered))
    // not reused if the configuration was changed meanwhile
    if (changes === this.#changes) this.#upstream = { ready, until: now + upstreamLifeMs, isHostOffered }
    return ready
  }

  /** Whether the mount may sign in as the machine on which the server runs. */
  get isHostOffered(): boolean {
    return this.#parts.isHostOffered(this.#mount)
  }

  /** The login service, for clients other than the root. Throws if a setting is missing. */
  async exchange(): Promise<TokenExchange> {
    if (this.#exchange !== undefined) return this.#exchange
    const changes = this.#changes
    const opened = this.#parts.openExchange(effectiveLogin(await this.findConfig(), this.#parts.operator))
    if (changes === this.#changes) this.#exchange = opened
    return opened
  }

  /** Opens a separate client, for other settings than the effective ones. */
  open(settings: UpstreamSettings): ReadyUpstream {
    return Object.assign(this.#parts.openUpstream(settings, this.#mount), { settings })
  }

  /** `name` is lower-case. */
  findRole(name: string): Promise<RoleRecord | undefined> {
    return this.#roles.read(name, async () => {
      const stored = await this.view.get(rolePrefix + name)
      return stored === undefined ? undefined : readRole(stored)
    })
  }

  /** To be called within `withRoleLock`. Undefined deletes the role. */
  async putRole(
    name: string,
    value: RoleRecord | undefined,
    alongside: readonly ViewEntry[] = [],
  ): Promise<void> {
    try {
      const isWritten = await this.view.write([{ key: rolePrefix + name, value }, ...alongside])
      if (!isWritten) throw fail('unavailable', 'what was to be written with a role was changed meanwhile')
    } finally {
      this.#roles.drop(name)
      this.#pooledRoles.drop()
      this.#dropTokensOf(name)
    }
  }

  /** Sorted. */
  async roleNames(): Promise<string[]> {
    const keys = await this.view.listKeys(rolePrefix)
    return keys.map((key) => key.slice(rolePrefix.length))
  }

  /** Every role, sorted by name. */
  async roles(): Promise<NamedRole[]> {
    return allRoles(await this.roleNames(), (name) => this.findRole(name))
  }

  /** The roles of which credentials are made ahead. */
  pooledRoles(): Promise<NamedRole[]> {
    return this.#pooledRoles.get()
  }

  /** Serializes the writes and deletions of one role, across servers. */
  withRoleLock<T>(name: string, work: () => Promise<T>, bounds?: WaitingBounds): Promise<T> {
    return this.#parts.servers.exclusively(`cloud/role/${this.accessor}/${name}`, work, bounds)
  }

  /** For a request that writes a role: those before it may wait for the directory, one after the other. */
  writeBounds(name: string): WaitingBounds {
    return {
      ms: this.limits.writeWaitMs,
      most: this.limits.waitingWrites,
      refusal: () => refuse('throttled', `other requests are writing role '${name}'; try again`),
    }
  }

  /**
   * Serializes the changes of a trust, across servers, with the write that makes a role its owner. Under the role's
   * lock.
   */
  withTrustLock<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#parts.servers.exclusively(`cloud/trust/${name}`, work)
  }

  /** Serializes the writes of one static role, across servers. */
  withStaticRoleLock<T>(name: string, work: () => Promise<T>, bounds?: WaitingBounds): Promise<T> {
    return this.#parts.servers.exclusively(`cloud/static-role/${this.accessor}/${name}`, work, bounds)
  }

  /** Serializes the rotations of one static role, across servers. A rotation takes the role's lock to write. */
  withStaticRotationLock<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#parts.servers.exclusively(`cloud/static-rotation/${this.accessor}/${name}`, work)
  }

  /** Serializes root rotations, across servers and all mounts with the same root application. */
  withRotationLock<T>(work: () => Promise<T>): Promise<T> {
    return this.#mutex.runExclusive('rotation', async () => {
      const clientId = effectiveClientId(await this.findConfig(), this.operator)
      return this.#parts.servers.exclusively(`cloud/rotation/${clientId.toLowerCase()}`, work)
    })
  }

  /** Serializes password changes, across servers and mounts. docs/contract/cloud.md#passwords-on-an-application */
  withApplicationLock<T>(objectId: string, work: () => Promise<T>): Promise<T> {
    return this.#parts.servers.exclusively(`cloud/application/${objectId.toLowerCase()}`, work)
  }
}

export type NamedRole = { readonly name: string; readonly role: RoleRecord }

/** Whose kept tokens are a role's. */
export const holderOfRole = (name: string): string => `role/${name}`

export type ConfigChange = {
  readonly config: ConfigRecord | undefined
  readonly alongside?: readonly ViewEntry[]
  readonly undoes?: RecordedIntents
}
