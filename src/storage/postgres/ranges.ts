/** Greater than every key: keys have at most 2,600 bytes. */
const beyondAll = '\u{10ffff}'.repeat(1_000)

/** The exclusive upper bound of the keys that start with `prefix`. Text is in the order of its code points. */
export function upperBound(prefix: string): string {
  const points = [...prefix]
  while (points.length > 0) {
    const last = points.pop()?.codePointAt(0) ?? 0
    // no text contains surrogates
    if (last < 0x10ffff) return points.join('') + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1)
  }
  return beyondAll
}
