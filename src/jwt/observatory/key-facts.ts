import { isSupportedAlgorithm } from '../jws/algorithms.ts'
import { algorithmsOf } from '../jws/signature.ts'
import type { UsableKey } from '../keys/jwk-set.ts'
import type { SeenKey } from './timeline.ts'

const bitsOfCurve: Readonly<Record<string, number>> = { prime256v1: 256, secp384r1: 384, secp521r1: 521 }
const typeOf: Readonly<Record<string, string>> = { rsa: 'RSA', ec: 'EC', ed25519: 'OKP' }

/** The declared algorithm of a key, or else all that it can verify. */
export const algorithmsOfKey = ({ algorithm, key }: UsableKey): readonly string[] =>
  isSupportedAlgorithm(algorithm) ? [algorithm] : algorithmsOf(key)

/** What a key is. */
export function keyFacts(usable: UsableKey): Pick<SeenKey, 'type' | 'algorithms' | 'size'> {
  const { asymmetricKeyType: type = '', asymmetricKeyDetails: details } = usable.key
  const size = details?.modulusLength ?? bitsOfCurve[details?.namedCurve ?? ''] ?? 256
  return { type: typeOf[type] ?? type, algorithms: algorithmsOfKey(usable), size }
}
