import { once } from 'node:events'
import type { MountTokens } from '../../core/identity-tokens/mount-tokens.ts'
import type { Jobs } from '../../core/jobs/jobs.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { IdentityTokenUse } from '../../core/mounts/mount-type.ts'
import { rootNamespace } from '../../core/namespaces/namespace.ts'
import type { OutboundClient } from '../../core/outbound/outbound.ts'
import type { Servers } from '../../core/servers/servers.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { UnusableCertificate } from './certificates/client-certificate.ts'
import { readCertificate } from './certificates/read-certificate.ts'
import { type ConfigContext, type ConfigInput, changedConfig } from './config/config.ts'
import { type ConfigRecord, discardedRotation } from './config/config-record.ts'
import { hasSameCredential, identityTokenUse, type OperatorSettings } from './config/effective-settings.ts'
import { CloudCredentials, type CloudCredentialsParts } from './credentials/cloud-credentials.ts'
import type { EngineLog } from './engine-parts.ts'
import { FederatedCredentials } from './federation/federated-credentials.ts'
import { credentialTypeOf } from './federation/federated-role.ts'
import { debrisObjects } from './intents/debris.ts'
import { MountState, type MountStateParts, type RoleLimits } from './mount-state.ts'
import { CloudPools, type PoolTimes } from './pool/pools.ts'
import { abandonTrusted, deleteRole } from './roles/delete-role.ts'
import { leasesOfRole, leftLeasesWarning, type RoleLeases, revokeLeasesOfRole } from './roles/role-leases.ts'
import { lacksScope } from './roles/role-record.ts'
import type { RotationTimes } from './root-rotation/next-step.ts'
import { removalOfPending } from './root-rotation/pending-secret.ts'
import { RootRotation } from './root-rotation/root-rotation.ts'
import { certificateAccepted } from './sign-in/root-certificate.ts'
import { StaticRoles, type StaticTimes } from './static-roles/static-roles.ts'
import { openTokenExchange, openUpstream, type Pause, pause as untilPassed } from './upstream/index.ts'
import { callWithin, type RoleWork } from './upstream-work.ts'

export type CloudEngineParts = {
  readonly mounts: Pick<MountStore, 'viewOf' | 'table' | 'enter'>
  readonly outbound: OutboundClient
  readonly clock: Clock
  readonly random: Random
  readonly log: EngineLog
  readonly jobs: Pick<Jobs, 'job'>
  readonly servers: Servers
  readonly operator: OperatorSettings
  readonly mountTokens: Pick<MountTokens, 'check' | 'identityOf' | 'sign' | 'signingKeyOf'>
  fullPathOf(mount: Mount): string
  readonly leases: RoleLeases
  readonly systemTtl: CloudCredentialsParts['systemTtl']
  /** Time limits, for tests. */
  readonly patience?: CloudCredentialsParts['patience']
  readonly requestLimitMs?: CloudCredentialsParts['requestLimitMs']
  readonly staticTimes?: StaticTimes
  readonly rotationTimes?: Partial<RotationTimes>
  readonly poolTimes?: PoolTimes
  readonly limits?: Partial<RoleLimits>
  /** Waits before a retry; replaced by tests. */
  readonly pause?: Pause | undefined
}

const emptyMs = 60_000

const needsIdentityTokens = (config: ConfigRecord | undefined): boolean =>
  config !== undefined && config.identity_token_audience !== ''

/** Mounts to which the operator offers the identity of the host. */
const namedMounts = ({ hostIdentity = '' }: OperatorSettings): ReadonlySet<string> =>
  new Set(hostIdentity.split(',').map((path) => `${path.trim().replace(/\/+$/, '')}/`))

/** The certificate that a request has, or why it cannot be used. */
async function certificateIn(
  { client_certificate: text = '', client_certificate_password: password = '' }: ConfigInput,
  now: number,
): Promise<ConfigContext['certificate']> {
  if (text === '') return undefined
  try {
    return await readCertificate(text, password, now)
  } catch (error) {
    if (error instanceof UnusableCertificate) return error
    throw error
  }
}

