import { z } from 'zod'
import { refuse } from '../../errors.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { recordReader } from '../records/stored-record.ts'
import { isSigningAlgorithm, type PublicKey, type SigningAlgorithm, type SigningKey } from './signing-key.ts'

/** The settings of a named key. Durations are whole seconds. docs/contract/identity-tokens.md#keys */
export type KeySettings = {
  readonly algorithm: SigningAlgorithm
  readonly rotation_period: number
  readonly verification_ttl: number
  /** Client ids of the roles that may use the key; `*` allows all. */
  readonly allowed_client_ids: readonly string[]
}

/** The fields of a write; absent ones keep their value. */
export type SentKeySettings = {
  readonly [Name in keyof KeySettings]?: Name extends 'algorithm' ? string : KeySettings[Name]
}

/** A public key that no longer signs; published until a time in milliseconds since the epoch. */
export type FormerKey = { readonly publicKey: PublicKey; readonly until: number }

/** A stored named key: the pair that signs, and the next pair, which is published before it is used. */
export type NamedKey = KeySettings & {
  readonly signing: SigningKey
  readonly next: SigningKey
  readonly former: readonly FormerKey[]
  /** Milliseconds since the epoch. */
  readonly next_rotation: number
}

/** The key that exists in every namespace. */
export const defaultKeyName = 'default'

const newKeySettings: KeySettings = {
  algorithm: 'RS256',
  rotation_period: 86_400,
  verification_ttl: 86_400,
  allowed_client_ids: [],
}

/** The initial settings of the key `default`. */
export const defaultKeySettings: KeySettings = { ...newKeySettings, allowed_client_ids: ['*'] }

const minRotationPeriod = 60
const maxPublishedPeriods = 10
/** Bounds the record of a key that is rotated on request again and again. */
const maxFormerKeys = 100

/**
 * The settings after a write. Throws `invalid`. `longestRoleTtl` is the longest TTL of the roles that use the
 * key. docs/contract/identity-tokens.md#keys
 */
export function changedSettings(
  name: string,
  before: KeySettings | undefined,
  sent: SentKeySettings,
  longestRoleTtl: number,
): KeySettings {
  const settings = { ...(before ?? newKeySettings), ...sent }
  const { algorithm, rotation_period, verification_ttl, allowed_client_ids } = settings
  if (rotation_period < minRotationPeriod)
    throw refuse('invalid', 'rotation_period must be at least one minute')
  if (verification_ttl > maxPublishedPeriods * rotation_period)
    throw refuse('invalid', 'verification_ttl cannot be longer than 10x rotation_period')
  if (longestRoleTtl > verification_ttl) {
    const why = `because it is currently referenced by one or more roles with a token ttl greater than ${verification_ttl} seconds`
    throw refuse('invalid', `unable to update key ${quoted(name)} ${why}`)
  }
  if (!isSigningAlgorithm(algorithm))
    throw refuse('invalid', `unknown signing algorithm ${quoted(algorithm)}`)
  return { algorithm, rotation_period, verification_ttl, allowed_client_ids }
}

/** New key pairs, for a new named key or a changed algorithm. */
export type FreshKeys = { readonly signing: SigningKey; readonly next: SigningKey }

/**
 * A key with changed settings. `fresh` is required if the key is new or its algorithm changes. Former public
 * keys stay published. A shorter rotation period applies from now, a longer one from the next rotation.
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
    // fields that a later version has stored
    ...before,
    ...settings,
    signing: keys.signing,
    next: keys.next,
    former: [
      ...(before === undefined ? [] : formerKeysOf(before, now)),
      ...retired.map(({ publicKey }) => ({ publicKey, until })),
    ].slice(-maxFormerKeys),
    next_rotation: before === undefined ? period : Math.min(period, before.next_rotation),
  }
}

/** Rotates a key: the next pair signs, and the former one stays published for `verificationTtl` seconds. */
export function rotated(key: NamedKey, next: SigningKey, verificationTtl: number, now: number): NamedKey {
  const retired = { publicKey: key.signing.publicKey, until: now + verificationTtl * 1000 }
  return {
    ...key,
    signing: key.next,
    next,
    former: formerKeysOf({ former: [...key.former, retired] }, now).slice(-maxFormerKeys),
    next_rotation: now + key.rotation_period * 1000,
  }
}

/** Whether another rotation would drop a public key that must stay published. */
export const isFullOfFormerKeys = (key: NamedKey, now: number): boolean =>
  formerKeysOf(key, now).length >= maxFormerKeys

/** The public keys that no longer sign but still verify. */
export const formerKeysOf = ({ former }: Pick<NamedKey, 'former'>, now: number): FormerKey[] =>
  former.filter(({ until }) => until > now)

/** The next scheduled change of the public keys, in milliseconds since the epoch. */
export const nextChangeOf = (key: NamedKey, now: number): number =>
  Math.min(key.next_rotation, ...formerKeysOf(key, now).map(({ until }) => until))

/** The settings without the key pairs. */
export const shownSettings = ({
  algorithm,
  rotation_period,
  verification_ttl,
  allowed_client_ids,
}: KeySettings): KeySettings => ({ rotation_period, verification_ttl, algorithm, allowed_client_ids })

export const allowsClient = ({ allowed_client_ids }: KeySettings, clientId: string): boolean =>
  allowed_client_ids.includes('*') || allowed_client_ids.includes(clientId)

/** Reads a stored record as a key. */
export const readNamedKey = recordReader<NamedKey>(
  'identity token key',
  z.object({
    signing: z.looseObject({}),
    next: z.looseObject({}),
    former: z.array(z.unknown()),
    next_rotation: z.number(),
  }),
)
