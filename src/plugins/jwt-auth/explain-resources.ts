import { z } from 'zod'
import type { LoginPlan, LoginRequest } from '../../core/tokens/acts/issue-login.ts'
import { requestedScope, scopeFields } from '../../core/tokens/store/scope.ts'
import { refuse } from '../../errors.ts'
import { loginPlace, type Reply, type Resource, resource } from '../../http/resource/resource.ts'
import {
  checkMaySee,
  checkMayWriteRole,
  explainSiblings,
  maySeeRole,
  roleOfFailure,
} from '../../jwt/history/explain-siblings.ts'
import { boolField, convertFields, lowerStringField, mapField, stringField } from '../../lib/text/fields.ts'
import type { JsonObject } from '../../lib/text/json.ts'
import { explainAnswers } from '../../logins/explain/explain-answers.ts'
import {
  type Asking,
  answerOf,
  checkNoSecret,
  explainedBy,
  explainedFailure,
  foundFailure,
  shownExplanation,
} from '../../logins/explain/explain-replies.ts'
import { type ExplainedCheck, shownRoles } from '../../logins/explain/explained.ts'
import { type CelRole, celRoleFields, newCelRole } from './cel/cel-role.ts'
import { type Role, roleFields } from './config/role.ts'
import { proposalsOf } from './explain/proposals.ts'
import type { JwtMethod } from './method.ts'
import { writtenRole } from './what-if/tried-changes.ts'
import { judgedNow } from './what-if/what-if.ts'

export type ExplainRouteParts = {
  readonly method: JwtMethod
  /** The outcome of a login, without writing anything. */
  plan(request: LoginRequest): Promise<LoginPlan>
  policyExists(name: string, namespace: string): Promise<boolean>
}

const failureInput = z.object({
  request_id: stringField.describe('Request whose refusal to explain, instead of a token'),
})
const explainInput = failureInput.extend({
  role: lowerStringField.describe(
    'Role to explain; the configured default if empty; `cel/ci` is CEL role `ci`',
  ),
  cel: boolField.describe('The role is a CEL role'),
  jwt: stringField.meta({
    description: 'Signed JWT; either this, `claims` or `request_id`',
    writeOnly: true,
  }),
  claims: mapField.describe('Claims to test instead of a token'),
  remote_address: stringField.describe('Client address of the login; the caller’s if empty'),
  as_token: boolField.describe('Explain the JWT as the token of a request'),
  id_token: boolField.describe('Explain the JWT as the ID token of a browser login'),
  role_fields: mapField.describe(
    'Fields of a write of the role, which is explained as that write would leave it; needs `update` on the role',
  ),
  distributed_claim_access_token: stringField.meta({
    description: 'Access token for a provider that keeps the groups elsewhere',
    writeOnly: true,
  }),
  ...scopeFields,
})
const withoutHiddenRoles = <Found extends { readonly checks: readonly ExplainedCheck[] }>(
  exchange: Asking,
  found: Found,
  path = '',
): Found => ({
  ...found,
  checks: found.checks.map((check) =>
    shownRoles(check, (role) => maySeeRole(exchange, roleOfFailure({ role, path }))),
  ),
})

type Unsaved = { readonly named: string; readonly isCel: boolean; readonly fields: JsonObject | null }

