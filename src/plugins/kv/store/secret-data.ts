import { Buffer } from 'node:buffer'
import { refuse } from '../../../errors.ts'
import { type JsonValue, stringifyJson } from '../../../lib/text/json.ts'

const maxDataBytes = 1_048_576

/**
 * The JSON text of a secret's data, which is stored and sent as it is: so numbers keep their digits, and a
 * read parses nothing. Throws for data that is too large.
 */
export function dataTextOf(data: JsonValue | Readonly<Record<string, JsonValue>>): string {
  const text = stringifyJson(data)
  const bytes = Buffer.byteLength(text)
  if (bytes > maxDataBytes)
    throw refuse(
      'invalid',
      `put failed due to value being too large; got ${bytes} bytes, max: ${maxDataBytes} bytes`,
    )
  return text
}
