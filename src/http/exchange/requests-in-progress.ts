import type { Call } from './call.ts'

/** A request in progress. `startedAt` is in milliseconds since the epoch. */
export type RequestInProgress = { readonly call: Call; readonly startedAt: number }

/**
 * The requests that a server has received and not yet answered, in no order. Not a `Map`: the tables that it leaves
 * behind as it grows and shrinks keep many a request, with all it refers to, until the next major garbage collection.
 */
export class RequestsInProgress {
  readonly #calls: Call[] = []

  begin(call: Call): void {
    call.startedAt = Date.now()
    call.indexInProgress = this.#calls.push(call) - 1
  }

  /** Must be called once for each `begin`. */
  end({ indexInProgress }: Call): void {
    const last = this.#calls.pop()
    if (last === undefined || indexInProgress === this.#calls.length) return
    this.#calls[indexInProgress] = last
    last.indexInProgress = indexInProgress
  }

  /** The oldest first. */
  list(): RequestInProgress[] {
    return this.#calls
      .map((call) => ({ call, startedAt: call.startedAt }))
      .sort((a, b) => a.startedAt - b.startedAt)
  }
}
