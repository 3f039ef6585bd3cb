import { availableParallelism } from 'node:os'
import { issueLogin } from '../../core/tokens/acts/issue-login.ts'
import { LoginQueue, type LoginQueueLimits } from '../../core/tokens/acts/login-queue.ts'
import { type LoginReportParts, LoginReports } from '../../core/tokens/acts/login-reports.ts'
import { type LookalikeReportParts, lookalikeReports } from '../../core/tokens/acts/lookalike-reports.ts'
import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { UserpassMethod } from './method.ts'
import { type Argon2Cost, productCost } from './passwords/argon2.ts'
import { Passwords } from './passwords/passwords.ts'
import { userpassResources } from './resources.ts'

export type UserpassOptions = {
  readonly metrics: LoginReportParts['counter'] & LookalikeReportParts['counter']
  /** Of how many processes of this machine this is one. */
  readonly processes: number
  /** Most refused logins remembered per mount. */
  readonly failuresKept: number
  /** Tests and benchmarks only. */
  readonly passwordCost?: Argon2Cost | undefined
}

export type { Argon2Cost }

/** Each process has its part, and at least one. docs/limits.md#passwords */
function hashingLimits(processes: number): LoginQueueLimits {
  const part = (most: number) => Math.max(1, Math.floor(most / processes))
  return {
    // one processor stays free for other work
    atOnce: part(Math.min(availableParallelism() - 1, 8)),
    waiting: part(64),
    reserved: Math.floor(part(64) / 4),
    waitingOfClient: part(8),
  }
}

/** The type `userpass`. docs/contract/userpass.md */
export const userpassPlugin = ({
  metrics,
  processes,
  failuresKept,
  passwordCost = productCost,
}: UserpassOptions): PluginDefinition => ({
  table: 'auth',
  names: ['userpass'],
  help: 'Logins of people: with a name and a password.',
  locksUsers: true,
  open: (core) => {
    const { mounts, lockouts, caches, log, random, clock, fullPathOf } = core
    const { tokens, identities: identity, spent, view, systemTtl } = core
    const queue = new LoginQueue({ limits: hashingLimits(processes), clock })
    const passwords = new Passwords({ queue, cost: passwordCost, random })
    const method = new UserpassMethod({
      mounts,
      passwords,
      lockouts,
      caches,
      random,
      clock,
      failuresKept,
      log,
    })
    const onLookalike = lookalikeReports({ log, counter: metrics, fullPathOf })
    const loginParts = { tokens, identity, spent, view, clock, systemTtl, onLookalike }
    const reports = new LoginReports({ method: 'userpass', log, counter: metrics, fullPathOf })
    return {
      resources: userpassResources({
        method,
        history: core.history,
        reports,
        log,
        issue: (login) => issueLogin(loginParts, login),
      }),
      beginCounters: (mount) => reports.beginCounters(mount),
      renewalTerms: method.renewalTerms.bind(method),
      tuned: method.tuned.bind(method),
    }
  },
})
