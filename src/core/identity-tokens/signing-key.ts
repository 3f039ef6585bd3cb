import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import type { Random } from '../../lib/system/random.ts'

/** The supported algorithms, in the order of the discovery document. docs/contract/identity-tokens.md#keys */
export const signingAlgorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const

export type SigningAlgorithm = (typeof signingAlgorithms)[number]

const algorithmNames: ReadonlySet<string> = new Set(signingAlgorithms)

export const isSigningAlgorithm = (name: string): name is SigningAlgorithm => algorithmNames.has(name)

/** A public key as published: `kty`, `alg`, `kid`, `use` and the key parameters. RFC 7517 §4 */
export type PublicKey = JWK & { readonly kid: string; readonly alg: SigningAlgorithm }

/** A stored key pair. Responses and logs never contain the private key. */
export type SigningKey = { readonly publicKey: PublicKey; readonly privateKey: JWK }

/** The minimum of RFC 7518 §3.3. */
const rsaBits = 2048

/** Generates a key pair with a random id, on the thread pool: RSA takes about 100 ms. */
export async function newSigningKey(algorithm: SigningAlgorithm, random: Random): Promise<SigningKey> {
  const pair = await generateKeyPair(algorithm, { modulusLength: rsaBits, extractable: true })
  const [parameters, privateKey] = await Promise.all([exportJWK(pair.publicKey), exportJWK(pair.privateKey)])
  return { publicKey: { ...parameters, kid: random.uuid(), alg: algorithm, use: 'sig' }, privateKey }
}

/** Imports the private key for signing. */
export const signerOf = ({ publicKey, privateKey }: SigningKey): Promise<CryptoKey> =>
  keyOf(privateKey, publicKey.alg)

/** Imports a public key for verification. */
export const verifierOf = (publicKey: PublicKey): Promise<CryptoKey> => keyOf(publicKey, publicKey.alg)

async function keyOf(jwk: JWK, algorithm: SigningAlgorithm): Promise<CryptoKey> {
  const key = await importJWK(jwk, algorithm)
  // jose returns bytes only for a symmetric JWK
  if (key instanceof Uint8Array) throw new Error('an identity token key is not a key pair')
  return key
}
