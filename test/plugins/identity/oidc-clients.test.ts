import { createRemoteJWKSet, jwtVerify } from 'jose'
import { allowInsecureRequests, discovery } from 'openid-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { aPerson, type Person } from './person.ts'

const oidc = 'identity/oidc'
const algorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

let server: TestServer
let bob: Person

beforeAll(async () => {
  server = await startTestServer()
  bob = await aPerson(server)
})
afterAll(() => server[Symbol.asyncDispose]())

const issuer = () => `${server.url}/v1/identity/oidc`

async function aTokenOf(algorithm: string): Promise<string> {
  await server.root.write(`${oidc}/key/${algorithm}`, { algorithm, allowed_client_ids: 'app' })
  await server.root.write(`${oidc}/role/${algorithm}`, {
    key: algorithm,
    client_id: 'app',
    template: '{"name": {{identity.entity.name}} }',
  })
  return String((await bob.client.read(`${oidc}/token/${algorithm}`)).body.data?.token)
}

describe('a client library finds the issuer and checks its tokens', () => {
  test.each(algorithms)('%s', async (algorithm) => {
    const token = await aTokenOf(algorithm)
    const metadata = (
      await discovery(new URL(issuer()), 'app', undefined, undefined, { execute: [allowInsecureRequests] })
    ).serverMetadata()

    const keys = createRemoteJWKSet(new URL(String(metadata.jwks_uri)))
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      issuer: metadata.issuer,
      audience: 'app',
      algorithms: [algorithm],
    })

    expect(protectedHeader.alg).toBe(algorithm)
    expect(payload).toMatchObject({
      sub: bob.entityId,
      namespace: 'root',
      name: expect.stringMatching(/^entity_/),
    })
    await expect(jwtVerify(token, keys, { issuer: metadata.issuer, audience: 'other' })).rejects.toThrow()
  })

  test('a client with cached keys knows the signing key after a rotation', async () => {
    await aTokenOf('ES256')
    const keys = createRemoteJWKSet(new URL(`${issuer()}/.well-known/keys`), { cooldownDuration: 3_600_000 })
    await jwtVerify(await aTokenOf('ES256'), keys)

    await server.root.write(`${oidc}/key/ES256/rotate`, {})

    const { payload } = await jwtVerify(await aTokenOf('ES256'), keys)
    expect(payload.sub).toBe(bob.entityId)
  })
})

describe('the server as its own JWT provider', () => {
  test('a mount fetches the keys from its own server, and people log in with identity tokens', async () => {
    await server.root.write('sys/auth/own', { type: 'jwt' })
    const configured = await server.root.write('auth/own/config', {
      oidc_discovery_url: issuer(),
      bound_issuer: issuer(),
    })
    await server.root.write('auth/own/role/r', {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'app',
      token_policies: 'default',
    })

    for (const algorithm of algorithms) {
      const jwt = await aTokenOf(algorithm)
      await server.root.write('auth/own/config', {
        oidc_discovery_url: issuer(),
        bound_issuer: issuer(),
        jwt_supported_algs: [algorithm],
      })
      const login = await server.anonymous.write('auth/own/login', { role: 'r', jwt })
      expect([login.status, login.body.auth?.metadata?.role]).toEqual([200, 'r'])
    }
    expect(configured.status).toBe(204)
  })

  test('many such writes, concurrent with writes of keys and roles, all complete', async () => {
    const mounts = Array.from({ length: 6 }, (_, index) => `own${index}`)
    for (const mount of mounts) await server.root.write(`sys/auth/${mount}`, { type: 'jwt' })

    const written = await Promise.all(
      mounts.flatMap((mount) => [
        server.root.write(`auth/${mount}/config`, { oidc_discovery_url: issuer() }),
        server.root.write(`${oidc}/key/${mount}`, { algorithm: 'RS256' }),
        server.root.write(`${oidc}/role/${mount}`, { key: 'default' }),
      ]),
    )

    expect(written.filter(({ status }) => status !== 204)).toEqual([])
  })
})
