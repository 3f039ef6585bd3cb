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
    let low = 0
    let high = this.#sorted.length
    while (low < high) {
      const middle = (low + high) >> 1
      const entry = this.#sorted[middle]
      if (entry !== undefined && entry.prefix <= text) low = middle + 1
      else high = middle
    }
    // what sorts between a prefix of the text and the text begins with that prefix too
    return longestOf(this.#sorted[low - 1], text)?.value
  }
}

function longestOf<Value>(from: Entry<Value> | undefined, text: string): Entry<Value> | undefined {
  let entry = from
  while (entry !== undefined && !text.startsWith(entry.prefix)) entry = entry.shorter
  return entry
}
