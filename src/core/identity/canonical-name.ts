const runsOfSpace = /[\s\u0085]+/g
/** Invisible characters, such as soft hyphens, joiners and variation selectors. */
const unseen = /\p{Default_Ignorable_Code_Point}/gu
/** Printable ASCII without capitals and spaces: such a name is its own canonical form. */
const isPlain = /^[!-@[-~]*$/
const settlesWithin = 8

/**
 * The form of a name for whatever withholds access: deny rules, the check for `root`, names that nobody could
 * see. It compares widely, so that no look-alike gets around them. What grants access compares by
 * `foldedName` (same-name.ts), which tells more names apart.
 *
 * The rule is Unicode's `toNFKC_Casefold` (compatibility forms, full-width ones among them, composed; default
 * full case folding, so `ß` is `ss` and all sigmas are one; what is not seen left out), then white space:
 * none at the ends, one blank for each run inside. Case folding is the one for no language: `I` is `i`, and
 * the dotless `ı` and the dotted `İ` stay themselves, as folding them into `i` would make one of two people.
 * The canonical form of a canonical form is itself. See docs/contract/identity.md#which-names-are-the-same.
 */
export function canonicalName(name: string): string {
  if (isPlain.test(name)) return name
  let canonical = folded(name.toWellFormed())
  for (let pass = 1; pass < settlesWithin; pass += 1) {
    const again = folded(canonical)
    if (again === canonical) break
    canonical = again
  }
  return canonical
}

const folded = (name: string): string =>
  foldCase(name.normalize('NFKC').replace(unseen, ''))
    .normalize('NFKC')
    .replace(unseen, '')
    .replace(runsOfSpace, ' ')
    .trim()

/**
 * Full case folding by way of lower, upper and lower case. Leaves out `ı`, which shares its capital with `i`.
 */
const foldCase = (text: string): string =>
  text
    .replace(/[^\u0131]+/g, (part) => part.toLowerCase().toUpperCase().toLowerCase())
    .replaceAll('\u03c2', '\u03c3')
