import fc from 'fast-check'
import { expect, test } from 'vitest'
import { denyGrants, type Grants } from '../../src/core/policies/grants.ts'
import { parametersAllow } from '../../src/core/policies/parameters.ts'
import type { FieldReading } from '../../src/lib/text/fields.ts'
import { rounds } from '../support/rounds.ts'

// Few words, so that entries meet elements all the time. Entries have no commas: a whole text that equals one is allowed.
const word = fc.constantFrom('a', 'b', 'ab', 'ba', 'c')
const entry = fc.oneof(
  word,
  word.map((text) => `${text}*`),
  word.map((text) => `*${text}`),
)
const element = fc.oneof(
  word,
  word.map((text) => ` ${text}`),
  fc.constant(''),
)
const value = fc.oneof(
  element,
  fc.array(element, { maxLength: 4 }),
  fc.array(element, { minLength: 2, maxLength: 4 }).map((pieces) => pieces.join(',')),
)
const reading = fc.constantFrom<FieldReading | undefined>('comma list', 'list', undefined)
const field = fc.constantFrom('names', 'policies', 'token_policies')

const granting = (rules: Partial<Grants>): Grants => ({ ...denyGrants, isDeny: false, ...rules })

/** The elements that the path reads. */
function elementsOf(sent: string | string[], read: FieldReading | undefined): string[] {
  const pieces = Array.isArray(sent) ? sent : read === 'list' ? [sent] : sent.split(',')
  return pieces.map((piece) => piece.trim()).filter((piece) => Array.isArray(sent) || piece !== '')
}

test('nothing that is allowed has an element that a comparison as a whole would refuse alone', () => {
  let allowed = 0

  fc.assert(
    fc.property(
      fc.array(entry, { minLength: 1, maxLength: 3 }),
      fc.array(entry, { maxLength: 2 }),
      value,
      reading,
      field,
      (allows, denies, sent, read, name) => {
        const grants = granting({
          allowedParameters: new Map([[name, allows]]),
          deniedParameters: denies.length === 0 ? undefined : new Map([[name, denies]]),
        })
        if (!parametersAllow(grants, { [name]: sent }, { readings: () => read })) return
        allowed++
        for (const one of elementsOf(sent, read))
          expect(parametersAllow(grants, { [name]: one }, { wholly: true })).toBe(true)
      },
    ),
    { numRuns: 3000 * rounds },
  )

  expect(allowed).toBeGreaterThan(0)
})
