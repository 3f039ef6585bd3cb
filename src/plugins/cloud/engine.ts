import { once } from 'node:events'
import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { OutboundClient } from '../../core/outbound.ts'
import type { Jobs } from '../../core/jobs.ts'
import type { Servers } from '../../core/servers.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import { changedConfig, type ConfigInput } from './config/config.ts'
import type { ConfigRecord } from './config/config-record.ts'
import { CloudCredentials, type CloudCredentialsParts } from './credentials/cloud-credentials.ts'
import { engineOptions } from './mount-options.ts'
import { debrisObjects } from './intents/debris.ts'
import { MountState, type MountStateParts } from './mount-state.ts'
import type { RoleInput } from './roles/role-input.ts'
import { deleteRole } from './roles/delete-role.ts'
import { writeRole } from './roles/write-role.ts'
import { leasesOfRole, leftLeasesWarning, revokeLeasesOfRole, type RoleLeases } from './roles/role-leases.ts'
import { RootRotation } from './root-rotation/root-rotation.ts'
import { RootSecretUsers } from './root-rotation/root-secret-users.ts'
import type { RotationLog } from './root-rotation/complete-rotation.ts'
import { hasSameCredential, removalOfPending } from './root-rotation/pending-secret.ts'
import { rotateRoot } from './root-rotation/rotate-root.ts'
import type { OperatorSettings } from './config/effective-settings.ts'
import { openUpstream, type UpstreamParts } from './upstream/index.ts'
import { callWithin, type RoleWork } from './upstream-work.ts'

export type CloudEngineParts = {
  readonly mounts: Pick<MountStore, 'viewOf' | 'table' | 'enter'>
  readonly outbound: OutboundClient
  readonly clock: Clock
  readonly random: Random
  readonly log: RotationLog
  readonly jobs: Pick<Jobs, 'job'>
  readonly servers: Servers
  readonly operator: OperatorSettings
  readonly leases: RoleLeases
  readonly systemTtl: CloudCredentialsParts['systemTtl']
  /** Time limits, for tests. */
  readonly patience?: CloudCredentialsParts['patience']
  readonly requestLimitMs?: CloudCredentialsParts['requestLimitMs']
  /** Waits before a retry; replaced by tests. */
  readonly pause?: UpstreamParts['pause'] | undefined
}

const emptyMs = 60_000

const isOurs = ({ plugin }: Mount): boolean => plugin === 'cloud' || plugin === 'azure'

/**
 * The engine for all its mounts. The state of a mount is found by uuid, so it survives a move of the mount.
 */
export class CloudEngine implements AsyncDisposable {
  readonly rotation: RootRotation
  readonly credentials: CloudCredentials
  readonly #parts: CloudEngineParts
  readonly #stateParts: MountStateParts
  readonly #stateByUuid = new Map<string, MountState>()
  readonly #stopping = new AbortController()

