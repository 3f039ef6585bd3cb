import { Buffer } from 'node:buffer'
import { refuse } from '../../errors.ts'
import type { ShareCounts } from '../barrier/seal-config.ts'
import { type PgpKey, readPgpKeys } from './pgp.ts'
import { splitKey } from './shares.ts'

/** How a new key is handed to people: its shares, each encrypted for one person if there are PGP keys. */
export type KeyPlan = ShareCounts & { readonly pgpKeys: readonly PgpKey[] }

/** A plan as clients send it: PGP keys in base64. */
export type KeyPlanRequest = ShareCounts & { readonly pgpKeys: readonly string[] }

/** Shares in hexadecimal and in base64: encrypted, if the plan has PGP keys. */
export type IssuedShares = { readonly keys: readonly string[]; readonly keysBase64: readonly string[] }

const maxShares = 255

/** Checks a plan at the time `now` (milliseconds). Throws a refusal, whose text begins with `prefix`. */
export async function readKeyPlan(
  { pgpKeys, shares, threshold }: KeyPlanRequest,
  prefix: string,
  now: number,
): Promise<KeyPlan> {
  const reason = reasonAgainst({ shares, threshold })
  if (reason !== undefined) throw refuse('invalid', prefix + reason)
  if (pgpKeys.length > 0 && pgpKeys.length !== shares)
    throw refuse(
      'invalid',
      `${prefix}count mismatch between number of provided PGP keys and number of shares`,
    )
  return { shares, threshold, pgpKeys: await readPgpKeys(pgpKeys, now, prefix) }
}

function reasonAgainst({ shares, threshold }: ShareCounts): string | undefined {
  if (shares < 1) return 'shares must be at least one'
  if (threshold < 1) return 'threshold must be at least one'
  if (shares > 1 && threshold === 1) return 'threshold must be greater than one for multiple shares'
  if (shares > maxShares) return `shares must be less than ${maxShares + 1}`
  if (threshold > maxShares) return `threshold must be less than ${maxShares + 1}`
  return threshold > shares ? 'threshold cannot be larger than shares' : undefined
}

export async function issueShares(key: Buffer, plan: KeyPlan): Promise<IssuedShares> {
  const shares = await splitKey(key, plan)
  try {
    const issued = plan.pgpKeys.length === 0 ? shares : await encrypted(shares, plan.pgpKeys)
    return {
      keys: issued.map((share) => share.toString('hex')),
      keysBase64: issued.map((share) => share.toString('base64')),
    }
  } finally {
    for (const share of shares) share.fill(0)
  }
}

/** Each message contains a share in hexadecimal, as clients expect. */
async function encrypted(shares: readonly Buffer[], pgpKeys: readonly PgpKey[]): Promise<Buffer[]> {
  const messages: Buffer[] = []
  for (const [index, key] of pgpKeys.entries())
    messages.push(await key.encrypt(Buffer.from(shares[index]?.toString('hex') ?? '')))
  return messages
}
