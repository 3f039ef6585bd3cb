/** The items in groups of at most `size`. */
export function* slicesOf<T>(items: readonly T[], size: number): Generator<readonly T[], void, undefined> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}
