const lf = 0x0a
const semicolon = 0x3b

/** The value of a hex digit by its byte, -1 for any other byte. */
const hexValue = Int8Array.from({ length: 256 }, (_, byte) =>
  /[0-9A-Fa-f]/.test(String.fromCharCode(byte)) ? Number.parseInt(String.fromCharCode(byte), 16) : -1,
)

/**
 * Follows the chunks of one body (RFC 9112 §7.1) up to the end of the size line that says 0. It only
 * estimates how much the parser may get at once: the result is checked against the parser, which alone
 * decides.
 */
export class ChunkWalk {
  #toSkip = 0
  #size = 0
  #inExtension = false
  #last = false

  /** The last chunk's size line has passed: trailers follow. */
  get last(): boolean {
    return this.#last
  }

  /**
   * Reads the bytes from `from` and returns where it stopped: at their end, or after the last chunk's size
   * line.
   */
  advance(bytes: Uint8Array, from: number): number {
    let at = from
    while (at < bytes.length && !this.#last) {
      if (this.#toSkip === 0) this.#read(bytes[at++] ?? 0)
      else {
        const skipped = Math.min(this.#toSkip, bytes.length - at)
        this.#toSkip -= skipped
        at += skipped
      }
    }
    return at
  }

  #read(byte: number): void {
    if (byte === lf) this.#endLine()
    else if (byte === semicolon) this.#inExtension = true
    else if (!this.#inExtension && hexValue[byte] !== -1) this.#size = this.#size * 16 + (hexValue[byte] ?? 0)
  }

  #endLine(): void {
    this.#last = this.#size === 0
    this.#toSkip = this.#size + '\r\n'.length
    this.#size = 0
    this.#inExtension = false
  }
}
