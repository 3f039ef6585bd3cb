import { Periodic } from '../../../core/background.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import { ServiceError } from '../../../errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'
import type { ConfigRecord } from '../config/config-record.ts'
import type { MountState } from '../mount-state.ts'
import { digestOf, type RootSecretUsers } from './root-secret-users.ts'
import { completeRotation, type RotationLog } from './complete-rotation.ts'
import { dueTime, nextStep } from './next-step.ts'
import { rotateRoot } from './rotate-root.ts'
import { callWithin } from '../upstream-work.ts'

export type RootRotationParts = {
  /** The mounts of the engine. */
  mounts(): readonly Mount[]
  stateOf(mount: Mount): MountState
  /** Counts as a request inside of the mount; undefined: nobody may come in. */
  enter(mount: Mount): (() => void) | undefined
  readonly rootSecretUsers: Pick<RootSecretUsers, 'of'>
  readonly clock: Clock
  readonly random: Random
  readonly log: RotationLog
}

const tickMs = 5_000
/**
 * Between two looks at a pending secret, and between two tries of a rotation that is due.
 * docs/contract/cloud.md#undo
 */
const againMs = 15_000
const rotateAgainMs = 60_000

/**
 * What becomes of root secrets by itself: a pending one counts as soon as it works, and rotations that are
 * due begin. A mount is looked at by one run at a time. Disposing waits for the work at hand.
 * docs/contract/cloud.md#promotion, docs/contract/cloud.md#automatic-rotation.
 */
export class RootRotation implements AsyncDisposable {
  readonly #parts: RootRotationParts
  readonly #stopping = new AbortController()
  readonly #running = new Map<string, Promise<void>>()
  readonly #notBefore = new Map<string, number>()
  readonly #idleUntil = new WeakMap<ConfigRecord, number>()
  readonly #looks: Periodic

  constructor(parts: RootRotationParts) {
    this.#parts = parts
    this.#looks = new Periodic({
      intervalMs: tickMs,
      run: async () => {
        // does not wait: a mount whose cloud hangs must not delay the others
        void this.look()
      },
      onError: (err) => parts.log.error({ err }, 'root secrets could not be checked'),
    })
  }

  start(): void {
    this.#looks.start()
  }

  /** Does all that is due, and waits for it. Failures are logged and tried again by a later run. */
  async look(): Promise<void> {
    const mounts = this.#parts.mounts()
    const live = new Set(mounts.map(({ uuid }) => uuid))
    for (const uuid of this.#notBefore.keys()) if (!live.has(uuid)) this.#notBefore.delete(uuid)
    const work: Promise<void>[] = []
    for (const mount of mounts) {
      if (!this.#running.has(mount.uuid)) await this.#lookAt(mount)
      const running = this.#running.get(mount.uuid)
      if (running !== undefined) work.push(running)
    }
    await Promise.all(work)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.#looks[Symbol.asyncDispose]()
    await Promise.allSettled(this.#running.values())
  }

  /** Begins what is due. */
  async #lookAt(mount: Mount): Promise<void> {
    const { clock, stateOf, enter } = this.#parts
    const wait = (this.#notBefore.get(mount.uuid) ?? 0) - clock.now()
    // a longer one is from before the clock was set
    if (wait > 0 && wait <= rotateAgainMs) return
    const leave = enter(mount)
    if (leave === undefined) return
    let work: Promise<void> | undefined
    try {
      const state = stateOf(mount)
      const config = await state.findConfig()
      const step = config === undefined ? 'nothing' : this.#stepOf(config)
      if (step === 'complete') work = this.#complete(mount, state)
      else if (step === 'rotate') work = this.#rotate(mount, state)
    } catch (error) {
      this.#failed(mount, error)
    }
    if (work === undefined || this.#stopping.signal.aborted) return leave()
    const running = work
      .catch((error: unknown) => this.#failed(mount, error))
      .finally(() => {
        this.#running.delete(mount.uuid)
        leave()
      })
    this.#running.set(mount.uuid, running)
  }

  /** As long as nothing is due, the schedule is asked but once. */
  #stepOf(config: ConfigRecord): ReturnType<typeof nextStep> {
    const now = this.#parts.clock.now()
    if (config.pending === undefined && (this.#idleUntil.get(config) ?? 0) > now) return 'nothing'
    this.#idleUntil.set(config, dueTime(config, now))
    return nextStep(config, now)
  }

  #failed({ path, namespace }: Mount, err: unknown): void {
    // a sealed server tells nobody but its callers
    if (err instanceof ServiceError && err.kind === 'sealed') return
    this.#parts.log.error(
      { err, mount: path, namespace },
      'the root secret of a cloud mount could not be rotated; it is tried again',
    )
  }

  async #complete(mount: Mount, state: MountState): Promise<void> {
    this.#notBefore.set(mount.uuid, this.#parts.clock.now() + againMs)
    const isUsedElsewhere = (former: ConfigRecord) => this.#isUsedElsewhere(mount, former)
    if (await completeRotation(this.#work(state), this.#parts.log, isUsedElsewhere))
      this.#notBefore.delete(mount.uuid)
  }

  /**
   * A secret that was typed in may have been typed in twice: it goes when the last mount has moved off it.
   */
  async #isUsedElsewhere({ uuid }: Mount, { client_secret }: ConfigRecord): Promise<boolean> {
    return (await this.#parts.rootSecretUsers.of(digestOf(client_secret))).some((user) => user.uuid !== uuid)
  }

  async #rotate(mount: Mount, state: MountState): Promise<void> {
    this.#notBefore.set(mount.uuid, this.#parts.clock.now() + rotateAgainMs)
    await rotateRoot(this.#work(state))
    this.#notBefore.delete(mount.uuid)
  }

  #work(state: MountState) {
    const { clock, random } = this.#parts
    return { state, clock, random, call: callWithin(clock, random.uuid(), this.#stopping.signal) }
  }
}
