import { createPrivateKey, X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { OutboundClient } from '../../../src/core/outbound/outbound.ts'
import { CheckQueue } from '../../../src/jwt/jws/check-queue.ts'
import { DiscoveredProvider } from '../../../src/jwt/keys/discovered-provider.ts'
import { JwkSet } from '../../../src/jwt/keys/jwk-set.ts'
import {
  JwksKeyset,
  type Keyset,
  type KeysetParts,
  MultiJwksKeyset,
  StaticKeyset,
} from '../../../src/jwt/keys/keyset.ts'
import { parsePublicKeyPem } from '../../../src/jwt/keys/public-key-pem.ts'
import { SharedSources } from '../../../src/jwt/keys/shared-sources.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { expiredCertificate, providerTls, strangerCertificate } from './certificates.ts'
import { jwksOf, startProvider } from './provider.ts'
import { aSigner, newKeys, signed, signedWithSecret } from './signer.ts'

const client = '192.0.2.1'
const signing = 'error validating token: error verifying token signature: '
const noStaticKey = `${signing}no known key successfully validated the token signature`
const noRemoteKey = `${signing}failed to verify id token signature`

function aFixture(clock = new FakeClock()): {
  parts: KeysetParts & { readonly clock: FakeClock }
  clock: FakeClock
} {
  const parts = {
    sources: new SharedSources({ outbound: new OutboundClient({ deny: [] }), clock }),
    fetchedAfter: 0,
    clock,
    onFetch: () => {},
    queue: new CheckQueue(64),
    limits: { maxTokenSize: 512 * 1024 },
  }
  return { parts, clock }
}

const verdict = async (keyset: Keyset, token: string): Promise<string> => {
  const result = await keyset.verify(token, client)
  return 'reason' in result ? (result.cause ?? result.text) : 'ok'
}

function staticKeyset(...pems: string[]): StaticKeyset {
  return new StaticKeyset(pems.map(parsePublicKeyPem), aFixture().parts)
}

const rsa = newKeys('RS256')

describe('static keys', () => {
  const algorithms = [
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
  ]
  test.each(algorithms)('%s verifies only with its kind of key', async (algorithm) => {
    const signers = ['RS256', 'ES256', 'ES384', 'ES512', 'EdDSA'].map((each) => aSigner(each))
    const signer =
      algorithm.startsWith('RS') || algorithm.startsWith('PS')
        ? aSigner(algorithm, { keys: rsa })
        : aSigner(algorithm)
    const token = signer.sign({ sub: 'x' })

    expect(await verdict(staticKeyset(...signers.map(({ pem }) => pem), signer.pem), token)).toBe('ok')
    expect(await verdict(staticKeyset(...signers.map(({ pem }) => pem)), token)).toBe(noStaticKey)
  })

  test('all static keys are tried, whatever the key id', async () => {
    const [first, second, stranger] = [
      aSigner('ES256', { kid: 'x' }),
      aSigner('ES256', { kid: 'y' }),
      aSigner('ES256', { kid: 'x' }),
    ]
    const keyset = staticKeyset(first.pem, second.pem)

    expect(await verdict(keyset, first.sign({}))).toBe('ok')
    expect(await verdict(keyset, second.sign({}, { kid: 'nobody' }))).toBe('ok')
    expect(await verdict(keyset, stranger.sign({}))).toBe(noStaticKey)
  })

  test('an algorithm that does not fit the key does not verify', async () => {
    const signer = aSigner('RS256', { keys: rsa })
    for (const alg of ['RS384', 'PS256', 'ES256', 'EdDSA', 'XX256', 'rs256', '', null, 'none', 'HS256']) {
      expect(await verdict(staticKeyset(signer.pem), signer.sign({}, { alg }))).toBe(noStaticKey)
    }
    const p384 = aSigner('ES384')
    const mixed = signed('ES384', p384.privateKey, '{"alg":"ES256"}', '{}')
    expect(await verdict(staticKeyset(p384.pem), mixed)).toBe(noStaticKey)
  })

  test('a public key is never used as an HMAC secret, and the algorithm none is refused', async () => {
    const signer = aSigner('RS256', { keys: rsa })
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"sub":"x"}').toString('base64url')}.`

    expect(await verdict(staticKeyset(signer.pem), signedWithSecret(signer.pem, { sub: 'x' }))).toBe(
      noStaticKey,
    )
    expect(await verdict(staticKeyset(signer.pem), signedWithSecret(signer.pem.trim(), { sub: 'x' }))).toBe(
      noStaticKey,
    )
    expect(await verdict(staticKeyset(signer.pem), unsigned)).toBe(noStaticKey)
  })

  test('a key in the token is ignored', async () => {
    await using provider = await startProvider()
    const [trusted, attacker] = [aSigner('ES256'), aSigner('ES256')]
    provider.routes.set('/keys', jwksOf(attacker))
    const header = {
      jwk: attacker.jwk,
      jku: `${provider.url}/keys`,
      x5u: `${provider.url}/x`,
      x5c: [strangerCertificate],
    }

    expect(await verdict(staticKeyset(trusted.pem), attacker.sign({}, header))).toBe(noStaticKey)
    expect(await verdict(staticKeyset(trusted.pem), trusted.sign({}, header))).toBe('ok')
    expect(provider.hits).toEqual([])
  })

  test('ES256 signatures in DER are refused, as are truncated, empty and changed ones', async () => {
    const signer = aSigner('ES256')
    const token = signer.sign({ sub: 'x' })
    const [head = '', , signature = ''] = token.split('.')
    const keyset = staticKeyset(signer.pem)

    expect(await verdict(keyset, `${head}.e30.${signature}`)).toBe(noStaticKey)
    expect(await verdict(keyset, token.slice(0, token.lastIndexOf('.') + 1))).toBe(noStaticKey)
    expect(await verdict(keyset, token.replace(signature, signature.slice(0, -2)))).toBe(noStaticKey)
    expect(await verdict(keyset, token.replace(signature, Buffer.alloc(64).toString('base64url')))).toBe(
      noStaticKey,
    )
  })

  test('RSA keys below 2048 bits verify nothing, and those from 2048 on do', async () => {
    const [weak, least] = [aSigner('RS256', { bits: 2047 }), aSigner('RS256', { bits: 2048 })]

    expect(await verdict(staticKeyset(weak.pem), weak.sign({}))).toBe(noStaticKey)
    expect(await verdict(staticKeyset(least.pem), least.sign({}))).toBe('ok')
  })

  test.each(['[]', '"x"', '1', '{', '', 'plain', '{"a":1,"a":1}'])(
    'a correctly signed payload %j is refused',
    async (payload) => {
      const signer = aSigner('ES256')
      expect(await staticKeyset(signer.pem).verify(signer.sign(payload), client)).toMatchObject({
        reason: 'token_malformed',
        text: noStaticKey,
      })
    },
  )

  test.each([
    ['garbage', 'go-jose/go-jose: compact JWS format must have three parts'],
    ['a.b.c.d.e', 'go-jose/go-jose: compact JWS format must have three parts'],
    ['$.e30.c2ln', 'illegal base64 data at input byte 0'],
  ])('the token %s is malformed', async (token, text) => {
    expect(await staticKeyset(aSigner().pem).verify(token, client)).toMatchObject({
      reason: 'token_malformed',
      text: signing + text,
    })
  })
})

