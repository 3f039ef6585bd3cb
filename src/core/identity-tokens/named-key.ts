import { refuse } from '../../errors.ts'
import { quoted } from '../../lib/go-text.ts'
import { isSigningAlgorithm, type PublicKey, type SigningAlgorithm, type SigningKey } from './signing-key.ts'

/** What a named key can be told. Durations are whole seconds. docs/contract/identity-tokens.md */
export type KeySettings = {
  readonly algorithm: SigningAlgorithm
  readonly rotation_period: number
  readonly verification_ttl: number
  /** Client ids of the roles that may use it; `*` is all. */
  readonly allowed_client_ids: readonly string[]
}

/** The same as sent: what is left out stays as it is. */
export type SentKeySettings = {
  readonly [Name in keyof KeySettings]?: Name extends 'algorithm' ? string : KeySettings[Name]
}

/** A public key that signs no more; published until a time in milliseconds. */
export type FormerKey = { readonly publicKey: PublicKey; readonly until: number }

/** A named key as stored: it signs with one key pair, and the next one is published before it is used. */
export type NamedKey = KeySettings & {
  readonly signing: SigningKey
  readonly next: SigningKey
  readonly former: readonly FormerKey[]
  /** Milliseconds since the epoch. */
  readonly next_rotation: number
}

/** The key that is in every namespace from the start. */
export const defaultKeyName = 'default'

const newKeySettings: KeySettings = {
  algorithm: 'RS256',
  rotation_period: 86_400,
  verification_ttl: 86_400,
  allowed_client_ids: [],
}

/** What the key `default` is until someone changes it. */
export const defaultKeySettings: KeySettings = { ...newKeySettings, allowed_client_ids: ['*'] }

const leastRotationPeriod = 60
const mostPeriodsPublished = 10
/** Rotated by hand again and again, a key must not grow without end. */
const mostFormerKeys = 100

/**
 * The settings after a write. Throws the first refusal. `longestRoleTtl` is that of the roles that use the
 * key. docs/contract/identity-tokens.md
 */
export function changedSettings(
  name: string,
  before: KeySettings | undefined,
  sent: SentKeySettings,
  longestRoleTtl: number,
): KeySettings {
  const settings = { ...(before ?? newKeySettings), ...sent }
  const { algorithm, rotation_period, verification_ttl, allowed_client_ids } = settings
  if (rotation_period < leastRotationPeriod)
    throw refuse('invalid', 'rotation_period must be at least one minute')
  if (verification_ttl > mostPeriodsPublished * rotation_period)
    throw refuse('invalid', 'verification_ttl cannot be longer than 10x rotation_period')
  if (longestRoleTtl > verification_ttl) {
    const why = `because it is currently referenced by one or more roles with a token ttl greater than ${verification_ttl} seconds`
    throw refuse('invalid', `unable to update key ${quoted(name)} ${why}`)
  }
  if (!isSigningAlgorithm(algorithm))
    throw refuse('invalid', `unknown signing algorithm ${quoted(algorithm)}`)
  return { algorithm, rotation_period, verification_ttl, allowed_client_ids }
}

/** Two fresh key pairs: for a new named key, or for one whose algorithm was changed. */
export type FreshKeys = { readonly signing: SigningKey; readonly next: SigningKey }

/**
 * A key after a write of its settings; `fresh` is there when it is new or its algorithm another one. The
 * former public keys stay published. A shorter rotation period counts from now, a longer one from the next
 * rotation on.
 */
export function withSettings(
  before: NamedKey | undefined,
  settings: KeySettings,
  fresh: FreshKeys | undefined,
  now: number,
): NamedKey {
  const period = now + settings.rotation_period * 1000
  const keys = fresh ?? before
  if (keys === undefined) throw new Error('a new named key has no key pairs')
  const retired = before !== undefined && fresh !== undefined ? [before.signing, before.next] : []
  const until = now + (before?.verification_ttl ?? 0) * 1000
  return {
    ...settings,
    signing: keys.signing,
    next: keys.next,
    former: [
      ...stillPublished(before?.former ?? [], now),
      ...retired.map(({ publicKey }) => ({ publicKey, until })),
    ].slice(-mostFormerKeys),
    next_rotation: before === undefined ? period : Math.min(period, before.next_rotation),
  }
}

/** A key after its rotation: the next pair signs, and the former one stays published for so many seconds. */
export function rotated(key: NamedKey, next: SigningKey, verificationTtl: number, now: number): NamedKey {
  const retired = { publicKey: key.signing.publicKey, until: now + verificationTtl * 1000 }
  return {
    ...key,
    signing: key.next,
    next,
    former: stillPublished([...key.former, retired], now).slice(-mostFormerKeys),
    next_rotation: now + key.rotation_period * 1000,
  }
}

/** Whether a rotation by hand would push out a public key whose time is not over. */
export const isFullOfFormerKeys = (key: NamedKey, now: number): boolean =>
  stillPublished(key.former, now).length >= mostFormerKeys

const stillPublished = (former: readonly FormerKey[], now: number): FormerKey[] =>
  former.filter(({ until }) => until > now)

/** All public keys that verify tokens of a key at a time. */
export const publicKeysOf = (key: NamedKey, now: number): PublicKey[] => [
  key.signing.publicKey,
  key.next.publicKey,
  ...stillPublished(key.former, now).map(({ publicKey }) => publicKey),
]

/** When the public keys change next if nobody does anything, in milliseconds. */
export const nextChangeOf = (key: NamedKey, now: number): number =>
  Math.min(key.next_rotation, ...stillPublished(key.former, now).map(({ until }) => until))

/** What a reader sees of it. */
export const shownSettings = ({
  algorithm,
  rotation_period,
  verification_ttl,
  allowed_client_ids,
}: KeySettings): KeySettings => ({
  rotation_period,
  verification_ttl,
  algorithm,
  allowed_client_ids,
})

export const allowsClient = ({ allowed_client_ids }: KeySettings, clientId: string): boolean =>
  allowed_client_ids.includes('*') || allowed_client_ids.includes(clientId)

/** A stored record as a key. The record was sealed by this server. */
export function readNamedKey(value: unknown): NamedKey {
  if (
    typeof value === 'object' &&
    value !== null &&
    'signing' in value &&
    'next' in value &&
    'former' in value &&
    'next_rotation' in value
  ) {
    // sealed as one: only its presence is checked
    return value as NamedKey
  }
  throw new Error('a stored key of identity tokens has an invalid shape')
}
