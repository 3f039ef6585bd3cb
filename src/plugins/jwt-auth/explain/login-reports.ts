import type { Mount } from '../../../core/mounts/mount.ts'
import type { LoginReports as BasicReports, LoginKind } from '../../../core/tokens/acts/login-reports.ts'
import { ServiceError } from '../../../errors.ts'
import { type Call, errorReply, type Reply } from '../../../http/resource/resource.ts'
import { type JwtFailures, sentToken } from '../../../jwt/history/sent-token.ts'
import type { LogLine } from '../../../lib/system/log-fields.ts'
import { bringsToken, type LoginTrace } from '../../../logins/explain/explained.ts'
import { recordRefused } from '../../../logins/explain/record-refused.ts'
import { checkNamed, type ReasonCode } from '../../../logins/refusals/refusal.ts'
import type { Attempt } from '../login/flow-trace.ts'
import type { LoginPath, RefusedLogin } from './login-trace.ts'

/** The requested role, whether it exists, and the claims that it looks at. */
type RequestedRole = { readonly name: string; readonly exists: boolean; readonly looked: readonly string[] }

/** What reports need to know about a mount. */
export type ReportedMount = {
  readonly failures: JwtFailures
  requestedRole(named: string, path: LoginPath): Promise<RequestedRole>
  /** The checks of a refused login. */
  traceOf(login: RefusedLogin): Promise<LoginTrace>
  noteEnd(isLogin: boolean): void
}

export type LoginReportsParts = {
  reportedMount(mount: Mount): ReportedMount
  readonly log: { readonly error: LogLine }
  /** Of logins with a JWT, and in a browser. */
  readonly basic: { readonly jwt: BasicReports; readonly oidc: BasicReports }
}

/** `cause` is what the caller is not told. */
type Refused = {
  readonly reason: string
  readonly status: number
  /** What the caller is told. */
  readonly text?: string
  readonly cause?: string | undefined
  /** Undefined if the response is not an error. */
  readonly error?: ServiceError
}

/** A response, and why it lacks the requested result if its status does not say so. */
export type LoginOutcome = { readonly reply: Reply; readonly refused?: Refused }

type Where = {
  readonly call: Call
  readonly mount: Mount
  readonly path: LoginPath
  readonly attempt: Attempt
}

/** Reasons that the caller can do nothing about: they do not count as its refused logins. docs/limits.md#refused-logins */
const isOurFault: ReadonlySet<string> = new Set<ReasonCode | 'internal'>([
  'internal',
  'config_missing',
  'oidc_not_configured',
  'keys_unavailable',
  'provider_unreachable',
  'provider_failed',
  'groups_unavailable',
])

/** Checks that run before the signature is verified. */
const beforeSignature: ReadonlySet<string> = new Set(['', 'config', 'role', 'token', 'address', 'signature'])

/**
 * Records the reason of each refused login: in the log, in the list of failures, in the counters and with the
 * request. docs/explain.md#reasons
 */
export class LoginReports {
  readonly #parts: LoginReportsParts

  constructor(parts: LoginReportsParts) {
    this.#parts = parts
  }

  /** Runs a login and reports how it ended. Rethrows its errors. */
  async watch(where: Where, login: () => Promise<LoginOutcome>): Promise<Reply> {
    const started = performance.now()
    try {
      const { reply, refused } = await login()
      if (refused !== undefined) await this.#refused(where, refused)
      if (refused !== undefined || reply.auth !== undefined)
        this.#ended(where, refused ?? { reason: '', status: 200 }, started)
      return reply
    } catch (error) {
      const refused = told(judged(error), where.call.loginKind)
      await this.#refused(where, refused)
      this.#ended(where, refused, started)
      throw error
    }
  }

  async #refused(
    { call, mount, path, attempt }: Where,
    { reason, status, text = '', cause = '', error }: Refused,
  ): Promise<void> {
    if (reason === '') return
    const { log, reportedMount } = this.#parts
    const reported = reportedMount(mount)
    // an unknown role name is not shown: people type passwords into wrong fields
    const hasNoRoleName = attempt.role === '' && (path === 'oidc/callback' || path === 'oidc/poll')
    const role =
      hasNoRoleName || reason === 'role_unknown'
        ? { name: attempt.role, exists: false, looked: [] }
        : await requestedRole(reported, attempt.role, path)
    const check = checkOfLogin(reason, attempt)
    this.#basic(path).refused(
      { call, mount },
      {
        isCallersFault: status < 500 && !isOurFault.has(reason),
        shown: { role: role.exists ? role.name : '', reason, check, status, cause },
      },
    )
    const { remoteAddress } = call
    const verified = attempt.isVerified || (bringsToken(path) && !beforeSignature.has(check))
    await recordRefused({ failures: reported.failures, call, mount, log }, async () => ({
      path,
      role: role.name,
      roleExists: role.exists,
      reason,
      check,
      status,
      cause,
      verified,
      sent: sentToken({ token: attempt.token, verified, looked: role.looked }),
      // a message of a program may repeat claims
      error: reason === 'cel_message' ? '' : text,
      trace: await reported.traceOf({ path, attempt, reason, error, remoteAddress }),
    }))
  }

  #ended({ call, mount, path }: Where, { reason, status }: Refused, started: number): void {
    const result = status >= 500 ? 'error' : reason === '' && status === 200 ? 'ok' : 'refused'
    this.#parts.reportedMount(mount).noteEnd(result === 'ok')
    this.#basic(path).ended({ call, mount }, started, result, reason)
  }

  #basic(path: LoginPath): BasicReports {
    return bringsToken(path) ? this.#parts.basic.jwt : this.#parts.basic.oidc
  }
}

/** The variable of a program that failed is a check of its own. */
function checkOfLogin(reason: string, { outcome }: Attempt): string {
  return reason === 'cel_error' && outcome?.kind === 'error' && outcome.variable !== ''
    ? `variable:${outcome.variable}`
    : checkNamed(reason)
}

/** A storage failure must not hide why a login was refused. */
async function requestedRole(
  reported: ReportedMount,
  named: string,
  path: LoginPath,
): ReturnType<ReportedMount['requestedRole']> {
  try {
    return await reported.requestedRole(named, path)
  } catch {
    return { name: named, exists: false, looked: [] }
  }
}

/** The bearer of a refused JWT is told nothing but 403. */
const told = (refused: Refused, kind: LoginKind): Refused =>
  kind === 'token' && refused.status === 400 ? { ...refused, status: 403 } : refused

/** Our own failures are `internal`; an unreachable provider is not. */
function judged(error: unknown): Refused {
  if (!(error instanceof ServiceError)) return { reason: 'internal', status: 500 }
  const { status } = errorReply(error, true)
  if (status >= 500 && error.reason !== 'provider_unreachable') return { reason: 'internal', status }
  return { reason: error.reason ?? '', status, text: error.message, cause: error.operatorText, error }
}
