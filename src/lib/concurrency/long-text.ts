import { Buffer } from 'node:buffer'
import { LongWork } from './long-work.ts'

/** A text of megabytes, as the bytes of its parts. It is sent part by part, so other work runs in between. */
export class LongText {
  readonly parts: readonly Buffer[]

  constructor(parts: readonly Buffer[]) {
    this.parts = parts
  }

  get bytes(): number {
    return this.parts.reduce((sum, { length }) => sum + length, 0)
  }

  between(before: string, after: string): LongText {
    return new LongText([Buffer.from(before), ...this.parts, Buffer.from(after)])
  }

  /** The parts, in turns of the event loop. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    const work = new LongWork()
    for (const part of this.parts) {
      if (work.isDue) await work.giveWay()
      yield part
    }
  }

  /** The whole text at once. */
  toString(): string {
    return Buffer.concat(this.parts).toString()
  }
}
