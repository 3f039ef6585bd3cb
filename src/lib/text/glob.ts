/**
 * Whether a pattern, in which each `*` stands for any run of characters, matches the whole text. It takes the
 * leftmost match of each piece between the stars and never backtracks, so its time is linear.
 * docs/contract/jwt.md#roles
 */
export function globMatches(pattern: string, text: string): boolean {
  const pieces = pattern.split('*')
  const first = pieces[0] ?? ''
  if (pieces.length === 1) return pattern === text
  const last = pieces.at(-1) ?? ''
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
    return false
  const end = text.length - last.length
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = indexOf(text, piece, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}

/**
 * Like `globMatches`, but `*` is special only at the start and the end of the pattern, and a pattern of one
 * character is literal. docs/contract/tokens-and-policies.md#parameters-wrapping-expiration
 */
export function edgeGlobMatches(pattern: string, text: string): boolean {
  if (pattern.length < 2) return pattern === text
  const isOpenStart = pattern.startsWith('*')
  const isOpenEnd = pattern.endsWith('*')
  const fixed = pattern.slice(isOpenStart ? 1 : 0, isOpenEnd ? -1 : undefined)
  if (isOpenStart && isOpenEnd) return indexOf(text, fixed, 0) >= 0
  if (isOpenStart) return text.endsWith(fixed)
  return isOpenEnd ? text.startsWith(fixed) : text === fixed
}

/** Longest piece for the engine's own search, whose worst case is the product of both lengths. */
const shortPiece = 32

/** `String.indexOf` in time linear in both lengths (Knuth, Morris, Pratt). */
function indexOf(text: string, piece: string, from: number): number {
  if (piece.length <= shortPiece) return text.indexOf(piece, from)
  const borders = bordersOf(piece)
  let matched = 0
  for (let at = from; at < text.length; at++) {
    matched = extend(piece, borders, matched, text.charCodeAt(at))
    if (matched === piece.length) return at + 1 - matched
  }
  return -1
}

/**
 * For each prefix of the piece, by length: the length of its longest proper prefix that is also its suffix.
 */
function bordersOf(piece: string): Int32Array {
  const borders = new Int32Array(piece.length + 1)
  for (let length = 2; length <= piece.length; length++) {
    borders[length] = extend(piece, borders, borders[length - 1] ?? 0, piece.charCodeAt(length - 1))
  }
  return borders
}

/** How much of the piece matches after the next character, if `matched` did before it. */
function extend(piece: string, borders: Int32Array, matched: number, next: number): number {
  let length = matched
  while (length > 0 && piece.charCodeAt(length) !== next) length = borders[length] ?? 0
  return piece.charCodeAt(length) === next ? length + 1 : length
}
