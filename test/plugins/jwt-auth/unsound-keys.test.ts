import { createHash, createPublicKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { parsePublicKeyPem } from '../../../src/jwt/keys/public-key-pem.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer } from '../../support/start-server.ts'
import { jwksOf, startProvider } from './provider.ts'
import { aSigner, newKeys } from './signer.ts'

/** For the tests that leave behind nothing that others would notice. */
const sharedServer = shared(() => startTestServer())

const claims = { sub: 'bob', iat: Math.floor(Date.now() / 1000) }
const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'bob' }

const rsa = newKeys('RS256').publicKey.export({ format: 'jwk' })
const modulus = String(rsa.n)
const base64Url = (value: bigint) =>
  Buffer.from(value.toString(16).padStart(2 * Math.ceil(value.toString(16).length / 2), '0'), 'hex').toString(
    'base64url',
  )
const withExponent = (exponent: bigint) => ({ kty: 'RSA', n: modulus, e: base64Url(exponent) })
const lastByte = (text: string, change: (byte: number) => number) => {
  const bytes = Buffer.from(text, 'base64url')
  bytes[bytes.length - 1] = change(bytes.at(-1) ?? 0)
  return bytes.toString('base64url')
}
const pemOf = (der: Buffer) =>
  `-----BEGIN PUBLIC KEY-----\n${der.toString('base64')}\n-----END PUBLIC KEY-----\n`
const pemOfJwk = (jwk: object) =>
  createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' }).toString()

const exponentText = /^the RSA exponent \d+…? is not an odd number from 3 to 4294967295$/
const rsaRows: [name: string, jwk: object, problem: RegExp][] = [
  ...[0n, 1n, 2n, 4n, 65536n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 64n + 1n, 2n ** 1000n + 1n].map(
    (exponent): [string, object, RegExp] => [
      `RSA with the exponent ${exponent.toString().slice(0, 30)}`,
      withExponent(exponent),
      exponentText,
    ],
  ),
  [
    'RSA with 2047 bits',
    newKeys('RS256', 2047).publicKey.export({ format: 'jwk' }),
    /^the RSA modulus has 2047 bits, fewer than 2048$/,
  ],
  [
    'RSA with 1024 bits',
    newKeys('RS256', 1024).publicKey.export({ format: 'jwk' }),
    /^the RSA modulus has 1024 bits, fewer than 2048$/,
  ],
  // leading zeros do not make a modulus longer
  [
    'RSA with 1024 bits and zeros in front',
    {
      ...rsa,
      n: Buffer.concat([
        Buffer.alloc(128),
        Buffer.from(String(newKeys('RS256', 1024).publicKey.export({ format: 'jwk' }).n), 'base64url'),
      ]).toString('base64url'),
    },
    /has 1024 bits/,
  ],
  [
    'RSA with an even modulus',
    { ...rsa, n: lastByte(modulus, (byte) => byte & 0xfe) },
    /^the RSA modulus is even$/,
  ],
  ['RSA with a modulus of nothing', { ...rsa, n: 'AA' }, /has 0 bits/],
]

const ed25519 = (hex: string) => ({
  kty: 'OKP',
  crv: 'Ed25519',
  x: Buffer.from(hex, 'hex').toString('base64url'),
})
const ed25519Rows: [name: string, jwk: object, problem: RegExp][] = [
  ['Ed25519 with the neutral point', ed25519(`01${'00'.repeat(31)}`), /small order/],
  [
    'Ed25519 with the neutral point in another spelling',
    ed25519(`ee${'ff'.repeat(30)}7f`),
    /small order|not on its curve/,
  ],
  ['Ed25519 with a point of order 2', ed25519(`ec${'ff'.repeat(30)}7f`), /small order/],
  ['Ed25519 with a point of order 4', ed25519('00'.repeat(32)), /small order/],
  [
    'Ed25519 with a point of order 8',
    ed25519('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'),
    /small order/,
  ],
  ['Ed25519 with a point beside the curve', ed25519(`02${'00'.repeat(31)}`), /not on its curve/],
]

const ecRows = (['ES256', 'ES384', 'ES512'] as const).map((algorithm): [string, object, RegExp] => {
  const jwk = newKeys(algorithm).publicKey.export({ format: 'jwk' })
  return [
    `${String(jwk.crv)} with a point beside the curve`,
    { ...jwk, y: lastByte(String(jwk.y), (byte) => byte ^ 1) },
    /^the EC point is not on P-/,
  ]
})

const otherRows: [name: string, jwk: object, problem: RegExp][] = [
  ['a symmetric key', { kty: 'oct', k: 'c2VjcmV0' }, /^keys of kty "oct" are not supported$/],
  ['a key without a type', {}, /^keys of kty "" are not supported$/],
  [
    'X25519',
    { kty: 'OKP', crv: 'X25519', x: 'hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo' },
    /^curve "X25519" is not supported$/,
  ],
  [
    'a curve of coins',
    { kty: 'EC', crv: 'secp256k1', x: 'AA', y: 'AA' },
    /^curve "secp256k1" is not supported$/,
  ],
  ['RSA without an exponent', { kty: 'RSA', n: modulus }, /^e is not a string$/],
]

