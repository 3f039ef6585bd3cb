import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { OutboundClient } from '../../core/outbound.ts'
import type { LoginAuth } from '../../core/tokens/issue-login.ts'
import { mountTtl, type TtlBounds } from '../../core/tokens/lifetime.ts'
import type { RenewalTerms } from '../../core/tokens/renew-token.ts'
import type { Token } from '../../core/tokens/token.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import { checkConfig, type ConfigInput, type ConfigLog, replaced } from './jwt-config.ts'
import { FetchBuckets } from './fetch-bucket.ts'
import type { KeysetParts } from './keyset.ts'
import { jwtLogin, type LoginInput } from './login.ts'
import { MountState } from './mount-state.ts'
import { type Authorization, type AuthorizeInput, authorize } from './oidc/authorize.ts'
import { type CallbackInput, type CallbackLog, finishLogin } from './oidc/callback.ts'
import type { Page } from './oidc/pages.ts'
import { PendingLogins } from './oidc/pending-logins.ts'
import { keepPosted, type PostedInput } from './oidc/posted.ts'
import { changedRole, type Role, type RoleRecord, roleWarnings } from './role.ts'
import { VerificationGate } from './verification-gate.ts'

/** Weight of signature checks on the thread pool at once; a heavy one weighs 8. */
const maxVerifications = 64

export type JwtMethodParts = {
  readonly mounts: Pick<MountStore, 'viewOf' | 'table'>
  readonly outbound: OutboundClient
  readonly clock: Clock
  readonly random: Random
  readonly log: ConfigLog & CallbackLog
  readonly systemTtl: TtlBounds
  /** Characters of a JWT; 0 is no limit. */
  readonly maxJwtSize: number
}

/** Who comes back from a provider, and from where. */
export type Returning = {
  readonly remoteAddress: string
  /** The provider sent `error` in place of a code. */
  readonly providerRefused: boolean
  readonly signal?: AbortSignal
  /** Told whose login it is, once that is known. */
  noteRole(name: string): void
}

type Place = { readonly state: MountState; readonly pending: PendingLogins }

/** The JWT method over all its mounts: each has its own state, found by the mount's uuid, so it stays when the mount moves. */
export class JwtMethod {
  readonly #parts: JwtMethodParts
  readonly #keysetParts: KeysetParts
  readonly #placeByUuid = new Map<string, Place>()

  constructor(parts: JwtMethodParts) {
    this.#parts = parts
    this.#keysetParts = {
      outbound: parts.outbound,
      buckets: new FetchBuckets(parts.clock),
      gate: new VerificationGate(maxVerifications),
      limits: { maxTokenSize: parts.maxJwtSize },
      clock: parts.clock,
      onFetch: () => undefined,
    }
  }

  /** Configuration and roles of a mount. */
  stateOf(mount: Mount): MountState {
    return this.#placeOf(mount).state
  }

  #placeOf(mount: Mount): Place {
    const known = this.#placeByUuid.get(mount.uuid)
    if (known !== undefined) return known
    this.#dropGone()
    const { clock, random, mounts } = this.#parts
    const view = mounts.viewOf(mount)
    const pending = new PendingLogins({ view: view.view('', { numbers: 'plain' }), clock, random })
    const place = { state: new MountState(view, this.#keysetParts), pending }
    this.#placeByUuid.set(mount.uuid, place)
    return place
  }

  #dropGone(): void {
    for (const uuid of this.#placeByUuid.keys()) if (this.#parts.mounts.table.byUuid(uuid) === undefined) this.#placeByUuid.delete(uuid)
  }

  /** Replaces a mount's configuration, after all its checks. Contract jwt-oidc §2.2. */
  async putConfig(mount: Mount, input: ConfigInput): Promise<void> {
    await checkConfig(input, this.#parts)
    await this.stateOf(mount).changeConfig((before) => replaced(input, before))
  }

  /** Creates or changes a role; gives back what there is to warn of. Contract jwt-oidc §3.1. */
  async putRole(mount: Mount, name: string, sent: RoleRecord): Promise<string[]> {
    const bounds = { mountMaxTtl: mountTtl(mount.config, this.#parts.systemTtl).maxTtl }
    const role: Role = await this.stateOf(mount).changeRole(name, (before) => changedRole(before?.record, sent, bounds))
    return roleWarnings(role.record, bounds)
  }

  /** Contract jwt-oidc §4.1. */
  login(mount: Mount, remoteAddress: string, input: LoginInput): Promise<LoginAuth> {
    const { outbound, clock } = this.#parts
    return jwtLogin(input, { state: this.stateOf(mount), remoteAddress, outbound, now: () => clock.now() })
  }

  /** Contract jwt-oidc §5.1. */
  authorize(mount: Mount, remoteAddress: string, input: AuthorizeInput): Promise<Authorization> {
    return authorize(input, { ...this.#placeOf(mount), remoteAddress })
  }

  /** Contract jwt-oidc §5.5. */
  keepPosted(mount: Mount, input: PostedInput, { providerRefused }: Pick<Returning, 'providerRefused'>): Promise<Page> {
    return keepPosted(input, { ...this.#placeOf(mount), providerRefused })
  }

  /** Contract jwt-oidc §5.6. */
  finishLogin(mount: Mount, input: CallbackInput, { signal, ...returning }: Returning): Promise<LoginAuth> {
    const { outbound, clock, log } = this.#parts
    const { limits } = this.#keysetParts
    return finishLogin(input, { ...this.#placeOf(mount), ...returning, outbound, limits, log, signal, now: () => clock.now() })
  }

  /** Removes the logins of all mounts whose time is over. */
  async sweepPending(): Promise<void> {
    for (const mount of this.#parts.mounts.table.all()) {
      if (mount.plugin === 'jwt' && !mount.tainted) await this.#placeOf(mount).pending.sweep()
    }
  }

  /** The current terms of the role a token came from. Contract jwt-oidc §4.11. */
  async renewalTerms(token: Token, mount: Mount): Promise<RenewalTerms> {
    const name = token.internal.role ?? ''
    const role = await this.stateOf(mount).findRole(name)
    if (role === undefined) return { ok: false, reason: `role ${name} does not exist during renewal` }
    const { token_ttl = 0, token_max_ttl = 0, token_period = 0 } = role.record
    return { ok: true, ttl: token_ttl, maxTtl: token_max_ttl, period: token_period }
  }
}
