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

export type Generation = {
  /** Looks a `$ref` up. */
  resolve(ref: string): Schema
  /** Values that the server has shown and that a field of this name may refer to. */
  known(field: string): readonly unknown[]
}

const word = fc.stringMatching(/^[a-z]{1,8}$/)

/** Values that a schema allows: mostly its examples if it has some, otherwise values made up from its type. */
export function valuesOf(schema: Schema, generation: Generation): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valuesOf(generation.resolve(schema.$ref), generation)
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => valuesOf(choice, generation)))
  const made = madeOf(schema, generation)
  const { examples = [] } = schema
  return examples.length === 0 || schema.properties !== undefined
    ? made
    : fc.oneof({ arbitrary: fc.constantFrom(...examples), weight: 9 }, { arbitrary: made, weight: 1 })
}

function madeOf(schema: Schema, generation: Generation): fc.Arbitrary<unknown> {
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
      return fc.array(valuesOf(schema.items ?? { type: 'string' }, generation), { maxLength: 3 })
    case 'object':
      return objectsOf(schema, generation)
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

/** Mostly an example or the required members, and at most one other: more of them often contradict each other. */
function objectsOf(schema: Schema, generation: Generation): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties = false } = schema
  const names = Object.keys(properties)
  if (names.length > 0) {
    const members = Object.fromEntries(
      Object.entries(properties).map(([name, one]) => [name, memberOf(name, one, generation)]),
    )
    const whole = fc.record(members, { requiredKeys: [...required] })
    const { examples = [] } = schema
    const inExamples = new Set(examples.flatMap((one) => Object.keys(one as object)))
    const base = fc.constantFrom(...(examples.length > 0 ? examples : [{}]))
    const few = fc.subarray(names, { maxLength: 1 }).chain((chosen) => {
      const refersTo = names.filter((name) => generation.known(name).length > 0 && inExamples.has(name))
      const sent = new Set([...required.filter((name) => !inExamples.has(name)), ...chosen, ...refersTo])
      return fc.record(Object.fromEntries(Object.entries(members).filter(([name]) => sent.has(name))))
    })
    const usual = fc.tuple(base, few).map(([one, more]) => ({ ...(one as object), ...more }))
    return fc.oneof({ arbitrary: usual, weight: 9 }, { arbitrary: whole, weight: 1 })
  }
  if (additionalProperties === false) return fc.constant({})
  const others = additionalProperties === true ? { type: 'string' } : additionalProperties
  return fc.dictionary(word, valuesOf(others, generation), { maxKeys: 3 })
}

/** Refers mostly to something that exists, as a list if the field is one. */
function memberOf(name: string, schema: Schema, generation: Generation): fc.Arbitrary<unknown> {
  const made = valuesOf(schema, generation)
  const known = generation.known(name)
  if (known.length === 0) return made
  const one = fc.constantFrom(...known)
  const shown = schema.type === 'array' ? fc.array(one, { minLength: 1, maxLength: 2 }) : one
  return fc.oneof({ arbitrary: shown, weight: 9 }, { arbitrary: made, weight: 1 })
}
