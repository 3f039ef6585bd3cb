import type { Mount } from '../../core/mounts/mount.ts'
import { type Resource, resource, tidyReply } from '../../http/resource/resource.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import { answers } from './answers.ts'
import type { ApproleMethod } from './method.ts'

type TidyParts = {
  readonly method: ApproleMethod
  readonly log: { readonly info: LogLine; readonly error: LogLine }
}

/** Deletes on request what the periodic sweep would delete later: of each mount, one run at a time. */
export class Tidy implements AsyncDisposable {
  readonly #parts: TidyParts
  readonly #running = new Map<string, Promise<void>>()
  readonly #stop = new AbortController()

  constructor(parts: TidyParts) {
    this.#parts = parts
  }

  /** False if this mount is being tidied up. */
  start(mount: Mount): boolean {
    if (this.#running.has(mount.uuid)) return false
    this.#running.set(
      mount.uuid,
      this.#run(mount).finally(() => this.#running.delete(mount.uuid)),
    )
    return true
  }

  async #run(mount: Mount): Promise<void> {
    const { method, log } = this.#parts
    const where = { namespace: mount.namespace, mount: mount.path }
    try {
      await method.secretIdsOf(mount).sweep(this.#stop.signal)
      log.info({ event: 'secret_ids_tidied', ...where }, 'removed secret ids that are not valid any more')
    } catch (err) {
      log.error({ event: 'work_failed', err, ...where }, 'could not remove expired secret ids')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running.values())
  }
}

/** `tidy/secret-id`. docs/contract/approle.md#secret-ids */
export const tidyResource = (tidy: Tidy): Resource =>
  resource('/tidy/secret-id', {
    help: 'Remove secret ids that are not valid any more, in the background.',
    write: {
      summary: 'Tidy up secret ids',
      ...answers.inBackground,
      handle: ({ mount }) => tidyReply(tidy.start(mount)),
    },
  })
