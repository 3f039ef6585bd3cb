import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { namesTag } from '../../../src/lib/net/entity-tag.ts'

describe('If-None-Match, RFC 9110 §13.1.2', () => {
  test.each([
    { field: '"a"', names: true },
    { field: 'W/"a"', names: true },
    { field: '*', names: true },
    { field: '"b", "a"', names: true },
    { field: '"b",W/"a"', names: true },
    { field: ' , "b" ,\t"a" , ', names: true },
    { field: '"x,y", "a"', names: true },
    { field: undefined, names: false },
    { field: '', names: false },
    { field: '"b"', names: false },
    { field: '"A"', names: false },
    { field: '"aa"', names: false },
    { field: '""', names: false },
    { field: 'a', names: false },
    { field: '"a', names: false },
    { field: 'w/"a"', names: false },
    { field: '"b", *', names: false },
    { field: '"x"a""', names: false },
  ])('$field names "a": $names', ({ field, names }) => {
    expect(namesTag(field, '"a"')).toBe(names)
  })

  const tag = fc.stringMatching(/^[!#-~]{0,8}$/).map((text) => `"${text}"`)

  test('a list names exactly its members, strong or weak', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ tag, weak: fc.boolean() }), { maxLength: 5 }),
        tag,
        (listed, asked) => {
          const field = listed.map((one) => `${one.weak ? 'W/' : ''}${one.tag}`).join(', ')

          expect(namesTag(field, asked)).toBe(listed.some((one) => one.tag === asked))
        },
      ),
    )
  })
})