describe('PEM keys', () => {
  const spki = aSigner('ES256').pem
  const pkcs1 = rsa.publicKey.export({ format: 'pem', type: 'pkcs1' }).toString()
  const privateKey = rsa.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  test.each([
    { name: 'EC', pem: spki, error: undefined },
    { name: 'RSA', pem: aSigner('RS256', { keys: rsa }).pem, error: undefined },
    { name: 'Ed25519', pem: aSigner('EdDSA').pem, error: undefined },
    { name: 'a certificate', pem: providerTls.cert, error: undefined },
    { name: 'an expired certificate', pem: expiredCertificate, error: undefined },
    { name: 'a wrong label', pem: spki.replaceAll('PUBLIC KEY', 'SOMETHING'), error: undefined },
    { name: 'white space around', pem: `\n\n${spki}\n  \n`, error: undefined },
    { name: 'PKCS#1', pem: pkcs1, error: 'x509: malformed tbs certificate' },
    { name: 'a private key', pem: privateKey, error: 'x509: malformed tbs certificate' },
    { name: 'no PEM', pem: 'a', error: 'data does not contain any valid public keys' },
    { name: 'empty', pem: '', error: 'data does not contain any valid public keys' },
    { name: 'two blocks', pem: spki + spki, error: 'unexpected trailing data after parsed PEM block' },
    { name: 'trailing text', pem: `${spki}x`, error: 'unexpected trailing data after parsed PEM block' },
    {
      name: 'X25519',
      pem: '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VuAyEAhSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=\n-----END PUBLIC KEY-----\n',
      error: 'data does not contain any valid public keys',
    },
  ])('$name', ({ pem, error }) => {
    const parsed = parsePublicKeyPem(pem)
    expect('error' in parsed ? parsed.error : undefined).toBe(error)
  })

  test('tokens verify with the key in a certificate', async () => {
    const { publicKey } = new X509Certificate(providerTls.cert)
    const signer = aSigner('ES256', { keys: { publicKey, privateKey: createPrivateKey(providerTls.key) } })

    expect(await verdict(staticKeyset(providerTls.cert), signer.sign({}))).toBe('ok')
    expect(await verdict(staticKeyset(expiredCertificate), signer.sign({}))).toBe('ok')
    expect(await verdict(staticKeyset(strangerCertificate), signer.sign({}))).toBe(noStaticKey)
  })
})

