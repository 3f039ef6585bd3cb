import { validateHeaderName, validateHeaderValue } from 'node:http'

/** What the server itself sets, or what would break the framing of messages. */
const reserved =
  /^(?:x-vault-.*|x-gatehouse-.*|cache-control|connection|content-length|content-type|date|http2-settings|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$/

/** Clients disagree about the encoding of such characters (RFC 9110 §5.5). */
const beyondAscii = /[^\x00-\x7f]/

/** Why an operator cannot add a header to responses, as a sentence; undefined if it can be added. */
export function headerFault(name: string, value: string): string | undefined {
  if (reserved.test(name.toLowerCase())) return `the server sets ${name} itself`
  if (beyondAscii.test(value)) return `${name} has a character beyond ASCII`
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  } catch {
    return `${name} is not a valid header`
  }
  return undefined
}
