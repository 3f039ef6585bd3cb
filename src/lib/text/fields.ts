import { z } from 'zod'
import {
  type Coerced,
  type FieldMap,
  toBool,
  toCommaList,
  toDuration,
  toLowerText,
  toMap,
  toMapOrText,
  toNumber,
  toPairs,
  toPairsOrText,
  toSlice,
  toText,
  toTextList,
  toTime,
  toWholeNumber,
  toWholeNumberList,
} from './coercion.ts'
import type { JsonValue } from './json.ts'

/**
 * How a request's value is read: as a list that a text with commas spells too, as a list whose text is one
 * element, or as it is.
 */
export type FieldReading = 'comma list' | 'list' | 'plain'

/** Rules of a field type that its schema cannot express. */
type FieldRules = {
  /** Null means that the field was not sent. docs/contract/http.md#field-types */
  readonly nullIsAbsent?: true
  readonly reading?: FieldReading
}
const fieldRules = z.registry<FieldRules>()

/**
 * A field type: a codec between what clients may send and the typed value, which clients may send too. `wire`
 * describes the sent form in the OpenAPI document.
 */
const field = <Out extends z.ZodType>(
  wire: Record<string, unknown>,
  coercion: (wire: unknown) => Coerced<z.input<Out>>,
  out: Out,
) =>
  z.codec(z.any().meta(wire), out, {
    decode: (input: unknown, { issues }): z.input<Out> => {
      const coerced = coercion(input)
      if ('value' in coerced) return coerced.value
      issues.push({ code: 'custom', message: coerced.error, input })
      return z.NEVER
    },
    encode: (value) => value,
  })

/**
 * A type whose coercion has checked the value already, which the cast says. A `z.record` would drop a key
 * named `__proto__`.
 */
const settled = <T>(shape: Record<string, unknown>) => z.any().meta(shape) as unknown as z.ZodType<T, T>

const listWire = { type: 'array', items: { type: 'string' } }
// generated clients want one type for each field: of several forms, the document has the most expressive one
const durationWire = { type: 'string', examples: ['1h30m', '3600'] }

/** A boolean; on the wire also `1`, `"t"` and the like. docs/contract/http.md#field-types */
export const boolField = field({ type: 'boolean' }, toBool, z.boolean())

/** An integer; on the wire also text, with an optional base prefix. docs/contract/http.md#field-types */
export const intField = field({ type: 'integer' }, toWholeNumber, z.int())

/** A number; on the wire also text. docs/contract/http.md#field-types */
export const numberField = field({ type: 'number' }, toNumber, z.number())

/**
 * Text, never trimmed; on the wire also a number, read as its literal text, or a boolean, read as `1` or `0`.
 * docs/contract/http.md#field-types
 */
export const stringField = field({ type: 'string' }, toText, z.string())

/** Like `stringField`, but null means "not sent". */
export const keptStringField = field({ type: 'string' }, toText, z.string())

/** Like `stringField`, in lower case. */
export const lowerStringField = field({ type: 'string' }, toLowerText, z.string())

/**
 * Trimmed texts; on the wire also a single text, which is one element even with commas.
 * docs/contract/http.md#field-types
 */
export const stringListField = field(listWire, toTextList, z.array(z.string()))

/** Trimmed texts; on the wire `["a", "b"]` or `"a, b"`. docs/contract/http.md#field-types */
export const commaListField = field(listWire, toCommaList, z.array(z.string()))

/** Integers; on the wire also `"1,2"`. docs/contract/http.md#field-types */
export const intListField = field(
  { type: 'array', items: { type: 'integer' } },
  toWholeNumberList,
  z.array(z.int()),
)

/**
 * A JSON object, or null. Its values are not converted, and numbers keep their text.
 * docs/contract/http.md#field-types
 */
export const mapField = field(
  { type: 'object', additionalProperties: true },
  toMap,
  settled<FieldMap | null>({ type: ['object', 'null'], additionalProperties: true }),
)

/** Like `mapField`; on the wire also the object as JSON text. */
export const mapOrTextField = field(
  { type: 'object', additionalProperties: true },
  toMapOrText,
  settled<FieldMap | null>({ type: ['object', 'null'], additionalProperties: true }),
)

/** A list whose elements are not converted. docs/contract/http.md#field-types */
export const sliceField = field(
  { type: 'array', items: {} },
  toSlice,
  settled<JsonValue[]>({ type: 'array', items: {} }),
)

/**
 * Texts by key, or null; on the wire also `"key=value"` or a list of those. docs/contract/http.md#field-types
 */
export const kvField = field(
  { type: 'object', additionalProperties: { type: 'string' } },
  toPairs,
  settled<FieldMap<string> | null>({ type: ['object', 'null'], additionalProperties: { type: 'string' } }),
)

/** Like `kvField`; on the wire also an object of texts as JSON text. */
export const kvOrTextField = field(
  { type: 'object', additionalProperties: { type: 'string' } },
  toPairsOrText,
  settled<FieldMap<string> | null>({ type: ['object', 'null'], additionalProperties: { type: 'string' } }),
)

/** Like `kvField`, but a text is taken as it is: the plugin has its own forms of it. */
export const kvOrOwnTextField = field(
  { type: 'object', additionalProperties: { type: 'string' } },
  (wire) => (typeof wire === 'string' ? { value: wire } : toPairs(wire)),
  settled<FieldMap<string> | string | null>({
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
  }),
)

/**
 * Whole seconds, not negative; on the wire also `"1h30m"` or `"7d"`. Null means "not sent".
 * docs/contract/http.md#field-types
 */
export const durationField = field(durationWire, toDuration(), z.int())

/** Like `durationField`, but may be negative. */
export const signedDurationField = field(durationWire, toDuration({ signed: true }), z.int())

