import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inside } from '../support/client.ts'
import { commandHere } from '../support/command-here.ts'
import { StartedProcess } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/* `import --watch`, `import --secret-ids` and `verify --against`, between two Gatehouse servers. test/clients/migration.test.ts has a real OpenBao. */

type Folder = Awaited<ReturnType<typeof temporaryFolder>>
let folder: Folder
let from: TestServer
let to: TestServer

beforeAll(async () => {
  folder = await temporaryFolder()
  from = await startTestServer()
  to = await startTestServer()
  const { root } = from
  await root.write('sys/mounts/kv2', { type: 'kv', options: { version: '2' } })
  for (const n of [1, 2]) await root.write('kv2/data/app', { data: { n } })
  await root.write('sys/auth/ci', { type: 'jwt' })
  await root.write('sys/auth/other', { type: 'jwt' })
  await root.write('sys/policies/acl/reader', { policy: 'path "kv2/data/*" { capabilities = ["read"] }' })
  await root.write('sys/namespaces/web', {})
  await root.write('sys/policies/acl/deep', { policy: 'path "x" {}' }, inside('web'))
  await writeFile(folder.file('token'), 'root', { mode: 0o600 })
})
afterAll(async () => {
  await to[Symbol.asyncDispose]()
  await from[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const toArguments = () => ['--to', to.url, '--to-token-file', 'token']
const verify = (...more: string[]) => {
  const against = ['--against', from.url, '--against-token-file', 'token']
  return commandHere('verify', { folder: folder.path, args: [...against, ...toArguments(), ...more] })
}

test('a watch brings over what changes until the operator cuts over, ends with nothing left, and both servers are the same', async () => {
  const servers = ['--from', from.url, '--from-token-file', 'token', ...toArguments()]
  const args = ['import', ...servers, '--watch', '--every', '1', '--report', 'report.json']
  const before = await verify()

  const watch = new StartedProcess('src/process/main.ts', { folder: folder.path, args })
  await watch.logged('pass 1: ')
  await from.root.write('kv2/data/app', { data: { n: 3 } })
  await from.root.write('kv2/data/new', { data: { a: 1 } })
  await expect
    .poll(async () => (await to.root.read('kv2/metadata/app')).body.data?.['current_version'])
    .toBe(3)
  await expect.poll(async () => (await to.root.read('kv2/data/new')).status).toBe(200)
  await from.root.write('sys/policies/acl/reader', { policy: 'path "kv2/*" { capabilities = ["read"] }' })
  const end = await watch.end('SIGINT')
  const after = await verify()

  expect(before.code).toBe(1)
  expect(before.stdout).toContain('secret kv2/app: missing here\n')
  expect(before.stdout).toContain('policy web/sys/policies/acl/deep: missing here\n')
  expect(end.code).toBe(0)
  expect(end.stderr).toContain('cutting over: the last pass\n')
  expect(end.stderr).toMatch(/^0 left: the target has what the source has$/m)
  expect(JSON.parse(await readFile(folder.file('report.json'), 'utf8'))).toMatchObject({
    complete: true,
    left: [],
    summary: { failed: 0 },
  })
  expect(after).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+ the same, 0 differ\n$/) })
})

test('a comparison lists names and versions, and never a value', async () => {
  await to.root.write('kv2/data/app', { data: { n: 'ours-canary' } })
  await from.root.write('kv2/data/new', { data: { a: 'theirs-canary' } })
  await to.root.write('sys/policies/acl/extra', { policy: 'path "y" {}' })
  await to.root.delete('sys/auth/other')

  const text = await verify()
  const json = await verify('--json')
  const excepted = await verify('--except', 'auth/other,kv2/', '--only', 'auth,kv,namespaces')

  expect(text.code).toBe(1)
  expect(text.stdout.split('\n').toSorted()).toEqual(
    [
      '',
      'auth_mount auth/other/: missing here',
      'policy sys/policies/acl/extra: only here',
      'secret kv2/app: the source has version 3, the target 4',
      'secret kv2/new: the source has version 2, the target 1',
      expect.stringMatching(/^\d+ the same, 4 differ$/),
    ].toSorted(),
  )
  const { differences } = JSON.parse(json.stdout)
  expect(differences).toContainEqual({
    kind: 'secret',
    namespace: '',
    path: 'kv2/new',
    difference: 'the source has version 2, the target 1',
  })
  expect(text.stdout + json.stdout).not.toContain('canary')
  expect(excepted).toMatchObject({ code: 0 })
  // neither server got anything
  expect((await from.root.read('sys/policies/acl/extra')).status).toBe(404)
  expect((await to.root.read('sys/auth')).body.data?.['other/']).toBeUndefined()
})

