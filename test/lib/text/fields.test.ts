import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  boolField,
  commaListField,
  convertFields,
  durationField,
  FieldError,
  intField,
  kvField,
  lowerStringField,
  mapField,
  signedDurationField,
  sliceField,
  stringField,
  stringListField,
  timeField,
} from '../../../src/lib/text/fields.ts'
import { jsonNumber, parseLossless } from '../../../src/lib/text/json.ts'

const fieldByType = {
  bool: boolField,
  int: intField,
  string: stringField,
  lower: lowerStringField,
  'string list': stringListField,
  'comma list': commaListField,
  map: mapField,
  slice: sliceField,
  kv: kvField,
  duration: durationField,
  'signed duration': signedDurationField,
  time: timeField,
}
type FieldType = keyof typeof fieldByType

class Refused {
  readonly detail: string
  constructor(detail: string) {
    this.detail = detail
  }
}

/** The result for `{"f": <json>}`, or for `{}`. */
function convert(type: FieldType | z.ZodType, json: string | undefined): unknown {
  const schema = z.object({ f: typeof type === 'string' ? fieldByType[type] : type })
  try {
    return convertFields(schema, json === undefined ? {} : { f: parseLossless(json) }).values.f
  } catch (error) {
    if (error instanceof FieldError) return new Refused(error.detail)
    throw error
  }
}

/** What zod says about the same value, because both ways must apply the same rule. */
function parseWithZod(type: FieldType, json: string): unknown {
  const parsed = fieldByType[type].safeParse(parseLossless(json))
  return parsed.success ? parsed.data : new Refused(parsed.error.issues[0]?.message ?? '')
}

const refused = (detail: string) => new Refused(detail)
const unconvertible = (type: string, from: string, place = '') =>
  `'${place}' expected type '${type}', got unconvertible type '${from}'`
const list = '[]interface {}'
const object = 'map[string]interface {}'
const badBool = refused("'' cannot parse value as 'bool': strconv.ParseBool: invalid syntax")
const badInt = refused("'' cannot parse value as 'int': strconv.ParseInt: invalid syntax")
const intRange = refused("'' cannot parse value as 'int': strconv.ParseInt: value out of range")

/** Rows of JSON input, bool, int, string. */
const scalars: [json: string, bool: unknown, int: unknown, text: unknown][] = [
  ['null', false, 0, ''],
  ['true', true, 1, '1'],
  ['false', false, 0, '0'],
  ['""', false, 0, ''],
  ['" "', badBool, badInt, ' '],
  ['1', true, 1, '1'],
  ['"1"', true, 1, '1'],
  ['0', false, 0, '0'],
  ['"0"', false, 0, '0'],
  ['-0', badBool, 0, '-0'],
  ['2', badBool, 2, '2'],
  ['-1', badBool, -1, '-1'],
  ['1.0', badBool, badInt, '1.0'],
  ['1.5', badBool, badInt, '1.5'],
  ['1e3', badBool, badInt, '1e3'],
  ['"1.5"', badBool, badInt, '1.5'],
  ...['t', 'T', 'true', 'True', 'TRUE'].map((text): [string, unknown, unknown, unknown] => [
    `"${text}"`,
    true,
    badInt,
    text,
  ]),
  ...['f', 'F', 'false', 'False', 'FALSE'].map((text): [string, unknown, unknown, unknown] => [
    `"${text}"`,
    false,
    badInt,
    text,
  ]),
  ...['yes', 'on', 'tRuE', ' 5', '08', '_1', '1_', '1__0', '0x', '0b2', '0o8', '--5', '5 ', '٣'].map(
    (text): [string, unknown, unknown, unknown] => [`"${text}"`, badBool, badInt, text],
  ),
  ['"0x10"', badBool, 16, '0x10'],
  ['"-0X_fF"', badBool, -255, '-0X_fF'],
  ['"010"', badBool, 8, '010'],
  ['"0_7"', badBool, 7, '0_7'],
  ['"0o17"', badBool, 15, '0o17'],
  ['"0b11"', badBool, 3, '0b11'],
  ['"1_000"', badBool, 1000, '1_000'],
  ['"+5"', badBool, 5, '+5'],
  ['9007199254740991', badBool, 9007199254740991, '9007199254740991'],
  ['9223372036854775808', badBool, intRange, '9223372036854775808'],
  ['"-9223372036854775809"', badBool, intRange, '-9223372036854775809'],
  [
    '[]',
    refused(unconvertible('bool', list)),
    refused(unconvertible('int', list)),
    refused(unconvertible('string', list)),
  ],
  [
    '{}',
    refused(unconvertible('bool', object)),
    refused(unconvertible('int', object)),
    refused(unconvertible('string', object)),
  ],
]

