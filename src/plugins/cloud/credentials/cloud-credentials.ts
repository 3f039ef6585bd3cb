import type { Lease } from '../../../core/leases/lease.ts'
import type { Dropping, LeaseBackend, Renewal } from '../../../core/leases/lease-backend.ts'
import type { LeaseStore } from '../../../core/leases/lease-store.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import type { Servers } from '../../../core/servers/servers.ts'
import type { TtlBounds } from '../../../core/tokens/store/lifetime.ts'
import { fail, refuse } from '../../../errors.ts'
import { Limiter } from '../../../lib/concurrency/limiter.ts'
import type { EngineParts } from '../engine-parts.ts'
import { adoptAbandoned } from '../intents/abandoned-intents.ts'
import { type DebrisObject, debrisObjects } from '../intents/debris.ts'
import { Intents, type Undone } from '../intents/intents.ts'
import { undoIntent } from '../intents/undo.ts'
import { type Patience, usualPatience } from '../intents/undoing.ts'
import { MountLooks } from '../mount-looks.ts'
import { engineOptions } from '../mount-options.ts'
import type { MountState } from '../mount-state.ts'
import { type Preflight, preflight } from '../preflight/preflight.ts'
import type { PreflightContext } from '../preflight/preflight-context.ts'
import type { LeaseLookup } from '../records/credential-record.ts'
import { readLeaseData } from '../records/lease-data.ts'
import { callerError, UpstreamError } from '../upstream/index.ts'
import { clearMount } from './clear-mount.ts'
import { forceRevokedEntries } from './force-revoked.ts'
import { type CredentialReply, type CredentialRequest, issueCredential } from './issue-credential.ts'
import { renewalTerms, roleOf } from './lease-terms.ts'
import { type ReapedObject, reap } from './reaper.ts'
import { revokeCredential } from './revoke-credential.ts'
import { whois } from './whois.ts'

const tooManyCreations = () =>
  fail('overloaded', 'too many credentials are being made: context deadline exceeded')

export type CloudCredentialsParts = EngineParts & {
  mountOf(accessor: string): Mount | undefined
  readonly leases: LeaseLookup & Pick<LeaseStore, 'checkRoom'>
  /** TTLs of a mount that sets none. */
  readonly systemTtl: TtlBounds
  readonly servers: Servers
  readonly mountTokens: PreflightContext['mountTokens']
  readonly outbound: PreflightContext['outbound']
  /** Shortened by tests. */
  readonly patience?: Partial<Patience> | undefined
  readonly requestLimitMs?: number | undefined
}

type MountFigures = {
  readonly mount: Mount
  readonly debris: number
  readonly rootSecretEnd: number | undefined
  readonly rootCertificateEnd: number | undefined
}

const secondsAt = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time) / 1000

/** Below the server's limit of 90 s, so that a request that runs out of time is still answered and undone. */
const defaultRequestLimitMs = 85_000
const tickMs = 5_000

function laterIfUpstream(error: unknown): Undone {
  if (error instanceof UpstreamError) return { done: false, later: callerError(error).message }
  throw error
}

/**
 * All credentials with leases, and the clean-up after failures. docs/contract/cloud.md#credentials,
 * docs/contract/cloud.md#undo
 */
export class CloudCredentials implements LeaseBackend {
  readonly reaping: MountLooks
  readonly #parts: CloudCredentialsParts
  readonly #requestLimitMs: number
  readonly #limits = new WeakMap<MountState, { creations: Limiter; waiting: { count: number } }>()
  readonly #lastReap = new WeakMap<MountState, number>()

  constructor(parts: CloudCredentialsParts) {
    this.#parts = parts
    this.#requestLimitMs = parts.requestLimitMs ?? defaultRequestLimitMs
    this.reaping = new MountLooks({
      ...parts,
      job: 'cloud-reap',
      intervalMs: tickMs,
      failure: 'could not reap a cloud mount',
      lookAt: (mount) => this.#reapIfDue(mount),
    })
  }