const hasFederatedRole = async (state: MountState): Promise<boolean> =>
  (await state.roles()).some(({ role }) => credentialTypeOf(role) === 'federated')

/** Whether something on the root application is not in use yet, or no longer. */
const hasPending = ({ pending, pending_certificate, retiring_keys }: ConfigRecord): boolean =>
  [pending, pending_certificate, retiring_keys].some((one) => one !== undefined)

const isOurs = ({ plugin }: Mount): boolean => plugin === 'cloud' || plugin === 'azure'

/** The engine for all its mounts. States are found by uuid, so they survive a move of the mount. */
export class CloudEngine implements AsyncDisposable {
  readonly rotation: RootRotation
  readonly credentials: CloudCredentials
  readonly staticRoles: StaticRoles
  readonly federated: FederatedCredentials
  readonly pools: CloudPools
  readonly #parts: CloudEngineParts
  readonly #stateParts: MountStateParts
  readonly #stateByUuid = new Map<string, MountState>()
  readonly #stopping = new AbortController()
  #reporting: Promise<void> | undefined

  constructor(parts: CloudEngineParts) {
    const { mounts, outbound, clock, mountTokens, pause = untilPassed } = parts
    const current = (mount: Mount) => mounts.table.byUuid(mount.uuid) ?? mount
    this.#parts = parts
    const upstreamParts = { outbound, clock, stopping: this.#stopping.signal, pause }
    this.#stateParts = {
      ...parts,
      isHostOffered: (mount) => this.#isHostOffered(mount),
      openUpstream: (settings, mount) =>
        openUpstream(settings, {
          ...upstreamParts,
          identifiers: parts.random,
          accepted: (credential) => certificateAccepted(credential, this.stateOf(mount), clock.now()),
          signIdentityToken: async (audience, ttl) =>
            (await mountTokens.sign({ mount: current(mount) }, { audience, ttl })).token,
        }),
      openExchange: (settings) => openTokenExchange(settings, upstreamParts),
      openIntents: (mount, state) => this.credentials.openIntents(mount, state),
    }
    const own = {
      ...parts,
      mounts: () => this.mounts(),
      everyMount: () => this.#everyMount(),
      stateOf: (mount: Mount) => this.stateOf(mount),
      enter: (mount: Mount) => mounts.enter(mount),
      pause,
    }
    const mountOf = (accessor: string) => mounts.table.byAccessor(accessor)
    this.credentials = new CloudCredentials({ ...own, mountOf })
    this.federated = new FederatedCredentials(own)
    this.rotation = new RootRotation({ ...own, times: parts.rotationTimes })
    this.staticRoles = new StaticRoles(own)
    this.pools = new CloudPools({ ...own, creationsOf: (mount) => this.credentials.creationsOf(mount) })
  }

  start(): void {
    this.credentials.start()
    for (const { looks } of [this.rotation, this.staticRoles, this.pools]) looks.start()
    this.#reporting = this.#reportUnscoped()
  }

