import { LimitError } from './values.ts'

const mostMs = 100
/** Bytes of one text, and of one list with its elements counted as 16. */
const mostSize = 1024 * 1024
const bytesOfElement = 16
const stepsBetweenLooks = 2_000

/** What an evaluation has done so far. Throws as soon as that is too much. docs/limits.md#cel-programs */
export class Work {
  readonly #spentMs: () => number
  #untilLook = stepsBetweenLooks

  /** `spentMs`: the time that the evaluation has computed. */
  constructor(spentMs: () => number) {
    this.#spentMs = spentMs
  }

  step(count = 1): void {
    this.#untilLook -= count
    if (this.#untilLook > 0) return
    this.#untilLook = stepsBetweenLooks
    if (this.#spentMs() > mostMs) throw new LimitError('the program took too long')
  }

  /** Before a text or bytes of this length are made. */
  text(length: number): void {
    if (length > mostSize) throw new LimitError('the program made too large a value')
    this.step(1 + length / 256)
  }

  /** Before a list or map of this many elements is made. */
  list(length: number): void {
    if (length * bytesOfElement > mostSize) throw new LimitError('the program made too large a value')
    this.step(1 + length / 16)
  }
}
