import { LimitError } from './values.ts'

const mostMs = 100
/** Bytes of one text or list. An element of a list counts as 16. */
const mostSize = 1024 * 1024
const bytesOfElement = 16
/** Bytes of all texts and lists that an evaluation makes, including those that it no longer uses. */
const mostMade = 64 * 1024 * 1024
/** Length of a text times length of the part that is searched: 256 Mi comparisons take about 64 ms. */
const mostSearched = 256 * 1024 * 1024
/** Far fewer than the stack has room for. */
const mostLevels = 1_000
const stepsBetweenLooks = 2_000

/** Counts the work of an evaluation. Throws a `LimitError` beyond the limits. docs/limits.md#cel-programs */
export class Work {
  readonly #spentMs: () => number
  readonly #shared = new Set<string>()
  #untilLook = stepsBetweenLooks
  #left: number

  /** `spentMs`: the processor time of the evaluation so far. `most`: the bytes that it may make. */
  constructor(spentMs: () => number, most = mostMade) {
    this.#spentMs = spentMs
    this.#left = most
  }

  step(count = 1): void {
    this.#untilLook -= count
    if (this.#untilLook <= 0) this.look()
  }

  /** Called after work that could not be interrupted. */
  look(): void {
    this.#untilLook = stepsBetweenLooks
    if (this.#spentMs() > mostMs) throw new LimitError('the program took too long')
  }

  /** Called before a text, or bytes, of this length is made. `made`: how much of it is new. */
  text(length: number, made = length): void {
    this.#left -= made
    if (length > mostSize || this.#left < 0) throw new LimitError('the program made too large a value')
    this.step(1 + made / 256)
  }

  /** Called before a list or map of this length is made. `made`: how many of its elements are new. */
  list(length: number, made = length): void {
    this.text(length * bytesOfElement, made * bytesOfElement)
  }

  /** Notes the text of a double that stands for several whole numbers. */
  noteShared(text: string): void {
    this.#shared.add(text)
  }

  /** Whether a text contains one that was noted. */
  hasShared(text: string): boolean {
    for (const shared of this.#shared) {
      this.step(1 + text.length / 256)
      if (text.includes(shared)) return true
    }
    return false
  }

  /** Called before a value is read that is nested this many levels deep in another one. */
  level(depth: number): void {
    if (depth > mostLevels) throw new LimitError('the program made too large a value')
    this.step()
  }

  /** Called before a part is searched in a text. */
  search(text: string, part: string): void {
    if (text.length * part.length > mostSearched) throw new LimitError('the program took too long')
    this.step((text.length * part.length) / 1024)
  }
}
