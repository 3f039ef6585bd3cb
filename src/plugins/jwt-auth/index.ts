import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import type { LoginRequest } from '../../core/tokens/issue-login.ts'
import { ServiceError } from '../../errors.ts'
import { type Exchange, errorReply, namespaceOf, type Reply, resource, unknownPaths } from '../../http/resource.ts'
import { lowerStringField, stringField } from '../../lib/fields.ts'
import { configFields, shownConfig } from './jwt-config.ts'
import { answers } from './answers.ts'
import type { JwtMethod } from './method.ts'
import { PendingSweeper } from './oidc/pending-sweeper.ts'
import { checkNamed } from './refusal.ts'
import { roleFields, shownRole } from './role.ts'

export { JwtMethod, type JwtMethodParts } from './method.ts'

export type JwtAuthParts = {
  readonly method: JwtMethod
  /** Makes entity, alias and token of a login. */
  issue(request: LoginRequest): Promise<Pick<Reply, 'auth' | 'warnings'>>
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void }
  /** Logins nobody came back for are removed every so often; never when undefined. */
  readonly sweepIntervalMs: number | undefined
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

/** The JWT and OpenID Connect method, `auth/<mount>/*`. Contract jwt-oidc §1. */
export const jwtAuth: FastifyPluginAsync<JwtAuthParts> = async (app, { method, issue, log, sweepIntervalMs }) => {
  if (sweepIntervalMs !== undefined) {
    const onError = (err: unknown) => log.error({ err }, 'logins nobody came back for could not be removed')
    const sweeper = new PendingSweeper({ sweep: () => method.sweepPending(), intervalMs: sweepIntervalMs, onError })
    app.addHook('onReady', async () => sweeper.start())
    app.addHook('onClose', () => sweeper[Symbol.asyncDispose]())
  }

  resource(app, '/config', {
    help: 'The keys that verify tokens, and the OpenID provider.',
    read: {
      summary: 'Read the configuration',
      ...answers.config,
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
      ...answers.role,
      handle: async ({ mount, params }) => {
        const role = await method.stateOf(mount).findRole(roleName(params))
        return role && { data: shownRole(role) }
      },
    },
    write: {
      summary: 'Create or update a role',
      statuses: [204, 200],
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

  type Refused = { readonly reason: string; readonly status: number; readonly role: string }

  /** Contract jwt-oidc §11.7: a refused login leaves a line in the log. */
  const logRefused = ({ call, mount }: Pick<Exchange<unknown, unknown>, 'call' | 'mount'>, { reason, status, role: named }: Refused): void => {
    // only a name that is a role's is shown: people type passwords into wrong fields
    const role = reason === 'role_unknown' || reason === 'config_missing' ? '' : named
    const who = { request_id: call.requestId, namespace: mount.namespace, mount: mount.path, remote_address: call.remoteAddress }
    log.warn({ event: 'login_refused', ...who, role, reason, check: checkNamed(reason), status }, 'login refused')
  }

  const logged = async (exchange: Exchange<unknown, unknown>, role: () => string, login: () => Promise<Reply>): Promise<Reply> => {
    try {
      return await login()
    } catch (error) {
      if (error instanceof ServiceError && error.reason !== undefined) {
        const { status } = errorReply(error, true)
        const isOurs = status >= 500 && error.reason !== 'provider_unreachable'
        logRefused(exchange, { reason: isOurs ? 'internal' : error.reason, status, role: role() })
      }
      throw error
    }
  }

  resource(app, '/login', {
    help: 'Log in with a signed JWT.',
    open: true,
    write: {
      summary: 'Log in with a JWT',
      form: 'auth',
      input: loginInput,
      handle: (exchange) =>
        logged(
          exchange,
          () => exchange.input.role,
          async () => {
            const { call, mount, input } = exchange
            const auth = await method.login(mount, call.remoteAddress, input)
            return issue({ mount, namespacePath: namespaceOf(call).path, path: call.path, auth })
          },
        ),
    },
  })

  resource(app, '/oidc/auth_url', {
    help: 'Where a browser starts to log in.',
    open: true,
    write: {
      summary: 'Get an authorization URL',
      ...answers.authUrl,
      input: authUrlInput,
      handle: (exchange) =>
        logged(
          exchange,
          () => exchange.input.role,
          async () => {
            const { call, mount, input } = exchange
            const begun = await method.authorize(mount, call.remoteAddress, input)
            if ('url' in begun) return { data: { auth_url: begun.url } }
            logRefused(exchange, { reason: begun.refused.reason, status: 200, role: input.role })
            return { data: { auth_url: '' }, warnings: [begun.refused.text] }
          },
        ),
    },
  })

  resource(app, '/oidc/callback', {
    help: 'Where a browser ends its login.',
    open: true,
    read: {
      summary: 'Finish an OIDC login',
      form: 'auth',
      input: callbackInput,
      handle: (exchange) => {
        let role = ''
        return logged(
          exchange,
          () => role,
          async () => {
            const { call, mount, input, sent } = exchange
            const noteRole = (name: string) => {
              role = name
            }
            const auth = await whileHere(exchange, (signal) =>
              method.finishLogin(mount, input, { remoteAddress: call.remoteAddress, providerRefused: saysError(sent), noteRole, signal }),
            )
            return issue({ mount, namespacePath: namespaceOf(call).path, path: call.path, auth })
          },
        )
      },
    },
    write: {
      summary: 'Receive what a provider posts (form_post)',
      form: 'page',
      input: callbackInput,
      handle: (exchange) =>
        logged(
          exchange,
          () => '',
          async () => ({ raw: await method.keepPosted(exchange.mount, exchange.input, { providerRefused: saysError(exchange.sent) }) }),
        ),
    },
  })

  unknownPaths(app)
}

const roleName = ({ name }: { name: string }): string => name.toLowerCase()

/** A provider that refuses sends `error` in place of a code. RFC 6749 §4.1.2.1. */
const saysError = (sent: Exchange<unknown, unknown>['sent']): boolean => Object.hasOwn(sent, 'error') && sent['error'] !== ''

/** The provider is not waited for once the client is gone. */
async function whileHere<T>(exchange: Pick<Exchange<unknown, unknown>, 'whenGone'>, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const gone = new AbortController()
  const stopListening = exchange.whenGone(() => gone.abort())
  try {
    return await work(gone.signal)
  } finally {
    stopListening()
  }
}
