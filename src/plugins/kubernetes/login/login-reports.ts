import type { Mount } from '../../../core/mounts/mount.ts'
import type { LoginReports as BasicReports } from '../../../core/tokens/acts/login-reports.ts'
import { ServiceError } from '../../../errors.ts'
import { type Call, errorReply } from '../../../http/resource/resource.ts'
import type { JwtFailures } from '../../../jwt/history/sent-token.ts'
import type { Buckets } from '../../../lib/concurrency/buckets.ts'
import type { LogLine } from '../../../lib/system/log-fields.ts'
import { bounded } from '../../../logins/explain/explained.ts'
import { maxRecordedToken } from '../../../logins/explain/login-failures.ts'
import { recordRefused } from '../../../logins/explain/record-refused.ts'
import { checkNamed, type Refusal } from '../../../logins/refusals/refusal.ts'
import type { Role } from '../config/role.ts'
import { sentAccount } from '../what-if/noted-login.ts'
import { LoginChecks } from './checks.ts'

export type Where = {
  readonly call: Call
  readonly mount: Mount
  readonly role: string
  readonly jwt: string
}

export type KubernetesReportParts = {
  readonly basic: BasicReports
  readonly log: { readonly error: LogLine }
  readonly looks: Pick<Buckets, 'take'>
  failuresOf(mount: Mount): JwtFailures
  findRole(mount: Mount, name: string): Promise<Role | undefined>
  /** Whether the token of the caller is what asks the cluster. */
  callerAsks(mount: Mount): Promise<boolean>
  /** The checks of the token that a refused login did not reach. Asks nobody. */
  examineRest(where: Where, checks: LoginChecks): Promise<void>
}

/** Reasons that the caller can do nothing about: they do not count as its refused logins. docs/limits.md#refused-logins */
const ourFaults: ReadonlySet<string> = new Set<Refusal['reason']>([
  'config_missing',
  'keys_unavailable',
  'review_unauthorized',
  'review_forbidden',
  'review_failed',
  'review_unreachable',
  'namespace_labels_unavailable',
  'annotations_unavailable',
])

/** Records the reason of each refused login: in the log, in the list of failures and in the counters. docs/explain.md#reasons */
export class KubernetesReports {
  readonly #parts: KubernetesReportParts

  constructor(parts: KubernetesReportParts) {
    this.#parts = parts
  }

  /** Runs a login and reports how it ended. Rethrows its errors. */
  async watch<T>(where: Where, login: (checks: LoginChecks) => Promise<T>): Promise<T> {
    const started = performance.now()
    const checks = new LoginChecks({ continues: false })
    const { basic } = this.#parts
    try {
      const result = await login(checks)
      basic.ended(where, started, 'ok', '')
      return result
    } catch (error) {
      const status = error instanceof ServiceError ? errorReply(error, true).status : 500
      const reason = status >= 500 || !(error instanceof ServiceError) ? 'internal' : (error.reason ?? '')
      if (reason !== '' && error instanceof ServiceError)
        await this.#refused(where, { error, reason, status, checks })
      basic.ended(where, started, status >= 500 ? 'error' : 'refused', reason)
      throw error
    }
  }

  async #refused(
    where: Where,
    {
      error: { message, operatorText: cause = '', kind },
      reason,
      status,
      checks,
    }: { error: ServiceError; reason: string; status: number; checks: LoginChecks },
  ): Promise<void> {
    const { call, mount, role, jwt } = where
    const { basic, failuresOf, findRole, callerAsks, log } = this.#parts
    const failures = failuresOf(mount)
    const trace = bounded(checks.explained(await this.#rest(where)))
    const check = trace.find(({ verdict }) => verdict === 'fail')?.name ?? checkNamed(reason)
    // an unknown name is not shown: people type passwords into wrong fields
    const found = await findRole(mount, role).catch(() => undefined)
    const roleExists = found !== undefined
    const isOurFault =
      ourFaults.has(reason) && !(reason === 'review_unauthorized' && (await callerAsks(mount)))
    basic.refused(
      { call, mount },
      {
        isCallersFault: kind !== 'throttled' && status < 500 && !isOurFault,
        shown: { role: roleExists ? role : '', reason, check, status, cause },
      },
    )
    await recordRefused({ failures, call, mount, log }, async () => ({
      path: 'login',
      role,
      roleExists,
      reason,
      check,
      status,
      cause,
      verified: false,
      sent: sentAccount(jwt, found),
      error: message,
      trace: { checks: trace, clock: undefined },
    }))
  }

  /** The other checks that would refuse this token. A storage failure must not hide why the login was refused. */
  async #rest(where: Where): Promise<LoginChecks> {
    const { failuresOf, looks } = this.#parts
    const rest = new LoginChecks({ continues: true })
    const isKept = failuresOf(where.mount).isKept && where.jwt.length <= maxRecordedToken
    if (isKept && looks.take(where.mount.uuid))
      await this.#parts.examineRest(where, rest).catch(() => undefined)
    return rest
  }
}
