import type { HistoryStore } from '../../core/history/history-store.ts'
import { type Exchange, nameList, type Resource, resource } from '../../http/resource/resource.ts'
import { guardField, made } from '../../jwt/history/tried-change.ts'
import { whatIfResource } from '../../jwt/history/what-if-resources.ts'
import { answers } from './config/answers.ts'
import { configInput, shownConfig } from './config/jwt-config.ts'
import { type RoleRecord, roleFields, roleForm, shownText } from './config/role.ts'
import { sourceProblem } from './explain/status.ts'
import type { JwtMethod } from './method.ts'
import { configChange, roleChange, roleRemoval } from './what-if/tried-changes.ts'

type Parts = {
  readonly method: JwtMethod
  readonly history: HistoryStore
  policyExists(name: string, namespace: string): Promise<boolean>
}

const guardedRoleFields = roleFields.extend({ guard: guardField })

const examplePublicKey = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEGzU7+bC09zmGKXXyYAr3zxVQBRr6
8aCcOdblTVB0bdDd/s/3SCnHHLUkBgsaDdhdDtYAxL7dtKJMg91fDcMWlA==
-----END PUBLIC KEY-----`

/** `config` and `role`, and what-ifs of their writes. docs/contract/jwt.md#configuration, docs/contract/jwt.md#roles */
export const configResources = ({ method, history: store, policyExists }: Parts): Resource[] => [
  resource('/config', {
    help: 'The keys that verify tokens, and the OpenID provider.',
    history: {
      store,
      record: ({ mount }) => method.stateOf(mount).configRecord,
      path: () => 'config',
      form: ({ mount }) => method.stateOf(mount).storedConfig(),
      // credentials of a provider may be in it
      secrets: ['provider_config'],
      ofTheWrite: ['skip_jwks_validation', 'guard'],
    },
    read: {
      summary: 'Read the configuration',
      ...answers.config,
      handle: async ({ mount }) => {
        const ready = await method.stateOf(mount).findConfig()
        if (ready === undefined) return undefined
        const problem = sourceProblem(ready)
        const shown = shownConfig(ready.config)
        if (problem === undefined) return { data: { ...shown, status: 'valid' } }
        return { data: { ...shown, status: 'invalid' }, warnings: [problem] }
      },
    },
    write: {
      summary: 'Replace the configuration; warns of sources without a usable key',
      statuses: [204, 200],
      input: configInput
        .extend({ guard: guardField })
        .meta({ examples: [{ jwt_validation_pubkeys: [examplePublicKey] }] }),
      handle: (exchange) => {
        const { guard, ...input } = exchange.input
        return made(exchange, configChange(method, exchange.mount, input), guard)
      },
    },
  }),
  nameList('/role', {
    help: 'The roles of this mount.',
    summary: 'List the roles',
    names: (mount) => method.stateOf(mount).roles.names(),
  }),
  resource('/role/:name', {
    help: 'A role: who may log in, and what the token may do.',
    canonical: (below) => below.toLowerCase(),
    history: {
      store,
      record: ({ mount, params }) => method.stateOf(mount).roles.recordKey(roleName(params)),
      path: ({ params }) => `role/${roleName(params)}`,
      ofTheWrite: ['guard'],
      form: async ({ mount, params }) => {
        const role = await method.stateOf(mount).roles.find(roleName(params))
        return role && roleForm(role)
      },
    },
    exists: async ({ mount, params }) =>
      (await method.stateOf(mount).roles.find(roleName(params))) !== undefined,
    read: {
      summary: 'Read a role',
      ...answers.role,
      handle: async ({ mount, params }) => {
        const role = await method.stateOf(mount).roles.find(roleName(params))
        return role && { dataText: shownText(role) }
      },
    },
    write: {
      summary: 'Create or update a role',
      statuses: [204, 200],
      input: guardedRoleFields.meta({
        examples: [
          {
            role_type: 'jwt',
            user_claim: 'sub',
            bound_audiences: ['https://vault.example.com'],
            token_ttl: '15m',
          },
        ],
      }),
      handle: (exchange) => {
        const { guard, ...sent } = exchange.input
        return made(exchange, roleWrite({ method, policyExists }, exchange, sent), guard)
      },
    },
    delete: {
      summary: 'Delete a role',
      handle: (exchange) => made(exchange, roleRemoval(method, exchange.mount, roleName(exchange.params))),
    },
  }),
  whatIfResource('/role/:name/what-if', {
    subject: 'role',
    summary: 'Try a write of a role on recent logins',
    input: roleFields.meta({
      examples: [{ role_type: 'jwt', bound_audiences: ['https://vault.example.com'] }],
    }),
    change: (exchange) => roleWrite({ method, policyExists }, exchange, exchange.input),
  }),
  whatIfResource('/config/what-if', {
    subject: 'configuration',
    summary: 'Try a configuration on recent logins',
    input: configInput,
    change: ({ mount, input }) => configChange(method, mount, input),
  }),
]

type Written = Pick<Exchange<unknown, { readonly name: string }>, 'call' | 'mount' | 'params'>

const roleWrite = (
  { method, policyExists }: Omit<Parts, 'history'>,
  { call, mount, params }: Written,
  sent: RoleRecord,
) =>
  roleChange(method, mount, roleName(params), {
    sent,
    unknown: call.converted?.unknown ?? [],
    policyExists: (name) => policyExists(name, mount.namespace),
  })

const roleName = ({ name }: { name: string }): string => name.toLowerCase()
