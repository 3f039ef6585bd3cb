import { Buffer } from 'node:buffer'
import { causeList, ServiceError } from '../../errors.ts'
import { isBase64 } from '../../lib/text/base64.ts'
import { parseDuration } from '../../lib/text/go-duration.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { type JsonObject, type JsonValue, jsonNumber } from '../../lib/text/json.ts'
import { hasFourDigitYear, parseTime, timeMilliseconds } from '../../lib/text/time.ts'
import { capabilityWords, shorthandWords } from './capabilities.ts'
import { denyGrants, type Grants, mergeParameters, type ParameterRules } from './grants.ts'
import { parseHcl } from './hcl.ts'
import { parseJsonPolicy } from './json-policy.ts'
import { type Pattern, patternOf } from './pattern.ts'
import {
  type ObjectNode,
  type Position,
  policyFault,
  type SyntaxEntry,
  type SyntaxNode,
  syntaxFault,
} from './policy-syntax.ts'
import { parseTemplate, type Template } from './templates.ts'

/** One `path` block. */
export type PolicyStanza = {
  /** What the label matches; a template matches nothing until it is filled. */
  readonly label: { readonly pattern: Pattern } | { readonly template: Template }
  readonly grants: Grants
  /** Milliseconds since the epoch; the stanza is ignored from then on. */
  readonly expiresAt: number | undefined
  /** Its keys that limit something in another server, and nothing here. */
  readonly unbuiltLimits: readonly string[]
}

/** A parsed policy text. It does not depend on who holds the policy. */
export type ParsedPolicy = {
  readonly stanzas: readonly PolicyStanza[]
  /** Whether any label has a template. */
  readonly templated: boolean
}

/** The greatest length of a policy text, in UTF-16 code units. */
export const maxPolicyLength = 1024 * 1024

/** Decodes the text if it is valid standard base64. docs/contract/tokens-and-policies.md#policies */
export function decodePolicyText(text: string): string {
  return /[^\r\n]/.test(text) && isBase64(text) ? Buffer.from(text, 'base64').toString('utf8') : text
}

/**
 * Parses HCL, or JSON if the first non-blank character is `{`. Throws `invalid` with the texts of
 * docs/contract/tokens-and-policies.md#policies
 */
