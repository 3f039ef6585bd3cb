import { Periodic } from '../../core/jobs/background.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import { ServiceError } from '../../errors.ts'
import type { EngineParts } from './engine-parts.ts'

type MountLooksParts = Pick<EngineParts, 'mounts' | 'jobs' | 'log'> & {
  readonly job: string
  readonly intervalMs: number
  /** What is logged when a look fails. */
  readonly failure: string
  /** Does everything that is due at a mount. */
  lookAt(mount: Mount, ended: AbortSignal): Promise<void>
}

/** Looks at all mounts of the engine from time to time. A mount whose cloud hangs delays neither others nor later looks. */
export class MountLooks implements AsyncDisposable {
  readonly #parts: MountLooksParts
  readonly #stopping = new AbortController()
  readonly #going = new Set<Promise<unknown>>()
  readonly #periodic: Periodic

  constructor(parts: MountLooksParts) {
    this.#parts = parts
    this.#periodic = new Periodic({
      job: parts.jobs.job(parts.job),
      intervalMs: parts.intervalMs,
      run: async (ended) => void this.look(ended),
      onError: (err) => parts.log.error({ event: 'work_failed', err }, parts.failure),
    })
  }

  /** Aborted when the server stops. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  start(): void {
    this.#periodic.start()
  }

  /** Looks now, and waits for it. Never rejects: failures are logged, and a later look retries them. */
  look(ended = this.stopping): Promise<unknown> {
    const signal = AbortSignal.any([ended, this.stopping])
    const { mounts, lookAt } = this.#parts
    const looks = mounts().map((mount) => lookAt(mount, signal).catch((err) => this.failed(mount, err)))
    const look = Promise.all(looks).finally(() => this.#going.delete(look))
    this.#going.add(look)
    return look
  }

  failed({ path, namespace }: Mount, err: unknown): void {
    // a sealed server reports that to its callers only
    if (err instanceof ServiceError && err.kind === 'sealed') return
    const { log, failure } = this.#parts
    log.error({ event: 'work_failed', err, mount: path, namespace }, failure)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.#periodic[Symbol.asyncDispose]()
    await Promise.all(this.#going)
  }
}
