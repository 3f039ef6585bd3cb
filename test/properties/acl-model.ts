/**
 * The rules of docs/contract/tokens-and-policies.md#policies again, implemented as plainly as the page states
 * them: no parser, no index, no copy of anything in `src`. Every decision checks every rule of every policy.
 */

/** One `path` stanza as data. `min` and `max` are wrapping TTLs in seconds, 0 is unset. */
export type Stanza = {
  readonly path: string
  readonly capabilities: readonly string[] | undefined
  readonly shorthand: 'deny' | 'read' | 'write' | 'sudo' | undefined
  readonly allowed: Parameters | undefined
  readonly denied: Parameters | undefined
  readonly required: readonly string[] | undefined
  readonly min: number
  readonly max: number
  readonly ended: boolean
  /** The path is the text before a template that could not be filled: everything that begins so is refused. */
  readonly closes?: boolean
}

/** Parameter name to the values it names; an empty list means any value. */
type Parameters = Readonly<Record<string, readonly unknown[]>>

/** The request. `wrapTtl` is the requested wrapping TTL in seconds, undefined without one. */
export type Question = {
  readonly operation: string
  readonly path: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly wrapTtl: number | undefined
}

type Rule = {
  readonly kind: 'exact' | 'prefix' | 'segment'
  readonly path: string
  readonly capabilities: ReadonlySet<string>
  readonly allowed: Parameters | undefined
  readonly denied: Parameters | undefined
  readonly required: ReadonlySet<string>
  readonly min: number
  readonly max: number
}

/** The model's answer: the decision, and the `sudo` reported with it. */
export function modelDecision(
  stanzas: readonly Stanza[],
  question: Question,
): { allowed: boolean; sudo: boolean } {
  if (question.operation === 'help') return { allowed: true, sudo: false }
  const listing = isListing(question.operation)
  const path = listing && !question.path.endsWith('/') ? `${question.path}/` : question.path
  if (isClosed(stanzas, path)) return { allowed: false, sudo: false }
  const rule = decidingRule(tableOf(stanzas), path, listing)
  if (rule === undefined) return { allowed: false, sudo: false }
  const allowed =
    rule.capabilities.has(question.operation) && wrappingFits(rule, question) && parametersFit(rule, question)
  return { allowed, sudo: rule.capabilities.has('sudo') }
}

/**
 * The model's answer at `sys/capabilities`: looked up as a list, sorted, `deny` when nothing is left.
 * docs/contract/tokens-and-policies.md#asking-for-capabilities
 */
export function modelCapabilities(stanzas: readonly Stanza[], path: string): string[] {
  if (isClosed(stanzas, path)) return ['deny']
  const capabilities = [...(decidingRule(tableOf(stanzas), path, true)?.capabilities ?? [])]
    .filter((word) => !newerWords.includes(word))
    .sort()
  return capabilities.length === 0 ? ['deny'] : capabilities
}

function isListing(operation: string): boolean {
  return operation === 'list' || operation === 'scan'
}

// docs/contract/tokens-and-policies.md#capabilities

const shorthands = {
  deny: ['deny'],
  read: ['read', 'list'],
  write: ['create', 'read', 'update', 'delete', 'list'],
  sudo: ['create', 'read', 'update', 'delete', 'list', 'sudo'],
}

/** Capabilities of newer servers: a policy may contain them, but they grant nothing. */
const newerWords = ['subscribe', 'recover']

function capabilitiesOf(stanza: Stanza): ReadonlySet<string> {
  const all = new Set([
    ...(stanza.capabilities ?? []),
    ...(stanza.shorthand === undefined ? [] : shorthands[stanza.shorthand]),
  ])
  return all.has('deny') ? new Set(['deny']) : all
}

/** Whether a stanza without a value for its template withholds something, and nothing else. */
export function grantsNothing(stanza: Stanza): boolean {
  return [...capabilitiesOf(stanza)].every((word) => word === 'deny' || newerWords.includes(word))
}

// docs/contract/tokens-and-policies.md#paths-in-rules: one table of rules, keyed by kind and path

