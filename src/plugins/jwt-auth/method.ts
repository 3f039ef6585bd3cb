import type { ViewEntry } from '../../core/barrier/view.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { PresentedJwt, TokenLogin } from '../../core/mounts/mount-type.ts'
import type { OutboundClient } from '../../core/outbound/outbound.ts'
import type { CacheUses } from '../../core/records/cache-use.ts'
import type { LoginAuth } from '../../core/tokens/acts/issue-login.ts'
import type { Client } from '../../core/tokens/acts/login-queue.ts'
import { mountTtl, type TtlBounds } from '../../core/tokens/store/lifetime.ts'
import type { ReplayStore } from '../../core/tokens/store/replay-store.ts'
import type { Token } from '../../core/tokens/store/token.ts'
import type { RenewalTerms } from '../../core/tokens/store/token-fields.ts'
import { renewalTermsOf } from '../../core/tokens/store/token-fields.ts'
import { tunedTypeWarnings, useLimitWarnings } from '../../core/tokens/store/token-type.ts'
import { ServiceError } from '../../errors.ts'
import { historyDaysWarnings } from '../../jwt/history/history-days.ts'
import {
  LoginMounts,
  type MemoryParts,
  type MountMemory,
  type OpenedMount,
} from '../../jwt/history/login-mounts.ts'
import { type JwtFailures, sentToken } from '../../jwt/history/sent-token.ts'
import { CheckQueue } from '../../jwt/jws/check-queue.ts'
import { checksAtOnce } from '../../jwt/jws/signature.ts'
import { KnownTokens } from '../../jwt/keys/known-tokens.ts'
import { SharedSources } from '../../jwt/keys/shared-sources.ts'
import { thumbprintOf } from '../../jwt/keys/thumbprint.ts'
import type { ObservedKeys } from '../../jwt/observatory/observed-keys.ts'
import type { Buckets } from '../../lib/concurrency/buckets.ts'
import { toLowerText } from '../../lib/text/coercion.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import type { Explanation } from '../../logins/explain/explained.ts'
import { bareTrace, bringsToken } from '../../logins/explain/explained.ts'
import { maxRecordedToken, secondLooks } from '../../logins/explain/login-failures.ts'
import { type CelLoginContext, type CelLoginInput, celLogin } from './cel/cel-login.ts'
import { CelEvaluator, type Evaluation } from './cel/evaluator.ts'
import type { Outcome } from './cel/outcome.ts'
import type { Evaluated } from './cel/program.ts'
import {
  type CheckedConfig,
  type Config,
  type ConfigInput,
  type ConfigLog,
  checkConfig,
  replaced,
} from './config/jwt-config.ts'
import { MountState, type MountStateParts } from './config/mount-state.ts'
import { changedRole, type Role, type RoleRecord, roleWarnings } from './config/role.ts'
import { TokenIssuers } from './config/token-issuers.ts'
import { type ExplainContext, type ExplainInput, explainLogin } from './explain/explain.ts'
import { type Finding, type LintContext, lintConfig, lintRole, lintWrite } from './explain/lint.ts'
import { lintCelRole } from './explain/lint-cel.ts'
import type { ReportedMount } from './explain/login-reports.ts'
import { traceOf } from './explain/login-trace.ts'
import { type RefusedConfig, shownStatus } from './explain/status.ts'
import type { Attempt } from './login/flow-trace.ts'
import { jwtLogin, type LoginContext, type LoginInput } from './login/login.ts'
import { longestTolerance } from './login/one-time.ts'
import {
  type Authorization,
  type AuthorizeContext,
  type AuthorizeInput,
  authorize,
} from './oidc/authorize.ts'
import type { PendingLogin } from './oidc/pending-login.ts'
import { PendingLogins } from './oidc/pending-logins.ts'
import { ProviderWaits } from './oidc/provider-waits.ts'
import type { FlowContext, FlowLog } from './oidc/sign-in.ts'
import {
  type Accepted,
  claimsLookedAt,
  type How,
  notedBrowserLogin,
  notedLogin,
} from './what-if/noted-login.ts'

