import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'

/**
 * Applies a merge patch to a copy of a document: null removes a member, and objects are merged recursively.
 * RFC 7396 §2.
 */
export function mergePatched(document: JsonObject, patch: JsonObject): JsonObject {
  const result = copyOf(document)
  const work = [{ target: result, patch }]
  for (let step = work.pop(); step !== undefined; step = work.pop()) {
    const { target } = step
    for (const [key, value] of Object.entries(step.patch)) {
      if (value === null) delete target[key]
      else if (!isJsonObject(value)) target[key] = value
      else {
        const inner = copyOf(target[key])
        target[key] = inner
        work.push({ target: inner, patch: value })
      }
    }
  }
  return result
}

/** A copy without a prototype, so any name is safe. The copy of anything but an object is empty. */
const copyOf = (value: JsonValue | undefined): JsonObject =>
  Object.assign(Object.create(null), isJsonObject(value) ? value : {})
