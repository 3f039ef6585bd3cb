import { fail, refuse } from '../errors.ts'
import { LongWork } from '../lib/long-work.ts'
import { Limiter } from '../lib/limiter.ts'

/**
 * The client of a list. `listener` is called when it disconnects; the returned function stops listening.
 */
export type ListClient = { whenGone(listener: () => void): () => void }

/** A list reads this many items without waiting for others. */
const shortListItems = 500
/** Each waiting list holds a request, and the number of requests is limited for all clients together. */
const maxWaiting = 64

const overloaded = () => refuse('overloaded', 'server is overloaded')

/**
 * Serializes long lists. Beyond a few pages, one list reads at a time, in order of arrival, so that neither
 * memory nor the latency of other requests grows with the number of listing clients. A list ends when its
 * client disconnects.
 */
export class LongLists {
  readonly #longLists = new Limiter(1, { most: maxWaiting, refusal: overloaded })

  /** Yields the same items; waits for other long lists if there are many. */
  async *paced<T>(items: AsyncIterable<T>, { whenGone }: ListClient): AsyncGenerator<T, void, undefined> {
    let isGone = false
    let leave: (() => void) | undefined
    let seen = 0
    const stopListening = whenGone(() => {
      isGone = true
    })
    try {
      for await (const item of items) {
        seen += 1
        if (seen === shortListItems) leave = await this.#longLists.enter()
        if (isGone) throw fail('unavailable', 'the client has disconnected')
        yield item
      }
    } finally {
      leave?.()
      stopListening()
    }
  }
}

/** More names than this are not turned into text at once. */
const namesAtOnce = 5_000

/** Names as the data of a list, and their JSON text if they are many: other work runs while it is made. */
export async function listedNames(
  keys: readonly string[],
): Promise<{ data: { keys: readonly string[] }; dataText?: string }> {
  if (keys.length <= namesAtOnce) return { data: { keys } }
  const work = new LongWork()
  const texts: string[] = []
  for (let at = 0; at < keys.length; at += namesAtOnce) {
    texts.push(JSON.stringify(keys.slice(at, at + namesAtOnce)).slice(1, -1))
    if (work.isDue) await work.giveWay()
  }
  return { data: { keys }, dataText: `{"keys":[${texts.join(',')}]}` }
}