test('known secret ids get what they have left on the source, and end with it', async () => {
  await from.root.write('sys/auth/machines', { type: 'approle' })
  await from.root.write('auth/machines/role/job', { secret_id_num_uses: 5, secret_id_ttl: '2h' })
  const made = (await from.root.write('auth/machines/role/job/secret-id', { num_uses: 3 })).body.data
  const { role_id } = (await from.root.read('auth/machines/role/job/role-id')).body.data ?? {}
  const secret_id = String(made?.['secret_id'])
  const logIn = async ({ anonymous }: TestServer) =>
    (await anonymous.write('auth/machines/login', { role_id, secret_id })).status
  const usesOn = async ({ root }: TestServer) =>
    (await root.write('auth/machines/role/job/secret-id/lookup', { secret_id })).body?.data?.[
      'secret_id_num_uses'
    ]
  await writeFile(folder.file('ids'), `# of the pipelines\nauth/machines/role/job ${secret_id}\n`, {
    mode: 0o600,
  })
  await writeFile(folder.file('bad'), `${secret_id}\n`, { mode: 0o600 })
  const servers = [
    '--from',
    from.url,
    '--from-token-file',
    'token',
    ...toArguments(),
    '--only',
    'auth,namespaces',
  ]
  const importIds = (file: string, ...more: string[]) =>
    commandHere('import', { folder: folder.path, args: [...servers, '--secret-ids', file, ...more] })

  const bad = await importIds('bad')
  const first = await importIds('ids')
  const uses = [await usesOn(to)]
  expect(await logIn(from)).toBe(200)
  expect(await logIn(from)).toBe(200)
  const second = await importIds('ids', '--update')
  uses.push(await usesOn(to))
  expect(await logIn(to)).toBe(200)
  expect(await logIn(from)).toBe(200)

  expect(bad).toMatchObject({
    code: 2,
    stderr: '--secret-ids: line 1 is not "auth/MOUNT/role/ROLE SECRET_ID"\n',
  })
  expect([first.code, second.code]).toEqual([0, 0])
  expect(uses).toEqual([3, 1])
  expect(JSON.parse(second.stdout).updated).toContainEqual({
    kind: 'secret_id',
    namespace: '',
    path: 'auth/machines/role/job/custom-secret-id line 2',
    note: 'the source has 1 uses left, the target 3',
  })
  const third = await importIds('ids')
  expect(third.code).toBe(1)
  expect(JSON.parse(third.stdout).failed).toMatchObject([
    { kind: 'secret_id', reason: 'the source does not know it, or it has ended' },
  ])
  for (const { stdout, stderr } of [bad, first, second, third])
    expect(stdout + stderr).not.toContain(secret_id)
})

test('a secret id that the source has destroyed is destroyed on the target', async () => {
  await from.root.write('sys/auth/robots', { type: 'approle' })
  await from.root.write('auth/robots/role/job', {})
  const made = (await from.root.write('auth/robots/role/job/secret-id', {})).body.data
  const secret_id = String(made?.['secret_id'])
  await writeFile(folder.file('robots'), `auth/robots/role/job ${secret_id}\n`, { mode: 0o600 })
  const servers = [
    '--from',
    from.url,
    '--from-token-file',
    'token',
    ...toArguments(),
    '--only',
    'auth,namespaces',
  ]
  const args = [...servers, '--secret-ids', 'robots', '--update']
  const lookup = () => to.root.write('auth/robots/role/job/secret-id/lookup', { secret_id })
  await commandHere('import', { folder: folder.path, args })
  expect((await lookup()).status).toBe(200)
  await from.root.write('auth/robots/role/job/secret-id/destroy', { secret_id })

  const { stdout } = await commandHere('import', { folder: folder.path, args })

  expect(JSON.parse(stdout).updated).toMatchObject([{ kind: 'secret_id', note: 'the source has ended it' }])
  expect((await lookup()).status).toBe(204)
})

test('users of a source that shows no hashes fail with --passwords, in a dry run too', async () => {
  await from.root.write('sys/auth/people', { type: 'userpass' })
  await from.root.write('auth/people/users/bob', { password: 'canary' })
  const servers = ['--from', from.url, '--from-token-file', 'token', ...toArguments()]
  const args = [...servers, '--only', 'auth,namespaces', '--passwords']

  const dry = await commandHere('import', { folder: folder.path, args: [...args, '--dry-run'] })
  const wet = await commandHere('import', { folder: folder.path, args })

  const reason = 'the source does not show its hash: it needs raw_storage_endpoint = true, and a root token'
  const failed = [{ kind: 'auth_role', namespace: '', path: 'auth/people/users/bob', reason }]
  expect(JSON.parse(dry.stdout).failed).toEqual(failed)
  expect(JSON.parse(wet.stdout).failed).toEqual(failed)
  expect((await to.root.read('auth/people/users/bob')).status).toBe(404)
})

test.each([
  { args: ['--watch', '--dry-run'], stderr: '--watch writes: it goes without --dry-run\n' },
  { args: ['--every', '5'], stderr: '--every is for --watch\n' },
  { args: ['--watch', '--every', '0'], stderr: '--every is a number of seconds\n' },
  { args: ['--json'], stderr: '--json is for --plan: other reports are JSON\n' },
])('import refuses $args', async ({ args, stderr }) => {
  const servers = ['--from', from.url, '--from-token-file', 'token', ...toArguments()]

  const run = await commandHere('import', { folder: folder.path, args: [...servers, ...args] })

  expect(run).toMatchObject({ code: 2, stderr })
})

test('a plan names what its token may not read, instead of counting nothing there', async () => {
  await from.root.write('sys/quotas/rate-limit/all', { rate: 1000 })
  const rules = ['sys/auth', 'sys/mounts', 'sys/policies/acl'].map(
    (path) => `path "${path}" { capabilities = ["read", "list"] }`,
  )
  await from.root.write('sys/policies/acl/planner', { policy: rules.join('\n') })
  const { body } = await from.root.write('auth/token/create', { policies: ['planner'] })
  await writeFile(folder.file('planner'), String(body.auth?.client_token), { mode: 0o600 })

  const args = ['--plan', '--json', '--from', from.url, '--from-token-file', 'planner']
  const plan = await commandHere('import', { folder: folder.path, args })

  const { comes, unread } = JSON.parse(plan.stdout)
  expect(plan.code).toBe(1)
  expect(unread.map(({ kind, path }: { kind: string; path: string }) => `${kind} ${path}`)).toEqual(
    expect.arrayContaining(['auth_mount auth/ci/', 'quotas ', 'cors ', 'audit_devices ', 'tokens ']),
  )
  expect(comes.map(({ path }: { path: string }) => path)).not.toContain('auth/ci/')
})
