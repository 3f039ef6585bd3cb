import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { expect, test } from 'vitest'
import { openGuide } from '../pages/page.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { programFile } from '../support/bundled.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { baoIsSkipped, install, pythonPrograms } from './bao.ts'
import { openBash } from './migration/bash.ts'
import { type OpenBao, startOpenBao } from './openbao.ts'

/* docs/migrate.md, followed from a real OpenBao to Gatehouse: each command of the page, and clients that continue. */

const assets = join(import.meta.dirname, 'migration')
const provider = join(pythonPrograms, '../../terraform')
const people = ['ann', ...Array.from({ length: 39 }, (_, index) => `user${index + 2}`)]
const passwordOf = (name: string) => `correct horse ${name}`

const policies = {
  reader: 'path "team/data/*" { capabilities = ["read"] }\npath "old/*" { capabilities = ["read", "list"] }',
  writer: 'path "team/data/*" { capabilities = ["create", "update"] }',
  terraform: [
    'path "auth/token/create" { capabilities = ["create", "update", "sudo"] }',
    'path "sys/policies/acl/terraform-job" { capabilities = ["create", "read", "update"] }',
    'path "sys/policy/terraform-job" { capabilities = ["create", "read", "update"] }',
    'path "old/job" { capabilities = ["create", "read", "update"] }',
    'path "auth/ci/role/terraform" { capabilities = ["create", "read", "update"] }',
  ].join('\n'),
}

type Folder = { readonly path: string; file(name: string): string }

