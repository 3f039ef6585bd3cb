import { Periodic } from '../../core/jobs/background.ts'
import { issueLogin, type LoginRequest, planLogin } from '../../core/tokens/acts/issue-login.ts'
import { type LoginReportParts, LoginReports } from '../../core/tokens/acts/login-reports.ts'
import { lookalikeReports } from '../../core/tokens/acts/lookalike-reports.ts'
import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { keyGauges } from '../../jwt/observatory/key-gauges.ts'
import { keyAlertReports } from '../../jwt/observatory/observatory.ts'
import type { AlertKind } from '../../jwt/observatory/timeline.ts'
import { celResources } from './cel-resources.ts'
import { configResources } from './config-resources.ts'
import { LoginReports as JwtReports } from './explain/login-reports.ts'
import { explainResources } from './explain-resources.ts'
import { loginResources } from './login-resources.ts'
import { JwtMethod } from './method.ts'
import { pendingLoginPrefixes } from './oidc/pending-logins.ts'

export type JwtOptions = {
  /** Most characters of a JWT; 0 is no limit. */
  readonly maxJwtSize: number
  /** Most refused logins remembered per mount. */
  readonly failuresKept: number
  /** Whether the server remembers which signatures it has checked. */
  readonly keepsSignatures: boolean
  /** Mounts are given by their full paths. */
  readonly metrics: LoginReportParts['counter'] & {
    lookalike(mount: string): void
    keysFetched(mount: string, succeeded: boolean): void
    keyAlert(mount: string, kind: AlertKind): void
    beginKeyLogins(mount: string): void
  }
}

const sweepIntervalMs = 60_000

/** The types `jwt` and `oidc`. docs/contract/jwt.md */
export const jwtPlugin = (options: JwtOptions): PluginDefinition => ({
  table: 'auth',
  names: ['jwt', 'oidc'],
  help: 'Logins with a JWT of a trusted issuer, and in a browser with an OpenID provider.',
  usedOnce: pendingLoginPrefixes,
  open: (core) => {
    const { mounts, outbound, clock, random, log, systemTtl, spent, shared, caches } = core
    const { tokens, identities: identity, view, policyExists, fullPathOf } = core
    const { metrics, maxJwtSize, failuresKept, keepsSignatures } = options
    const method = new JwtMethod({
      mounts,
      outbound,
      clock,
      random,
      log,
      systemTtl,
      spent,
      shared,
      caches,
      maxJwtSize,
      failuresKept,
      keepsSignatures,
      onFetch: (mount, succeeded) => metrics.keysFetched(fullPathOf(mount), succeeded),
      onKeyAlert: keyAlertReports({ log, counter: metrics, fullPathOf }),
    })
    const sweeper = new Periodic({
      job: core.jobs.job('login-sweep'),
      run: () => method.sweep(),
      intervalMs: sweepIntervalMs,
      onError: (err) => log.error({ event: 'work_failed', err }, 'could not remove expired logins'),
    })
    const background = [sweeper, ...method.places.background(log)]
    const reportsOf = (method: string) => new LoginReports({ method, log, counter: metrics, fullPathOf })
    const basic = { jwt: reportsOf('jwt'), oidc: reportsOf('oidc') }
    const reports = new JwtReports({ reportedMount: (mount) => method.reportedMount(mount), log, basic })
    const onLookalike = lookalikeReports({ log, counter: metrics, fullPathOf })
    const loginParts = { tokens, identity, spent, view, clock, systemTtl, onLookalike }
    const plan = async (login: LoginRequest) => {
      const plan = await planLogin(loginParts, login)
      const warnings = plan.login && (await core.access.warningsOf(plan.draft, plan.login.identity))
      return { ...plan, warnings: [...plan.warnings, ...(warnings ?? [])] }
    }
    return {
      resources: [
        ...configResources({ method, history: core.history, policyExists }),
        ...loginResources({ method, reports, issue: (login) => issueLogin(loginParts, login) }),
        ...celResources({
          method,
          history: core.history,
          reports,
          issue: (login) => issueLogin(loginParts, login),
          policyExists,
          now: () => clock.now(),
        }),
        ...explainResources({ method, plan, policyExists }),
      ],
      gauges: [
        ...keyGauges(
          () => method.places.keySources(),
          () => clock.now(),
        ),
        {
          name: 'pending_logins',
          help: 'Browser logins that wait for their callback',
          combine: (one, other) => one + other,
          read: () => method.pendingLogins(),
        },
      ],
      beginCounters: (mount) => {
        for (const each of [basic.jwt, basic.oidc])
          each.beginCounters(mount, ['internal', 'provider_unreachable'])
        metrics.beginKeyLogins(fullPathOf(mount))
      },
      loginRole: (mount, { role = '' }) => method.loginRole(mount, role),
      tokenLogin: method.tokenLogin.bind(method),
      renewalTerms: method.renewalTerms.bind(method),
      tuned: method.tuned.bind(method),
      start: () => {
        for (const one of background) one.start()
      },
      settle: () => method.sweep(),
      [Symbol.asyncDispose]: async () => {
        for (const one of background) await one[Symbol.asyncDispose]()
      },
    }
  },
})
