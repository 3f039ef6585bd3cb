/** Shorter texts are not secrets, and occur in too many words. */
const shortestHidden = 4

/**
 * Removes secrets from a text of another server, which may repeat what it was sent, in every encoding they
 * were sent in. For texts that unauthenticated callers see.
 */
export function redactSecrets(...secrets: readonly string[]): (text: string) => string {
  const spellings = secrets.flatMap((secret) => [
    secret,
    formEncoded(secret),
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
  ])
  const hidden = spellings.filter((spelling) => spelling.length >= shortestHidden)
  return (text) => hidden.reduce((left, spelling) => left.replaceAll(spelling, 'xxxxx'), text)
}

/** As a form encodes it. */
export const formEncoded = (text: string): string =>
  new URLSearchParams({ '': text.toWellFormed() }).toString().slice(1)

/** A URL as it may be shown: without user name and password, which are for its host only. */
export function redactUrl(address: string): string {
  const url = URL.parse(address)
  if (url === null || (url.username === '' && url.password === '')) return address
  url.username = ''
  url.password = ''
  return url.href
}
