import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { type Access, type Caller, unlessDenied } from '../../core/callers/access.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import { belowMount } from '../../core/mounts/spellings.ts'
import { type Namespace, rootNamespace } from '../../core/namespaces/namespace.ts'
import type { NamespaceStore } from '../../core/namespaces/namespace-store.ts'
import { suffixOf } from '../../core/namespaces/suffix.ts'
import type { AclRequest } from '../../core/policies/acl.ts'
import type { IssuedToken } from '../../core/tokens/acts/auth-block.ts'
import { isWrapping } from '../../core/wrapping/wrapper.ts'
import { fail, refuse, ServiceError } from '../../errors.ts'
import { FieldError } from '../../lib/text/fields.ts'
import type { JsonLimits, JsonValue } from '../../lib/text/json.ts'
import { isJwt } from '../carried/jwt-token.ts'
import { queryFields, readFields, readPatchFields } from '../exchange/body.ts'
import { type Call, callOf } from '../exchange/call.ts'
import type { RouteRules } from '../exchange/exchange.ts'
import { aclOperationOf, partOf } from '../exchange/operation.ts'
import { checkMfaHeader, tokenOf, wrapTtlOf } from '../exchange/request-headers.ts'
import { isRelative } from '../exchange/target.ts'
import { revertedVersion } from '../resource/kept-history.ts'
import { checkWindows, type WindowParts } from './check-windows.ts'
import { ConvertedFields } from './convert-fields.ts'

export type AdmissionParts = {
  access: Access
  namespaces: Pick<NamespaceStore, 'isRootOnly' | 'byId' | 'isLive' | 'lockRefusal'>
  /** The mount that a path of a namespace belongs to. */
  resolve(namespace: string, path: string): { mount: Mount } | undefined
  jsonLimits: JsonLimits
  /** Limits on paths that need no token. */
  openJsonLimits: JsonLimits
  isSealed(): boolean
  /** Whether clients are told a version of Vault Enterprise, whose words they then expect. */
  readonly reportsEnterprise: boolean
  /** Checks the rate limit of a login that waited for its role; throws `limited`. docs/contract/quotas.md */
  limitLogin(call: Call): Promise<void> | undefined
  /** Maximum TTL of tokens and leases of the mount, in seconds. */
  maxTtlOf(mount: Mount): number
  readonly carried: Carried
  readonly windows: WindowParts
  /** Called for each request whose rights have been looked at, allowed or not. Undefined: nobody remembers them. */
  readonly noteUse: ((call: Call, caller: Caller) => void) | undefined
}

/** The logins that requests carry. docs/contract/inline-login.md */
export type Carried = {
  /** Undefined for a request without a login in its headers. Rejects with what refuses the login. */
  ofHeaders(raw: IncomingMessage, call: Call): Promise<IssuedToken> | undefined
  /**
   * Undefined for a token that is no JWT. Rejects if the JWT is refused, which ends the request if it is `decisive`: then
   * the audit entries of the login stand for those of the request.
   */
  ofToken(raw: IncomingMessage, call: Call, isDecisive: boolean): Promise<IssuedToken> | undefined
}

const rootOnly =
  /^sys\/(?:audit|audit-hash|audit-chain|config\/(?:auditing|cors|reload|state|ui\/headers)|generate-recovery-token|generate-root|generate-root-token|health|host-info|in-flight-req|init|internal\/counters\/(?:activity|config)|internal\/inspect\/router|loggers|metrics|mfa\/method|monitor|pprof|quotas\/(?:config|lease-count|rate-limit)|raw|rekey|rekey-recovery-key|replication\/(?:merkle-check|recover|reindex|status)|rotate|seal|sealwrap\/rewrap|step-down|storage|sync\/config|unseal)(?:\/|$)/

/** A request whose body, if it has one, is read as bytes. Its fields take the place of the body or the query. */
type UnreadRequest = Pick<FastifyRequest, 'raw' | 'params' | 'body' | 'query'>

/** Admits a request to a route with these rules, or throws a refusal. */
export type Admit = (request: UnreadRequest, rules: RouteRules) => Promise<void>

/**
 * Runs the checks between routing and the handler, in the order of
 * docs/contract/http.md#the-order-of-refusals: the first refusal wins. Afterwards the call has its fields and
 * its caller.
 */
