import type { Mount } from '../../core/mounts/mount.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import { wantsRotation } from './config.ts'
import type { ConfigRecord } from './config-record.ts'
import { nextTime, parseCron } from './cron.ts'
import type { MountState } from './mount-state.ts'
import { completeRotation, leastAgeMs, type RotationLog, rotateRoot } from './rotate-root.ts'
import { callWithin } from './upstream-work.ts'

export type RootRotationParts = {
  /** The mounts of the engine. */
  mounts(): readonly Mount[]
  stateOf(mount: Mount): MountState
  /** Counts as a request inside of the mount; undefined: nobody may come in. */
  enter(mount: Mount): (() => void) | undefined
  readonly clock: Clock
  readonly random: Random
  readonly log: RotationLog
}

const tickMs = 5_000
/** Between two looks at a pending secret, and between two tries of a rotation that is due. Contract cloud-engine §6. */
const againMs = 15_000
const rotateAgainMs = 60_000

/**
 * What becomes of root secrets by itself: a pending one counts as soon as it works, and rotations that are due begin. A mount is looked at by one run
 * at a time. Disposing waits for the work at hand. Contract cloud-engine §5.3, §5.4.
 */
export class RootRotation implements AsyncDisposable {
  readonly #parts: RootRotationParts
  readonly #stopping = new AbortController()
  readonly #running = new Map<string, Promise<void>>()
  readonly #notBefore = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(parts: RootRotationParts) {
    this.#parts = parts
  }

  start(): void {
    if (this.#stopping.signal.aborted) return
    this.#timer = setTimeout(() => void this.look().finally(() => this.start()), tickMs)
    this.#timer.unref()
  }

  /** Does all that is due, and waits for it. Failures are logged and tried again by a later run. */
  async look(): Promise<void> {
    const mounts = this.#parts.mounts()
    const live = new Set(mounts.map(({ uuid }) => uuid))
    for (const uuid of this.#notBefore.keys()) if (!live.has(uuid)) this.#notBefore.delete(uuid)
    await Promise.all(
      mounts.map((mount) => {
        const running = this.#running.get(mount.uuid) ?? this.#lookAt(mount).finally(() => this.#running.delete(mount.uuid))
        this.#running.set(mount.uuid, running)
        return running
      }),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    clearTimeout(this.#timer)
    await Promise.allSettled(this.#running.values())
  }

  async #lookAt(mount: Mount): Promise<void> {
    const { clock, stateOf, enter, log } = this.#parts
    if ((this.#notBefore.get(mount.uuid) ?? 0) > clock.now()) return
    const leave = enter(mount)
    if (leave === undefined) return
    try {
      const state = stateOf(mount)
      const step = nextStep(await state.findConfig(), clock.now())
      if (step === 'complete') await this.#complete(mount, state)
      else if (step === 'rotate') await this.#rotate(mount, state)
    } catch (err) {
      log.error({ err, mount: mount.path, namespace: mount.namespace }, 'the root secret of a cloud mount could not be rotated; it is tried again')
    } finally {
      leave()
    }
  }

  async #complete(mount: Mount, state: MountState): Promise<void> {
    this.#notBefore.set(mount.uuid, this.#parts.clock.now() + againMs)
    if (await completeRotation(this.#work(state), this.#parts.log)) this.#notBefore.delete(mount.uuid)
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

/** A pending secret that does not work for so long does not hold up a rotation that is due. */
const givenUpMs = 3600_000

/** What there is to do for a mount's root secret now. Pure. */
export function nextStep(config: ConfigRecord | undefined, now: number): 'complete' | 'rotate' | 'nothing' {
  if (config === undefined) return 'nothing'
  const isDue = isRotationDue(config, now)
  if (config.pending === undefined) return isDue ? 'rotate' : 'nothing'
  const ageMs = now - config.pending.created
  if (isDue && ageMs >= givenUpMs) return 'rotate'
  return ageMs >= leastAgeMs ? 'complete' : 'nothing'
}

/** An automated rotation may begin now. Pure. Contract cloud-engine §5.4. */
export function isRotationDue(config: ConfigRecord, now: number): boolean {
  const { rotation_counts_from: from, rotation_period, rotation_schedule, rotation_window } = config
  if (!wantsRotation(config) || from === undefined) return false
  if (rotation_schedule === '') return now >= from + rotation_period * 1000
  const schedule = parseCron(rotation_schedule)
  if ('error' in schedule) return false
  // of the times that are still in their window, the first one after the last rotation
  const earliest = rotation_window === 0 ? from : Math.max(from, now - rotation_window * 1000 - 1)
  const due = nextTime(schedule, earliest)
  return due !== undefined && due <= now
}
