import { describe, expect, test } from 'vitest'
import { shared } from '../../support/shared.ts'
import { names, namespaces, selector, startPods, told } from './pods.ts'

const pods = shared(() => startPods({ settings: { SERVICE_ACCOUNT_DIR: '/nowhere' } }))
const mount = async (config?: object) => (await pods()).mount(config)

describe('the configuration', () => {
  test('is not there before the first write, and cannot be deleted', async () => {
    const { server } = await pods()
    await server.root.write('sys/auth/new', { type: 'kubernetes' })

    expect((await server.root.read('auth/new/config')).status).toBe(404)
    expect(told(await server.root.delete('auth/new/config'))).toBe('405 unsupported operation')
  })

  test('shows everything but the token of the reviewer', async () => {
    const at = await mount({ issuer: 'i', token_reviewer_jwt: ' secret\n' })

    const { body, text } = await at.root.read(`${at.path}/config`)

    expect(body.data).toMatchObject({
      issuer: 'i',
      pem_keys: [],
      disable_iss_validation: true,
      disable_local_ca_jwt: true,
      use_annotations_as_alias_metadata: false,
      verification: 'review',
      token_max_lifetime: 86_400,
      token_reviewer_jwt_set: true,
    })
    expect(text).not.toContain('secret')
  })

  test('is replaced as a whole by each write', async () => {
    const { cluster } = await pods()
    const at = await mount({ issuer: 'i', pem_keys: [cluster.publicKeyPem()], disable_iss_validation: false })

    await at.root.write(`${at.path}/config`, { kubernetes_host: 'https://k', disable_local_ca_jwt: true })

    expect((await at.root.read(`${at.path}/config`)).body.data).toMatchObject({
      kubernetes_host: 'https://k',
      kubernetes_ca_cert: '',
      issuer: '',
      pem_keys: [],
      disable_iss_validation: true,
      token_reviewer_jwt_set: false,
    })
  })

  test('asks nobody when it is written', async () => {
    const { cluster } = await pods()
    cluster.requests.length = 0

    await mount()

    expect(cluster.requests).toEqual([])
  })

  test('needs the capability update', async () => {
    const at = await mount()
    const { server } = await pods()
    const write = async (capability: string) => {
      await server.root.write('sys/policies/acl/some', {
        policy: `path "${at.path}/config" { capabilities = ["${capability}"] }`,
      })
      const { body } = await server.root.write('auth/token/create', { policies: ['some'] })
      const made = server.as(String(body.auth?.['client_token']))
      return told(await made.write(`${at.path}/config`, { kubernetes_host: 'x', disable_local_ca_jwt: true }))
    }

    expect(await write('create')).toBe('403 permission denied')
    expect(await write('update')).toBe('200 ok'.replace('200', '204'))
  })

  const invalidHost = (why: string) => `400 invalid kubernetes_host: ${why}`
  const elsewhere = { disable_local_ca_jwt: true }
  test.each([
    ['no host', { kubernetes_host: '' }, '400 no host provided'],
    ['another scheme', { kubernetes_host: 'ftp://k' }, invalidHost('it is neither https nor http')],
    ['a user', { kubernetes_host: 'https://a:b@k' }, invalidHost('it names a user')],
    ['a query', { kubernetes_host: 'https://k/?a=b' }, invalidHost('it has a query or a fragment')],
    ['a fragment', { kubernetes_host: 'https://k#a' }, invalidHost('it has a query or a fragment')],
    ['white space in it', { kubernetes_host: 'https://k k' }, invalidHost('it has white space')],
    ['no URL', { kubernetes_host: 'https://' }, invalidHost('it is no URL')],
    [
      'no certificate',
      { kubernetes_ca_cert: 'x' },
      '400 The provided CA PEM data contains no valid certificates',
    ],
    ['no key', { pem_keys: ['x'] }, '400 data does not contain any valid public keys'],
    [
      'no local authority',
      { kubernetes_ca_cert: '', disable_local_ca_jwt: false },
      '400 open /nowhere/ca.crt: no such file or directory',
    ],
    ['another verification', { verification: 'x' }, '400 invalid verification, must be one of: review, keys'],
    [
      'keys without an issuer',
      { verification: 'keys' },
      `400 'issuer' must be set when verification is "keys"`,
    ],
    ['the authorities of the system', { kubernetes_ca_cert: '', ...elsewhere }, '204 ok'],
  ])('with %s: %s', async (_, fields, expected) => {
    const at = await mount()

    expect(told(await at.config(fields))).toBe(expected)
  })

  test('takes no key that can verify no token of a cluster', async () => {
    const { cluster } = await pods()
    const at = await mount()
    const pem = cluster.keys.current('EdDSA').publicKey.export({ type: 'spki', format: 'pem' })

    expect(told(await at.config({ pem_keys: [pem] }))).toBe('400 data does not contain any valid public keys')
  })

  test('has no lockout', async () => {
    const at = await mount()

    expect(
      told(await at.root.write(`sys/${at.path}/tune`, { user_lockout_config: { lockout_disable: true } })),
    ).toBe('400 tuning of user lockout configuration for auth type "kubernetes" not allowed')
  })
})