const dayMs = 86_400_000

export type JwtMethodParts = MemoryParts & {
  readonly mounts: Pick<MountStore, 'viewOf' | 'table' | 'onChange' | 'beforeChange' | 'whileUnchanged'>
  readonly outbound: OutboundClient
  readonly log: ConfigLog & FlowLog
  readonly systemTtl: TtlBounds
  readonly spent: ReplayStore
  /** Undefined if no other server writes the storage. */
  readonly shared: object | undefined
  readonly caches?: CacheUses
  /** Most characters of a JWT; 0 is no limit. */
  readonly maxJwtSize: number
  readonly keepsSignatures: boolean
}

/** Whose turn it is when a program is evaluated. */
type Asking = Pick<Client, 'address' | 'whenSilent'>

type FlowRequest = Pick<FlowContext, 'remoteAddress' | 'signal' | 'attempt'>

/** A role as a write sends it. */
export type RoleWrite = {
  readonly sent: RoleRecord
  /** Names in the write that are not fields of a role. */
  readonly unknown: readonly string[]
  policyExists(name: string): Promise<boolean>
}

type Place = MountMemory &
  Disposable & {
    readonly state: MountState
    readonly pending: PendingLogins
    readonly waits: ProviderWaits
    /** Milliseconds since the epoch. */
    lastLoginAt: number | undefined
    lastRefusalAt: number | undefined
    /** The most recently refused configuration, until one is accepted. */
    refusedConfig: RefusedConfig | undefined
  }

/** The JWT method for all of its mounts. */
export class JwtMethod {
  readonly #parts: JwtMethodParts
  readonly #keysetParts: Omit<MountStateParts, 'onFetch'>
  readonly places: LoginMounts<Place>
  /** Refused JWT logins whose checks are recorded, per mount. */
  readonly #traces: Buckets
  readonly #evaluator: CelEvaluator
  readonly #known: KnownTokens | undefined
  /** The mounts that take JWTs as tokens. */
  readonly issuers: TokenIssuers

