/**
 * A scope or an id of Resource Manager as the path of a URL, with one slash in front and each segment encoded
 * (`''`: the root of the tenant); undefined when it must not be put into one: `?`, `#`, `\`, control
 * characters, segments `.` and `..`. docs/contract/cloud.md#looking-up-roles.
 */
export function resourcePath(text: string): string | undefined {
  if (text.length > 2048 || /[?#\\\u0000-\u001f\u007f]/.test(text) || !text.isWellFormed()) return undefined
  const segments = text.split('/').filter((segment) => segment !== '')
  if (segments.some((segment) => segment === '.' || segment === '..')) return undefined
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('')
}