function tableOf(stanzas: readonly Stanza[]): Rule[] {
  const groups = new Map<string, Stanza[]>()
  for (const stanza of stanzas.filter(({ ended, closes }) => !ended && closes !== true)) {
    const path = relativePath(stanza)
    groups.set(path, [...(groups.get(path) ?? []), stanza])
  }
  return [...groups].map(([path, same]) => merged(path, same))
}

function relativePath({ path }: Stanza): string {
  return path.startsWith('/') ? path.slice(1) : path
}

function isClosed(stanzas: readonly Stanza[], path: string): boolean {
  return stanzas
    .filter(({ ended, closes }) => !ended && closes === true)
    .map(relativePath)
    .some((start) =>
      kindOf(start) === 'segment' ? segmentsMatch(`${start}*`, path) : path.startsWith(start),
    )
}

function kindOf(path: string): Rule['kind'] {
  if (path.includes('/+') || path.startsWith('+/') || path === '+') return 'segment'
  return path.endsWith('*') ? 'prefix' : 'exact'
}

function merged(path: string, same: readonly Stanza[]): Rule {
  const rule = { kind: kindOf(path), path }
  const capabilities = same.map(capabilitiesOf)
  if (capabilities.some((one) => one.has('deny'))) {
    return {
      ...rule,
      capabilities: new Set(['deny']),
      allowed: undefined,
      denied: undefined,
      required: new Set(),
      min: 0,
      max: 0,
    }
  }
  return {
    ...rule,
    capabilities: new Set(capabilities.flatMap((one) => [...one])),
    allowed: mergedParameters(same.map(({ allowed }) => allowed)),
    denied: mergedParameters(same.map(({ denied }) => denied)),
    required: new Set(same.flatMap(({ required }) => required ?? [])),
    min: smallestSet(same.map(({ min }) => min)),
    max: smallestSet(same.map(({ max }) => max)),
  }
}

function mergedParameters(maps: readonly (Parameters | undefined)[]): Parameters | undefined {
  const present = maps.filter((map) => map !== undefined)
  if (present.length === 0) return undefined
  const lists = new Map<string, (readonly unknown[])[]>()
  for (const [name, values] of present.flatMap((map) => Object.entries(map))) {
    lists.set(name.toLowerCase(), [...(lists.get(name.toLowerCase()) ?? []), values])
  }
  return Object.fromEntries(
    [...lists].map(([name, all]) => [name, all.some((values) => values.length === 0) ? [] : all.flat()]),
  )
}

function smallestSet(seconds: readonly number[]): number {
  const set = seconds.filter((value) => value > 0)
  return set.length === 0 ? 0 : Math.min(...set)
}

// docs/contract/tokens-and-policies.md#which-rule-decides

function decidingRule(rules: readonly Rule[], path: string, listing: boolean): Rule | undefined {
  const bare = path.endsWith('/') ? path.slice(0, -1) : path
  const exact = (wanted: string) => rules.find((rule) => rule.kind === 'exact' && rule.path === wanted)
  const named = exact(path) ?? (listing ? exact(bare) : undefined)
  if (named !== undefined || !listing || !path.endsWith('/')) return named ?? bestCandidate(rules, path)
  const whole = bestCandidate(rules, path)
  const withoutSlash = bestCandidate(rules, bare)
  if (whole === undefined || withoutSlash === undefined) return whole ?? withoutSlash
  return withoutSlash.capabilities.has('deny') && better(withoutSlash, whole) ? withoutSlash : whole
}

function bestCandidate(rules: readonly Rule[], path: string): Rule | undefined {
  const prefixes = rules.filter((rule) => rule.kind === 'prefix' && path.startsWith(rule.path.slice(0, -1)))
  const longest = prefixes.filter((rule) => prefixes.every((other) => other.path.length <= rule.path.length))
  const segments = rules.filter((rule) => rule.kind === 'segment' && segmentsMatch(rule.path, path))
  const candidates = [...longest, ...segments]
  return candidates.find((one) => candidates.every((other) => other === one || better(one, other)))
}

