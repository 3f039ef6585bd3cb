const safeSchemes = new Set(['http', 'https', 'mailto'])

/**
 * The scheme of an address that is none of http, https and mailto, in lower case; undefined for those and for
 * an address without one, which is relative. Read as a browser reads it: blanks before it and line breaks
 * within do not count. docs/contract/messages.md#links
 */
export function linkScheme(href: string): string | undefined {
  const [, scheme] = /^([a-z][a-z\d+.-]*):/i.exec(withoutIgnored(href)) ?? []
  const lower = scheme?.toLowerCase()
  return lower === undefined || safeSchemes.has(lower) ? undefined : lower
}

function withoutIgnored(href: string): string {
  const text = href.replace(/[\t\n\r]/g, '')
  let start = 0
  while (start < text.length && text.charCodeAt(start) <= 0x20) start++
  return text.slice(start)
}
