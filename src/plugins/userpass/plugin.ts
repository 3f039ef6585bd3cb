import { availableParallelism } from 'node:os'
import { issueLogin } from '../../core/tokens/issue-login.ts'
import { LoginReports, type LoginReportParts } from '../../core/tokens/login-reports.ts'
import type { PluginDefinition } from '../../http/plugin.ts'
import { UserpassMethod } from './method.ts'
import { type Argon2Cost, productCost } from './passwords/argon2.ts'
import { HashingQueue } from './passwords/hashing-queue.ts'
import { Passwords } from './passwords/passwords.ts'
import { userpassResources } from './resources.ts'

export type UserpassOptions = {
  readonly metrics: LoginReportParts['counter']
  /** Tests and benchmarks only. */
  readonly passwordCost?: Argon2Cost | undefined
}

export type { Argon2Cost }

/** One processor stays free for other work; so does half of the thread pool, which other work shares. */
const hashesAtOnce = Math.max(1, Math.min(availableParallelism() - 1, 8))

/** The type `userpass`. docs/contract/userpass.md */
export const userpassPlugin = ({
  metrics,
  passwordCost = productCost,
}: UserpassOptions): PluginDefinition => ({
  table: 'auth',
  names: ['userpass'],
  locksUsers: true,
  open: (core) => {
    const { log, random, lockouts, fullPathOf } = core
    const queue = new HashingQueue({ atOnce: hashesAtOnce, waiting: 64, waitingOfClient: 8 })
    const passwords = new Passwords({ queue, cost: passwordCost, random })
    const method = new UserpassMethod({ ...core, passwords })
    const loginParts = { ...core, identity: core.identities }
    return {
      resources: userpassResources({
        ...{ method, lockouts },
        reports: new LoginReports({ method: 'userpass', log, counter: metrics, fullPathOf }),
        issue: (login) => issueLogin(loginParts, login),
      }),
      renewalTerms: method.renewalTerms.bind(method),
    }
  },
})
