/**
 * Whether the Levenshtein distance of two texts is at most `most`. Long texts are never near, which limits
 * the time.
 */
export function isNear(one: string, other: string, most = 2): boolean {
  if (Math.abs(one.length - other.length) > most || one.length > longest) return false
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1]
    for (const [column, otherLetter] of [...other].entries()) {
      const replaced = (row[column] ?? 0) + (letter === otherLetter ? 0 : 1)
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return (row.at(-1) ?? 0) <= most
}

const longest = 128
