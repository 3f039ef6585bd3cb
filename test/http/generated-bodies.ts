import fc from 'fast-check'

/** The parts of JSON Schema that the API document uses. */
export type Schema = {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly format?: string
}

/** Looks a `$ref` up. */
export type Resolve = (ref: string) => Schema

const word = fc.stringMatching(/^[a-z]{1,8}$/)

/** Values that a schema allows: mostly its examples if it has some, otherwise values made up from its type. */
export function valuesOf(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valuesOf(resolve(schema.$ref), resolve)
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => valuesOf(choice, resolve)))
  const made = madeOf(schema, resolve)
  const { examples = [] } = schema
  return examples.length === 0
    ? made
    : fc.oneof({ arbitrary: fc.constantFrom(...examples), weight: 9 }, { arbitrary: made, weight: 1 })
}

function madeOf(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown> {
  const { minimum = 0, maximum = 1000 } = schema
  switch (schema.type) {
    case 'string':
      return textsOf(schema)
    case 'integer':
      return fc.integer({ min: Math.max(minimum, -1000), max: Math.min(maximum, 1000) })
    case 'number':
      return fc.double({ min: minimum, max: maximum, noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'array':
      return fc.array(valuesOf(schema.items ?? { type: 'string' }, resolve), { maxLength: 3 })
    case 'object':
      return objectsOf(schema, resolve)
    default:
      return fc.oneof(word, fc.integer(), fc.boolean())
  }
}

function textsOf({ pattern, format }: Schema): fc.Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern))
  if (format === 'date-time')
    return fc.date({ noInvalidDate: true, min: new Date(0) }).map((date) => date.toISOString())
  return word
}

function objectsOf(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties = false } = schema
  const members = fc.record(
    Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, valuesOf(one, resolve)])),
    { requiredKeys: [...required] },
  )
  if (additionalProperties === false || Object.keys(properties).length > 0) return members
  const others = additionalProperties === true ? { type: 'string' } : additionalProperties
  return fc.dictionary(word, valuesOf(others, resolve), { maxKeys: 3 })
}
