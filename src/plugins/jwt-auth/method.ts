import { availableParallelism } from 'node:os'
import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { OutboundClient } from '../../core/outbound/outbound.ts'
import type { CacheUses } from '../../core/records/cache-use.ts'
import type { LoginAuth, LoginPlan } from '../../core/tokens/acts/issue-login.ts'
import { mountTtl, type TtlBounds } from '../../core/tokens/store/lifetime.ts'
import type { RenewalTerms } from '../../core/tokens/store/renewal-terms.ts'
import type { ReplayStore } from '../../core/tokens/store/replay-store.ts'
import type { Token } from '../../core/tokens/store/token.ts'
import { renewalTermsOf } from '../../core/tokens/store/token-fields.ts'
import { useLimitWarnings } from '../../core/tokens/store/token-type.ts'
import { ServiceError } from '../../errors.ts'
import { Buckets } from '../../lib/concurrency/buckets.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { toLowerText } from '../../lib/text/coercion.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import { type ConfigInput, type ConfigLog, checkConfig, replaced } from './config/jwt-config.ts'
import { MountState, type MountStateParts } from './config/mount-state.ts'
import { changedRole, type Role, type RoleRecord, roleWarnings } from './config/role.ts'
import { type ExplainInput, type Explanation, explainLogin } from './explain/explain.ts'
import { type Finding, lintRole, lintWrite } from './explain/lint.ts'
import { LoginFailures, maxRecordedToken } from './explain/login-failures.ts'
import type { ReportedMount } from './explain/login-reports.ts'
import { bareTrace, traceOf } from './explain/login-trace.ts'
import { type RefusedConfig, shownStatus } from './explain/status.ts'
import { CheckQueue } from './jws/check-queue.ts'
import { queueWeights } from './jws/signature.ts'
import { SharedSources } from './keys/shared-sources.ts'
import type { Attempt } from './login/flow-trace.ts'
import { jwtLogin, type LoginInput } from './login/login.ts'
import { longestTolerance } from './login/one-time.ts'
import { type Authorization, type AuthorizeInput, authorize } from './oidc/authorize.ts'
import { type CallbackInput, type CallbackLog, finishLogin } from './oidc/callback.ts'
import type { Page } from './oidc/pages.ts'
import type { ProviderError } from './oidc/pending-login.ts'
import { PendingLogins } from './oidc/pending-logins.ts'
import { answerPosted, type PostedContext, type PostedInput } from './oidc/posted.ts'
import { ProviderWaits } from './oidc/provider-waits.ts'

/**
 * A check counts until the main thread has its result. So few are enough to keep the main thread busy, and those
 * of other clients wait in the queue, where they take turns, instead of in the event loop, where they do not.
 */
const checksAtOnce = queueWeights.ofCore * Math.min(8, availableParallelism())
const dayMs = 86_400_000

export type JwtMethodParts = {
  readonly mounts: Pick<MountStore, 'viewOf' | 'table'>
  readonly outbound: OutboundClient
  readonly clock: Clock
  readonly random: Random
  readonly log: ConfigLog & CallbackLog
  readonly systemTtl: TtlBounds
  readonly spent: ReplayStore
  /** Undefined if no other server writes the storage. */
  readonly shared: object | undefined
  readonly caches?: CacheUses
  /** Most characters of a JWT; 0 is no limit. */
  readonly maxJwtSize: number
  /** Most refused logins remembered per mount. */
  readonly failuresKept: number
  /** Called for each fetch of keys or of a discovery document. */
  onFetch(mount: Mount, succeeded: boolean): void
}

/** A callback from a provider, and the client's address. */
export type CallbackRequest = {
  readonly remoteAddress: string
  /** What the provider sent instead of a code, if it refused. */
  readonly providerError: ProviderError | undefined
  readonly signal?: AbortSignal
  /** Filled in as more of the login becomes known. */
  readonly attempt: Attempt
}

/** Who would log in, and with which result. */
export type LoginPreview = {
  readonly remoteAddress: string
  /** The rest of a login, without writing anything. */
  plan(auth: LoginAuth): Promise<LoginPlan>
}

