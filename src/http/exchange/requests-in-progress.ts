import type { Call } from './call.ts'

/** A request in progress. `startedAt` is in milliseconds since the epoch. */
export type RequestInProgress = { readonly call: Call; readonly startedAt: number }

/** The requests that a server has received and not yet answered: docs/contract/node.md#requests-in-progress */
export class RequestsInProgress {
  readonly #calls = new Set<Call>()

  begin(call: Call): void {
    call.startedAt = Date.now()
    this.#calls.add(call)
  }

  end(call: Call): void {
    this.#calls.delete(call)
  }

  /** The oldest first. */
  list(): RequestInProgress[] {
    return [...this.#calls].map((call) => ({ call, startedAt: call.startedAt }))
  }
}
