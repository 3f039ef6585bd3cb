import { z } from 'zod'
import {
  type Coerced,
  type FieldMap,
  toBool,
  toCommaList,
  toDuration,
  toLowerText,
  toMap,
  toPairs,
  toSlice,
  toText,
  toTextList,
  toTime,
  toWholeNumber,
} from './coercion.ts'
import type { JsonValue } from './json.ts'

type Coercion<T> = (wire: unknown) => Coerced<T>

/** The coercion behind a field's transform: `convertFields` calls it without zod's machinery around it. */
const coercions = new WeakMap<object, Coercion<unknown>>()

/** Fields for which null means "not sent". docs/contract/http.md#field-types */
const nullIsAbsent = new WeakSet<object>()

/**
 * A field type: its wire form for the OpenAPI document, what it means, and the typed result, which is a wire
 * form of itself.
 */
function field<T, Out extends z.ZodType<T, T>>(
  wire: Record<string, unknown>,
  coercion: Coercion<T>,
  out: Out,
) {
  const transform = (input: unknown, context: z.RefinementCtx): T => {
    const coerced = coercion(input)
    if ('value' in coerced) return coerced.value
    context.issues.push({ code: 'custom', message: coerced.error, input })
    return z.NEVER
  }
  // the transform gives T and never a promise of it, which the compiler cannot see for every T
  const form = z.any().meta(wire).transform(transform) as unknown as z.ZodType<T, unknown>
  coercions.set(form, coercion)
  return form.pipe(out)
}

/**
 * A result whose shape the coercion before it has settled (the cast says so); zod's own record would drop a
 * key named `__proto__`.
 */
const settled = <T>(shape: Record<string, unknown>) => z.any().meta(shape) as unknown as z.ZodType<T, T>

const listWire = { type: 'array', items: { type: 'string' } }
// generated clients want one form of a field: where several may be sent, the document has the most expressive
// one
const durationWire = { type: 'string', examples: ['1h30m', '3600'] }

/** `true`, `1`, `"t"`, … docs/contract/http.md#field-types */
export const boolField = field({ type: 'boolean' }, toBool, z.boolean())

/** A whole number, also as text with a base prefix. docs/contract/http.md#field-types */
export const intField = field({ type: 'integer' }, toWholeNumber, z.int())

/**
 * Text, never trimmed; numbers are their literal text, booleans `1` and `0`.
 * docs/contract/http.md#field-types
 */
export const stringField = field({ type: 'string' }, toText, z.string())

/** As `stringField`, in lower case. */
export const lowerStringField = field({ type: 'string' }, toLowerText, z.string())

/** Trimmed texts; a single text is one element, whatever it holds. docs/contract/http.md#field-types */
export const stringListField = field(listWire, toTextList, z.array(z.string()))

/** Trimmed texts; on the wire `"a, b"` or `["a", "b"]`. docs/contract/http.md#field-types */
export const commaListField = field(listWire, toCommaList, z.array(z.string()))

/**
 * A JSON object whose values keep their form, numbers their text; null is kept.
 * docs/contract/http.md#field-types
 */
export const mapField = field(
  { type: 'object', additionalProperties: true },
  toMap,
  settled<FieldMap | null>({ type: ['object', 'null'], additionalProperties: true }),
)

/** A list whose elements keep their form. docs/contract/http.md#field-types */
export const sliceField = field(
  { type: 'array', items: {} },
  toSlice,
  settled<JsonValue[]>({ type: 'array', items: {} }),
)

/** Texts by key; on the wire also `"key=value"` or a list of those. docs/contract/http.md#field-types */
export const kvField = field(
  { type: 'object', additionalProperties: { type: 'string' } },
  toPairs,
  settled<FieldMap<string> | null>({ type: ['object', 'null'], additionalProperties: { type: 'string' } }),
)

/**
 * Whole seconds, not negative; on the wire also `"1h30m"` or `"7d"`. Null is "not sent".
 * docs/contract/http.md#field-types
 */
export const durationField = field(durationWire, toDuration(), z.int())

/** As `durationField`, negative ones too. */
export const signedDurationField = field(durationWire, toDuration({ signed: true }), z.int())

/** As `durationField`, of which parts of a second count: `500ms` is 0.5. */
export const exactDurationField = field(durationWire, toDuration({ exact: true }), z.number())

/**
 * RFC 3339 text in UTC, nanoseconds kept (see `time.ts`); on the wire also seconds since 1970. Null is "not
 * sent". There is no zero time: make it `.optional()` or give it a default.
 * docs/contract/http.md#field-types.
 */
export const timeField = field(
  { type: 'string', format: 'date-time' },
  toTime,
  z.string().meta({ format: 'date-time' }),
)

for (const { def } of [durationField, signedDurationField, exactDurationField, timeField])
  nullIsAbsent.add(def.in)

/**
 * A declared field whose value has another form than its type. docs/contract/http.md#field-types says which
 * text it is part of.
 */
export class FieldError extends Error {
  override readonly name = 'FieldError'
  readonly field: string
  readonly detail: string

