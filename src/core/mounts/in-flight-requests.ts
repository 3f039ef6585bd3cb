import type { View } from '../barrier/view.ts'
import type { Mount } from './mount.ts'

type Entry = {
  readonly view: View
  readonly leave: () => void
  inFlight: number
  closed: boolean
  waiting: (() => void)[]
}

/**
 * Counts the requests in progress at each mount and refuses new ones while a mount is being removed or moved.
 */
export class InFlightRequests {
  readonly #byUuid = new Map<string, Entry>()
  readonly #view: View

  /** `view` is the storage root. */
  constructor(view: View) {
    this.#view = view
  }

  add({ uuid }: Mount, isClosed: boolean): void {
    const entry: Entry = {
      view: this.#view.view(`mount/${uuid}/`, { numbers: 'literal' }),
      inFlight: 0,
      closed: isClosed,
      waiting: [],
      leave: () => {
        entry.inFlight -= 1
        if (entry.inFlight === 0) for (const resolve of entry.waiting.splice(0)) resolve()
      },
    }
    this.#byUuid.set(uuid, entry)
  }

  remove({ uuid }: Mount): void {
    this.#byUuid.delete(uuid)
  }

  view({ uuid }: Mount): View | undefined {
    return this.#byUuid.get(uuid)?.view
  }

  /** Counts a request until the returned function is called once. Undefined if the mount is closed, unless that is allowed. */
  enter({ uuid }: Mount, { mayBeClosed = false } = {}): (() => void) | undefined {
    const entry = this.#byUuid.get(uuid)
    if (entry === undefined || (entry.closed && !mayBeClosed)) return undefined
    entry.inFlight += 1
    return entry.leave
  }

  has({ uuid }: Mount): boolean {
    return this.#byUuid.has(uuid)
  }

  isEmpty({ uuid }: Mount): boolean {
    return (this.#byUuid.get(uuid)?.inFlight ?? 0) === 0
  }

  isClosed({ uuid }: Mount): boolean {
    return this.#byUuid.get(uuid)?.closed ?? true
  }

  /** Refuses new requests; resolves once all requests in progress have ended. */
  close({ uuid }: Mount): Promise<void> {
    const entry = this.#byUuid.get(uuid)
    if (entry === undefined) return Promise.resolve()
    entry.closed = true
    return entry.inFlight === 0 ? Promise.resolve() : new Promise((resolve) => entry.waiting.push(resolve))
  }

  open({ uuid }: Mount): void {
    const entry = this.#byUuid.get(uuid)
    if (entry !== undefined) entry.closed = false
  }
}
