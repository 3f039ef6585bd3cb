import nodeVault from 'node-vault'
import { expectEqual, expectRefusal, given, operation } from './operations.ts'

const endpoint = given('VAULT_ADDR')
const vault = nodeVault({ endpoint, token: given('VAULT_TOKEN') })

await operation('read the health', async () => {
  expectEqual((await vault.health()).sealed, false)
})

await operation('read the seal status', async () => {
  expectEqual((await vault.status()).sealed, false)
  expectEqual((await vault.initialized()).initialized, true)
})

await operation('write, read, list and delete a policy', async () => {
  const rules = 'path "auth/token/lookup-self" { capabilities = ["read"] }'
  await vault.addPolicy({ name: 'job', rules })
  expectEqual((await vault.getPolicy({ name: 'job' })).rules, rules)
  expectEqual((await vault.policies()).policies.includes('job'), true)
  await vault.addPolicy({ name: 'gone', rules })
  await vault.removePolicy({ name: 'gone' })
})

await operation('enable, list, and disable an auth method', async () => {
  await vault.enableAuth({ mount_point: 'ci', type: 'jwt', description: 'pipelines' })
  expectEqual((await vault.auths())['ci/'].type, 'jwt')
  await vault.disableAuth({ mount_point: 'ci' })
})

await operation('configure the jwt method and write a role', async () => {
  await vault.enableAuth({ mount_point: 'jobs', type: 'jwt' })
  await vault.write('auth/jobs/config', { jwt_validation_pubkeys: [given('JWT_KEY')] })
  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['ci'], token_policies: ['job'] }
  await vault.write('auth/jobs/role/build', role)
  expectEqual((await vault.list('auth/jobs/role')).data.keys, ['build'])
})

await operation('log in with a JWT', async () => {
  const own = nodeVault({ endpoint })
  const login = await own.jwtLogin({ mount_point: 'jobs', role: 'build', jwt: given('JWT') })
  expectEqual(login.auth.token_policies, ['default', 'job'])
  expectEqual((await own.tokenLookupSelf()).data.path, 'auth/jobs/login')
  await own.tokenRevokeSelf()
})

await operation('log in with a JWT that the role refuses', () =>
  expectRefusal(nodeVault({ endpoint }).jwtLogin({ mount_point: 'jobs', role: 'build', jwt: 'a.b.c' })),
)

await operation('create, look up, renew and revoke a token', async () => {
  // the client that creates or renews a token uses it from then on
  const creator = nodeVault({ endpoint })
  const made = await creator.tokenCreate({ policies: ['job'], ttl: '1h', renewable: true })
  const { client_token: token, accessor } = made.auth
  expectEqual((await vault.tokenLookup({ token })).data.policies, ['default', 'job'])
  expectEqual((await vault.tokenLookupAccessor({ accessor })).data.accessor, accessor)
  expectEqual(
    (await nodeVault({ endpoint }).tokenRenew({ token, increment: '30m' })).auth.lease_duration,
    1800,
  )
  await vault.tokenRevokeAccessor({ accessor })
  await expectRefusal(vault.tokenLookup({ token }))
})

await operation('wrap and unwrap a response', async () => {
  const wrapped = await vault.request({
    path: '/auth/token/create',
    method: 'POST',
    json: { policies: ['job'] },
    headers: { 'X-Vault-Wrap-TTL': '60s' },
  })
  const opened = await nodeVault({ endpoint }).unwrap({ token: wrapped.wrap_info.token })
  expectEqual(opened.auth.policies, ['default', 'job'])
})

await operation('configure the cloud engine and write a role', async () => {
  await vault.mount({ mount_point: 'azure', type: 'azure' })
  expectEqual((await vault.mounts())['azure/'].type, 'azure')
  await vault.write('azure/config', JSON.parse(given('AZURE')))
  const roles = JSON.stringify([{ role_name: 'Reader', scope: given('AZURE_SCOPE') }])
  await vault.write('azure/roles/reader', { azure_roles: roles, ttl: '1h' })
})

await operation('issue, renew and revoke cloud credentials', async () => {
  const { lease_id } = await vault.read('azure/creds/reader')
  await vault.renew({ lease_id, increment: 60 })
  await vault.revoke({ lease_id })
})

await operation('write, read, list and delete a secret (kv, version 2)', async () => {
  await vault.mount({ mount_point: 'kv2', type: 'kv', options: { version: '2' } })
  await vault.write('kv2/data/app', { data: { password: 'p' } })
  expectEqual((await vault.read('kv2/data/app')).data.data, { password: 'p' })
  expectEqual((await vault.list('kv2/metadata')).data.keys, ['app'])
  await vault.delete('kv2/metadata/app')
})

await operation('write, read, list and delete a secret (kv, version 1)', async () => {
  await vault.mount({ mount_point: 'kv1', type: 'kv', options: { version: '1' } })
  await vault.write('kv1/app', { password: 'p' })
  expectEqual((await vault.read('kv1/app')).data, { password: 'p' })
  await vault.delete('kv1/app')
})

await operation('log in with AppRole', async () => {
  await vault.enableAuth({ mount_point: 'approle', type: 'approle' })
  await vault.addApproleRole({ role_name: 'job', token_policies: 'job' })
  const { role_id } = (await vault.getApproleRoleId({ role_name: 'job' })).data
  const { secret_id } = (await vault.getApproleRoleSecret({ role_name: 'job' })).data
  await nodeVault({ endpoint }).approleLogin({ role_id, secret_id })
})

await operation('log in with a username and password', async () => {
  await vault.enableAuth({ mount_point: 'userpass', type: 'userpass' })
  await vault.write('auth/userpass/users/ada', { password: 'correct horse', policies: 'job' })
  await nodeVault({ endpoint }).userpassLogin({ username: 'ada', password: 'correct horse' })
})

await operation('encrypt with the transit engine', async () => {
  await vault.mount({ mount_point: 'transit', type: 'transit' })
})