  constructor(name: string, detail: string) {
    super(`error converting input for field "${name}": ${detail}`)
    this.field = name
    this.detail = detail
  }

  /** The text clients know, without the prefix that depends on the moment of the check. */
  get text(): string {
    return this.message
  }
}

export type ConvertedFields<Schema extends z.ZodObject> = {
  /** A field that is optional and was not sent is no key of it. */
  values: z.output<Schema>
  /** Names that were sent and are not declared, sorted. */
  unknown: string[]
}

/**
 * The declared fields of a request, each by its own type; throws `FieldError`. A field that was not sent has
 * its default, is left out if optional, and is the zero value of its type otherwise. Rules across fields
 * (`refine` on the object) are the caller's to check. docs/contract/http.md#field-types.
 */
export function convertFields<Schema extends z.ZodObject>(
  schema: Schema,
  input: Readonly<Record<string, unknown>>,
): ConvertedFields<Schema> {
  const converters = convertersOf(schema)
  const values: Record<string, unknown> = {}
  const unknown: string[] = []
  let given = 0
  for (const name of Object.keys(input)) {
    const converter = converters.get(name)
    if (converter === undefined) {
      unknown.push(name)
    } else if (input[name] !== undefined && !(input[name] === null && converter.nullIsAbsent)) {
      given++
      values[name] = convertOne(name, converter, converters, input)
    }
  }
  if (given < converters.size) {
    for (const [name, converter] of converters) {
      if (converter.absent !== undefined && !Object.hasOwn(values, name)) values[name] = converter.absent()
    }
  }
  // each key of the schema's shape was given its own output, which is what z.output says
  return { values: values as z.output<Schema>, unknown: unknown.sort() }
}

/**
 * Of several faults the one of the field that is declared first is told, in whatever order they were sent.
 */
function convertOne(
  name: string,
  converter: Converter,
  converters: ReadonlyMap<string, Converter>,
  input: Readonly<Record<string, unknown>>,
): unknown {
  try {
    return converter.convert(input[name])
  } catch (error) {
    for (const [other, { convert, nullIsAbsent }] of converters) {
      if (other === name) break
      if (input[other] !== undefined && !(input[other] === null && nullIsAbsent)) convert(input[other])
    }
    throw error
  }
}

type Converter = {
  convert(wire: unknown): unknown
  /** The value of a field that was not sent; undefined when it is left out. */
  absent: (() => unknown) | undefined
  nullIsAbsent: boolean
}

const converterCache = new WeakMap<z.ZodObject, ReadonlyMap<string, Converter>>()

function convertersOf(schema: z.ZodObject): ReadonlyMap<string, Converter> {
  const cached = converterCache.get(schema)
  if (cached !== undefined) return cached
  const converters = new Map(
    Object.entries(schema.shape).map(([name, type]) => [name, converterOf(name, type)]),
  )
  converterCache.set(schema, converters)
  return converters
}

function converterOf(name: string, type: z.core.$ZodType): Converter {
  const layers = unwrap(type)
  const { leaf, hasChecks } = layers
  const form = leaf instanceof z.ZodPipe ? leaf.def.in : undefined
  const coercion = form === undefined || hasChecks ? undefined : coercions.get(form)
  const viaZod = (wire: unknown): unknown => {
    const parsed = z.safeParse(type, wire)
    if (parsed.success) return parsed.data
    throw new FieldError(name, parsed.error.issues[0]?.message ?? 'invalid value')
  }
  const direct = (wire: unknown): unknown => {
    const coerced = coercion?.(wire) ?? { value: wire }
    if ('value' in coerced) return coerced.value
    throw new FieldError(name, coerced.error)
  }
  const convert = coercion === undefined || layers.isNullable ? viaZod : direct
  return {
    convert,
    absent: absentValue(layers, convert),
    nullIsAbsent: form !== undefined && nullIsAbsent.has(form),
  }
}

type Layers = {
  leaf: z.core.$ZodType
  hasChecks: boolean
  isOptional: boolean
  isNullable: boolean
  /** Fresh at each call: it may be a list. */
  initial: (() => unknown) | undefined
}

function unwrap(type: z.core.$ZodType): Layers {
  const layers: Layers = {
    leaf: type,
    hasChecks: false,
    isOptional: false,
    isNullable: false,
    initial: undefined,
  }
  for (;;) {
    const layer = layers.leaf
    layers.hasChecks ||= (layer._zod.def.checks?.length ?? 0) > 0
    if (layer instanceof z.ZodDefault) layers.initial ??= () => layer.def.defaultValue
    else if (layer instanceof z.ZodOptional) layers.isOptional = true
    else if (layer instanceof z.ZodNullable) layers.isNullable = true
    else return layers
    layers.leaf = layer.def.innerType
  }
}

function absentValue({ initial, isOptional }: Layers, convert: Converter['convert']): Converter['absent'] {
  if (initial !== undefined) return initial
  return isOptional ? undefined : () => convert(undefined)
}
