import { constants, type KeyObject, verify } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { type Algorithm, supportedAlgorithms } from './algorithms.ts'
import type { CheckQueue } from './check-queue.ts'
import type { Jws } from './jws.ts'

/** The parameters of each algorithm for node:crypto. RFC 7518 §3.3–3.5, RFC 8037 §3.1. */
type Scheme = { digest: string | null; keyType: 'rsa' | 'ec' | 'ed25519'; curve?: string; pss?: true }

const schemes: Record<Algorithm, Scheme> = {
  RS256: { digest: 'sha256', keyType: 'rsa' },
  RS384: { digest: 'sha384', keyType: 'rsa' },
  RS512: { digest: 'sha512', keyType: 'rsa' },
  PS256: { digest: 'sha256', keyType: 'rsa', pss: true },
  PS384: { digest: 'sha384', keyType: 'rsa', pss: true },
  PS512: { digest: 'sha512', keyType: 'rsa', pss: true },
  ES256: { digest: 'sha256', keyType: 'ec', curve: 'prime256v1' },
  ES384: { digest: 'sha384', keyType: 'ec', curve: 'secp384r1' },
  ES512: { digest: 'sha512', keyType: 'ec', curve: 'secp521r1' },
  EdDSA: { digest: null, keyType: 'ed25519' },
}

const heavyAboveRsaBits = 4096
/**
 * With one processor, cheap checks run on the main thread, because no other core could take them. With more
 * candidate keys than this, they run on the thread pool nevertheless, so that one token cannot block the event
 * loop.
 */
const maxInlineKeys = availableParallelism() > 1 ? 0 : 4
const heavyWeight = 8
/** Weights in the queue for the pool: two cheap checks at a time, or a heavy one, for each core. */
export const queueWeights = { cheap: 1, heavy: 2, ofCore: 2 }
/**
 * A token without a key id is tried with every key of a set, up to this total weight: 1,024 cheap checks or
 * 128 heavy ones.
 */
const maxWeightPerToken = 1024

type KeyFacts = {
  readonly type: string | undefined
  readonly curve: string | undefined
  readonly bits: number
}

/** The details of a key, read once: reading them from a key object costs up to a tenth of a verification. */
const factsByKey = new WeakMap<KeyObject, KeyFacts>()

function factsOf(key: KeyObject): KeyFacts {
  const known = factsByKey.get(key)
  if (known !== undefined) return known
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  const facts = { type, curve: details?.namedCurve, bits: details?.modulusLength ?? 0 }
  factsByKey.set(key, facts)
  return facts
}

/**
 * The key's type decides which algorithms it may verify, never the header.
 * docs/contract/jwt.md#login-in-this-order
 */
function fits(scheme: Scheme, key: KeyObject): boolean {
  const { type, curve } = factsOf(key)
  return type === scheme.keyType && (scheme.keyType !== 'ec' || curve === scheme.curve)
}

/** The algorithms that a key can verify. */
export const algorithmsOf = (key: KeyObject): Algorithm[] =>
  supportedAlgorithms.filter((name) => fits(schemes[name], key))

const isHeavy = (scheme: Scheme, key: KeyObject): boolean =>
  scheme.keyType === 'ec'
    ? scheme.curve !== 'prime256v1'
    : scheme.keyType === 'rsa' && factsOf(key).bits > heavyAboveRsaBits

/**
 * Whether one of the keys signed the token that this client sent. Checks run on the thread pool, one after the
 * other: the main thread is what limits the rate of logins. docs/decisions/0013-signatures-in-the-pool.md
 */
export async function verifyWithAny(
  jws: Jws,
  algorithm: Algorithm,
  keys: Iterable<KeyObject>,
  { queue, client }: { readonly queue: CheckQueue; readonly client: string },
): Promise<boolean> {
  const scheme = schemes[algorithm]
  const candidates = [...keys].filter((key) => fits(scheme, key))
  const inline = candidates.length <= maxInlineKeys
  let left = maxWeightPerToken
  for (const key of candidates) {
    const heavy = isHeavy(scheme, key)
    left -= heavy ? heavyWeight : 1
    if (left < 0) break
    const verified =
      inline && !heavy
        ? await queue.here(client, () => verifyHere(jws, scheme, key))
        : await queue.inPool(client, queueWeights[heavy ? 'heavy' : 'cheap'], () =>
            verifyInPool(jws, scheme, key),
          )
    if (verified) return true
  }
  return false
}

const keyInput = (scheme: Scheme, key: KeyObject) =>
  scheme.pss
    ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    : { key, dsaEncoding: 'ieee-p1363' as const }

function verifyHere(jws: Jws, scheme: Scheme, key: KeyObject): boolean {
  try {
    return verify(scheme.digest, jws.signingInput, keyInput(scheme, key), jws.signature)
  } catch {
    return false
  }
}

const verifyInPool = (jws: Jws, scheme: Scheme, key: KeyObject): Promise<boolean> =>
  new Promise((resolve) => {
    verify(scheme.digest, jws.signingInput, keyInput(scheme, key), jws.signature, (error, verified) =>
      resolve(error === null && verified),
    )
  })
