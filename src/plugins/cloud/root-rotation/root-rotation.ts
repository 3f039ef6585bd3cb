import { Periodic } from '../../../core/jobs/background.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import { ServiceError } from '../../../errors.ts'
import type { ConfigRecord } from '../config/config-record.ts'
import type { EngineParts } from '../engine-parts.ts'
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
export class RootRotation implements AsyncDisposable {
  readonly #parts: RootRotationParts
  readonly #times: RotationTimes
  readonly #stopping = new AbortController()
  readonly #running = new Map<string, Promise<void>>()
  readonly #notBefore = new Map<string, number>()
  readonly #idleUntil = new WeakMap<ConfigRecord, number>()
  readonly #looks: Periodic

  constructor(parts: RootRotationParts) {
    this.#parts = parts
    this.#times = { ...usualTimes, ...parts.times }
    this.#looks = new Periodic({
      job: parts.jobs.job('cloud-root-rotation'),
      intervalMs: this.#times.lookMs,
      run: async (ended) => {
        // does not wait: a mount whose cloud hangs must not delay the others
        void this.look(ended)
      },
      onError: (err) => parts.log.error({ event: 'work_failed', err }, 'could not check root secrets'),
    })
  }

  start(): void {
    this.#looks.start()
  }

  /** Does everything that is due and waits for it. Failures are logged, and a later run retries them. */
  async look(ended = this.#stopping.signal): Promise<void> {
    const mounts = this.#parts.mounts()
    const live = new Set(mounts.map(({ uuid }) => uuid))
    for (const uuid of this.#notBefore.keys()) if (!live.has(uuid)) this.#notBefore.delete(uuid)
    await Promise.all(mounts.map((mount) => this.#lookOnce(mount, ended)))
  }

  /** Joins a look at the mount that has not ended yet. */
  #lookOnce(mount: Mount, ended: AbortSignal): Promise<void> {
    const running = this.#running.get(mount.uuid)
    if (running !== undefined) return running
    const look = this.#lookAt(mount, AbortSignal.any([ended, this.#stopping.signal])).finally(() => {
      this.#running.delete(mount.uuid)
    })
    this.#running.set(mount.uuid, look)
    return look
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.#looks[Symbol.asyncDispose]()
    await Promise.allSettled(this.#running.values())
  }

  async #lookAt(mount: Mount, ended: AbortSignal): Promise<void> {
    const { clock, random, stateOf, enter } = this.#parts
    const wait = (this.#notBefore.get(mount.uuid) ?? 0) - clock.now()
    // a longer wait means that the clock was set back
    if (wait > 0 && wait <= this.#times.rotateAgainMs) return
    const leave = enter(mount)
    if (leave === undefined) return
    try {
      const state = stateOf(mount)
      const config = await state.findConfig()
      // nobody waits for what would begin now
      if (ended.aborted || config === undefined) return
      const step = this.#stepOf(config)
      const work = { state, clock, random, call: callWithin(clock, random.uuid(), ended) }
      if (step === 'complete') await this.#complete(mount, work)
      else if (step === 'rotate') await this.#unlessFailed(mount, () => rotateRoot(work))
      else if (step === 'retire') await this.#unlessFailed(mount, () => retireKeys(work))
    } catch (error) {
      this.#failed(mount, error)
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

  #failed({ path, namespace }: Mount, err: unknown): void {
    // a sealed server reports that to its callers only
    if (err instanceof ServiceError && err.kind === 'sealed') return
    this.#parts.log.error(
      { event: 'work_failed', err, mount: path, namespace },
      'could not rotate the root secret of a cloud mount; retrying',
    )
  }

  async #complete(mount: Mount, work: RotationWork): Promise<void> {
    this.#notBefore.set(mount.uuid, this.#parts.clock.now() + this.#times.checkAgainMs)
    const isUsedElsewhere = (former: ConfigRecord) => this.#isUsedElsewhere(mount, former)
    const { log } = this.#parts
    const isComplete = await completeRotation(work, log, isUsedElsewhere)
    if ((await completeCertificate(work, log, this.#times)) && isComplete) this.#notBefore.delete(mount.uuid)
  }

  /** An operator may have given several mounts the same secret: it is removed once no mount uses it. */
  async #isUsedElsewhere({ uuid }: Mount, { client_secret }: ConfigRecord): Promise<boolean> {
    const users = await mountsWithSecret(digestOf(client_secret), this.#parts)
    return users.some((user) => user.uuid !== uuid)
  }

  /** After a failure, the mount is left alone for a while. */
  async #unlessFailed(mount: Mount, change: () => Promise<unknown>): Promise<void> {
    this.#notBefore.set(mount.uuid, this.#parts.clock.now() + this.#times.rotateAgainMs)
    await change()
    this.#notBefore.delete(mount.uuid)
  }
}
