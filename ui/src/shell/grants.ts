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

/** The rules for paths below a prefix, which ends in a slash, as they are seen from there. */
export const rulesBelow = (
  rules: Rules,
  prefix: string,
  isPrefix: boolean,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(rules ?? {}).flatMap(([path, rule]) => {
      const below = pathBelow(path.split('/'), prefix.split('/').slice(0, -1), isPrefix)
      return below === undefined ? [] : [[below, rule]]
    }),
  )

function pathBelow(
  rule: readonly string[],
  prefix: readonly string[],
  isPrefix: boolean,
): string | undefined {
  for (const [at, segment] of prefix.entries()) {
    const part = rule[at]
    if (part === undefined) return isPrefix ? '' : undefined
    if (part === '+' || part === segment) continue
    return isPrefix && at === rule.length - 1 && segment.startsWith(part) ? '' : undefined
  }
  return rule.slice(prefix.length).join('/')
}

/** Whether a rule allows to write something that may not be there yet. */
export const mayWrite = (capabilities: readonly string[]): boolean =>
  capabilities.includes('create') || capabilities.includes('update')

/** Whether some rule that allows this is for a path below this one, which ends in a slash. */
export const reachesBelow = (
  grants: readonly Grant[],
  path: string,
  allows: (capabilities: readonly string[]) => boolean = () => true,
): boolean =>
  grants.some(
    ({ path: rule, isPrefix, capabilities }) =>
      !capabilities.includes('deny') &&
      allows(capabilities) &&
      overlap(rule.split('/'), path.split('/').slice(0, -1), isPrefix),
  )

function overlap(rule: readonly string[], path: readonly string[], isPrefix: boolean): boolean {
  const last = rule.length - 1
  return path.every((segment, at) => {
    const part = rule[at]
    if (part === undefined) return isPrefix
    if (part === '+' || part === segment) return true
    return isPrefix && at === last && segment.startsWith(part)
  })
}
