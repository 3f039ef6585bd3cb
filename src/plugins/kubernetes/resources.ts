import { z } from 'zod'
import type { HistoryStore } from '../../core/history/history-store.ts'
import type { LoginRequest } from '../../core/tokens/acts/issue-login.ts'
import { requestedScope, scopeFields } from '../../core/tokens/store/scope.ts'
import {
  type Exchange,
  loginPlace,
  nameList,
  type Reply,
  type Resource,
  resource,
} from '../../http/resource/resource.ts'
import { guardField, made } from '../../jwt/history/tried-change.ts'
import { whatIfResource } from '../../jwt/history/what-if-resources.ts'
import { stringField } from '../../lib/text/fields.ts'
import { answers } from './answers.ts'
import { configFields, shownConfig } from './config/config.ts'
import { type RoleRecord, roleFields, roleForm, shownRole } from './config/role.ts'
import type { KubernetesReports } from './login/login-reports.ts'
import type { KubernetesMethod } from './method.ts'
import { configChange, roleChange, roleRemoval } from './what-if/tried-changes.ts'

const roleName = ({ name }: { name: string }): string => name.toLowerCase()

/** A path below the mount with its role in lower case. */
const canonicalRolePath = (below: string): string =>
  below.replace(/^role\/[^/]+/, (start) => start.toLowerCase())

type ConfigParts = {
  readonly history: HistoryStore
  readonly method: KubernetesMethod
  policyExists(name: string, namespace: string): Promise<boolean>
}

/** `config`, `role` and `role/<name>`, and what-ifs of their writes. docs/contract/kubernetes.md */
export const configResources = ({ method, history: store, policyExists }: ConfigParts): Resource[] => [
  resource('/config', {
    help: 'The cluster whose service accounts log in at this mount.',
    history: {
      store,
      record: ({ mount }) => method.places.of(mount).config.recordKey,
      path: () => 'config',
      ofTheWrite: ['guard'],
      form: async ({ mount }) => (await method.places.of(mount).config.find())?.config,
    },
    read: {
      summary: 'Read the configuration',
      ...answers.config,
      handle: async ({ mount }) => {
        const ready = await method.places.of(mount).config.find()
        return ready && { data: shownConfig(ready) }
      },
    },
    write: {
      summary: 'Replace the configuration',
      statuses: [204, 200],
      input: configFields.extend({ guard: guardField }),
      handle: (exchange) => {
        const { guard, ...input } = exchange.input
        return made(exchange, configChange({ method, mount: exchange.mount }, input), guard)
      },
    },
  }),
  nameList('/role', {
    help: 'The roles of this mount.',
    summary: 'List the roles',
    example: ['deploy', 'web'],
    names: (mount) => method.places.of(mount).roles.names(),
  }),
  resource('/role/:name', {
    help: 'A role: which service accounts may log in with it, and what its token may do.',
    canonical: canonicalRolePath,
    history: {
      store,
      record: ({ mount, params }) => method.places.of(mount).roles.recordKey(roleName(params)),
      path: ({ params }) => `role/${roleName(params)}`,
      ofTheWrite: ['guard'],
      form: async ({ mount, params }) => {
        const role = await method.places.of(mount).roles.find(roleName(params))
        return role && roleForm(role)
      },
    },
    exists: async ({ mount, params }) =>
      (await method.places.of(mount).roles.find(roleName(params))) !== undefined,
    read: {
      summary: 'Read a role',
      ...answers.role,
      handle: async ({ mount, params }) => {
        const role = await method.places.of(mount).roles.find(roleName(params))
        return role && { data: shownRole(role) }
      },
    },
    write: {
      summary: 'Create or update a role',
      statuses: [204, 200],
      input: roleFields.extend({ guard: guardField }),
      handle: (exchange) => {
        const { guard, ...sent } = exchange.input
        return made(exchange, roleWrite({ method, policyExists }, exchange, sent), guard)
      },
    },
    delete: {
      summary: 'Delete a role',
      input: z.object({}),
      handle: (exchange) =>
        made(exchange, roleRemoval({ method, mount: exchange.mount }, roleName(exchange.params))),
    },
  }),
  whatIfResource('/role/:name/what-if', {
    subject: 'role',
    summary: 'Try a write of a role on recent logins',
    input: roleFields,
    change: (exchange) => roleWrite({ method, policyExists }, exchange, exchange.input),
  }),
  whatIfResource('/config/what-if', {
    subject: 'configuration',
    summary: 'Try a configuration on recent logins; asks nobody',
    input: configFields,
    change: ({ mount, input }) => configChange({ method, mount }, input),
  }),
]

type Written = Pick<Exchange<unknown, { readonly name: string }>, 'mount' | 'params'>

const roleWrite = (
  { method, policyExists }: Omit<ConfigParts, 'history'>,
  { mount, params }: Written,
  sent: RoleRecord,
) =>
  roleChange({ method, mount }, roleName(params), {
    sent,
    exists: (policy) => policyExists(policy, mount.namespace),
  })

const loginInput = z.object({
  role: stringField.describe('Role to log in with'),
  jwt: stringField.meta({ description: 'Token of the service account', writeOnly: true }),
  ...scopeFields,
})

type LoginParts = {
  readonly method: KubernetesMethod
  readonly reports: KubernetesReports
  /** Creates entity, alias and token of a login. */
  issue(request: LoginRequest): Promise<Pick<Reply, 'auth' | 'warnings'>>
}

/** `login`. docs/contract/kubernetes.md#login-in-this-order */
export const loginResource = ({ method, reports, issue }: LoginParts): Resource =>
  resource('/login', {
    help: 'Log in with the token of a service account.',
    open: true,
    wrapsWithoutToken: true,
    namesRequest: true,
    write: {
      summary: 'Log in with the token of a service account',
      required: ['role', 'jwt'],
      form: 'auth',
      input: loginInput,
      handle: ({ call, mount, input }) =>
        reports.watch({ call, mount, role: input.role.toLowerCase(), jwt: input.jwt }, async (checks) => {
          const scope = requestedScope(input)
          const auth = await method.login(mount, input, call.remoteAddress, checks)
          return issue({ ...loginPlace(mount, call), auth: { ...auth, scope } })
        }),
    },
  })
