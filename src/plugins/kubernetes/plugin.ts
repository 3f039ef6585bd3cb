import { Periodic } from '../../core/jobs/background.ts'
import { issueLogin, type LoginRequest, planLogin } from '../../core/tokens/acts/issue-login.ts'
import { type LoginReportParts, LoginReports } from '../../core/tokens/acts/login-reports.ts'
import { type LookalikeReportParts, lookalikeReports } from '../../core/tokens/acts/lookalike-reports.ts'
import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { keyGauges } from '../../jwt/observatory/key-gauges.ts'
import { keyAlertReports } from '../../jwt/observatory/observatory.ts'
import type { AlertKind } from '../../jwt/observatory/timeline.ts'
import { toLowerText } from '../../lib/text/coercion.ts'
import { secondLooks } from '../../logins/explain/login-failures.ts'
import { explainResources } from './explain/explain-resources.ts'
import { examineRest } from './login/login.ts'
import { KubernetesReports } from './login/login-reports.ts'
import { KubernetesMethod, type KubernetesParts } from './method.ts'
import { configResources, loginResource } from './resources.ts'

const tidyIntervalMs = 60_000

export type KubernetesOptions = Pick<KubernetesParts, 'maxJwtSize' | 'failuresKept' | 'serviceAccountDir'> & {
  readonly metrics: LoginReportParts['counter'] &
    LookalikeReportParts['counter'] & {
      keysFetched(mount: string, succeeded: boolean): void
      keyAlert(mount: string, kind: AlertKind): void
      beginKeyLogins(mount: string): void
    }
}

/** The type `kubernetes`. docs/contract/kubernetes.md */
export const kubernetesPlugin = ({ metrics, ...options }: KubernetesOptions): PluginDefinition => ({
  table: 'auth',
  names: ['kubernetes'],
  help: 'Logins of pods, with the token of their service account.',
  open: (core) => {
    const { mounts, outbound, clock, random, log, systemTtl, caches, spent } = core
    const { tokens, identities: identity, view, policyExists, fullPathOf } = core
    const method = new KubernetesMethod({
      ...{ mounts, outbound, clock, random, systemTtl, caches },
      ...options,
      onFetch: (mount, succeeded) => metrics.keysFetched(fullPathOf(mount), succeeded),
      onKeyAlert: keyAlertReports({ log, counter: metrics, fullPathOf }),
    })
    const basic = new LoginReports({ method: 'kubernetes', log, counter: metrics, fullPathOf })
    const reports = new KubernetesReports({
      basic,
      log,
      looks: secondLooks(clock),
      failuresOf: (mount) => method.places.of(mount).failures,
      findRole: (mount, name) => method.places.of(mount).roles.find(name),
      examineRest: ({ call, mount, ...input }, checks) =>
        examineRest(input, method.contextOf(mount, call.remoteAddress), checks),
      callerAsks: async (mount) => (await method.askerOf(mount)) === 'caller',
    })
    const onLookalike = lookalikeReports({ log, counter: metrics, fullPathOf })
    const loginParts = { tokens, identity, spent, view, clock, systemTtl, onLookalike }
    const plan = async (login: LoginRequest) => {
      const planned = await planLogin(loginParts, login)
      const warnings = planned.login && (await core.access.warningsOf(planned.draft, planned.login.identity))
      return { ...planned, warnings: [...planned.warnings, ...(warnings ?? [])] }
    }
    const sweeper = new Periodic({
      job: core.jobs.job('kubernetes-sweep'),
      run: () => method.places.tidyLogins(),
      intervalMs: tidyIntervalMs,
      onError: (err) => log.error({ event: 'work_failed', err }, 'could not remove remembered logins'),
    })
    const background = [sweeper, ...method.places.background(log)]
    return {
      resources: [
        ...configResources({ method, history: core.history, policyExists }),
        loginResource({ method, reports, issue: (login) => issueLogin(loginParts, login) }),
        ...explainResources({ method, plan, policyExists }),
      ],
      gauges: keyGauges(
        () => method.places.keySources(),
        () => clock.now(),
      ),
      beginCounters: (mount) => {
        basic.beginCounters(mount, ['internal', 'review_unreachable'])
        metrics.beginKeyLogins(fullPathOf(mount))
      },
      loginRole: async (_mount, { role = '' }) => {
        const named = toLowerText(role)
        return 'error' in named ? '' : named.value
      },
      renewalTerms: method.renewalTerms.bind(method),
      tuned: method.tuned.bind(method),
      start: () => {
        for (const one of background) one.start()
      },
      [Symbol.asyncDispose]: async () => {
        for (const one of background) await one[Symbol.asyncDispose]()
      },
    }
  },
})
