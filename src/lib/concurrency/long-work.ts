import { setImmediate as nextTurn } from 'node:timers/promises'

const longestTurnMs = 0.2

/** Work on many items, in turns of the event loop so short that other requests hardly notice. */
export class LongWork {
  #endsAt = performance.now() + longestTurnMs

  /** Whether this turn was long enough: then the work awaits `giveWay`. */
  get isDue(): boolean {
    return performance.now() >= this.#endsAt
  }

  /** Lets other work run. */
  async giveWay(): Promise<void> {
    await othersTurn()
    this.#endsAt = performance.now() + longestTurnMs
  }
}

/**
 * Lets requests that have come meanwhile be read, and their responses be written. The first turn reads them; what writes the
 * responses is behind this work in its queue, and so comes before the second.
 */
async function othersTurn(): Promise<void> {
  await nextTurn()
  await nextTurn()
}
