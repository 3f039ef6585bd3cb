import { expect, test } from 'vitest'
import { startTestServer } from '../../../support/start-server.ts'
import { verdict } from '../../identity/login-mount.ts'

const ids = { subscription_id: 's', tenant_id: 't' }

test('the key of a mount with an audience keeps what the audience needs', async () => {
  await using server = await startTestServer()
  const { root } = server
  await root.write('identity/oidc/key/k', { allowed_client_ids: 'other' })
  await root.write('sys/mounts/azure', { type: 'azure', config: { identity_token_key: 'k' } })
  const notAllowed = '400 the key "k" does not list the audience "aud" as an allowed client ID'
  const inUse = '400 unable to update key "k" because it is currently referenced by these mounts: azure/'

  expect(verdict(await root.write('azure/config', { ...ids, identity_token_audience: 'aud' }))).toBe(
    notAllowed,
  )
  await root.write('identity/oidc/key/k', { allowed_client_ids: 'aud' })
  expect((await root.write('azure/config', { ...ids, identity_token_audience: 'aud' })).status).toBe(204)
  expect(verdict(await root.write('identity/oidc/key/k', { allowed_client_ids: 'other' }))).toBe(inUse)
  expect(verdict(await root.write('identity/oidc/key/k', { algorithm: 'ES256' }))).toBe(inUse)
  expect(verdict(await root.write('identity/oidc/key/k', { verification_ttl: 3599 }))).toBe(inUse)
  expect((await root.write('identity/oidc/key/k', { verification_ttl: 3600 })).status).toBe(204)
  await root.write('azure/config', { identity_token_audience: '' })
  expect((await root.write('identity/oidc/key/k', { algorithm: 'ES256' })).status).toBe(204)
})
