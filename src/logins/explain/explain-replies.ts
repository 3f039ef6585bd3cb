import { z } from 'zod'
import type { Mount } from '../../core/mounts/mount.ts'
import type { LoginAuth, LoginPlan } from '../../core/tokens/acts/issue-login.ts'
import { joined } from '../../core/tokens/store/policy-names.ts'
import { shownScope } from '../../core/tokens/store/scope.ts'
import { refuse } from '../../errors.ts'
import {
  type Exchange,
  errorReply,
  maySend,
  namespaceOf,
  type Reply,
  type Resource,
  resource,
} from '../../http/resource/resource.ts'
import { intField, lowerStringField, stringField } from '../../lib/text/fields.ts'
import { formatTime } from '../../lib/text/time.ts'
import { explainAnswers } from './explain-answers.ts'
import type { Explanation, MeasuredClock } from './explained.ts'
import type { LoginFailures, TracedFailure } from './login-failures.ts'
import { type ReportedLogin, reportOf, wantsText } from './report.ts'

const failuresInput = z.object({
  limit: intField.default(50).describe('Most failures to return'),
  reason: stringField.describe('Only failures with this reason'),
  role: lowerStringField.describe('Only failures of this role'),
  request_id: stringField.describe('Only the failure of this request'),
})
const hashInput = z.object({
  input: stringField.meta({ description: 'Value to look for among the claims of failures', writeOnly: true }),
})

export type SeenFailure = { readonly role: string; readonly path: string }

type FailureParts = {
  failuresOf(mount: Mount): LoginFailures
  /** Whether the caller may see what this role expects. */
  isSeen(exchange: Asking, failure: SeenFailure): boolean
  /** Whether the caller may explain this failure. */
  mayExplain(exchange: Asking, failure: TracedFailure): boolean
  /** Throws unless the caller may see failures at all, beyond the rule for the path. */
  checkMayList?(exchange: Asking): void
}

export type Asking = Exchange<unknown, unknown>

/** Whether the caller may use `explain` itself. No other right stands for it. */
export const maySendExplain = (exchange: Asking): boolean =>
  maySend(exchange, { operation: 'read', path: 'explain' }) ||
  maySend(exchange, { operation: 'update', path: 'explain' })

/** `failures` and `failures/hash`. docs/explain.md */
export const failureResources = ({
  failuresOf,
  isSeen,
  mayExplain,
  checkMayList = () => {},
}: FailureParts): Resource[] => [
  resource('/failures', {
    help: 'The most recent refused logins, with claims as keyed hashes.',
    read: {
      summary: 'List refused logins',
      ...explainAnswers.failures,
      input: failuresInput,
      handle: (exchange) => {
        const { mount, input } = exchange
        checkMayList(exchange)
        const filter = {
          ...input,
          limit: Math.max(0, input.limit),
          isSeen: (failure: SeenFailure) => isSeen(exchange, failure),
          mayExplain: (failure: TracedFailure) => mayExplain(exchange, failure),
        }
        return { data: failuresOf(mount).list(filter) }
      },
    },
    delete: { summary: 'Forget refused logins', handle: async ({ mount }) => failuresOf(mount).clear() },
  }),
  resource('/failures/hash', {
    help: 'The hash of a value, as in the claims of refused logins.',
    passesReadOnly: true,
    write: {
      summary: 'Hash a value',
      ...explainAnswers.hash,
      input: hashInput,
      handle: async ({ mount, input }) => ({ data: { hash: await failuresOf(mount).hashOf(input.input) } }),
    },
  }),
]

/** Throws for a secret in a URL, which would appear in the log of every proxy on the way. */
export function checkNoSecret(sent: Exchange<unknown, unknown>['sent']): void {
  const secret = ['jwt', 'claims'].find((name) => Object.hasOwn(sent, name))
  if (secret !== undefined)
    throw refuse('invalid', `'${secret}' does not belong in a URL: send it in the body of a POST`)
}

