import type { Mount } from '../../../core/mounts/mount.ts'
import type { ConfigRecord } from '../config/config-record.ts'
import type { EngineParts } from '../engine-parts.ts'
import { MountLooks } from '../mount-looks.ts'
import type { MountState } from '../mount-state.ts'
import { callWithin, type RotationWork } from '../upstream-work.ts'
import { completeCertificate, retireKeys } from './complete-certificate.ts'
import { completeRotation } from './complete-rotation.ts'
import { dueTime, nextStep, pendingOf, type RotationTimes, retirementTime, usualTimes } from './next-step.ts'
import { digestOf, mountsWithSecret } from './root-secret-users.ts'
import { rotateRoot } from './rotate-root.ts'

export type RootRotationParts = EngineParts & { readonly times?: Partial<RotationTimes> | undefined }

/**
 * Promotes pending root secrets and starts rotations that are due, one run of a mount at a time.
 * docs/contract/cloud.md#promotion, docs/contract/cloud.md#automatic-rotation
 */
export class RootRotation {
  readonly looks: MountLooks
  readonly #parts: RootRotationParts
  readonly #times: RotationTimes
  readonly #running = new Map<string, Promise<void>>()
  readonly #notBefore = new WeakMap<MountState, number>()
  readonly #idleUntil = new WeakMap<ConfigRecord, number>()

  constructor(parts: RootRotationParts) {
    this.#parts = parts
    this.#times = { ...usualTimes, ...parts.times }
    this.looks = new MountLooks({
      ...parts,
      job: 'cloud-root-rotation',
      intervalMs: this.#times.lookMs,
      failure: 'could not rotate the root secret of a cloud mount; retrying',
      lookAt: (mount, ended) => this.#lookOnce(mount, ended),
    })
  }

  /** Joins a look at the mount that has not ended yet. */
  #lookOnce(mount: Mount, ended: AbortSignal): Promise<void> {
    const running = this.#running.get(mount.uuid)
    if (running !== undefined) return running
    const look = this.#lookAt(mount, ended)
      // several looks may have joined: one of them logs the failure
      .catch((err: unknown) => this.looks.failed(mount, err))
      .finally(() => this.#running.delete(mount.uuid))
    this.#running.set(mount.uuid, look)
    return look
  }

  async #lookAt(mount: Mount, ended: AbortSignal): Promise<void> {
    const { clock, random, stateOf, enter } = this.#parts
    const state = stateOf(mount)
    const wait = (this.#notBefore.get(state) ?? 0) - clock.now()
    // a longer wait means that the clock was set back
    if (wait > 0 && wait <= this.#times.rotateAgainMs) return
    const leave = enter(mount)
    if (leave === undefined) return
    try {
      const config = await state.findConfig()
      // nobody waits for what would begin now
      if (ended.aborted || config === undefined) return
      const step = this.#stepOf(config)
      const work = { state, clock, random, call: callWithin(clock, random.uuid(), ended) }
      if (step === 'complete') await this.#complete(mount, work)
      else if (step === 'rotate') await this.#unlessFailed(state, () => rotateRoot(work))
      else if (step === 'retire') await this.#unlessFailed(state, () => retireKeys(work))
    } finally {
      leave()
    }
  }

  /** Computes the schedule only once as long as nothing is due. */
  #stepOf(config: ConfigRecord): ReturnType<typeof nextStep> {
    const now = this.#parts.clock.now()
    if (pendingOf(config) === undefined && (this.#idleUntil.get(config) ?? 0) > now) return 'nothing'
    this.#idleUntil.set(config, Math.min(dueTime(config, now), retirementTime(config)))
    return nextStep(config, now, this.#times)
  }

  async #complete(mount: Mount, work: RotationWork): Promise<void> {
    this.#notBefore.set(work.state, this.#parts.clock.now() + this.#times.checkAgainMs)
    const isUsedElsewhere = (former: ConfigRecord) => this.#isUsedElsewhere(mount, former)
    const { log } = this.#parts
    const isComplete = await completeRotation(work, log, isUsedElsewhere)
    if ((await completeCertificate(work, log, this.#times)) && isComplete) this.#notBefore.delete(work.state)
  }

  /** An operator may have given several mounts the same secret: it is removed once no mount uses it. */
  async #isUsedElsewhere({ uuid }: Mount, { client_secret }: ConfigRecord): Promise<boolean> {
    const users = await mountsWithSecret(digestOf(client_secret), this.#parts)
    return users.some((user) => user.uuid !== uuid)
  }

  /** After a failure, the mount is left alone for a while. */
  async #unlessFailed(state: MountState, change: () => Promise<unknown>): Promise<void> {
    this.#notBefore.set(state, this.#parts.clock.now() + this.#times.rotateAgainMs)
    await change()
    this.#notBefore.delete(state)
  }
}
