/**
 * Standard base64, padded; line breaks count for nothing wherever they are, unused bits may be anything.
 * Empty is fine. `Buffer.from` would take nearly everything. No pattern with a group that repeats: over
 * megabytes it takes more stack than there is. docs/contract/http.md#help-counters-tools,
 * docs/contract/messages.md#base64, docs/contract/tokens-and-policies.md#policies.
 */
export function isBase64(text: string): boolean {
  const code = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text
  if (code.length % 4 !== 0) return false
  const padding = code.endsWith('==') ? 2 : code.endsWith('=') ? 1 : 0
  return !/[^A-Za-z0-9+/]/.test(padding === 0 ? code : code.slice(0, -padding))
}
