import { createSigner } from 'fast-jwt'
import { describe, expect, test } from 'vitest'
import { supportedAlgorithms } from '../../../src/jwt/jws/algorithms.ts'
import { borrowServer } from '../../support/borrowed-server.ts'
import { begin, callback, startSmallProvider, verdict, withFlow } from './oidc/small-provider.ts'
import { jwksOf, startProvider } from './provider.ts'
import { aSigner, type Signer } from './signer.ts'

type Algorithm = (typeof supportedAlgorithms)[number]

/** A library that shares no code with ours or with jose. */
const foreignSign = (
  algorithm: Algorithm,
  { privateKey }: Signer,
  payload: object,
  header: object = {},
): string =>
  createSigner({
    algorithm,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    kid: 'foreign',
    header: { alg: algorithm, ...header },
    expiresIn: '5m',
  })(payload)

describe.each(supportedAlgorithms)('tokens of another library: %s', (algorithm) => {
  const signer = aSigner(algorithm, { kid: 'foreign' })
  const role = {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gatehouse',
    claim_mappings: { name: 'name' },
  }
  const person = { sub: 'zoë', aud: 'gatehouse', name: '日本 \u2028 "quoted"' }

  test('verify with the key as PEM, behind a JWKS URL, and in a pair', async () => {
    await using provider = await startProvider({ '/k': jwksOf(signer) })
    await using server = await borrowServer()
    const jwt = foreignSign(algorithm, signer, person)
    const forged = foreignSign(algorithm, aSigner(algorithm), person)

    for (const config of [
      { jwt_validation_pubkeys: [signer.pem] },
      { jwks_url: `${provider.url}/k` },
      { jwks_pairs: [{ jwks_url: `${provider.url}/k` }] },
    ]) {
      await server.root.write('auth/jwt/config', { ...config, jwt_supported_algs: algorithm })
      await server.root.write('auth/jwt/role/r', role)
      const answer = await server.anonymous.write('auth/jwt/login', { role: 'r', jwt })
      expect(verdict(answer)).toBe('ok')
      expect(answer.body.auth?.['metadata']).toEqual({ role: 'r', name: person.name })
      expect((await server.anonymous.write('auth/jwt/login', { role: 'r', jwt: forged })).status).toBe(400)
    }
  })

  test('verify as ID tokens', async () => {
    await using provider = await startSmallProvider()
    provider.signer = signer
    await using server = await withFlow(provider, { config: { jwt_supported_algs: algorithm } })
    const login = await begin(server.anonymous)
    const idToken = foreignSign(algorithm, signer, { ...provider.claims(login), sub: 'zoë' })

    const answer = await callback(server.anonymous, {
      state: login.get('state'),
      code: provider.codeFor(login, { idToken }),
    })

    expect(verdict(answer)).toBe('ok')
  })
})
