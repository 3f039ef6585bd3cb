/** A JSON Schema, or a reference to one. */
export type Schema = { readonly [keyword: string]: unknown }

export const text = { type: 'string' } as const
export const texts = { type: 'array', items: text } as const
export const wholeSeconds = (description: string) => ({
  type: 'integer',
  description: `${description}, in seconds`,
})

const isNull = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'null'

/** Applies `change` to a schema and all schemas inside it, innermost first. */
export function changeSchemas(value: unknown, change: (schema: Schema) => Schema): unknown {
  if (Array.isArray(value)) return value.map((item) => changeSchemas(item, change))
  if (typeof value !== 'object' || value === null) return value
  const changed = Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, changeSchemas(inner, change)]),
  )
  return change(changed)
}

/**
 * A nullable value in the short form of JSON Schema (`"type": ["string", "null"]`), which generators read as
 * optional; they read `anyOf` with a null as a union.
 */
export function shortNull(schema: Schema): Schema {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || !isNull(anyOf[1])) return schema
  const [inner] = anyOf as [Schema]
  return typeof inner['type'] === 'string' ? { ...inner, ...rest, type: [inner['type'], 'null'] } : schema
}

/** Removes the pattern of a schema with a format: it is redundant, and some generators reject it. */
export function withoutPattern(schema: Schema): Schema {
  const { pattern: _, ...rest } = schema
  return schema['format'] === undefined ? schema : rest
}

/**
 * Allows additional members, which later versions may add: some generated clients refuse members that the
 * schema does not allow explicitly.
 */
export function open(schema: Schema): Schema {
  return schema['properties'] === undefined || schema['additionalProperties'] !== undefined
    ? schema
    : { ...schema, additionalProperties: true }
}

/** Removes an empty default, which generated clients would send. */
export function withoutEmptyDefault(schema: Schema): Schema {
  const { default: value, ...rest } = schema
  const isEmpty =
    value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
  return isEmpty ? rest : schema
}

/**
 * Requires no map that may be null: generators for Python and Go read `"type": ["object", "null"]` as a map, and
 * accept null only where a member may be absent.
 */
export function withOptionalMaps(schema: Schema): Schema {
  const { properties, required } = schema as { properties?: Record<string, Schema>; required?: string[] }
  if (properties === undefined || required === undefined) return schema
  return { ...schema, required: required.filter((name) => !isNullableMap(properties[name])) }
}

const isNullableMap = (schema: Schema | undefined): boolean =>
  Array.isArray(schema?.['type']) && schema['type'].includes('object')
