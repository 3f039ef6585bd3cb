import type { Workload } from './bench-case.ts'
import { directCases } from './direct.ts'
import { healthCases } from './health.ts'
import { kvCases } from './kv.ts'
import { listRolesCases } from './list-roles.ts'
import { algorithmCases, loginCases } from './login.ts'
import { lookupSelfCases, lookupSelfInGroupsCases } from './lookup-self.ts'
import { approleCases, userpassCases } from './machine-logins.ts'
import { messageCreateCases } from './message-creates.ts'
import { messageCases } from './messages.ts'
import { roleReadCases } from './role-read.ts'
import { writeCases } from './writes.ts'

/** Measured against the floor program, a bare route, or other requests to the same server. */
export const workloads: Readonly<Record<string, Workload>> = {
  login: loginCases,
  algorithms: algorithmCases,
  'lookup-self': lookupSelfCases,
  'lookup-self-groups': lookupSelfInGroupsCases,
  'role-read': roleReadCases,
  'list-roles': listRolesCases,
  health: healthCases,
  messages: messageCases,
  'message-create': messageCreateCases,
  writes: writeCases,
}

/** Those that are not measured unless they are named. */
export const onlyIfAsked = ['algorithms', 'writes']

/** Measured against another server. The last one changes the role of the logins. */
export const sharedWorkloads: Readonly<Record<string, Workload>> = {
  login: loginCases,
  'lookup-self': lookupSelfCases,
  'role-read': roleReadCases,
  'list-roles': listRolesCases,
  health: healthCases,
  kv: kvCases,
  approle: approleCases,
  userpass: userpassCases,
  direct: directCases,
}
