import { fail, invalidToken, refuse, ServiceError } from '../../errors.ts'
import { wait } from '../../lib/concurrency/wait.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import type { Random } from '../../lib/system/random.ts'
import type { View } from '../barrier/view.ts'
import type { Caller } from '../callers/access.ts'
import type { BackgroundJob, Held } from '../jobs/jobs.ts'
import { type ListClient, whileThere } from '../lists.ts'
import type { Mount } from '../mounts/mount.ts'
import { authPrefix } from '../mounts/mount-path.ts'
import { levelOf, type NamePage } from '../records/key-level.ts'
import { lifetime, mountTtl, type TtlBounds } from '../tokens/store/lifetime.ts'
import type { Token } from '../tokens/store/token.ts'
import type { TokenStore } from '../tokens/store/token-store.ts'
import { type IrrevocableLease, irrevocableLeases } from './irrevocable.ts'
import { newLease, ownerOf } from './issue-lease.ts'
import { countedLease, hasEnded, type Lease, type LeasedSecret, type LeaseRef } from './lease.ts'
import { failureText, type LeaseBackend } from './lease-backend.ts'
import { LeaseExpiry } from './lease-expiry.ts'
import { entityOwner, leaseKey, leasePrefix } from './lease-keys.ts'
import { leaseLagMs } from './lease-lane.ts'
import { type LeaseLimit, noLeaseLimit } from './lease-limit.ts'
import { isOfLiveMount, LeaseOwners } from './lease-owners.ts'
import { LeaseRecords } from './lease-records.ts'
import { renewalRefusal, renewed, shownDuration } from './lease-renewal.ts'
import { LeaseRevoker, type LeaseRevokerParts, RevocationFailure } from './lease-revoker.ts'
import { isTokenRenewable, type ShownLease, shownSecretLease, shownTokenLease } from './lease-view.ts'
import { PrefixRevocation } from './prefix-revocation.ts'
import { endedNow, queuedNow } from './retry.ts'
import { TokenLeases } from './token-leases.ts'

/** Log for background work. */
type LeaseLog = { readonly warn: LogLine; readonly error: LogLine }

export type LeaseStoreParts = {
  /** The core's view; no server copies what it writes. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  readonly tokens: TokenStore
  readonly systemTtl: TtlBounds
  readonly log: LeaseLog
  /** Expiry, the warning of many leases, and sweeps. */
  readonly job: BackgroundJob
  mountOf(accessor: string): Mount | undefined
  /** Renews and revokes the leases of a plugin's mounts. */
  backendOf(plugin: string): LeaseBackend | undefined
  /** Called after each attempt to revoke a lease. */
  readonly onRevoked?: LeaseRevokerParts['onRevoked']
  /** Revokes a token and all its descendants. */
  revokeToken(accessor: string): Promise<unknown>
  /** Time limit of one revocation or renewal by an engine; default 90 s. docs/contract/leases.md#retries */
  readonly callLimitMs?: number
  /** Delay before a failed sweep of the leases of invalid tokens is retried; default 60 s. */
  readonly sweepRetryMs?: number
}

export type LeaseRequest = {
  readonly caller: Pick<Caller, 'token' | 'carried'>
  readonly mount: Mount
  /** Request path relative to the namespace. */
  readonly path: string
  readonly secret: LeasedSecret
}

/** The lease fields of a response; `duration` is in seconds. */
export type IssuedLease = {
  readonly id: string
  readonly renewable: boolean
  readonly duration: number
  readonly warnings: readonly string[]
}

/** For whom nobody waits. */
const noClient: ListClient = { whenGone: () => () => {} }

const defaultCallLimitMs = 90_000
const defaultSweepRetryMs = 60_000
/** docs/contract/leases.md#retries */
const warnAbove = 256_000
const countMs = 10 * 60_000

const lastUse =
  'Secret cannot be returned; token had one use left, so leased credentials were immediately revoked.'

/**
 * Issues, looks up, renews, revokes and expires leases of secrets. Also looks up, lists and revokes the
 * leases of tokens. docs/contract/leases.md
 */
