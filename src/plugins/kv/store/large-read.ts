import type { ListClient } from '../../../core/lists.ts'
import { fail } from '../../../errors.ts'
import type { Limiter } from '../../../lib/concurrency/limiter.ts'

/** Work that has read more data than this, in characters, waits until it is the only such work. */
const shared = 4 * 1024 * 1024

/** Each version costs a row, so it counts for so much data at least. */
const leastCounted = 4_096

/** What one call reads of the data of versions: those that read much take turns, which bounds memory. */
export class LargeRead implements Disposable {
  /** Characters of data that were read, and what counts as such. */
  size = 0
  readonly #limiter: Limiter | undefined
  readonly #stopListening: (() => void) | undefined
  #leave: (() => void) | undefined
  #isGone = false

  /** Without a limiter it never waits. It ends when `client` disconnects. */
  constructor(limiter?: Limiter, client?: ListClient) {
    this.#limiter = limiter
    this.#stopListening = client?.whenGone(() => {
      this.#isGone = true
    })
  }

  add({ data = '' }: { readonly data?: string }): void {
    this.size += Math.max(leastCounted, data.length)
  }

  /** Resolves once the call may read on. */
  async goOn(): Promise<void> {
    if (this.size > shared) this.#leave ??= await this.#limiter?.enter()
    if (this.#isGone) throw fail('unavailable', 'the client has disconnected')
  }

  [Symbol.dispose](): void {
    this.#leave?.()
    this.#stopListening?.()
  }
}