describe.each(scalars)('as a boolean, an integer and a string, %s', (json, bool, int, text) => {
  test.each([
    ['bool', bool],
    ['int', int],
    ['string', text],
  ] as const)('as %s', (type, expected) => {
    expect(convert(type, json)).toEqual(expected)
    expect(parseWithZod(type, json)).toEqual(expected)
  })
})

test.each([
  ['"ABC d\u{c9}"', 'abc d\u{e9}'],
  ['1E3', '1e3'],
  ['null', ''],
  ['[]', refused(unconvertible('string', list))],
])('as a lower-case string, %s', (json, expected) => {
  expect(convert('lower', json)).toEqual(expected)
})

const listFailed = 'decoding failed due to the following error(s):\n\n'
const notText = (from: string, place = 0) =>
  refused(`${listFailed}${unconvertible('string', from, `[${place}]`)}`)
const notCommaText = (from: string, shown: string) =>
  refused(`1 error(s) decoding:\n\n* ${unconvertible('string', from, '[0]')}, value: '${shown}'`)
const notMap = (from: string, place = '') => refused(unconvertible(object, from, place))
const noPair = (text: string) => refused(`invalid key pair "${text}"`)
const n = jsonNumber

/** Rows of JSON input, map, slice, string list, comma list, kv pairs. */
const collections: [
  json: string,
  map: unknown,
  slice: unknown,
  list: unknown,
  comma: unknown,
  kv: unknown,
][] = [
  ['null', null, [], [], [], null],
  ['""', notMap('string'), [''], [], [], noPair('')],
  ['" "', notMap('string'), [' '], [''], [''], noPair(' ')],
  ['"a"', notMap('string'), ['a'], ['a'], ['a'], noPair('a')],
  ['"a,b"', notMap('string'), ['a,b'], ['a,b'], ['a', 'b'], noPair('a,b')],
  ['" a , b ,,"', notMap('string'), [' a , b ,,'], ['a , b ,,'], ['a', 'b', '', ''], noPair(' a , b ,,')],
  ['","', notMap('string'), [','], [','], ['', ''], noPair(',')],
  ['"1,2"', notMap('string'), ['1,2'], ['1,2'], ['1', '2'], noPair('1,2')],
  ['1', notMap('json.Number'), [n('1')], ['1'], ['1'], noPair('1')],
  ['true', notMap('bool'), [true], ['1'], ['1'], noPair('1')],
  ['[]', {}, [], [], [], {}],
  ['["a"," b "]', notMap('string', '[0]'), ['a', ' b '], ['a', 'b'], ['a', 'b'], noPair('a')],
  ['["a,b"]', notMap('string', '[0]'), ['a,b'], ['a,b'], ['a,b'], noPair('a,b')],
  [
    '[1,true,null]',
    notMap('json.Number', '[0]'),
    [n('1'), true, null],
    ['1', '1', ''],
    ['1', '1', ''],
    noPair('1'),
  ],
  ['[["a"]]', notMap('string', '[0][0]'), [['a']], notText(list), notCommaText(list, '[a]'), notText(list)],
  ['{}', {}, [], [], [], {}],
  ['{"a":"b"}', { a: 'b' }, [{ a: 'b' }], notText(object), notCommaText(object, 'map[a:b]'), { a: 'b' }],
  [
    '{"a":1,"b":true,"c":null}',
    { a: n('1'), b: true, c: null },
    [{ a: n('1'), b: true, c: null }],
    notText(object),
    notCommaText(object, 'map[a:1 b:true c:<nil>]'),
    { a: '1', b: '1', c: '' },
  ],
  [
    '{"a":["x"]}',
    { a: ['x'] },
    [{ a: ['x'] }],
    notText(object),
    notCommaText(object, 'map[a:[x]]'),
    notText(object),
  ],
  ['"a=b"', notMap('string'), ['a=b'], ['a=b'], ['a=b'], { a: 'b' }],
  ['"a=b,c=d"', notMap('string'), ['a=b,c=d'], ['a=b,c=d'], ['a=b', 'c=d'], { a: 'b,c=d' }],
  [
    '["a=b","c=d=e"]',
    notMap('string', '[0]'),
    ['a=b', 'c=d=e'],
    ['a=b', 'c=d=e'],
    ['a=b', 'c=d=e'],
    { a: 'b', c: 'd=e' },
  ],
  [
    '["a=b","c=d","a=e"]',
    notMap('string', '[0]'),
    ['a=b', 'c=d', 'a=e'],
    ['a=b', 'c=d', 'a=e'],
    ['a=b', 'c=d', 'a=e'],
    { a: 'e', c: 'd' },
  ],
  [
    '[{"a":1},{"b":2}]',
    { a: n('1'), b: n('2') },
    [{ a: n('1') }, { b: n('2') }],
    refused(
      `${listFailed}${unconvertible('string', object, '[0]')}\n${unconvertible('string', object, '[1]')}`,
    ),
    refused(
      `2 error(s) decoding:\n\n* ${unconvertible('string', object, '[0]')}, value: 'map[a:1]'\n* ${unconvertible('string', object, '[1]')}, value: 'map[b:2]'`,
    ),
    refused(
      `${listFailed}${unconvertible('string', object, '[0]')}\n${unconvertible('string', object, '[1]')}`,
    ),
  ],
]