/** How the logins of a mount explain themselves. docs/explain.md */
export function explainResources({ method, plan, policyExists }: ExplainRouteParts): Resource[] {
  const shownFailure = async (exchange: Asking, requestId: string): Promise<Reply> => {
    const { mount } = exchange
    const found = foundFailure(method.places.of(mount).failures, requestId)
    checkMaySee(exchange, roleOfFailure(found.failure))
    const explained = withoutHiddenRoles(exchange, explainedFailure(found), found.failure.path)
    const isCel = explained.path === 'cel/login'
    const role = isCel ? undefined : await method.stateOf(mount).roles.find(explained.role)
    const now = role && (await judgedNow(found, role, method.memoryOf(mount)))
    return answerOf(exchange, { ...explained, ...now, proposals: proposalsOf({ ...explained, role }) })
  }
  const unsavedRole = async (
    exchange: Asking,
    { named, isCel, fields }: Unsaved,
  ): Promise<{ readonly role?: Role; readonly celRole?: CelRole }> => {
    if (fields === null) return {}
    if (named === '') throw refuse('invalid', "'role_fields' needs a role")
    checkMayWriteRole(exchange, isCel ? `cel/${named}` : named, fields)
    if (isCel) return { celRole: newCelRole(named, convertFields(celRoleFields, fields).values) }
    const { mount } = exchange
    const before = await method.stateOf(mount).roles.find(named)
    const sent = convertFields(roleFields, fields).values
    return { role: writtenRole(method, { mount, name: named }, before, sent) }
  }
  return [
    resource('/explain', {
      help: 'The outcome of a login, check by check, with reasons.',
      passesReadOnly: true,
      read: {
        summary: 'Explain a refused login',
        ...explainAnswers.explanation,
        input: failureInput,
        handle: (exchange) => {
          checkNoSecret(exchange.sent)
          return shownFailure(exchange, exchange.input.request_id)
        },
      },
      write: {
        summary: 'Explain a login',
        ...explainAnswers.explanation,
        input: explainInput.meta({ examples: [{ role: 'ci', claims: { sub: 'build-7', aud: 'ci' } }] }),
        handle: async (exchange) => {
          const { call, mount, input, sent } = exchange
          const by = explainedBy(sent)
          if (by === 'request_id') return shownFailure(exchange, input.request_id)
          const jwt = by === 'jwt' ? input.jwt : undefined
          const role = input.role.replace(/^cel\//, '')
          const isIdToken = input.id_token
          const isCel =
            input.cel ||
            role !== input.role ||
            (input.as_token && role === '' && (await method.defaultsToCel(mount)))
          if (isIdToken && (jwt === undefined || isCel || input.as_token))
            throw refuse('invalid', "'id_token' needs a 'jwt' and an ordinary role")
          const scope = requestedScope(input)
          const given = { ...input, role, isCel, isIdToken, jwt, claims: input.claims ?? undefined }
          const named = await method.loginRole(mount, role)
          checkMaySee(exchange, isCel && named !== '' ? `cel/${named}` : named)
          const { role: unsaved, celRole } = await unsavedRole(exchange, {
            named,
            isCel,
            fields: input.role_fields,
          })
          const remoteAddress = input.remote_address || call.remoteAddress
          // a token records the path that created it
          const place = {
            ...loginPlace(mount, call),
            path: `${mount.path}${isCel ? 'cel/login' : isIdToken ? 'oidc/callback' : 'login'}`,
            remoteAddress,
          }
          const explanation = await method.explain(mount, given, {
            by: { address: call.remoteAddress, whenSilent: exchange.whenSilent },
            remoteAddress,
            roles: unsaved && { find: async () => unsaved },
            celRoles: celRole && { find: async () => celRole },
            asToken: input.as_token ? { certificate: exchange.clientCertificate() } : undefined,
            plan: (auth) => plan({ ...place, auth: { ...auth, scope } }),
          })
          const explained = shownExplanation(
            withoutHiddenRoles(exchange, explanation, isCel ? 'cel/login' : undefined),
            mount,
          )
          // the bearer of a refused JWT is told nothing but 403
          const status = input.as_token && explained.status === 400 ? 403 : explained.status
          const tried =
            unsaved ?? (isCel || named === '' ? undefined : await method.stateOf(mount).roles.find(named))
          return answerOf(exchange, {
            ...explained,
            status,
            proposals: proposalsOf({
              ...explained,
              path: isIdToken ? 'oidc/callback' : undefined,
              role: tried,
            }),
          })
        },
      },
    }),
    ...explainSiblings({
      failuresOf: (mount) => method.places.of(mount).failures,
      status: {
        help: 'Where keys come from, whether they could be fetched, and recent logins.',
        answer: explainAnswers.status,
        refreshes: 'Fetch discovery document and keys now',
        read: (mount, refresh) => method.status(mount, refresh),
      },
      keys: (mount, refresh) => method.places.keys(mount, refresh),
      lint: {
        help: 'Role settings that are valid but probably not intended.',
        summary: 'Look for mistakes in roles',
        find: (mount, role) => method.lint(mount, role, (name) => policyExists(name, mount.namespace)),
      },
    }),
  ]
}