describe('a JWKS URL', () => {
  test('keys are fetched once and again after a miss, and the old set serves until it is replaced', async () => {
    const [a, b] = [aSigner('ES256', { kid: 'a' }), aSigner('ES256', { kid: 'b' })]
    await using provider = await startProvider({ '/k': jwksOf(a) })
    const keyset = new JwksKeyset({ url: `${provider.url}/k`, caPem: '' }, aFixture().parts)

    expect(await verdict(keyset, a.sign({}))).toBe('ok')
    expect(await verdict(keyset, a.sign({}))).toBe('ok')
    expect(provider.hits).toHaveLength(1)
    expect(await verdict(keyset, b.sign({}))).toBe(noRemoteKey)
    expect(provider.hits).toHaveLength(2)
    provider.routes.set('/k', jwksOf(b))
    expect(await verdict(keyset, a.sign({}))).toBe('ok')
    expect(await verdict(keyset, b.sign({}))).toBe('ok')
    expect(await verdict(keyset, a.sign({}))).toBe(noRemoteKey)
  })

  test('a token with a kid is only checked with keys of that kid', async () => {
    const [named, unnamed] = [aSigner('ES256', { kid: 'a' }), aSigner('ES256')]
    await using provider = await startProvider({ '/k': jwksOf(named, unnamed) })
    const keyset = new JwksKeyset({ url: `${provider.url}/k`, caPem: '' }, aFixture().parts)

    expect(await verdict(keyset, unnamed.sign({}))).toBe('ok')
    expect(await verdict(keyset, named.sign({}, { kid: null }))).toBe('ok')
    expect(await verdict(keyset, unnamed.sign({}, { kid: 'a' }))).toBe(noRemoteKey)
    expect(await keyset.verify(unnamed.sign({}, { kid: 'z' }), client)).toMatchObject({
      reason: 'key_unknown',
      text: noRemoteKey,
    })
    expect(await keyset.verify(unnamed.sign({}, { kid: 'a' }), client)).toMatchObject({
      reason: 'signature_invalid',
    })
  })

  test('fetched keys serve while the provider fails or is down, and fetches are retried', async () => {
    const [a, b] = [aSigner('ES256', { kid: 'a' }), aSigner('ES256', { kid: 'b' })]
    await using provider = await startProvider({ '/k': jwksOf(a) })
    const keyset = new JwksKeyset({ url: `${provider.url}/k`, caPem: '' }, aFixture().parts)
    const fetching = `${signing}fetching keys oidc: `
    await keyset.verify(a.sign({}), client)

    provider.routes.set('/k', (answer) => answer.writeHead(500).end('oops'))
    expect(await verdict(keyset, a.sign({}))).toBe('ok')
    expect(await verdict(keyset, b.sign({}))).toBe(
      `${fetching}Get "${provider.url}/k": get keys failed: 500 Internal Server Error oops`,
    )
    provider.routes.set('/k', 'no json')
    expect(await verdict(keyset, b.sign({}))).toMatch(
      `${fetching}Get "${provider.url}/k": failed to decode keys: `,
    )
    provider.routes.set('/k', jwksOf(b))
    expect(await verdict(keyset, b.sign({}))).toBe('ok')
    await provider.stop()
    expect(await verdict(keyset, b.sign({}))).toBe('ok')
    expect(await verdict(keyset, a.sign({}))).toMatch(/get keys failed .*connection refused/)
  })

  test('after the first fetch, misses may cause a burst of ten more and one every six seconds, and then no fetch', async () => {
    const { parts, clock } = aFixture()
    const [known, unknown] = [aSigner('ES256', { kid: 'a' }), aSigner('ES256', { kid: 'b' })]
    await using provider = await startProvider({ '/k': jwksOf(known) })
    const keyset = new JwksKeyset({ url: `${provider.url}/k`, caPem: '' }, parts)

    for (let count = 0; count < 20; count++) expect(await verdict(keyset, unknown.sign({}))).toBe(noRemoteKey)
    expect(provider.hits).toHaveLength(11)
    expect(await verdict(keyset, known.sign({}))).toBe('ok')
    clock.advance(5.9)
    await keyset.verify(unknown.sign({}), client)
    expect(provider.hits).toHaveLength(11)
    clock.advance(0.1)
    await keyset.verify(unknown.sign({}), client)
    await keyset.verify(unknown.sign({}), client)
    expect(provider.hits).toHaveLength(12)
    clock.advance(3600)
    for (let count = 0; count < 20; count++) await keyset.verify(unknown.sign({}), client)
    expect(provider.hits).toHaveLength(22)
  })

  test('the limit belongs to the URL, whichever mount asks', async () => {
    const { parts } = aFixture()
    await using provider = await startProvider({ '/k': jwksOf(aSigner()) })
    const source = { url: `${provider.url}/k`, caPem: '' }
    const stranger = aSigner().sign({})

    for (let count = 0; count < 20; count++) await new JwksKeyset(source, parts).verify(stranger, client)
    expect(provider.hits).toHaveLength(11)
  })

  test('unknown key ids at one mount do not keep keys from another', async () => {
    const { parts } = aFixture()
    const [old, fresh, unknown] = [
      aSigner('ES256', { kid: 'a' }),
      aSigner('ES256', { kid: 'b' }),
      aSigner('ES256', { kid: 'c' }),
    ]
    await using provider = await startProvider({ '/k': jwksOf(old) })
    const source = { url: `${provider.url}/k`, caPem: '' }
    const of = (caPem: string) => new JwksKeyset({ ...source, caPem }, parts)
    const [mine, theirs, unused, otherRoots] = [of(''), of(''), of(''), of(providerTls.cert)]
    expect(await verdict(mine, old.sign({}))).toBe('ok')
    for (let count = 0; count < 9; count++) await theirs.verify(unknown.sign({}), client)
    provider.routes.set('/k', jwksOf(fresh))
    for (let count = 0; count < 9; count++) await theirs.verify(unknown.sign({}), client)
    expect(provider.hits).toHaveLength(11)

    expect(await verdict(mine, fresh.sign({}))).toBe('ok')
    expect(await verdict(mine, old.sign({}))).toBe(noRemoteKey)
    expect(await verdict(unused, fresh.sign({}))).toBe('ok')
    expect(provider.hits).toHaveLength(11)
    expect(await verdict(otherRoots, fresh.sign({}))).toBe('ok')
    const configuredAnew = new JwksKeyset(source, { ...parts, fetchedAfter: parts.sources.lastNumber })
    expect(await verdict(configuredAnew, fresh.sign({}))).toBe('ok')
    expect(provider.hits).toHaveLength(13)
  })

  test('a failing provider is asked ten times, then once a second, and meanwhile logins are refused with the cause', async () => {
    const { parts, clock } = aFixture()
    await using provider = await startProvider({})
    const keyset = new JwksKeyset({ url: `${provider.url}/k`, caPem: '' }, parts)
    const known = aSigner('ES256', { kid: 'a' })

    for (let count = 0; count < 12; count++) {
      expect(await keyset.verify(aSigner().sign({}), client)).toMatchObject({
        reason: 'keys_unavailable',
        text: 'error verifying token: keys of the provider are unavailable',
        cause: `${signing}fetching keys oidc: Get "${provider.url}/k": get keys failed: 404 Not Found no`,
      })
    }
    expect(provider.hits).toHaveLength(10)
    provider.routes.set('/k', jwksOf(known))
    expect(await keyset.verify(known.sign({}), client)).toMatchObject({ reason: 'keys_unavailable' })
    clock.advance(1)
    expect(await verdict(keyset, known.sign({}))).toBe('ok')
  })

  test('a hundred concurrent logins share one fetch', async () => {
    const signer = aSigner('ES256', { kid: 'a' })
    await using provider = await startProvider({ '/k': jwksOf(signer) })
    const keyset = new JwksKeyset({ url: `${provider.url}/k`, caPem: '' }, aFixture().parts)
    const tokens = Array.from({ length: 100 }, (_, index) => signer.sign({ sub: `${index}` }))

    const verdicts = await Promise.all(tokens.map((token) => verdict(keyset, token)))

    expect(new Set(verdicts)).toEqual(new Set(['ok']))
    expect(provider.hits).toHaveLength(1)
  })

  test('every kind of key verifies, use, key_ops and alg are ignored, and odd keys do no harm', async () => {
    const signers = ['RS256', 'ES256', 'ES384', 'ES512', 'EdDSA'].map((algorithm) =>
      aSigner(algorithm, { kid: algorithm }),
    )
    const odd = aSigner('ES256', { kid: 'odd' })
    const set = {
      keys: [
        { kty: 'oct', kid: 'o', k: 'AAAA' },
        { kty: 'EC', crv: 'secp256k1', kid: 'k', x: 'AA', y: 'AA' },
        { kty: 'EC', crv: 'P-256', kid: 'point off the curve', x: 'AAAA', y: 'AAAA' },
        { kty: 'RSA', kid: 'empty' },
        { kty: 'RSA', n: 1, e: 2 },
        { kty: '__proto__' },
        {},
        { kty: 'RSA', n: 'A'.repeat(100_000), e: 'AQAB' },
        ...signers.map(({ jwk }) => jwk),
        { ...odd.jwk, use: 'enc', alg: 'RS256', key_ops: ['encrypt'], extra: 1 },
      ],
    }
    await using provider = await startProvider({ '/k': set })
    const keyset = new JwksKeyset({ url: `${provider.url}/k`, caPem: '' }, aFixture().parts)

    for (const signer of [...signers, odd]) expect(await verdict(keyset, signer.sign({}))).toBe('ok')
  })

  test('a key with a certificate chain must equal that of the first certificate', async () => {
    const der = (pem: string) => new X509Certificate(pem).raw.toString('base64')
    const keys = {
      publicKey: new X509Certificate(providerTls.cert).publicKey,
      privateKey: createPrivateKey(providerTls.key),
    }
    const signer = aSigner('ES256', { keys })
    const problemsOf = (...chain: unknown[]) =>
      new JwkSet(Buffer.from(JSON.stringify({ keys: [{ ...signer.jwk, x5c: chain }] })))
        .skipped()
        .map(({ problem }) => problem)

    expect(problemsOf(der(providerTls.cert))).toEqual([])
    expect(problemsOf()).toEqual([])
    expect(problemsOf(der(strangerCertificate))).toEqual(['the first certificate of x5c has another key'])
    for (const none of ['AAAA', '', 'not base64', 7, null])
      expect(problemsOf(none)).toEqual(['the first element of x5c is no certificate'])
  })

  test.each([
    ['{}', true],
    ['{"keys":[]}', true],
    ['{"keys":null}', true],
    ['{"keys":[],"e":1e99,"t":"1e400"}', true],
    ['{"keys":[],"e":1e400}', false],
    ['{"keys":[{"e":-1e309}]}', false],
    [`{"keys":[],"e":${'9'.repeat(310)}}`, false],
    [JSON.stringify({ keys: Array(1000).fill({ kty: 'oct' }) }), true],
    [JSON.stringify({ keys: Array(1001).fill({ kty: 'oct' }) }), false],
    ['[]', false],
    ['null', false],
    ['"x"', false],
    ['{"keys":"x"}', false],
    ['{"keys":["x"]}', false],
    ['<html>', false],
    ['', false],
  ])('the body $0 is a set: $1', (body, ok) => {
    const read = () => new JwkSet(Buffer.from(body))
    if (ok) expect(read).not.toThrow()
    else expect(read).toThrow()
  })

  const malformed = `${signing}oidc: malformed jwt: `
  test.each([
    ['garbage', `${malformed}go-jose/go-jose: compact JWS format must have three parts`],
    ['a.b.c', `${malformed}illegal base64 data at input byte 0`],
    [
      signedWithSecret('secret', {}),
      `${malformed}unexpected signature algorithm "HS256"; expected ["RS256" "RS384" "RS512" "ES256" "ES384" "ES512" "PS256" "PS384" "PS512" "EdDSA"]`,
    ],
  ])('a malformed token is refused without a fetch: $0', async (token, text) => {
    await using provider = await startProvider()
    const keyset = new JwksKeyset({ url: `${provider.url}/k`, caPem: '' }, aFixture().parts)

    expect(await keyset.verify(token, client)).toMatchObject({ text })
    expect(provider.hits).toEqual([])
  })

  test('a token without kid is checked against a thousand keys', async () => {
    const last = aSigner('ES256')
    const others = Array.from({ length: 40 }, () => aSigner('ES256').jwk)
    const keys = [...Array.from({ length: 999 }, (_, index) => others[index % 40]), last.jwk]
    await using provider = await startProvider({ '/k': { keys } })
    const keyset = new JwksKeyset({ url: `${provider.url}/k`, caPem: '' }, aFixture().parts)

    expect(await verdict(keyset, last.sign({}))).toBe('ok')
  })
})

