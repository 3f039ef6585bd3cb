/** A URL as it may be shown: without user name and password, which are for its host only. */
export function redactUrl(address: string): string {
  const url = URL.parse(address)
  if (url === null || (url.username === '' && url.password === '')) return address
  url.username = ''
  url.password = ''
  return url.href
}