  /** Undoes what servers that are gone left behind, and reaps mounts periodically. */
  start(): void {
    const job = this.#parts.jobs.job('cloud-undo')
    job.begin((held) => adoptAbandoned(held, { ...this.#parts, job }))
    this.reaping.start()
  }

  openIntents(mount: Mount, state: MountState): Intents {
    const parts = {
      ...this.#parts,
      mountNow: () => this.#parts.mountOf(mount.accessor) ?? mount,
      state,
      patience: { ...usualPatience, ...this.#parts.patience },
    }
    return new Intents({
      ...this.#parts,
      view: state.view,
      retryMs: parts.patience.retry,
      mount: mount.path,
      undo: (stored, attempt) => undoIntent(stored, attempt, parts).catch(laterIfUpstream),
    })
  }

  /** With the capacity that the mount's options set. */
  creationsOf(mount: Mount): Limiter {
    const { creations } = this.#limitsOf(this.#parts.stateOf(mount))
    creations.capacity = engineOptions(mount).max_in_flight
    return creations
  }

  async make(request: CredentialRequest): Promise<CredentialReply> {
    const { log, leases, stateOf } = this.#parts
    // nothing is created upstream that could not be kept
    await leases.checkRoom(request.mount, request.call.path)
    const state = stateOf(request.mount)
    const creations = this.creationsOf(request.mount)
    const requestLimitMs = this.#requestLimitMs
    try {
      return await issueCredential(request, { ...this.#parts, state, creations, requestLimitMs })
    } catch (err) {
      const { path: mount, namespace } = request.mount
      const { requestId } = request.call
      const ids = { request_id: requestId, correlation_id: requestId }
      log.warn(
        { event: 'cloud_credential_failed', err, ...ids, mount, namespace },
        'could not issue a cloud credential',
      )
      throw err
    }
  }

  async renew(lease: Lease): Promise<Renewal | undefined> {
    const name = roleOf(lease)
    const role = await this.#stateOfLease(lease).findRole(name)
    return role && renewalTerms(lease, role, this.#parts.clock.now())
  }

  async revoke(lease: Lease, signal: AbortSignal): Promise<void> {
    const state = this.#stateOfLease(lease)
    const { waiting } = this.#limitsOf(state)
    await revokeCredential(lease, signal, { ...this.#parts, state, waiting })
  }

  dropping(lease: Lease): Dropping | undefined {
    try {
      const state = this.#stateOfLease(lease)
      const { display_name: made_name, ...owned } = readLeaseData(lease)
      const dropped = forceRevokedEntries({ ...owned, made_name }, lease, state)
      return dropped && { alongside: dropped.entries, dropped: () => state.intents.undo(dropped.ids) }
    } catch (err) {
      this.#parts.log.error(
        { err, event: 'cloud_lease_forced', lease_id: lease.id },
        'cannot tell what a lease that was revoked by force owned upstream',
      )
      return undefined
    }
  }

  async debris(mount: Mount): Promise<DebrisObject[]> {
    return debrisObjects(await this.#parts.stateOf(mount).intents.debris())
  }

  reap(
    mount: Mount,
    { dryRun, correlationId }: { dryRun: boolean; correlationId: string },
  ): Promise<{ objects: ReapedObject[]; deleted: number }> {
    const state = this.#parts.stateOf(mount)
    return reap({ dryRun }, { ...this.#parts, state, call: this.#call(correlationId) })
  }

  preflight(mount: Mount, correlationId: string): Promise<Preflight> {
    const state = this.#parts.stateOf(mount)
    return preflight({ ...this.#parts, mount, state, call: this.#call(correlationId) })
  }

  whois(mount: Mount, clientId: string): Promise<object> {
    return whois(clientId, this.#parts.stateOf(mount), this.#parts.leases)
  }

  /**
   * For the gauges: the number of objects left to undo, and the ends of the root secret, known after a rotation, and
   * of the root certificate, in seconds since the epoch.
   */
  async figures(): Promise<MountFigures[]> {
    const figures = this.#parts.everyMount().map(async (mount) => {
      const state = this.#parts.stateOf(mount)
      const config = await state.findConfig()
      const certificate = state.operator.certificate ?? config?.certificate
      return {
        mount,
        debris: (await this.debris(mount)).length,
        rootSecretEnd: secondsAt(config?.root_password_expiration_date),
        rootCertificateEnd: secondsAt(certificate?.expiration),
      }
    })
    return Promise.all(figures)
  }

  clear(mount: Mount, how: { readonly abandon: boolean }): Promise<void> {
    return clearMount(mount, how, { ...this.#parts, signal: this.reaping.stopping })
  }

  async #reapIfDue(mount: Mount): Promise<void> {
    const { clock, log, random, enter, stateOf } = this.#parts
    const state = stateOf(mount)
    const periodMs = engineOptions(mount).reap_period * 1000
    const last = this.#lastReap.get(state) ?? clock.now()
    const isDue = periodMs !== 0 && clock.now() - last >= periodMs
    this.#lastReap.set(state, isDue ? clock.now() : last)
    const leave = isDue ? enter(mount) : undefined
    if (leave === undefined) return
    try {
      const { objects, deleted } = await this.reap(mount, { dryRun: false, correlationId: random.uuid() })
      if (objects.length > 0)
        log.warn(
          { event: 'cloud_reaped', mount: mount.path, objects: objects.length, deleted },
          'deleted cloud objects that have no owner',
        )
    } finally {
      leave()
    }
  }

  #call(correlationId: string) {
    return {
      deadline: this.#parts.clock.now() + this.#requestLimitMs,
      correlationId,
      signal: this.reaping.stopping,
    }
  }

  #stateOfLease({ mount_accessor }: Lease): MountState {
    const mount = this.#parts.mountOf(mount_accessor)
    if (mount === undefined) throw refuse('missing', 'unsupported path')
    return this.#parts.stateOf(mount)
  }

  #limitsOf(state: MountState) {
    const known = this.#limits.get(state)
    if (known !== undefined) return known
    const bounds = { ms: this.#requestLimitMs, refusal: tooManyCreations }
    // each use sets the capacity
    const limits = { creations: new Limiter(0, bounds), waiting: { count: 0 } }
    this.#limits.set(state, limits)
    return limits
  }
}
