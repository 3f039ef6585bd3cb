import Vault from 'hashi-vault-js'
import { expectEqual, expectRefusal, given, operation } from './operations.ts'

const root = given('VAULT_TOKEN')
const at = (rootPath: string) =>
  new Vault({
    https: false,
    baseUrl: `${given('VAULT_ADDR')}/v1`,
    rootPath,
    timeout: 10_000,
    proxy: false,
  })

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
    ...{ role_type: 'jwt', user_claim: 'sub', bound_audiences: ['ci'], token_policies: ['job'] },
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
  // it is declared as Object, but is a promise
  expectRefusal(at('auth/jobs').loginWithK8s('build', 'a.b.c') as Promise<unknown>),
)

await operation('write, read, list and delete a secret (kv, version 2)', async () => {
  await write('/sys/mounts/kv2', { type: 'kv', options: { version: '2' } })
  const vault = at('kv2')
  await vault.createKVSecret(root, 'app', { password: 'p' })
  const read = await vault.readKVSecret(root, 'app')
  expectEqual('data' in read && read.data, { password: 'p' })
  await vault.listKVSecrets(root)
  await vault.eliminateKVSecret(root, 'app')
})

await operation('log in with AppRole', async () => {
  await write('/sys/auth/approle', { type: 'approle' })
  await write('/auth/approle/role/job', { token_policies: ['job'] })
  const read = { url: '/auth/approle/role/job/role-id', method: 'GET', headers: { 'X-Vault-Token': root } }
  const { data: roleId } = (await transport(read)).data as { data: { role_id: string } }
  const vault = at('auth/approle')
  const made = await vault.generateAppRoleSecretId(root, 'job', '{}')
  await vault.loginWithAppRole(roleId.role_id, 'secret_id' in made ? String(made.secret_id) : '')
})

await operation('log in with a username and password', async () => {
  await write('/sys/auth/userpass', { type: 'userpass' })
  const vault = at('auth/userpass')
  await vault.createUserpassUser(root, 'ada', 'correct horse', ['job'])
  await vault.loginWithUserpass('ada', 'correct horse')
})
