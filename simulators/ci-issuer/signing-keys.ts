import { createHash, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { exportJWK, type JWK } from 'jose'

/** The ten algorithms that Gatehouse verifies. */
export const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const
export type Algorithm = (typeof algorithms)[number]

/** A key pair of the issuer. */
type SigningKey = { kid: string; privateKey: KeyObject; publicKey: KeyObject; jwk: JWK }

export type RotateOptions = {
  /** False removes the earlier keys from the published set at once; true, the default, keeps them in it. */
  keepOld?: boolean
}

/** The issuer's keys: one current key per family, and earlier keys that are still published. */
export type SigningKeys = {
  current(algorithm: Algorithm): SigningKey
  /** The key before the last rotation, even if no longer published. Throws if there was none. */
  previous(algorithm: Algorithm): SigningKey
  /** The keys that the JWKS path serves, newest first. */
  published(): JWK[]
  rotate(options?: RotateOptions): Promise<void>
}

type Family = 'RSA' | 'P-256' | 'P-384' | 'P-521' | 'Ed25519'
type Generation = ReadonlyMap<Family, SigningKey>

const makeKeyPair = promisify(generateKeyPair)
const rsaBits = 2048

function familyOf(algorithm: Algorithm): Family {
  if (algorithm === 'ES256') return 'P-256'
  if (algorithm === 'ES384') return 'P-384'
  if (algorithm === 'ES512') return 'P-521'
  return algorithm === 'EdDSA' ? 'Ed25519' : 'RSA'
}

async function makeKey(family: Family): Promise<SigningKey> {
  const pair = await makePair(family)
  const jwk = await exportJWK(pair.publicKey)
  const kid = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url').slice(0, 27)
  return { kid, ...pair, jwk: { ...jwk, kid, use: 'sig' } }
}

function makePair(family: Family): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  if (family === 'RSA') return makeKeyPair('rsa', { modulusLength: rsaBits })
  return family === 'Ed25519' ? makeKeyPair('ed25519') : makeKeyPair('ec', { namedCurve: family })
}

async function makeGeneration(families: readonly Family[]): Promise<Generation> {
  return new Map(await Promise.all(families.map(async (family) => [family, await makeKey(family)] as const)))
}

function keyOf(generation: Generation | undefined, algorithm: Algorithm): SigningKey {
  const key = generation?.get(familyOf(algorithm))
  if (key === undefined) throw new Error(`the issuer has no such key for ${algorithm}`)
  return key
}

/** Makes one key for each key family of the algorithms (all RSA algorithms share one). */
export async function makeSigningKeys(wanted: readonly Algorithm[] = algorithms): Promise<SigningKeys> {
  const families = [...new Set(wanted.map(familyOf))]
  let current = await makeGeneration(families)
  let previous: Generation | undefined
  let old: Generation[] = []

  return {
    current: (algorithm) => keyOf(current, algorithm),
    previous: (algorithm) => keyOf(previous, algorithm),
    published: () =>
      [current, ...old].flatMap((generation) => [...generation.values()].map((key) => key.jwk)),
    rotate: async ({ keepOld = true } = {}) => {
      const next = await makeGeneration(families)
      old = keepOld ? [current, ...old] : []
      previous = current
      current = next
    },
  }
}
