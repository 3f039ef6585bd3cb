import { fail, refuse } from '../errors.ts'
import { KeyedMutex } from './keyed-mutex.ts'

/**
 * Whoever asks for a list. `listener` is called when they are gone; call what comes back when nobody listens
 * any longer.
 */
export type Asker = { whenGone(listener: () => void): () => void }

/** A walk may go over so many things beside others. */
const shortWalk = 500
/** Each that waits is a request under way, of which there may only be so many for everybody. */
const mostWaiting = 64

/**
 * Walks over stored things, for lists that may be long. What goes beyond a few pages goes on one at a time,
 * in the order of asking, so that neither memory nor the pause between two other requests grows with the
 * number of clients that list; and ends when its client is gone.
 */
export class LongLists {
  readonly #turns = new KeyedMutex()
  #waiting = 0

  /** The same things, in their time. */
  async *paced<T>(items: AsyncIterable<T>, { whenGone }: Asker): AsyncGenerator<T, void, undefined> {
    let isGone = false
    let leave: (() => void) | undefined
    let seen = 0
    const stopListening = whenGone(() => {
      isGone = true
    })
    try {
      for await (const item of items) {
        seen += 1
        if (seen === shortWalk) leave = await this.#enter()
        if (isGone) throw fail('unavailable', 'the client is gone')
        yield item
      }
    } finally {
      leave?.()
      stopListening()
    }
  }

  /** Resolves when it is the caller's turn, with what ends it. */
  #enter(): Promise<() => void> {
    if (this.#waiting === mostWaiting) throw refuse('overloaded', 'server is overloaded')
    this.#waiting += 1
    const { promise: entered, resolve: enter } = Promise.withResolvers<() => void>()
    const turn = () => {
      this.#waiting -= 1
      const { promise: left, resolve: leave } = Promise.withResolvers<void>()
      enter(leave)
      return left
    }
    // it never rejects
    void this.#turns.take('walk', turn)
    return entered
  }
}
