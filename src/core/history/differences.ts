import { type JsonObject, stringifyJson } from '../../lib/text/json.ts'

/** A field before and after a change; an absent one has no value. */
export type Difference = { readonly from?: unknown; readonly to?: unknown }

const mostNames = 50
const longestName = 200

const isMap = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)

/** Whether two values of a field are written alike. */
export const isSame = (one: unknown, other: unknown): boolean =>
  one === other || stringifyJson(one ?? null) === stringifyJson(other ?? null)

/** A member that an object has itself. */
const memberOf = (object: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined

/** The fields that differ; of maps, their members that do. */
export function differences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Map<string, Difference> {
  const found = new Map<string, Difference>()
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [from, to] = [memberOf(before, name), memberOf(after, name)]
    if (isSame(from, to)) continue
    if (!isMap(from) || !isMap(to)) found.set(name, { from, to })
    else
      for (const member of new Set([...Object.keys(from), ...Object.keys(to)]))
        if (!isSame(memberOf(from, member), memberOf(to, member)))
          found.set(`${name}.${member}`, { from: memberOf(from, member), to: memberOf(to, member) })
  }
  return found
}

/** The names in an entry of the log, which are few and short. */
export const loggedNames = (names: Iterable<string>): string[] =>
  [...names].slice(0, mostNames).map((name) => name.slice(0, longestName))
