import * as v from 'valibot'

const program = v.object({
  variables: v.optional(v.array(v.object({ name: v.string(), expression: v.string() })), []),
  expression: v.optional(v.string(), ''),
})

/** The program of a CEL role. */
export type Program = v.InferOutput<typeof program>

const empty: Program = { variables: [], expression: '' }

/** A program as it is stored: also as the text of its JSON. */
export function programOf(stored: unknown): Program {
  const value: unknown = typeof stored === 'string' && stored !== '' ? JSON.parse(stored) : stored
  const found = v.safeParse(program, value)
  return found.success ? found.output : empty
}
