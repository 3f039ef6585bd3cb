/** A number, or why Go's `strconv` rejects the text. */
export type ParsedNumber = { number: number } | { error: 'invalid syntax' | 'value out of range' }

const invalid: ParsedNumber = { error: 'invalid syntax' }
const outOfRange: ParsedNumber = { error: 'value out of range' }

/** Longer texts would overflow the stack in the regular expression below. */
const maxTextLength = 4096

const wholeNumber =
  /^([+-]?)(?:(0[xX](?:_?[\dA-Fa-f])+)|(0[bB](?:_?[01])+)|0[oO]?((?:_?[0-7])+)|(0|[1-9](?:_?\d)*))$/

/**
 * Parses an integer in base 10, 16 (`0x`), 8 (`0o` or a leading 0) or 2 (`0b`), with `_` between digits, as
 * Go's `strconv.ParseInt` does with base 0 (https://pkg.go.dev/strconv#ParseInt). Numbers beyond 2^53 - 1 are
 * out of range, because a double would round them. docs/contract/http.md#field-types
 */
export function parseWholeNumber(text: string): ParsedNumber {
  if (text.length > maxTextLength) return outOfRange
  const match = wholeNumber.exec(text)
  if (!match) return invalid
  const [, sign, hexadecimal, binary, octal, decimal] = match
  const literal = hexadecimal ?? binary ?? (octal === undefined ? decimal : `0o${octal}`) ?? ''
  const digits = literal.replaceAll('_', '')
  const significant = digits.replace(/^0[xXoObB]?0*/, '')
  if (significant.length > 64) return outOfRange
  const number = Number(digits)
  // `|| 0`: never -0
  return Number.isSafeInteger(number) ? { number: (sign === '-' ? -number : number) || 0 } : outOfRange
}

const trueTexts = new Set(['1', 't', 'T', 'true', 'True', 'TRUE'])
const falseTexts = new Set(['0', 'f', 'F', 'false', 'False', 'FALSE'])

/** A boolean as Go's `strconv.ParseBool` reads it (https://pkg.go.dev/strconv#ParseBool). */
export const parseBool = (text: string): boolean | undefined =>
  trueTexts.has(text) ? true : falseTexts.has(text) ? false : undefined
