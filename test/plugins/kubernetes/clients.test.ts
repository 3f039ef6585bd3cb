import { describe, expect, test } from 'vitest'
import { shared } from '../../support/shared.ts'
import { names, namespaces, selector, startPods, told } from './pods.ts'

/** What clients send, as their sources have it. */
const pods = shared(() => startPods())

describe('Terraform', () => {
  test('reads back what it wrote as the configuration', async () => {
    const { cluster, mount } = await pods()
    const at = await mount()
    const key = cluster.publicKeyPem().trim()
    const sent = {
      kubernetes_host: cluster.url,
      kubernetes_ca_cert: cluster.caPem,
      issuer: 'api',
      disable_iss_validation: true,
      disable_local_ca_jwt: true,
      use_annotations_as_alias_metadata: false,
    }

    const { status } = await at.root.write(`${at.path}/config`, {
      ...sent,
      token_reviewer_jwt: cluster.reviewer,
      pem_keys: `${key},${key}`,
    })

    expect(status).toBe(204)
    expect((await at.root.read(`${at.path}/config`)).body.data).toMatchObject({
      ...sent,
      pem_keys: [key, key],
    })
  })

  test('reads back what it wrote as a role, whose selector it always sends', async () => {
    const { mount } = await pods()
    const at = await mount()
    const sent = {
      [names]: ['example'],
      [namespaces]: ['example'],
      [selector]: '',
      audience: 'gatehouse',
      alias_name_source: 'serviceaccount_name',
      token_ttl: 3600,
      token_policies: ['default', 'dev'],
    }
    const path = `${at.path}/role/example`

    expect((await at.root.call('PUT', path, sent)).status).toBe(204)
    expect((await at.root.read(path)).body.data).toMatchObject(sent)
    expect((await at.root.call('PUT', path, { ...sent, token_ttl: 60 })).status).toBe(204)
    expect((await at.root.delete(path)).status).toBe(204)
    expect((await at.root.read(path)).status).toBe(404)
  })
})

describe('a login as it is sent by', () => {
  test.each([
    ['bao agent', 'PUT', { 'X-Vault-Request': 'true' }],
    ['External Secrets Operator, from its own file', 'PUT', { 'X-Vault-Request': 'true' }, '\n'],
    ['the CSI provider', 'POST', { 'Content-Type': 'application/json' }],
    ['spring-vault', 'POST', { 'Content-Type': 'application/json', 'X-Vault-Namespace': '' }],
  ])('%s gets a token', async (_, method, headers, end = '') => {
    const { cluster, mount, server } = await pods()
    const at = await mount()
    const body = { jwt: `${await cluster.token('dev', 'web', { lifetime: 600 })}${end}`, role: 'r' }

    const answer = await server.anonymous.call(method, `${at.path}/login`, body, { headers })

    expect(told(answer)).toBe('200 ok')
    const renewed = await server
      .as(String(answer.body.auth?.['client_token']))
      .call('PUT', 'auth/token/renew-self', { increment: 0 })
    expect(told(renewed)).toBe('200 ok')
  })
})

test('hvac reads the configuration and the roles that it wrote', async () => {
  const { mount } = await pods()
  const at = await mount()
  await at.root.write(`${at.path}/role/test`, { [names]: ['*'], [namespaces]: ['vault_test'] })

  expect((await at.root.read(`${at.path}/role/test`)).body.data).toMatchObject({
    [namespaces]: ['vault_test'],
  })
  expect((await at.root.list(`${at.path}/role`)).body.data).toEqual({ keys: ['r', 'test'] })
})
