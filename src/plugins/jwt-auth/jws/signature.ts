import type { KeyObject } from 'node:crypto'
import type { Algorithm } from './algorithms.ts'
import type { CheckQueue } from './check-queue.ts'
import type { Jws } from './jws.ts'
import { fits, isHeavy, verifyHere, verifyInPool } from './schemes.ts'

/** With more candidate keys than this, all checks run on the thread pool: one token must not keep others waiting. */
const maxCheapKeys = 4
const heavyWeight = 8
/** Weights in the queue for the pool: two cheap checks at a time, or a heavy one, for each core. */
export const queueWeights = { cheap: 1, heavy: 2, ofCore: 2 }
/**
 * A token without a key id is tried with every key of a set, up to this total weight: 1,024 cheap checks or
 * 128 heavy ones.
 */
const maxWeightPerToken = 1024

/**
 * Whether one of the keys signed the token that this client sent.
 * docs/decisions/0004-signature-checks.md
 */
export async function verifyWithAny(
  { signingInput, signature }: Jws,
  algorithm: Algorithm,
  keys: Iterable<KeyObject>,
  { queue, client }: { readonly queue: CheckQueue; readonly client: string },
): Promise<boolean> {
  const candidates = [...keys].filter((key) => fits(algorithm, key))
  let left = maxWeightPerToken
  for (const key of candidates) {
    const heavy = isHeavy(algorithm, key)
    left -= heavy ? heavyWeight : 1
    if (left < 0) break
    const check = { algorithm, key, signingInput, signature }
    const verified =
      candidates.length <= maxCheapKeys && !heavy
        ? await queue.cheap(client, () => verifyHere(check))
        : await queue.inPool(client, queueWeights[heavy ? 'heavy' : 'cheap'], () => verifyInPool(check))
    if (verified) return true
  }
  return false
}
