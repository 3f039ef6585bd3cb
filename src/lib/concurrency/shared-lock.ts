/**
 * Work that may run beside other shared work, and work that must run alone. Both begin in order of arrival, so
 * neither kind holds up the other for ever.
 */
export class SharedLock {
  /** Settles with the last work that runs alone. */
  #alone: Promise<void> | undefined
  /** Settle with the shared work that came after it. */
  #shared = new Set<Promise<void>>()

  runShared<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#alone === undefined ? work() : this.#alone.then(work)
    const running = this.#shared
    const end = settled(result).then(() => void running.delete(end))
    running.add(end)
    return result
  }

  /** The work must not wait for further work of this lock. */
  runAlone<T>(work: () => Promise<T>): Promise<T> {
    const before = [...(this.#alone === undefined ? [] : [this.#alone]), ...this.#shared]
    const result = before.length === 0 ? work() : Promise.all(before).then(work)
    const end = settled(result).then(() => {
      if (this.#alone === end) this.#alone = undefined
    })
    this.#alone = end
    this.#shared = new Set()
    return result
  }
}

const settled = (work: Promise<unknown>): Promise<void> =>
  work.then(
    () => {},
    () => {},
  )
