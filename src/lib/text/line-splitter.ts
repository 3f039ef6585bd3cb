const lineEnd = 0x0a

/** Splits chunks into lines, without their line ends. Keeps one line at a time, of a limited length. */
export class LineSplitter {
  readonly #maxBytes: number
  readonly #onLine: (line: Buffer | undefined) => void
  #parts: Buffer[] = []
  /** The length of the unfinished line. */
  rest = 0

  /** Calls `onLine` for each line that has ended; with `undefined` for one of more than `maxBytes`. */
  constructor(maxBytes: number, onLine: (line: Buffer | undefined) => void) {
    this.#maxBytes = maxBytes
    this.#onLine = onLine
  }

  add(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(lineEnd); end >= 0; end = chunk.indexOf(lineEnd, start)) {
      this.#keep(chunk.subarray(start, end))
      this.#endLine()
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
  }

  #keep(part: Buffer): void {
    this.rest += part.length
    if (this.rest > this.#maxBytes) this.#parts = []
    else if (part.length > 0) this.#parts.push(part)
  }

  #endLine(): void {
    const [only = Buffer.alloc(0), ...more] = this.#parts
    const line = more.length === 0 ? only : Buffer.concat(this.#parts)
    const isTooLong = this.rest > this.#maxBytes
    this.#parts = []
    this.rest = 0
    this.#onLine(isTooLong ? undefined : line)
  }
}
