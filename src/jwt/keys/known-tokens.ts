import { hash, randomBytes } from 'node:crypto'
import { Cache } from '../../lib/data/cache.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Refusal } from '../../logins/refusals/refusal.ts'
import { parseAgain } from '../jws/strict-json.ts'
import type { Keyset, VerifiedToken } from './keyset.ts'

/** Longer tokens are verified each time. */
const longest = 16 * 1024
const hourMs = 3_600_000

type KnownToken = {
  readonly header: Pick<VerifiedToken, 'algorithm' | 'keyId' | 'type' | 'signer'>
  /** Characters of the token. */
  readonly size: number
}

/**
 * Which key has signed which token: nothing but this, and only what was verified, so whatever is decided from a token is
 * decided anew each time. A key that was fetched or configured again is another one. docs/decisions/0004-signature-checks.md
 */
export class KnownTokens {
  /** In front of what is hashed: nobody who sees a digest can tell whose it is. */
  readonly #secret = randomBytes(64).toString('hex')
  readonly #known: Cache<KnownToken>

  constructor(clock: Clock) {
    this.#known = new Cache<KnownToken>({
      name: 'verified tokens',
      most: 10_000,
      mostWeight: 32 * 1024 * 1024,
      weigh: ({ size }) => size,
      ttl: { ms: hourMs, clock },
    })
  }

  /** As the keys verify it; without their work if one of them is known to have signed this token. */
  async verify(token: string, client: string, keys: Keyset): Promise<VerifiedToken | Refusal> {
    if (token.length > longest) return keys.verify(token, client)
    const digest = hash('sha256', this.#secret + token, 'base64')
    const known = this.#known.get(digest)
    if (known !== undefined && keys.has(known.header.keyId, known.header.signer))
      return { ...known.header, ...partsOf(token) }
    const verified = await keys.verify(token, client)
    if ('reason' in verified) return verified
    // one with white space is another text of the same token: `partsOf` would take the space for a part of what was signed
    if (verified.signedText.length !== token.lastIndexOf('.')) return verified
    const { algorithm, keyId, type, signer } = verified
    this.#known.set(digest, { header: { algorithm, keyId, type, signer }, size: token.length })
    return verified
  }
}

/** Of a token whose text was verified before. */
function partsOf(token: string): Pick<VerifiedToken, 'claims' | 'signedText'> {
  const end = token.lastIndexOf('.')
  const payload = token.slice(token.indexOf('.') + 1, end)
  return {
    claims: parseAgain(Buffer.from(payload, 'base64url').toString('utf8')),
    signedText: token.slice(0, end),
  }
}
