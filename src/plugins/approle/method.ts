import type { Lockouts, LoginName } from '../../core/lockout/lockouts.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import { PerMount } from '../../core/mounts/per-mount.ts'
import type { CacheUses } from '../../core/records/cache-use.ts'
import { Changes } from '../../core/records/change.ts'
import { openKeyedHashes } from '../../core/records/keyed-hash.ts'
import type { Issued } from '../../core/tokens/acts/auth-block.ts'
import {
  issueLogin,
  type LoginAuth,
  type LoginParts,
  type LoginRequest,
} from '../../core/tokens/acts/issue-login.ts'
import { mountTtl } from '../../core/tokens/store/lifetime.ts'
import type { Token } from '../../core/tokens/store/token.ts'
import type { RenewalTerms } from '../../core/tokens/store/token-fields.ts'
import { renewalTermsOf } from '../../core/tokens/store/token-fields.ts'
import { tunedTypeWarnings, useLimitWarnings } from '../../core/tokens/store/token-type.ts'
import { refuse, type ServiceError } from '../../errors.ts'
import { Loaded } from '../../lib/data/loaded.ts'
import type { Random } from '../../lib/system/random.ts'
import { toText } from '../../lib/text/coercion.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import { LoginFailures } from '../../logins/explain/login-failures.ts'
import type { LoginSteps } from '../../logins/explain/login-steps.ts'
import { checkAddress, grantOf, wrongPair } from './login.ts'
import { changedRole, newRole, type Role, type RoleInput, type RoleRecord, roleWarnings } from './role.ts'
import { RoleStore } from './role-store.ts'
import { checkLength, newSecretId, type SecretId, type SecretIdInput } from './secret-id.ts'
import { type FoundSecretId, SecretIdStore } from './secret-id-store.ts'

export type ApproleParts = LoginParts & {
  readonly mounts: Pick<MountStore, 'viewOf' | 'table'>
  readonly random: Random
  /** Most refused logins remembered per mount. */
  readonly failuresKept: number
  readonly caches?: CacheUses
  readonly lockouts: Pick<Lockouts, 'check' | 'noteFailure' | 'noteLogin'>
}

/** Input of a login, and what the login finds out. */
export type LoginAttempt = {
  readonly roleId: string
  readonly secretId: string
  /** Filled in: the name of the role, once it is known. */
  role: string
  readonly steps: LoginSteps
}

type LoginPlace = Omit<LoginRequest, 'auth'> & Pick<LoginAuth, 'scope'>

type GivenSecret = Pick<LoginAttempt, 'steps'> & { readonly secret: string; readonly named: LoginName }

type Place = Disposable & {
  readonly roles: RoleStore
  readonly secretIds: SecretIdStore
  readonly failures: LoginFailures
  /** Logins with one secret id whose number of logins is limited. */
  readonly limitedLogins: Changes
}

/** A new secret id, as its response shows it. */
export type NewSecretId = { readonly secret: string; readonly secretId: SecretId }

/** The AppRole method for all of its mounts. docs/contract/approle.md */
export class ApproleMethod {
  readonly #parts: ApproleParts
  readonly #places: PerMount<Place>

  constructor(parts: ApproleParts) {
    this.#parts = parts
    this.#places = new PerMount(parts.mounts, (mount) => this.#open(mount))
  }

  rolesOf(mount: Mount): RoleStore {
    return this.#places.of(mount).roles
  }

  secretIdsOf(mount: Mount): SecretIdStore {
    return this.#places.of(mount).secretIds
  }

  /** The refused logins of a mount. */
  failuresOf(mount: Mount): LoginFailures {
    return this.#places.of(mount).failures
  }

