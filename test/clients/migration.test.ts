import { chmod, readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inside } from '../support/client.ts'
import { runCommand } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { baoIsSkipped, install } from './bao.ts'
import { type OpenBao, startOpenBao } from './openbao.ts'

/* From a real OpenBao to Gatehouse with the commands of docs/import.md. */

type Folder = Awaited<ReturnType<typeof temporaryFolder>>
let folder: Folder
let source: OpenBao

const users = Array.from({ length: 40 }, (_, index) => `user${index + 1}`)
const passwordOf = (user: string) => `correct horse ${user}`

beforeAll(async () => {
  if (baoIsSkipped) return
  folder = await temporaryFolder()
  source = await startOpenBao()
  const { root } = source
  await root.write('sys/auth/people', { type: 'userpass' })
  for (const user of users)
    expect(
      (
        await root.write(`auth/people/users/${user}`, {
          password: passwordOf(user),
          token_policies: 'reader',
        })
      ).status,
    ).toBe(204)
  await root.write('sys/auth/machines', { type: 'approle' })
  await root.write('auth/machines/role/job', {
    token_policies: 'reader',
    secret_id_num_uses: 9,
    secret_id_ttl: '2h',
  })
  await root.write('sys/policies/acl/reader', { policy: 'path "team/data/*" { capabilities = ["read"] }' })
  await root.write('sys/mounts/team', { type: 'kv', options: { version: '2' } })
  for (const n of [1, 2, 3]) await root.write('team/data/app', { data: { n } })
  await root.write('sys/mounts/old', { type: 'kv' })
  await root.write('old/a', { k: 'v' })
  await root.write('sys/mounts/transit', { type: 'transit' })
  await root.write('sys/auth/cert', { type: 'cert' })
  await root.write('sys/config/cors', { allowed_origins: ['https://a'] })
  await root.write('sys/config/auditing/request-headers/x-team', { hmac: true })
  await root.write('sys/namespaces/web', {})
  await root.write('sys/auth/people', { type: 'userpass' }, inside('web'))
  await root.write('auth/people/users/eve', { password: passwordOf('eve') }, inside('web'))
  await writeFile(folder.file('source.token'), source.rootToken, { mode: 0o600 })
  await writeFile(folder.file('target.token'), 'root', { mode: 0o600 })
})
afterAll(async () => {
  await source?.[Symbol.asyncDispose]()
  await folder?.[Symbol.asyncDispose]()
})

const fromArguments = () => ['--from', source.url, '--from-token-file', 'source.token']
const toArguments = (to: TestServer) => ['--to', to.url, '--to-token-file', 'target.token']
const run = (name: string, ...args: string[]) => runCommand(name, { folder: folder.path, args })
const importInto = (to: TestServer, ...more: string[]) =>
  run('import', ...fromArguments(), ...toArguments(to), '--report', 'report.json', ...more)
const report = async () => JSON.parse(await readFile(folder.file('report.json'), 'utf8'))

test('a plan says what comes over, what stays and what to do about each, as text and as JSON', async ({
  skip,
}) => {
  skip(baoIsSkipped, install)
  const secretId = await source.root.write('auth/machines/role/job/secret-id', {})
  expect(secretId.status).toBe(200)

  const text = await run('import', '--plan', ...fromArguments())
  const json = await run('import', '--plan', '--json', ...fromArguments())
  expect((await source.root.write('sys/namespaces/api-lock/lock/web')).status).toBe(200)
  const locked = await run('import', '--plan', '--json', ...fromArguments())
  await source.root.write('sys/namespaces/api-lock/unlock/web')

  expect(locked.code).toBe(1)
  expect(JSON.parse(locked.stdout).unread).toContainEqual({
    kind: 'section',
    namespace: 'web/',
    path: 'sys/auth',
    reason: expect.stringContaining('locked by an administrator'),
  })
  expect(text).toMatchObject({ code: 0, stderr: '' })
  const { comes, stays, unread } = JSON.parse(json.stdout)
  expect(unread).toEqual([])
  expect(comes).toEqual(
    expect.arrayContaining([
      { kind: 'auth_mount', namespace: '', path: 'auth/people/', type: 'userpass', counts: { users: 40 } },
      { kind: 'auth_mount', namespace: 'web/', path: 'auth/people/', type: 'userpass', counts: { users: 1 } },
      { kind: 'secrets_mount', namespace: '', path: 'team/', type: 'kv version 2', counts: { secrets: 1 } },
      { kind: 'secrets_mount', namespace: '', path: 'old/', type: 'kv version 1', counts: { secrets: 1 } },
    ]),
  )
  const todo = expect.stringMatching(/./)
  expect(stays).toEqual(
    expect.arrayContaining([
      {
        kind: 'auth_mount',
        namespace: '',
        path: 'auth/cert/',
        type: 'cert',
        todo: expect.stringContaining('jwt'),
      },
      { kind: 'secrets_mount', namespace: '', path: 'transit/', type: 'transit', todo },
      { kind: 'cors', namespace: '', path: 'sys/config/cors', todo },
      { kind: 'audited_headers', namespace: '', path: expect.stringMatching(/x-team$/i), todo },
      { kind: 'tokens', namespace: '', path: 'auth/token/accessors', count: expect.any(Number), todo },
      { kind: 'secret_ids', namespace: '', path: 'auth/machines/', count: 1, todo },
      { kind: 'passwords', namespace: '', path: 'auth/people/', count: 40, todo },
      { kind: 'passwords', namespace: 'web/', path: 'auth/people/', count: 1, todo },
    ]),
  )
  expect(text.stdout).toMatch(/^Comes over\n/)
  expect(text.stdout).toMatch(/^ {2}auth\/people\/ +userpass +40 users$/m)
  expect(text.stdout).toMatch(/^ {2}transit\/ +transit +keep the source for it/m)
})

