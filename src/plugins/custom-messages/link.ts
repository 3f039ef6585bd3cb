const safeSchemes = new Set(['http', 'https', 'mailto'])

/**
 * The lower-cased scheme of a URL if it is not http, https or mailto; undefined for those and for relative
 * URLs. Like a browser, it ignores leading blanks and any line breaks. docs/contract/messages.md#links,
 * https://url.spec.whatwg.org/#url-parsing
 */
export function linkScheme(href: string): string | undefined {
  const [, scheme] = /^([a-z][a-z\d+.-]*):/i.exec(withoutIgnoredCharacters(href)) ?? []
  const lower = scheme?.toLowerCase()
  return lower === undefined || safeSchemes.has(lower) ? undefined : lower
}

function withoutIgnoredCharacters(href: string): string {
  const text = href.replace(/[\t\n\r]/g, '')
  let start = 0
  while (start < text.length && text.charCodeAt(start) <= 0x20) start++
  return text.slice(start)
}
