/** The first `limit` items; 0 for all. */
export async function* atMost<T>(limit: number, items: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  let found = 0
  for await (const item of items) {
    yield item
    found += 1
    if (found === limit) return
  }
}

export async function* only<T>(
  items: AsyncIterable<T>,
  isMeant: (item: T) => boolean,
): AsyncGenerator<T, void, undefined> {
  for await (const item of items) if (isMeant(item)) yield item
}
