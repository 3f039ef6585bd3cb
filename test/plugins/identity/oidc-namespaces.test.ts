import { createRemoteJWKSet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { inside } from '../../support/client.ts'
import { startTestServer } from '../../support/start-server.ts'
import { aSigner } from '../jwt-auth/signer.ts'
import { saidBy } from './person.ts'

const oidc = 'identity/oidc'
const signer = aSigner('ES256')

test('each namespace is its own issuer, which is deleted with it', async () => {
  await using server = await startTestServer()
  const { root, anonymous } = server
  const made = await root.write('sys/namespaces/ns1', {})
  const id = String(made.body.data?.id)
  await root.write(`${oidc}/key/outer`, { algorithm: 'ES256', allowed_client_ids: '*' })
  await root.write(`${oidc}/role/outer`, { key: 'outer' })

  expect((await root.list(`ns1/${oidc}/key`)).body.data?.keys).toEqual(['default'])
  expect((await root.read(`ns1/${oidc}/key/outer`)).status).toBe(404)
  expect((await root.list(`ns1/${oidc}/role`)).status).toBe(404)
  expect((await anonymous.read(`ns1/${oidc}/.well-known/keys`)).text).toBe('{"keys":[]}')
  expect((await root.write(`ns1/${oidc}/role/r`, { key: 'outer' })).status).toBe(400)

  await root.write('ns1/sys/auth/jwt', { type: 'jwt' })
  await root.write('ns1/sys/policies/acl/oidc', {
    policy: 'path "identity/oidc/*" { capabilities = ["read", "update"] }',
  })
  await root.write('ns1/auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
  await root.write('ns1/auth/jwt/role/r', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gate',
    token_policies: 'oidc',
  })
  await root.write(`${oidc}/key/k`, { algorithm: 'EdDSA', allowed_client_ids: '*' }, inside('ns1'))
  await root.write(`${oidc}/role/r`, { key: 'k', client_id: 'app' }, inside('ns1'))
  const { body } = await anonymous.write('ns1/auth/jwt/login', {
    role: 'r',
    jwt: signer.sign({ sub: 'eve', aud: 'gate', exp: 4_000_000_000, iat: 1_000_000_000, nbf: 1_000_000_000 }),
  })
  const eve = server.as(String(body.auth?.client_token))

  const token = String((await eve.read(`ns1/${oidc}/token/r`)).body.data?.token)
  const issuer = `${server.url}/v1/ns1/identity/oidc`
  expect((await anonymous.read(`${oidc}/.well-known/openid-configuration`, inside('ns1'))).body.issuer).toBe(
    issuer,
  )
  expect(saidBy(token).claims).toMatchObject({
    iss: issuer,
    namespace: id,
    sub: String(body.auth?.entity_id),
  })
  await jwtVerify(token, createRemoteJWKSet(new URL(`${issuer}/.well-known/keys`)), {
    issuer,
    audience: 'app',
  })
  expect((await eve.write(`ns1/${oidc}/introspect`, { token })).body).toEqual({ active: true })
  expect((await root.write(`${oidc}/introspect`, { token })).body.active).toBe(false)
  expect((await eve.read(`${oidc}/token/outer`)).status).toBe(403)

  await root.delete('sys/namespaces/ns1')
  await expect.poll(async () => (await root.write('sys/namespaces/ns1', {})).status).toBe(200)
  await expect.poll(async () => (await root.list(`ns1/${oidc}/key`)).body.data?.keys).toEqual(['default'])
  expect((await anonymous.read(`ns1/${oidc}/.well-known/keys`)).text).toBe('{"keys":[]}')
})