/** A team's server: people, machines, jobs, groups, secrets of both versions, and parts that stay. */
async function fill({ root, url, rootToken }: OpenBao, folder: Folder): Promise<void> {
  const put = async (path: string, body: object) => {
    const { status, text } = await root.write(path, body)
    expect(status, `${path}: ${text}`).toBeLessThan(300)
  }
  for (const [name, policy] of Object.entries(policies)) await put(`sys/policies/acl/${name}`, { policy })
  await put('sys/auth/userpass', { type: 'userpass' })
  for (const name of people)
    await put(`auth/userpass/users/${name}`, { password: passwordOf(name), token_policies: 'reader' })
  await put('sys/mounts/team', { type: 'kv', options: { version: '2' } })
  for (const password of ['first', 'second']) await put('team/data/shop/db', { data: { password } })
  await put('sys/mounts/old', { type: 'kv' })
  await put('old/mail', { password: 'of-mail' })
  await put('sys/mounts/transit', { type: 'transit' })
  await put('sys/quotas/rate-limit/all', { rate: 2000, interval: '1s' })
  await put('sys/config/auditing/request-headers/x-team', { hmac: true })
  await put('sys/auth/machines', { type: 'approle' })
  for (const [role, token_policies] of [
    ['application', 'reader'],
    ['terraform', 'terraform'],
  ])
    await put(`auth/machines/role/${role}`, { token_policies, secret_id_num_uses: 100 })
  const signer = aSigner()
  await put('sys/auth/ci', { type: 'jwt' })
  await put('auth/ci/config', {
    jwt_validation_pubkeys: [signer.pem],
    bound_issuer: 'https://ci.example.com',
  })
  const role = {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: ['gatehouse'],
    token_policies: 'reader',
  }
  await put('auth/ci/role/build', role)
  const accessor = (await root.read('sys/auth')).body.data?.['userpass/']?.['accessor']
  const entity = await root.write('identity/entity', { name: 'ann', metadata: { team: 'shop' } })
  const id = entity.body.data?.['id']
  await put('identity/entity-alias', { name: 'ann', canonical_id: id, mount_accessor: accessor })
  await put('identity/group', { name: 'shop', policies: ['writer'], member_entity_ids: [id] })

  const idsOf = async (name: string) => {
    const at = `auth/machines/role/${name}`
    const roleId = String((await root.read(`${at}/role-id`)).body.data?.['role_id'])
    const secretId = String((await root.write(`${at}/secret-id`, {})).body.data?.['secret_id'])
    return { roleId, secretId, env: `VAULT_ADDR=${url}\nROLE_ID=${roleId}\nSECRET_ID=${secretId}\n` }
  }
  const [application, agent, terraform] = [
    await idsOf('application'),
    await idsOf('application'),
    await idsOf('terraform'),
  ]
  const now = Math.floor(Date.now() / 1000)
  const files = {
    'old.token': rootToken,
    'new.token': 'root',
    'secret-ids': [
      `auth/machines/role/application ${application.secretId}`,
      `auth/machines/role/application ${agent.secretId}`,
      `auth/machines/role/terraform ${terraform.secretId}`,
    ].join('\n'),
    'application.env': application.env,
    'terraform.env': terraform.env,
    'job.env': `BAO_ADDR=${url}\n`,
    'job.jwt': signer.sign({
      iss: 'https://ci.example.com',
      sub: 'job-7',
      aud: 'gatehouse',
      iat: now,
      nbf: now - 5,
      exp: now + 3600,
    }),
    role_id: agent.roleId,
    secret_id: agent.secretId,
    'agent.hcl': agentFile(url, folder.path),
    'settings.tfrc': `provider_installation {\n  dev_overrides { "hashicorp/vault" = ${JSON.stringify(provider)} }\n}\n`,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(folder.file(name), text, { mode: 0o600 })
  for (const name of ['application.py', 'main.tf']) await copyFile(join(assets, name), folder.file(name))
}

const agentFile = (url: string, folder: string) => `
vault { address = "${url}" }
exit_after_auth = true
auto_auth {
  method "approle" {
    mount_path = "auth/machines"
    config = {
      role_id_file_path                   = "${folder}/role_id"
      secret_id_file_path                 = "${folder}/secret_id"
      remove_secret_id_file_after_reading = false
    }
  }
}
template {
  contents    = "{{ with secret \\"team/data/shop/db\\" }}{{ .Data.data.password }}{{ end }}"
  destination = "${folder}/rendered"
}
`

/** The commands of each client, before and after its address was changed. */
const clients = {
  application: '(set -a; . ./application.env; python application.py)',
  agent: 'rm -f rendered; bao agent -config=agent.hcl >agent.log 2>&1; cat rendered',
  job: `(
    set -a; . ./job.env
    BAO_TOKEN=$(bao write -field=token auth/ci/login role=build jwt=@job.jwt)
    bao kv get -mount=team -field=password shop/db
  )`,
}
const terraform = (command: string) => `(
  set -a; . ./terraform.env
  VAULT_TOKEN=$(bao write -address=$VAULT_ADDR -field=token auth/machines/login role_id=$ROLE_ID secret_id=$SECRET_ID)
  TF_CLI_CONFIG_FILE=$PWD/settings.tfrc CHECKPOINT_DISABLE=1
  terraform ${command} -no-color -input=false
)`
/** How the rows of the page's count begin. */
const rowOf: Readonly<Record<string, string>> = {
  people: '40 people',
  application: 'an application',
  agent: '`bao agent`',
  job: 'a CI job',
  terraform: 'Terraform',
}
const hasTerraform =
  existsSync(join(provider, 'terraform-provider-vault')) &&
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'terraform')))

