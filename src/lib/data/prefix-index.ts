type Entry<Value> = {
  readonly prefix: string
  readonly value: Value
  /** The longest other entry that is a prefix of this one. */
  readonly shorter: Entry<Value> | undefined
}

/** Finds the longest of many prefixes of a text, in time that hardly depends on their number. */
export class PrefixIndex<Value> {
  readonly #sorted: Entry<Value>[] = []

  constructor(values: Iterable<readonly [prefix: string, value: Value]>) {
    for (const [prefix, value] of [...new Map(values)].sort(([one], [other]) => (one < other ? -1 : 1)))
      this.#sorted.push({ prefix, value, shorter: longestOf(this.#sorted.at(-1), prefix) })
  }

  longest(text: string): Value | undefined {
    return this.matching(text).next().value
  }

  /** The values of all prefixes of the text, the longest first. */
  *matching(text: string): Generator<Value, undefined, undefined> {
    let low = 0
    let high = this.#sorted.length
    while (low < high) {
      const middle = (low + high) >> 1
      const entry = this.#sorted[middle]
      if (entry !== undefined && entry.prefix <= text) low = middle + 1
      else high = middle
    }
    // what sorts between a prefix of the text and the text begins with that prefix too
    const last = this.#sorted[low - 1]
    const shared = last === undefined ? 0 : sharedLength(last.prefix, text)
    for (let entry = last; entry !== undefined; entry = entry.shorter)
      if (entry.prefix.length <= shared) yield entry.value
  }
}

function longestOf<Value>(from: Entry<Value> | undefined, text: string): Entry<Value> | undefined {
  let entry = from
  while (entry !== undefined && !text.startsWith(entry.prefix)) entry = entry.shorter
  return entry
}

function sharedLength(a: string, b: string): number {
  const end = Math.min(a.length, b.length)
  let at = 0
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return at
}
