import type { z } from 'zod'
import type { View } from '../../core/barrier/view.ts'
import { type KeyedHash, openKeyedHashes } from '../../core/records/keyed-hash.ts'
import { Buckets } from '../../lib/concurrency/buckets.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { isNear } from '../../lib/text/edit-distance.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import { formatTime } from '../../lib/text/time.ts'
import type { loginFailure } from './explain-answers.ts'
import { bringsToken, type ExplainedCheck, type LoginTrace, shownRoles } from './explained.ts'

type LoginFailure = Readonly<Omit<z.output<typeof loginFailure>, 'expected'>> & {
  readonly expected: readonly JsonValue[]
}

/** Members of a failure as only those see them who may explain it. */
type Discreet = Partial<Pick<LoginFailure, 'subject' | 'looked_at' | 'cause'>>

/** Facts about a login, as it sent them. Subject and claims come in clear, and are hashed before they are kept. */
export type SentFacts<Kept = unknown> = Pick<LoginFailure, 'alg' | 'kid' | 'claims' | 'subject'> & {
  readonly discreet: Discreet
  /** Facts that the method itself keeps. */
  readonly kept: Kept | undefined
}

/** A refused login with all of its checks. */
export type TracedFailure<Kept = unknown> = {
  readonly failure: LoginFailure
  /** In clear, if it exists. */
  readonly existingRole: string
  readonly discreet: Discreet
  readonly error: string
  readonly trace: LoginTrace
  readonly kept: Kept | undefined
}

export type NewFailure<Kept = unknown> = Pick<
  LoginFailure,
  | 'request_id'
  | 'path'
  | 'inline'
  | 'as_token'
  | 'role'
  | 'reason'
  | 'check'
  | 'status'
  | 'cause'
  | 'remote_address'
  | 'verified'
> & {
  readonly roleExists: boolean
  sent(hash: KeyedHash): SentFacts<Kept>
  /** As returned to the caller. */
  readonly error: string
  readonly trace: LoginTrace
}

export type LoginFailuresParts = {
  /** The mount's own. */
  readonly view: View
  readonly random: Random
  readonly clock: Clock
  /** Most failures to keep; 0: none. */
  readonly kept: number
}

export type FailureFilter = {
  readonly limit: number
  readonly reason: string
  readonly role: string
  readonly request_id: string
  /** Whether failures of this role are listed. */
  readonly isSeen?: (failure: { readonly role: string; readonly path: string }) => boolean
  /** Whether the caller may explain this failure. */
  readonly mayExplain?: (failure: TracedFailure) => boolean
}

/** Longer tokens are not looked at once more: they were refused, and should not cost much more. */
export const maxRecordedToken = 32 * 1024

/** How many refused tokens of a mount are looked at once more: a series of bad ones should not cost much more, either. */
export const secondLooks = (clock: Clock): Buckets => new Buckets(clock, { capacity: 200, refillMs: 50 })

/**
 * The most recent refused logins of one mount, in memory. Subject and claims are kept as keyed hashes, so that a known
 * value can be searched for; some of them are also kept in clear, for whoever may explain the login.
 */
export class LoginFailures<Kept = unknown> {
  readonly #parts: LoginFailuresParts
  /** Oldest first. */
  #failures: TracedFailure<Kept>[] = []
  #added = 0
  #since: number
  #hash: KeyedHash | undefined

  constructor(parts: LoginFailuresParts) {
    this.#parts = parts
    this.#since = parts.clock.now()
  }

  /** Whether any are kept. */
  get isKept(): boolean {
    return this.#parts.kept > 0
  }

  async add({ sent, roleExists, error, trace: walked, ...failure }: NewFailure<Kept>): Promise<void> {
    const { kept, clock } = this.#parts
    if (kept === 0) return
    const hash = await this.#hashes()
    const role = roleExists || failure.role === '' ? failure.role : hashed(hash, failure.role)
    const trace = { ...walked, checks: walked.checks.map((check) => withoutUnknownName(check, hash)) }
    const {
      expected = [],
      seen = null,
      hint = '',
      detail = '',
    } = trace.checks.find(({ verdict }) => verdict === 'fail') ?? {}
    const told = bringsToken(failure.path) ? { error: '', seen: null } : { error, seen }
    const { claims, subject, discreet, kept: keptOfMethod, ...header } = sent(hash)
    const shown = {
      ...failure,
      role,
      time: formatTime(clock.now()),
      ...header,
      claims: hashedTexts(claims, hash),
      subject: subject === '' ? '' : hashed(hash, subject),
      looked_at: {},
      expected,
      hint,
      detail,
      ...told,
    }
    this.#failures.push({
      failure: shown,
      existingRole: roleExists ? failure.role : '',
      discreet,
      error,
      trace,
      kept: keptOfMethod,
    })
    // drop many at once, because removing the first one moves all others
    if (this.#failures.length >= 2 * kept) this.#failures = this.#failures.slice(-kept)
    this.#added += 1
  }

  /** Newest first. */
  list({
    limit,
    reason,
    role,
    request_id,
    isSeen = () => true,
    mayExplain = () => false,
  }: FailureFilter): object {
    const { kept } = this.#parts
    const failures = (kept === 0 ? [] : this.#failures.slice(-kept))
      .toReversed()
      .filter(
        ({ failure: one }) => (reason === '' || one.reason === reason) && (role === '' || one.role === role),
      )
      .filter(({ failure: one }) => request_id === '' || one.request_id === request_id)
      .filter(({ failure }) => isSeen(failure))
      .slice(0, limit)
      .map((traced) => (mayExplain(traced) ? { ...traced.failure, ...traced.discreet } : traced.failure))
      .map((one) => shownRoles(one, (name) => isSeen({ role: name, path: one.path })))
    return { kept, dropped: Math.max(0, this.#added - kept), since: formatTime(this.#since), failures }
  }

  /** The newest failure of a request. */
  find(requestId: string): TracedFailure<Kept> | undefined {
    const { kept } = this.#parts
    return kept === 0
      ? undefined
      : this.#failures.slice(-kept).findLast(({ failure }) => failure.request_id === requestId)
  }

  /** Those that `list` shows, oldest first. */
  kept(): readonly TracedFailure<Kept>[] {
    const { kept } = this.#parts
    return kept === 0 ? [] : this.#failures.slice(-kept)
  }

  clear(): void {
    this.#failures = []
    this.#added = 0
    this.#since = this.#parts.clock.now()
  }

  /** The hash of a value, as in the claims of a failure. */
  async hashOf(input: string): Promise<string> {
    return hashed(await this.#hashes(), input)
  }

  async #hashes(): Promise<KeyedHash> {
    const { view, random } = this.#parts
    this.#hash ??= (await openKeyedHashes(view, random, 'explain/keys', ['failures'])).failures
    return this.#hash
  }
}

/**
 * People type passwords into wrong fields, so an unknown role name is shown only if it is nearly the name of
 * a role.
 */
function withoutUnknownName(check: ExplainedCheck, hash: KeyedHash): ExplainedCheck {
  const { seen } = check
  if (check.reason !== 'role_unknown' || typeof seen !== 'string') return check
  const isNearly =
    check.hint !== '' || check.expected.some((name) => typeof name === 'string' && isNear(name, seen))
  return isNearly ? check : { ...check, seen: hashed(hash, seen) }
}

const hashed = (hash: KeyedHash, text: string): string => `hmac-sha256:${hash(text, 'hex')}`

const hashedTexts = (texts: Readonly<Record<string, string>>, hash: KeyedHash): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, hashed(hash, text)]))
