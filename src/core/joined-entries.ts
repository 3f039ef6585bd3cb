import { stringifyJson } from '../lib/json.ts'
import type { ViewEntry } from './barrier/view.ts'

/** With `commutes`, other changes may write the same entry in the same write: it then counts once. */
export type JoinedEntry = ViewEntry & { readonly commutes?: true }

/** A single change may be larger. */
const [mostBytes, mostEntries] = [1024 * 1024, 1024]

/** The entries of several changes that become one write: no two of them concern the same record or claim. */
export class JoinedEntries {
  readonly #all: ViewEntry[] = []
  readonly #byKey = new Map<string, JoinedEntry>()
  readonly #claims = new Set<string>()
  #bytes = 0

  get isFull(): boolean {
    return this.#bytes >= mostBytes || this.#all.length >= mostEntries
  }

  get all(): readonly ViewEntry[] {
    return this.#all
  }

  /** Adds what one change writes; false, and nothing is added, if it does not go with the others. */
  add(entries: readonly JoinedEntry[], claims: readonly string[]): boolean {
    if (claims.some((claim) => this.#claims.has(claim))) return false
    const known = entries.map((entry) => this.#byKey.get(keyOf(entry)))
    if (known.some((other, at) => other !== undefined && !areOne(other, entries[at]))) return false
    for (const claim of claims) this.#claims.add(claim)
    for (const [at, entry] of entries.entries()) {
      if (known[at] !== undefined) continue
      const { commutes, ...plain } = entry
      this.#all.push(plain)
      this.#byKey.set(keyOf(entry), entry)
      if (entry.value !== undefined) this.#bytes += stringifyJson(entry.value).length
    }
    return true
  }
}

const areOne = (one: JoinedEntry, other: JoinedEntry | undefined): boolean =>
  one.commutes === true && other?.commutes === true && one.expect === other.expect

const keyOf = ({ from, key }: ViewEntry): string => `${from ?? ''}:${key}`