export function admission(parts: AdmissionParts): Admit {
  const { access, namespaces, resolve, isSealed, maxTtlOf, carried } = parts
  return async (request, rules) => {
    const call = callOf(request.raw)
    call.presented = tokenOf(request.raw)
    const body = bytesOf(request)
    const isOfStranger = !rules.open && isLarge(body) && !(await isKnown(call))
    const limits = rules.open ? parts.openJsonLimits : parts.jsonLimits
    try {
      readRequest(request, call, { limits, body: isOfStranger ? undefined : body })
    } finally {
      // a login that cannot be read counts too
      const limited = parts.limitLogin(call)
      if (limited !== undefined) await limited
    }
    if (call.takePlace !== undefined) await call.takePlace()
    if (isSealed()) throw sealedRefusal()
    if (call.namespace === undefined) throw refuse('missing', unknownNamespace(request.raw, call, parts))
    if (call.namespace.id !== 'root') {
      checkServed(namespaces, call, call.namespace)
      if (rootOnly.test(call.path)) throw refuse('invalid', 'operation only available in root namespace')
    }
    const loggingIn = carried.ofHeaders(request.raw, call)
    const login = loggingIn && (await loggingIn)
    if (rules.dropsSlash && call.path.endsWith('/')) {
      call.path = call.path.slice(0, -1)
      call.below = call.below.slice(0, -1)
    }
    if ((call.operation === 'write' || call.operation === 'patch') && call.path.endsWith('/')) {
      throw refuse('invalid', "cannot write to a path ending in '/'")
    }
    if (call.operation === 'preflight')
      throw refuse('invalid', 'cannot handle internal-only request operation')
    // a JWT as the token is looked at where the request was sent
    if (login !== undefined) follow(call, rules, suffixOf(login.token.namespace))
    else if (rules.follows !== undefined && !isJwt(call.presented)) follow(call, rules, call.presented)
    const hasLogin = login !== undefined
    const checked = precheck(call, rules, hasLogin)
    if (checked !== undefined) await checked
    request[partOf(call.operation)] = rules.fieldsOf(call)
    if (call.trail !== undefined) {
      call.trail.isReached = true
      call.trail.isCeremony = rules.isCeremony
      call.trail.secrets = rules.secrets()
    }
    const inline = login && (await callerOf(login, call))
    if (rules.open) await admitOpen(call, rules, request.raw, inline)
    else {
      call.caller = inline ?? (await authenticated(call, rules, request.raw))
      if (isOfStranger) {
        // a token became valid since
        if (call.caller.carried === undefined) throw refuse('denied', 'permission denied')
        call.sent = fieldsOf(call, body, limits)
        await precheck(call, rules, hasLogin)
        request[partOf(call.operation)] = rules.fieldsOf(call)
      }
      const version = revertedVersion(call)
      if (version !== undefined) await restore(request, call, { rules, caller: call.caller, version })
      try {
        if (rules.exists !== undefined)
          await lookForTarget(call, rules, { exists: rules.exists, request, caller: call.caller })
        authorize(call, rules, call.caller)
      } finally {
        parts.noteUse?.(call, call.caller)
      }
    }
    if (call.trail !== undefined) call.trail.isAllowed = true
    if (rules.haltedBy.length > 0) await checkWindows(parts.windows, request.raw, call, rules)
    if (call.wrapTtl > 0 && call.operation !== 'help') await admitWrapping(call, rules, inline)
    if (call.mount?.tainted === true && !rules.whileRemoved) throw taintedRefusal(call)
  }

  /**
   * A caller with a token is known, and stored responses are attributed to it. Without one, or with a
   * wrapping token alone, only a login or a lookup of a wrapping token is wrapped, for no longer than a token
   * of the mount may live. docs/contract/wrapping.md#wrapping
   */
  async function admitWrapping(call: Call, rules: RouteRules, inline: Caller | undefined): Promise<void> {
    const caller =
      call.caller ?? inline ?? (await access.findCaller(call.presented, call.remoteAddress, call.namespace))
    if (caller !== undefined && !isWrapping(caller.token)) return
    if (caller === undefined && !rules.wrapsWithoutToken) throw refuse('invalid', 'wrapping needs a token')
    call.wrapsForStranger = caller === undefined
    if (call.mount !== undefined) call.wrapTtl = Math.min(call.wrapTtl, maxTtlOf(call.mount))
  }

  /**
   * Whether the caller has a valid token. Parsing a large body takes time, so it is not parsed for callers
   * who will be refused.
   */
  async function isKnown({ presented, remoteAddress, namespace }: Call): Promise<boolean> {
    return !isSealed() && (await access.findCaller(presented, remoteAddress, namespace)) !== undefined
  }

  /** The caller whose login the request carries, in the namespace that the call has by now. */
  function callerOf(login: IssuedToken, call: Call): Promise<Caller> {
    return access.ofLogin(login, { ...placeOf(call), tokenId: call.presented })
  }

  async function admitOpen(
    call: Call,
    rules: RouteRules,
    raw: IncomingMessage,
    inline: Caller | undefined,
  ): Promise<void> {
    if (rules.caller === 'none') return
    const isDecisive = rules.caller !== 'if-good'
    const recognized = async () => {
      const login = await carried.ofToken(raw, call, isDecisive)
      return login === undefined
        ? access.recognize(call.presented, call.remoteAddress, call.namespace)
        : callerOf(login, call)
    }
    if (inline !== undefined) call.caller = inline
    else if (call.presented !== '' || rules.caller === 'required-inside')
      call.caller = await (isDecisive ? recognized() : unlessDenied(recognized()))
  }

  async function authenticated(call: Call, rules: RouteRules, raw: IncomingMessage): Promise<Caller> {
    try {
      const loggingIn = carried.ofToken(raw, call, true)
      if (loggingIn === undefined)
        return await access.authenticate(call.presented, call.remoteAddress, call.namespace)
      const login = await loggingIn
      follow(call, rules, suffixOf(login.token.namespace))
      return await callerOf(login, call)
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'denied')
        throw rules.refusedCaller?.(call.sent, call.presented) ?? error
      throw error
    }
  }

  /**
   * Moves the call to the namespace of an id that it carries, if that exists; the path has the same fixed mount there.
   * docs/contract/namespaces.md#calls-that-follow-an-id
   */
  function follow(call: Call, { follows }: RouteRules, presented: string): void {
    if (follows === undefined || namespaces.isRootOnly) return
    const id = follows(call.sent, presented)
    const namespace = id === undefined || id === call.namespace?.id ? undefined : namespaces.byId(id)
    const mount = namespace && resolve(namespace.id, call.path)?.mount
    if (namespace === undefined || mount === undefined) return
    call.namespace = namespace
    call.mount = mount
    if (namespace.id !== 'root') checkServed(namespaces, call, namespace)
  }
}

