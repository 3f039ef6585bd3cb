import type { JsonValue } from '../../lib/text/json.ts'
import type { LeaseBackend } from '../leases/lease-backend.ts'
import type { Token } from '../tokens/store/token.ts'
import type { RenewalTerms } from '../tokens/store/token-fields.ts'
import type { Mount, MountOptions, MountTable } from './mount.ts'

/** A JWT that is the token of a request. */
export type PresentedJwt = {
  readonly jwt: string
  /** Its `iss`, not verified. */
  readonly issuer: string
  /** The role that the request names; empty for none. */
  readonly role: string
}

/** A login at a path of a namespace. */
export type TokenLogin = { readonly path: string; readonly fields: Readonly<Record<string, JsonValue>> }

/** An audience of the identity tokens of a mount, and how long they are valid, in seconds. */
export type IdentityTokenUse = { readonly audience: string; readonly ttl: number }

/** `abandon`: give up on external objects that cannot be revoked. */
export type Removal = { readonly abandon: boolean }

/** What `options.version` means for a type: which plugin serves a mount. */
export type MountVersions = {
  /** Type and options of a new mount. Throws a refusal. */
  ofNew(type: string, options: MountOptions): { readonly type: string; readonly options: MountOptions }
  pluginOf(options: MountOptions): string
  /** The options that a tune adds to the current ones. Throws a refusal. */
  ofTune(type: string, current: MountOptions, sent: MountOptions): MountOptions
}

/** The declaration of a mount type, known before the stores are open. */
export type MountTypeNames = {
  readonly table: MountTable
  /** The type names that clients may use to mount it; the first one is the name of the plugin. */
  readonly names: readonly [string, ...string[]]
  /** Wrong secrets lock its users out: its mounts can be tuned with `user_lockout_config`. docs/contract/lockout.md */
  readonly locksUsers?: true
  /** Prefixes of the records in a mount that are used once, such as pending logins: a backup must not revive them. */
  readonly usedOnce?: readonly string[]
  /**
   * Its mounts prove themselves to other services with identity tokens: the keys of these are published.
   * docs/contract/identity-tokens.md#tokens-of-mounts
   */
  readonly hasIdentityTokens?: true
  /** The description of a mount that the settings request for the first start. */
  readonly firstDescription?: string
  /** Absent for a type that does not allow setting a version. */
  readonly versions?: MountVersions
}

/** A mount type as the core sees it. Methods that a type does not need are absent. */
export type MountType = MountTypeNames & {
  readonly leases?: LeaseBackend
  /** The current renewal terms of a login token of this mount. If absent, its tokens cannot be renewed. */
  renewalTerms?(token: Token, mount: Mount): Promise<RenewalTerms>
  /**
   * Removes external objects that a mount must not leave behind. Called after its leases have ended, before
   * `empty`. If it rejects, the mount stays, and another request can retry the removal.
   */
  clear?(mount: Mount, how: Removal): Promise<void>
  /**
   * Removes other external objects as far as possible. Called after its leases have ended, before its data is
   * deleted. If it rejects, the mount stays.
   */
  empty?(mount: Mount): Promise<void>
  /**
   * The name of the role of a login, from the fields of its body; empty for none. If absent, rate limits of its
   * mounts cannot name a role.
   */
  loginRole?(mount: Mount, fields: Readonly<Record<string, JsonValue>>): Promise<string>
  /** The login that this JWT means at the mount of a namespace that takes the JWTs of its issuer as tokens; undefined without one. */
  tokenLogin?(namespace: string, presented: PresentedJwt): Promise<TokenLogin | undefined>
  /**
   * For a path below a mount whose name has several spellings: what makes them one. Undefined for any other path.
   */
  spellingAt?(below: string): ((below: string) => string) | undefined
  /** The identity tokens that a mount needs now, which its signing key must allow. */
  identityTokenUses?(mount: Mount): Promise<readonly IdentityTokenUse[]>
  /**
   * Called on the plugin that serves a mount from now on, once a tune has changed its options, or the type of its
   * tokens. Returns warnings for the caller.
   */
  tuned?(before: Mount, now: Mount): Promise<readonly string[]>
  /** Starts the background jobs. Called at most once, and never with `BACKGROUND=off`. */
  start?(): void
  /** Durably ends everything that has expired, because the clock is about to be set back. */
  settle?(): Promise<void>
} & Partial<AsyncDisposable>
