const safeSchemes: ReadonlySet<string> = new Set(['http', 'https', 'mailto'])

/**
 * The lower-cased scheme of a URL, as browsers read it, if it is not http, https or mailto; undefined for those, for
 * relative URLs and for what is none. docs/contract/messages.md#links
 */
export function linkScheme(href: string): string | undefined {
  const scheme = URL.parse(href, 'https://relative.invalid')?.protocol.slice(0, -1)
  return scheme === undefined || safeSchemes.has(scheme) ? undefined : scheme
}
