import { expect, test } from 'vitest'
import type { TestServer } from '../../../support/start-server.ts'
import {
  begin,
  confirmed,
  deviceRole,
  directRole,
  page,
  pending,
  poll,
  polled,
  sharedFlow,
} from '../oidc/polled-login.ts'
import { callback, redirectUri, type SmallProvider } from '../oidc/small-provider.ts'

const flow = sharedFlow()
const scope = { scope_paths: ['sys/mounts'], scope_policies: ['shown'], scope_ttl: '5m' }
const role = { token_policies: ['shown', 'more'] }

async function withPolicies(given: object): Promise<{ provider: SmallProvider; server: TestServer }> {
  const { provider, server } = await flow({ ...role, ...given })
  const policy = 'path "sys/mounts" { capabilities = ["read"] } path "sys/auth" { capabilities = ["read"] }'
  for (const name of ['shown', 'more']) await server.root.write(`sys/policies/acl/${name}`, { policy })
  return { provider, server }
}

async function expectScoped(server: TestServer, auth: { client_token?: unknown } | undefined): Promise<void> {
  expect(auth).toMatchObject({ scope_paths: ['sys/mounts'], scope_policies: ['shown'], lease_duration: 300 })
  const client = server.as(String(auth?.client_token))
  expect((await client.read('sys/mounts')).status).toBe(200)
  expect((await client.read('sys/auth')).status).toBe(403)
}

test('a scope that a browser login begins with is that of the token of the callback', async () => {
  const { provider, server } = await withPolicies({ allowed_redirect_uris: [redirectUri] })
  const { login } = await begin(server.anonymous, { redirect_uri: redirectUri, ...scope })

  const query = { state: login.get('state'), code: provider.codeFor(login), client_nonce: 'cn' }
  const { body } = await callback(server.anonymous, query)

  await expectScoped(server, body.auth)
})

test('and that of a poll, which the person confirms in mode direct', async () => {
  const { provider, server } = await withPolicies(directRole)
  const { login, state } = await begin(server.anonymous, { redirect_uri: page, ...scope })
  expect(await polled(server.anonymous, state)).toBe(pending)
  await confirmed(server.anonymous, state, provider.codeFor(login))

  await expectScoped(server, (await poll(server.anonymous, state)).body.auth)
})

test('and that of a device', async () => {
  const { provider, server } = await withPolicies(deviceRole)
  const { state } = await begin(server.anonymous, scope)
  provider.deviceError = ''

  await expectScoped(server, (await poll(server.anonymous, state)).body.auth)
})

test('a scope in no usable form begins no login, and one with unknown policies gets no token', async () => {
  const { provider, server } = await withPolicies({ allowed_redirect_uris: [redirectUri] })
  const sent = { redirect_uri: redirectUri, client_nonce: 'cn', scope_paths: [] }
  const refused = await server.anonymous.write('auth/oidc/oidc/auth_url', sent)
  const { login } = await begin(server.anonymous, { redirect_uri: redirectUri, scope_policies: ['nope'] })
  const query = { state: login.get('state'), code: provider.codeFor(login), client_nonce: 'cn' }

  expect([refused.status, refused.body.errors]).toEqual([
    400,
    ['scope_paths is empty: leave it out for no limit'],
  ])
  expect((await callback(server.anonymous, query)).body.errors).toEqual([
    'scope_policies: the login does not give "nope"',
  ])
})
