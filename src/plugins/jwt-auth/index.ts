import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import type { LoginRequest } from '../../core/tokens/issue-login.ts'
import { ServiceError } from '../../errors.ts'
import { type Exchange, errorReply, namespaceOf, type Reply, resource, unknownPaths } from '../../http/resource.ts'
import { lowerStringField, stringField } from '../../lib/fields.ts'
import { quoted } from '../../lib/go-text.ts'
import { configFields, hasOidcClient, shownConfig } from './config.ts'
import { thrown } from './login.ts'
import type { JwtMethod } from './method.ts'
import { checkNamed, refusal } from './refusal.ts'
import { roleFields, shownRole } from './role.ts'

export { JwtMethod, type JwtMethodParts } from './method.ts'

export type JwtAuthParts = {
  readonly method: JwtMethod
  /** Makes entity, alias and token of a login. */
  issue(request: LoginRequest): Promise<Pick<Reply, 'auth' | 'warnings'>>
  readonly log: { warn(fields: object, message: string): void }
}

const loginInput = z.object({
  role: lowerStringField.describe('Role to log in with; the configured default when empty'),
  jwt: stringField.meta({ description: 'Signed JWT', writeOnly: true }),
  distributed_claim_access_token: stringField.meta({ description: 'Access token for a provider that keeps the groups elsewhere', writeOnly: true }),
})
const authUrlInput = z.object({
  role: lowerStringField.describe('Role to log in with; the configured default when empty'),
  redirect_uri: stringField.describe('Where the provider sends the browser back to'),
  client_nonce: stringField.describe('Value the callback must repeat'),
})
const callbackInput = z.object({
  state: stringField.describe('State of the authorization URL'),
  code: stringField.describe('Code of the provider'),
  nonce: stringField.describe('Accepted, not compared'),
  client_nonce: stringField.describe('Value given to auth_url'),
  id_token: stringField.describe('ID token of the provider'),
})
const roleNames = z.object({ keys: z.array(z.string()) })

const callbackPrefix = 'Vault login failed.'
const noState = 'Expired or missing OAuth state.'

