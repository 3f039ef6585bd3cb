import { once } from 'node:events'
import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { OutboundClient } from '../../core/outbound.ts'
import { KeyedMutex } from '../../core/keyed-mutex.ts'
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
  readonly operator: OperatorSettings
  readonly leases: RoleLeases
  readonly systemTtl: CloudCredentialsParts['systemTtl']
  /** How long things may take; tests only. */
  readonly patience?: CloudCredentialsParts['patience']
  readonly requestLimitMs?: CloudCredentialsParts['requestLimitMs']
  /** How long is waited before something is tried again; tests only. */
  readonly pause?: UpstreamParts['pause'] | undefined
}

const emptyingMs = 60_000

const isOurs = ({ plugin }: Mount): boolean => plugin === 'cloud' || plugin === 'azure'

/**
 * The engine over all its mounts: each has its own state, found by the mount's uuid, so it stays when the
 * mount moves.
 */
export class CloudEngine implements AsyncDisposable {
  readonly rotation: RootRotation
  readonly credentials: CloudCredentials
  readonly #parts: CloudEngineParts
  readonly #stateParts: MountStateParts
  readonly #stateByUuid = new Map<string, MountState>()
  readonly #stopping = new AbortController()

  constructor(parts: CloudEngineParts) {
    const { mounts, outbound, clock, random, log, operator, pause } = parts
    this.#parts = parts
    this.#stateParts = {
      clock,
      operator,
      applications: new KeyedMutex(),
      rotations: new KeyedMutex(),
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
      ...{ ...own, rootSecretUsers, leases, systemTtl, clock, random, log, pause, patience, requestLimitMs },
      mountOf: (accessor) => mounts.table.byAccessor(accessor),
    })
    this.rotation = new RootRotation({ ...own, rootSecretUsers, clock, random, log })
  }

  /** Begins what happens by itself, in the background. */
  start(): void {
    this.rotation.start()
    this.credentials.start()
  }

  /** Mounts of the engine that are not being removed. */
  mounts(): Mount[] {
    return this.#everyMount().filter(({ tainted }) => !tainted)
  }

  #everyMount(): Mount[] {
    return [...this.#parts.mounts.table.all()].filter(isOurs)
  }

  stateOf(mount: Mount): MountState {
    const known = this.#stateByUuid.get(mount.uuid)
    if (known !== undefined) return known
    this.#dropGone()
    const state = new MountState(
      mount,
      this.#parts.mounts.viewOf(mount).view('', { numbers: 'plain' }),
      this.#stateParts,
    )
    this.#stateByUuid.set(mount.uuid, state)
    return state
  }

  #dropGone(): void {
    for (const [uuid, state] of this.#stateByUuid) {
      if (this.#parts.mounts.table.byUuid(uuid) !== undefined) continue
      this.#stateByUuid.delete(uuid)
      state.intents[Symbol.asyncDispose]().catch((err: unknown) =>
        this.#parts.log.error({ err }, 'work for a mount that is gone could not be ended'),
      )
    }
  }

  /**
   * docs/contract/cloud.md#writing-a-configuration. A secret that was about to follow another one is removed.
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

  /** `drops`: a secret that is pending there will never count, and is removed. */
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
      // a write that failed may be stored
      state.intents.undo(dropped)
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
   * Gives back what there is to warn of. `revoke`: its leases are revoked first, also those of a role that is
   * gone. docs/contract/cloud.md#deleting-a-role
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
    // what was being made in the meantime
    if (revoke) await revokeLeasesOfRole(name, state, leases)
    const left =
      revoke || role === undefined
        ? undefined
        : leftLeasesWarning((await leasesOfRole(name, state, leases)).length, role)
    return left === undefined ? warnings : [...warnings, left]
  }

  /** Before a mount is removed: see `CloudCredentials.clear`. */
  async clear(mount: Mount, how: { readonly abandon: boolean }): Promise<void> {
    if (!isOurs(mount)) return
    await this.#changeConfig(this.stateOf(mount), (before) => {
      if (before?.pending === undefined) return 'keep'
      const { pending: _dropped, ...config } = before
      return { config, drops: before }
    })
    await this.credentials.clear(mount, how)
  }

  /**
   * Of a mount that is being removed: deletes the applications its roles keep, and undoes what is left. What
   * cannot be removed in a minute is logged, for nobody knows of it any longer then.
   */
  async empty(mount: Mount): Promise<void> {
    if (!isOurs(mount)) return
    const { clock, random, log } = this.#parts
    const signal = AbortSignal.timeout(emptyingMs)
    const call = { ...callWithin(clock, random.uuid(), signal), deadline: clock.now() + emptyingMs }
    const state = this.stateOf(mount)
    const place = { mount: mount.path, namespace: mount.namespace }
    try {
      for (const name of await state.roleNames()) {
        const managed = (await state.findRole(name))?.managed
        if (managed === undefined) continue
        await deleteRole(name, { state, clock, random, call, serviceManagementReference: undefined }).catch(
          (err: unknown) =>
            log.warn(
              { err, event: 'cloud_left', ...place, role: name, application: managed.object_id },
              'an application of a removed mount is left upstream',
            ),
        )
      }
      const left = await Promise.race([
        state.intents.undoAll(),
        once(signal, 'abort').then(() => state.intents.debris()),
      ])
      if (left.length > 0)
        log.warn(
          { event: 'cloud_left', ...place, objects: debrisObjects(left) },
          'what a removed mount made is left upstream',
        )
    } catch (err) {
      log.error({ err, ...place }, 'what a removed mount keeps upstream cannot be read')
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
    await Promise.all([...this.#stateByUuid.values()].map(({ intents }) => intents[Symbol.asyncDispose]()))
  }
}
