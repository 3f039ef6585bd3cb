/**
 * Whether an `If-None-Match` field matches a strong tag, by weak comparison. Reads a malformed field up to
 * its first error. RFC 9110 §13.1.2, §8.8.3.2.
 */
export function namesTag(field: string | undefined, tag: string): boolean {
  if (field === undefined) return false
  if (field === tag || field === '*') return true
  let at = 0
  while (at < field.length) {
    if (separators.has(field[at] ?? '')) {
      at += 1
      continue
    }
    if (field.startsWith('W/', at)) at += 2
    const end = field[at] === '"' ? field.indexOf('"', at + 1) + 1 : 0
    if (end === 0) return false
    if (end - at === tag.length && field.startsWith(tag, at)) return true
    at = end
  }
  return false
}

/** Whether an `If-Match` field matches a strong tag; `*` matches any. RFC 9110 §13.1.1. */
export const requiresTag = (field: string, tag: string): boolean =>
  field.trim() === '*' || field.split(',').some((one) => one.trim() === tag)

const separators = new Set([' ', '\t', ','])
