/** The places one mount uses: its own, and some that all mounts share. */
export type Share = { own: number; shared: number }

export const newShare = (): Share => ({ own: 0, shared: 0 })

/** Places reserved for each mount, so that mounts that hang cannot block the others. */
const ownPlaces = 10
const sharedPlaces = 200
/** Most shared places for one mount. */
const mostShared = 90

/**
 * Limits concurrent work. Waiting callers get places in order of arrival, skipping mounts that are at their
 * limit.
 */
export class WorkerPool {
  #waiting: { readonly share: Share; readonly go: (giveBack: () => void) => void }[] = []
  #free = sharedPlaces

  /** Waits for a place. The caller must call the returned function exactly once to release it. */
  take(share: Share): Promise<() => void> {
    const place = this.#place(share)
    return place === undefined
      ? new Promise((go) => this.#waiting.push({ share, go }))
      : Promise.resolve(place)
  }

  #place(share: Share): (() => void) | undefined {
    if (share.own < ownPlaces) {
      share.own += 1
      return () => {
        share.own -= 1
        this.#serve()
      }
    }
    if (this.#free === 0 || share.shared === mostShared) return undefined
    this.#free -= 1
    share.shared += 1
    return () => {
      this.#free += 1
      share.shared -= 1
      this.#serve()
    }
  }

  /** Gives a free place to the first caller whose mount may have it. */
  #serve(): void {
    for (const [at, { share, go }] of this.#waiting.entries()) {
      const place = this.#place(share)
      if (place === undefined) continue
      this.#waiting.splice(at, 1)
      go(place)
      return
    }
  }
}
