import type { ServiceError } from '../../../errors.ts'
import { type JwsLimits, malformedPayload, parseJws } from '../../../jwt/jws/jws.ts'
import { malformedToken } from '../../../jwt/jws/token-shape.ts'
import {
  bounded,
  bringsToken,
  type ExplainedCheck,
  type FailurePath,
  type LoginTrace,
  nothing,
} from '../../../logins/explain/explained.ts'
import { type Compared, checkNamed, type ReasonCode } from '../../../logins/refusals/refusal.ts'
import type { Outcome } from '../cel/outcome.ts'
import type { Facts } from '../login/facts.ts'
import type { Attempt } from '../login/flow-trace.ts'
import type { LoginContext } from '../login/login.ts'
import { describe } from './describe.ts'
import { clockOf, completeFacts, explainLogin, readJws } from './explain.ts'

/** The path, below the mount, that refused the login. */
export type LoginPath = Exclude<FailurePath, 'renew'>

/** A refused login and its refusal. */
export type RefusedLogin = {
  readonly path: LoginPath
  readonly attempt: Attempt
  readonly reason: string
  /** Undefined if the response is not an error. */
  readonly error: ServiceError | undefined
  readonly remoteAddress: string
}

export type TraceContext = Pick<LoginContext, 'state' | 'outbound' | 'now'> & {
  readonly maxTokenSize: number
}

/** How a refused login went, check by check. It asks no other server and checks no signature again. */
export async function traceOf(login: RefusedLogin, context: TraceContext): Promise<LoginTrace> {
  const { checks, clock } = bringsToken(login.path)
    ? await walkAgain(login, context)
    : await walked(login, context)
  return { checks: bounded(checks), clock }
}

/**
 * A login by JWT is not traced while it runs, so its checks run again with the known outcome of its signature
 * check.
 */
async function walkAgain(
  { path, attempt, reason, error, remoteAddress }: RefusedLogin,
  context: TraceContext,
): Promise<LoginTrace> {
  const check = checkNamed(reason)
  const refused =
    check === 'signature'
      ? {
          reason: reason as ReasonCode,
          text: error?.message ?? '',
          ...causeOf(error),
          compared: reason === 'token_malformed' ? shapeOfToken(attempt.token, context) : undefined,
        }
      : undefined
  const isChecked = !beforeSignature.has(check)
  const input = {
    role: attempt.role,
    isCel: path === 'cel/login',
    jwt: attempt.token,
    claims: undefined,
    distributed_claim_access_token: '',
  }
  return explainLogin(input, {
    ...context,
    remoteAddress,
    asToken: attempt.asToken,
    signature: { isChecked, refused },
    evaluate: () => Promise.resolve({ variables: [], outcome: withoutText(attempt.outcome) }),
    plan: () => Promise.reject(error ?? new Error('a login by JWT is refused with an error')),
  })
}

/** A message of a program may repeat claims. */
const withoutText = (outcome: Outcome = { kind: 'limit', text: '' }): Outcome =>
  outcome.kind === 'message' ? { kind: 'message', text: '' } : outcome

/** What a value that is not a JWT looks like, or the payload of one that has no claims. */
function shapeOfToken(token: string, limits: JwsLimits): Compared | undefined {
  const jws = parseJws(token, limits)
  return ('malformed' in jws ? malformedToken('', token) : malformedPayload(jws.payload, '')).compared
}

const causeOf = (error: ServiceError | undefined) =>
  error?.operatorText === undefined ? {} : { cause: error.operatorText }
const beforeSignature: ReadonlySet<string> = new Set(['config', 'role', 'token', 'address'])

const callbackChecks = [
  'config',
  'state',
  'client_nonce',
  'role',
  'address',
  'provider',
  'code',
  'exchange',
  'claims',
  'issuer',
  'times',
  'algorithm',
  'signature',
  'nonce',
  'audience',
  'subject',
  'user_claim',
  'metadata',
  'groups',
  'bound_claims',
  'entity',
  'policies',
]
const checksOf: Readonly<Record<LoginPath, readonly string[]>> = {
  login: [],
  'cel/login': [],
  'oidc/auth_url': ['config', 'role', 'redirect_uri', 'provider'],
  'oidc/callback': callbackChecks,
  // the client has no code
  'oidc/poll': callbackChecks.filter((name) => name !== 'code'),
}

/** The checks of a browser login as they ran, then those it did not reach. */
async function walked(
  { path, attempt, reason, remoteAddress }: RefusedLogin,
  { state, now, maxTokenSize }: TraceContext,
): Promise<LoginTrace> {
  const { flow, token } = attempt
  const { ready, role, roleName, login, claims } = flow
  const jws = token === '' ? undefined : readJws(token, maxTokenSize)
  const known = { ready, role, roleName, login, claims, remoteAddress, nowMs: now(), isFlow: true }
  const facts = await completeFacts(known, jws, state.roles)
  const userinfo = flow.recorded.find(({ name }) => name === 'userinfo')?.unusable
  let bound = 0
  const made = flow.recorded.map((recorded): ExplainedCheck => {
    const { name, refused, unusable } = recorded
    if (unusable !== undefined) return { ...nothing, name, verdict: 'skipped', seen: unusable.slice(0, 1024) }
    const described = describe(name, facts, recorded, name === 'bound_claims' ? bound++ : 0)
    if (refused === undefined) return { ...described, name, verdict: 'pass', reason: '' }
    const without =
      userinfo === undefined || !missingReasons.has(refused.reason)
        ? ''
        : `; userinfo was left out: ${userinfo}`
    return {
      ...described,
      detail: `${described.detail}${without}`.slice(0, 512),
      name,
      verdict: 'fail',
      reason: refused.reason,
    }
  })
  // the core comes last, and says itself what it refuses
  if (!made.some(({ verdict }) => verdict === 'fail')) made.push(refusedByCore(reason, facts))
  const names = new Set(made.map(({ name }) => name))
  const skipped = checksOf[path]
    .filter((name) => !names.has(name))
    .map((name): ExplainedCheck => ({ ...nothing, name, verdict: 'skipped' }))
  return { checks: [...made, ...skipped], clock: clockOf(flow.ready?.keyset.sources() ?? []) }
}

/** Claims that a provider may put only into its userinfo. */
const missingReasons: ReadonlySet<string> = new Set([
  'user_claim_missing',
  'groups_unavailable',
  'bound_claim_missing',
])

function refusedByCore(reason: string, facts: Facts): ExplainedCheck {
  const name = checkNamed(reason)
  const described = name === 'policies' ? describe(name, facts, { refused: undefined }, 0) : nothing
  const expected =
    name === 'policies' ? ['neither root nor a policy of the server itself'] : described.expected
  return { ...described, expected, name, verdict: 'fail', reason }
}
