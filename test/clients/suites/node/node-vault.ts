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

await operation('write, read, list and delete a secret (kv, version 1)', async () => {
  await vault.mount({ mount_point: 'kv1', type: 'kv', options: { version: '1' } })
  await vault.write('kv1/team/app', { password: 'p' })
  expectEqual((await vault.read('kv1/team/app')).data, { password: 'p' })
  expectEqual((await vault.list('kv1/team')).data.keys, ['app'])
  await vault.delete('kv1/team/app')
  await expectRefusal(vault.read('kv1/team/app'))
})

const current = async () => (await vault.read('kv2/data/app')).data.data

await operation('write and read versions of a secret (kv, version 2)', async () => {
  await vault.mount({ mount_point: 'kv2', type: 'kv', options: { version: '2' } })
  await vault.write('kv2/config', { max_versions: 5 })
  await vault.write('kv2/data/app', { data: { password: 'p1' } })
  await vault.write('kv2/data/app', { data: { password: 'p2' }, options: { cas: 1 } })
  await expectRefusal(vault.write('kv2/data/app', { data: {}, options: { cas: 1 } }))
  expectEqual(await current(), { password: 'p2' })
  expectEqual((await vault.read('kv2/data/app?version=1')).data.data, { password: 'p1' })
})

await operation('patch a secret (kv, version 2)', async () => {
  await vault.update('kv2/data/app', { data: { user: 'ada' } })
  expectEqual(await current(), { password: 'p2', user: 'ada' })
  await expectRefusal(vault.update('kv2/data/nobody', { data: { user: 'ada' } }))
})

await operation('delete, undelete and destroy versions of a secret (kv, version 2)', async () => {
  await vault.delete('kv2/data/app')
  await expectRefusal(current())
  await vault.write('kv2/undelete/app', { versions: [3] })
  expectEqual(await current(), { password: 'p2', user: 'ada' })
  await vault.write('kv2/delete/app', { versions: [1, 2] })
  await vault.write('kv2/destroy/app', { versions: [1] })
  await expectRefusal(vault.read('kv2/data/app?version=1'))
})

await operation('write, patch and read the metadata of a secret (kv, version 2)', async () => {
  await vault.write('kv2/metadata/app', { max_versions: 3, custom_metadata: { owner: 'a' } })
  await vault.update('kv2/metadata/app', { custom_metadata: { tier: '1' } })
  const { max_versions, custom_metadata, versions } = (await vault.read('kv2/metadata/app')).data
  expectEqual(
    { max_versions, custom_metadata, isDestroyed: versions['1'].destroyed },
    { max_versions: 3, custom_metadata: { owner: 'a', tier: '1' }, isDestroyed: true },
  )
})

await operation('list secrets and delete one with all its versions (kv, version 2)', async () => {
  await vault.write('kv2/data/team/app', { data: { password: 'p' } })
  expectEqual((await vault.list('kv2/metadata')).data.keys, ['app', 'team/'])
  await vault.delete('kv2/metadata/app')
  expectEqual((await vault.list('kv2/metadata')).data.keys, ['team/'])
})

await operation('write, read, list and delete an AppRole', async () => {
  await vault.enableAuth({ mount_point: 'approle', type: 'approle' })
  await vault.addApproleRole({ role_name: 'job', policies: 'job', token_ttl: 600 })
  const { token_policies, token_ttl } = (await vault.getApproleRole({ role_name: 'job' })).data
  expectEqual({ token_policies, token_ttl }, { token_policies: ['job'], token_ttl: 600 })
  await vault.addApproleRole({ role_name: 'gone' })
  await vault.deleteApproleRole({ role_name: 'gone' })
  expectEqual((await vault.approleRoles()).data.keys, ['job'])
  await vault.updateApproleRoleId({ role_name: 'job', role_id: 'job-1' })
  expectEqual((await vault.getApproleRoleId({ role_name: 'job' })).data.role_id, 'job-1')
})

await operation('generate, look up, list and destroy secret ids of an AppRole', async () => {
  const role_name = 'job'
  const generate = async () =>
    (await vault.getApproleRoleSecret({ role_name, metadata: '{"build":"7"}' })).data
  const { secret_id, secret_id_accessor } = await generate()
  expectEqual((await vault.approleSecretLookup({ role_name, secret_id })).data.metadata, { build: '7' })
  const found = await vault.approleSecretAccessorLookup({ role_name, secret_id_accessor })
  expectEqual(found.data.secret_id_accessor, secret_id_accessor)
  expectEqual((await vault.approleSecretAccessors({ role_name })).data.keys, [secret_id_accessor])
  await vault.approleSecretDestroy({ role_name, secret_id })
  const other = await generate()
  await vault.approleSecretAccessorDestroy({ role_name, secret_id_accessor: other.secret_id_accessor })
  await expectRefusal(vault.approleSecretAccessors({ role_name }))
})

await operation('log in with AppRole', async () => {
  const { secret_id } = (await vault.getApproleRoleSecret({ role_name: 'job' })).data
  const own = nodeVault({ endpoint })
  const login = await own.approleLogin({ role_id: 'job-1', secret_id })
  expectEqual(login.auth.policies, ['default', 'job'])
  expectEqual((await own.tokenLookupSelf()).data.meta, { role_name: 'job' })
  await expectRefusal(nodeVault({ endpoint }).approleLogin({ role_id: 'job-1', secret_id: 'wrong' }))
})

await operation('log in with a username and password', async () => {
  await vault.enableAuth({ mount_point: 'userpass', type: 'userpass' })
  await vault.write('auth/userpass/users/ada', { password: 'correct horse', token_policies: 'job' })
  expectEqual((await vault.list('auth/userpass/users')).data.keys, ['ada'])
  const own = nodeVault({ endpoint })
  const login = await own.userpassLogin({ username: 'ada', password: 'correct horse' })
  expectEqual(login.auth.policies, ['default', 'job'])
  expectEqual((await own.tokenLookupSelf()).data.path, 'auth/userpass/login/ada')
  await expectRefusal(nodeVault({ endpoint }).userpassLogin({ username: 'ada', password: 'wrong' }))
})

await operation('log in with the token of a service account (kubernetes)', async () => {
  const { host, ca_cert, reviewer, audience, jwt } = JSON.parse(given('CLUSTER'))
  await vault.enableAuth({ mount_point: 'kubernetes', type: 'kubernetes' })
  await vault.write('auth/kubernetes/config', {
    kubernetes_host: host,
    kubernetes_ca_cert: ca_cert,
    token_reviewer_jwt: reviewer,
    disable_local_ca_jwt: true,
  })
  await vault.write('auth/kubernetes/role/web', {
    bound_service_account_names: 'web',
    bound_service_account_namespaces: 'dev',
    audience,
    token_policies: 'job',
  })
  const mount_point = 'kubernetes'
  const login = await nodeVault({ endpoint }).kubernetesLogin({ mount_point, role: 'web', jwt })
  expectEqual(login.auth.policies, ['default', 'job'])
  const refused = nodeVault({ endpoint }).kubernetesLogin({ mount_point, role: 'web', jwt: 'a.b.c' })
  await expectRefusal(refused)
})

await operation('encrypt with the transit engine', async () => {
  await vault.mount({ mount_point: 'transit', type: 'transit' })
})
