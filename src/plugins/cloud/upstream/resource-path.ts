/**
 * A scope or id as the path of a URL, with one leading slash and encoded segments; `/` is the root of the tenant.
 * Undefined for `?`, `#`, `\`, control characters and the segments `.` and `..`.
 * docs/contract/cloud.md#looking-up-roles
 */
export function resourcePath(text: string): string | undefined {
  if (text.length > 2048 || /[?#\\\u0000-\u001f\u007f]/.test(text) || !text.isWellFormed()) return undefined
  const segments = text.split('/').filter((segment) => segment !== '')
  if (segments.some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) return undefined
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('')
}