/** A role as a write sends it. */
export type RoleWrite = {
  readonly sent: RoleRecord
  /** Names in the write that are not fields of a role. */
  readonly unknown: readonly string[]
  policyExists(name: string): Promise<boolean>
}

type Place = {
  readonly state: MountState
  readonly pending: PendingLogins
  readonly waits: ProviderWaits
  readonly failures: LoginFailures
  /** Milliseconds since the epoch. */
  lastLoginAt: number | undefined
  lastRefusalAt: number | undefined
  /** The most recently refused configuration, until one is accepted. */
  refusedConfig: RefusedConfig | undefined
}

/**
 * The JWT method for all of its mounts. Each mount's state is found by the mount's uuid, so it survives a
 * move.
 */
export class JwtMethod {
  readonly #parts: JwtMethodParts
  readonly #keysetParts: Omit<MountStateParts, 'onFetch'>
  readonly #placeByUuid = new Map<string, Place>()
  /** Refused JWT logins whose checks are recorded, per mount. */
  readonly #traces: Buckets

  constructor(parts: JwtMethodParts) {
    this.#parts = parts
    this.#traces = new Buckets(parts.clock, { capacity: 200, refillMs: 50 })
    this.#keysetParts = {
      sources: new SharedSources(parts),
      queue: new CheckQueue(checksAtOnce),
      limits: { maxTokenSize: parts.maxJwtSize },
      clock: parts.clock,
      ...(parts.caches && { caches: parts.caches }),
    }
  }

  /** Configuration and roles of a mount. */
  stateOf(mount: Mount): MountState {
    return this.#placeOf(mount).state
  }

  #placeOf(mount: Mount): Place {
    const known = this.#placeByUuid.get(mount.uuid)
    if (known !== undefined) return known
    this.#dropEnds()
    const { clock, random, mounts } = this.#parts
    const view = mounts.viewOf(mount)
    const pending = new PendingLogins({
      view: view.view('', { numbers: 'plain', isUncopied: true }),
      clock,
      random,
      isShared: this.#parts.shared !== undefined,
    })
    const onFetch = (succeeded: boolean) =>
      this.#parts.onFetch(mounts.table.byUuid(mount.uuid) ?? mount, succeeded)
    const failures = new LoginFailures({
      view: view.view('', { numbers: 'plain' }),
      clock,
      random,
      kept: this.#parts.failuresKept,
    })
    const state = new MountState(view, { ...this.#keysetParts, onFetch })
    const place: Place = {
      state,
      pending,
      waits: new ProviderWaits(),
      failures,
      lastLoginAt: undefined,
      lastRefusalAt: undefined,
      refusedConfig: undefined,
    }
    this.#placeByUuid.set(mount.uuid, place)
    return place
  }

  #dropEnds(): void {
    for (const [uuid, { state }] of this.#placeByUuid) {
      if (this.#parts.mounts.table.byUuid(uuid) !== undefined) continue
      this.#placeByUuid.delete(uuid)
      state[Symbol.dispose]()
    }
  }

  /** Replaces a mount's configuration after all its checks; returns the warnings. docs/contract/jwt.md#configuration */
  async putConfig(mount: Mount, input: ConfigInput): Promise<string[]> {
    const place = this.#placeOf(mount)
    const warnings = await this.#checkedConfig(input, place)
    const { state } = place
    await state.changeConfig((before) => replaced(input, before))
    // fetch now, so that the first login knows which set has which key
    if (input.jwks_pairs.length > 0) await (await state.findConfig())?.keyset.refresh()
    return warnings
  }

  /** Keeps the reason for a refused configuration in the mount's status until one is accepted. */
  async #checkedConfig(input: ConfigInput, place: Place): Promise<string[]> {
    try {
      const warnings = await checkConfig(input, this.#parts)
      place.refusedConfig = undefined
      return warnings
    } catch (error) {
      if (error instanceof ServiceError)
        place.refusedConfig = { time: this.#parts.clock.now(), text: error.message }
      throw error
    }
  }

  /** Creates or changes a role; returns the warnings. docs/contract/jwt.md#roles */
  async putRole(mount: Mount, name: string, { sent, unknown, policyExists }: RoleWrite): Promise<string[]> {
    const bounds = { mountMaxTtl: mountTtl(mount.config, this.#parts.systemTtl).maxTtl }
    const state = this.stateOf(mount)
    let before: RoleRecord | undefined
    const role: Role = await state.changeRole(name, (stored) => {
      before = stored?.record
      return changedRole(before, sent, bounds)
    })
    const warnings = [
      ...roleWarnings(role.record, bounds),
      ...useLimitWarnings(mount.config.token_type, role.record),
    ]
    if (mount.options?.['role_lint'] !== 'write') return warnings
    const ready = await state.findConfig()
    const findings = [
      ...(await lintRole(role, { config: ready?.config, policyExists })),
      ...lintWrite(name, { before, sent, unknown }),
    ]
    return [...warnings, ...findings.map(({ code, text }) => `${code}: ${text}`)]
  }

  /**
   * All findings about the roles of a mount, or about one role; undefined if that role does not exist.
   * docs/explain.md#what-the-linter-says
   */
  async lint(
    mount: Mount,
    roleName: string,
    policyExists: RoleWrite['policyExists'],
  ): Promise<Finding[] | undefined> {
    const state = this.stateOf(mount)
    const context = { config: (await state.findConfig())?.config, policyExists }
    const findings: Finding[] = []
    for (const name of roleName === '' ? await state.roleNames() : [roleName]) {
      const role = await state.findRole(name)
      if (role !== undefined) findings.push(...(await lintRole(role, context)))
      else if (roleName !== '') return undefined
    }
    return findings
  }

  /** docs/explain.md */
  explain(mount: Mount, input: ExplainInput, preview: LoginPreview): Promise<Explanation> {
    const { outbound, clock } = this.#parts
    const { maxTokenSize } = this.#keysetParts.limits
    return explainLogin(input, {
      state: this.stateOf(mount),
      ...preview,
      outbound,
      maxTokenSize,
      now: () => clock.now(),
    })
  }

  /** The refused logins of a mount. docs/explain.md */
  failuresOf(mount: Mount): LoginFailures {
    return this.#placeOf(mount).failures
  }

  /** The role of a login that sent this `role`; empty if the login has none. */
  async loginRole(mount: Mount, sent: JsonValue): Promise<string> {
    const named = toLowerText(sent)
    if ('error' in named) return ''
    return named.value || ((await this.#placeOf(mount).state.findConfig())?.config.default_role ?? '')
  }

  /** What login reports need to know about a mount. */
  reportedMount(mount: Mount): ReportedMount {
    const place = this.#placeOf(mount)
    return {
      failures: place.failures,
      requestedRole: async (named) => {
        const name = named || ((await place.state.findConfig())?.config.default_role ?? '')
        return { name, exists: name !== '' && (await place.state.findRole(name)) !== undefined }
      },
      traceOf: (login) => {
        const { outbound, clock } = this.#parts
        const { maxTokenSize } = this.#keysetParts.limits
        // neither a long token nor a series of bad ones may make the server check them twice
        const isLong = login.attempt.token.length > maxRecordedToken
        if (login.path === 'login' && (isLong || !this.#traces.take(mount.uuid)))
          return Promise.resolve(bareTrace(login.reason))
        return traceOf(login, { state: place.state, outbound, maxTokenSize, now: () => clock.now() })
      },
      noteEnd: (isLogin) => {
        const now = this.#parts.clock.now()
        if (isLogin) place.lastLoginAt = now
        else place.lastRefusalAt = now
      },
    }
  }

  /** For the mounts used since the start, whose keys are in memory. */
  async keysets(): Promise<
    readonly { mount: Mount; keys: number; ageSeconds: number | undefined; pending: number }[]
  > {
    const { mounts, clock } = this.#parts
    const used = [...this.#placeByUuid].flatMap(([uuid, place]) => {
      const mount = mounts.table.byUuid(uuid)
      return mount === undefined || mount.tainted ? [] : [{ mount, place }]
    })
    return Promise.all(
      used.map(async ({ mount, place }) => {
        const sources = (await place.state.findConfig())?.keyset.sources() ?? []
        const fetchedAt = sources.flatMap(({ histories }) =>
          histories.flatMap((history) => history.fetchedAt ?? []),
        )
        const ageSeconds =
          fetchedAt.length === 0 ? undefined : Math.max(0, (clock.now() - Math.min(...fetchedAt)) / 1000)
        return {
          mount,
          keys: sources.reduce((sum, { keys }) => sum + keys.length, 0),
          ageSeconds,
          pending: await place.pending.total(),
        }
      }),
    )
  }

  /** Fetches keys first if `refresh` is set. docs/explain.md */
  async status(mount: Mount, refresh: boolean): Promise<object> {
    const { state, pending, lastLoginAt, lastRefusalAt, refusedConfig } = this.#placeOf(mount)
    const ready = await state.findConfig()
    if (refresh) await ready?.keyset.refresh()
    return shownStatus({
      ready,
      pendingLogins: await pending.total(),
      lastLoginAt,
      lastRefusalAt,
      refusedConfig,
      now: this.#parts.clock.now(),
    })
  }

  /** docs/contract/jwt.md#login-in-this-order */
  login(mount: Mount, remoteAddress: string, input: LoginInput): Promise<LoginAuth> {
    const { outbound, clock } = this.#parts
    return jwtLogin(input, { state: this.stateOf(mount), remoteAddress, outbound, now: () => clock.now() })
  }

  /** docs/contract/oidc.md#the-authorization-url */
  authorize(
    mount: Mount,
    input: AuthorizeInput,
    login: Pick<CallbackRequest, 'remoteAddress' | 'attempt'>,
  ): Promise<Authorization> {
    return authorize(input, { ...this.#placeOf(mount), ...login })
  }

  /** docs/contract/oidc.md#the-page-of-a-form */
  answerPosted(
    mount: Mount,
    input: PostedInput,
    posted: Omit<PostedContext, 'state' | 'pending'>,
  ): Promise<Page> {
    return answerPosted(input, { ...this.#placeOf(mount), ...posted })
  }

  /** docs/contract/oidc.md#the-callback-in-this-order */
  finishLogin(
    mount: Mount,
    input: CallbackInput,
    { signal, ...request }: CallbackRequest,
  ): Promise<LoginAuth> {
    const { outbound, clock, log } = this.#parts
    const { limits } = this.#keysetParts
    const { state, pending, waits } = this.#placeOf(mount)
    const context = { state, pending, ...request, outbound, limits, log, signal, now: () => clock.now() }
    // before the state is spent, so that a refused caller can retry
    return waits.run(request.remoteAddress, () => finishLogin(input, context))
  }

  /**
   * Removes expired records of all mounts: abandoned logins, and used one-time tokens that no role would
   * accept any more.
   */
  async sweep(): Promise<void> {
    const { mounts, spent } = this.#parts
    for (const mount of mounts.table.all()) {
      if (mount.plugin === 'jwt' && !mount.tainted) await this.#placeOf(mount).pending.sweep()
    }
    await spent.sweep((uuid) => this.#toleranceAt(mounts.table.byUuid(uuid)))
  }

  /**
   * A mount that this process does not know may just have been created elsewhere; if a mount's roles cannot
   * be read, nothing is known about it.
   */
  async #toleranceAt(mount: Mount | undefined): Promise<number> {
    if (mount === undefined || mount.tainted) return dayMs
    try {
      const roles = await this.stateOf(mount).roles()
      return longestTolerance(roles.map(({ record }) => record))
    } catch {
      // the log has the cause; other mounts must not wait for it
      return dayMs
    }
  }

  /** The current terms of the role that a token was issued for. docs/contract/jwt.md#login-in-this-order */
  async renewalTerms(token: Token, mount: Mount): Promise<RenewalTerms> {
    const name = token.internal.role ?? ''
    const role = await this.stateOf(mount).findRole(name)
    if (role === undefined) return { ok: false, reason: `role ${name} does not exist during renewal` }
    return renewalTermsOf(role.record)
  }
}
