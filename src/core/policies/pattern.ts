import { Buffer } from 'node:buffer'

/**
 * The parsed form of a path label. `text` is the label; patterns with equal text are equal.
 * docs/contract/tokens-and-policies.md#paths-in-rules
 */
export type Pattern = ExactPattern | WildcardPattern
type ExactPattern = { readonly kind: 'exact'; readonly text: string }
export type WildcardPattern = PrefixPattern | SegmentPattern
export type PrefixPattern = Rank & { readonly kind: 'prefix' }
export type SegmentPattern = Rank & {
  readonly kind: 'segment'
  /** The texts between the slashes, without a final `*`. */
  readonly pieces: readonly string[]
}

/** Decides the precedence of patterns that match the same path. */
type Rank = {
  readonly text: string
  /** Everything before the first `+`, or before the `*` of a prefix. All matching paths begin with it. */
  readonly head: string
  /** Whether the label ends in `*`. */
  readonly isOpen: boolean
  /** Number of segments that are `+`. */
  readonly wildcards: number
  /** Length in bytes, without a final `*`. */
  readonly length: number
}

/** Parses a path label whose leading slash has been removed. */
export function patternOf(text: string): Pattern {
  const isOpen = text.endsWith('*')
  const fixed = isOpen ? text.slice(0, -1) : text
  const length = Buffer.byteLength(fixed)
  if (text === '+' || text.startsWith('+/') || text.includes('/+')) {
    const pieces = fixed.split('/')
    const wildcards = pieces.filter((piece) => piece === '+').length
    return {
      kind: 'segment',
      text,
      head: text.slice(0, text.indexOf('+')),
      isOpen,
      wildcards,
      length,
      pieces,
    }
  }
  return isOpen
    ? { kind: 'prefix', text, head: fixed, isOpen, wildcards: 0, length }
    : { kind: 'exact', text }
}

/**
 * Orders patterns that match the same path by precedence, highest first.
 * docs/contract/tokens-and-policies.md#which-rule-decides
 */
export function compareRank(a: WildcardPattern, b: WildcardPattern): number {
  return (
    b.head.length - a.head.length ||
    Number(a.isOpen) - Number(b.isOpen) ||
    a.wildcards - b.wildcards ||
    b.length - a.length ||
    (a.text === b.text ? 0 : Buffer.compare(Buffer.from(b.text), Buffer.from(a.text)))
  )
}

/** A path that is split into segments on first use. */
export class SegmentedPath {
  readonly text: string
  #starts: readonly number[] | undefined

  constructor(text: string) {
    this.text = text
  }

  /** The start of each segment, then the start of a hypothetical next one. */
  get starts(): readonly number[] {
    this.#starts ??= segmentStarts(this.text)
    return this.#starts
  }
}

function segmentStarts(path: string): readonly number[] {
  const starts = [0]
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1))
    starts.push(slash + 1)
  starts.push(path.length + 1)
  return starts
}

/**
 * Whether the pattern matches a path that begins with its head. Takes time proportional to the length of the
 * pattern, not of the path.
 */
export function matchesAfterHead({ pieces, isOpen }: SegmentPattern, path: SegmentedPath): boolean {
  const { text, starts } = path
  const segments = starts.length - 1
  if (isOpen ? segments < pieces.length : segments !== pieces.length) return false
  const last = isOpen ? pieces.length - 1 : pieces.length
  for (let index = 0; index < last; index++) {
    const piece = pieces[index] ?? ''
    if (piece === '+') continue
    const start = starts[index] ?? 0
    if ((starts[index + 1] ?? 0) - 1 - start !== piece.length || !text.startsWith(piece, start)) return false
  }
  return !isOpen || text.startsWith(pieces[last] ?? '', starts[last])
}

export function matches(pattern: Pattern, path: string): boolean {
  if (pattern.kind === 'exact') return path === pattern.text
  return (
    path.startsWith(pattern.head) &&
    (pattern.kind === 'prefix' || matchesAfterHead(pattern, new SegmentedPath(path)))
  )
}

/** Whether the pattern can match a path below this prefix, which ends in `/`. */
export function reachesBelow(pattern: Pattern, prefix: string): boolean {
  if (pattern.kind !== 'segment') return pattern.text.startsWith(prefix)
  const above = prefix.split('/').slice(0, -1)
  for (const [index, segment] of above.entries()) {
    const piece = pattern.pieces[index]
    if (piece === undefined) return false
    if (pattern.isOpen && index === pattern.pieces.length - 1) return segment.startsWith(piece)
    if (piece !== '+' && piece !== segment) return false
  }
  return pattern.pieces.length > above.length
}
