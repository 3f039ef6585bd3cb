import type { IncomingMessage } from 'node:http'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { PresentedJwt } from '../../core/mounts/mount-type.ts'
import type { MountTypeRegistry } from '../../core/mounts/mount-type-registry.ts'
import type { Namespace } from '../../core/namespaces/namespace.ts'
import type { NamespaceStore } from '../../core/namespaces/namespace-store.ts'
import type { IssuedToken } from '../../core/tokens/acts/auth-block.ts'
import { refuse, ServiceError } from '../../errors.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import { FieldError } from '../../lib/text/fields.ts'
import type { JsonLimits, JsonValue } from '../../lib/text/json.ts'
import type { Call } from '../exchange/call.ts'
import type { Reply } from '../exchange/envelope.ts'
import { failureText } from '../exchange/error-reply.ts'
import type { Served } from '../exchange/exchange.ts'
import type { Host } from '../exchange/host.ts'
import type { RateLimits } from '../exchange/rate-limits.ts'
import { valuesOf } from '../exchange/request-headers.ts'
import { insideMount } from '../resource/answer.ts'
import { type Carried, checkServed, placeOf, taintedRefusal } from '../steps/admission.ts'
import { note } from '../steps/audited-reply.ts'
import type { Auditing } from '../steps/auditing.ts'
import { ConvertedFields } from '../steps/convert-fields.ts'
import { refusalOf } from '../steps/refuse.ts'
import { hasInlineLogin, inlinePrefix, readInlineLogin } from './inline-headers.ts'
import { isJwt, presentedJwt } from './jwt-token.ts'
import type { LoginRoutes } from './login-routes.ts'
import { checkNoScope, sentScope } from './scope-header.ts'

export type CarriedLoginParts = {
  readonly namespaces: Pick<NamespaceStore, 'resolve' | 'lineageOf' | 'isLive' | 'lockRefusal'>
  readonly mounts: Pick<MountStore, 'table'>
  readonly mountTypes: Pick<MountTypeRegistry, 'tokenLogin'>
  readonly routes: LoginRoutes
  readonly limiter: RateLimits
  readonly audit: Auditing
  readonly host: Host
  /** Limits of parameters. */
  readonly limits: JsonLimits
  readonly log: { readonly warn: LogLine }
}

/** A login, and the namespace and mount of its path. */
type Login = {
  readonly kind: 'inline' | 'token'
  readonly namespace: Namespace
  readonly path: string
  readonly operation: 'create' | 'update' | 'read'
  readonly fields: Readonly<Record<string, JsonValue>>
}

/**
 * Runs the logins that requests carry, with the code of the login's own route: same checks, same effects. Their tokens
 * are not stored. docs/contract/inline-login.md
 */
export class CarriedLogins implements Carried {
  readonly #parts: CarriedLoginParts

  constructor(parts: CarriedLoginParts) {
    this.#parts = parts
  }

  ofHeaders(raw: IncomingMessage, call: Call): Promise<IssuedToken> | undefined {
    return hasInlineLogin(raw) ? this.#inline(raw, call) : undefined
  }