describe.each(collections)('as a map or a list, %s', (json, map, slice, texts, comma, kv) => {
  test.each([
    ['map', map],
    ['slice', slice],
    ['string list', texts],
    ['comma list', comma],
    ['kv', kv],
  ] as const)('as %s', (type, expected) => {
    expect(convert(type, json)).toEqual(expected)
    expect(parseWithZod(type, json)).toEqual(expected)
  })
})

test.each(['map', 'kv'] as const)('a key named __proto__ is a key of a %s like any other', (type) => {
  const value = convert(type, '{"__proto__":"x"}')

  expect(Object.entries(value ?? {})).toEqual([['__proto__', 'x']])
  expect(Object.entries(parseWithZod(type, '{"__proto__":"x"}') ?? {})).toEqual([['__proto__', 'x']])
  expect(Object.entries(convert('map', '[{"__proto__":"x"}]') ?? {})).toEqual([['__proto__', 'x']])
})

test.each([
  ['"1h30m"', 5400],
  ['90', 90],
  ['""', 0],
  ['1e3', refused('time: unknown unit "e" in duration "1e3"')],
  ['"-1h"', refused("cannot provide negative value '-3600'")],
  ['true', refused('could not parse duration from input')],
])('as a duration, %s', (json, expected) => {
  expect(convert('duration', json)).toEqual(expected)
  expect(parseWithZod('duration', json)).toEqual(expected)
})

test('a signed duration may be below zero', () => {
  expect(convert('signed duration', '"-1h"')).toBe(-3600)
})

test.each([
  ['"2024-01-02T05:04:05.10+02:00"', '2024-01-02T03:04:05.1Z'],
  ['1700000000', '2023-11-14T22:13:20Z'],
  ['""', refused('could not parse string as date and time')],
  ['1.5', refused('strconv.ParseInt: parsing "1.5": invalid syntax')],
  ['[]', refused('could not parse time from input type')],
])('as a time, %s', (json, expected) => {
  expect(convert('time', json)).toEqual(expected)
  expect(parseWithZod('time', json)).toEqual(expected)
})

