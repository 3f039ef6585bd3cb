import { fail, refuse } from '../errors.ts'
import { Limiter } from '../lib/limiter.ts'

/**
 * The client of a list. `listener` is called when it disconnects; the returned function stops listening.
 */
export type ListClient = { whenGone(listener: () => void): () => void }

/** A walk over this many things does not wait for others. */
const shortWalk = 500
/** Each walk that waits holds a request, and requests are limited for all clients together. */
const mostWaiting = 64

const overloaded = () => refuse('overloaded', 'server is overloaded')

/**
 * Walks over stored records, for lists that may be long. Beyond a few pages, one walk runs at a time, in order
 * of arrival, so neither memory use nor the delay of other requests grows with the number of clients that
 * list. A walk ends when its client disconnects.
 */
export class LongLists {
  readonly #longWalks = new Limiter(1, { most: mostWaiting, refusal: overloaded })

  /** Yields the same items, waiting for other walks if there are many. */
  async *paced<T>(items: AsyncIterable<T>, { whenGone }: ListClient): AsyncGenerator<T, void, undefined> {
    let isGone = false
    let leave: (() => void) | undefined
    let seen = 0
    const stopListening = whenGone(() => {
      isGone = true
    })
    try {
      for await (const item of items) {
        seen += 1
        if (seen === shortWalk) leave = await this.#longWalks.enter()
        if (isGone) throw fail('unavailable', 'the client is gone')
        yield item
      }
    } finally {
      leave?.()
      stopListening()
    }
  }
}
