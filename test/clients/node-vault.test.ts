import nodeVault from 'node-vault'
import { expect, test } from 'vitest'
import { startTestServer } from '../support/start-server.ts'
import { aPipeline } from './pipeline.ts'

const aRole = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['web', 'api'], token_ttl: '15m' }

test('node-vault logs in with a JWT and continues with the resulting token', async () => {
  await using server = await aPipeline()
  const vault = nodeVault({ endpoint: server.url })

  const login = await vault.jwtLogin({ role: 'ci', jwt: await server.jwt() })
  const self = await vault.tokenLookupSelf()
  const role = await vault.read('auth/jwt/role/ci')

  expect(login.auth).toMatchObject({
    client_token: vault.token,
    token_policies: ['ci', 'default'],
    lease_duration: 600,
    renewable: true,
  })
  expect(self.data).toMatchObject({ id: vault.token, path: 'auth/jwt/login', meta: { role: 'ci' } })
  expect(role.data.bound_audiences).toEqual(['ci'])
})

test.each([{ noCustomHTTPVerbs: false }, { noCustomHTTPVerbs: true }])(
  'node-vault writes, reads, lists and deletes a role: %j',
  async (option) => {
    await using server = await aPipeline()
    const vault = nodeVault({ endpoint: server.url, token: 'root', ...option })

    await vault.write('auth/jwt/role/web', aRole)
    const read = await vault.read('auth/jwt/role/web')
    const listed = await vault.list('auth/jwt/role')
    await vault.delete('auth/jwt/role/web')
    const left = await vault.list('auth/jwt/role')

    expect(read.data).toMatchObject({ user_claim: 'sub', bound_audiences: ['web', 'api'], token_ttl: 900 })
    expect(listed.data.keys).toEqual(['ci', 'web'])
    expect(left.data.keys).toEqual(['ci'])
  },
)

test('node-vault reports a 404, a 403 and a refused login as it does with Vault', async () => {
  await using server = await aPipeline()
  const root = nodeVault({ endpoint: server.url, token: 'root' })
  const pipeline = nodeVault({ endpoint: server.url })
  await pipeline.jwtLogin({ role: 'ci', jwt: await server.jwt() })

  await expect(root.read('auth/jwt/role/nobody')).rejects.toMatchObject({
    message: 'Status 404',
    response: { statusCode: 404 },
  })
  await expect(pipeline.write('auth/jwt/role/mine', aRole)).rejects.toMatchObject({
    message: expect.stringContaining('permission denied'),
    response: { statusCode: 403 },
  })
  await expect(
    pipeline.jwtLogin({ role: 'ci', jwt: await server.jwt({ aud: 'elsewhere' }) }),
  ).rejects.toMatchObject({
    message: expect.stringMatching(/^error validating token: .*audience/),
    response: { statusCode: 400 },
  })
})

test('node-vault manages mounts and policies, and reads the state of the server', async () => {
  await using server = await aPipeline()
  const vault = nodeVault({ endpoint: server.url, token: 'root' })

  await vault.enableAuth({ mount_point: 'pipelines', type: 'jwt' })
  await vault.addPolicy({ name: 'web', rules: 'path "a/*" { capabilities = ["list"] }' })
  const auths = await vault.auths()
  const policy = await vault.getPolicy({ name: 'web' })
  await vault.disableAuth({ mount_point: 'pipelines' })
  const health = await vault.health()
  const status = await vault.status()
  const help = await vault.help('auth/jwt/role/ci')

  expect(auths['pipelines/'].type).toBe('jwt')
  expect(policy.rules).toContain('a/*')
  expect((await vault.auths())['pipelines/']).toBeUndefined()
  expect(health).toMatchObject({ initialized: true, sealed: false })
  expect(status.sealed).toBe(false)
  expect(help.help).toEqual(expect.any(String))
})

test('node-vault logs in with AppRole and with a password, and reads, patches and rolls back a secret', async () => {
  await using server = await startTestServer()
  const root = nodeVault({ endpoint: server.url, token: 'root' })
  const rules = 'path "secret/*" { capabilities = ["create", "read", "update", "patch"] }'
  await root.addPolicy({ name: 'shop', rules })
  for (const type of ['approle', 'userpass']) await root.enableAuth({ mount_point: type, type })
  await root.addApproleRole({ role_name: 'shop', policies: 'shop' })
  const { role_id } = (await root.getApproleRoleId({ role_name: 'shop' })).data
  const { secret_id } = (await root.getApproleRoleSecret({ role_name: 'shop' })).data
  await root.write('auth/userpass/users/ada', { password: 'correct horse', policies: 'shop' })
  const [machine, person] = [nodeVault({ endpoint: server.url }), nodeVault({ endpoint: server.url })]
  const secret = async () => (await machine.read('secret/data/db')).data

  await machine.approleLogin({ role_id, secret_id })
  await person.userpassLogin({ username: 'ada', password: 'correct horse' })
  await person.write('secret/data/db', { data: { password: 'p1' } })
  await person.update('secret/data/db', { data: { user: 'ada' } })
  const patched = await secret()
  const { data } = (await machine.read('secret/data/db?version=1')).data
  await machine.write('secret/data/db', { data, options: { cas: 2 } })

  expect(patched.data).toEqual({ password: 'p1', user: 'ada' })
  expect(await secret()).toMatchObject({ data: { password: 'p1' }, metadata: { version: 3 } })
  await expect(machine.write('secret/data/db', { data, options: { cas: 2 } })).rejects.toMatchObject({
    message: 'check-and-set parameter did not match the current version',
    response: { statusCode: 400 },
  })
  await expect(machine.delete('secret/data/db')).rejects.toMatchObject({ response: { statusCode: 403 } })
})
