import { Buffer } from 'node:buffer'

/**
 * What a path label of a policy stands for. `text` is the label, and says all: two patterns of the same text
 * are the same. docs/contract/tokens-and-policies.md#paths-in-rules
 */
export type Pattern = ExactPattern | WildcardPattern
export type ExactPattern = { readonly kind: 'exact'; readonly text: string }
export type WildcardPattern = PrefixPattern | SegmentPattern
export type PrefixPattern = Rank & { readonly kind: 'prefix' }
export type SegmentPattern = Rank & {
  readonly kind: 'segment'
  /** Between the slashes, without a final `*`. */
  readonly pieces: readonly string[]
}

/** What decides between patterns that match the same path. */
type Rank = {
  readonly text: string
  /** Everything before the first `+` (of a prefix: before the `*`). Each path it matches begins with it. */
  readonly head: string
  /** Ends in `*`. */
  readonly isOpen: boolean
  /** How many whole segments are `+`. */
  readonly wildcards: number
  /** Bytes without a final `*`. */
  readonly length: number
}

/** The pattern of a path label that has no leading slash any more. */
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
 * Orders patterns that match the same path, the better one first.
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

/** A path cut into segments the first time someone asks. */
export class SegmentedPath {
  readonly text: string
  #starts: readonly number[] | undefined

  constructor(text: string) {
    this.text = text
  }

  /** Where each segment begins, and after the last one where the next would. */
  get starts(): readonly number[] {
    this.#starts ??= segmentStarts(this.text)
    return this.#starts
  }

  /** The segment of that number, from 0 on. */
  segment(number: number): string | undefined {
    const start = this.starts[number]
    const next = this.starts[number + 1]
    return start === undefined || next === undefined ? undefined : this.text.slice(start, next - 1)
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
 * Does the pattern match a path that begins with its head? Takes time by the length of the pattern, not of
 * the path.
 */
export function matchesBehindHead({ pieces, isOpen }: SegmentPattern, path: SegmentedPath): boolean {
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
    (pattern.kind === 'prefix' || matchesBehindHead(pattern, new SegmentedPath(path)))
  )
}

/**
 * Is there any path below this prefix, which ends in `/`, that the pattern names and a shorter text does not?
 */
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