/** Unlock requests are served in a locked namespace. docs/contract/namespaces.md#locked-namespaces */
export function checkServed(
  namespaces: Pick<NamespaceStore, 'isLive' | 'lockRefusal'>,
  call: Call,
  namespace: Namespace,
): void {
  if (!namespaces.isLive(namespace.id)) throw taintedRefusal(call)
  const isUnlocking = call.operation === 'write' && unlockPath.test(call.path)
  const refusal = isUnlocking ? undefined : namespaces.lockRefusal(namespace)
  if (refusal !== undefined) throw refusal
}

/** Checks the fields that were read. */
const precheck = (call: Call, rules: RouteRules, hasLogin: boolean): Promise<void> | void =>
  rules.precheck?.(call.sent, { call, presented: call.presented, hasLogin })

/** The namespace in the header does not exist. docs/contract/namespaces.md#the-namespace-of-a-request */
function unknownNamespace(
  raw: IncomingMessage,
  { path }: Call,
  { reportsEnterprise }: Pick<AdmissionParts, 'reportsEnterprise'>,
): string {
  if (!reportsEnterprise) return 'namespace not found'
  const name = String(raw.headers['x-vault-namespace']).replaceAll(/^\/|\/$/g, '')
  return `no handler for route "${name}/${path}". route entry not found.`
}

/** Admits nobody, because the server is sealed. What `admission` checks before that, it checks too. */
export const closedAdmission =
  (limits: JsonLimits): Admit =>
  async (request) => {
    const body = bytesOf(request)
    readRequest(request, callOf(request.raw), { limits, body: isLarge(body) ? undefined : body })
    throw sealedRefusal()
  }

/** From where a request comes, and to which namespace. */
export const placeOf = ({ remoteAddress, namespace = rootNamespace }: Call) => ({ remoteAddress, namespace })

const sealedRefusal = () => refuse('sealed', 'Vault is sealed')

const bytesOf = ({ body }: UnreadRequest): Uint8Array | undefined =>
  body instanceof Uint8Array ? body : undefined

