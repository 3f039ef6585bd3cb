import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../lib/clock.ts'
import type { View } from '../barrier/view.ts'
import { dueRotations, readDueKey } from './issuer-keys.ts'
import type { NamedKeyStore } from './named-key-store.ts'

export type KeyRotatorParts = {
  /** The root of everything stored. */
  readonly root: View
  readonly keys: Pick<NamedKeyStore, 'rotateDue'>
  readonly clock: Clock
  /** Pause between two looks at what is due. */
  readonly intervalMs: number
  onError(error: unknown): void
}

const duePage = 100

/**
 * Rotates keys whose period is over, in the background, one after the other. After the server stood still
 * each is rotated once, whatever it missed: its next period begins then. Disposing waits for the rotation at
 * hand.
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
   * Rotates all that is due, and gives back how many; joins a run under way. Failures are reported, never
   * thrown; what failed is tried again by the next run.
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
