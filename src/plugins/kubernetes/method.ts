import { stat } from 'node:fs/promises'
import type { Mount } from '../../core/mounts/mount.ts'
import type { OutboundClient } from '../../core/outbound/outbound.ts'
import type { CacheUses } from '../../core/records/cache-use.ts'
import { StoredRoles } from '../../core/records/stored-roles.ts'
import type { LoginAuth } from '../../core/tokens/acts/issue-login.ts'
import { mountTtl, type TtlBounds } from '../../core/tokens/store/lifetime.ts'
import type { Token } from '../../core/tokens/store/token.ts'
import type { RenewalTerms } from '../../core/tokens/store/token-fields.ts'
import { loginTerms, renewalTermsOf } from '../../core/tokens/store/token-fields.ts'
import { loginTokenType, tunedTypeWarnings, useLimitWarnings } from '../../core/tokens/store/token-type.ts'
import { refuse, ServiceError } from '../../errors.ts'
import { historyDaysWarnings } from '../../jwt/history/history-days.ts'
import {
  LoginMounts,
  type MemoryParts,
  type MountMemory,
  type OpenedMount,
} from '../../jwt/history/login-mounts.ts'
import { CheckQueue } from '../../jwt/jws/check-queue.ts'
import { checksAtOnce } from '../../jwt/jws/signature.ts'
import type { Keyset } from '../../jwt/keys/keyset.ts'
import { pinFindings } from '../../jwt/keys/pins.ts'
import { thumbprintOf } from '../../jwt/keys/thumbprint.ts'
import type { ObservedKeys } from '../../jwt/observatory/observed-keys.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { checkNamed, type Refusal } from '../../logins/refusals/refusal.ts'
import { ClusterClient, loginTimeMs } from './cluster/cluster-client.ts'
import { type ClusterKeys, clusterKeys } from './cluster/cluster-keys.ts'
import { LocalFiles } from './cluster/local-files.ts'
import { ClusterQuestions, type LastReview } from './cluster/questions.ts'
import { Turns } from './cluster/turns.ts'
import { byKeys, type Config, checkConfig, type ReadyConfig, storedConfig } from './config/config.ts'
import { changedRole, type Role, type RoleRecord, readRole, roleWarnings } from './config/role.ts'
import { StoredConfig } from './config/stored-config.ts'
import { type Finding, type LintAsked, lintMount, lintRole } from './explain/lint.ts'
import { LoginChecks } from './login/checks.ts'
import {
  type Admitted,
  examineLogin,
  examineToken,
  grantOf,
  type LoginContext,
  type LoginInput,
} from './login/login.ts'
import { notedLogin, sentAccount } from './what-if/noted-login.ts'

export type KubernetesParts = MemoryParts & {
  readonly outbound: OutboundClient
  readonly systemTtl: TtlBounds
  readonly caches?: CacheUses
  /** Most characters of a JWT; 0 is no limit. */
  readonly maxJwtSize: number
  /** The folder of the own service account's token and authority. */
  readonly serviceAccountDir: string
}

/** A role as a write sends it. */
export type RoleWrite = Pick<LintAsked, 'exists'> & { readonly sent: RoleRecord }

type Place = MountMemory &
  Disposable & {
    readonly config: StoredConfig
    readonly roles: StoredRoles<Role>
    readonly client: ClusterClient
    /** The keys that verify tokens, for the configuration that they were fetched with. */
    keys: { readonly of: ReadyConfig; readonly keyset: ClusterKeys | undefined } | undefined
    onFetch(succeeded: boolean): void
    lastReview: LastReview | undefined
    /** Until then, renewals fail at once; as `performance.now()` counts. */
    unreachableUntil: number
  }

/** Renewals do not wait for a cluster that was out of reach so recently. */
const unreachableMs = 5_000

/** The cluster alone judges tokens. */
const noKeys: Pick<Keyset, 'sources' | 'refresh'> = { sources: () => [], refresh: async () => {} }