function segmentsMatch(pattern: string, path: string): boolean {
  const open = pattern.endsWith('*')
  const pieces = (open ? pattern.slice(0, -1) : pattern).split('/')
  const segments = path.split('/')
  if (open ? segments.length < pieces.length : segments.length !== pieces.length) return false
  return pieces.every((piece, index) => {
    const segment = segments[index] ?? ''
    const isOpenEnd = open && index === pieces.length - 1
    return piece === '+' || (isOpenEnd ? segment.startsWith(piece) : segment === piece)
  })
}

/** The order of docs/contract/tokens-and-policies.md#which-rule-decides, row by row. */
function better(one: Rule, other: Rule): boolean {
  const rows = [rank(one), rank(other)] as const
  for (const [index, mine] of rows[0].entries()) {
    const theirs = rows[1][index]
    if (theirs !== undefined && mine !== theirs) return mine > theirs
  }
  return Buffer.compare(Buffer.from(one.path), Buffer.from(other.path)) > 0
}

/** The first four criteria as numbers; the greater one wins. Lengths and positions are counted in bytes. */
function rank({ kind, path }: Rule): number[] {
  const bytes = (text: string) => Buffer.byteLength(text)
  const open = path.endsWith('*')
  const text = open ? path.slice(0, -1) : path
  const firstWildcard = kind === 'prefix' ? bytes(text) : bytes(path.slice(0, path.indexOf('+')))
  return [firstWildcard, open ? 0 : 1, -text.split('/').filter((piece) => piece === '+').length, bytes(text)]
}

// docs/contract/tokens-and-policies.md#parameters-wrapping-expiration

function wrappingFits({ min, max }: Rule, { wrapTtl }: Question): boolean {
  if (min > 0 && max > 0 && max < min) return false
  if (max > 0 && (wrapTtl === undefined || wrapTtl > max)) return false
  return !(min > 0 && (wrapTtl === undefined || wrapTtl < min))
}

function parametersFit({ allowed, denied, required }: Rule, { operation, fields }: Question): boolean {
  if (!['read', 'create', 'update', 'patch'].includes(operation)) return true
  if (![...required].every((name) => Object.hasOwn(fields, name.toLowerCase()))) return false
  const sent = Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value] as const)
  if (sent.length === 0) return true
  const named = (map: Parameters, name: string) => (Object.hasOwn(map, name) ? map[name] : undefined)
  const covers = (list: readonly unknown[] | undefined, value: unknown) =>
    list !== undefined && (list.length === 0 || list.some((entry) => sameValue(entry, value)))

  if (denied !== undefined && named(denied, '*') !== undefined) return false
  if (denied !== undefined && sent.some(([name, value]) => covers(named(denied, name), value))) return false
  if (allowed === undefined || Object.keys(allowed).length === 0) return true
  const others = named(allowed, '*') !== undefined
  if (others && Object.keys(allowed).length === 1) return true
  return sent.every(([name, value]) =>
    named(allowed, name) === undefined ? others : covers(named(allowed, name), value),
  )
}

function sameValue(entry: unknown, value: unknown): boolean {
  if (typeof entry === 'string' && typeof value === 'string') return textFits(entry, value)
  return deepEqual(entry, value)
}

function textFits(pattern: string, text: string): boolean {
  const start = pattern.length > 1 && pattern.startsWith('*')
  const end = pattern.length > 1 && pattern.endsWith('*')
  if (start && end) return text.includes(pattern.slice(1, -1))
  if (start) return text.endsWith(pattern.slice(1))
  if (end) return text.startsWith(pattern.slice(0, -1))
  return pattern === text
}

function deepEqual(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) || Array.isArray(other)) {
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => deepEqual(item, other[index]))
    )
  }
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other
  const mine = Object.entries(one)
  const theirs = new Map<string, unknown>(Object.entries(other))
  return (
    mine.length === theirs.size &&
    mine.every(([key, value]) => theirs.has(key) && deepEqual(value, theirs.get(key)))
  )
}
