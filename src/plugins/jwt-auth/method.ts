import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { OutboundClient } from '../../core/outbound.ts'
import type { LoginAuth } from '../../core/tokens/issue-login.ts'
import { mountTtl, type TtlBounds } from '../../core/tokens/lifetime.ts'
import type { RenewalTerms } from '../../core/tokens/renew-token.ts'
import type { Token } from '../../core/tokens/token.ts'
import type { Clock } from '../../lib/clock.ts'
import { checkConfig, type ConfigInput, type ConfigLog, replaced } from './config.ts'
import { FetchBuckets } from './fetch-bucket.ts'
import type { KeysetParts } from './keyset.ts'
import { jwtLogin, type LoginInput } from './login.ts'
import { MountState } from './mount-state.ts'
import { changedRole, type Role, type RoleRecord, roleWarnings } from './role.ts'
import { VerificationGate } from './verification-gate.ts'

/** Weight of signature checks on the thread pool at once; a heavy one weighs 8. */
const maxVerifications = 64

export type JwtMethodParts = {
  readonly mounts: Pick<MountStore, 'viewOf' | 'table'>
  readonly outbound: OutboundClient
  readonly clock: Clock
  readonly log: ConfigLog
  readonly systemTtl: TtlBounds
  /** Characters of a JWT; 0 is no limit. */
  readonly maxJwtSize: number
}

/** The JWT method over all its mounts: each has its own state, found by the mount's uuid, so it stays when the mount moves. */
export class JwtMethod {
  readonly #parts: JwtMethodParts
  readonly #keysetParts: KeysetParts
  readonly #stateByUuid = new Map<string, MountState>()

  constructor(parts: JwtMethodParts) {
    this.#parts = parts
    this.#keysetParts = {
      outbound: parts.outbound,
      buckets: new FetchBuckets(parts.clock),
      gate: new VerificationGate(maxVerifications),
      limits: { maxTokenSize: parts.maxJwtSize },
    }
  }

  /** Configuration and roles of a mount. */
  stateOf(mount: Mount): MountState {
    const known = this.#stateByUuid.get(mount.uuid)
    if (known !== undefined) return known
    this.#dropGone()
    const state = new MountState(this.#parts.mounts.viewOf(mount), this.#keysetParts)
    this.#stateByUuid.set(mount.uuid, state)
    return state
  }

  #dropGone(): void {
    for (const uuid of this.#stateByUuid.keys()) if (this.#parts.mounts.table.byUuid(uuid) === undefined) this.#stateByUuid.delete(uuid)
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
    return jwtLogin(input, { state: this.stateOf(mount), remoteAddress, now: () => this.#parts.clock.now() })
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
