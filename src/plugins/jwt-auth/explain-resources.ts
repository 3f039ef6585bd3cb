import { z } from 'zod'
import type { Mount } from '../../core/mounts/mount.ts'
import type { LoginAuth, LoginPlan, LoginRequest } from '../../core/tokens/acts/issue-login.ts'
import { joined } from '../../core/tokens/store/policy-names.ts'
import { fail, refuse } from '../../errors.ts'
import {
  checkMayReach,
  type Exchange,
  errorReply,
  loginPlace,
  mayReach,
  namespaceOf,
  type Reply,
  type Resource,
  resource,
} from '../../http/resource/resource.ts'
import { boolField, intField, lowerStringField, mapField, stringField } from '../../lib/text/fields.ts'
import { formatTime } from '../../lib/text/time.ts'
import type { Explanation, MeasuredClock } from './explain/explain.ts'
import { explainAnswers } from './explain/explain-answers.ts'
import type { LoginFailures } from './explain/login-failures.ts'
import { type ReportedLogin, reportOf, wantsText } from './explain/report.ts'
import type { JwtMethod } from './method.ts'

export type ExplainRouteParts = {
  readonly method: JwtMethod
  /** The outcome of a login, without writing anything. */
  plan(request: LoginRequest): Promise<LoginPlan>
  policyExists(name: string, namespace: string): Promise<boolean>
}

const failureInput = z.object({
  request_id: stringField.describe('Request whose refusal to explain, instead of a token'),
})
const explainInput = failureInput.extend({
  role: lowerStringField.describe(
    'Role to explain; the configured default if empty; `cel/ci` is CEL role `ci`',
  ),
  cel: boolField.describe('The role is a CEL role'),
  jwt: stringField.meta({
    description: 'Signed JWT; either this, `claims` or `request_id`',
    writeOnly: true,
  }),
  claims: mapField.describe('Claims to test instead of a token'),
  remote_address: stringField.describe('Client address of the login; the caller’s if empty'),
  as_token: boolField.describe('Explain the JWT as the token of a request'),
  distributed_claim_access_token: stringField.meta({
    description: 'Access token for a provider that keeps the groups elsewhere',
    writeOnly: true,
  }),
})
const failuresInput = z.object({
  limit: intField.default(50).describe('Most failures to return'),
  reason: stringField.describe('Only failures with this reason'),
  role: lowerStringField.describe('Only failures of this role'),
  request_id: stringField.describe('Only the failure of this request'),
})
const hashInput = z.object({
  input: stringField.meta({ description: 'Value to look for among the claims of failures', writeOnly: true }),
})
const statusInput = z.object({ refresh: boolField.describe('Fetch discovery document and keys now') })
const lintInput = z.object({ role: lowerStringField.describe('Only this role') })

type Asking = Exchange<unknown, unknown>
type SeenFailure = { readonly role: string; readonly path: string }

const roleOfFailure = ({ role, path }: SeenFailure): string =>
  role !== '' && path === 'cel/login' ? `cel/${role}` : role

/** Whether the caller may learn what this role expects. */
const maySeeRole = (exchange: Asking, role: string): boolean =>
  role === '' || mayReach(exchange, { operation: 'read', path: rolePath(role), canonical: toLower })

/** Of a role, or of a CEL role as `cel/<name>`. */
const rolePath = (role: string): string => role.replace(/^(cel\/)?/, '$1role/')

const toLower = (below: string): string => below.toLowerCase()

const maySeeConfig = (exchange: Asking): boolean => mayReach(exchange, { operation: 'read', path: 'config' })

/** What is explained quotes the role and the configuration. */
function checkMaySee(exchange: Asking, role: string): void {
  if (!maySeeRole(exchange, role) || !maySeeConfig(exchange)) throw fail('denied', 'permission denied')
}

