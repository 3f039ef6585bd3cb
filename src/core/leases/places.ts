/** What one mount has in use: places that are its own, and such that all mounts share. */
export type Share = { own: number; shared: number }

export const newShare = (): Share => ({ own: 0, shared: 0 })

/** Of each mount: however many others hang, it is worked on. */
const ownPlaces = 10
const sharedPlaces = 200
/** Shared places one mount may have. */
const mostShared = 90

/** So many pieces of work at once; who waits is served in the order of asking, as soon as there is a place for that mount. */
export class Places {
  #waiting: { readonly share: Share; readonly go: (giveBack: () => void) => void }[] = []
  #free = sharedPlaces

  /** Resolves when a place is the caller's; what comes back gives it back, and is called once. */
  take(share: Share): Promise<() => void> {
    const place = this.#place(share)
    return place === undefined ? new Promise((go) => this.#waiting.push({ share, go })) : Promise.resolve(place)
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

  /** One place has become free: it goes to the first who may have it. */
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