test('with --passwords, old passwords work; with --secret-ids, known secret ids do, with what they have left', async ({
  skip,
}) => {
  skip(baoIsSkipped, install)
  await using to = await startTestServer()
  const { data } = (await source.root.write('auth/machines/role/job/secret-id', { metadata: '{"a":"b"}' }))
    .body
  const { role_id } = (await source.root.read('auth/machines/role/job/role-id')).body.data ?? {}
  const secretId = String(data?.['secret_id'])
  const login = { role_id, secret_id: secretId }
  expect((await source.anonymous.write('auth/machines/login', login)).status).toBe(200)
  const lines = ['# known ones', `auth/machines/role/job ${secretId}`, 'auth/machines/role/job nobodys', '']
  await writeFile(folder.file('secret-ids'), lines.join('\n'), { mode: 0o644 })
  const more = ['--passwords', '--secret-ids', 'secret-ids', '--except', 'auth/cert/,transit']

  const open = await importInto(to, ...more)
  await chmod(folder.file('secret-ids'), 0o600)
  const done = await importInto(to, ...more)

  expect(open).toMatchObject({
    code: 2,
    stderr: '--secret-ids: other users can read or write secret-ids: chmod 600\n',
  })
  expect(done.code).toBe(1)
  const written = await readFile(folder.file('report.json'), 'utf8')
  const { failed, imported, never_carried } = await report()
  expect(failed).toEqual([
    {
      kind: 'secret_id',
      namespace: '',
      path: 'auth/machines/role/job/custom-secret-id line 3',
      reason: 'the source does not know it, or it has ended',
    },
  ])
  expect(never_carried).toContainEqual(
    expect.objectContaining({ kind: 'excepted_mounts', found: ['auth/cert/', 'transit/'] }),
  )
  const notes = imported.filter(({ note }: { note?: string }) => note === 'with the password of the source')
  expect(notes).toHaveLength(41)
  for (const hidden of [secretId, '$2a$', '$2b$']) expect(written + done.stderr).not.toContain(hidden)
  for (const user of users.slice(0, 3))
    expect(
      (await to.anonymous.write(`auth/people/login/${user}`, { password: passwordOf(user) })).status,
    ).toBe(200)
  expect((await to.anonymous.write('auth/people/login/user1', { password: 'wrong' })).status).toBe(400)
  const eve = await to.anonymous.write(
    'auth/people/login/eve',
    { password: passwordOf('eve') },
    inside('web'),
  )
  expect(eve.status).toBe(200)
  const found = await to.root.write('auth/machines/role/job/secret-id/lookup', { secret_id: secretId })
  expect(found.body.data).toMatchObject({ secret_id_num_uses: 8, metadata: { a: 'b' } })
  expect(Number(found.body.data?.['secret_id_ttl'])).toBeLessThanOrEqual(7200)
  expect((await to.anonymous.write('auth/machines/login', login)).status).toBe(200)
})

test('a change of a password comes over with a further update', async ({ skip }) => {
  skip(baoIsSkipped, install)
  await using to = await startTestServer()
  const more = ['--passwords', '--only', 'auth', '--except', 'auth/cert/']
  await importInto(to, ...more)
  await source.root.write('auth/people/users/user40/password', { password: 'changed since' })

  const again = await importInto(to, ...more)
  const before = await to.anonymous.write('auth/people/login/user40', { password: 'changed since' })
  await importInto(to, ...more, '--update')

  const { updated, existed } = await report()
  expect(again.code).toBe(1)
  expect(before.status).toBe(400)
  expect(existed.length).toBeGreaterThan(40)
  expect(updated).toContainEqual({
    kind: 'password',
    namespace: '',
    path: 'auth/people/users/user40/password',
    note: 'no server shows it',
  })
  expect((await to.anonymous.write('auth/people/login/user40', { password: 'changed since' })).status).toBe(
    200,
  )
})

test.for([
  { says: 'says for how long', hasHeaders: true },
  { says: 'does not say for how long', hasHeaders: false },
])(
  'a source that refuses whoever is too fast, and $says, slows the import down, and nothing fails',
  async ({ hasHeaders }, { skip }) => {
    skip(baoIsSkipped, install)
    await using to = await startTestServer()
    await source.root.write('sys/quotas/config', { enable_rate_limit_response_headers: hasHeaders })
    let refusals = 0
    await using way = await TcpProxy.start({
      target: () => Number(new URL(source.url).port),
      onAnswer: (chunk) => {
        if (chunk.includes('HTTP/1.1 429 ')) refusals += 1
        return true
      },
    })
    // fewer than there are users
    const quota = { rate: 30, interval: '10s', block_interval: '7s' }
    await source.root.write('sys/quotas/rate-limit/slow', quota)

    const { code } = await importInto(to, '--from', way.url, '--only', 'auth', '--except', 'auth/cert/')

    await expect.poll(async () => (await source.root.delete('sys/quotas/rate-limit/slow')).status).toBe(204)
    const { summary, failed } = await report()
    // namespaces were not asked for
    expect(failed).toMatchObject([{ kind: 'namespace' }])
    expect(code).toBe(1)
    expect(summary.imported).toBeGreaterThan(40)
    expect(refusals).toBeGreaterThan(0)
  },
)
