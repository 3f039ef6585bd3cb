import Vault from 'hashi-vault-js'
import { expectEqual, expectRefusal, given, operation } from './operations.ts'

const root = given('VAULT_TOKEN')
const at = (rootPath: string) =>
  new Vault({ https: false, baseUrl: `${given('VAULT_ADDR')}/v1`, rootPath, timeout: 10_000, proxy: false })

/** Its transport, for what it has no function for. */
type Transport = (options: {
  url: string
  method: string
  headers: Record<string, string>
  data?: object
}) => Promise<{ data: Record<string, unknown> }>
// it is declared as Object, but is the axios instance of the client
const transport = at('').instance as Transport
const write = (url: string, data: object) =>
  transport({ url, method: 'POST', headers: { 'X-Vault-Token': root }, data })

/** What a call resolves with: it is declared as Object or as a promise of that. */
const seen = async (call: object): Promise<Readonly<Record<string, unknown>>> => ({ ...(await call) })

await operation('read the health', async () => {
  const health = await at('').healthCheck({ standbyok: true, perfstandbyok: true })
  expectEqual('sealed' in health && health.sealed, false)
})

await operation('read the seal status', async () => {
  const status = await at('').sealStatus()
  expectEqual('sealed' in status && status.sealed, false)
})

await operation('configure the jwt method and write a role', async () => {
  await write('/sys/auth/jobs', { type: 'jwt' })
  await write('/auth/jobs/config', { jwt_validation_pubkeys: [given('JWT_KEY')] })
  await write('/auth/jobs/role/build', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: ['ci'],
    token_policies: ['job'],
  })
})

await operation('log in, look up, renew and revoke a token', async () => {
  const vault = at('auth/jobs')
  const login = await vault.loginWithK8s('build', given('JWT'))
  const token = 'client_token' in login ? String(login.client_token) : ''
  const self = await vault.lookupSelfToken(token)
  expectEqual('path' in self && self.path, 'auth/jobs/login')
  await vault.renewSelfToken(token, '5m')
  await vault.revokeSelfToken(token)
  await expectRefusal(vault.lookupSelfToken(token))
})

await operation('log in with a JWT that the role refuses', () =>
  expectRefusal(seen(at('auth/jobs').loginWithK8s('build', 'a.b.c'))),
)

const kv = at('kv2')
const password = async (version?: number) => (await seen(kv.readKVSecret(root, 'app', version)))['data']

await operation('configure a mount (kv, version 2)', async () => {
  await write('/sys/mounts/kv2', { type: 'kv', options: { version: '2' } })
  await kv.updateKVEngineConfig(root, { max_versions: 5 })
  expectEqual((await seen(kv.readKVEngineConfig(root)))['max_versions'], 5)
})

await operation('write and read versions of a secret (kv, version 2)', async () => {
  await kv.createKVSecret(root, 'app', { password: 'p1' })
  await kv.updateKVSecret(root, 'app', { password: 'p2' }, 1)
  await expectRefusal(kv.updateKVSecret(root, 'app', { password: 'no' }, 1))
  expectEqual([await password(), await password(1)], [{ password: 'p2' }, { password: 'p1' }])
})

await operation('delete, undelete and destroy versions of a secret (kv, version 2)', async () => {
  await kv.deleteLatestVerKVSecret(root, 'app')
  await expectRefusal(password())
  await kv.undeleteVersionsKVSecret(root, 'app', [2])
  expectEqual(await password(), { password: 'p2' })
  await kv.deleteVersionsKVSecret(root, 'app', [1])
  await kv.destroyVersionsKVSecret(root, 'app', [1])
  await expectRefusal(password(1))
})

await operation('write and read the metadata of a secret (kv, version 2)', async () => {
  // it is declared as string, but is the body
  const metadata = { max_versions: 3, custom_metadata: { owner: 'a' } } as unknown as string
  await kv.createKVSecretMeta(root, 'app', metadata)
  expectEqual((await seen(kv.readKVSecretMeta(root, 'app')))['custom_metadata'], { owner: 'a' })
})

await operation('list secrets and delete one with all its versions (kv, version 2)', async () => {
  await kv.createKVSecret(root, 'team/app', { password: 'p' })
  expectEqual((await seen(kv.listKVSecrets(root)))['keys'], ['app', 'team/'])
  expectEqual((await seen(kv.listKVSecrets(root, 'team')))['keys'], ['app'])
  await kv.eliminateKVSecret(root, 'app')
  await expectRefusal(kv.readKVSecretMeta(root, 'app'))
})

const approle = at('auth/approle')
const roleId = 'job-1'

await operation('generate, look up and destroy secret ids of an AppRole', async () => {
  await write('/sys/auth/approle', { type: 'approle' })
  await write('/auth/approle/role/job', { token_policies: ['job'], role_id: roleId })
  const secretId = String(
    (await seen(approle.generateAppRoleSecretId(root, 'job', '{"build":"7"}')))['secret_id'],
  )
  expectEqual((await seen(approle.readAppRoleSecretId(root, 'job', secretId)))['metadata'], { build: '7' })
  await approle.destroyAppRoleSecretId(root, 'job', secretId)
  await expectRefusal(seen(approle.loginWithAppRole(roleId, secretId)))
})

await operation('log in with AppRole', async () => {
  const made = await seen(approle.generateAppRoleSecretId(root, 'job', '{}'))
  const login = await seen(approle.loginWithAppRole(roleId, String(made['secret_id'])))
  expectEqual(login['policies'], ['default', 'job'])
})

const userpass = at('auth/userpass')

await operation('write, read, list and delete a user (userpass)', async () => {
  await write('/sys/auth/userpass', { type: 'userpass' })
  await userpass.createUserpassUser(root, 'ada', 'correct horse', ['job'])
  await userpass.createUserpassUser(root, 'gone', 'gone', [])
  await userpass.updateUserpassPolicies(root, 'gone', ['job'])
  expectEqual((await seen(userpass.readUserpassUser(root, 'gone')))['token_policies'], ['job'])
  await userpass.deleteUserpassUser(root, 'gone')
  expectEqual((await seen(userpass.listUserpassUsers(root)))['keys'], ['ada'])
})

await operation('log in with a username and password', async () => {
  const login = await seen(userpass.loginWithUserpass('ada', 'correct horse'))
  expectEqual(login['policies'], ['default', 'job'])
  await userpass.updateUserpassPassword(root, 'ada', 'battery staple')
  await expectRefusal(userpass.loginWithUserpass('ada', 'correct horse'))
  await userpass.loginWithUserpass('ada', 'battery staple')
})