/** The Kubernetes method for all of its mounts. docs/contract/kubernetes.md */
export class KubernetesMethod {
  readonly #parts: KubernetesParts
  readonly places: LoginMounts<Place>
  readonly #local: LocalFiles
  readonly #queue = new CheckQueue(checksAtOnce)
  readonly #turns = new Turns()

  constructor(parts: KubernetesParts) {
    this.#parts = parts
    this.#local = new LocalFiles(parts.serviceAccountDir, parts.clock)
    this.places = new LoginMounts<Place>(parts, {
      plugin: 'kubernetes',
      open: (opened) => this.#open(opened),
      observe: (place) => this.#observed(place),
    })
  }

  #open({ view: all, memory, onFetch }: OpenedMount): Place {
    const { caches, outbound } = this.#parts
    const view = all.view('', { numbers: 'plain' })
    const config = new StoredConfig(view)
    const roles = new StoredRoles({ view, prefix: 'role/', read: readRole, caches })
    return {
      ...memory,
      config,
      roles,
      client: new ClusterClient({ outbound, local: this.#local }),
      onFetch,
      keys: undefined,
      lastReview: undefined,
      unreachableUntil: 0,
      [Symbol.dispose]: () => {
        config[Symbol.dispose]()
        roles[Symbol.dispose]()
      },
    }
  }

  /** Replaces the configuration after its checks; returns the warnings. Asks nobody. `check` may throw. */
  async putConfig(
    mount: Mount,
    sent: Config,
    check?: (stored: Config | undefined) => void,
  ): Promise<string[]> {
    await this.checkConfig(sent)
    const place = this.places.of(mount)
    await place.config.write(storedConfig(sent), this.#parts.clock.now(), check)
    // what was said of another cluster does not count
    place.keys = undefined
    place.lastReview = undefined
    place.unreachableUntil = 0
    return sent.verification === 'keys'
      ? ['deleted pods and accounts are accepted until their token ends']
      : []
  }

  /** Refuses what a write of the configuration would refuse. */
  async checkConfig(sent: Config): Promise<void> {
    const path = this.#local.pathOf('ca.crt')
    checkConfig(sent, { localCa: { path, isThere: await this.hasLocalCa() } })
  }

  /** The limits for roles of a mount. */
  boundsOf(mount: Mount): { readonly mountMaxTtl: number } {
    return { mountMaxTtl: mountTtl(mount.config, this.#parts.systemTtl).maxTtl }
  }

  /** Whether this server runs in a cluster, whose authority is in a file. */
  hasLocalCa(): Promise<boolean> {
    return stat(this.#local.pathOf('ca.crt')).then(
      () => true,
      () => false,
    )
  }

  /** Creates or changes a role; returns the warnings. `check` may throw. */
  async putRole(
    mount: Mount,
    name: string,
    { sent, exists }: RoleWrite,
    check: (stored: RoleRecord | undefined) => void = () => {},
  ): Promise<string[]> {
    const bounds = this.boundsOf(mount)
    const role = await this.places.of(mount).roles.change(name, (stored) => {
      check(stored?.record)
      return changedRole(stored?.record, sent, bounds)
    })
    const { record } = role
    const warnings = [...roleWarnings(record, bounds), ...useLimitWarnings(mount.config.token_type, record)]
    if (mount.options?.['role_lint'] !== 'write') return warnings
    return [...warnings, ...(await lintRole(role, exists)).map(({ code, text }) => `${code}: ${text}`)]
  }

  /** The state that a change of this mount is tried on. */
  memoryOf(mount: Mount) {
    const { history, roles, config, turns } = this.places.of(mount)
    return { mount, history, roles, config, turns, now: this.#parts.clock.now() }
  }

  /** Warns of roles that batch tokens keep from logging in, and of an option that does not count. */
  async tuned(...mounts: [before: Mount, now: Mount]): Promise<string[]> {
    const ofType = await tunedTypeWarnings(mounts, async () => {
      const roles = this.places.of(mounts[1]).roles
      return { names: await roles.names(), find: async (name) => (await roles.find(name))?.record }
    })
    return [...ofType, ...historyDaysWarnings(...mounts)]
  }

  /** All findings, or those about one role; undefined if that does not exist. docs/contract/kubernetes.md#lint */
  async lint(mount: Mount, asked: Omit<LintAsked, 'tokenType'>): Promise<Finding[] | undefined> {
    const place = this.places.of(mount)
    const { roles, config } = place
    const linted = { roles, findConfig: () => config.find(), hasLocalCa: () => this.hasLocalCa() }
    const findings = await lintMount(linted, { ...asked, tokenType: mount.config.token_type })
    const observed = asked.role === '' ? await this.#observed(place) : undefined
    return observed === undefined || findings === undefined
      ? findings
      : [...(await pinFindings(observed.pins, observed.keyset)), ...findings]
  }

  /** Whose token asks the cluster of a mount; undefined without a configuration. */
  async askerOf(mount: Mount): Promise<'configured' | 'file' | 'caller' | undefined> {
    const ready = await this.places.of(mount).config.find()
    return ready && (await this.places.of(mount).client.reviewer({ ready, jwt: '' })).kind
  }

  /**
   * Fetches the keys, or asks for a review of the reviewer's own token. Returns which rights the reviewer lacks, of those
   * that logins need.
   */
  async askNow(mount: Mount, ready: ReadyConfig): Promise<string[]> {
    const place = this.places.of(mount)
    const { bearer } = await place.client.reviewer({ ready, jwt: '' })
    const questions = this.contextOf(mount).questions(ready, bearer)
    const missing: string[] = []
    if (byKeys(ready)) await this.#keysOf(place, ready)?.refresh()
    else if (bearer !== '') {
      const refused = await questions.review({ account: undefined, audiences: [] })
      if (refused?.reason === 'review_forbidden') missing.push('reviewer may not create tokenreviews')
    }
    const usesSelectors = async () => (await place.roles.all()).some(({ selector }) => selector !== undefined)
    if (bearer !== '' && (await usesSelectors()) && !(await questions.mayGetNamespaces()))
      missing.push('reviewer may not get namespaces')
    return missing
  }

  /** Without a `remoteAddress` the caller has a token, and takes no turns with strangers. */
  contextOf(mount: Mount, remoteAddress?: string): LoginContext {
    const { clock, maxJwtSize: maxTokenSize } = this.#parts
    const place = this.places.of(mount)
    const endsAt = performance.now() + loginTimeMs
    return {
      maxTokenSize,
      remoteAddress: remoteAddress ?? mount.uuid,
      findRole: (name) => place.roles.find(name),
      findConfig: () => place.config.find(),
      keysOf: (ready) => this.#keysOf(place, ready),
      questions: (ready, jwt) =>
        new ClusterQuestions({
          client: place.client,
          asking: { ready, jwt, endsAt },
          inTurn: (work) =>
            remoteAddress === undefined ? work() : this.#turns.run(remoteAddress, endsAt, work),
          noteReview: (refused) => this.#noteReview(place, refused),
        }),
      now: () => clock.now(),
    }
  }

  #keysOf(place: Place, ready: ReadyConfig): ClusterKeys | undefined {
    if (place.keys?.of !== ready) {
      const { clock, maxJwtSize: maxTokenSize } = this.#parts
      const { client, onFetch } = place
      const parts = { client, clock, queue: this.#queue, maxTokenSize, onFetch }
      place.keys = { of: ready, keyset: clusterKeys(ready, parts) }
    }
    return place.keys.keyset
  }

  async #observed(place: Place): Promise<ObservedKeys | undefined> {
    const ready = await place.config.find()
    if (ready === undefined) return undefined
    const { written, config } = ready
    const keyset = this.#keysOf(place, ready) ?? noKeys
    return { keyWatch: place.keyWatch, keyset, written, pins: config.allowed_key_thumbprints }
  }

  #noteReview(place: Place, refused: Refusal | undefined): void {
    const { reason = '', cause: text = '' } = refused ?? {}
    place.lastReview = { time: this.#parts.clock.now(), reason, text }
    if (reason !== 'review_unreachable') place.unreachableUntil = 0
  }

  /** Determines the grant of a login. Throws the first refusal. docs/contract/kubernetes.md#login-in-this-order */
  async login(
    mount: Mount,
    input: LoginInput,
    remoteAddress: string,
    checks: LoginChecks,
  ): Promise<LoginAuth> {
    const admitted = await examineLogin(input, this.contextOf(mount, remoteAddress), checks)
    if (admitted === undefined) throw new Error('a login was refused without being ended')
    const auth = this.grant(mount, admitted)
    const { by } = admitted.signed
    if (by !== undefined) this.places.of(mount).keyWatch.noteLogin(thumbprintOf(by.signer), by.keys)
    return this.places.remembered(mount, auth, notedLogin(auth, admitted, remoteAddress))
  }

  grant(mount: Mount, admitted: Admitted): LoginAuth {
    const { record } = admitted.role
    const terms = loginTerms(record)
    const isService = loginTokenType(mount.config.token_type, terms) === 'service'
    return grantOf(admitted, { keepsToken: isService && record.renewal_review !== false })
  }

  /**
   * The terms of the role as it is now, once the cluster has accepted the token of the login again.
   * docs/contract/kubernetes.md#renewal
   */
  async renewalTerms({ internal, meta }: Token, mount: Mount): Promise<RenewalTerms> {
    const name = internal['role'] ?? ''
    const role = await this.places.of(mount).roles.find(name)
    if (role === undefined) return { ok: false, reason: `role ${name} does not exist during renewal` }
    if (role.record.renewal_review === false) return renewalTermsOf(role.record)
    const refused = await this.#renewalRefusal(mount, role, internal['jwt'])
    if (refused === undefined) return renewalTermsOf(role.record)
    return { ok: false, isDenied: true, reason: renewalText(refused, meta?.['service_account_name'] ?? '') }
  }

  async #renewalRefusal(
    mount: Mount,
    role: Role,
    jwt: string | undefined,
  ): Promise<ServiceError | undefined> {
    const place = this.places.of(mount)
    const checks = new LoginChecks({ continues: false })
    try {
      if (jwt === undefined) throw unasked('review_refused')
      if (performance.now() < place.unreachableUntil) throw unasked('review_unreachable')
      await examineToken(jwt, role, this.contextOf(mount), checks)
      return undefined
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      // a login of a stranger does not count: it may have spent its time waiting for its turn
      if (error.reason === 'review_unreachable' && performance.now() >= place.unreachableUntil)
        place.unreachableUntil = performance.now() + unreachableMs
      await this.#noteRenewal(place, { role, jwt: jwt ?? '', refused: error, checks })
      return error
    }
  }

  async #noteRenewal(
    { failures }: Place,
    {
      role,
      jwt,
      refused: { reason = '', message, operatorText = '' },
      checks,
    }: { role: Role; jwt: string; refused: ServiceError; checks: LoginChecks },
  ): Promise<void> {
    const trace = checks.explained()
    await failures.add({
      // by which it can be explained
      request_id: this.#parts.random.uuid(),
      path: 'renew',
      inline: false,
      as_token: false,
      role: role.name,
      roleExists: true,
      reason,
      check: trace.find(({ verdict }) => verdict === 'fail')?.name ?? checkNamed(reason),
      status: 403,
      cause: operatorText,
      verified: false,
      remote_address: '',
      sent: sentAccount(jwt, role),
      error: message,
      trace: { checks: trace, clock: undefined },
    })
  }
}

/** Refusals by the role and the configuration as they are now: their texts are told. */
const told: ReadonlySet<string> = new Set<Refusal['reason']>([
  'service_account_name_refused',
  'namespace_refused',
  'namespace_labels_refused',
  'namespace_labels_unavailable',
  'audience_mismatch',
  'issuer_mismatch',
])

/** docs/contract/kubernetes.md#renewal */
function renewalText({ reason = '', message, operatorText = '' }: ServiceError, name: string): string {
  if (told.has(reason)) return message
  return reason === 'signature_invalid'
    ? operatorText
    : `failed to validate token and secret still exist for ${quoted(name)} during renewal: permission denied`
}

const unasked = (reason: Refusal['reason']): ServiceError => refuse('denied', 'permission denied', { reason })
