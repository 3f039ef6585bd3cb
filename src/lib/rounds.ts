import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Collects items by key and works on those of one key in rounds, one round at a time: what arrives during a
 * round is part of the next one. Keys without items take no memory.
 */
export class Rounds<Item> {
  readonly #work: (key: string, waiting: Item[]) => Promise<void>
  readonly #waiting = new Map<string, Item[]>()

  /** `work` removes at least one item from the front of `waiting`, which grows meanwhile. It must not reject. */
  constructor(work: (key: string, waiting: Item[]) => Promise<void>) {
    this.#work = work
  }

  add(key: string, item: Item): void {
    const waiting = this.#waiting.get(key)
    if (waiting !== undefined) {
      waiting.push(item)
      return
    }
    const first = [item]
    this.#waiting.set(key, first)
    void this.#run(key, first)
  }

  async #run(key: string, waiting: Item[]): Promise<void> {
    // the items of one turn of the event loop share a round
    await nextTurn()
    while (waiting.length > 0) await this.#work(key, waiting)
    this.#waiting.delete(key)
  }
}
