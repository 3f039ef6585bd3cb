import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import type { Random } from '../../lib/random.ts'

/**
 * What identity tokens can be signed with, in the order the discovery document has them.
 * docs/contract/identity-tokens.md
 */
export const signingAlgorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const

export type SigningAlgorithm = (typeof signingAlgorithms)[number]

const algorithmNames: ReadonlySet<string> = new Set(signingAlgorithms)

export const isSigningAlgorithm = (name: string): name is SigningAlgorithm => algorithmNames.has(name)

/** A public key as it is published: `kty`, `alg`, `kid`, `use` and the public numbers. RFC 7517 §4. */
export type PublicKey = JWK & { readonly kid: string; readonly alg: SigningAlgorithm }

/** A key pair as stored. The private half is never part of an answer or of the log. */
export type SigningKey = { readonly publicKey: PublicKey; readonly privateKey: JWK }

/** RFC 7518 §3.3 asks for no less. */
const rsaBits = 2048

/** A fresh key pair under a random id. Made on the thread pool: RSA takes a tenth of a second. */
export async function newSigningKey(algorithm: SigningAlgorithm, random: Random): Promise<SigningKey> {
  const pair = await generateKeyPair(algorithm, { modulusLength: rsaBits, extractable: true })
  const [publicNumbers, privateKey] = await Promise.all([
    exportJWK(pair.publicKey),
    exportJWK(pair.privateKey),
  ])
  return { publicKey: { ...publicNumbers, kid: random.uuid(), alg: algorithm, use: 'sig' }, privateKey }
}

/** The private half, ready to sign. */
export const signerOf = ({ publicKey, privateKey }: SigningKey): Promise<CryptoKey> =>
  keyOf(privateKey, publicKey.alg)

/** A public key, ready to verify. */
export const verifierOf = (publicKey: PublicKey): Promise<CryptoKey> => keyOf(publicKey, publicKey.alg)

async function keyOf(jwk: JWK, algorithm: SigningAlgorithm): Promise<CryptoKey> {
  const key = await importJWK(jwk, algorithm)
  // only a symmetric JWK becomes bytes
  if (key instanceof Uint8Array) throw new Error('a key of an identity token is no key pair')
  return key
}
