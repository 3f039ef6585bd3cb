import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  isJsonNumber,
  type JsonLimits,
  JsonSyntaxError,
  type JsonValue,
  jsonNumber,
  numberText,
  parseJson,
  parseLossless,
  stringifyJson,
} from '../../../src/lib/text/json.ts'
import { rounds } from '../../support/rounds.ts'

const contractLimits: JsonLimits = { maxStrings: 1000, maxMemory: 33_554_432 + 524_288, maxDepth: 10_000 }
const noLimits: JsonLimits = { maxStrings: 0, maxMemory: 0, maxDepth: 0 }

const parse = (text: string, limits = noLimits) => parseJson(Buffer.from(text), limits)

function failure(act: () => unknown): JsonSyntaxError {
  try {
    act()
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

function nested(value: JsonValue): number {
  let depth = 0
  for (
    let inner: unknown = value;
    typeof inner === 'object' && inner !== null && !isJsonNumber(inner);
    depth++
  )
    inner = Object.values(inner)[0]
  return depth
}

describe('numbers keep the text they were written with', () => {
  test.each([
    '0',
    '-0',
    '1e3',
    '1E308',
    '1e-400',
    '1.0',
    '1.50',
    '-1.5e-7',
    '12345678901234567890',
    '0.1e+5',
  ])('%s', (text) => {
    const value = parse(`{"n":${text}}`)

    expect(JSON.stringify(value)).toBe(`{"n":${text}}`)
    expect(numberText(jsonNumber(text))).toBe(text)
  })

  test.each(['1e400', '-1E309', `1${'0'.repeat(309)}`])(
    '%s is beyond a double, which only our own records may be',
    (text) => {
      const { message, tooComplex } = failure(() => parse(`{"n":[${text}]}`))

      expect(message).toBe(`json: cannot unmarshal number ${text.slice(0, 32)} into Go value of type float64`)
      expect(tooComplex).toBe(false)
      expect(JSON.stringify(parseLossless(`{"n":[${text}]}`))).toBe(`{"n":[${text}]}`)
    },
  )

  test.each(['', '01', '1.', '.5', '+1', '0x1', 'NaN', ' 1', '1 '])('%j is not a number', (text) => {
    expect(() => jsonNumber(text)).toThrow(JsonSyntaxError)
  })
})

test.each([
  ['{', 'unexpected EOF'],
  ['{"a":', 'unexpected EOF'],
  ['', 'unexpected EOF'],
  ['{"a', 'unexpected EOF'],
  ['"\\', 'unexpected EOF'],
  ['[1', 'unexpected EOF'],
  ['tru', 'unexpected EOF'],
  ['-', 'unexpected EOF'],
  ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['abc', "invalid character 'a' looking for beginning of value"],
  ["'a'", "invalid character '\\'' looking for beginning of value"],
  ['\u{feff}{}', "invalid character 'ï' looking for beginning of value"],
  ['[1,]', "invalid character ']' looking for beginning of value"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b":2}', "invalid character '\"' after object key:value pair"],
  ['[1 2]', "invalid character '2' after array element"],
  ['[01]', "invalid character '1' after array element"],
  ['nulL', "invalid character 'L' in literal null (expecting 'l')"],
  ['"\n"', "invalid character '\\x0a' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
  ['-a', "invalid character 'a' in numeric literal"],
  ['1.a', "invalid character 'a' after decimal point in numeric literal"],
  ['1ea', "invalid character 'a' in exponent of numeric literal"],
  ['{} x', "invalid character 'x' looking for beginning of value"],
  ['{}}', "invalid character '}' looking for beginning of value"],
  ['{} {', 'unexpected EOF'],
])('%j is refused: %s', (text, message) => {
  const error = failure(() => parse(text))

  expect(error.message).toBe(message)
  expect(error.tooComplex).toBe(false)
})

test('a second well-formed value is ignored', () => {
  expect(parse('{"a":"b"} [1] "x"')).toEqual({ a: 'b' })
})

test('a stored record is exactly one value', () => {
  expect(parseLossless(' {"a":[true,null]} ')).toEqual({ a: [true, null] })
  expect(failure(() => parseLossless('{}{}')).message).toBe("invalid character '{' after top-level value")
})

test('the last value of a duplicate key counts', () => {
  expect(parse('{"a":"1","b":"2","a":"3"}')).toEqual({ a: '3', b: '2' })
})

test.each(['__proto__', 'constructor', 'hasOwnProperty', 'toString'])('%s is a key like any other', (key) => {
  const value = parse(`{"${key}":{"polluted":true}}`)

  expect(Object.keys(value ?? {})).toEqual([key])
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
  expect(JSON.stringify(value)).toBe(`{"${key}":{"polluted":true}}`)
})

test('an object has no property that was not sent', () => {
  expect(Reflect.get(parse('{}') as object, 'constructor')).toBeUndefined()
})

test('invalid UTF-8 and lone surrogates become U+FFFD', () => {
  expect(parseJson(Buffer.from([0x22, 0xff, 0x61, 0x22]), noLimits)).toBe('\u{fffd}a')
  expect(parse('"\\ud83d\\ude00 \\ud83d"')).toBe('\u{1f600} \u{fffd}')
})

describe('limits', () => {
  const strings = (count: number) => JSON.stringify({ a: Array.from({ length: count - 1 }, () => 'x') })

  test('1,000 strings, keys and values together, are accepted, and one more is too complex', () => {
    const error = failure(() => parse(strings(1001), contractLimits))

    expect(() => parse(strings(1000), contractLimits)).not.toThrow()
    expect([error.message, error.tooComplex]).toEqual(['exceeded maximum number of strings', true])
  })

  test('the estimate is 48 bytes a key or value and the bytes of its text', () => {
    const text = '{"ab":["c",12,true]}'
    const size = 6 * 48 + 2 + 1 + 2

    expect(() => parse(text, { ...noLimits, maxMemory: size })).not.toThrow()
    expect(failure(() => parse(text, { ...noLimits, maxMemory: size - 1 })).message).toBe(
      'exceeded maximum estimated memory limits',
    )
  })

  test('10,000 levels are accepted, and one more exceeds the depth', () => {
    const lists = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

    expect(nested(parse(lists(10_000), contractLimits))).toBe(10_000)
    expect(failure(() => parse(lists(10_001), contractLimits)).message).toBe('exceeded max depth')
    expect(failure(() => parse('{"a":'.repeat(10_001), { ...noLimits, maxDepth: 10_000 })).message).toBe(
      'exceeded max depth',
    )
  })

  test('0 switches a limit off', () => {
    expect(nested(parse('{"a":'.repeat(200_000) + '1' + '}'.repeat(200_000)))).toBe(200_000)
    expect(() => parse(strings(20_000))).not.toThrow()
  })

  const most = 32 * 1024 * 1024
  /** Whatever takes more than linear time would not end with a quarter of it either. */
  const bytes = Math.min(most, (most / 4) * rounds)

  test.each([
    ['one text', `{"a":"${'x'.repeat(most - 8)}"}`, true],
    ['blanks', `{${' '.repeat(bytes - 2)}}`, true],
    ['digits', `[${'1'.repeat(bytes - 2)}]`, false],
    ['numbers', `[${'1,'.repeat(bytes / 2 - 2)}1]`, false],
    ['open lists', '['.repeat(bytes), false],
    ['escapes', `"${'\\"'.repeat(bytes / 2 - 2)}"`, true],
    ['keys', `{${'"":0,'.repeat(1024 * 1024 + bytes / 8)}"":0}`, false],
  ])('as many MiB of %s as a body may have end', (_, text, isRead) => {
    const act = () => parse(text, contractLimits)

    if (isRead) expect(act).not.toThrow()
    else expect(act).toThrow(JsonSyntaxError)
  })
})

test('what was parsed can be serialised, however deep', () => {
  const text = `${'{"a":[1e3,"x",'.repeat(50_000)}null${',true],"b":-0}'.repeat(50_000)}`

  expect(stringifyJson(parse(text))).toBe(text)
})

describe('for every input', () => {
  test('JSON.stringify of any JSON reads back the same', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), (text) => {
        expect(JSON.parse(JSON.stringify(parseLossless(text)))).toEqual(JSON.parse(text.toWellFormed()))
      }),
    )
  })

  test('writing what was read and reading it again changes nothing', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const once = stringifyJson(parseLossless(text))
        expect(stringifyJson(parseLossless(once))).toBe(once)
      }),
    )
  })

  test('bytes are either read or refused', () => {
    const tokens = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '1',
      '-',
      '.',
      'e',
      'true',
      'null',
      '\\',
      '\\u00',
      ' ',
      'x',
      '\u{e9}',
    )
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      fc.array(tokens, { maxLength: 24 }).map((parts) => Buffer.from(parts.join(''))),
    )
    fc.assert(
      fc.property(noise, (bytes) => {
        try {
          parseJson(bytes, contractLimits)
        } catch (error) {
          expect(error).toBeInstanceOf(JsonSyntaxError)
        }
      }),
      { numRuns: 500 * rounds },
    )
  })

  test('what JSON.parse reads as one value is read, what it refuses has several values or is refused', () => {
    const tokens = fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', '10', '-1.5e3', 'true', 'null', ' ')
    fc.assert(
      fc.property(
        fc.array(tokens, { maxLength: 10 }).map((parts) => parts.join('')),
        (text) => {
          let native: unknown
          try {
            native = JSON.parse(text)
          } catch {
            expect(() => parseLossless(text)).toThrow(JsonSyntaxError)
            return
          }
          expect(JSON.parse(stringifyJson(parseLossless(text)))).toEqual(native)
        },
      ),
      { numRuns: 750 * rounds },
    )
  })
})

test.each([
  { name: 'a million values', text: `[${'1,'.repeat(1e6)}1]`, refused: true },
  { name: 'a text of a million commas', text: `{"a":"${',:'.repeat(1e6)}"}`, refused: false },
  {
    name: 'a text with escaped quotes before them',
    text: `{"a":"\\\\\\"${',:'.repeat(1e6)}"}`,
    refused: false,
  },
])('only the part of a long document outside of strings is counted: $name', ({ text, refused }) => {
  const parse = () =>
    parseJson(Buffer.from(text), { maxStrings: 1000, maxMemory: 32 * 1024 * 1024, maxDepth: 10_000 })

  if (refused) expect(parse).toThrow('exceeded maximum estimated memory limits')
  else expect(parse()).toEqual(JSON.parse(text))
})