export function parsePolicy(text: string): ParsedPolicy {
  if (text.length > maxPolicyLength)
    throw policyFault(`the text is longer than ${maxPolicyLength} characters`)
  const document = /^[ \t\r\n]*\{/.test(text) ? parseJsonPolicy(text) : parseHcl(text)
  assertKnownKeys(document, topLevelKeys, '')
  const stanzas = document.entries.filter(({ keys }) => keys[0].text === 'path').map(stanzaOf)
  return { stanzas, templated: stanzas.some(({ label }) => 'template' in label) }
}

/**
 * Parses the text of a policy that somebody writes. It refuses more than `parsePolicy`, which also reads what
 * was stored before a refusal existed. Throws `invalid`.
 */
export function parseNewPolicy(text: string): ParsedPolicy {
  checkNullCharacter(text)
  const parsed = parsePolicy(text)
  for (const { label, unbuiltLimits } of parsed.stanzas) {
    const path = 'pattern' in label ? label.pattern.text : label.template.literals.join('{{…}}')
    if (path.includes('\0')) throw policyFault(`path ${JSON.stringify(path)} contains a null character`)
    const [limit] = unbuiltLimits
    if (limit !== undefined)
      throw policyFault(
        `path ${quoted(path)}: ${quoted(limit)} would limit what it grants, and is not supported`,
      )
  }
  return parsed
}

function checkNullCharacter(text: string): void {
  const at = text.indexOf('\0')
  if (at === -1) return
  const before = text.slice(0, at)
  if (!text.trimStart().startsWith('{')) {
    try {
      parsePolicy(before)
    } catch (error) {
      if (error instanceof ServiceError && error.message.endsWith('literal not terminated')) throw error
    }
  }
  throw syntaxFault(positionAfter(before), 'unexpected null character (0x00)')
}

const positionAfter = (text: string): Position => ({
  line: text.split('\n').length,
  column: text.length - text.lastIndexOf('\n'),
})

/** The namespace of a policy, if it is below the caller's: the path down to it, and its id. */
export type PolicyNamespace = { readonly prefix: string; readonly namespace: string }

/**
 * The same rules as seen from an ancestor namespace: their paths get the prefix, and their templates still
 * use the groups of their own namespace. docs/contract/namespaces.md#isolation
 */
export function policyBelow(policy: ParsedPolicy, below: PolicyNamespace): ParsedPolicy {
  return {
    ...policy,
    stanzas: policy.stanzas.map((stanza) => ({ ...stanza, label: labelBelow(stanza.label, below) })),
  }
}

function labelBelow(
  label: PolicyStanza['label'],
  { prefix, namespace }: PolicyNamespace,
): PolicyStanza['label'] {
  if ('pattern' in label) return { pattern: patternOf(prefix + label.pattern.text) }
  const [first = '', ...rest] = label.template.literals
  return { template: { ...label.template, literals: [prefix + first, ...rest], scope: namespace } }
}

const topLevelKeys: ReadonlySet<string> = new Set(['name', 'path'])

/**
 * Keys that limit what a stanza grants in Vault (`mfa_methods`) or OpenBao (all three), by their `vault/policy.go`, and
 * that a new policy cannot have. `control_group`, which both have too, is no key here at all.
 */
const unbuiltLimits: ReadonlySet<string> = new Set([
  'mfa_methods',
  'pagination_limit',
  'list_scan_response_keys_filter_path',
])

const stanzaKeys: ReadonlySet<string> = new Set([
  'capabilities',
  'policy',
  'allowed_parameters',
  'denied_parameters',
  'required_parameters',
  'min_wrapping_ttl',
  'max_wrapping_ttl',
  'comment',
  'expiration',
  ...unbuiltLimits,
])

const limitsNothing = (value: SyntaxNode): boolean =>
  (value.kind === 'list' && value.items.length === 0) ||
  ((value.kind === 'number' || value.kind === 'text') && ['', '0'].includes(value.value))

function assertKnownKeys({ entries }: ObjectNode, known: ReadonlySet<string>, prefix: string): void {
  const causes = entries
    .map(({ keys }) => keys[0])
    .filter((key) => !known.has(key.text))
    .map((key) => `${prefix}invalid key ${quoted(key.text)} on line ${key.line}`)
  if (causes.length > 0) throw policyFault(causeList(...causes.slice(0, maxCauses)))
}

/** Limits how many unknown keys an error lists, so that no response is as long as the policy. */
const maxCauses = 100

function stanzaOf({ keys, value: body }: SyntaxEntry): PolicyStanza {
  const written = keys[1]?.text ?? keys[0].text
  const path = written.startsWith('/') ? written.slice(1) : written
  const template = parseTemplate(path)
  if (template === 'unbalanced')
    throw policyFault('failed to validate policy templating: unbalanced templating characters')
  const where = `path ${quoted(written)}: `
  if (body.kind !== 'object') throw syntaxFault(body, 'a path takes a block', where)
  assertKnownKeys(body, stanzaKeys, where)
  const fields = new StanzaFields(where, body)
  const requiredParameters = fields.texts('required_parameters')
  const allowedParameters = fields.parameters('allowed_parameters')
  const deniedParameters = fields.parameters('denied_parameters')
  const capabilities = fields.texts('capabilities')
  const shorthand = fields.text('policy')
  const expiration = fields.text('expiration')
  if (path.includes('+*'))
    throw policyFault(`path ${quoted(path)}: invalid use of wildcards ('+*' is forbidden)`)
  const bits = capabilitiesOf(where, capabilities, shorthand)
  const minWrappingTtlSeconds = fields.duration('min_wrapping_ttl')
  const maxWrappingTtlSeconds = fields.duration('max_wrapping_ttl')
  if (
    maxWrappingTtlSeconds !== undefined &&
    minWrappingTtlSeconds !== undefined &&
    maxWrappingTtlSeconds < minWrappingTtlSeconds
  ) {
    throw policyFault('max_wrapping_ttl cannot be less than min_wrapping_ttl')
  }
  const granted = {
    allowedParameters,
    deniedParameters,
    requiredParameters,
    minWrappingTtlSeconds,
    maxWrappingTtlSeconds,
  }
  return {
    label: template === undefined ? { pattern: patternOf(path) } : { template },
    grants: bits === 'deny' ? denyGrants : { bits, isDeny: false, ...granted },
    expiresAt: expiration === undefined || expiration === '' ? undefined : instantOf(where, expiration),
    unbuiltLimits: body.entries
      .filter((entry) => unbuiltLimits.has(entry.keys[0].text) && !limitsNothing(entry.value))
      .map((entry) => entry.keys[0].text),
  }
}

function capabilitiesOf(where: string, capabilities: readonly string[], shorthand = ''): number | 'deny' {
  const fromShorthand = shorthand === '' ? 0 : shorthandWords.get(shorthand)
  if (fromShorthand === undefined) throw policyFault(`${where}invalid policy ${quoted(shorthand)}`)
  let bits = fromShorthand
  for (const word of capabilities) {
    const bit = capabilityWords.get(word)
    if (bit === undefined) throw policyFault(`${where}invalid capability ${quoted(word)}`)
    bits = bits === 'deny' || bit === 'deny' ? 'deny' : bits | bit
  }
  return bits
}

function instantOf(where: string, expiration: string): number {
  const parsed = parseTime(expiration)
  if ('error' in parsed) throw policyFault(`${where}invalid expiration time: ${parsed.error}`)
  if (!hasFourDigitYear(parsed.time))
    throw policyFault(`${where}invalid expiration time: the year has more than four digits`)
  return timeMilliseconds(parsed.time)
}

/** Reads the values of one block, each in the type its key requires. */
class StanzaFields {
  readonly #where: string
  readonly #body: ObjectNode

  constructor(where: string, body: ObjectNode) {
    this.#where = where
    this.#body = body
  }

  /** The lists of a repeated key are concatenated. */
  texts(name: string): string[] {
    return this.#values(name, this.#body).flatMap((value) =>
      this.#list(name, value).map((item) => this.#scalar(name, item)),
    )
  }

  text(name: string): string | undefined {
    const last = this.#values(name, this.#body).at(-1)
    return last && this.#scalar(name, last)
  }

  /** Undefined for zero. */
  duration(name: string): number | undefined {
    const parsed = parseDuration(this.text(name) ?? '')
    if ('error' in parsed) throw policyFault(`error parsing ${name}: ${parsed.error}`)
    return parsed.seconds === 0 ? undefined : parsed.seconds
  }

  /** Undefined if there are none. */
  parameters(name: string): ParameterRules | undefined {
    const written = new Map<string, JsonValue[]>()
    for (const map of this.#values(name, this.#body)) {
      if (map.kind !== 'object') throw syntaxFault(map, `${name}: a map of lists is needed`, this.#where)
      for (const entry of map.entries) {
        const values = this.#list(name, this.#only(entry)).map((item) => this.#json(item))
        const known = written.get(entry.keys[0].text)
        if (known === undefined) written.set(entry.keys[0].text, values)
        else for (const value of values) known.push(value)
      }
    }
    return mergeParameters([...written].map(([key, values]) => [[key.toLowerCase(), values]]))
  }

  #values(name: string, { entries }: ObjectNode): SyntaxNode[] {
    return entries.filter(({ keys }) => keys[0].text === name).map((entry) => this.#only(entry))
  }

  #only({ keys, value }: SyntaxEntry): SyntaxNode {
    if (keys[1] !== undefined) throw syntaxFault(keys[1], 'only path has a label', this.#where)
    return value
  }

  #list(name: string, value: SyntaxNode): readonly SyntaxNode[] {
    if (value.kind !== 'list') throw syntaxFault(value, `${name}: a list is needed`, this.#where)
    return value.items
  }

  #scalar(name: string, value: SyntaxNode): string {
    if (value.kind !== 'text' && value.kind !== 'number')
      throw syntaxFault(value, `${name}: a text is needed`, this.#where)
    return value.value
  }

  #json(node: SyntaxNode): JsonValue {
    switch (node.kind) {
      case 'null':
        return null
      case 'number':
        return jsonNumber(node.value)
      case 'list':
        return node.items.map((item) => this.#json(item))
      case 'object': {
        const object: JsonObject = Object.create(null)
        for (const entry of node.entries) object[entry.keys[0].text] = this.#json(this.#only(entry))
        return object
      }
      default:
        return node.value
    }
  }
}