  constructor(parts: JwtMethodParts) {
    this.#parts = parts
    this.places = new LoginMounts<Place>(parts, {
      plugin: 'jwt',
      open: (opened) => this.#open(opened),
      observe: observedKeys,
    })
    this.issuers = new TokenIssuers({
      ...parts,
      knownConfig: async (mount) => (await this.stateOf(mount).findConfig())?.config,
      storedConfig: (mount) => this.stateOf(mount).storedConfig(),
    })
    this.#traces = secondLooks(parts.clock)
    this.#evaluator = new CelEvaluator(parts.clock)
    this.#known = parts.keepsSignatures ? new KnownTokens(parts.clock) : undefined
    this.#keysetParts = {
      sources: new SharedSources(parts),
      queue: new CheckQueue(checksAtOnce),
      limits: { maxTokenSize: parts.maxJwtSize },
      clock: parts.clock,
      ...(parts.caches && { caches: parts.caches }),
    }
  }

  /** The limits for roles of a mount. */
  boundsOf(mount: Mount): { readonly mountMaxTtl: number } {
    return { mountMaxTtl: mountTtl(mount.config, this.#parts.systemTtl).maxTtl }
  }

  /** Configuration and roles of a mount. */
  stateOf(mount: Mount): MountState {
    return this.places.of(mount).state
  }

  #open({ mount, view, memory, onFetch }: OpenedMount): Place {
    const { clock, random, shared } = this.#parts
    const state = new MountState(view, {
      ...this.#keysetParts,
      onFetch,
      onConfig: () => this.issuers.outdate(mount),
    })
    return {
      ...memory,
      state,
      pending: new PendingLogins({
        view: view.view('', { numbers: 'plain', isUncopied: true }),
        clock,
        random,
        isShared: shared !== undefined,
        onAbandoned: (login) => memory.failures.add(abandoned(login)),
      }),
      waits: new ProviderWaits(),
      lastLoginAt: undefined,
      lastRefusalAt: undefined,
      refusedConfig: undefined,
      [Symbol.dispose]: () => state[Symbol.dispose](),
    }
  }

  /** The state that a login at a mount depends on. */
  #contextOf(mount: Mount) {
    const { outbound, clock } = this.#parts
    const { maxTokenSize } = this.#keysetParts.limits
    return { state: this.stateOf(mount), outbound, maxTokenSize, now: () => clock.now() }
  }

  /**
   * Replaces a mount's configuration after all its checks; returns the warnings. `check` may throw.
   * docs/contract/jwt.md#configuration
   */
  async putConfig(
    mount: Mount,
    input: ConfigInput,
    check: (stored: Config | undefined) => void = () => {},
  ): Promise<string[]> {
    const place = this.places.of(mount)
    const { warnings, unchecked } = await this.#checkedConfig(input, place)
    const { state } = place
    const put = (entryOf: () => Promise<ViewEntry>) => this.issuers.put(mount, input.bound_issuer, entryOf)
    const change = (before: Config | undefined) => {
      check(before)
      return replaced(input, before)
    }
    await state.changeConfig(change, { unchecked, put: input.accept_as_token ? put : undefined })
    // fetch now, so that the first login knows which set has which key
    if (input.jwks_pairs.length > 0) await (await state.findConfig())?.keyset.refresh()
    return warnings
  }

  /** Keeps the reason for a refused configuration in the mount's status until one is accepted. */
  async #checkedConfig(input: ConfigInput, place: Place): Promise<CheckedConfig> {
    try {
      const checked = await checkConfig(input, this.#parts)
      place.refusedConfig = undefined
      return checked
    } catch (error) {
      if (error instanceof ServiceError)
        place.refusedConfig = { time: this.#parts.clock.now(), text: error.message }
      throw error
    }
  }

  /** Creates or changes a role; returns the warnings. `check` may throw. docs/contract/jwt.md#roles */
  async putRole(
    mount: Mount,
    name: string,
    { sent, unknown, policyExists }: RoleWrite,
    check: (stored: RoleRecord | undefined) => void = () => {},
  ): Promise<string[]> {
    const bounds = this.boundsOf(mount)
    const state = this.stateOf(mount)
    let before: RoleRecord | undefined
    const role: Role = await state.roles.change(name, (stored) => {
      before = stored?.record
      check(before)
      return changedRole(before, sent, bounds)
    })
    const warnings = [
      ...roleWarnings(role.record, bounds),
      ...useLimitWarnings(mount.config.token_type, role.record),
    ]
    if (mount.options?.['role_lint'] !== 'write') return warnings
    const ready = await state.findConfig()
    const findings = [
      ...(await lintRole(role, { config: ready?.config, tokenType: undefined, policyExists })),
      ...lintWrite(name, { before, sent, unknown }),
    ]
    return [...warnings, ...findings.map(({ code, text }) => `${code}: ${text}`)]
  }

  /** Warns of roles that batch tokens keep from logging in, and of an option that does not count. */
  async tuned(...mounts: [before: Mount, now: Mount]): Promise<string[]> {
    const ofType = await tunedTypeWarnings(mounts, async () => {
      const { roles } = this.stateOf(mounts[1])
      return { names: await roles.names(), find: async (name) => (await roles.find(name))?.record }
    })
    return [...ofType, ...historyDaysWarnings(...mounts)]
  }

  /** Refuses what a write of the configuration would refuse. */
  async checkConfig(mount: Mount, input: ConfigInput): Promise<void> {
    await checkConfig(input, this.#parts)
    if (input.accept_as_token) await this.issuers.checkIsOnly(mount, input.bound_issuer)
  }

  /** The state that a change of this mount is tried on. */
  memoryOf(mount: Mount) {
    const { state, history, failures, turns } = this.places.of(mount)
    return { mount, state, history, failures, turns, now: this.#parts.clock.now() }
  }

  /** Runs a login; the result has what its mount remembers of it. */
  async #noted(
    mount: Mount,
    { asToken, ...how }: Omit<How, 'asToken'> & Pick<LoginContext, 'asToken'>,
    run: (context: LoginContext) => Promise<LoginAuth>,
  ): Promise<LoginAuth> {
    const noted: Accepted[] = []
    const auth = await run({
      ...this.#contextOf(mount),
      known: this.#known,
      remoteAddress: how.address,
      asToken,
      onAccepted: (by) => noted.push(by),
    })
    const [accepted] = noted
    if (accepted === undefined) return auth
    const { token, keyset } = accepted
    if (token.signer !== undefined && keyset !== undefined)
      this.places.of(mount).keyWatch.noteLogin(thumbprintOf(token.signer), keyset)
    return this.places.remembered(
      mount,
      auth,
      notedLogin(auth, accepted, { ...how, asToken: asToken !== undefined }),
    )
  }

  /** A login that ended in a browser, with what its mount remembers of it. */
  rememberedBrowserLogin(mount: Mount, auth: LoginAuth, attempt: Attempt, address: string): LoginAuth {
    const { signer, flow } = attempt
    if (signer !== undefined && flow.ready !== undefined)
      this.places.of(mount).keyWatch.noteLogin(signer, flow.ready.keyset)
    const noted = notedBrowserLogin(auth, attempt, address)
    return noted === undefined ? auth : this.places.remembered(mount, auth, noted)
  }

  /**
   * All findings about the roles of a mount, or about one role, or `cel/<name>`; undefined if that role does not exist.
   * docs/explain.md#what-the-linter-says
   */
  async lint(
    mount: Mount,
    roleName: string,
    policyExists: RoleWrite['policyExists'],
  ): Promise<Finding[] | undefined> {
    const state = this.stateOf(mount)
    const tokenType = mount.config.token_type
    const ready = await state.findConfig()
    const context = { config: ready?.config, tokenType, policyExists }
    const celName = /^cel\/(.*)$/.exec(roleName)?.[1]
    if (celName !== undefined) return this.#lintCel(state, celName, context)
    const findings: Finding[] = []
    for (const name of roleName === '' ? await state.roles.names() : [roleName]) {
      const role = await state.roles.find(name)
      if (role !== undefined) findings.push(...(await lintRole(role, context)))
      else if (roleName !== '') return undefined
    }
    if (roleName !== '') return findings
    for (const name of await state.celRoles.names())
      findings.push(...((await this.#lintCel(state, name, context)) ?? []))
    return ready === undefined ? findings : [...(await lintConfig(ready)), ...findings]
  }

  async #lintCel(state: MountState, name: string, context: LintContext): Promise<Finding[] | undefined> {
    const role = await state.celRoles.find(name)
    return role && lintCelRole(role, context)
  }

  /** docs/explain.md */
  explain(
    mount: Mount,
    input: ExplainInput,
    {
      by,
      ...preview
    }: Pick<ExplainContext, 'remoteAddress' | 'asToken' | 'plan' | 'roles' | 'celRoles'> & {
      readonly by: Asking
    },
  ): Promise<Explanation> {
    const evaluate: ExplainContext['evaluate'] = (atTurn) =>
      this.#evaluator.trace(operatorOf(mount, by), atTurn)
    return explainLogin(input, { ...this.#contextOf(mount), evaluate, ...preview })
  }

  /** The role of a login that sent this `role`; empty if the login has none. */
  async loginRole(mount: Mount, sent: JsonValue): Promise<string> {
    const named = toLowerText(sent)
    if ('error' in named) return ''
    return named.value || ((await this.places.of(mount).state.findConfig())?.config.default_role ?? '')
  }

  /** The facts about a mount that login reports need. */
  reportedMount(mount: Mount): ReportedMount {
    const place = this.places.of(mount)
    return {
      failures: place.failures,
      requestedRole: async (named, path) => {
        const name = named || ((await place.state.findConfig())?.config.default_role ?? '')
        const roles = path === 'cel/login' ? place.state.celRoles : place.state.roles
        const role = name === '' ? undefined : await roles.find(name)
        return {
          name,
          exists: role !== undefined,
          looked: role && 'boundClaims' in role ? claimsLookedAt(role) : [],
        }
      },
      traceOf: async (login) => {
        // neither a long token nor a series of bad ones may make the server check them twice
        const isLong = login.attempt.token.length > maxRecordedToken
        if (bringsToken(login.path) && (isLong || !this.#traces.take(mount.uuid)))
          return bareTrace(login.reason)
        return traceOf(login, this.#contextOf(mount))
      },
      noteEnd: (isLogin) => {
        const now = this.#parts.clock.now()
        if (isLogin) place.lastLoginAt = now
        else place.lastRefusalAt = now
      },
    }
  }

  /** How many browser logins wait, at the mounts used since the start. */
  async pendingLogins(): Promise<readonly { mount: Mount; value: number }[]> {
    return Promise.all(
      this.places.used().map(async ({ mount, kept }) => ({ mount, value: await kept.pending.total() })),
    )
  }

  /** Fetches keys first if `refresh` is set. docs/explain.md */
  async status(mount: Mount, refresh: boolean): Promise<object> {
    const { state, pending, lastLoginAt, lastRefusalAt, refusedConfig } = this.places.of(mount)
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
  login(
    mount: Mount,
    address: string,
    { asToken, ...input }: LoginInput & Pick<LoginContext, 'asToken'>,
  ): Promise<LoginAuth> {
    const how = { path: 'login', byDefault: input.role === '', address, asToken } as const
    return this.#noted(mount, how, (context) => jwtLogin(input, context))
  }

  /** The login that a JWT means as the token of a request. docs/contract/inline-login.md#a-jwt-as-the-token */
  async tokenLogin(namespace: string, { jwt, issuer, role }: PresentedJwt): Promise<TokenLogin | undefined> {
    const mount = await this.issuers.find(namespace, issuer)
    if (mount === undefined) return undefined
    const config = (await this.stateOf(mount).findConfig())?.config
    if (config?.accept_as_token !== true || config.bound_issuer !== issuer) return undefined
    const isCel = role === '' ? await this.defaultsToCel(mount) : celRoleName.test(role)
    const fields = { role: role.replace(celRoleName, ''), jwt }
    return { path: mount.path + (isCel ? 'cel/login' : 'login'), fields }
  }

  /**
   * Whether a JWT as token that names no role logs in with a CEL role. A name may belong to an ordinary role and to a
   * CEL role; the ordinary one counts.
   */
  async defaultsToCel(mount: Mount): Promise<boolean> {
    const { roles, celRoles } = this.stateOf(mount)
    const name = await this.loginRole(mount, '')
    return (await roles.find(name)) === undefined && (await celRoles.find(name)) !== undefined
  }

  /** docs/contract/cel.md#login */
  celLogin(
    mount: Mount,
    input: CelLoginInput,
    login: Asking & Pick<LoginContext, 'asToken'> & { onOutcome(outcome: Outcome): void },
  ): Promise<LoginAuth> {
    const { address, asToken, onOutcome, whenSilent } = login
    const client = { address, whenSilent, name: `${mount.uuid}/${input.role}` }
    const how = { path: 'cel/login', byDefault: input.role === '', address, asToken } as const
    const evaluate: CelLoginContext['evaluate'] = (atTurn) => this.#evaluator.evaluate(client, atTurn)
    return this.#noted(mount, how, (context) => celLogin(input, { ...context, evaluate, onOutcome }))
  }

  /** docs/contract/cel.md#trying-a-program */
  tryProgram(mount: Mount, by: Asking, evaluation: Evaluation): Promise<Evaluated> {
    return this.#evaluator.trace(operatorOf(mount, by), async () => evaluation)
  }

  /** docs/contract/oidc.md#the-authorization-url */
  authorize(
    mount: Mount,
    input: AuthorizeInput,
    login: Pick<AuthorizeContext, 'remoteAddress' | 'signal' | 'attempt'>,
  ): Promise<Authorization> {
    return authorize(input, { ...this.places.of(mount), outbound: this.#parts.outbound, ...login })
  }

  /** Runs a step of a browser login that may ask the provider. */
  inFlow<Request extends FlowRequest, Result>(
    mount: Mount,
    request: Request,
    step: (context: FlowContext & Request) => Promise<Result>,
  ): Promise<Result> {
    const { log } = this.#parts
    const { limits } = this.#keysetParts
    const { pending, waits } = this.places.of(mount)
    const context = { ...this.#contextOf(mount), pending, limits, log, ...request }
    // before the state is spent, so that a refused caller can retry
    return waits.run(request.remoteAddress, () => step(context))
  }

  /**
   * Removes expired records of all mounts: abandoned logins, used one-time tokens that no role would
   * accept any more, and remembered logins.
   */
  async sweep(): Promise<void> {
    const { mounts, spent } = this.#parts
    for (const { kept } of this.places.all()) await kept.pending.sweep()
    await spent.sweep((uuid) => this.#toleranceAt(mounts.table.byUuid(uuid)))
    await this.places.tidyLogins()
  }

  /**
   * A mount that this process does not know may just have been created elsewhere; if a mount's roles cannot
   * be read, nothing is known about it.
   */
  async #toleranceAt(mount: Mount | undefined): Promise<number> {
    if (mount === undefined || mount.tainted) return dayMs
    try {
      const roles = await this.stateOf(mount).roles.all()
      return longestTolerance(roles.map(({ record }) => record))
    } catch {
      // the log has the cause; other mounts must not wait for it
      return dayMs
    }
  }

  /** The current terms of the role that a token was issued for. docs/contract/jwt.md#login-in-this-order */
  async renewalTerms(token: Token, mount: Mount): Promise<RenewalTerms> {
    const name = token.internal.role ?? ''
    if (token.internal.cel !== undefined) return this.#celTerms(token, name, mount)
    const role = await this.stateOf(mount).roles.find(name)
    if (role === undefined) return { ok: false, reason: `role ${name} does not exist during renewal` }
    return renewalTermsOf(role.record)
  }

  /** The terms stay those of the login, because its claims are gone; the TTL is that of the last grant. docs/contract/cel.md#renewal */
  async #celTerms({ granted_ttl, internal }: Token, name: string, mount: Mount): Promise<RenewalTerms> {
    const role = await this.stateOf(mount).celRoles.find(name)
    if (role === undefined) return { ok: false, reason: `CEL role ${name} does not exist during renewal` }
    return {
      ok: true,
      ttl: granted_ttl,
      maxTtl: Number(internal['max_ttl'] ?? 0),
      period: Number(internal['period'] ?? 0),
    }
  }
}

async function observedKeys({ state, keyWatch }: Place): Promise<ObservedKeys | undefined> {
  const ready = await state.findConfig()
  return ready && { ...ready, keyWatch, pins: ready.config.allowed_key_thumbprints }
}

/** Operators take turns with logins, but as those of no role. */
const operatorOf = (mount: Mount, { address, whenSilent }: Asking): Client => ({
  address,
  whenSilent,
  name: `${mount.uuid}/cel/try`,
})

/** A login whose client polls no more, or whose person never came: no request was refused. */
const abandoned = ({ role, address }: PendingLogin): Parameters<JwtFailures['add']>[0] => ({
  request_id: '',
  path: 'oidc/poll',
  inline: false,
  as_token: false,
  role,
  roleExists: true,
  reason: 'state_unknown',
  check: 'state',
  status: 400,
  cause: '',
  remote_address: address,
  verified: false,
  sent: sentToken({ token: '', verified: false, looked: [] }),
  error: '',
  trace: bareTrace('state_unknown', 'nobody finished it, and polled for it, within 10 minutes: expired'),
})

/** How a caller names a CEL role where an ordinary role could be meant. */
const celRoleName = /^cel\/(?=.)/i
