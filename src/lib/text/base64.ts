/**
 * Whether a text is standard, padded base64; `Buffer.from` accepts nearly anything. Ignores line breaks and
 * the unused bits of the last character. Avoids a regular expression with a repeated group, which overflows
 * the stack on megabytes. docs/contract/http.md#help-counters-tools, docs/contract/messages.md#base64,
 * docs/contract/tokens-and-policies.md#policies
 */
export function isBase64(text: string): boolean {
  const code = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text
  if (code.length % 4 !== 0) return false
  const padding = code.endsWith('==') ? 2 : code.endsWith('=') ? 1 : 0
  return !/[^A-Za-z0-9+/]/.test(padding === 0 ? code : code.slice(0, -padding))
}