export class LeaseStore implements AsyncDisposable {
  /** Revokes expired leases once started. */
  readonly expiry: LeaseExpiry
  /** Revokes all leases below a path. */
  readonly prefixes: PrefixRevocation
  /** Ends the leases of tokens that end. */
  readonly owners: LeaseOwners
  readonly #parts: LeaseStoreParts
  readonly #records: LeaseRecords
  readonly #revoker: LeaseRevoker
  readonly #tokenLeases: TokenLeases
  readonly #stopped = new AbortController()
  #limit: LeaseLimit = noLeaseLimit

  constructor(parts: LeaseStoreParts) {
    const { view, clock, random, tokens, log } = parts
    this.#parts = parts
    this.#records = new LeaseRecords(view, (accessor, at) => this.expiry.scheduled(accessor, at))
    this.#revoker = new LeaseRevoker({
      records: this.#records,
      backendOf: parts.backendOf,
      limitMs: parts.callLimitMs ?? defaultCallLimitMs,
      ...(parts.onRevoked && { onRevoked: parts.onRevoked }),
    })
    this.expiry = new LeaseExpiry({
      view,
      clock,
      random,
      records: this.#records,
      revoker: this.#revoker,
      job: parts.job,
      onError: (err) => log.error({ event: 'work_failed', err }, 'could not process expired leases'),
      onIrrevocable: ({ id, revoke_error }) =>
        log.warn({ event: 'lease_irrevocable', lease_id: id, error: revoke_error }, 'a lease is irrevocable'),
    })
    this.#tokenLeases = new TokenLeases(tokens)
    this.owners = new LeaseOwners({
      view,
      clock,
      tokens,
      records: this.#records,
      isShared: parts.job.isShared,
      retryMs: parts.sweepRetryMs ?? defaultSweepRetryMs,
      onError: (err) =>
        log.error({ event: 'work_failed', err }, 'could not revoke leases of invalid tokens; will retry'),
    })
    this.prefixes = new PrefixRevocation({
      view,
      clock,
      records: this.#records,
      revoker: this.#revoker,
      tokenLeases: this.#tokenLeases,
      revokeToken: parts.revokeToken,
    })
  }

  /** From now on, `limit` decides whether there may be another lease. */
  limitBy(limit: LeaseLimit): void {
    this.#limit = limit
  }

  /** Throws `throttled` if a secret could not get a lease now. docs/contract/quotas.md#leases */
  async checkRoom(mount: Mount, path: string): Promise<void> {
    const { namespace, accessor: mountAccessor } = mount
    await this.#limit.check({ namespace, mountAccessor, path, role: undefined })
  }

  /** All leases that have not ended, in pages. Skips unreadable records: the log names them. */
  async *live(): AsyncGenerator<readonly Lease[]> {
    const now = this.#parts.clock.now()
    for await (const page of this.#records.pages()) yield page.filter((lease) => !hasEnded(lease, now))
  }

  /** Starts the background work: expiry, the warning of many leases, and sweeps. */
  start(): void {
    this.#parts.job.begin(async (held) => {
      await Promise.all([this.expiry.work(held), this.#warnIfMany(held), this.owners.work(held)])
    })
  }

  /** Counts the leases from time to time, as far as it matters, and warns each time that they have become many. */
  async #warnIfMany(held: Held): Promise<void> {
    const { view, log } = this.#parts
    const ended = AbortSignal.any([held.ended, this.#stopped.signal])
    let wereMany = false
    while (!ended.aborted) {
      let count = 0
      try {
        for await (const page of view.keyPages(leasePrefix)) {
          count += page.length
          if (ended.aborted) return
          if (count > warnAbove) break
        }
      } catch (err) {
        log.error({ event: 'work_failed', err }, 'could not count leases')
      }
      const areMany = count > warnAbove
      if (areMany && !wereMany)
        log.warn({ event: 'many_leases', count }, 'the number of leases is unusually large')
      wereMany = areMany
      await wait(countMs, ended)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    await this.owners[Symbol.asyncDispose]()
    await this.expiry[Symbol.asyncDispose]()
    await this.#parts.job[Symbol.asyncDispose]()
  }

  /**
   * Stores the lease of a new secret. If that fails, or there are too many leases, or the caller's token has ended in the meantime or with
   * this request, revokes the secret and throws. docs/contract/tokens-and-policies.md#creating-a-token,
   * docs/contract/leases.md#lifetime-and-renewal
   */
  async issue({ caller, mount, path, secret }: LeaseRequest): Promise<IssuedLease> {
    const { clock, tokens, random, systemTtl } = this.#parts
    const { token, carried } = caller
    const now = clock.now()
    const life = lifetime(mountTtl(mount.config, systemTtl), { ttl: secret.ttl, maxTtl: secret.maxTtl }, now)
    if (!life.ok) throw new Error('a new lease is past its end')
    const accessor = ownerOf(token)
    const owner = accessor === '' ? '' : tokens.keys.hashOf(accessor)
    const lease = newLease({ mount, path, secret, token, owner, life, now, random })
    const ends = token.num_uses < 0 || carried?.uses === 1
    try {
      await this.#limit.within(countedLease(lease), async () => {
        await this.#records.add(
          ends ? { ...lease, expire_time: now, ended: true } : lease,
          secret.alongside?.(lease),
        )
        return true
      })
    } catch (cause) {
      await this.#revokeUnstored(lease)
      secret.abandoned?.()
      if (cause instanceof ServiceError && cause.kind === 'throttled') throw cause
      throw fail('internal', 'internal error', { cause })
    }
    if (ends) {
      await this.#revokeNow(lease)
      throw refuse('invalid', lastUse)
    }
    // check after the lease is stored: the end of the token revokes the lease from now on
    const isValid = await tokens.isStillValid(token).catch(async (error: unknown) => {
      await this.#revokeNow(lease)
      throw error
    })
    if (!isValid) {
      await this.#revokeNow(lease)
      throw invalidToken()
    }
    return {
      id: lease.id,
      renewable: lease.renewable,
      duration: shownDuration(lease, now),
      warnings: life.warnings,
    }
  }

  /** Revokes a secret whose lease could not be written; also the lease, if the failed write has stored it. */
  async #revokeUnstored(lease: Lease): Promise<void> {
    try {
      // if the read fails too, assume that the lease is not stored
      const isStored = await this.#records.isStored(lease).catch(() => false)
      await (isStored ? this.#revokeNow(lease) : this.#revoker.revokeSecret(lease))
    } catch (err) {
      this.#parts.log.error(
        { err, event: 'secret_without_lease', path: lease.path, mount: lease.mount_accessor },
        'could not revoke a secret that has no lease',
      )
    }
  }

  /** Ends and revokes a lease at once. The expiry retries failed revocations. */
  async #revokeNow(ref: LeaseRef): Promise<void> {
    await this.#records.change(ref, (lease) => endedNow(lease, this.#parts.clock.now()))
    await this.#revoker.revoke(ref).catch((error: unknown) => {
      if (!(error instanceof RevocationFailure)) throw error
    })
  }

  /** The record of a lease, for the engine that created it. */
  find(ref: LeaseRef): Promise<Lease | undefined> {
    return this.#records.find(ref)
  }

  /**
   * The lookup data of a lease; undefined if the namespace has no such lease. docs/contract/leases.md#calls
   */
  async lookup(ref: LeaseRef, namespacePath: string): Promise<ShownLease | undefined> {
    const now = this.#parts.clock.now()
    if (this.#tokenLeases.isTokenLease(ref.id)) {
      const token = await this.#tokenLeases.find(ref)
      return token && shownTokenLease(ref.id, token, now, namespacePath)
    }
    const lease = await this.#records.find(ref)
    return lease && shownSecretLease(lease, now, namespacePath)
  }

  /** The entity of the token that a lease belongs to, or is of; empty if there is none. */
  async entityOf(ref: LeaseRef): Promise<string> {
    if (this.#tokenLeases.isTokenLease(ref.id)) return (await this.#tokenLeases.find(ref))?.entity_id ?? ''
    const { entity, owner = '' } = (await this.#records.find(ref)) ?? {}
    if (entity !== undefined || owner === '') return entity ?? ''
    return (await this.#parts.tokens.tokenByHash(owner))?.token.entity_id ?? ''
  }

  /**
   * Lists the next path level below a prefix that is empty or ends in a slash. May return more names than
   * `page` requests. docs/contract/leases.md#calls
   */
  async list(
    namespace: string,
    prefix: string,
    page: NamePage = { after: '', limit: 0 },
    client: ListClient = noClient,
  ): Promise<string[]> {
    if (prefix.startsWith(authPrefix)) {
      const names = new Set<string>()
      for await (const { id } of whileThere(this.#tokenLeases.under(namespace, prefix), client))
        names.add(nextName(id, prefix))
      return [...names].sort()
    }
    const names = await levelOf(this.#parts.view, leaseKey({ namespace, id: prefix }), page)
    if (prefix !== '') return names
    const { done } = await this.#tokenLeases.under(namespace, authPrefix).next()
    return done ? names : [authPrefix, ...names].sort()
  }

  /**
   * Renews a lease. `increment` is in seconds; 0 is unset. Undefined if the engine has nothing to renew: the
   * lease does not change. Throws the refusals of docs/contract/leases.md#lifetime-and-renewal.
   */
  renew(ref: LeaseRef, increment: number): Promise<(IssuedLease & { data: object | null }) | undefined> {
    return this.#tokenLeases.isTokenLease(ref.id)
      ? this.#refuseTokenRenewal(ref)
      : this.#revoker.runExclusive(ref, () => this.#renew(ref, increment))
  }

  async #refuseTokenRenewal(ref: LeaseRef): Promise<never> {
    const token = await this.#tokenLeases.find(ref)
    if (token === undefined) throw refuse('invalid', 'lease not found')
    if (!isTokenRenewable(token)) throw refuse('invalid', 'lease is not renewable')
    throw refuse('invalid', 'tokens cannot be renewed through this endpoint')
  }

  async #renew(
    ref: LeaseRef,
    increment: number,
  ): Promise<(IssuedLease & { data: object | null }) | undefined> {
    const { clock, systemTtl } = this.#parts
    const lease = this.#renewable(await this.#records.find(ref))
    if (!(await this.#hasBatchOwner(lease)))
      throw refuse('invalid', 'cannot renew lease, no valid associated token')
    const mount = this.#parts.mountOf(lease.mount_accessor)
    if (mount === undefined || mount.tainted) throw failedToRenew('unsupported path')
    const terms = await this.#revoker
      .call(lease, (backend, signal) => backend.renew(lease, signal))
      .catch((error: unknown) => {
        throw failedToRenew(failureText(error), error)
      })
    if (terms === undefined) return undefined
    let warnings: readonly string[] = []
    const now = clock.now()
    const after = await this.#records.change(ref, (stored) => {
      const result = renewed(
        this.#renewable(stored),
        { ...terms, increment },
        mountTtl(mount.config, systemTtl),
        now,
      )
      warnings = result.warnings
      return result.lease
    })
    const { id, renewable } = this.#existing(after)
    return {
      id,
      renewable,
      duration: shownDuration(this.#existing(after), now),
      warnings,
      data: terms.data ?? null,
    }
  }

  #existing(lease: Lease | undefined): Lease {
    if (lease === undefined) throw refuse('invalid', 'lease not found')
    return lease
  }

  #renewable(found: Lease | undefined): Lease {
    const lease = this.#existing(found)
    const refusal = renewalRefusal(lease, this.#parts.clock.now())
    if (refusal !== undefined) throw refuse('invalid', refusal)
    return lease
  }

  /** Whether the owner of a batch token's lease is still valid. True for leases of service tokens. */
  async #hasBatchOwner(lease: Lease): Promise<boolean> {
    const { owner, owner_end, entity, cut_off = 0 } = lease
    if (!isOfLiveMount(this.#parts.tokens, lease)) return false
    if (entity !== undefined && cut_off < this.#parts.tokens.cutOffs.of(entity)) return false
    if (owner_end === undefined || owner === '') return true
    const stored = await this.#parts.tokens.tokenByHash(owner)
    return stored !== undefined && (await this.#parts.tokens.isValid(stored.token))
  }

  /**
   * Revokes one lease, now or (`sync` false) in the background. No-op if there is no such lease.
   * docs/contract/leases.md#expiry-and-revocation
   */
  async revoke(ref: LeaseRef, { sync }: { sync: boolean }): Promise<void> {
    if (this.#tokenLeases.isTokenLease(ref.id)) {
      const token = await this.#tokenLeases.find(ref)
      if (token !== undefined) await this.#parts.revokeToken(token.accessor)
    } else if (sync) {
      await this.#revoker.revoke(ref).catch((error: unknown) => {
        throw error instanceof RevocationFailure
          ? refuse('invalid', `failed to revoke entry: ${failureText(error.cause)}`, { cause: error })
          : error
      })
    } else await this.#records.change(ref, (lease) => queuedNow(lease, this.#parts.clock.now()))
  }

  /**
   * Revokes all leases of a secrets mount and waits; throws at the first failure. Tokens of a disabled auth
   * mount are already invalid; a background sweep ends their leases. docs/contract/mounts.md#disabling
   */
  async revokeMount(mount: Mount, { byForce = false } = {}): Promise<void> {
    if (mount.table === 'auth') await this.owners.sweep()
    else await this.prefixes.revokeBelow(mount.namespace, mount.path, byForce ? 'force' : 'sync')
  }

  /**
   * Revokes all leases of a namespace. Throws at the first failure; the other leases are revoked in the
   * background.
   */
  async removeNamespace(namespace: string, { byForce = false } = {}): Promise<void> {
    await this.prefixes.revokeBelow(namespace, '', 'end')
    await this.prefixes.revokeBelow(namespace, '', byForce ? 'force' : 'sync')
  }

  /**
   * Ends the leases of a token now; the engines revoke them in the background.
   * docs/contract/leases.md#cascades
   */
  async endOwned(token: Token): Promise<void> {
    if (token.type === 'service') await this.owners.end(this.#parts.tokens.keys.hashOf(token.accessor))
  }

  /**
   * Ends the leases of cut-off batch tokens; the engines revoke them in the background. `cutOffs` maps an
   * entity to the number of its last cut-off.
   */
  async endCutOff(cutOffs: ReadonlyMap<string, number>): Promise<void> {
    for (const [entity, count] of cutOffs)
      await this.owners.end(entityOwner(entity), ({ cut_off = 0 }) => cut_off < count)
  }

  /** How long the lease that was due first has been due, in milliseconds; 0 if none is. */
  async lagMs(): Promise<number> {
    return await leaseLagMs({ view: this.#parts.view, records: this.#records }, this.#parts.clock.now())
  }

  /** The irrevocable leases of some namespaces, ordered by expiry time. docs/contract/leases.md#retries */
  irrevocable(namespaces: readonly string[]): AsyncGenerator<IrrevocableLease> {
    return irrevocableLeases(this.#parts.view, new Set(namespaces))
  }

  /** Processes all due leases and resolves when no background work is in progress. For tests. */
  async settled(): Promise<void> {
    await this.owners.settled()
    await this.expiry.run()
  }
}

/** The part of `id` after `prefix`, up to and including the next slash. */
function nextName(id: string, prefix: string): string {
  const slash = id.indexOf('/', prefix.length)
  return id.slice(prefix.length, slash < 0 ? undefined : slash + 1)
}

const failedToRenew = (text: string, cause?: unknown) =>
  refuse('invalid', `failed to renew entry: ${text}`, { cause })