describe('discovery', () => {
  const documentOf = (url: string) => ({ issuer: url, jwks_uri: `${url}/jwks` })

  test('runs at the first login, again after a failure, and never again after a success', async () => {
    const signer = aSigner('RS256', { kid: 'r', keys: rsa })
    await using provider = await startProvider()
    const keyset = new DiscoveredProvider({ url: provider.url, caPem: '' }, aFixture().parts)
    const configuring = 'error configuring token validator: keyset configuration error: '

    expect(await verdict(keyset, signer.sign({}))).toBe(
      `${configuring}Get "${provider.url}/.well-known/openid-configuration": 404 Not Found: no`,
    )
    provider.routes.set('/.well-known/openid-configuration', {
      ...documentOf(provider.url),
      issuer: 'https://evil.example',
    })
    expect(await verdict(keyset, signer.sign({}))).toBe(
      `${configuring}issuer "${provider.url}" expected, discovery says "https://evil.example"`,
    )
    provider.routes.set('/.well-known/openid-configuration', 'no json')
    expect(await verdict(keyset, signer.sign({}))).toMatch(configuring)
    provider.routes.set('/.well-known/openid-configuration', documentOf(provider.url))
    provider.routes.set('/jwks', jwksOf(signer))
    expect(await verdict(keyset, signer.sign({}))).toBe('ok')
    provider.routes.clear()
    expect(await verdict(keyset, signer.sign({}))).toBe('ok')
    expect(provider.hits.filter((path) => path.includes('well-known'))).toHaveLength(4)
  })

  test('a document that another mount fetched serves for an hour, and longer only while the provider is down', async () => {
    const { parts, clock } = aFixture()
    const signer = aSigner('ES256', { kid: 'a' })
    await using provider = await startProvider({ '/jwks': jwksOf(signer) })
    const path = '/.well-known/openid-configuration'
    provider.routes.set(path, documentOf(provider.url))
    const mount = () => new DiscoveredProvider({ url: provider.url, caPem: '' }, parts)
    const fetches = () => provider.hits.filter((hit) => hit === path).length
    // a source is kept as long as a mount uses it
    const first = mount()
    expect(await verdict(first, signer.sign({}))).toBe('ok')

    clock.advance(3600)
    expect(await verdict(mount(), signer.sign({}))).toBe('ok')
    expect(fetches()).toBe(1)
    clock.advance(1)
    expect(await verdict(mount(), signer.sign({}))).toBe('ok')
    expect(fetches()).toBe(2)
    clock.advance(3601)
    provider.routes.delete(path)
    expect(await verdict(mount(), signer.sign({}))).toBe('ok')
    expect(fetches()).toBe(3)
    expect(await verdict(first, signer.sign({}))).toBe('ok')
  })

  test('concurrent logins share one discovery, and requests to a provider that is down are limited', async () => {
    await using provider = await startProvider()
    const keyset = new DiscoveredProvider({ url: provider.url, caPem: '' }, aFixture().parts)

    await Promise.all(Array.from({ length: 50 }, () => keyset.verify('x', client)))
    expect(provider.hits).toHaveLength(1)
    for (let count = 0; count < 20; count++)
      expect(await keyset.verify('x', client)).toMatchObject({ reason: 'keys_unavailable' })
    expect(provider.hits).toHaveLength(10)
  })
})

