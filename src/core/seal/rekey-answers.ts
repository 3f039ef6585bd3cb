import { refuse } from '../../errors.ts'
import type { ShareBackup } from './held-key.ts'
import type { IssuedShares, KeyPlan, KeyPlanRequest } from './key-plan.ts'

export type RekeyRequest = KeyPlanRequest & {
  /** Keep the shares, encrypted by PGP, for `backup`. */
  readonly backup: boolean
  /** The new key replaces the old one only once its shares were offered. */
  readonly requiresVerification: boolean
}

/** What a client is told about a rekey, in the words of the API. */
export type RekeyStatus = {
  readonly nonce: string
  readonly started: boolean
  readonly t: number
  readonly n: number
  readonly progress: number
  readonly required: number
  readonly pgp_fingerprints: readonly string[] | null
  readonly backup: boolean
  readonly verification_required: boolean
  readonly verification_nonce?: string
}

/** The new shares, which are told once. */
export type RekeyResult = Pick<
  RekeyStatus,
  'nonce' | 'pgp_fingerprints' | 'backup' | 'verification_required' | 'verification_nonce'
> & { readonly complete: true; readonly keys: readonly string[]; readonly keys_base64: readonly string[] }

export type VerificationStatus = Pick<RekeyStatus, 'nonce' | 'started' | 't' | 'n' | 'progress'>

/** What is known of a rekey from its beginning on. */
export type RekeyPlan = { readonly nonce: string; readonly plan: KeyPlan; readonly request: RekeyRequest }

export const noRekey = {
  nonce: '',
  started: false,
  t: 0,
  n: 0,
  progress: 0,
  pgp_fingerprints: null,
  backup: false,
  verification_required: false,
}

/** Throws a refusal. */
export function checkRequest({ backup, pgpKeys, shares, threshold }: RekeyRequest): void {
  if (backup && pgpKeys.length === 0)
    throw refuse(
      'invalid',
      'cannot request a backup of the new keys without providing PGP keys for encryption',
    )
  if (pgpKeys.length > 0 && pgpKeys.length !== shares)
    throw refuse('invalid', 'incorrect number of PGP keys for rekey')
  if (threshold > shares) throw refuse('invalid', 'provided threshold greater than the total shares')
}

export const outcomeOf = ({ request: { backup, requiresVerification }, plan: { pgpKeys } }: RekeyPlan) => ({
  pgp_fingerprints: pgpKeys.length === 0 ? null : pgpKeys.map(({ fingerprint }) => fingerprint),
  backup,
  verification_required: requiresVerification,
})

export const resultOf = (rekey: RekeyPlan, { keys, keysBase64 }: IssuedShares): RekeyResult => ({
  nonce: rekey.nonce,
  complete: true,
  keys,
  keys_base64: keysBase64,
  ...outcomeOf(rekey),
})

/** The shares for the backup: a fingerprint may have several. */
export const byFingerprint = ({ keys }: IssuedShares, { pgpKeys }: KeyPlan): ShareBackup['keys'] =>
  Object.fromEntries(
    pgpKeys.map(({ fingerprint }) => [
      fingerprint,
      keys.filter((_, index) => pgpKeys[index]?.fingerprint === fingerprint),
    ]),
  )
