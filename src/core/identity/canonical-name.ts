const runsOfSpace = /[\s\u0085]+/g
/** Invisible characters, such as soft hyphens, joiners and variation selectors. */
const invisible = /\p{Default_Ignorable_Code_Point}/gu
/** Printable ASCII without spaces: nothing but capitals is folded. */
const isPlain = /^[!-~]*$/
const settlesWithin = 8

/**
 * The form of a name for checks that withhold access: deny rules, the check for `root`, invisible names. It
 * maps look-alikes to the same text, so that they cannot bypass these checks. Checks that grant access use
 * `foldedName` (same-name.ts), which distinguishes more names.
 *
 * It is Unicode's `toNFKC_Casefold`: composed compatibility forms (including full-width ones), full case
 * folding (`ß` becomes `ss`, all sigmas become one) and no invisible characters. Then white space is trimmed,
 * and each run inside becomes one blank. Case folding is language-independent: `I` becomes `i`, but the
 * dotless `ı` and the dotted `İ` are kept, because folding them to `i` would merge two people. The function
 * is idempotent. docs/contract/identity.md#which-names-are-the-same
 */
export function canonicalName(name: string): string {
  if (isPlain.test(name)) return name.toLowerCase()
  let canonical = folded(name.toWellFormed())
  for (let pass = 1; pass < settlesWithin; pass += 1) {
    const again = folded(canonical)
    if (again === canonical) break
    canonical = again
  }
  return canonical
}

const folded = (name: string): string =>
  foldCase(name.normalize('NFKC').replace(invisible, ''))
    .normalize('NFKC')
    .replace(invisible, '')
    .replace(runsOfSpace, ' ')
    .trim()

/** Full case folding by lower, upper and lower case. Skips `ı`, which has the same capital as `i`. */
const foldCase = (text: string): string =>
  text
    .replace(/[^\u0131]+/g, (part) => part.toLowerCase().toUpperCase().toLowerCase())
    .replaceAll('\u03c2', '\u03c3')
