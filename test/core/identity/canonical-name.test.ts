import { expect, test } from 'vitest'
import { canonicalName } from '../../../src/core/identity/canonical-name.ts'

test.each([
  ['case', 'Alice', 'aLICE'],
  ['full-width letters', 'ｒｏｏｔ', 'root'],
  ['composed and decomposed', 'Zo\u00eb', 'zoe\u0308'],
  ['marks in another order', 'a\u0323\u0307', 'a\u0307\u0323'],
  ['German sharp s, small and capital', 'Straße', 'STRASSE'],
  ['the capital sharp s', 'STRA\u1e9eE', 'strasse'],
  ['sigma at the end of a word', 'ΟΔΥΣΣΕΥΣ', 'οδυσσευς'],
  ['ligatures', 'ﬁn', 'FIN'],
  ['the Kelvin sign', '\u212aelvin', 'kelvin'],
  ['space around', '  bob\t', 'bob'],
  ['runs of space', 'bob\u00a0 smith', 'Bob Smith'],
  ['what nobody sees', 'bo\u200d\u00adb', 'bob'],
  ['lone surrogates', 'x\ud800', 'x\udbff'],
])('two spellings are one name: %s', (_rule, a, b) => {
  expect(canonicalName(a)).toBe(canonicalName(b))
})

test.each([
  ['dotless i', 'ad\u0131n', 'adin'],
  ['dotted capital i', '\u0130van', 'ivan'],
  ['a letter of another alphabet', 'p\u0430ul', 'paul'],
  ['a mark', 'zoe', 'zoë'],
  ['a blank inside', 'bob smith', 'bobsmith'],
])('similar spellings are two names: %s', (_rule, a, b) => {
  expect(canonicalName(a)).not.toBe(canonicalName(b))
})

test.each(['', ' ', '\t\n', '\u200b\u00ad'])('a name of invisible characters is empty: %j', (name) => {
  expect(canonicalName(name)).toBe('')
})