describe('several JWKS URLs', () => {
  async function threeProviders() {
    const signers = ['a', 'b', 'c'].map((kid) => aSigner('ES256', { kid }))
    const providers = await Promise.all(signers.map((signer) => startProvider({ '/k': jwksOf(signer) })))
    const keyset = new MultiJwksKeyset(
      providers.map(({ url }) => ({ url: `${url}/k`, caPem: '' })),
      aFixture().parts,
    )
    const hits = () => providers.map((provider) => provider.hits.length)
    const stop = async () => {
      for (const provider of providers) await provider.stop()
    }
    return { signers, providers, keyset, hits, [Symbol.asyncDispose]: stop }
  }

  test('the kid selects the key, and each URL is fetched once for many logins and not at all if cached', async () => {
    await using fixture = await threeProviders()
    const second = fixture.signers[1]?.sign({}) ?? ''

    const verdicts = await Promise.all(Array.from({ length: 50 }, () => verdict(fixture.keyset, second)))
    await fixture.keyset.verify(second, client)

    expect(new Set(verdicts)).toEqual(new Set(['ok']))
    expect(fixture.hits()).toEqual([1, 1, 1])
  })

  test('an unknown kid is refused', async () => {
    await using fixture = await threeProviders()
    expect(
      await fixture.keyset.verify(aSigner('ES256', { kid: 'non-existent-key' }).sign({}), client),
    ).toMatchObject({
      reason: 'key_unknown',
      text: 'error validating token: error searching for key set with kid non-existent-key: no key found with kid non-existent-key in any JWKS endpoint',
    })
  })

  test('one URL that is down does not affect the keys of the others, and an error says if all are down', async () => {
    await using fixture = await threeProviders()
    await fixture.providers[0]?.stop()
    expect(await verdict(fixture.keyset, fixture.signers[2]?.sign({}) ?? '')).toBe('ok')

    const gone = new MultiJwksKeyset(
      [
        { url: 'http://127.0.0.1:1/a', caPem: '' },
        { url: 'http://127.0.0.1:1/b', caPem: '' },
      ],
      aFixture().parts,
    )
    const text =
      'error validating token: error searching for key set with kid c: failed to refresh all 2 JWKS caches - check network connectivity and JWKS endpoints'
    expect(await gone.verify(fixture.signers[2]?.sign({}) ?? '', client)).toMatchObject({
      text,
      cause: `${text}; ${['a', 'b'].map((at) => `get keys failed Get "http://127.0.0.1:1/${at}": dial tcp: connect: connection refused`).join('; ')}`,
    })
  })

  test('if two sets have a kid, the first wins and the second is not tried', async () => {
    const [first, second] = [aSigner('ES256', { kid: 'same' }), aSigner('ES256', { kid: 'same' })]
    await using one = await startProvider({ '/k': jwksOf(first) })
    await using two = await startProvider({ '/k': jwksOf(second) })
    const sources = [one, two].map(({ url }) => ({ url: `${url}/k`, caPem: '' }))
    const keyset = new MultiJwksKeyset(sources, aFixture().parts)

    expect(await verdict(keyset, first.sign({}))).toBe('ok')
    expect(await verdict(keyset, second.sign({}))).toBe(noRemoteKey)
  })

  test('without a kid all sets are tried in order', async () => {
    await using fixture = await threeProviders()
    expect(await verdict(fixture.keyset, fixture.signers[2]?.sign({}, { kid: null }) ?? '')).toBe('ok')
    expect(await verdict(fixture.keyset, aSigner().sign({}))).toBe(noRemoteKey)
  })

  test('an unreadable CA is reported when its keys are fetched', async () => {
    const keyset = new MultiJwksKeyset([{ url: 'https://127.0.0.1:1/k', caPem: 'garbage' }], aFixture().parts)
    expect(await verdict(keyset, aSigner().sign({}))).toMatch('could not parse CA PEM value successfully')
  })

  test('an invalid body is a parse error', async () => {
    await using fixture = await threeProviders()
    expect(await verdict(fixture.keyset, 'x')).toMatch('error validating token: error parsing token: ')
  })
})