/** Like `durationField`, but keeps fractions: `500ms` is 0.5. */
export const exactDurationField = field(durationWire, toDuration({ exact: true }), z.number())

/**
 * RFC 3339 text in UTC with up to nanoseconds (see `time.ts`); on the wire also seconds since 1970. Null
 * means "not sent". A time has no zero value: make the field `.optional()` or give it a default.
 * docs/contract/http.md#field-types
 */
export const timeField = field(
  { type: 'string', format: 'date-time' },
  toTime,
  z.string().meta({ format: 'date-time' }),
)

fieldRules.add(stringListField, { reading: 'list' })
for (const type of [commaListField, intListField]) fieldRules.add(type, { reading: 'comma list' })

for (const type of [keptStringField, durationField, signedDurationField, exactDurationField, timeField])
  fieldRules.add(type, { nullIsAbsent: true })

/** The value of a declared field is invalid. docs/contract/http.md#field-types */
export class FieldError extends Error {
  override readonly name = 'FieldError'
  readonly field: string
  readonly detail: string

  constructor(name: string, detail: string) {
    super(`error converting input for field "${name}": ${detail}`)
    this.field = name
    this.detail = detail
  }

  /** The text that clients know, without the prefix, which depends on the kind of request. */
  get text(): string {
    return this.message
  }
}

export type ConvertedFields<Schema extends z.ZodObject> = {
  /** Has no key for an optional field that was not sent. */
  values: z.output<Schema>
  /** The names that were sent but not declared, sorted. */
  unknown: string[]
}

/**
 * Converts the declared fields of a request, each by its own type, or throws `FieldError`. A field that was
 * not sent gets its default; without one it is left out if optional, and the zero value of its type
 * otherwise. The caller checks rules across fields; a schema with such a refinement is an error.
 * docs/contract/http.md#field-types
 */
export function convertFields<Schema extends z.ZodObject>(
  schema: Schema,
  input: Readonly<Record<string, unknown>>,
): ConvertedFields<Schema> {
  const fields = fieldsOf(schema)
  const values: Record<string, unknown> = {}
  const unknown: string[] = []
  let given = 0
  for (const name of Object.keys(input)) {
    const field = fields.get(name)
    if (field === undefined) unknown.push(name)
    else if (isGiven(field, input[name])) {
      given++
      values[name] = convertOne(name, field, fields, input)
    }
  }
  if (given < fields.size) {
    for (const [name, field] of fields) {
      if (!field.isOmitted && !Object.hasOwn(values, name))
        values[name] = field.absent === undefined ? parse(name, field, undefined) : field.absent
    }
  }
  // each key of the schema's shape has its own output, which is what z.output says
  return { values: values as z.output<Schema>, unknown: unknown.sort() }
}

/** If several fields are invalid, the error names the one that is declared first. */
function convertOne(
  name: string,
  field: Field,
  fields: Fields,
  input: Readonly<Record<string, unknown>>,
): unknown {
  try {
    return parse(name, field, input[name])
  } catch (error) {
    for (const [other, earlier] of fields) {
      if (other === name) break
      if (isGiven(earlier, input[other])) parse(other, earlier, input[other])
    }
    throw error
  }
}

export const readingOf = (schema: z.ZodObject, name: string): FieldReading | undefined =>
  fieldsOf(schema).get(name)?.reading

type Field = {
  readonly type: z.ZodType
  readonly reading: FieldReading
  readonly nullIsAbsent: boolean
  /** A field that was not sent has no value. */
  readonly isOmitted: boolean
  /** The value of a field that was not sent, if it can be shared. */
  readonly absent: unknown
}
type Fields = ReadonlyMap<string, Field>

const isGiven = ({ nullIsAbsent }: Field, wire: unknown): boolean =>
  wire !== undefined && !(wire === null && nullIsAbsent)

function parse(name: string, { type }: Field, wire: unknown): unknown {
  const parsed = type.safeParse(wire)
  if (parsed.success) return parsed.data
  throw new FieldError(name, parsed.error.issues[0]?.message ?? 'invalid value')
}

const fieldsBySchema = new WeakMap<z.ZodObject, Fields>()

function fieldsOf(schema: z.ZodObject): Fields {
  const known = fieldsBySchema.get(schema)
  if (known !== undefined) return known
  const fields = readFields(schema)
  fieldsBySchema.set(schema, fields)
  return fields
}

function readFields(schema: z.ZodObject): Fields {
  if ((schema.def.checks ?? []).length > 0) throw new Error('fields cannot be refined as a whole')
  // a JSON schema shows a field's rules on the types around it too, such as `.optional()`
  const { properties = {} } = z.toJSONSchema(schema, {
    io: 'input',
    metadata: fieldRules,
    unrepresentable: 'any',
  })
  // z.object takes the types of zod itself, which are all z.ZodType
  const shape = Object.entries(schema.shape) as [string, z.ZodType][]
  return new Map(shape.map(([name, type]) => [name, fieldOf(type, properties[name])]))
}

function fieldOf(type: z.ZodType, rules: object | boolean | undefined): Field {
  const absent = type.safeParse(undefined)
  return {
    type,
    nullIsAbsent: typeof rules === 'object' && 'nullIsAbsent' in rules,
    reading: readingIn(rules),
    isOmitted: absent.success && absent.data === undefined,
    absent: absent.success && typeof absent.data !== 'object' ? absent.data : undefined,
  }
}

function readingIn(rules: object | boolean | undefined): FieldReading {
  const reading = typeof rules === 'object' && 'reading' in rules ? rules.reading : undefined
  return reading === 'comma list' || reading === 'list' ? reading : 'plain'
}
