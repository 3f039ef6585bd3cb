import Vault from 'hashi-vault-js'
import { expect, test } from 'vitest'
import { startTestServer } from '../support/start-server.ts'
import { aPipeline } from './pipeline.ts'

const mount = 'auth/jwt'
const client = (url: string) =>
  new Vault({ https: false, baseUrl: `${url}/v1`, rootPath: mount, timeout: 10_000, proxy: false })

// the declaration requires every parameter, and allows only one policy
const tokenParams = { policies: ['ci'], ttl: '1h' } as unknown as Parameters<Vault['createToken']>[1]

/**
 * Its own transport, for calls without a function: its Kubernetes functions send what a JWT mount accepts,
 * but cannot name a user claim.
 */
type Transport = (options: {
  url: string
  method: string
  headers: Record<string, string>
  data: object
}) => Promise<{ status: number }>
// it is declared as Object, but is the axios instance of the client
const transportOf = (vault: Vault) => vault.instance as Transport

test('hashi-vault-js logs in with a JWT, looks its token up, renews and revokes it', async () => {
  await using server = await aPipeline()
  const vault = client(server.url)

  const auth = await vault.loginWithK8s('ci', await server.jwt())
  const token = 'client_token' in auth ? String(auth.client_token) : ''
  const self = await vault.lookupSelfToken(token)
  const renewed = await vault.renewSelfToken(token, '5m')
  await vault.revokeSelfToken(token)

  expect(auth).toMatchObject({ policies: ['ci', 'default'], lease_duration: 600, metadata: { role: 'ci' } })
  expect(self).toMatchObject({ id: token, path: 'auth/jwt/login' })
  expect(renewed).toMatchObject({ client_token: token, lease_duration: 300 })
  await expect(vault.lookupSelfToken(token)).rejects.toMatchObject({
    response: { status: 403 },
    isVaultError: true,
  })
})

test('hashi-vault-js writes, reads, lists and deletes a role', async () => {
  await using server = await aPipeline()
  const vault = client(server.url)

  await transportOf(vault)({
    url: `${mount}/role/web`,
    method: 'post',
    headers: { 'X-Vault-Token': 'root' },
    data: {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'web,api',
      token_ttl: '15m',
      token_num_uses: 3,
    },
  })
  const read = await vault.readK8sRole('root', 'web')
  const listed = await vault.listK8sRoles('root')
  await vault.deleteK8sRole('root', 'web')
  const left = await vault.listK8sRoles('root')

  expect(read).toMatchObject({
    user_claim: 'sub',
    bound_audiences: ['web', 'api'],
    token_ttl: 900,
    token_num_uses: 3,
  })
  expect(listed).toEqual({ keys: ['ci', 'web'] })
  expect(left).toEqual({ keys: ['ci'] })
})

test('hashi-vault-js reports a 404, a 403 and a refused login as it does with Vault', async () => {
  await using server = await aPipeline()
  const vault = client(server.url)
  const auth = await vault.loginWithK8s('ci', await server.jwt())
  const token = 'client_token' in auth ? String(auth.client_token) : ''

  await expect(vault.readK8sRole('root', 'nobody')).rejects.toMatchObject({
    isVaultError: true,
    response: { status: 404, data: { errors: [] } },
  })
  await expect(vault.deleteK8sRole(token, 'ci')).rejects.toMatchObject({
    isVaultError: true,
    response: { status: 403, data: { errors: ['1 error occurred:\n\t* permission denied\n\n'] } },
  })
  await expect(
    vault.loginWithK8s('ci', await server.jwt({ iss: 'https://other.example' })),
  ).rejects.toMatchObject({ isVaultError: true, response: { status: 400 } })
})

test('hashi-vault-js reads the state of the server and creates tokens', async () => {
  await using server = await aPipeline()
  const vault = client(server.url)

  const health = await vault.healthCheck({})
  const status = await vault.sealStatus()
  const made = await vault.createToken('root', tokenParams)
  const rights = await vault.sysCapabilitiesSelf('client_token' in made ? String(made.client_token) : '', [
    'auth/jwt/role/ci',
    'sys/mounts',
  ])

  expect(health).toMatchObject({ initialized: true, sealed: false, standby: false })
  expect(status).toMatchObject({ sealed: false, type: 'static' })
  expect(made).toMatchObject({ token_policies: ['ci', 'default'], lease_duration: 3600 })
  expect(rights).toMatchObject({ 'auth/jwt/role/ci': ['read'], 'sys/mounts': ['deny'] })
})

test('hashi-vault-js logs in with AppRole and with a password, and reads versions of a secret', async () => {
  await using server = await startTestServer()
  for (const type of ['approle', 'userpass']) await server.root.write(`sys/auth/${type}`, { type })
  await server.root.write('auth/approle/role/shop', { token_policies: 'shop', role_id: 'shop-1' })
  const vault = client(server.url)
  await vault.createUserpassUser('root', 'ada', 'correct horse', ['shop'], 'auth/userpass')
  const made = await vault.generateAppRoleSecretId('root', 'shop', '{}', 'auth/approle')
  const secretId = 'secret_id' in made ? String(made.secret_id) : ''

  const machine = await vault.loginWithAppRole('shop-1', secretId, 'auth/approle')
  const person = await vault.loginWithUserpass('ada', 'correct horse', 'auth/userpass')
  await vault.createKVSecret('root', 'db', { password: 'p1' }, 'secret')
  await vault.updateKVSecret('root', 'db', { password: 'p2' }, 1, 'secret')
  await vault.deleteLatestVerKVSecret('root', 'db', 'secret')
  const first = await vault.readKVSecret('root', 'db', 1, 'secret')

  expect([machine, person]).toEqual([
    expect.objectContaining({ policies: ['default', 'shop'] }),
    expect.objectContaining({ policies: ['default', 'shop'] }),
  ])
  expect(first).toMatchObject({ data: { password: 'p1' } })
  await expect(vault.readKVSecret('root', 'db', 2, 'secret')).rejects.toMatchObject({
    isVaultError: true,
    response: { status: 404 },
  })
})
