import { Buffer, isUtf8 } from 'node:buffer'

/**
 * Pure reading of a request target. docs/contract/http.md#the-order-of-refusals,
 * docs/contract/http.md#verbs-and-paths
 */

const plain = /^[!-$&-~]*$/

/** Percent-decodes once; `undefined` for a broken escape, and for bytes that are no text in UTF-8. */
export function decodePath(raw: string): string | undefined {
  if (plain.test(raw)) return raw
  if (/%(?![0-9A-Fa-f]{2})/.test(raw)) return undefined
  const decoded = raw.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  const bytes = Buffer.from(decoded, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined
}

/** Matches anything that is not a letter, mark, number, punctuation, symbol or blank. */
export function hasUnprintable(decoded: string): boolean {
  return !plain.test(decoded) && /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(decoded)
}

/**
 * The path without empty, `.` and `..` segments; a trailing slash stays. Safe for a `Location`: to browsers a
 * backslash is a slash, and two slashes begin another host.
 */
export function cleanTarget(raw: string): string {
  if (!raw.includes('//') && !raw.includes('/.')) return raw
  const kept: string[] = []
  for (const segment of raw.split('/')) {
    if (segment === '..') kept.pop()
    else if (segment !== '' && segment !== '.') kept.push(segment)
  }
  const folder = kept.length > 0 && /\/\.{0,2}$/.test(raw)
  return `/${kept.join('/')}${folder ? '/' : ''}`.replaceAll('\\', '%5C')
}

/** Has a `.` or `..` segment. */
export function isRelative(path: string): boolean {
  return path.includes('.') && path.split('/').some((segment) => segment === '.' || segment === '..')
}

/** The first value of a header that Node may give joined or as a list. */
export function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
