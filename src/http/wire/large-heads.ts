/** Large heads that may be on their way at once. */
const most = 64

/**
 * Heads that arrive and are larger than a head without credentials may be. Few at a time: until a head is complete, its
 * memory counts nowhere else.
 */
export class LargeHeads {
  readonly #usualBytes: number
  #arriving = 0

  constructor(usualBytes: number) {
    this.#usualBytes = usualBytes
  }

  isLarge(bytes: number): boolean {
    return bytes > this.#usualBytes
  }

  /** False if there are too many; otherwise call `leave` once it has arrived. */
  enter(): boolean {
    if (this.#arriving >= most) return false
    this.#arriving += 1
    return true
  }

  leave(): void {
    this.#arriving -= 1
  }
}
