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
function fits(algorithm: Algorithm, key: KeyObject): boolean {
  const scheme = schemes[algorithm]
  const { type, curve } = factsOf(key)
  return type === scheme.keyType && (scheme.keyType !== 'ec' || curve === scheme.curve)
}

/** The algorithms that a key can verify. */
export const algorithmsOf = (key: KeyObject): Algorithm[] =>
  supportedAlgorithms.filter((algorithm) => fits(algorithm, key))

/** Whether a check with this key takes a millisecond rather than a tenth of one. */
function isHeavy(algorithm: Algorithm, key: KeyObject): boolean {
  const { keyType, curve } = schemes[algorithm]
  return keyType === 'ec'
    ? curve !== 'prime256v1'
    : keyType === 'rsa' && factsOf(key).bits > heavyAboveRsaBits
}

/** Whether this key signed this text. The key fits the algorithm. */
type SignatureCheck = {
  readonly algorithm: Algorithm
  readonly key: KeyObject
  readonly signingInput: Uint8Array
  readonly signature: Uint8Array
}

const keyInput = ({ algorithm, key }: SignatureCheck) =>
  schemes[algorithm].pss
    ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    : { key, dsaEncoding: 'ieee-p1363' as const }

/** Verifies on the thread that calls it. */
function verifyHere(check: SignatureCheck): boolean {
  try {
    return verify(schemes[check.algorithm].digest, check.signingInput, keyInput(check), check.signature)
  } catch {
    return false
  }
}

/** Verifies on the thread pool. */
const verifyInPool = (check: SignatureCheck): Promise<boolean> =>
  new Promise((resolve) => {
    const { digest } = schemes[check.algorithm]
    verify(digest, check.signingInput, keyInput(check), check.signature, (error, verified) =>
      resolve(error === null && verified),
    )
  })

/** With more candidate keys than this, all checks run on the thread pool: one token must not keep others waiting. */
const maxCheapKeys = 4
const heavyWeight = 8
/** Weights in the queue for the pool: two cheap checks at a time, or a heavy one, for each core. */
const queueWeights = { cheap: 1, heavy: 2, ofCore: 2 }
/**
 * A check counts until the main thread has its result. So few are enough to keep the main thread busy, and those
 * of other clients wait in the queue, where they take turns, instead of in the event loop, where they do not.
 */
export const checksAtOnce = queueWeights.ofCore * Math.min(8, availableParallelism())
/**
 * A token without a key id is tried with every key of a set, up to this total weight: 1,024 cheap checks or
 * 128 heavy ones.
 */
const maxWeightPerToken = 1024

/** How signatures are checked, and for which client address. */
export type SignatureChecks = { readonly queue: CheckQueue; readonly client: string }

/**
 * The first of the keys that signed the token which this client sent; undefined if none did.
 * docs/decisions/0004-signature-checks.md
 */
export async function verifyWithAny(
  { signedText, signature }: Jws,
  algorithm: Algorithm,
  keys: Iterable<KeyObject>,
  { queue, client }: SignatureChecks,
): Promise<KeyObject | undefined> {
  const candidates = [...keys].filter((key) => fits(algorithm, key))
  const signingInput = Buffer.from(signedText, 'latin1')
  let left = maxWeightPerToken
  for (const key of candidates) {
    const heavy = isHeavy(algorithm, key)
    left -= heavy ? heavyWeight : 1
    if (left < 0) break
    const check = { algorithm, key, signingInput, signature }
    const isSigned =
      candidates.length <= maxCheapKeys && !heavy
        ? queue.cheap(client, () => verifyHere(check))
        : queue.inPool(client, queueWeights[heavy ? 'heavy' : 'cheap'], () => verifyInPool(check))
    if (await isSigned) return key
  }
  return undefined
}
