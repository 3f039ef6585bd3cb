/** An address as it may be shown: a name and a password in it are for its host only. */
export function shownUrl(address: string): string {
  const url = URL.parse(address)
  if (url === null || (url.username === '' && url.password === '')) return address
  url.username = ''
  url.password = ''
  return url.href
}