  #open(mount: Mount): Place {
    const { mounts, random, clock, caches, failuresKept: kept } = this.#parts
    const view = mounts.viewOf(mount).view('', { numbers: 'plain' })
    const hashes = new Loaded(() => openKeyedHashes(view, random, 'keys', ['role-id', 'accessor']))
    const hash = async (name: 'role-id' | 'accessor') => (await hashes.get())[name]
    const roles = new RoleStore({ view, hashOfRoleId: () => hash('role-id'), ...(caches && { caches }) })
    return {
      roles,
      secretIds: new SecretIdStore({ view, clock, hashOfAccessor: () => hash('accessor') }),
      failures: new LoginFailures({ view, random, clock, kept }),
      limitedLogins: new Changes({ view, tooMany: 'too many logins with one secret id at a time' }),
      [Symbol.dispose]: () => roles[Symbol.dispose](),
    }
  }

  #boundsOf(mount: Mount) {
    return { mountMaxTtl: mountTtl(mount.config, this.#parts.systemTtl).maxTtl }
  }

  /** Creates or changes a role; returns the warnings. docs/contract/approle.md#roles */
  async putRole(mount: Mount, name: string, sent: RoleInput): Promise<string[]> {
    const bounds = this.#boundsOf(mount)
    const record = await this.rolesOf(mount).change(name, (before) =>
      changedRole(before ?? { ...newRole(this.#parts.random) }, sent, {
        ...bounds,
        isNew: before === undefined,
      }),
    )
    return [...roleWarnings(record, sent, bounds), ...useLimitWarnings(mount.config.token_type, record)]
  }

  /** Warns of roles that batch tokens keep from logging in. */
  tuned(...mounts: [before: Mount, now: Mount]): Promise<string[]> {
    return tunedTypeWarnings(mounts, async () => {
      const roles = this.rolesOf(mounts[1])
      return { names: await roles.names(), find: async (name) => (await roles.find(name))?.record }
    })
  }

  /** Changes an existing role. False if there is no such role. */
  async changeRole(mount: Mount, name: string, sentOf: (before: RoleRecord) => RoleInput): Promise<boolean> {
    const rules = { ...this.#boundsOf(mount), isNew: false }
    const changed = await this.rolesOf(mount).change(
      name,
      (before) => before && changedRole(before, sentOf(before), rules),
    )
    return changed !== undefined
  }

  /** Generates a secret id, or stores a chosen one. docs/contract/approle.md#secret-ids */
  async addSecretId(
    mount: Mount,
    role: Role,
    { chosen, ...input }: SecretIdInput & { readonly chosen?: string | undefined },
  ): Promise<NewSecretId> {
    const { random, clock } = this.#parts
    const made = { accessor: random.uuid(), now: clock.now(), ...this.#boundsOf(mount) }
    const secretId = newSecretId(role.record, { ...input, chosen }, made)
    const secret = chosen ?? random.uuid()
    checkLength(secret, 'failed to store secret_id: failed to create HMAC of secret ID')
    await this.secretIdsOf(mount).add(role, secret, secretId)
    return { secret, secretId }
  }

  /** docs/contract/approle.md#login-in-this-order */
  async login(place: LoginPlace, attempt: LoginAttempt): Promise<Issued> {
    const { mount } = place
    const { steps } = attempt
    const roleId = attempt.roleId.trim()
    const secret = attempt.secretId.trim()
    if (roleId === '')
      throw refuse('invalid', 'missing role_id', { reason: 'role_missing', isFailureElsewhere: true })
    const { lockouts } = this.#parts
    const named: LoginName = { mount, name: roleId }
    steps.during('lockout', {}, () => lockouts.check(named))
    const role = await this.rolesOf(mount).findByRoleId(roleId)
    if (role === undefined) throw await this.#wrong(named, 'role_unknown')
    attempt.role = role.name
    steps.passed('role', { seen: role.name })
    const issued = await this.#loginTo(place, role, { secret, named, steps })
    await lockouts.noteLogin(named)
    return issued
  }

  async #loginTo(place: LoginPlace, role: Role, given: GivenSecret): Promise<Issued> {
    const { secret, steps } = given
    if (role.record.bind_secret_id === false) {
      steps.during('address', boundTo(role, undefined, place), () =>
        checkAddress(role, undefined, place.remoteAddress),
      )
      return this.#issue(place, role, undefined)
    }
    if (secret === '') throw refuse('invalid', 'missing secret_id', { reason: 'secret_id_missing' })
    checkLength(secret)
    return this.#loginWithSecret(place, role, given)
  }

  /** Counts a wrong pair, which locks the role id in the end, whether a role has it or not. */
  async #wrong(named: LoginName, why: Parameters<typeof wrongPair>[0]): Promise<ServiceError> {
    // logins at the same time may have locked it: no more of them are judged than one after the other
    this.#parts.lockouts.check(named)
    await this.#parts.lockouts.noteFailure(named, why !== 'role_unknown')
    return wrongPair(why)
  }

  async #loginWithSecret(
    place: LoginPlace,
    role: Role,
    { secret, named, steps }: GivenSecret,
  ): Promise<Issued> {
    const secretIds = this.secretIdsOf(place.mount)
    const first = await secretIds.seek(role, secret)
    if (first === undefined) throw await this.#wrong(named, 'secret_id_unknown')
    if (first === 'ended') throw await this.#wrong(named, 'secret_id_ended')
    this.#parts.lockouts.check(named)
    steps.passed('secret_id', { detail: `accessor ${first.secretId.accessor}` })
    steps.during('address', boundTo(role, first.secretId, place), () =>
      checkAddress(role, first.secretId, place.remoteAddress),
    )
    if (first.secretId.num_uses === 0) return this.#issue(place, role, first)
    const { limitedLogins } = this.#places.of(place.mount)
    return limitedLogins.run(`${first.role}/${first.hash}`, async (_, overtaken) => {
      const found = await secretIds.find(role, secret)
      // it was valid when this login began, which so is no guess
      if (found === undefined) {
        steps.failed('uses', 'secret_id_unknown', { detail: 'other logins used it up meanwhile' })
        throw wrongPair('secret_id_unknown')
      }
      return await this.#issue(place, role, found, overtaken)
    })
  }

  /** Throws `overtaken` if another login, or a deletion, has changed the secret id since it was read. */
  async #issue(
    { scope, ...place }: LoginPlace,
    role: Role,
    found?: FoundSecretId,
    overtaken?: Error,
  ): Promise<Issued> {
    const secretIds = this.secretIdsOf(place.mount)
    const entries = found === undefined ? [] : await secretIds.useOf(found)
    const checkRefused = async () => {
      if (found !== undefined && entries.length > 0 && (await secretIds.hasChanged(found))) throw overtaken
    }
    const auth = { ...grantOf(role, found?.secretId), use: { entries, checkRefused }, scope }
    return issueLogin(this.#parts, { ...place, auth })
  }

  /** The role of a login that sent this `role_id`; empty if it names none. */
  async loginRole(mount: Mount, sent: JsonValue): Promise<string> {
    const roleId = toText(sent)
    if ('error' in roleId || roleId.value.trim() === '') return ''
    return (await this.rolesOf(mount).findByRoleId(roleId.value.trim()))?.name ?? ''
  }

  /** The current terms of the role that a token was issued for. docs/contract/approle.md#renewal */
  async renewalTerms(token: Token, mount: Mount): Promise<RenewalTerms> {
    const name = token.internal.role ?? ''
    const role = await this.rolesOf(mount).find(name)
    return role === undefined
      ? { ok: false, reason: `role ${quoted(name)} does not exist during renewal` }
      : renewalTermsOf(role.record)
  }

  /** Deletes, at all mounts, what has ended and what is left of deleted roles. */
  async sweep(stopping: AbortSignal): Promise<void> {
    for (const mount of this.#parts.mounts.table.all())
      if (mount.plugin === 'approle' && !mount.tainted && !stopping.aborted)
        await this.secretIdsOf(mount).sweep(stopping)
  }
}

/** The networks that a login may come from, and where it comes from. */
const boundTo = (
  { record: { secret_id_bound_cidrs: ofRole } }: Role,
  secretId: SecretId | undefined,
  { remoteAddress }: LoginPlace,
) => ({
  expected: [...(secretId?.cidr_list ?? []), ...(ofRole ?? [])].slice(0, mostShown),
  seen: remoteAddress,
})

const mostShown = 16