describe('a key set', () => {
  testOfOneServer('uses its sound keys, and status says why each unsound one is skipped', async () => {
    const rows = [...rsaRows, ...ed25519Rows, ...ecRows, ...otherRows]
    const good = aSigner('RS256', { kid: 'good' })
    await using provider = await startProvider({
      '/k': { keys: [...rows.map(([name, jwk]) => ({ ...jwk, kid: name })), good.jwk] },
    })
    const server = await sharedServer()
    expect((await server.root.write('auth/jwt/config', { jwks_url: `${provider.url}/k` })).status).toBe(204)
    await server.root.write('auth/jwt/role/ci', role)
    const logIn = (jwt: string) => server.anonymous.write('auth/jwt/login', { role: 'ci', jwt })

    expect((await logIn(good.sign(claims))).status).toBe(200)
    const status = (await server.root.read('auth/jwt/status')).body.data?.['sources']?.['0']
    expect(status).toMatchObject({ keys: 1, kids: ['good'] })
    expect(status?.['skipped_keys']).toEqual(
      rows.map(([kid, , problem]) => ({ kid, text: expect.stringMatching(problem) })),
    )
  })

  testOfOneServer(
    'does not accept a token that anybody can forge for an RSA key with exponent 1',
    async () => {
      const kid = 'one'
      await using provider = await startProvider({ '/k': { keys: [{ ...withExponent(1n), kid }] } })
      const server = await sharedServer()
      await server.root.write('auth/jwt/config', { jwks_url: `${provider.url}/k` })
      await server.root.write('auth/jwt/role/ci', role)
      const input = [{ alg: 'RS256', kid }, claims]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.')
      const digest = Buffer.concat([
        Buffer.from('3031300d060960864801650304020105000420', 'hex'),
        createHash('sha256').update(input).digest(),
      ])
      const padded = Buffer.concat([
        Buffer.from([0, 1]),
        Buffer.alloc(256 - 3 - digest.length, 0xff),
        Buffer.from([0]),
        digest,
      ])

      const refused = await server.anonymous.write('auth/jwt/login', {
        role: 'ci',
        jwt: `${input}.${padded.toString('base64url')}`,
      })

      expect(refused).toMatchObject({
        status: 400,
        body: { errors: ['error verifying token: keys of the provider are unavailable'] },
      })
      const failures = await server.root.read('auth/jwt/failures')
      expect(failures.body.data?.['failures']?.['0']).toMatchObject({ reason: 'keys_unavailable' })
    },
  )

  test('with an unsound key does not hide the sound key of another set with the same key id', async () => {
    const good = aSigner('RS256', { kid: 'same' })
    await using provider = await startProvider({
      '/a': { keys: [{ ...withExponent(1n), kid: 'same' }] },
      '/b': jwksOf(good),
    })
    const server = await sharedServer()
    await server.root.write('auth/jwt/config', {
      jwks_pairs: ['/a', '/b'].map((path) => ({ jwks_url: provider.url + path })),
    })
    await server.root.write('auth/jwt/role/ci', role)

    expect(
      (await server.anonymous.write('auth/jwt/login', { role: 'ci', jwt: good.sign(claims) })).status,
    ).toBe(200)
  })
})

describe('a PEM key', () => {
  test.each([...rsaRows, ...ed25519Rows])(
    'is refused when it is written: %s',
    async (_name, jwk, problem) => {
      const parsed = parsePublicKeyPem(pemOfJwk(jwk))

      expect('error' in parsed && parsed.error).toMatch(problem)
    },
  )

  test('off its curve, at infinity or too short makes the write 400 and changes nothing, even as the second of two', async () => {
    const server = await sharedServer()
    const good = aSigner('ES256')
    const der = createPublicKey(good.pem).export({ type: 'spki', format: 'der' })
    const beside = Buffer.from(der)
    beside[beside.length - 1] = (beside.at(-1) ?? 0) ^ 1
    // the same algorithm, and the one byte that encodes the point at infinity
    const infinity = Buffer.concat([
      Buffer.from('3019', 'hex'),
      der.subarray(2, 23),
      Buffer.from('03020000', 'hex'),
    ])
    const write = (...jwt_validation_pubkeys: string[]) =>
      server.root.write('auth/jwt/config', { jwt_validation_pubkeys })
    expect((await write(good.pem)).status).toBe(204)

    for (const [pem, text] of [
      [
        pemOf(beside),
        'error parsing public key: x509: failed to unmarshal elliptic curve point: it is not on its curve',
      ],
      [pemOf(infinity), 'error parsing public key: the EC point is at infinity'],
      [
        pemOfJwk(withExponent(1n)),
        'error parsing public key: the RSA exponent 1 is not an odd number from 3 to 4294967295',
      ],
      [
        aSigner('RS256', { bits: 1024 }).pem,
        'error parsing public key: the RSA modulus has 1024 bits, fewer than 2048',
      ],
    ] as const) {
      expect(await write(pem)).toMatchObject({ status: 400, body: { errors: [text] } })
      expect(await write(good.pem, pem)).toMatchObject({ status: 400, body: { errors: [text] } })
    }
    expect((await server.root.read('auth/jwt/config')).body.data).toMatchObject({
      jwt_validation_pubkeys: [good.pem.trim()],
    })
  })
})