describe('fields that were not sent', () => {
  test.each([
    ['bool', true, false],
    ['int', 7, 0],
    ['string', 'x', ''],
    ['lower', 'x', ''],
    ['string list', ['x'], []],
    ['comma list', ['x'], []],
    ['map', { x: 'y' }, null],
    ['slice', ['x'], []],
    ['kv', { x: 'y' }, null],
  ] as const)(
    'null is the zero value of a %s and counts as sent, and an absent value is its default',
    (type, initial, zero) => {
      // the union of all types has no single default type
      const field = fieldByType[type] as z.ZodType
      const withDefault = field.default(initial)

      expect(convert(withDefault, 'null')).toEqual(zero)
      expect(convert(withDefault.describe('a field'), undefined)).toEqual(initial)
      expect(convert(field.optional(), 'null')).toEqual(zero)
      expect(convert(field.optional(), undefined)).toBeUndefined()
      expect(convert(field, undefined)).toEqual(zero)
    },
  )

  test.each([
    ['duration', 7],
    ['signed duration', -7],
    ['time', '2024-01-02T03:04:05Z'],
  ] as const)('null counts as a %s that was not sent', (type, initial) => {
    const field = fieldByType[type] as z.ZodType

    expect(convert(field.default(initial), 'null')).toBe(initial)
    expect(convert(field.describe('a field').optional(), 'null')).toBeUndefined()
    expect(convert(field.optional().default(initial), undefined)).toBe(initial)
    expect(convert(field.default(initial).optional(), undefined)).toBe(initial)
  })

  test('an optional field that was not sent is absent from the values', () => {
    const schema = z.object({
      a: stringField.optional(),
      b: durationField.optional(),
      c: stringField.optional(),
    })

    expect(Object.keys(convertFields(schema, { a: '', b: null }).values)).toEqual(['a'])
  })

  test('one text yields at most 100,000 elements', () => {
    const schema = z.object({ list: commaListField.optional() })
    const most = 100_000
    const text = (count: number) => Array.from({ length: count }, () => '1').join(',')

    expect(convertFields(schema, { list: text(most) }).values.list).toHaveLength(most)
    expect(() => convertFields(schema, { list: text(most + 1) })).toThrow(
      `error converting input for field "list": more than ${most} elements`,
    )
  })

  test('a default list is a new one each time', () => {
    const schema = z.object({ f: commaListField.default([]) })
    const first = convertFields(schema, {}).values.f
    first.push('mine')

    expect(convertFields(schema, {}).values.f).toEqual([])
  })

  test('a bare duration that was not sent is 0, a bare time an error', () => {
    expect(convert('duration', undefined)).toBe(0)
    expect(convert('time', 'null')).toEqual(refused('could not parse time from input type'))
  })
})

describe('convertFields', () => {
  const schema = z.object({ role: stringField, ttl: durationField.optional() })

  test('undeclared fields are dropped and reported in order', () => {
    const input = parseLossless('{"zeta":1,"role":"ci","__proto__":{"ttl":5},"alpha":null,"constructor":1}')

    expect(convertFields(schema, Object(input))).toEqual({
      values: { role: 'ci' },
      unknown: ['__proto__', 'alpha', 'constructor', 'zeta'],
    })
  })

  test('the error names the field and the cause', () => {
    expect(() => convertFields(schema, { role: 'ci', ttl: '1w' })).toThrow(
      expect.objectContaining({
        field: 'ttl',
        detail: 'time: unknown unit "w" in duration "1w"',
        text: 'error converting input for field "ttl": time: unknown unit "w" in duration "1w"',
      }),
    )
  })

  test('checks of a field apply, and so do fields of plain zod', () => {
    const strict = z.object({
      even: intField.refine((value) => value % 2 === 0, { error: 'must be even' }).optional(),
      kind: z.enum(['a', 'b']).default('a'),
      maybe: stringField.nullable().optional(),
    })

    expect(convertFields(strict, { even: '4', maybe: null }).values).toEqual({
      even: 4,
      kind: 'a',
      maybe: null,
    })
    expect(() => convertFields(strict, { even: 3 })).toThrow(
      'error converting input for field "even": must be even',
    )
    expect(() => convertFields(strict, { kind: 'c' })).toThrow(FieldError)
  })
})

describe('a refinement of a field', () => {
  const isEven = (value: unknown) => typeof value !== 'number' || value % 2 === 0
  const even = intField.refine(isEven, { error: 'must be even' })
  const check = { error: 'must be even' }

  test.each([
    ['below .optional()', even.optional()],
    ['below .default()', even.default(2)],
    ['below .nullable()', even.nullable()],
    ['below .nullable().optional()', even.nullable().optional()],
    ['below .describe()', even.describe('An even number').optional().describe('An even number')],
    ['on .optional()', intField.optional().refine(isEven, check)],
    ['on .default()', intField.default(2).refine(isEven, check)],
    ['on .nullable()', intField.nullable().refine(isEven, check)],
    ['on .pipe()', intField.pipe(z.int().refine(isEven, check))],
    ['as a check', intField.check(z.refine(isEven, check))],
  ])('applies to a value that was sent, %s', (_, field) => {
    expect(convert(field, '4')).toBe(4)
    expect(convert(field, '3')).toEqual(refused('must be even'))
  })

  test.each([
    ['on .optional()', intField.optional().refine((value) => value !== undefined, check)],
    ['on .default()', intField.default(3).refine(isEven, check)],
    ['on a bare field', intField.refine((value) => value > 0, check)],
  ])('applies to a value that was not sent, %s', (_, field) => {
    expect(convert(field, undefined)).toEqual(refused('must be even'))
  })

  test('does not make null a value that was sent', () => {
    const field = durationField.refine(isEven, check)

    expect(convert(field.optional(), 'null')).toBeUndefined()
    expect(convert(field.default(4), 'null')).toBe(4)
    expect(convert(durationField.default(4).refine(isEven, check), 'null')).toBe(4)
    expect(convert(durationField.optional().refine(isEven, check), 'null')).toBeUndefined()
  })

  test('of the whole object is an error, because it would be lost', () => {
    const schema = z.object({ f: intField }).refine(({ f }) => f > 0)

    expect(() => convertFields(schema, { f: 1 })).toThrow('fields cannot be refined as a whole')
  })
})

