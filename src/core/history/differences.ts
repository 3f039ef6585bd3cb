import { type JsonObject, stringifyJson } from '../../lib/text/json.ts'

/** A field before and after a change; an absent one has no value. */
export type Difference = { readonly from?: unknown; readonly to?: unknown }

const mostNames = 50
const longestName = 200

/** JSON text that is equal for equal values, whatever the order of their members. */
function comparable(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(comparable).join()}]`
  if (!isMap(value)) return stringifyJson(value ?? null)
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${comparable(member)}`).join()}}`
}

const isMap = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)

/** Whether two values of a field are equal, whatever the order of their members. */
export const isSame = (one: unknown, other: unknown): boolean =>
  one === other || comparable(one) === comparable(other)

/** The fields that differ; of maps, their members that do. */
export function differences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Map<string, Difference> {
  const found = new Map<string, Difference>()
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [from, to] = [before[name], after[name]]
    if (isSame(from, to)) continue
    if (!isMap(from) || !isMap(to)) found.set(name, { from, to })
    else
      for (const member of new Set([...Object.keys(from), ...Object.keys(to)]))
        if (!isSame(from[member], to[member]))
          found.set(`${name}.${member}`, { from: from[member], to: to[member] })
  }
  return found
}

/** The names in an entry of the log, which are few and short. */
export const loggedNames = (names: Iterable<string>): string[] =>
  [...names].slice(0, mostNames).map((name) => name.slice(0, longestName))