/** The JWT and OpenID Connect method, `auth/<mount>/*`. Contract jwt-oidc §1. */
export const jwtAuth: FastifyPluginAsync<JwtAuthParts> = async (app, { method, issue, log }) => {
  resource(app, '/config', {
    help: 'The keys that verify tokens, and the OpenID provider.',
    read: {
      summary: 'Read the configuration',
      output: configFields.omit({ oidc_client_secret: true }),
      handle: async ({ mount }) => {
        const ready = await method.stateOf(mount).findConfig()
        return ready && { data: shownConfig(ready.config) }
      },
    },
    write: {
      summary: 'Replace the configuration',
      input: configFields,
      handle: async ({ mount, input }) => {
        await method.putConfig(mount, input)
        return undefined
      },
    },
  })

  resource(app, '/role', {
    help: 'The roles of this mount.',
    collection: true,
    list: {
      summary: 'List the roles',
      output: roleNames,
      handle: async ({ mount }) => ({ data: { keys: await method.stateOf(mount).roleNames() } }),
    },
  })

  resource(app, '/role/:name', {
    help: 'A role: who may log in, and what the token may do.',
    canonical: (below) => below.toLowerCase(),
    exists: async ({ mount, params }) => (await method.stateOf(mount).findRole(roleName(params))) !== undefined,
    read: {
      summary: 'Read a role',
      output: roleFields,
      handle: async ({ mount, params }) => {
        const role = await method.stateOf(mount).findRole(roleName(params))
        return role && { data: shownRole(role) }
      },
    },
    write: {
      summary: 'Create or update a role',
      input: roleFields,
      handle: async ({ mount, params, input }) => {
        const warnings = await method.putRole(mount, roleName(params), input)
        return warnings.length === 0 ? undefined : { warnings }
      },
    },
    delete: {
      summary: 'Delete a role',
      handle: async ({ mount, params }) => {
        await method.stateOf(mount).deleteRole(roleName(params))
        return undefined
      },
    },
  })

  /** Contract jwt-oidc §11.7: a refused login leaves a line in the log. */
  const logged = async (exchange: Exchange<{ role: string }, unknown>, login: () => Promise<Reply>): Promise<Reply> => {
    try {
      return await login()
    } catch (error) {
      if (error instanceof ServiceError && error.reason !== undefined) {
        const { call, mount, input } = exchange
        const { status } = errorReply(error, true)
        const reason = status < 500 ? error.reason : 'internal'
        // only a name that is a role's is shown: people type passwords into wrong fields
        const role = reason === 'role_unknown' || reason === 'config_missing' ? '' : input.role
        const who = { request_id: call.requestId, namespace: mount.namespace, mount: mount.path, remote_address: call.remoteAddress }
        log.warn({ event: 'login_refused', ...who, role, reason, check: checkNamed(reason), status }, 'login refused')
      }
      throw error
    }
  }

  resource(app, '/login', {
    help: 'Log in with a signed JWT.',
    open: true,
    write: {
      summary: 'Log in with a JWT',
      input: loginInput,
      handle: (exchange) =>
        logged(exchange, async () => {
          const { call, mount, input } = exchange
          const auth = await method.login(mount, call.remoteAddress, input)
          return issue({ mount, namespacePath: namespaceOf(call).path, path: call.path, auth })
        }),
    },
  })

  resource(app, '/oidc/auth_url', {
    help: 'Where a browser starts to log in.',
    open: true,
    write: {
      summary: 'Get an authorization URL',
      input: authUrlInput,
      output: z.object({ auth_url: z.string() }),
      handle: (exchange) => logged(exchange, () => authUrl(method, exchange)),
    },
  })

  resource(app, '/oidc/callback', {
    help: 'Where a browser ends its login.',
    open: true,
    read: {
      summary: 'Finish an OIDC login',
      input: callbackInput,
      handle: async ({ mount }) => {
        const ready = await method.stateOf(mount).findConfig()
        if (ready === undefined) throw thrown(refusal('config_missing', `${callbackPrefix} Could not load configuration`))
        // no authorization URL was ever given out, so no state is known
        throw thrown(refusal('state_unknown', `${callbackPrefix} ${noState}`))
      },
    },
    write: {
      summary: 'Receive what a provider posts (form_post)',
      input: callbackInput,
      handle: async ({ mount }) => {
        const ready = await method.stateOf(mount).findConfig()
        if (ready === undefined) throw thrown(refusal('config_missing', `${callbackPrefix} Could not load configuration.`))
        if (ready.config.oidc_response_mode !== 'form_post') return { raw: { status: 405, contentType: 'application/json', body: '' } }
        return { raw: { status: 400, contentType: 'text/html', body: errorPage(callbackPrefix, noState) } }
      },
    },
  })

  unknownPaths(app)
}

const roleName = ({ name }: { name: string }): string => name.toLowerCase()

/** The refusals of contract jwt-oidc §5.1 rows 1 to 5; then, until the flow is built, the answer that clients know as "not possible". */
async function authUrl(method: JwtMethod, { mount, input }: Exchange<z.output<typeof authUrlInput>, unknown>): Promise<Reply> {
  const state = method.stateOf(mount)
  const ready = await state.findConfig()
  if (ready === undefined) throw thrown(refusal('config_missing', 'could not load configuration'))
  if (!hasOidcClient(ready.config)) throw thrown(refusal('oidc_not_configured', 'OIDC login is not configured for this mount'))
  const name = input.role || ready.config.default_role
  if (name === '') throw thrown(refusal('role_missing', 'missing role'))
  if (input.redirect_uri === '') throw thrown(refusal('redirect_uri_missing', 'missing redirect_uri'))
  if ((await state.findRole(name)) === undefined) throw thrown(refusal('role_unknown', `role ${quoted(name)} could not be found`))
  return { data: { auth_url: '' }, warnings: ['OIDC login comes with a later version'] }
}

/** Both texts are ours: nothing in it needs escaping. */
const errorPage = (summary: string, detail: string): string =>
  `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>${summary}</title></head><body><h1>${summary}</h1><p>${detail}</p></body></html>\n`
