import { metadataProblem, shownOfLogin } from '../../../core/identity/metadata.ts'
import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import { boundCidrs, checkTokenFields } from '../../../core/tokens/store/token-fields.ts'
import { ServiceError } from '../../../errors.ts'
import { type Refusal, refusal } from '../../../logins/refusals/refusal.ts'
import { nanosOfSecond } from './language/values.ts'
import type { Field, Fields } from './outcome.ts'

/** Each request of the token looks at all of them. */
const mostPolicies = 1_000
const mostGroups = 10_000
/** Of a name, which is stored or looked for. */
const longestName = 1_024

/** The login that a program gives, or why it gives none. docs/contract/cel.md#what-the-login-gives */
export function authOf(fields: Fields, roleName: string): LoginAuth | Refusal {
  try {
    return converted(new Reader(fields), roleName)
  } catch (error) {
    if (error instanceof AuthProblem || (error instanceof ServiceError && error.kind === 'invalid'))
      return {
        ...refusal('cel_auth_invalid', error.message),
        isFailureElsewhere: error instanceof NameMissing,
      }
    throw error
  }
}

class AuthProblem extends Error {
  override readonly name: string = 'AuthProblem'
}

class NameMissing extends AuthProblem {
  override readonly name = 'NameMissing'
}

function converted(auth: Reader, roleName: string): LoginAuth {
  const lease = auth.inner('lease_options')
  const times = {
    ttl: lease.seconds('TTL'),
    maxTtl: lease.seconds('MaxTTL'),
    period: auth.seconds('period'),
    explicitMaxTtl: auth.seconds('explicit_max_ttl'),
  }
  const numUses = auth.count('num_uses')
  const tokenType = typeNamed(auth.number('token_type'))
  // the same rules as for the settings of a role
  checkTokenFields({ token_type: tokenType, token_num_uses: numUses, token_period: times.period })
  checkJson(auth)
  return {
    alias: aliasOf(auth),
    metadata: checkedMetadata(auth, 'metadata', { anyKey: true }),
    displayName: auth.text('display_name'),
    groupNames: auth.messages('group_aliases', mostGroups).map((group) => groupName(group)),
    policies: auth.texts('policies', mostPolicies),
    ...times,
    numUses,
    tokenType,
    boundCidrs: boundCidrs(auth.texts('bound_cidrs'), 'error converting proto auth: '),
    noDefaultPolicy: auth.flag('no_default_policy'),
    isRenewable: lease.flag('renewable'),
    internal: { role: roleName, cel: 'true', max_ttl: String(times.maxTtl), period: String(times.period) },
  }
}

function aliasOf(auth: Reader): LoginAuth['alias'] {
  if (!auth.has('alias')) return undefined
  const alias = auth.inner('alias')
  const name = alias.text('name')
  if (name === '') throw new NameMissing('missing name in alias')
  return { name, metadata: checkedMetadata(alias, 'alias metadata') }
}

/** Null if there is none. */
function checkedMetadata(message: Reader, named: string, { anyKey = false } = {}): Pairs | null {
  const metadata = message.pairs('metadata')
  const problem = metadata && metadataProblem(metadata, { anyKey, shown: shownOfLogin })
  if (problem !== undefined) throw new AuthProblem(`invalid ${named}: ${problem}`)
  return metadata ?? null
}

type Pairs = Readonly<Record<string, string>>

function groupName(group: Reader): string {
  const name = group.text('name')
  if (name === '') throw new NameMissing('missing alias name')
  return name
}

function checkJson(auth: Reader): void {
  try {
    if (auth.has('internal_data')) JSON.parse(auth.anyText('internal_data') || 'null')
  } catch {
    throw new AuthProblem('error converting proto auth: unexpected end of JSON input')
  }
}

/** By number. The last two are the defaults of a mount, which a login cannot leave open. */
const tokenTypes = ['', 'service', 'batch', 'service', 'batch']

function typeNamed(number: bigint): string {
  const name = tokenTypes[Number(number)]
  if (name === undefined) throw new AuthProblem(`error converting auth: unknown token_type ${number}`)
  return name
}

/** The fields of a message. A program has checked their types; absent ones have the zero value. */
class Reader {
  readonly #fields: Fields

  constructor(fields: Fields) {
    this.#fields = fields
  }

  has(name: string): boolean {
    return this.#fields.has(name)
  }

  inner(name: string): Reader {
    return new Reader(mapOf(this.#fields.get(name)))
  }

  /** A name or the like. */
  text(name: string): string {
    return limited(this.anyText(name), name)
  }

  anyText(name: string): string {
    const value = this.#fields.get(name)
    return typeof value === 'string' ? value : ''
  }

  flag(name: string): boolean {
    return this.#fields.get(name) === true
  }

  number(name: string): bigint {
    const value = this.#fields.get(name)
    return typeof value === 'bigint' ? value : 0n
  }

  /** A number that is not negative. */
  count(name: string): number {
    const value = this.number(name)
    if (value < 0n) throw new AuthProblem(`error converting auth: ${name} cannot be negative`)
    if (value > BigInt(Number.MAX_SAFE_INTEGER))
      throw new AuthProblem(`error converting auth: ${name} is too large`)
    return Number(value)
  }

  /** Nanoseconds as whole seconds. */
  seconds(name: string): number {
    const nanos = this.number(name)
    if (nanos < 0n) throw new AuthProblem(`error converting auth: ${name} cannot be negative`)
    if (nanos > 0n && nanos < nanosOfSecond)
      throw new AuthProblem(`error converting auth: ${name} is given in nanoseconds`)
    return Number(nanos / nanosOfSecond)
  }

  texts(name: string, most?: number): string[] {
    const texts = this.#list(name, most).filter((item) => typeof item === 'string')
    return texts.map((text) => limited(text, name))
  }

  messages(name: string, most: number): Reader[] {
    return this.#list(name, most).map((item) => new Reader(mapOf(item)))
  }

  #list(name: string, most = Number.POSITIVE_INFINITY): readonly Field[] {
    const items = listOf(this.#fields.get(name))
    if (items.length > most) throw new AuthProblem(`error converting auth: more than ${most} ${name}`)
    return items
  }

  /** Undefined if the field was not set. */
  pairs(name: string): Pairs | undefined {
    const value = this.#fields.get(name)
    if (value === undefined) return undefined
    const pairs = [...mapOf(value)].map(([key, item]) => [key, String(item)] as const)
    // built from entries, so that `__proto__` is a key like any other
    return Object.fromEntries(pairs)
  }
}

function limited(text: string, name: string): string {
  if (text.length > longestName)
    throw new AuthProblem(`error converting auth: ${name} is longer than ${longestName} characters`)
  return text
}

const mapOf = (value: Field | undefined): Fields => (value instanceof Map ? value : new Map())
const listOf = (value: Field | undefined): readonly Field[] => (Array.isArray(value) ? value : [])
