import { LimitError } from './values.ts'

const mostMs = 100
/** Bytes of one text, and of one list with its elements counted as 16. */
const mostSize = 1024 * 1024
const bytesOfElement = 16
/** Bytes of all texts and lists together, whether something still uses them or not. */
const mostMade = 64 * 1024 * 1024
/** A search may look at a whole part for each character of a text, four in a nanosecond. */
const mostSearched = 256 * 1024 * 1024
/** Far fewer than the stack has room for. */
const mostLevels = 1_000
const stepsBetweenLooks = 2_000

/** What an evaluation has done so far. Throws as soon as that is too much. docs/limits.md#cel-programs */
export class Work {
  readonly #spentMs: () => number
  #untilLook = stepsBetweenLooks
  #left: number

  /** `spentMs`: the time that the evaluation has computed. `most`: the bytes that it may make. */
  constructor(spentMs: () => number, most = mostMade) {
    this.#spentMs = spentMs
    this.#left = most
  }

  step(count = 1): void {
    this.#untilLook -= count
    if (this.#untilLook > 0) return
    this.#untilLook = stepsBetweenLooks
    if (this.#spentMs() > mostMs) throw new LimitError('the program took too long')
  }

  /** Before a text or bytes of this length are made, of which so many are new. */
  text(length: number, made = length): void {
    this.#left -= made
    if (length > mostSize || this.#left < 0) throw new LimitError('the program made too large a value')
    this.step(1 + made / 256)
  }

  /** Before a list or map of this many elements is made, of which so many are new. */
  list(length: number, made = length): void {
    this.text(length * bytesOfElement, made * bytesOfElement)
  }

  /** Before a value is looked into that is this many levels inside another one. */
  level(depth: number): void {
    if (depth > mostLevels) throw new LimitError('the program made too large a value')
    this.step()
  }

  /** Before a part is searched in a text. */
  search(text: string, part: string): void {
    if (text.length * part.length > mostSearched) throw new LimitError('the program took too long')
    this.step((text.length * part.length) / 1024)
  }
}