  /** Logs the roles that earlier versions stored with an entry without a scope. */
  async #reportUnscoped(): Promise<void> {
    for (const mount of this.mounts()) {
      if (this.#stopping.signal.aborted) return
      const place = { mount: mount.path, namespace: mount.namespace }
      try {
        for (const { name, role } of await this.stateOf(mount).roles())
          if (lacksScope(role))
            this.#parts.log.warn(
              { event: 'role_without_scope', ...place, role: name },
              'a role has an entry without a scope and issues nothing; write the role again',
            )
      } catch (err) {
        this.#parts.log.error(
          { event: 'record_unreadable', err, ...place },
          'cannot read the roles of a mount',
        )
      }
    }
  }

  get clock(): Clock {
    return this.#parts.clock
  }

  /** The engine's mounts, without those that are being removed. */
  mounts(): Mount[] {
    return this.#everyMount().filter(({ tainted }) => !tainted)
  }

  /** The mount may have been moved since, so its record is looked up. docs/contract/cloud.md#identity-of-the-host */
  #isHostOffered({ uuid }: Mount): boolean {
    const { mounts, operator, fullPathOf } = this.#parts
    const mount = mounts.table.byUuid(uuid)
    if (mount === undefined) return false
    return mount.namespace === rootNamespace.id || namedMounts(operator).has(fullPathOf(mount))
  }

  #everyMount(): Mount[] {
    return [...this.#parts.mounts.table.all()].filter(isOurs)
  }

  stateOf(mount: Mount): MountState {
    const known = this.#stateByUuid.get(mount.uuid)
    if (known !== undefined) return known
    this.#closeRemoved()
    const state = new MountState(
      mount,
      this.#parts.mounts.viewOf(mount).view('', { numbers: 'plain' }),
      this.#stateParts,
    )
    this.#stateByUuid.set(mount.uuid, state)
    return state
  }

  #closeRemoved(): void {
    for (const [uuid, state] of this.#stateByUuid) {
      if (this.#parts.mounts.table.byUuid(uuid) !== undefined) continue
      this.#stateByUuid.delete(uuid)
      state[Symbol.asyncDispose]().catch((err: unknown) =>
        this.#parts.log.error(
          { event: 'work_failed', err },
          'could not stop the background work of a removed cloud mount',
        ),
      )
    }
  }

  /** Returns a warning if a pending secret is discarded. docs/contract/cloud.md#writing-a-configuration */
  async putConfig(mount: Mount, input: ConfigInput): Promise<string[]> {
    const { clock, operator, mountTokens } = this.#parts
    const state = this.stateOf(mount)
    const now = clock.now()
    const { isHostOffered } = state
    const context = { operator, now, isHostOffered, certificate: await certificateIn(input, now) }
    const changed = (before: ConfigRecord | undefined) => changedConfig(before, input, context)
    for (const use of await this.#tokenUses(mount, changed(await state.findConfig())))
      await mountTokens.check({ mount }, use)
    return await this.#changeConfig(state, (before) => {
      const config = changed(before)
      const isKept = before !== undefined && hasSameCredential(before, config, operator)
      return { config, drops: isKept ? undefined : before }
    })
  }

  async identityTokenUses(mount: Mount): Promise<IdentityTokenUse[]> {
    return this.#tokenUses(mount, await this.stateOf(mount).findConfig())
  }

  /** The identity tokens that a mount needs with this configuration. */
  async #tokenUses(mount: Mount, config: ConfigRecord | undefined): Promise<IdentityTokenUse[]> {
    return needsIdentityTokens(config) || (await hasFederatedRole(this.stateOf(mount)))
      ? [identityTokenUse(config, this.#parts.operator)]
      : []
  }

  /** docs/contract/cloud.md#deleting-a-configuration */
  deleteConfig(mount: Mount): Promise<string[]> {
    return this.#changeConfig(this.stateOf(mount), (before) =>
      before === undefined ? 'keep' : { config: undefined, drops: before },
    )
  }

  /** Writes a configuration, and removes the pending secret of `drops`. Returns a warning if there is one. */
  async #changeConfig(
    state: MountState,
    change: (
      before: ConfigRecord | undefined,
    ) => { config: ConfigRecord | undefined; drops: ConfigRecord | undefined } | 'keep',
  ): Promise<string[]> {
    let warnings: string[] = []
    await state.changeConfig((before) => {
      const changed = change(before)
      if (changed === 'keep') return 'keep'
      warnings = discardedRotation(changed.drops)
      return { config: changed.config, undoes: removalOfPending(state, changed.drops) }
    })
    return warnings
  }

  /**
   * Returns warnings. With `revoke`, its leases are revoked first, even if the role is gone.
   * docs/contract/cloud.md#deleting-a-role
   */
  async deleteRole(
    mount: Mount,
    name: string,
    { revoke, correlationId }: { readonly revoke: boolean; readonly correlationId: string },
  ): Promise<string[]> {
    const { leases } = this.#parts
    const state = this.stateOf(mount)
    if (revoke) await revokeLeasesOfRole(name, state, leases)
    const role = await state.findRole(name)
    const warnings = await deleteRole(name, this.work(mount, correlationId))
    // credentials that were issued in the meantime
    if (revoke) await revokeLeasesOfRole(name, state, leases)
    const left =
      revoke || role === undefined
        ? undefined
        : leftLeasesWarning((await leasesOfRole(name, state, leases)).length, role)
    return left === undefined ? warnings : [...warnings, left]
  }

  /** Runs before a mount is removed, and may refuse that: see `CloudCredentials.clear`. */
  async clear(mount: Mount, how: { readonly abandon: boolean }): Promise<void> {
    await this.staticRoles.stop(mount)
    await this.#changeConfig(this.stateOf(mount), (before) => {
      if (before === undefined || !hasPending(before)) return 'keep'
      const { pending: _secret, pending_certificate: _certificate, retiring_keys: _keys, ...config } = before
      return { config, drops: before }
    })
    await this.pools.empty(mount)
    await this.credentials.clear(mount, how)
  }

  /**
   * Deletes the applications of a removed mount's roles and undoes its intents. Logs what is left after a minute,
   * because its records are deleted with the mount.
   */
  async empty(mount: Mount): Promise<void> {
    const { clock, random, log } = this.#parts
    const signal = AbortSignal.timeout(emptyMs)
    const call = { ...callWithin(clock, random.uuid(), signal), deadline: clock.now() + emptyMs }
    const state = this.stateOf(mount)
    const place = { mount: mount.path, namespace: mount.namespace }
    try {
      await this.#deleteApplications(place, { ...this.work(mount, call.correlationId), call })
      await this.staticRoles.leave(mount)
      const left = await Promise.race([
        state.intents.undoAll(signal, 'all'),
        once(signal, 'abort').then(() => state.intents.debris()),
      ])
      if (left.length > 0)
        log.warn(
          { event: 'cloud_left', ...place, objects: debrisObjects(left) },
          'objects of a removed mount are left upstream',
        )
    } catch (err) {
      log.error(
        { event: 'record_unreadable', err, ...place },
        'cannot read what a removed mount owns upstream',
      )
    }
  }

  async #deleteApplications(place: { readonly mount: string; readonly namespace: string }, work: RoleWork) {
    for (const { name, role } of await work.state.roles()) {
      const application = role.managed?.object_id ?? role.trust?.application_object_id
      if (application === undefined) continue
      const trust = role.managed === undefined ? role.trust : undefined
      const deleting = trust === undefined ? deleteRole(name, work) : abandonTrusted(name, trust, work)
      await deleting.catch((err: unknown) =>
        this.#parts.log.warn(
          { err, event: 'cloud_left', ...place, role: name, application },
          'an application of a removed mount, or its trust, is left upstream',
        ),
      )
    }
  }

  /** What a request works with. Its calls to the cloud have a time limit. */
  work(mount: Mount, correlationId: string): RoleWork {
    const call = callWithin(this.clock, correlationId)
    return { ...this.#parts, mount, state: this.stateOf(mount), call }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.#reporting
    await this.rotation.looks[Symbol.asyncDispose]()
    await this.staticRoles[Symbol.asyncDispose]()
    await this.pools.looks[Symbol.asyncDispose]()
    await this.credentials.reaping[Symbol.asyncDispose]()
    await Promise.all([...this.#stateByUuid.values()].map((state) => state[Symbol.asyncDispose]()))
  }
}
