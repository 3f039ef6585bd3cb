import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * The size of a page. Reading and decrypting so many records takes a few milliseconds, which other requests wait.
 * docs/architecture.md#long-loops
 */
export const pageSize = 100

/** Where a page begins, as storage reads it. */
export type PageRange = { readonly limit: number; readonly after?: string }

/** The items in pages. Other requests are served between two. */
export async function* pagesOf<T>(
  items: readonly T[],
  size = pageSize,
): AsyncGenerator<readonly T[], void, undefined> {
  let isFirst = true
  for (const page of slicesOf(items, size)) {
    if (!isFirst) await letOthersRun()
    isFirst = false
    yield page
  }
}

/** Pages that are read one by one: the next one begins after the place of the last item. */
export async function* readPages<T>(
  read: (range: PageRange) => Promise<readonly T[]>,
  placeOf: (item: T) => string,
  { after, size = pageSize }: { readonly after?: string | undefined; readonly size?: number } = {},
): AsyncGenerator<readonly T[], void, undefined> {
  for (let from = after; ; await letOthersRun()) {
    const page = await read({ limit: size, ...(from === undefined ? {} : { after: from }) })
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    if (page.length < size) return
    from = placeOf(last)
  }
}

let lastTurn = Promise.resolve()

/** Lets others run. Each loop that waits gets a turn of the event loop of its own, in the order of arrival. */
export function letOthersRun(): Promise<void> {
  lastTurn = lastTurn.then(wholeTurn)
  return lastTurn
}

/**
 * Requests that have come meanwhile are read in the first turn. What writes their responses is behind this loop in the
 * queue of that turn, and so comes before the second.
 */
async function wholeTurn(): Promise<void> {
  await nextTurn()
  await nextTurn()
}

export function* slicesOf<T>(items: readonly T[], size: number): Generator<readonly T[], void, undefined> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}
