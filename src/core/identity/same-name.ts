const onlyAscii = /^[\0-\x7f]*$/
const isChanged = /\p{Changes_When_NFKC_Casefolded}/u
const isCherokee = /\p{Script=Cherokee}/u

/**
 * The name with Unicode's simple case folding only: two names denote the same person, group or entity exactly
 * if these are equal. Checks that grant access compare this form; checks that withhold access compare
 * `canonicalName` (canonical-name.ts). The folding is language-independent: the dotted `İ` and the dotless
 * `ı` are kept. It never changes the number of letters: `ß` does not become `ss`.
 * docs/contract/identity.md#which-names-are-the-same
 */
export function foldedName(name: string): string {
  if (onlyAscii.test(name)) return name.toLowerCase()
  let folded = ''
  for (const character of name)
    folded += character <= '\x7f' ? character.toLowerCase() : foldedCharacter(character)
  return folded
}

export const sameName = (a: string, b: string): boolean => a === b || foldedName(a) === foldedName(b)

/** Cache of folded characters, bounded by the number of characters that folding changes. */
const known = new Map<string, string>()

function foldedCharacter(character: string): string {
  if (!isChanged.test(character)) return character
  let folded = known.get(character)
  if (folded === undefined) {
    // a regular expression with these flags compares by simple case folding: ECMA-262, Canonicalize
    const equal = new RegExp(`^\\u{${character.codePointAt(0)?.toString(16)}}$`, 'iu')
    folded =
      candidatesOf(character).find((candidate) => isOneCharacter(candidate) && equal.test(candidate)) ??
      character
    known.set(character, folded)
  }
  return folded
}

/**
 * Candidates for the simple folding of a character. A full mapping to several characters has no simple one.
 */
function candidatesOf(character: string): string[] {
  const upper = character.toUpperCase()
  // Cherokee letters fold to capitals, which Unicode encoded first
  if (isCherokee.test(character)) return [upper]
  // the last two: Greek letters that were encoded twice, and one of the two ligatures of s and t
  const others = [character.toLowerCase(), character.normalize('NFC'), '\ufb06'].filter(
    (other) => other !== character,
  )
  return isOneCharacter(upper) ? [upper.toLowerCase(), ...others] : others
}

const isOneCharacter = (text: string): boolean =>
  text.length === ((text.codePointAt(0) ?? 0) > 0xffff ? 2 : 1)
