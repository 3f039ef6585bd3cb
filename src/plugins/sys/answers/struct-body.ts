import { z } from 'zod'
import { refuse } from '../../../errors.ts'
import { readFields } from '../../../http/exchange/body.ts'
import { jsonTypeName } from '../../../lib/text/go-type-names.ts'
import { isJsonNumber, type JsonLimits, type JsonValue } from '../../../lib/text/json.ts'

type Values = { string: string; bool: boolean; int: number; '[]string': readonly string[] }
/** The fields of a body; one that was not sent, or is null, has the zero value of its type. */
export type StructOf<Schema extends z.ZodObject> = {
  readonly [Name in keyof Schema['shape']]: NonNullable<z.output<Schema['shape'][Name]>>
}

const zero: Values = { string: '', bool: false, int: 0, '[]string': [] }
const typeNames: Readonly<Record<string, keyof Values>> = {
  string: 'string',
  boolean: 'bool',
  number: 'int',
  array: '[]string',
}

/**
 * Reads the body of a node-level path into a fixed struct: keys match in any case, unknown ones are ignored,
 * and other types are refused in the words of Go, with the name of the struct. docs/contract/http.md#bodies
 */
export function readStruct<Schema extends z.ZodObject>(
  body: Uint8Array | undefined,
  limits: JsonLimits,
  name: string,
  schema: Schema,
): StructOf<Schema> {
  const sent = new Map(
    Object.entries(readFields(body, undefined, limits)).map(([key, value]) => [key.toLowerCase(), value]),
  )
  const read = Object.entries(schema.shape).map(([field, of]) => {
    const type = typeNames[(of instanceof z.ZodOptional ? of.unwrap() : of)._zod.def.type]
    if (type === undefined) throw new Error(`${field} has a type that no struct has`)
    return [field, fieldOf(sent.get(field) ?? null, type, `${name}.${field}`)]
  })
  // each name has the value of its own type
  return Object.fromEntries(read) as StructOf<Schema>
}

function fieldOf(value: JsonValue, type: keyof Values, path: string): Values[keyof Values] {
  if (value === null) return zero[type]
  if (type === 'string' && typeof value === 'string') return value
  if (type === 'bool' && typeof value === 'boolean') return value
  if (type === 'int' && isJsonNumber(value) && isWhole(value.rawJSON)) return Number(value.rawJSON)
  if (type === '[]string' && Array.isArray(value)) return value.map((item) => elementOf(item, path))
  throw mismatch(value, type, path)
}

function elementOf(item: JsonValue, path: string): string {
  if (item === null) return ''
  if (typeof item !== 'string') throw mismatch(item, 'string', path)
  return item
}

const isWhole = (text: string): boolean => /^-?\d{1,15}$/.test(text)

function mismatch(value: JsonValue, type: keyof Values, path: string) {
  const shown = isJsonNumber(value) && type === 'int' ? `number ${value.rawJSON}` : jsonTypeName(value)
  return refuse(
    'invalid',
    `failed to parse JSON input: json: cannot unmarshal ${shown} into Go struct field ${path} of type ${type}`,
  )
}