/** Reads fields and headers. A large body of a stranger is not parsed: it is not given here. */
function readRequest(
  request: UnreadRequest,
  call: Call,
  { limits, body }: { limits: JsonLimits; body: Uint8Array | undefined },
): void {
  call.sent = fieldsOf(call, body, limits)
  request.body = undefined
  call.wrapTtl = wrapTtlOf(request.raw)
  checkMfaHeader(request.raw)
  if (isRelative(call.path)) throw refuse('invalid', 'relative paths not supported')
}

const isLarge = (body: Uint8Array | undefined): boolean => body !== undefined && body.length > 64 * 1024

const unlockPath = /^sys\/namespaces\/api-lock\/unlock(?:\/|$)/

/** The refusal of a mount or namespace that is being removed. docs/contract/http.md#errors */
export const taintedRefusal = (call: Call) =>
  refuse(
    'missing',
    `no handler for route "${call.path}" on namespace "${call.namespace?.path ?? ''}". route entry or namespace is tainted.`,
  )

/**
 * The source of an operation's fields. docs/contract/http.md#verbs-and-paths, docs/contract/http.md#bodies
 */
function fieldsOf(call: Call, body: Uint8Array | undefined, limits: JsonLimits): Record<string, JsonValue> {
  if (call.operation === undefined)
    throw new ServiceError(call.refusedStatus === 400 ? 'invalid' : 'unsupported', '')
  if (call.operation === 'write') return readFields(body, call.contentType, limits)
  if (call.operation === 'patch') return readPatchFields(body, call.contentType, limits)
  if (call.query === '') return {}
  const fields = queryFields(call.query)
  // GET ?list=true is a list; `list` itself is not a field
  if (call.verb === 'GET') {
    if (call.operation === 'list') delete fields['list']
    if (call.operation === 'scan') delete fields['scan']
  }
  return fields
}

/**
 * Gives the write the fields of an earlier version: from here on, it is as if the caller had sent them.
 * docs/contract/history.md#taking-a-change-back
 */
async function restore(
  request: UnreadRequest,
  call: Call,
  { rules, caller, version }: { rules: RouteRules; caller: Caller; version: number },
): Promise<void> {
  checkMayWrite(caller, call)
  if (rules.restore === undefined) throw refuse('invalid', 'this path keeps no history')
  call.restores = version
  call.sent = { ...(await rules.restore(rules.exchange(request, call), version)) }
  request[partOf(call.operation)] = rules.fieldsOf(call)
}

/** Throws unless the caller may write there at all. */
function checkMayWrite({ acl }: Caller, { path }: Call): void {
  const rights = acl.capabilities(path)
  if (!rights.some((right) => right === 'root' || right === 'create' || right === 'update'))
    throw fail('denied', 'permission denied')
}

/** Throws unless the policies of the caller allow the call. */
function authorize(call: Call, rules: RouteRules, caller: Caller): void {
  if (call.operation === 'help') return
  const verdict = caller.acl.decide({
    operation: aclOperationOf(call),
    path: call.path,
    canonicalize: canonicalizerOf(call, rules),
    fields: call.sent,
    readings: rules.readings,
    wrapTtlSeconds: call.wrapTtl,
  })
  if (!verdict.allowed || (rules.sudo && !verdict.sudo)) throw fail('denied', 'permission denied')
}

/**
 * Policy paths match byte for byte, but some names have several spellings: a rule that denies one spelling
 * must deny all of them.
 */
function canonicalizerOf({ path, below }: Call, { canonical }: RouteRules): AclRequest['canonicalize'] {
  if (canonical === undefined) return undefined
  return belowMount(path.slice(0, path.length - below.length), canonical)
}

/**
 * Conversion and the existence check come before the policies, but not for a caller who may not write there
 * at all. docs/contract/http.md#the-order-of-refusals
 */
async function lookForTarget(
  call: Call,
  rules: RouteRules,
  {
    exists,
    request,
    caller,
  }: { exists: NonNullable<RouteRules['exists']>; request: UnreadRequest; caller: Caller },
): Promise<void> {
  checkMayWrite(caller, call)
  try {
    call.converted = new ConvertedFields(rules.schema, rules.fieldsOf(call))
  } catch (error) {
    throw error instanceof FieldError ? refuse('invalid', error.text) : error
  }
  request.body = call.converted
  call.creates = !(await exists(rules.exchange(request, call)))
}
