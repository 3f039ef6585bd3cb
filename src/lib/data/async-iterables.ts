/** The first `limit` items of these pages; all if it is not positive. */
export async function* atMost<T>(
  limit: number,
  pages: AsyncIterable<readonly T[]>,
): AsyncGenerator<readonly T[], void, undefined> {
  let left = limit > 0 ? limit : Number.POSITIVE_INFINITY
  for await (const page of pages) {
    yield page.slice(0, left)
    left -= page.length
    if (left <= 0) return
  }
}
