import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../lib/clock.ts'
import type { View } from '../barrier/view.ts'
import { dueRotations, readDueKey } from './issuer-keys.ts'
import type { NamedKeyStore } from './named-key-store.ts'

export type KeyRotatorParts = {
  /** The storage root. */
  readonly root: View
  readonly keys: Pick<NamedKeyStore, 'rotateDue'>
  readonly clock: Clock
  /** Pause between two runs. */
  readonly intervalMs: number
  onError(error: unknown): void
}

const duePage = 100

/**
 * Rotates due keys in the background, one at a time. After downtime each due key is rotated once, and its
 * next period starts then. Disposing waits for the rotation in progress.
 * docs/contract/identity-tokens.md#keys
 */
export class KeyRotator implements AsyncDisposable {
  readonly #parts: KeyRotatorParts
  #timer: NodeJS.Timeout | undefined
  #running: Promise<number> | undefined
  #stopped = false

  constructor(parts: KeyRotatorParts) {
    this.#parts = parts
  }

  start(): void {
    if (this.#stopped) return
    this.#timer = setTimeout(() => void this.rotateDue().finally(() => this.start()), this.#parts.intervalMs)
    this.#timer.unref()
  }

  /**
   * Rotates all due keys and returns their number; joins a run in progress. Failures are reported, never
   * thrown; the next run retries.
   */
  rotateDue(): Promise<number> {
    this.#running ??= this.#rotateDue().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #rotateDue(): Promise<number> {
    const { root, keys, clock, onError } = this.#parts
    let count = 0
    try {
      for (let after: string | undefined; ; ) {
        const page = await root.listKeys(dueRotations, {
          limit: duePage,
          ...(after === undefined ? {} : { after }),
        })
        for (const key of page) {
          const due = readDueKey(key)
          if (this.#stopped || (due !== undefined && due.at > clock.now())) return count
          if (due === undefined) continue
          try {
            if (await keys.rotateDue(due)) count++
          } catch (error) {
            onError(error)
          }
          await nextTurn()
        }
        after = page.at(-1)
        if (page.length < duePage) return count
      }
    } catch (error) {
      onError(error)
      return count
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#running
  }
}
