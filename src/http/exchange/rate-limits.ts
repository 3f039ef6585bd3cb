import type { Mount } from '../../core/mounts/mount.ts'
import type { MountTypeRegistry } from '../../core/mounts/mount-type-registry.ts'
import { rootNamespace } from '../../core/namespaces/namespace.ts'
import type { NamespaceStore } from '../../core/namespaces/namespace-store.ts'
import type { Verdict } from '../../core/quotas/client-windows.ts'
import type { LoginThrottle } from '../../core/quotas/login-throttle.ts'
import { withoutSlash } from '../../core/quotas/quota-index.ts'
import type { QuotaStore } from '../../core/quotas/quota-store.ts'
import { refuse, ServiceError } from '../../errors.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { Call } from './call.ts'
import { isRevoking } from './is-revoking.ts'

export type RateLimitParts = {
  readonly quotas: Pick<QuotaStore, 'isOn' | 'config' | 'isExempt' | 'hasRoles' | 'take'>
  readonly namespaces: Pick<NamespaceStore, 'lineageOf' | 'isRootOnly'>
  readonly mountTypes: Pick<MountTypeRegistry, 'loginRole'>
  /** The mount that a path of a namespace belongs to. */
  resolve(namespace: string, path: string): { readonly mount: Mount; readonly below: string } | undefined
  /** Undefined if refused logins are not limited. */
  readonly throttle: LoginThrottle | undefined
  /** Called with the name of the rule that refused a request, or of the limit on refused logins. */
  onRefused(quota: string): void
}

type Place = { readonly mount: Mount | undefined; readonly below: string }

/** Refuses requests over a rate limit. docs/contract/quotas.md */
export class RateLimits {
  readonly #parts: RateLimitParts

  constructor(parts: RateLimitParts) {
    this.#parts = parts
  }

  get isOn(): boolean {
    return this.#parts.quotas.isOn
  }

  /** Whether refusals are recorded in the audit log. */
  get isAudited(): boolean {
    return this.#parts.quotas.config.auditsRefusals
  }

  /** Counts a request, or throws `limited`. A login whose role may matter waits for `checkLogin`. */
  checkHead(call: Call): void {
    if (this.#isExempt(call)) return
    const place = this.#placeOf(call)
    if (!this.#waitsForRole(call, place)) this.#take(call, place, undefined)
  }

  /** Whether `checkHead` lets a login pass whose fields decide. */
  decidesByRole(call: Call): boolean {
    return this.isOn && this.#waitsForRole(call, call) && !this.#isExempt(call)
  }

  /** Counts a login that `checkHead` has let pass, once its fields are read; undefined for other requests. */
  checkLogin(call: Call): Promise<void> | undefined {
    return this.decidesByRole(call) ? this.#takeLogin(call) : undefined
  }

  /** Throws `limited` for a login of an address that the mount has refused too often. docs/limits.md */
  checkRefusedLogins(call: Call): void {
    const wait = call.mount && this.#parts.throttle?.waitOf(call.mount.uuid, call.remoteAddress)
    if (wait === undefined) return
    call.limitHeaders = { 'retry-after': String(wait) }
    this.#refuse(call, 'login_failures')
  }

  /** Counts a login that was refused. */
  noteRefusedLogin({ mount, remoteAddress }: Call): void {
    if (mount !== undefined) this.#parts.throttle?.note(mount.uuid, remoteAddress)
  }

  async #takeLogin(call: Call): Promise<void> {
    const { mount, sent } = call
    // the login itself reports what prevents it
    const role = await (mount && this.#parts.mountTypes.loginRole(mount, sent).catch(() => undefined))
    this.#take(call, call, role)
  }

  /** A path outside of mounts belongs to the mount below which it is. */
  #placeOf(call: Call): Place {
    if (call.mount !== undefined) return call
    const namespace = call.namespace?.id ?? rootNamespace.id
    return this.#parts.resolve(namespace, call.path) ?? { mount: undefined, below: '' }
  }

  #waitsForRole({ operation }: Call, { mount, below }: Place): boolean {
    if (operation !== 'write' || mount === undefined || withoutSlash(below) !== 'login') return false
    return this.#parts.quotas.hasRoles(mount.uuid)
  }

  /** The last part keeps a rule from locking out those who must change it, or who stop an intruder. */
  #isExempt(call: Call): boolean {
    const { path, namespace = rootNamespace } = call
    if (this.#parts.quotas.isExempt(namespace.path, path) || isRevoking(call)) return true
    return namespace.id === rootNamespace.id && alwaysExempt.test(path)
  }

  #take(call: Call, { mount, below }: Place, role: string | undefined): void {
    const { quotas } = this.#parts
    const target = { lineage: this.#lineageOf(call), mount: mount?.uuid, below, role }
    const taken = quotas.take(target, call.remoteAddress, call.countedUnder)
    if (taken === undefined) return
    const { name, verdict } = taken
    call.countedUnder = name
    if (quotas.config.showsHeaders) call.limitHeaders = headersOf(verdict)
    if (!verdict.isAllowed) this.#refuse(call, name)
  }

  #refuse(call: Call, limit: string): never {
    this.#parts.onRefused(limit)
    // CORS comes later
    call.crossOrigin = undefined
    throw refuse('limited', `request path ${quoted(call.path)}: rate limit quota exceeded`)
  }

  #lineageOf({ namespace = rootNamespace }: Call): string[] {
    const { namespaces } = this.#parts
    return namespaces.isRootOnly ? [rootNamespace.id] : namespaces.lineageOf(namespace).map(({ id }) => id)
  }
}

const alwaysExempt = /^(?:sys\/(?:seal|health|quotas\/.*)|health(?:\/(?:live|ready))?)$/s

/** A refusal by a rate limit. */
export const isOverQuota = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.kind === 'limited'

function headersOf({ isAllowed, isBlocked, limit, remaining, resetsIn, retryIn }: Verdict) {
  const retry = isAllowed ? undefined : { 'retry-after': String(retryIn) }
  if (isBlocked) return { ...retry }
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(resetsIn),
    ...retry,
  }
}
