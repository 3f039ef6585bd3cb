import { refuse } from '../../../errors.ts'

/** The hashes of other servers that are taken over have these costs. docs/contract/userpass.md#imported-hashes */
const [minCost, maxCost] = [5, 12]
const form = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
/** The function reads no more of a password. */
const mostBytes = 72

/** Whether a stored hash is one of bcrypt's. */
export const isBcrypt = (hash: string): boolean => form.test(hash)

/** The binary logarithm of a hash's work. */
export const bcryptCost = (hash: string): number => Number(form.exec(hash)?.[1])

/** Throws `invalid` for a text that is not a hash that can be imported. */
export function checkBcrypt(hash: string): void {
  const cost = bcryptCost(hash)
  // bcrypt itself has no other costs
  if (!(cost >= 4 && cost <= 31)) throw refuse('invalid', 'password_hash is not a valid bcrypt hash')
  if (cost < minCost) throw refuse('invalid', `bcrypt cost of ${cost} is too low, want ${minCost} at minimum`)
  if (cost > maxCost) throw refuse('invalid', `bcrypt cost of ${cost} exceeds maximum cost of ${maxCost}`)
}

/**
 * Whether the password has this hash, after work for `cost`, which is at least that of the hash: without a hash,
 * false after the same work. Blocks the thread for its work.
 */
export async function bcryptMatches(
  password: Uint8Array,
  hash: string | undefined,
  cost: number,
): Promise<boolean> {
  // loaded once the first hash is imported
  const { default: bcrypt } = await import('bcrypt')
  const read = Buffer.from(password.subarray(0, mostBytes))
  if (hash === undefined) {
    bcrypt.compareSync(read, dummyOf(cost))
    return false
  }
  // the library does not know the name that PHP and Apache give to the same function
  const matches = bcrypt.compareSync(read, hash.replace(/^\$2y/, '$2b'))
  // 2^k + 2^k + 2^(k+1) + … + 2^(cost-1) = 2^cost
  for (let more = bcryptCost(hash); more < cost; more += 1) bcrypt.compareSync(read, dummyOf(more))
  return matches && password.length <= mostBytes
}

const dummyOf = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`
