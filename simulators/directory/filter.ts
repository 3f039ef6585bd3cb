import { ApiError } from './api-error.ts'

/** The filterable properties of a listed object; a collection has several values. */
type Properties = Readonly<Record<string, string | readonly string[]>>
type Test = (thing: Properties) => boolean

const text = "'((?:[^']|'')*)'"
const shapes: { pattern: RegExp; test(match: readonly string[]): Test }[] = [
  {
    pattern: new RegExp(`^(\\w+) eq ${text}`),
    test: ([, name = '', value = '']) => one(name, (seen) => seen === value),
  },
  {
    pattern: new RegExp(`^startswith\\((\\w+), ?${text}\\)`, 'i'),
    test: ([, name = '', value = '']) => one(name, (seen) => seen.startsWith(value)),
  },
  {
    pattern: new RegExp(`^(\\w+)/any\\((\\w+): ?\\2 eq ${text}\\)`),
    test: ([, name = '', , value = '']) => some(name, (seen) => seen === value),
  },
  {
    pattern: new RegExp(`^(\\w+)/any\\((\\w+): ?startswith\\(\\2, ?${text}\\)\\)`, 'i'),
    test: ([, name = '', , value = '']) => some(name, (seen) => seen.startsWith(value)),
  },
]

/**
 * Parses a `$filter`: `name eq 'x'`, `startswith(name,'x')`, `tags/any(t:t eq 'x')`,
 * `tags/any(t:startswith(t,'x'))`, or several of them with `and`. Quotes inside a text are doubled;
 * case-insensitive. Throws the real service's error for anything else.
 */
export function readFilter(filter: string, names: readonly string[], code = 'BadRequest'): Test {
  const tests: Test[] = []
  let rest = filter.trim()
  while (true) {
    const { match, test } = firstShape(rest)
    if (match === undefined || test === undefined || !names.includes(match[1] ?? ''))
      throw new ApiError(400, code, `Invalid filter clause: ${filter}`)
    tests.push(test(match.map((part) => part.replaceAll("''", "'").toLowerCase())))
    rest = rest.slice(match[0]?.length)
    if (rest === '') break
    const joined = /^ and (?=\S)/.exec(rest)
    if (joined === null) throw new ApiError(400, code, `Invalid filter clause: ${filter}`)
    rest = rest.slice(joined[0].length)
  }
  return (thing) => tests.every((test) => test(thing))
}

function firstShape(text: string): { match?: readonly string[]; test?: (match: readonly string[]) => Test } {
  for (const { pattern, test } of shapes) {
    const match = pattern.exec(text)
    if (match !== null) return { match: [...match], test }
  }
  return {}
}

const one =
  (name: string, holds: (value: string) => boolean): Test =>
  (thing) => {
    const value = propertyOf(thing, name)
    return typeof value === 'string' && holds(value.toLowerCase())
  }

const some =
  (name: string, holds: (value: string) => boolean): Test =>
  (thing) => {
    const value = propertyOf(thing, name)
    return Array.isArray(value) && value.some((item: string) => holds(item.toLowerCase()))
  }

const propertyOf = (thing: Properties, name: string) =>
  Object.entries(thing).find(([key]) => key.toLowerCase() === name)?.[1]