test('an afternoon leads from OpenBao to Gatehouse, and every client continues with its new address', {
  timeout: 400_000,
}, async ({ skip }) => {
  skip(baoIsSkipped, install)
  await using folder = await temporaryFolder()
  await using old = await startOpenBao()
  await using target = await startTestServer()
  await fill(old, folder)
  await mkdir(folder.file('bin'))
  const gatehouse = `#!/bin/sh\nexec ${process.execPath} ${programFile('src/process/main.ts')} "$@"\n`
  await writeFile(folder.file('bin/gatehouse'), gatehouse)
  await chmod(folder.file('bin/gatehouse'), 0o755)
  const PATH = [folder.file('bin'), pythonPrograms, process.env['PATH']].join(delimiter)
  const env = { PATH, HOME: folder.path, PASSWORD: passwordOf('ann') }
  await using shell = openBash({ cwd: folder.path, env })
  const guide = openGuide('docs/migrate.md', {
    'https://vault.example.com:8200': old.url,
    'https://gatehouse.example.com': target.url,
    '--every 30': '--every 1',
  })
  const follow = async (section: string) => {
    let output = ''
    for (const block of guide.blocks(section)) output += await shell.run(block)
    return output
  }
  const json = async (name: string) => JSON.parse(await readFile(folder.file(name), 'utf8'))

  const before = {
    application: await shell.run(clients.application),
    agent: await shell.run(clients.agent),
    job: await shell.run(clients.job),
  }
  if (hasTerraform) await shell.run(`${terraform('apply -auto-approve')} >terraform.log`)

  expect(await follow('13:00 Inventory')).toMatch(/^ {2}auth\/userpass\/ +userpass +40 users$/m)
  expect(await follow('13:30 Plan')).not.toContain('userpass')
  await follow('14:00 Import')
  expect(await json('import.json')).toMatchObject({ complete: true, failed: [] })
  expect((await target.root.read('sys/quotas/rate-limit/all')).body.data).toMatchObject({ rate: 2000 })
  expect((await target.root.read('sys/config/auditing/request-headers/x-team')).status).toBe(200)
  await follow('14:30 Clients, one by one')
  const writer = (await old.root.write('auth/token/create', { policies: ['writer'] })).body.auth?.client_token
  const write = async (password: string) =>
    (await old.anonymous.with(String(writer)).write('team/data/shop/db', { data: { password } })).status
  expect(await write('third')).toBe(200)
  await old.root.write('auth/userpass/users/user40/password', { password: 'changed in the afternoon' })
  await expect
    .poll(async () => (await target.root.read('team/metadata/shop/db')).body.data?.['current_version'])
    .toBe(3)

  const continued: Record<string, number> = {}
  const count = (client: string, output: string, expected: string) => {
    expect(output, client).toBe(expected)
    continued[client] = (continued[client] ?? 0) + 1
  }
  await follow('An application')
  count('application', await shell.run(clients.application), 'third 3 of-mail\n')
  await follow('The agent')
  count('agent', await shell.run(clients.agent), 'third')
  await follow('A CI job')
  count('job', await shell.run(clients.job), 'third')
  await follow('Terraform')
  if (hasTerraform)
    count('terraform', await shell.run(`${terraform('plan -detailed-exitcode')} >plan.log`), '')
  await follow('People')

  await follow('16:00 Cut over')
  expect(await write('too late')).toBe(403)
  expect(await json('watch.json')).toMatchObject({ complete: true, left: [], summary: { failed: 0 } })
  expect(await follow('16:30 Verify')).toMatch(/^\d+ the same, 0 differ$/m)
  for (const name of people) {
    const password = name === 'user40' ? 'changed in the afternoon' : passwordOf(name)
    const { status } = await target.anonymous.write(`auth/userpass/login/${name}`, { password })
    count('people', `${name} ${status}`, `${name} 200`)
  }
  await follow('The way back')
  expect((await old.root.read('sys/policies/acl/writer')).body.data?.['policy']?.toString().trim()).toBe(
    policies.writer,
  )

  expect(before).toEqual({ application: 'second 2 of-mail\n', agent: 'second', job: 'second' })
  expect(continued).toEqual({
    application: 1,
    agent: 1,
    job: 1,
    ...(hasTerraform ? { terraform: 1 } : {}),
    people: 40,
  })
  for (const [client, often] of Object.entries(continued))
    expect(guide.text).toMatch(new RegExp(`^\\| ${rowOf[client]}.*\\| ${often}\\b`, 'm'))
  expect(guide.unread()).toEqual([])
})
