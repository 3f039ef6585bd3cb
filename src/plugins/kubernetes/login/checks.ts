import { refuse, type ServiceError } from '../../../errors.ts'
import { excerpt } from '../../../lib/text/go-text.ts'
import type { JsonValue } from '../../../lib/text/json.ts'
import { type ExplainedCheck, nothing } from '../../../logins/explain/explained.ts'
import { nearMiss } from '../../../logins/refusals/hints.ts'
import type { Compared, Refusal } from '../../../logins/refusals/refusal.ts'
import { undecodablePrefix } from './account.ts'

/** The checks of a login, in order. docs/contract/kubernetes.md#explain */
const checkNames = [
  'role',
  'address',
  'configuration',
  'token',
  'algorithm',
  'signature',
  'issuer',
  'audience',
  'expiry',
  'not_before',
  'issued_at',
  'claims',
  'service_account_name',
  'namespace',
  'uid',
  'review',
  'review_audience',
  'review_identity',
  'namespace_labels',
  'annotations',
] as const
export type CheckName = (typeof checkNames)[number]

type Recorded = {
  readonly name: CheckName
  readonly verdict: 'pass' | 'fail' | 'skipped'
  readonly refused?: Refusal | undefined
  readonly compared?: Compared | undefined
}

/** The refusals that are the caller's mistakes in a request, and not about its token. */
const mistakes: ReadonlySet<string> = new Set<Refusal['reason']>([
  'role_missing',
  'token_missing',
  'role_unknown',
  'config_missing',
  'annotations_invalid',
])

/** A refusal as the caller sees it. docs/contract/kubernetes.md#login-in-this-order */
function thrown({ reason, text, cause }: Refusal): ServiceError {
  const isMistake = mistakes.has(reason) || text.startsWith(undecodablePrefix)
  return refuse(isMistake ? 'invalid' : 'denied', text, { reason, operatorText: cause })
}

/**
 * Receives every check of a login. A login ends at the first refusal, by throwing it; an explanation continues, and
 * nothing issues a token from it.
 */
export class LoginChecks {
  readonly #recorded: Recorded[] = []
  readonly #continues: boolean
  #first: ServiceError | undefined

  constructor({ continues }: { readonly continues: boolean }) {
    this.#continues = continues
  }

  /** The first refusal. */
  get refused(): ServiceError | undefined {
    return this.#first
  }

  /** One check; it passed if there is no refusal. Returns whether it did. */
  check(name: CheckName, refused: Refusal | undefined, compared?: Compared): boolean {
    this.#recorded.push({
      name,
      verdict: refused === undefined ? 'pass' : 'fail',
      refused,
      compared: refused?.compared ?? compared,
    })
    if (refused === undefined) return true
    this.#first ??= thrown(refused)
    if (!this.#continues) throw this.#first
    return false
  }

  /** A step that returns something; undefined if it was refused and the checks continue. */
  value<T extends object>(name: CheckName, result: T | Refusal): T | undefined {
    const isRefused = 'reason' in result && 'text' in result
    return this.check(name, isRefused ? result : undefined) ? (result as T) : undefined
  }

  /** A check that does not apply, and why. */
  skip(name: CheckName, detail: string): void {
    this.#recorded.push({ name, verdict: 'skipped', compared: { expected: [], seen: null, detail } })
  }

  /** With those that were not reached, as far as `others` reached them. */
  explained(others?: LoginChecks): ExplainedCheck[] {
    const own = new Set(this.#recorded.map(({ name }) => name))
    const further = others === undefined ? [] : others.#recorded.filter(({ name }) => !own.has(name))
    const recorded = [...this.#recorded, ...further]
    const made = new Set(recorded.map(({ name }) => name))
    const rest = checkNames.filter((name) => !made.has(name))
    return [
      ...recorded.map(explainedCheck),
      ...rest.map((name): ExplainedCheck => ({ ...nothing, name, verdict: 'skipped' })),
    ]
  }
}

function explainedCheck({ name, verdict, refused, compared }: Recorded): ExplainedCheck {
  const { expected = [], seen = null, detail = '', isLiteral = false, hint } = compared ?? {}
  const near = () => nearMiss({ expected, seen: [seen].flat(), isLiteral })
  return {
    name,
    verdict,
    expected: expected.map(shown),
    seen: Array.isArray(seen) ? seen.slice(0, mostSeen).map(shown) : shown(seen),
    reason: refused?.reason ?? '',
    hint: refused === undefined ? '' : (hint ?? near()),
    detail: refused?.cause === undefined ? detail : excerpt(refused.cause, mostText),
  }
}

const mostSeen = 16
const mostText = 256

/** Texts of a stranger are cut. */
function shown(value: unknown): JsonValue {
  if (typeof value === 'string') return excerpt(value, mostText)
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return typeof value === 'boolean' ? value : null
}
