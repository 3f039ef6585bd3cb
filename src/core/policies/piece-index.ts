import { matchesBehindHead, type SegmentedPath, type SegmentPattern } from './pattern.ts'

/** Of a pattern no more pieces than these are looked at when one is chosen to find it by. */
const piecesLookedAt = 32

type Ranked<T> = { readonly item: T; readonly pattern: SegmentPattern; readonly rank: number }

/** The patterns found by what stands in one segment of the path: that very text, or a beginning of it. */
type Place<T> = {
  readonly whole: Map<string, Ranked<T>[]>
  readonly beginning: Map<string, Ranked<T>[]>
  /** The different lengths of the beginnings. */
  readonly lengths: Set<number>
}

type Choice = { readonly place: number; readonly text: string; readonly isOpen: boolean }

/**
 * Segment patterns with one head, given in their order, to find the first one that matches a path without
 * looking at them all: each lies under the one of its pieces that the fewest others share.
 */
export class PieceIndex<T extends { readonly pattern: SegmentPattern }> {
  readonly #places = new Map<number, Place<T>>()
  /** Nothing but `+`. */
  readonly #others: Ranked<T>[] = []

  constructor(items: readonly T[]) {
    const shared = new Map<string, number>()
    for (const { pattern } of items)
      for (const choice of choicesOf(pattern)) shared.set(keyOf(choice), (shared.get(keyOf(choice)) ?? 0) + 1)
    for (const [rank, item] of items.entries()) {
      let best: Choice | undefined
      let bestShared = Number.POSITIVE_INFINITY
      for (const choice of choicesOf(item.pattern)) {
        const count = shared.get(keyOf(choice)) ?? 0
        if (count < bestShared) [best, bestShared] = [choice, count]
      }
      this.#bucketOf(best).push({ item, pattern: item.pattern, rank })
    }
  }

  /** The first of the patterns that matches a path which begins with their head. */
  first(path: SegmentedPath): T | undefined {
    let found = firstOf(this.#others, path, undefined)
    for (const [number, { whole, beginning, lengths }] of this.#places) {
      const segment = path.segment(number)
      if (segment === undefined) continue
      found = firstOf(whole.get(segment), path, found)
      for (const length of lengths) {
        if (length <= segment.length) found = firstOf(beginning.get(segment.slice(0, length)), path, found)
      }
    }
    return found?.item
  }

  #bucketOf(choice: Choice | undefined): Ranked<T>[] {
    if (choice === undefined) return this.#others
    const place = this.#places.get(choice.place) ?? {
      whole: new Map(),
      beginning: new Map(),
      lengths: new Set(),
    }
    this.#places.set(choice.place, place)
    if (choice.isOpen) place.lengths.add(choice.text.length)
    const bucketByText = choice.isOpen ? place.beginning : place.whole
    const bucket = bucketByText.get(choice.text) ?? []
    bucketByText.set(choice.text, bucket)
    return bucket
  }
}

/** Ranks within a bucket rise, so that its first match is its best. */
function firstOf<T>(
  bucket: readonly Ranked<T>[] | undefined,
  path: SegmentedPath,
  best: Ranked<T> | undefined,
): Ranked<T> | undefined {
  if (bucket === undefined) return best
  for (const candidate of bucket) {
    if (best !== undefined && candidate.rank > best.rank) return best
    if (matchesBehindHead(candidate.pattern, path)) return candidate
  }
  return best
}

/** The pieces behind the head that are no `+`. */
function choicesOf({ pieces, head, isOpen }: SegmentPattern): Choice[] {
  const from = head.split('/').length - 1
  const choices: Choice[] = []
  for (let place = from; place < pieces.length && place < from + piecesLookedAt; place++) {
    const text = pieces[place] ?? ''
    if (text !== '+') choices.push({ place, text, isOpen: isOpen && place === pieces.length - 1 })
  }
  return choices
}

const keyOf = ({ place, text, isOpen }: Choice): string => `${place}${isOpen ? '*' : '/'}${text}`
