import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inside } from '../support/client.ts'
import { runCommand, StartedProcess } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/* `import --watch` and `verify --against`, between two Gatehouse servers. test/clients/migration.test.ts has a real OpenBao. */

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
  return runCommand('verify', { folder: folder.path, args: [...against, ...toArguments(), ...more] })
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
})

test.each([
  { args: ['--watch', '--dry-run'], stderr: '--watch writes: it goes without --dry-run\n' },
  { args: ['--every', '5'], stderr: '--every is for --watch\n' },
  { args: ['--watch', '--every', '0'], stderr: '--every is a number of seconds\n' },
  { args: ['--json'], stderr: '--json is for --plan: other reports are JSON\n' },
])('import refuses $args', async ({ args, stderr }) => {
  const servers = ['--from', from.url, '--from-token-file', 'token', ...toArguments()]

  const run = await runCommand('import', { folder: folder.path, args: [...servers, ...args] })

  expect(run).toMatchObject({ code: 2, stderr })
})