  constructor(parts: CloudEngineParts) {
    const { mounts, outbound, clock, random, log, jobs, servers, operator, pause } = parts
    this.#parts = parts
    this.#stateParts = {
      clock,
      operator,
      servers,
      openUpstream: (settings) =>
        openUpstream(settings, {
          outbound,
          clock,
          stopping: this.#stopping.signal,
          ...(pause === undefined ? {} : { pause }),
        }),
      openIntents: (mount, state) => this.credentials.openIntents(mount, state),
    }
    const enter = (mount: Mount) => mounts.enter(mount)
    const own = {
      mounts: () => this.mounts(),
      everyMount: () => this.#everyMount(),
      stateOf: (mount: Mount) => this.stateOf(mount),
      enter,
    }
    const { leases, systemTtl, patience, requestLimitMs } = parts
    const rootSecretUsers = new RootSecretUsers(own)
    this.credentials = new CloudCredentials({
      ...{ ...own, rootSecretUsers, leases, systemTtl, clock, random, log, jobs, servers },
      ...{ pause, patience, requestLimitMs },
      mountOf: (accessor) => mounts.table.byAccessor(accessor),
    })
    this.rotation = new RootRotation({ ...own, rootSecretUsers, clock, random, log, jobs })
  }

  /** Starts the background work. */
  start(): void {
    this.rotation.start()
    this.credentials.start()
  }

  /** The engine's mounts, without those that are being removed. */
  mounts(): Mount[] {
    return this.#everyMount().filter(({ tainted }) => !tainted)
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

  /** Closes the state of mounts that no longer exist. */
  #closeRemoved(): void {
    for (const [uuid, state] of this.#stateByUuid) {
      if (this.#parts.mounts.table.byUuid(uuid) !== undefined) continue
      this.#stateByUuid.delete(uuid)
      state[Symbol.asyncDispose]().catch((err: unknown) =>
        this.#parts.log.error({ err }, 'could not stop the background work of a removed cloud mount'),
      )
    }
  }

  /**
   * If the credential changes, the pending secret is removed. docs/contract/cloud.md#writing-a-configuration
   */
  async putConfig(mount: Mount, input: ConfigInput): Promise<void> {
    const { clock, operator } = this.#parts
    await this.#changeConfig(this.stateOf(mount), (before) => {
      const config = changedConfig(before, input, { operator, now: clock.now() })
      return {
        config,
        drops: before !== undefined && !hasSameCredential(before, config) ? before : undefined,
      }
    })
  }

  /** docs/contract/cloud.md#deleting-a-configuration */
  deleteConfig(mount: Mount): Promise<void> {
    return this.#changeConfig(this.stateOf(mount), (before) =>
      before === undefined ? 'keep' : { config: undefined, drops: before },
    )
  }

  /** Writes a configuration, and removes the pending secret of `drops`, which will never be promoted. */
  async #changeConfig(
    state: MountState,
    change: (
      before: ConfigRecord | undefined,
    ) => { config: ConfigRecord | undefined; drops: ConfigRecord | undefined } | 'keep',
  ): Promise<void> {
    let dropped: readonly string[] = []
    try {
      await state.changeConfig((before) => {
        const changed = change(before)
        if (changed === 'keep') return 'keep'
        const gone = removalOfPending(state, changed.drops)
        dropped = gone.ids
        return { config: changed.config, alongside: gone.entries }
      })
    } finally {
      // a failed write may be stored
      await state.intents.undo(dropped)
    }
  }

  /** docs/contract/cloud.md#root-rotation */
  rotateRoot(mount: Mount, correlationId: string): Promise<void> {
    return rotateRoot(this.#work(mount, correlationId))
  }

  /** docs/contract/cloud.md#writing-a-role */
  putRole(mount: Mount, name: string, input: RoleInput, correlationId: string): Promise<void> {
    return writeRole(name, input, this.#work(mount, correlationId))
  }

  /**
   * Deletes a role and returns warnings. With `revoke`, its leases are revoked first, even if the role no
   * longer exists. docs/contract/cloud.md#deleting-a-role
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
    const warnings = await deleteRole(name, this.#work(mount, correlationId))
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
    await this.#changeConfig(this.stateOf(mount), (before) => {
      if (before?.pending === undefined) return 'keep'
      const { pending: _dropped, ...config } = before
      return { config, drops: before }
    })
    await this.credentials.clear(mount, how)
  }

  /**
   * Empties a mount that is being removed: deletes the applications that its roles own and undoes its
   * intents. Logs what cannot be removed within a minute, because its records are deleted with the mount.
   */
  async empty(mount: Mount): Promise<void> {
    const { clock, random, log } = this.#parts
    const signal = AbortSignal.timeout(emptyMs)
    const call = { ...callWithin(clock, random.uuid(), signal), deadline: clock.now() + emptyMs }
    const state = this.stateOf(mount)
    const place = { mount: mount.path, namespace: mount.namespace }
    try {
      await this.#deleteApplications(place, {
        state,
        clock,
        random,
        call,
        serviceManagementReference: undefined,
      })
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
      log.error({ err, ...place }, 'cannot read what a removed mount owns upstream')
    }
  }

  async #deleteApplications(place: { readonly mount: string; readonly namespace: string }, work: RoleWork) {
    for (const name of await work.state.roleNames()) {
      const managed = (await work.state.findRole(name))?.managed
      if (managed === undefined) continue
      await deleteRole(name, work).catch((err: unknown) =>
        this.#parts.log.warn(
          { err, event: 'cloud_left', ...place, role: name, application: managed.object_id },
          'an application of a removed mount is left upstream',
        ),
      )
    }
  }

  #work(mount: Mount, correlationId: string): RoleWork {
    const { clock, random } = this.#parts
    const { serviceManagementReference } = engineOptions(mount)
    return {
      state: this.stateOf(mount),
      clock,
      random,
      call: callWithin(clock, correlationId),
      serviceManagementReference,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.rotation[Symbol.asyncDispose]()
    await this.credentials[Symbol.asyncDispose]()
    await Promise.all([...this.#stateByUuid.values()].map((state) => state[Symbol.asyncDispose]()))
  }
}
