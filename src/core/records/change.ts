import { setTimeout as pause } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import { KeyedMutex } from '../../lib/concurrency/keyed-mutex.ts'
import type { View, ViewEntry } from '../barrier/view.ts'

/**
 * Number of attempts of a conditional write before it fails as `unavailable`. They take some four seconds: dozens of
 * writes of the same record at another server come first.
 */
export const writeAttempts = 40
/** Pauses grow up to 256 ms. */
const longestPausePower = 8

/** Writes all or nothing. Throws if another server was quicker; the change is then decided again. */
export type Write = (entries: readonly ViewEntry[]) => Promise<void>

/**
 * Reads what a change depends on, and writes it, at most once, on the condition that what it has read is still as it
 * was. May run again. Throws `overtaken` if it learns in another way that another server was quicker.
 */
export type Decide<T> = (write: Write, overtaken: Error) => Promise<T>

export type ChangesParts = {
  readonly view: Pick<View, 'write'>
  /** The text of the error after too many attempts. */
  readonly tooMany: string
}

/**
 * Changes of stored records. Those of one key are decided and written one after the other, in order of arrival; those
 * of different keys share the commits of the storage. Among servers, the condition of each write decides: the one
 * that loses decides again, a bounded number of times.
 */
export class Changes {
  readonly #parts: ChangesParts
  readonly #mutex = new KeyedMutex()
  readonly #overtaken = new Error('the change must be decided again')

  constructor(parts: ChangesParts) {
    this.#parts = parts
  }

  /** `decide` must not wait for another change of this key. */
  run<T>(key: string, decide: Decide<T>): Promise<T> {
    return this.#mutex.runExclusive(key, () => this.runUnordered(decide))
  }

  /** For changes of several records, or whose order something else ensures. */
  async runUnordered<T>(decide: Decide<T>): Promise<T> {
    const overtaken = this.#overtaken
    const write: Write = async (entries) => {
      if (entries.length > 0 && !(await this.#parts.view.write(entries))) throw overtaken
    }
    for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
      try {
        return await decide(write, overtaken)
      } catch (error) {
        if (error !== overtaken) throw error
      }
      await pauseAfterAttempt(attempt)
    }
    throw fail('unavailable', this.#parts.tooMany)
  }

  /** Settles with the last change of this key; undefined if there is none. */
  pending(key: string): Promise<unknown> | undefined {
    return this.#mutex.pending(key)
  }
}

/** Longer after each attempt, so that a server that writes without a break does not starve the others. */
const pauseAfterAttempt = (attempt: number): Promise<void> =>
  pause(Math.random() * 2 ** Math.min(attempt, longestPausePower))
