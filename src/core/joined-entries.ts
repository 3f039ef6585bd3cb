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
    const added = entries.filter((_, at) => known[at] === undefined)
    // throws for what has no JSON form, before anything is added
    const bytes = added.reduce((sum, { value }) => sum + (value === undefined ? 0 : sizeOf(value)), 0)
    for (const claim of claims) this.#claims.add(claim)
    for (const entry of added) {
      const { commutes, ...plain } = entry
      this.#all.push(plain)
      this.#byKey.set(keyOf(entry), entry)
    }
    this.#bytes += bytes
    return true
  }
}

const areOne = (one: JoinedEntry, other: JoinedEntry | undefined): boolean =>
  one.commutes === true && other?.commutes === true && one.expect === other.expect

const sizeOf = (value: unknown): number => stringifyJson(value).length

const keyOf = ({ from, key }: ViewEntry): string => `${from ?? ''}:${key}`
