import type { ChainHead } from './chain.ts'

const mostUnsigned = 1_000

/** Counts the records since the last checkpoint and tells when the next one is due. */
export class UnsignedPart {
  readonly #longestMs: number
  /** The last record, if the writer has said where it is. */
  head: ChainHead | undefined
  #signed: ChainHead | undefined
  #since: number | undefined

  constructor(signed: ChainHead | undefined, longestMs: number) {
    this.#signed = signed
    this.#longestMs = longestMs
  }

  advance(head: ChainHead | undefined, checkpoint: ChainHead | undefined): void {
    this.head = head
    if (checkpoint !== undefined) {
      this.#signed = checkpoint
      this.#since = undefined
    }
    if (this.count > 0) this.#since ??= performance.now()
  }

  get count(): number {
    if (this.head === undefined) return 0
    return this.head.id === this.#signed?.id ? this.head.seq - this.#signed.seq : this.head.seq
  }

  get isDue(): boolean {
    if (this.count >= mostUnsigned) return true
    return this.count > 0 && this.#since !== undefined && performance.now() - this.#since >= this.#longestMs
  }

  /** How many records may follow until a checkpoint is due; at least one. */
  roomAfter(isSigned: boolean): number {
    return isSigned ? mostUnsigned : Math.max(1, mostUnsigned - this.count)
  }
}
