import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Fence } from '../shared-storage.ts'

/** Takes or keeps these jobs, each for as many milliseconds. Resolves with the name and the epoch of those held. */
type HoldAll = (
  jobs: readonly string[],
  ttlsMs: readonly string[],
) => Promise<readonly (readonly unknown[])[]>

/**
 * Takes and keeps jobs. Those that are asked for in one turn of the event loop share a statement: a server
 * begins all its jobs at once, and renews them together from then on.
 */
export class JobHolds {
  readonly #holdAll: HoldAll
  #asked: Map<string, number> | undefined
  #answer: Promise<ReadonlyMap<string, number>> | undefined

  constructor(holdAll: HoldAll) {
    this.#holdAll = holdAll
  }

  async hold(job: string, ttlMs: number): Promise<Fence | undefined> {
    this.#asked ??= new Map()
    this.#asked.set(job, ttlMs)
    this.#answer ??= this.#holdAsked()
    const epoch = (await this.#answer).get(job)
    return epoch === undefined ? undefined : { job, epoch }
  }

  async #holdAsked(): Promise<ReadonlyMap<string, number>> {
    await nextTurn()
    const asked = this.#asked ?? new Map<string, number>()
    this.#asked = undefined
    this.#answer = undefined
    const rows = await this.#holdAll([...asked.keys()], [...asked.values()].map(String))
    return new Map(rows.map(([name, epoch]) => [String(name), Number(epoch)]))
  }
}
