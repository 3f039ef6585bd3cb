import { z } from 'zod'
import { Periodic } from '../../core/jobs/background.ts'
import {
  type LoginReportParts,
  LoginReports,
  type RefusedLogin,
} from '../../core/tokens/acts/login-reports.ts'
import { type LookalikeReportParts, lookalikeReports } from '../../core/tokens/acts/lookalike-reports.ts'
import { requestedScope, scopeFields } from '../../core/tokens/store/scope.ts'
import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { loginPlace, lowerCase, maySend, type Resource, resource } from '../../http/resource/resource.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import { stringField } from '../../lib/text/fields.ts'
import { LoginSteps } from '../../logins/explain/login-steps.ts'
import { recordRefused } from '../../logins/explain/record-refused.ts'
import { failureOf, refusedLoginResources } from '../../logins/explain/secret-logins.ts'
import { lintResource } from './lint.ts'
import { loginChecks } from './login.ts'
import { ApproleMethod, type LoginAttempt } from './method.ts'
import { roleResources } from './role-resources.ts'
import { secretIdResources } from './secret-id-resources.ts'
import { Tidy, tidyResource } from './tidy.ts'

const sweepIntervalMs = 60_000

export type ApproleOptions = {
  readonly metrics: LoginReportParts['counter'] & LookalikeReportParts['counter']
  /** Most refused logins remembered per mount. */
  readonly failuresKept: number
}

/** The type `approle`. docs/contract/approle.md */
export const approlePlugin = ({ metrics, failuresKept }: ApproleOptions): PluginDefinition => ({
  table: 'auth',
  names: ['approle'],
  help: 'Logins of machines: with a role id and, if the role wants one, a secret id.',
  locksUsers: true,
  open: (core) => {
    const { mounts, lockouts, caches, log, random, clock, mostListBytes, fullPathOf } = core
    const { tokens, identities: identity, spent, view, systemTtl } = core
    const onLookalike = lookalikeReports({ log, counter: metrics, fullPathOf })
    const loginParts = { tokens, identity, spent, view, clock, systemTtl, onLookalike }
    const method = new ApproleMethod({ ...loginParts, mounts, random, caches, lockouts, failuresKept })
    const sweeper = new Periodic({
      job: core.jobs.job('secret-id-sweep'),
      run: (stopping) => method.sweep(stopping),
      intervalMs: sweepIntervalMs,
      onError: (err) => log.error({ event: 'work_failed', err }, 'could not remove expired secret ids'),
    })
    const tidy = new Tidy({ method, log })
    const reports = new LoginReports({ method: 'approle', log, counter: metrics, fullPathOf })
    return {
      resources: [
        ...roleResources(method, core.history),
        ...secretIdResources({ method, mostListBytes }),
        loginResource({ method, reports, log }),
        ...refusedResources(method),
        tidyResource(tidy),
        lintResource({ method, policies: core.policies, clock }),
      ],
      beginCounters: (mount) => reports.beginCounters(mount),
      loginRole: (mount, { role_id = '' }) => method.loginRole(mount, role_id),
      renewalTerms: method.renewalTerms.bind(method),
      tuned: method.tuned.bind(method),
      start: () => sweeper.start(),
      settle: () => method.sweep(new AbortController().signal),
      [Symbol.asyncDispose]: async () => {
        await Promise.all([sweeper[Symbol.asyncDispose](), tidy[Symbol.asyncDispose]()])
      },
    }
  },
})

const loginInput = z.object({
  role_id: stringField.describe('The id of the role'),
  secret_id: stringField.meta({
    description: 'A secret id of the role, unless the role needs none',
    writeOnly: true,
  }),
  ...scopeFields,
})

type LoginResourceParts = {
  readonly method: ApproleMethod
  readonly reports: LoginReports
  readonly log: { readonly error: LogLine }
}

/** `login`. docs/contract/approle.md#login-in-this-order */
const loginResource = ({ method, reports, log }: LoginResourceParts): Resource =>
  resource('/login', {
    help: 'Log in with a role id and a secret id.',
    open: true,
    wrapsWithoutToken: true,
    namesRequest: true,
    write: {
      summary: 'Log in with a role id and a secret id',
      required: ['role_id'],
      form: 'auth',
      input: loginInput,
      handle: ({ call, mount, input }) => {
        const attempt: LoginAttempt = {
          roleId: input.role_id,
          secretId: input.secret_id,
          role: '',
          steps: new LoginSteps(loginChecks),
        }
        const record = (refused: RefusedLogin) =>
          recordRefused({ failures: method.failuresOf(mount), call, mount, log }, async () =>
            failureOf({
              refused,
              steps: attempt.steps,
              role: attempt.role,
              subject: attempt.roleId.trim(),
              discreet: {},
            }),
          )
        return reports.watch({ call, mount, who: () => ({ role: attempt.role }), record }, async () =>
          method.login({ ...loginPlace(mount, call), scope: requestedScope(input) }, attempt),
        )
      },
    },
  })

/** `explain`, `failures` and `failures/hash`. docs/contract/approle.md#why-a-login-was-refused */
const refusedResources = (method: ApproleMethod): Resource[] =>
  refusedLoginResources({
    failuresOf: (mount) => method.failuresOf(mount),
    isSeen: (exchange, { role }) =>
      role === '' || maySend(exchange, { operation: 'read', path: `role/${role}`, canonical: lowerCase }),
    mayExplain: () => true,
  })