/** How the logins of a mount explain themselves. docs/explain.md */
export function explainResources({ method, plan, policyExists }: ExplainRouteParts): Resource[] {
  const seenFailure = (exchange: Asking, requestId: string): Explained => {
    const explained = explainedFailure(method.failuresOf(exchange.mount), requestId)
    checkMaySee(exchange, roleOfFailure({ role: explained.role, path: explained.path ?? '' }))
    return explained
  }
  return [
    resource('/explain', {
      help: 'The outcome of a login, check by check, with reasons.',
      read: {
        summary: 'Explain a refused login',
        ...explainAnswers.explanation,
        input: failureInput,
        handle: (exchange) => {
          const { input, sent } = exchange
          const secret = ['jwt', 'claims'].find((name) => Object.hasOwn(sent, name))
          // it would appear in the log of every proxy on the way
          if (secret !== undefined)
            throw refuse('invalid', `'${secret}' does not belong in a URL: send it in the body of a POST`)
          return answerOf(exchange, seenFailure(exchange, input.request_id))
        },
      },
      write: {
        summary: 'Explain a login',
        ...explainAnswers.explanation,
        input: explainInput.meta({ examples: [{ role: 'ci', claims: { sub: 'build-7', aud: 'ci' } }] }),
        handle: async (exchange) => {
          const { call, mount, input, sent } = exchange
          const isSent = (name: 'jwt' | 'claims' | 'request_id') =>
            Object.hasOwn(sent, name) && sent[name] !== null
          if (isSent('request_id')) {
            if (isSent('jwt') || isSent('claims'))
              throw refuse(
                'invalid',
                "'request_id' stands in place of 'jwt' and 'claims': set only one of them",
              )
            return answerOf(exchange, seenFailure(exchange, input.request_id))
          }
          if (isSent('jwt') === isSent('claims'))
            throw refuse('invalid', "exactly one of 'jwt' and 'claims' must be set")
          const jwt = isSent('jwt') ? input.jwt : undefined
          const role = input.role.replace(/^cel\//, '')
          const isCel = input.cel || role !== input.role
          const given = { ...input, role, isCel, jwt, claims: input.claims ?? undefined }
          const named = await method.loginRole(mount, role)
          checkMaySee(exchange, isCel && named !== '' ? `cel/${named}` : named)
          const remoteAddress = input.remote_address || call.remoteAddress
          // a token records the path that created it
          const place = {
            ...loginPlace(mount, call),
            path: `${mount.path}${isCel ? 'cel/' : ''}login`,
            remoteAddress,
          }
          const explanation = await method.explain(mount, given, {
            remoteAddress,
            asToken: input.as_token ? { certificate: undefined } : undefined,
            plan: (auth) => plan({ ...place, auth }),
          })
          const explained = shownExplanation(explanation, mount)
          // the bearer of a refused JWT is told nothing but 403
          const status = input.as_token && explained.status === 400 ? 403 : explained.status
          return answerOf(exchange, { ...explained, status })
        },
      },
    }),
    resource('/failures', {
      help: 'The most recent refused logins, with claims as keyed hashes.',
      read: {
        summary: 'List refused logins',
        ...explainAnswers.failures,
        input: failuresInput,
        handle: (exchange) => {
          const { mount, input } = exchange
          checkMayReach(exchange, { operation: 'read', path: 'config' })
          const isSeen = (failure: SeenFailure) => maySeeRole(exchange, roleOfFailure(failure))
          const filter = { ...input, limit: Math.max(0, input.limit), isSeen }
          return { data: method.failuresOf(mount).list(filter) }
        },
      },
      delete: {
        summary: 'Forget refused logins',
        handle: async ({ mount }) => method.failuresOf(mount).clear(),
      },
    }),
    resource('/failures/hash', {
      help: 'The hash of a value, as in the claims of refused logins.',
      write: {
        summary: 'Hash a value',
        ...explainAnswers.hash,
        input: hashInput,
        handle: async ({ mount, input }) => ({
          data: { hash: await method.failuresOf(mount).hashOf(input.input) },
        }),
      },
    }),
    resource('/status', {
      help: 'Where keys come from, whether they could be fetched, and recent logins.',
      read: {
        summary: 'Read the state of the method',
        ...explainAnswers.status,
        input: statusInput,
        handle: async (exchange) => {
          checkMayReach(exchange, { operation: 'read', path: 'config' })
          return { data: await method.status(exchange.mount, exchange.input.refresh) }
        },
      },
    }),
    resource('/lint', {
      help: 'Role settings that are valid but probably not intended.',
      read: {
        summary: 'Look for mistakes in roles',
        ...explainAnswers.findings,
        input: lintInput,
        handle: async (exchange) => {
          const { mount, input } = exchange
          const exists = (name: string) => policyExists(name, mount.namespace)
          if (input.role !== '') checkMaySee(exchange, input.role)
          const findings = await method.lint(mount, input.role, exists)
          return findings && { data: { findings: findings.filter(({ role }) => maySeeRole(exchange, role)) } }
        },
      },
    }),
  ]
}

/** What a report needs to know of the result of `explain`. */
type Explained = ReportedLogin & { readonly login: object | null }

/**
 * The explanation with a report for people, or the report alone for callers that accept plain text. A wrapped
 * response stays JSON.
 */
function answerOf(
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

/** The record of a refused login, as `explain` returns it. docs/explain.md#in-three-steps */
function explainedFailure(failures: LoginFailures, requestId: string): Explained {
  const found = requestId === '' ? undefined : failures.find(requestId)
  if (found === undefined) {
    throw refuse(
      'missing',
      'no failure of this request is kept here: they are kept in memory, by the server that refused, and the oldest go',
    )
  }
  const { failure, error, trace } = found
  const { request_id, time, path, remote_address, status, cause, reason, role } = failure
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
function shownExplanation({ refused, role, clock, checks, login }: Explanation, mount: Mount): Explained {
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
