import { matchesAfterHead, type SegmentedPath, type SegmentPattern } from './pattern.ts'

/** The number of pieces of a pattern that are candidates for its index key. */
const maxCandidatePieces = 32

type Ranked<T> = { readonly item: T; readonly pattern: SegmentPattern; readonly rank: number }

/** The patterns indexed by one segment of the path: by its full text, or by a prefix of it. */
type SegmentIndex<T> = {
  readonly byText: Map<string, Ranked<T>[]>
  readonly byPrefix: Map<string, Ranked<T>[]>
  /** The distinct lengths of the prefixes. */
  readonly prefixLengths: Set<number>
}

/** A piece of a pattern and the index of its segment. */
type Piece = { readonly segment: number; readonly text: string; readonly isOpen: boolean }

/**
 * Finds the first segment pattern that matches a path without testing all of them. The patterns share one
 * head and are given in order of precedence. Each is indexed by its rarest piece.
 */
export class PieceIndex<T extends { readonly pattern: SegmentPattern }> {
  readonly #bySegment = new Map<number, SegmentIndex<T>>()
  /** Patterns that consist of `+` only. */
  readonly #wildcardsOnly: Ranked<T>[] = []

  constructor(items: readonly T[]) {
    const uses = new Map<string, number>()
    for (const { pattern } of items)
      for (const piece of literalPieces(pattern)) uses.set(keyOf(piece), (uses.get(keyOf(piece)) ?? 0) + 1)
    for (const [rank, item] of items.entries()) this.#add(item, rank, uses)
  }

  /** `uses`: how many patterns have a piece. */
  #add(item: T, rank: number, uses: ReadonlyMap<string, number>): void {
    let rarest: Piece | undefined
    let fewestUses = Number.POSITIVE_INFINITY
    for (const piece of literalPieces(item.pattern)) {
      const count = uses.get(keyOf(piece)) ?? 0
      if (count < fewestUses) [rarest, fewestUses] = [piece, count]
    }
    this.#bucketOf(rarest).push({ item, pattern: item.pattern, rank })
  }

  /** The first pattern that matches the path, which begins with their head. */
  first(path: SegmentedPath): T | undefined {
    let found = firstOf(this.#wildcardsOnly, path, undefined)
    for (const [number, { byText, byPrefix, prefixLengths }] of this.#bySegment) {
      const segment = path.segment(number)
      if (segment === undefined) continue
      found = firstOf(byText.get(segment), path, found)
      for (const length of prefixLengths) {
        if (length <= segment.length) found = firstOf(byPrefix.get(segment.slice(0, length)), path, found)
      }
    }
    return found?.item
  }

  #bucketOf(piece: Piece | undefined): Ranked<T>[] {
    if (piece === undefined) return this.#wildcardsOnly
    const index = this.#bySegment.get(piece.segment) ?? {
      byText: new Map(),
      byPrefix: new Map(),
      prefixLengths: new Set(),
    }
    this.#bySegment.set(piece.segment, index)
    if (piece.isOpen) index.prefixLengths.add(piece.text.length)
    const buckets = piece.isOpen ? index.byPrefix : index.byText
    const bucket = buckets.get(piece.text) ?? []
    buckets.set(piece.text, bucket)
    return bucket
  }
}

/** A bucket is in order of rank, so its first match is its best. */
function firstOf<T>(
  bucket: readonly Ranked<T>[] | undefined,
  path: SegmentedPath,
  best: Ranked<T> | undefined,
): Ranked<T> | undefined {
  if (bucket === undefined) return best
  for (const candidate of bucket) {
    if (best !== undefined && candidate.rank > best.rank) return best
    if (matchesAfterHead(candidate.pattern, path)) return candidate
  }
  return best
}

/** The pieces after the head that are not `+`. */
function literalPieces({ pieces, head, isOpen }: SegmentPattern): Piece[] {
  const from = head.split('/').length - 1
  const literals: Piece[] = []
  for (let segment = from; segment < pieces.length && segment < from + maxCandidatePieces; segment++) {
    const text = pieces[segment] ?? ''
    if (text !== '+') literals.push({ segment, text, isOpen: isOpen && segment === pieces.length - 1 })
  }
  return literals
}

const keyOf = ({ segment, text, isOpen }: Piece): string => `${segment}${isOpen ? '*' : '/'}${text}`