describe('every field type', () => {
  const types = Object.keys(fieldByType) as FieldType[]
  const wire = fc
    .oneof(
      fc.json({ maxDepth: 2 }),
      fc.constantFrom(
        '"1h"',
        '"7d"',
        '"a=b"',
        '"a, b"',
        '"1,2"',
        '"0x1F"',
        '["a=b"]',
        '[{"a":1}]',
        '"2024-01-02T03:04:05.5+01:00"',
        '-90',
        '1.5',
        '"t"',
      ),
      fc
        .array(fc.constantFrom(...'+-.0159dhmsux_ ,='))
        .map((characters) => JSON.stringify(characters.join(''))),
    )
    .map((json) => parseLossless(json))

  test.each(types)('%s: parsing a parsed value changes nothing, in either way', (type) => {
    const schema = z.object({ f: fieldByType[type] })
    fc.assert(
      fc.property(wire, (value) => {
        const once = fieldByType[type].safeParse(value)
        if (!once.success) {
          expect(() => convertFields(schema, { f: value })).toThrow(FieldError)
          return
        }
        expect(fieldByType[type].parse(once.data)).toEqual(once.data)
        expect(convertFields(schema, { f: once.data }).values.f).toEqual(once.data)
        expect(convertFields(schema, { f: value }).values.f).toEqual(once.data)
      }),
    )
  })

  test.each(types)('%s: has a JSON schema for both directions, with its description', (type) => {
    const schema = z.object({ f: fieldByType[type].describe('What it is') })

    for (const io of ['input', 'output'] as const) {
      const shown = z.toJSONSchema(schema, { io }).properties?.f
      expect(shown).toMatchObject({ description: 'What it is' })
      expect(shown).toSatisfy((property: object) => 'type' in property || 'anyOf' in property)
    }
  })

  test.each(types)('%s: no text is slow to parse, and no error repeats a long text', (type) => {
    for (const piece of ['1', '0', '1_', '.', 'a-', ' ', '1h', '=', '2024-']) {
      const text = `${piece.repeat(500_000)}\u{e9}`
      const parsed = fieldByType[type].safeParse(text)

      if (!parsed.success) expect(parsed.error.issues[0]?.message.length).toBeLessThan(5000)
    }
  })

  test('a duration is a number of seconds in responses, and text in requests', () => {
    expect(z.toJSONSchema(durationField, { io: 'input' })).toMatchObject({ type: 'string' })
    expect(z.toJSONSchema(durationField, { io: 'output' })).toMatchObject({ type: 'integer' })
  })

  test.each(types)('%s: reads plain JavaScript values, as defaults and stored records have them', (type) => {
    const plain: Partial<Record<FieldType, unknown>> = {
      bool: true,
      map: { a: 1 },
      kv: { a: 'b' },
      time: '2024-01-02T03:04:05Z',
    }
    const value =
      plain[type] ??
      (type.includes('list') || type === 'slice' ? [] : type === 'string' || type === 'lower' ? 'x' : 7)

    expect(fieldByType[type].parse(value)).toEqual(value)
  })
})

test('of several invalid fields, the error names the one declared first, whatever the order in the request', () => {
  const schema = z.object({ a: boolField, b: stringListField, c: timeField.optional(), d: boolField })
  const faultOf = (input: Record<string, unknown>) => {
    try {
      return convertFields(schema, input).values
    } catch (error) {
      return error instanceof FieldError ? error.field : error
    }
  }

  expect(faultOf({ d: 'x', c: 'x', b: [[]], a: 'x' })).toBe('a')
  expect(faultOf({ d: 'x', c: 'x', b: [[]], a: true })).toBe('b')
  expect(faultOf({ d: 'x', c: 'x', b: 'n' })).toBe('c')
  expect(faultOf({ d: 'x', c: null, b: 'n', z: 'x' })).toBe('d')
})
