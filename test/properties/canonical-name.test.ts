import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalName } from '../../src/core/identity/canonical-name.ts'
import { anyCharacter } from '../support/any-character.ts'
import { rounds } from '../support/rounds.ts'

/**
 * Letters whose case or normal form is hard: several small forms, forms of more than one letter, ligatures,
 * marks in any order, other widths.
 */
const hard = fc.constantFrom(
  ...('aAzZiIßẞſsSσςΣﬁﬂﬀŉǰΐʼnK\u212aÅ\u212bé\u0301\u0327\u0323\u0307ＡａＲｏｔⅣ①½²ªºﷺ가\u1100\u1161\u{1e9e}\u{10400}\u{10428}\u{1d400}ᾳͅᾼΰᏰᏸ\u200b\u200d\u00ad\u2060\ufe0f'.match(
    /./gsu,
  ) ?? []),
)
const space = fc.constantFrom(' ', '\t', '\n', '\r\n', '\u0085', '\u00a0', '\u2003', '\u3000', '\u2028')
const name = fc.oneof(
  fc.string({
    unit: fc.oneof({ weight: 4, arbitrary: hard }, { weight: 1, arbitrary: space }),
    maxLength: 12,
  }),
  fc.string({ unit: anyCharacter, maxLength: 8 }),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
)
/**
 * Turkish i has another letter's capital: told apart on purpose, so it has no equal under case. Composed: the
 * capital of a mark may be a letter. A letter with an iota below has two capitals, and a mark after it would
 * go over to the second.
 */
const withCase = name
  .map((text) => text.normalize('NFC'))
  .filter((text) => !/[\u0130\u0131]|(?:[\u1f80-\u1ffc]|\u0345)\p{M}/u.test(text))

const runs = { numRuns: 1_000 * rounds }

test('the canonical form of a canonical form is itself', () => {
  fc.assert(
    fc.property(name, (text) => {
      expect(canonicalName(canonicalName(text))).toBe(canonicalName(text))
    }),
    runs,
  )
})

test('a name in other case is the same name', () => {
  fc.assert(
    fc.property(withCase, (text) => {
      expect(canonicalName(text.toUpperCase())).toBe(canonicalName(text))
      expect(canonicalName(text.toLowerCase())).toBe(canonicalName(text))
    }),
    runs,
  )
})

test('a name in any normal form is the same name', () => {
  fc.assert(
    fc.property(name, (text) => {
      for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD'])
        expect(canonicalName(text.normalize(form))).toBe(canonicalName(text))
    }),
    runs,
  )
})

test('white space around a name, and the amount and kind inside, make no difference', () => {
  fc.assert(
    fc.property(
      fc.array(name, { minLength: 1, maxLength: 3 }),
      fc.array(space, { minLength: 1, maxLength: 4 }),
      (words, blanks) => {
        const gap = blanks.join('')

        expect(canonicalName(`${gap}${words.join(gap)}${gap}`)).toBe(canonicalName(words.join(' ')))
        expect(canonicalName(words.join(gap))).toMatch(/^(\S+( \S+)*)?$/u)
      },
    ),
    runs,
  )
})

test('names of small letters and digits stay themselves and stay apart', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9:/._@-]{0,12}$/), (text) => {
      expect(canonicalName(text)).toBe(text)
    }),
    { numRuns: 250 * rounds },
  )
})
