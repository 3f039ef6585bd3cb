import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../src/errors.ts'
import { queryFields, readFields, readPatchFields } from '../../src/http/exchange/body.ts'
import { type JsonLimits, jsonNumber } from '../../src/lib/text/json.ts'

const limits: JsonLimits = { maxStrings: 1000, maxMemory: 33_554_432 + 524_288, maxDepth: 10_000 }
const form = 'application/x-www-form-urlencoded'
const mergePatch = 'application/merge-patch+json'

const read = (body: string | Uint8Array, contentType?: string) =>
  readFields(Buffer.from(body), contentType, limits)

const refusal = (text: string, kind = 'invalid') =>
  expect.objectContaining({ name: 'ServiceError', kind, message: text, wrapped: false })
const notAnObject = (type: string) =>
  refusal(
    `failed to parse JSON input: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`,
  )

describe('bodies', () => {
  test('an empty body has no fields', () => {
    expect(readFields(undefined, undefined, limits)).toEqual({})
    expect(readFields(undefined, form, limits)).toEqual({})
  })

  test.each(['', ' \r\n\t ', 'null', ' null '])('the body %j has no fields', (body) => {
    expect(read(body)).toEqual({})
    expect(read(body.trim() === '' ? body : '', form)).toEqual({})
  })

  test.each([undefined, '', 'application/json', 'text/plain', form, `${form}; charset=utf-8`, mergePatch])(
    'an object is read as JSON with the type %j',
    (contentType) => {
      expect(read(' {"a":"b","n":1e3}', contentType)).toEqual({ a: 'b', n: jsonNumber('1e3') })
    },
  )

  test('names are case-sensitive, and the last value of a repeated one counts', () => {
    expect(read('{"a":"1","A":"2","a":"3"}')).toEqual({ a: '3', A: '2' })
  })

  test('fields have no prototype', () => {
    for (const fields of [read('{}'), read(''), read('a=b', form), queryFields('')])
      expect(Object.getPrototypeOf(fields)).toBeNull()
  })

  test.each([
    ['[]', 'array'],
    ['[{"a":1}]', 'array'],
    ['"a"', 'string'],
    ['1', 'number'],
    ['-1.5e3', 'number'],
    ['true', 'bool'],
    ['false', 'bool'],
  ])('%s is refused because it is not an object', (body, type) => {
    expect(() => read(body)).toThrow(notAnObject(type))
  })

  test.each([
    ['{', 'unexpected EOF'],
    ['{"a":', 'unexpected EOF'],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['abc', "invalid character 'a' looking for beginning of value"],
    ['\u{feff}{}', "invalid character 'ï' looking for beginning of value"],
    ['{} x', "invalid character 'x' looking for beginning of value"],
    ['a=b', "invalid character 'a' looking for beginning of value"],
    [`{"a":${'['.repeat(10_000)}`, 'exceeded max depth'],
  ])('$0 is refused: $1', (body, detail) => {
    expect(() => read(body)).toThrow(refusal(`failed to parse JSON input: ${detail}`))
  })

  test('a second well-formed value is ignored', () => {
    expect(read('{"a":"b"} {"c":"d"}')).toEqual({ a: 'b' })
  })

  test('more than 1,000 strings are too complex', () => {
    expect(() => read(JSON.stringify({ a: Array.from({ length: 1000 }, () => '') }))).toThrow(
      refusal('refused JSON input due to high complexity: exceeded maximum number of strings'),
    )
  })

  test('an estimated size above the limit is too complex', () => {
    expect(() => read(`{"a":[${'0,'.repeat(700_000)}0]}`)).toThrow(
      refusal('refused JSON input due to high complexity: exceeded maximum estimated memory limits'),
    )
  })
})