/** Which of the three ways to explain a login was sent. Throws unless it is one. */
export function explainedBy(sent: Exchange<unknown, unknown>['sent']): 'request_id' | 'jwt' | 'claims' {
  const isSent = (name: string) => Object.hasOwn(sent, name) && sent[name] !== null
  if (isSent('request_id')) {
    if (isSent('jwt') || isSent('claims'))
      throw refuse('invalid', "'request_id' stands in place of 'jwt' and 'claims': set only one of them")
    return 'request_id'
  }
  if (isSent('jwt') === isSent('claims'))
    throw refuse('invalid', "exactly one of 'jwt' and 'claims' must be set")
  return isSent('jwt') ? 'jwt' : 'claims'
}

/** What a report needs to know of the result of `explain`. */
export type Explained = ReportedLogin & { readonly login: object | null }

/**
 * The explanation with a report for people, or the report alone for callers that accept plain text. A wrapped
 * response stays JSON.
 */
export function answerOf(
  exchange: Pick<Exchange<unknown, unknown>, 'call' | 'header' | 'mount'>,
  explained: Explained,
): Reply {
  const { call, mount } = exchange
  const report = reportOf(explained, `${namespaceOf(call).path}${mount.path}`)
  if (call.wrapTtl > 0 || !wantsText(exchange.header('accept')))
    return { data: { ...explained, report }, headers: { vary: 'Accept' } }
  return {
    raw: { status: 200, contentType: 'text/plain; charset=utf-8', body: report, headers: { vary: 'Accept' } },
  }
}

/** The record of a refused login. Throws if there is none. */
export function foundFailure<Kept>(
  failures: Pick<LoginFailures<Kept>, 'find'>,
  requestId: string,
): TracedFailure<Kept> {
  const found = requestId === '' ? undefined : failures.find(requestId)
  if (found === undefined) {
    throw refuse(
      'missing',
      'no failure of this request is kept here: they are kept in memory, by the server that refused, and the oldest go',
    )
  }
  return found
}

/** The record of a refused login, as `explain` returns it. docs/explain.md#in-three-steps */
export function explainedFailure({ failure, discreet, error, trace }: TracedFailure): Explained {
  const { request_id, time, path, remote_address, status, cause, reason, role } = { ...failure, ...discreet }
  const clock = trace.clock === undefined ? null : shownClock(trace.clock)
  return {
    allowed: false,
    status,
    error,
    cause,
    reason,
    role,
    clock,
    checks: trace.checks,
    login: null,
    request_id,
    time,
    path,
    remote_address,
  }
}

/** docs/explain.md */
export function shownExplanation(
  { refused, role, clock, checks, login }: Explanation,
  mount: Mount,
): Explained {
  return {
    allowed: refused === undefined,
    status: refused === undefined ? 200 : errorReply(refused, true).status,
    error: refused?.message ?? '',
    cause: refused?.operatorText ?? '',
    reason: refused?.reason ?? '',
    role,
    clock: clock === undefined ? null : shownClock(clock),
    checks,
    login: login === undefined ? null : shownLogin(login, mount),
  }
}

const shownClock = ({ seconds, isEstimate, source, measuredAt }: MeasuredClock) => ({
  offset_seconds: seconds,
  estimated: isEstimate,
  source,
  measured_at: formatTime(measuredAt),
})

function shownLogin(
  { auth, plan: { login, draft, warnings } }: { auth: LoginAuth; plan: LoginPlan },
  mount: Mount,
): object {
  const { identity, groupIds = [], isNew } = login ?? {}
  const isService = draft.type === 'service'
  return {
    display_name: draft.display_name,
    alias:
      auth.alias === undefined
        ? null
        : {
            name: auth.alias.name,
            mount_accessor: mount.accessor,
            metadata: auth.alias.metadata,
            entity_id: isNew === true ? '' : (identity?.entity.id ?? ''),
          },
    groups: {
      claimed: auth.groupNames,
      matched: (identity?.groups ?? [])
        .filter(({ id }) => groupIds.includes(id))
        .map(({ id, name }) => ({ id, name })),
    },
    token_policies: draft.policies,
    identity_policies: identity?.policies ?? [],
    policies: joined(draft.policies, identity?.policies ?? []),
    ...shownScope(draft.scope),
    token_type: draft.type,
    lease_duration: draft.ttl,
    renewable: draft.renewable,
    num_uses: isService ? draft.num_uses : 0,
    period: isService ? draft.period : 0,
    explicit_max_ttl: isService ? draft.explicit_max_ttl : 0,
    bound_cidrs: draft.bound_cidrs,
    warnings,
  }
}
