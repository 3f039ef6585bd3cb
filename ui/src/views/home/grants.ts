import * as v from 'valibot'

/** What the token may do at a path, or at everything that begins so. */
export type Grant = {
  readonly id: string
  readonly path: string
  readonly isPrefix: boolean
  readonly capabilities: readonly string[]
}

const rule = v.object({ capabilities: v.optional(v.array(v.string()), []) })

type Rules = Readonly<Record<string, unknown>> | undefined

/** The rules of a token, sorted by path. */
export const grantsOf = (acl: {
  readonly exact_paths?: Rules
  readonly glob_paths?: Rules
}): readonly Grant[] =>
  [...listed(acl.exact_paths, false), ...listed(acl.glob_paths, true)].toSorted((a, b) =>
    a.path < b.path ? -1 : a.path > b.path ? 1 : 0,
  )

const listed = (rules: Rules, isPrefix: boolean): Grant[] =>
  Object.entries(rules ?? {}).flatMap(([path, value]) => {
    const { success, output } = v.safeParse(rule, value)
    return success
      ? [{ id: `${path}${isPrefix ? '*' : ''}`, path, isPrefix, capabilities: output.capabilities }]
      : []
  })
