import { causeList, refuse, ServiceError } from '../../errors.ts'
import { type Random, randomIndex } from '../../lib/system/random.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { parseHcl } from './hcl.ts'
import { JsonTreeReader } from './json-policy.ts'
import type { ObjectNode, SyntaxEntry, SyntaxNode } from './policy-syntax.ts'

/** A password has at least `least` of these characters, which are distinct. */
type CharsetRule = { readonly characters: readonly string[]; readonly least: number }

/** A parsed password policy. `characters` are those of all rules, distinct. */
export type PasswordPolicy = {
  readonly length: number
  readonly rules: readonly CharsetRule[]
  readonly characters: readonly string[]
}

const [shortest, longest] = [4, 100]
const maxTextLength = 64 * 1024
const mostCharacters = 255

/** As Go's `unicode.IsPrint`. */
const isPrintable = (character: string): boolean => /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)

/** Parses HCL or JSON. Throws `invalid`. docs/contract/tokens-and-policies.md#password-policies */
export function parsePasswordPolicy(text: string): PasswordPolicy {
  if (text.length > maxTextLength) throw fault(`the text is longer than ${maxTextLength} characters`)
  const { entries } = parsedTree(text)
  const fields = fieldsOf(entries, ['length', 'rule'], '')
  const length = wholeNumber(fields.get('length'), 'length') ?? 0
  const rules = entries.filter(({ keys }) => isNamed(keys[0].text, 'rule')).flatMap(rulesOf)
  const characters = distinct(rules.flatMap((rule) => rule.characters))
  checkRules(length, rules, characters)
  if (length < shortest || length > longest)
    throw refuse('invalid', `passwords must be between ${shortest} and ${longest} characters`)
  return { length, rules, characters }
}

/**
 * A random password: of each rule as many characters as it demands, and then any of all rules, in a random order.
 * Ends after as many steps as the password has characters, however strict the rules are.
 */
export function generatePassword({ length, rules, characters }: PasswordPolicy, random: Random): string {
  const picked = (from: readonly string[]) => from[randomIndex(random, from.length)] ?? ''
  const password = rules.flatMap((rule) => Array.from({ length: rule.least }, () => picked(rule.characters)))
  while (password.length < length) password.push(picked(characters))
  for (let last = password.length - 1; last > 0; last--) {
    const other = randomIndex(random, last + 1)
    const moved = password[last] ?? ''
    password[last] = password[other] ?? ''
    password[other] = moved
  }
  return password.join('')
}

const fault = (detail: string) => refuse('invalid', `invalid password policy: ${detail}`)

function parsedTree(text: string): ObjectNode {
  try {
    const document = /^[ \t\r\n]*\{/.test(text) ? new JsonTreeReader(text).document() : parseHcl(text)
    if (document.kind === 'object') return document
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    throw fault(`unable to decode: ${error.message.replace(/^failed to parse policy: /, '')}`)
  }
  throw fault('unable to decode: a policy in JSON is an object')
}

/** Names of fields are matched in any letter case. */
const isNamed = (written: string, name: string) => written.toLowerCase() === name

/** The last value of each field. A misspelled one would drop a demand in silence. */
function fieldsOf(entries: readonly SyntaxEntry[], known: readonly string[], where: string) {
  const fields = new Map<string, SyntaxNode>()
  for (const { keys, value } of entries) {
    const name = keys[0].text.toLowerCase()
    if (!known.includes(name))
      throw fault(`${where}invalid key ${quoted(keys[0].text)} on line ${keys[0].line}`)
    fields.set(name, value)
  }
  return fields
}

/** `rule "charset" { … }`; in JSON also an object, or a list of objects. */
function rulesOf({ keys: [, type], value }: SyntaxEntry): CharsetRule[] {
  if (type !== undefined) return [ruleOf(type.text, value)]
  const rules = value.kind === 'list' ? value.items : [value]
  return rules.flatMap((rule) => {
    if (rule.kind !== 'object') throw fault('unable to retrieve rules: a rule is a block')
    if (rule.entries.length === 0)
      throw fault('unable to parse rules: unable to get rule info: rule is empty')
    return rule.entries.map(({ keys, value: body }) => ruleOf(keys[0].text, body))
  })
}

function ruleOf(type: string, value: SyntaxNode): CharsetRule {
  const where = `unable to parse rules: unable to parse rule ${type}: `
  if (type !== 'charset') throw fault(`${where}unrecognized rule type ${type}`)
  const body = value.kind === 'list' ? value.items[0] : value
  if (body?.kind !== 'object') throw fault('unable to parse rules: unable to get rule info: rule is empty')
  const fields = fieldsOf(body.entries, ['charset', 'min-chars'], where)
  const charset = fields.get('charset')
  if (charset !== undefined && charset.kind !== 'text') throw fault(`${where}charset is not a string`)
  return {
    characters: distinct(charset?.value ?? ''),
    least: wholeNumber(fields.get('min-chars'), 'min-chars') ?? 0,
  }
}

function wholeNumber(node: SyntaxNode | undefined, name: string): number | undefined {
  if (node === undefined) return undefined
  const number = node.kind === 'number' ? Number(node.value) : Number.NaN
  if (Number.isSafeInteger(number)) return number
  throw fault(`failed to decode configuration: ${name} is not a whole number`)
}

const distinct = (characters: Iterable<string>): string[] => [...new Set(characters)]

function checkRules(length: number, rules: readonly CharsetRule[], characters: readonly string[]): void {
  const demanded = rules.reduce((sum, { least }) => sum + Math.max(0, least), 0)
  const faults = [
    ...(length <= 0 ? ['length must be > 0'] : []),
    ...(length > 0 && length < demanded
      ? [`specified rules require at least ${demanded} characters but ${length} is specified`]
      : []),
    ...(characters.length === 0 ? ['no charset specified'] : []),
    ...(characters.length > mostCharacters
      ? [`charset is too long: limited to ${mostCharacters} characters`]
      : []),
    ...(characters.every(isPrintable) ? [] : ['non-printable character in charset']),
    ...(rules.some(({ least }) => least < 0) ? ['min-chars must be >= 0'] : []),
  ]
  if (faults.length > 0) throw fault(causeList(...faults))
  if (rules.some((rule) => rule.least > 0 && rule.characters.length === 0))
    throw refuse(
      'invalid',
      'unable to construct test password from provided policy: are the rules impossible?',
    )
}