  async #inline(raw: IncomingMessage, call: Call): Promise<IssuedToken> {
    try {
      return await this.#run(raw, call, () => this.#inHeaders(raw))
    } catch (error) {
      // the entries of the login stand for those of the request
      call.trail = undefined
      call.hasRefusedLogin = true
      throw error
    }
  }

  #inHeaders(raw: IncomingMessage): Login {
    const { namespaces, limits } = this.#parts
    const isNamespace = (named: string) => namespaces.resolve(named, '') !== undefined
    const { namespace: named, path, ...login } = readInlineLogin(raw, { limits, isNamespace })
    const found = namespaces.resolve(named, path)
    if (found === undefined) throw new Error('a namespace has gone while it was looked at')
    return { ...login, kind: 'inline', namespace: found.namespace, path: path.slice(found.taken) }
  }

  ofToken(raw: IncomingMessage, call: Call, isDecisive: boolean): Promise<IssuedToken> | undefined {
    if (isJwt(call.presented)) return this.#byJwt(raw, call, isDecisive)
    checkNoScope(raw)
    return undefined
  }

  async #byJwt(raw: IncomingMessage, call: Call, isDecisive: boolean): Promise<IssuedToken> {
    const presented = presentedJwt(call.presented, valuesOf(raw, 'x-gatehouse-role'))
    const scope = sentScope(raw, this.#parts.limits)
    const login = presented === 'unusable' ? undefined : await this.#asToken(call, presented)
    if (login === undefined) {
      const error = refuse('denied', 'permission denied', {
        operatorText: 'no mount takes the JWTs of its issuer as tokens, or the request names several roles',
      })
      if (isDecisive) this.#logUnread(call, error)
      throw error
    }
    const scoped = { ...login, fields: { ...login.fields, ...scope } }
    return this.#run(raw, call, () => scoped).catch((error: unknown) => {
      if (isDecisive) call.trail = undefined
      throw untold(error)
    })
  }

  /** The login at the mount that takes the JWT, in the nearest namespace, from that of the request upwards. */
  async #asToken(call: Call, presented: PresentedJwt): Promise<Login | undefined> {
    const { namespaces, mountTypes } = this.#parts
    for (const namespace of namespaces.lineageOf(placeOf(call).namespace).toReversed()) {
      const login = await mountTypes.tokenLogin(namespace.id, presented)
      if (login !== undefined) return { ...login, kind: 'token', namespace, operation: 'update' }
    }
    return undefined
  }

  async #run(raw: IncomingMessage, call: Call, read: () => Login): Promise<IssuedToken> {
    const login = this.#begun(call, read)
    try {
      await this.#checkLimits(call, login)
      return await this.#logIn(raw, login)
    } catch (error) {
      call.reason = login.reason
      call.limitHeaders = login.limitHeaders ?? call.limitHeaders
      throw error
    } finally {
      if (login.isRefusedLogin) this.#parts.limiter.noteRefusedLogin(login)
    }
  }

  /** The login as a call of its own, with the id of the request. */
  #begun(call: Call, read: () => Login): Call {
    const { namespaces, mounts } = this.#parts
    try {
      const { kind, namespace, path, operation, fields } = read()
      const hit = mounts.table.resolve(namespace.id, path)
      const login: Call = {
        ...call,
        loginKind: kind,
        operation: operation === 'read' ? 'read' : 'write',
        creates: operation === 'create',
        path,
        query: '',
        namespace,
        mount: hit?.mount,
        below: hit?.below ?? '',
        wrapTtl: 0,
        sent: fields,
        reason: '',
        limitHeaders: undefined,
        trail: undefined,
      }
      if (namespace.id !== 'root') checkServed(namespaces, login, namespace)
      return login
    } catch (error) {
      this.#logUnread(call, error)
      throw error
    }
  }

  async #checkLimits(call: Call, login: Call): Promise<void> {
    const { limiter } = this.#parts
    try {
      if (limiter.isOn) limiter.checkHead(login)
      if (login.mount?.table === 'auth') limiter.checkRefusedLogins(login)
      await limiter.checkLogin(login)
    } catch (error) {
      this.#logUnread(call, error)
      throw error
    }
  }

  /** What was refused before the login has no audit entry. A path may be anything, so the line does not show it. */
  #logUnread({ requestId: request_id, remoteAddress: remote_address }: Call, error: unknown): void {
    if (!(error instanceof ServiceError)) return
    const why = error.kind === 'limited' ? 'rate limit quota exceeded' : (error.operatorText ?? error.message)
    this.#parts.log.warn(
      { event: 'inline_auth_refused', request_id, remote_address, error: why },
      'a login that a request carries was refused',
    )
  }

  async #logIn(raw: IncomingMessage, login: Call): Promise<IssuedToken> {
    const { audit } = this.#parts
    if (audit.isOn) audit.begin(login)
    try {
      return await this.#answered(raw, login)
    } catch (error) {
      await audit.recordFailure(raw, login, { error, text: failureText(error, true) })
      throw error
    }
  }

  async #answered(raw: IncomingMessage, login: Call): Promise<IssuedToken> {
    const { audit, host } = this.#parts
    const { served, params } = this.#routeOf(login)
    await audit.recordRequest(raw, login, (error) => failureText(error, true))
    const reply = await handled({ host, served, params, raw }, login)
    // the page of a browser: docs/contract/oidc.md#callback-modes
    if (reply?.issued === undefined) throw refuse('denied', 'permission denied')
    if (login.trail !== undefined) note(login.trail, reply, reply.warnings ?? [])
    await audit.recordResponse(login)
    return reply.issued
  }

  /** Throws for a path that is no login. */
  #routeOf(login: Call): { served: Served; params: Readonly<Record<string, string>> } {
    const { trail, mount, below, operation } = login
    if (trail !== undefined) {
      trail.isReached = true
      trail.isCeremony = true
    }
    if (operation === 'write' && login.path.endsWith('/'))
      throw refuse('invalid', "cannot write to a path ending in '/'")
    const route = mount && this.#parts.routes.find(mount, below)
    if (mount === undefined || route === undefined) throw refuse('denied', 'permission denied')
    const served = route.verbs[operation === 'read' ? 'read' : 'write']
    if (served === undefined) throw refuse('unsupported', `${inlinePrefix}unsupported operation`)
    if (trail !== undefined) {
      trail.isCeremony = served.rules.isCeremony
      trail.secrets = served.rules.secrets()
      trail.isAllowed = true
    }
    if (mount.tainted) throw taintedRefusal(login)
    return { served, params: route.params }
  }
}

type Handling = {
  readonly host: Host
  readonly served: Served
  readonly params: Readonly<Record<string, string>>
  readonly raw: IncomingMessage
}

/** The login's own answer. */
async function handled({ host, served, params, raw }: Handling, login: Call): Promise<Reply | undefined> {
  const { rules, handle } = served
  try {
    login.converted = new ConvertedFields(rules.schema, rules.fieldsOf(login))
    rules.checkUndeclared(login)
    return await insideMount(host, login, () => handle(rules.exchange({ raw, params }, login)))
  } catch (error) {
    throw worded(error instanceof FieldError ? refusalOf(error) : error)
  }
}

/** Adds the prefix that Vault gives to whatever it regards as more than a refusal of the login. */
function worded(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error
  const { kind, message, reason, operatorText, isPromised, isFailureElsewhere, cause } = error
  if (kind !== 'denied' && kind !== 'internal' && !isFailureElsewhere) return error
  return refuse(kind, inlinePrefix + message, { reason: reason ?? '', operatorText, isPromised, cause })
}

/**
 * A stranger learns neither the mount nor the role nor the reason; the operator finds them by the id of the request.
 * docs/contract/inline-login.md#a-jwt-as-the-token
 */
function untold(error: unknown): unknown {
  if (!(error instanceof ServiceError) || !isRefusal.has(error.kind)) return error
  if (error.reason === 'keys_unavailable')
    return refuse('unavailable', 'permission cannot be checked: keys of the provider are unavailable')
  return refuse('denied', 'permission denied')
}

const isRefusal: ReadonlySet<string> = new Set(['invalid', 'denied', 'missing', 'unsupported', 'too-large'])
