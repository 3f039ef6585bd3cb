/** Shorter ones are no secrets, and stand in too many words. */
const shortestHidden = 4

/**
 * Leaves secrets out of a text of another server, which may repeat what it was sent, before a caller nobody
 * knows sees it: in every spelling they were sent in.
 */
export function withoutSecrets(...secrets: readonly string[]): (text: string) => string {
  const spellings = secrets.flatMap((secret) => [
    secret,
    formEncoded(secret),
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
  ])
  const hidden = spellings.filter((spelling) => spelling.length >= shortestHidden)
  return (text) => hidden.reduce((left, spelling) => left.replaceAll(spelling, 'xxxxx'), text)
}

/** As a form has it. */
export const formEncoded = (text: string): string =>
  new URLSearchParams({ '': text.toWellFormed() }).toString().slice(1)
