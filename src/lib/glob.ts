/**
 * Whether `*` in the pattern, each standing for any run of characters, makes it the whole text. Takes the leftmost place for each piece
 * between the stars, and never goes back: no pattern makes it slow. Contract jwt-oidc §4.9.
 */
export function globMatches(pattern: string, text: string): boolean {
  const pieces = pattern.split('*')
  const first = pieces[0] ?? ''
  if (pieces.length === 1) return pattern === text
  const last = pieces.at(-1) ?? ''
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  const end = text.length - last.length
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}

/** As `globMatches` with `*` at the start and the end of the pattern only; a pattern of one character stands for itself. Contract tokens §4.6. */
export function edgeGlobMatches(pattern: string, text: string): boolean {
  if (pattern.length < 2) return pattern === text
  const isOpenStart = pattern.startsWith('*')
  const isOpenEnd = pattern.endsWith('*')
  const fixed = pattern.slice(isOpenStart ? 1 : 0, isOpenEnd ? -1 : undefined)
  if (isOpenStart && isOpenEnd) return text.includes(fixed)
  if (isOpenStart) return text.endsWith(fixed)
  return isOpenEnd ? text.startsWith(fixed) : text === fixed
}
