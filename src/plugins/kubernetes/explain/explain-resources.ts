import { z } from 'zod'
import type { LoginPlan, LoginRequest } from '../../../core/tokens/acts/issue-login.ts'
import { requestedScope, scopeFields } from '../../../core/tokens/store/scope.ts'
import { refuse } from '../../../errors.ts'
import { loginPlace, type Resource, resource } from '../../../http/resource/resource.ts'
import { checkMaySee, checkMayWriteRole, explainSiblings } from '../../../jwt/history/explain-siblings.ts'
import { convertFields, lowerStringField, mapField, stringField } from '../../../lib/text/fields.ts'
import type { JsonObject } from '../../../lib/text/json.ts'
import {
  type Asking,
  answerOf,
  checkNoSecret,
  type Explained,
  explainedBy,
  explainedFailure,
  foundFailure,
  shownExplanation,
} from '../../../logins/explain/explain-replies.ts'
import type { Proposal } from '../../../logins/explain/explained.ts'
import { answers } from '../answers.ts'
import { type Role, roleFields } from '../config/role.ts'
import type { KubernetesMethod } from '../method.ts'
import { writtenRole } from '../what-if/tried-changes.ts'
import { judgedNow } from '../what-if/what-if.ts'
import { explainLogin } from './explain.ts'
import { proposalsOf } from './proposals.ts'
import { statusOf } from './status.ts'

type Parts = {
  readonly method: KubernetesMethod
  /** The outcome of a login, without writing anything. */
  plan(request: LoginRequest): Promise<LoginPlan>
  policyExists(name: string, namespace: string): Promise<boolean>
}

const failureInput = z.object({
  request_id: stringField.describe('Request whose refusal to explain, instead of a token'),
})
const explainInput = failureInput.extend({
  role: lowerStringField.describe('Role to explain'),
  jwt: stringField.meta({
    description: 'Token of a service account; either this, `claims` or `request_id`',
    writeOnly: true,
  }),
  claims: mapField.describe('Claims to test instead of a token'),
  remote_address: stringField.describe('Client address of the login; the caller’s if empty'),
  role_fields: mapField.describe(
    'Fields of a write of the role, which is explained as that write would leave it; needs `update` on the role',
  ),
  ...scopeFields,
})
type WithProposals = { readonly proposals: readonly Proposal[] }

/** How the logins of a mount explain themselves. docs/contract/kubernetes.md#explain */
export function explainResources({ method, plan, policyExists }: Parts): Resource[] {
  const seenFailure = async (exchange: Asking, requestId: string): Promise<Explained & WithProposals> => {
    const { mount } = exchange
    const found = foundFailure(method.places.of(mount).failures, requestId)
    checkMaySee(exchange, found.failure.role)
    const explained = explainedFailure(found)
    const role = await method.places.of(mount).roles.find(explained.role)
    const memory = method.memoryOf(mount)
    // a renewal compares no address
    const now =
      role === undefined || explained.path === 'renew'
        ? undefined
        : await judgedNow(found, role, { ...memory, ready: await memory.config.find() })
    return { ...explained, ...now, proposals: proposalsOf({ ...explained, role }) }
  }
  const unsavedRole = async (
    exchange: Asking,
    name: string,
    fields: JsonObject | null,
  ): Promise<Role | undefined> => {
    const { mount } = exchange
    const before = await method.places.of(mount).roles.find(name)
    if (fields === null) return before
    if (name === '') throw refuse('invalid', "'role_fields' needs a role")
    checkMayWriteRole(exchange, name, fields)
    return writtenRole({ method, mount }, name, before, convertFields(roleFields, fields).values)
  }
  return [
    resource('/explain', {
      help: 'The outcome of a login, check by check, with reasons.',
      passesReadOnly: true,
      read: {
        summary: 'Explain a refused login',
        ...answers.explanation,
        input: failureInput,
        handle: async (exchange) => {
          checkNoSecret(exchange.sent)
          return answerOf(exchange, await seenFailure(exchange, exchange.input.request_id))
        },
      },
      write: {
        summary: 'Explain a login; asks the cluster',
        ...answers.explanation,
        input: explainInput.meta({ examples: [{ role: 'web', claims: { aud: ['gatehouse'] } }] }),
        handle: async (exchange) => {
          const { call, mount, input, sent } = exchange
          const by = explainedBy(sent)
          if (by === 'request_id') return answerOf(exchange, await seenFailure(exchange, input.request_id))
          checkMaySee(exchange, input.role)
          const remoteAddress = input.remote_address || call.remoteAddress
          const place = { ...loginPlace(mount, call), path: `${mount.path}login`, remoteAddress }
          const scope = requestedScope(input)
          const given = {
            role: input.role,
            ...(by === 'jwt' ? { jwt: input.jwt } : { claims: input.claims ?? {} }),
          }
          const role = await unsavedRole(exchange, input.role, input.role_fields)
          const explanation = await explainLogin(given, {
            context: { ...method.contextOf(mount, remoteAddress), findRole: async () => role },
            grant: (admitted) => method.grant(mount, admitted),
            plan: (auth) => plan({ ...place, auth: { ...auth, scope } }),
          })
          const explained = shownExplanation(explanation, mount)
          return answerOf(exchange, { ...explained, proposals: proposalsOf({ ...explained, role }) })
        },
      },
    }),
    ...explainSiblings({
      failuresOf: (mount) => method.places.of(mount).failures,
      status: {
        help: 'The cluster, whose token asks it, and how its last review ended.',
        answer: answers.status,
        refreshes: 'Ask the cluster now',
        read: (mount, refresh) => statusOf(method, mount, { refresh }),
      },
      keys: (mount, refresh) => method.places.keys(mount, refresh),
      lint: {
        help: 'Settings that are valid but probably not intended.',
        summary: 'Look for mistakes in roles and configuration',
        find: (mount, role) =>
          method.lint(mount, { role, exists: (name) => policyExists(name, mount.namespace) }),
      },
    }),
  ]
}
