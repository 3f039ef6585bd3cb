/** The slots that one mount uses: reserved ones, and some of those that all mounts share. */
export type SlotUsage = { reserved: number; shared: number }

export const noSlots = (): SlotUsage => ({ reserved: 0, shared: 0 })

/** Slots reserved for each mount, so that a mount that hangs cannot block the others. */
const reservedSlots = 10
const sharedSlots = 200
const maxSharedPerMount = 90

/**
 * Limits concurrent work. Waiting callers get slots in order of arrival, except those whose mount is at its
 * limit.
 */
export class WorkerPool {
  #waiting: { readonly usage: SlotUsage; readonly resolve: (release: () => void) => void }[] = []
  #free = sharedSlots

  /** Waits for a slot. The caller must call the returned function exactly once to release it. */
  acquire(usage: SlotUsage): Promise<() => void> {
    const release = this.#tryAcquire(usage)
    return release === undefined
      ? new Promise((resolve) => this.#waiting.push({ usage, resolve }))
      : Promise.resolve(release)
  }

  #tryAcquire(usage: SlotUsage): (() => void) | undefined {
    if (usage.reserved < reservedSlots) {
      usage.reserved += 1
      return () => {
        usage.reserved -= 1
        this.#resume()
      }
    }
    if (this.#free === 0 || usage.shared === maxSharedPerMount) return undefined
    this.#free -= 1
    usage.shared += 1
    return () => {
      this.#free += 1
      usage.shared -= 1
      this.#resume()
    }
  }

  /** Gives a free slot to the first waiting caller whose mount is below its limit. */
  #resume(): void {
    for (const [index, { usage, resolve }] of this.#waiting.entries()) {
      const release = this.#tryAcquire(usage)
      if (release === undefined) continue
      this.#waiting.splice(index, 1)
      resolve(release)
      return
    }
  }
}
