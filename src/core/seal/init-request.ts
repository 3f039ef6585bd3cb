import { refuse } from '../../errors.ts'
import type { SealConfig } from '../barrier/seal-config.ts'
import { type KeyPlan, readKeyPlan } from './key-plan.ts'
import { type PgpKey, readPgpKey } from './pgp.ts'

/** The fields of `sys/init`; those that were not sent are 0 or empty. PGP keys are in base64. */
export type InitRequest = {
  readonly secret_shares: number
  readonly secret_threshold: number
  readonly pgp_keys: readonly string[]
  readonly recovery_shares: number
  readonly recovery_threshold: number
  readonly recovery_pgp_keys: readonly string[]
  readonly root_token_pgp_key: string
}

export type InitPlan = {
  /** Of the unseal key, or of the recovery key of a static seal; undefined if there is to be none. */
  readonly keyPlan: KeyPlan | undefined
  readonly rootTokenKey: PgpKey | undefined
}

export const alreadyInitialized = () => refuse('invalid', 'Vault is already initialized')

const ofUnsealKey = ['secret_shares', 'secret_threshold', 'pgp_keys'] as const
const ofRecoveryKey = ['recovery_shares', 'recovery_threshold', 'recovery_pgp_keys'] as const

/**
 * Checks the request to initialize a store, before anything is written. Throws a refusal.
 * docs/contract/seal.md#initialization
 */
export async function planInit(
  request: InitRequest,
  { type, isInitialized, now }: { type: SealConfig['type']; isInitialized: boolean; now: number },
): Promise<InitPlan> {
  const alien = (type === 'shamir' ? ofRecoveryKey : ofUnsealKey).filter((name) => isSent(request[name]))
  if (alien.length > 0) {
    if (isInitialized) throw alreadyInitialized()
    throw refuse('invalid', `parameters ${alien.join(',')} not applicable to seal type ${type}`)
  }
  const keyPlan = type === 'shamir' ? await unsealKeyPlan(request, now) : await recoveryKeyPlan(request, now)
  const { root_token_pgp_key: text } = request
  const rootTokenKey = text === '' ? undefined : await readPgpKey(text, now, 'invalid root_token_pgp_key: ')
  if (isInitialized) throw alreadyInitialized()
  return { keyPlan, rootTokenKey }
}

const isSent = (value: number | readonly string[]): boolean =>
  typeof value === 'number' ? value !== 0 : value.length > 0

const unsealKeyPlan = (request: InitRequest, now: number): Promise<KeyPlan> =>
  readKeyPlan(
    { shares: request.secret_shares, threshold: request.secret_threshold, pgpKeys: request.pgp_keys },
    'invalid seal configuration: ',
    now,
  )

/** A store with a static seal needs no recovery key. */
async function recoveryKeyPlan(request: InitRequest, now: number): Promise<KeyPlan | undefined> {
  if (!ofRecoveryKey.some((name) => isSent(request[name]))) return undefined
  return await readKeyPlan(
    {
      shares: request.recovery_shares,
      threshold: request.recovery_threshold,
      pgpKeys: request.recovery_pgp_keys,
    },
    'invalid recovery configuration: ',
    now,
  )
}
