declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (name: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown
  }
}

/** Members are own data properties, even `__proto__`: check with `Object.hasOwn` before a lookup. */
export type StrictObject = { [name: string]: unknown }

/** An own member; undefined if there is none. */
export const ownMember = (object: StrictObject | undefined, name: string): unknown =>
  object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined

const maxDepth = 128
/**
 * Anyone may send a JWT, and each value costs time before the signature is checked. The limit leaves room for
 * the most groups of a person, 20,000.
 */
const maxValues = 30_000
/** A member costs several times as much as an element of a list, and nobody has so many claims. */
const maxMembers = 5_000
const needsCare = /\d{16}|\\u[dD][89a-fA-F]/

/**
 * Parses a JSON object; null for the text `null`; undefined for anything else, for a duplicate member name in
 * any object, for nesting deeper than 128, for more than 30,000 values or 5,000 members, and for a number beyond a
 * double. Integers beyond 2^53 become bigints, and such fractions their integer part, so that two different numbers never compare equal. Lone surrogates become U+FFFD, as they would
 * on their way to storage. Time and memory grow linearly with the text.
 */
export function parseStrictObject(text: string): StrictObject | null | undefined {
  const colons = countColons(text)
  if (colons === undefined) return undefined
  try {
    const value = parsed(text)
    if (value === null) return null
    // each member has one colon, so a duplicate name leaves fewer members than colons
    return isPlainObject(value) && countMembers(value) === colons ? fromText(value, text) : undefined
  } catch {
    return undefined
  }
}

/** The same object for a text that `parseStrictObject` has accepted, without its checks. */
export function parseAgain(text: string): StrictObject {
  const value = parsed(text)
  return isPlainObject(value) ? fromText(value, text) : {}
}

/** The JSON text of an object, and its tokens once they are needed. */
export type SourceText = { readonly text: string; tokens?: readonly string[] }

const sources = new WeakMap<object, SourceText>()

/** Notes the text for members that are lists or objects, which do not keep the order of all names or all digits. */
function fromText(parsed: StrictObject, text: string): StrictObject {
  const source: SourceText = { text }
  for (const value of Object.values(parsed))
    if (typeof value === 'object' && value !== null) sources.set(value, source)
  return parsed
}

/** The text of the object that was parsed with this list or object as a member. */
export const sourceAround = (member: object): SourceText | undefined => sources.get(member)

const parsed = (text: string): unknown =>
  needsCare.test(text) ? JSON.parse(text, carefully) : JSON.parse(text)

export const isPlainObject = (value: unknown): value is StrictObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function carefully(_name: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'number' || Number.isSafeInteger(value) || context.source === undefined) return value
  const [, whole, fraction] = /^(-?\d{1,309})(\.\d+)?$/.exec(context.source) ?? []
  // digits after the point exceed a number's precision
  return whole !== undefined && (fraction === undefined || Math.abs(value) > Number.MAX_SAFE_INTEGER)
    ? BigInt(whole)
    : value
}

/**
 * Counts colons outside strings; undefined if there are too many of them, or of values, or the nesting is too deep. The text
 * need not be JSON.
 */
function countColons(text: string): number | undefined {
  let colons = 0
  let depth = 0
  // each container, and each value after a comma
  let values = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfString(text, at)
        break
      case 0x3a:
        if (++colons > maxMembers) return undefined
        break
      case 0x7b:
      case 0x5b:
        if (++depth > maxDepth || ++values > maxValues) return undefined
        break
      case 0x2c:
        if (++values > maxValues) return undefined
        break
      case 0x7d:
      case 0x5d:
        depth--
        break
    }
  }
  return colons
}

/** The end of the string that begins at `at`: the next quote without a backslash before it. */
function endOfString(text: string, at: number): number {
  for (let next = at + 1; next < text.length; next++) {
    const code = text.charCodeAt(next)
    if (code === 0x5c) next++
    else if (code === 0x22) return next
  }
  return text.length
}

const isInfinite = (value: unknown): boolean =>
  (typeof value === 'number' || typeof value === 'bigint') && !Number.isFinite(Number(value))

/** The number of members of all objects in the value; undefined if a number in it is beyond a double. */
function countMembers(value: StrictObject): number | undefined {
  let members = 0
  const waiting: object[] = [value]
  for (let container = waiting.pop(); container !== undefined; container = waiting.pop()) {
    const values: unknown[] = Array.isArray(container) ? container : Object.values(container)
    if (values !== container) members += values.length
    for (const item of values) {
      if (typeof item === 'object' && item !== null) waiting.push(item)
      else if (isInfinite(item)) return undefined
    }
  }
  return members
}
