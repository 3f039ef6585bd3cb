import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../lib/system/clock.ts'
import { excerpt } from '../../lib/text/go-text.ts'
import { type ClockOffset, IssuedTimes } from './clock-offset.ts'
import { SourceError } from './source-error.ts'

/** The `Date` header of a response, filled in while the response is processed. */
export type ResponseDate = { date: string | undefined }

/** The `Date` of a response; undefined for one that a cache has kept, because its date is that of an old clock. */
export const dateOf = ({ date, age }: IncomingHttpHeaders): string | undefined =>
  Number(age ?? 0) > 0 ? undefined : date

/** How one fetch went. */
export type FetchResult = {
  /** When it began, in milliseconds since the epoch. */
  readonly time: number
  readonly milliseconds: number
  /** Without the response's body; "" if it succeeded. */
  readonly error: string
}

const mostResults = 50

/** The history of the fetches from one URL. Times are milliseconds since the epoch. */
export class SourceHistory {
  readonly #clock: Clock
  #fetches = 0
  #isReachable: boolean | null = null
  #fetchedAt: number | undefined
  #lastError: { readonly time: number; readonly text: string } | undefined
  #offset: ClockOffset | undefined
  #results: readonly FetchResult[] = []
  readonly #issued = new IssuedTimes()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get fetches(): number {
    return this.#fetches
  }

  /** Null: not fetched yet. */
  get isReachable(): boolean | null {
    return this.#isReachable
  }

  /** Time of the last success. */
  get fetchedAt(): number | undefined {
    return this.#fetchedAt
  }

  get lastError(): { readonly time: number; readonly text: string } | undefined {
    return this.#lastError
  }

  /** From the last `Date` header, else estimated from tokens. */
  get offset(): ClockOffset | undefined {
    return this.#offset ?? this.#issued.estimate
  }

  /** The last fetches, oldest first. */
  get results(): readonly FetchResult[] {
    return this.#results
  }

  /** Records a token with a valid signature by a key from there. */
  noteIssued(iat: unknown): void {
    if (this.#offset === undefined) this.#issued.note(iat, this.#clock.now())
  }

  /** Runs one fetch, records its outcome and calls `onFetch`. */
  async of<T>(fetch: (note: ResponseDate) => Promise<T>, onFetch: (succeeded: boolean) => void): Promise<T> {
    const clock = this.#clock
    const sent = clock.now()
    const began = performance.now()
    let problem = ''
    const note: ResponseDate = { date: undefined }
    this.#fetches += 1
    try {
      const fetched = await fetch(note)
      this.#isReachable = true
      this.#fetchedAt = clock.now()
      onFetch(true)
      return fetched
    } catch (error) {
      this.#isReachable = false
      problem = error instanceof SourceError ? error.withoutBody : 'failed'
      this.#lastError = {
        time: clock.now(),
        text: excerpt(error instanceof Error ? error.message : 'failed', longestError),
      }
      onFetch(false)
      throw error
    } finally {
      const milliseconds = Math.round(performance.now() - began)
      const result = { time: sent, milliseconds, error: excerpt(problem, longestError) }
      this.#results = [...this.#results.slice(1 - mostResults), result]
      this.#offset = measured(note.date, sent, clock.now()) ?? this.#offset
    }
  }
}

/** With the address. */
const longestError = 1024

/**
 * A `Date` header is truncated to whole seconds, so the difference is rounded up. The response is assumed to
 * have been written halfway through the round trip. docs/explain.md
 */
function measured(date: string | undefined, sent: number, received: number): ClockOffset | undefined {
  const told = date === undefined ? Number.NaN : Date.parse(date)
  if (Number.isNaN(told)) return undefined
  // plus 0, so that there is no -0
  return {
    seconds: Math.ceil((told - (sent + received) / 2) / 1000) + 0,
    measuredAt: received,
    isEstimate: false,
    isCertain: true,
  }
}
