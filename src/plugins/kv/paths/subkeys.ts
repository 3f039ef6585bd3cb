import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts'

/**
 * The keys of an object, without its values: null stands for every value, list and empty object, and for
 * objects below `depth` levels; 0 is no limit. docs/contract/kv.md#data
 */
export function subkeysOf(data: JsonValue, depth: number): JsonObject | null {
  if (!isJsonObject(data)) return null
  const levels = depth === 0 ? Number.POSITIVE_INFINITY : Math.max(1, depth)
  const top: JsonObject = Object.create(null)
  const work = [{ from: data, to: top, level: 1 }]
  for (let step = work.pop(); step !== undefined; step = work.pop()) {
    const { from, to, level } = step
    for (const [key, value] of Object.entries(from)) {
      to[key] = null
      if (level >= levels || !isJsonObject(value) || Object.keys(value).length === 0) continue
      const inner: JsonObject = Object.create(null)
      to[key] = inner
      work.push({ from: value, to: inner, level: level + 1 })
    }
  }
  return top
}
