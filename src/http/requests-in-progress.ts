import type { Call } from './call.ts'

/** A request in progress. `startedAt` is in milliseconds since the epoch. */
export type RequestInProgress = { readonly call: Call; readonly startedAt: number }

/** The requests that a server has received and not yet answered. */
export class RequestsInProgress {
  readonly #startedAt = new Map<Call, number>()

  begin(call: Call): void {
    this.#startedAt.set(call, Date.now())
  }

  end(call: Call): void {
    this.#startedAt.delete(call)
  }

  list(): RequestInProgress[] {
    return [...this.#startedAt].map(([call, startedAt]) => ({ call, startedAt }))
  }
}