describe('forms', () => {
  test.each([
    ['a=b', { a: 'b' }],
    ['a=b&c=', { a: 'b', c: '' }],
    ['a', { a: '' }],
    ['&&a=b&', { a: 'b' }],
    ['a=1&b=x&a=2&a=3', { a: '1,2,3', b: 'x' }],
    ['a=x+y%20z%2B&%C3%A9=%26', { a: 'x y z+', '\u{e9}': '&' }],
    ['a=b=c', { a: 'b=c' }],
    ['=v', { '': 'v' }],
    ['%ff=%ff', { '\u{fffd}': '\u{fffd}' }],
    ['null', { null: '' }],
  ])('%s', (body, fields) => {
    expect(read(body, form)).toEqual(fields)
  })

  test.each([form, 'Application/X-WWW-Form-URLEncoded', `${form};charset=utf-8`, ` ${form} ; a=b`])(
    'are recognised by the type %s',
    (contentType) => {
      expect(read('a=b', contentType)).toEqual({ a: 'b' })
    },
  )

  test.each([undefined, 'text/plain', `${form}x`, 'multipart/form-data'])(
    'are not read as JSON with the type %s',
    (contentType) => {
      expect(() => read('a=b', contentType)).toThrow(
        refusal("failed to parse JSON input: invalid character 'a' looking for beginning of value"),
      )
    },
  )

  test('that begin with [ are JSON, and are refused because they are not objects', () => {
    expect(() => read('[]', form)).toThrow(notAnObject('array'))
    expect(() => read(' [=1', form)).toThrow(
      refusal("failed to parse JSON input: invalid character '=' looking for beginning of value"),
    )
  })

  test.each(['a=%zz', 'a=%', 'a=%4', 'a=b;c=d', ';', 'ok=1&%g0=1'])('%s cannot be parsed', (body) => {
    expect(() => read(body, form)).toThrow(refusal('error parsing form data'))
  })

  test('have the same limit on strings as JSON', () => {
    expect(() => read('a&'.repeat(500), form)).not.toThrow()
    expect(() => read('a&'.repeat(501), form)).toThrow(ServiceError)
  })

  test('have a field __proto__ like any other', () => {
    expect(Object.keys(read('__proto__=x&__proto__=y', form))).toEqual(['__proto__'])
  })
})

describe('PATCH', () => {
  test.each([mergePatch, `${mergePatch}; charset=utf-8`, 'Application/Merge-Patch+JSON'])(
    'reads an object of type %s',
    (contentType) => {
      expect(readPatchFields(Buffer.from('{"a":null}'), contentType, limits)).toEqual({ a: null })
      expect(readPatchFields(undefined, contentType, limits)).toEqual({})
      expect(readPatchFields(Buffer.from(' '), contentType, limits)).toEqual({})
    },
  )

  test.each([undefined, '', ' '])('is refused without a media type (%j)', (contentType) => {
    expect(() => readPatchFields(Buffer.from('{}'), contentType, limits)).toThrow(
      refusal('mime: no media type'),
    )
  })

  test.each([
    ['application/json', 'application/json'],
    [`${form}; charset=utf-8`, form],
  ])('is refused with type %s', (contentType, shown) => {
    expect(() => readPatchFields(Buffer.from('{}'), contentType, limits)).toThrow(
      refusal(`PATCH requires Content-Type of ${mergePatch}, provided ${shown}`, 'unsupported-media'),
    )
  })

  test('is refused with a body that is not an object', () => {
    expect(() => readPatchFields(Buffer.from('[]'), mergePatch, limits)).toThrow(notAnObject('array'))
  })
})

describe('the query of a URL', () => {
  test.each([
    ['', {}],
    ['a=b', { a: 'b' }],
    ['a=1&b=2&a=3&a=4', { a: ['1', '3', '4'], b: '2' }],
    ['list=true&help=1&List=x', { list: 'true', List: 'x' }],
    ['a=x+y%20z%2B', { a: 'x y z+' }],
    ['a&b=', { a: '', b: '' }],
    ['a=1&b=%zz&c=2;d=3&e=4', { a: '1', e: '4' }],
    ['%zz=1&a%', {}],
    ['a=b=c&&=v', { a: 'b=c', '': 'v' }],
    ['a=%C3%A9%ff', { a: '\u{e9}\u{fffd}' }],
    ['a=1?b=2', { a: '1?b=2' }],
  ])('%s', (search, fields) => {
    expect(queryFields(search)).toEqual(fields)
  })

  test('has a field __proto__ like any other', () => {
    const fields = queryFields('__proto__=x&__proto__=y&constructor=z')

    expect(Object.entries(fields)).toEqual([
      ['__proto__', ['x', 'y']],
      ['constructor', 'z'],
    ])
  })
})

test('every body is read or refused, whatever type it claims', () => {
  const characters = fc.constantFrom(...'{}[]":,a1-%&=;+ \\', '\u{e9}', 'null', '%zz', '%41')
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.array(characters, { maxLength: 20 }).map((parts) => Buffer.from(parts.join(''))),
  )
  fc.assert(
    fc.property(bytes, fc.constantFrom(undefined, form, mergePatch), (body, contentType) => {
      try {
        expect(Object.getPrototypeOf(readFields(body, contentType, limits))).toBeNull()
      } catch (error) {
        expect(error).toBeInstanceOf(ServiceError)
      }
      queryFields(Buffer.from(body).toString('latin1'))
    }),
    { numRuns: 2000 },
  )
})
