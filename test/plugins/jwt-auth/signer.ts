import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { type KeyPair, rsaKeys } from '../../support/rsa-keys.ts'

const curves: Record<string, string> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

export type Signer = {
  readonly algorithm: string
  readonly pem: string
  readonly jwk: Record<string, unknown>
  readonly privateKey: KeyObject
  /** `header` members override alg, typ and kid; a payload of text or bytes is used as it is. */
  sign(claims: object | string, header?: Record<string, unknown>): string
}

/** A key pair and tokens signed with it, built by hand so that they can be wrong on purpose. */
export function aSigner(
  algorithm = 'ES256',
  { kid, bits = 2048, keys = newKeys(algorithm, bits) }: SignerOptions = {},
): Signer {
  return {
    algorithm,
    pem: keys.publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    jwk: {
      ...keys.publicKey.export({ format: 'jwk' }),
      ...(kid === undefined ? {} : { kid }),
      use: 'sig',
      alg: algorithm,
    },
    privateKey: keys.privateKey,
    sign(claims, header = {}) {
      const head = { alg: algorithm, typ: 'JWT', ...(kid === undefined ? {} : { kid }), ...header }
      const isReady = typeof claims === 'string' || Buffer.isBuffer(claims)
      const payload = isReady ? claims : JSON.stringify(claims)
      return signed(algorithm, keys.privateKey, JSON.stringify(head), payload)
    },
  }
}

type SignerOptions = { kid?: string; bits?: number; keys?: KeyPair }

export function newKeys(algorithm: string, bits = 2048, ofRsa = rsaKeys): KeyPair {
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519')
  const namedCurve = curves[algorithm]
  return namedCurve === undefined ? ofRsa(bits) : generateKeyPairSync('ec', { namedCurve })
}

const part = (text: string | Buffer): string => Buffer.from(text).toString('base64url')

/** A token of exactly this header and payload text. */
export function signed(algorithm: string, key: KeyObject, header: string, payload: string | Buffer): string {
  const input = `${part(header)}.${part(payload)}`
  const digest = algorithm === 'EdDSA' ? null : `sha${algorithm.slice(2)}`
  const pss = algorithm.startsWith('PS')
    ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    : {}
  return `${input}.${sign(digest, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363', ...pss }).toString('base64url')}`
}

/** HS256 over any secret, such as the text of a public key. */
export function signedWithSecret(secret: string, claims: object): string {
  const input = `${part('{"alg":"HS256"}')}.${part(JSON.stringify(claims))}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}