describe('a role', () => {
  test('shows its defaults', async () => {
    const at = await mount()
    await at.root.write(`${at.path}/role/A_b`, { [names]: ' web , job ', [namespaces]: 'dev' })

    const { body } = await at.root.read(`${at.path}/role/a_B`)

    expect(body.data).toEqual({
      [names]: ['web', 'job'],
      [namespaces]: ['dev'],
      [selector]: '',
      alias_name_source: 'serviceaccount_uid',
      renewal_review: true,
      token_bound_cidrs: [],
      token_explicit_max_ttl: 0,
      token_max_ttl: 0,
      token_no_default_policy: false,
      token_num_uses: 0,
      token_period: 0,
      token_policies: [],
      token_strictly_bind_ip: false,
      token_ttl: 0,
      token_type: 'default',
    })
    expect((await at.root.list(`${at.path}/role`)).body.data).toEqual({ keys: ['a_b', 'r'] })
  })

  test('keeps what an update does not name, but for the selector', async () => {
    const at = await mount()
    const labels = '{"matchLabels":{"env":"dev"}}'
    await at.role('r', { [selector]: labels, token_ttl: 60 })

    await at.root.write(`${at.path}/role/r`, { token_policies: 'p' })

    expect((await at.root.read(`${at.path}/role/r`)).body.data).toMatchObject({
      [selector]: '',
      [namespaces]: ['dev'],
      token_ttl: 60,
      token_policies: ['p'],
    })
    await at.role('r', { [selector]: labels })
    await at.root.write(`${at.path}/role/r`, { [namespaces]: '', [selector]: labels })
    expect(told(await at.root.write(`${at.path}/role/r`, { token_ttl: 5 }))).toBe(
      `400 "${namespaces}" can not be empty if "${selector}" is not set`,
    )
  })

  const noNames = `400 "${names}" can not be empty`
  const mixed = '400 can not mix "*" with values'
  const source = '400 invalid alias_name_source, must be one of: serviceaccount_uid, serviceaccount_name'
  test.each([
    [{ [names]: [] }, noNames],
    [{ [names]: '' }, noNames],
    [{ [names]: [''] }, noNames],
    [{ [namespaces]: '' }, `400 "${namespaces}" can not be empty if "${selector}" is not set`],
    [{ [names]: '*,a' }, mixed],
    [{ [namespaces]: 'a,*' }, mixed],
    [{ [names]: 'a*,a' }, '204 ok'],
    [{ alias_name_source: 'x' }, source],
    [{ alias_name_source: 'ServiceAccount_UID' }, source],
    [{ alias_name_source: '' }, '204 ok'],
    [{ token_ttl: '3h', token_max_ttl: '2h' }, "400 'token_ttl' cannot be greater than 'token_max_ttl'"],
    [{ ttl: '3h', token_max_ttl: '2h' }, '400 token ttl should not be greater than token max ttl'],
    [
      { token_period: '9000h' },
      `400 token period of '"9000h0m0s"' is greater than the backend's maximum lease TTL of '"768h0m0s"'`,
    ],
    [{ token_max_ttl: '9000h' }, '200 ok'],
    [{ token_type: 'default-service' }, `400 invalid 'token_type' value "default-service"`],
  ])('%j: %s', async (fields, expected) => {
    const at = await mount()

    expect(told(await at.role('new', fields))).toBe(expected)
  })

  test('that exists does not take an empty source of the alias', async () => {
    const at = await mount()

    expect(told(await at.role('r', { alias_name_source: '' }))).toBe(source)
  })

  test('has an audience that is one text', async () => {
    const at = await mount()

    expect(told(await at.role('new', { audience: ['a', 'b'] }))).toMatch(
      /^400 error converting input for field "audience": /,
    )
    await at.role('new', { audience: 'a,b' })
    expect((await at.root.read(`${at.path}/role/new`)).body.data?.['audience']).toBe('a,b')
  })

  test('is gone once it is deleted', async () => {
    const at = await mount()

    expect((await at.root.delete(`${at.path}/role/R`)).status).toBe(204)
    expect((await at.root.delete(`${at.path}/role/R`)).status).toBe(204)
    expect((await at.root.read(`${at.path}/role/r`)).status).toBe(404)
    expect((await at.root.list(`${at.path}/role`)).status).toBe(404)
  })

  test.each(['-a', 'a-', '.a', 'a%20b', 'a/b', '%C3%BC', 'a@b'])('cannot be named %s', async (name) => {
    const at = await mount()

    expect(told(await at.role(name))).toBe('404 unsupported path')
  })

  test.each([
    ['w*', '200 ok'],
    ['*b', '200 ok'],
    ['w*b', '200 ok'],
    ['*e*', '200 ok'],
    ['**', '200 ok'],
    ['a,web', '200 ok'],
    ['WEB', '403 service account name not authorized'],
    ['we?', '403 service account name not authorized'],
    ['we', '403 service account name not authorized'],
  ])('for the name %s: %s', async (pattern, expected) => {
    const at = await mount()
    await at.role('r', { [names]: pattern })

    expect(told(await at.login())).toBe(expected)
  })
})
