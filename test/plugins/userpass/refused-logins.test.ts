import { expect, test } from 'vitest'
import type { Answer } from '../../support/client.ts'
import { shared } from '../../support/shared.ts'
import { startUserpassServer } from './userpass-server.ts'

const servers = shared(() => startUserpassServer({ settings: { LOGIN_FAILURES_KEPT: '5' } }))

const idOf = ({ body }: Answer) => String(body['request_id'])
const failuresOf = ({ body }: Answer) =>
  body['data']?.['failures'] as unknown as readonly Readonly<Record<string, unknown>>[]
const checksOf = ({ body }: Answer) =>
  ((body['data']?.['checks'] ?? []) as unknown as { name: string; verdict: string }[]).map(
    ({ name, verdict }) => `${name} ${verdict}`,
  )

/** A client with these rights below the mount. */
async function operatorOf(path: string, rights: Readonly<Record<string, string>>) {
  const { root, as } = await servers()
  const rules = Object.entries(rights).map(
    ([below, capability]) => `path "${path}/${below}" { capabilities = ["${capability}"] }`,
  )
  const name = `${path.replaceAll('/', '-')}-${Object.keys(rights).length}`
  await root.write(`sys/policies/acl/${name}`, { policy: rules.join('\n') })
  const { body } = await root.write('auth/token/create', { policies: [name] })
  return as(String(body['auth']?.['client_token']))
}

test('a refused login is explained by its request id: the cause in words, the checks in order', async () => {
  const { mount, root } = await servers()
  const at = await mount({ token_bound_cidrs: '10.0.0.0/8' })
  const explain = async (refused: Answer) => root.read(`${at.path}/explain?request_id=${idOf(refused)}`)

  const wrong = await explain(await at.login('hunter2'))
  const unknown = await explain(await at.login('hunter2', 'nobody'))
  const missing = await explain(await at.login(''))
  const elsewhere = await explain(await at.login('pw'))

  expect(wrong.body.data).toMatchObject({
    allowed: false,
    status: 400,
    reason: 'password_wrong',
    error: 'invalid username or password',
    cause: 'the user has another password',
    role: '',
  })
  expect(checksOf(wrong)).toEqual(['lockout pass', 'user pass', 'password fail', 'address skipped'])
  expect(unknown.body.data).toMatchObject({ reason: 'password_wrong', cause: 'nobody has this name' })
  expect(checksOf(unknown)).toEqual(['lockout pass', 'user fail', 'password fail', 'address skipped'])
  expect(checksOf(missing)).toEqual(['lockout pass', 'password fail', 'user skipped', 'address skipped'])
  expect(elsewhere.body.data).toMatchObject({ status: 403, reason: 'address_not_bound' })
  expect(elsewhere.body.data?.['checks']).toContainEqual(
    expect.objectContaining({ name: 'address', expected: ['10.0.0.0/8'], seen: '127.0.0.1' }),
  )
  for (const { text } of [wrong, unknown]) expect(text).not.toMatch(/hunter2|nobody"/)
  const report = await root.call(
    'GET',
    `/v1/${at.path}/explain?request_id=${String(wrong.body.data?.['request_id'])}`,
    { headers: { accept: 'text/plain' } },
  )
  expect(report.text).toContain('FAIL  password: password_wrong')
  await at.tune({ lockout_threshold: 1, lockout_duration: '15m' })
  await at.login('hunter2')
  expect(checksOf(await explain(await at.login('pw')))).toEqual([
    'lockout fail',
    'user skipped',
    'password skipped',
    'address skipped',
  ])
})

test('who may only read failures sees keyed hashes, and not who exists', async () => {
  const { mount, root } = await servers()
  const at = await mount()
  const reader = await operatorOf(at.path, { failures: 'read', explain: 'read' })
  const [ofBob, ofNobody] = [await at.login('x'), await at.login('x', 'nobody')]

  const seen = failuresOf(await reader.read(`${at.path}/failures`))
  const [unknown, bob] = seen

  const hash = await root.write(`${at.path}/failures/hash`, { input: 'bob' })
  expect(bob).toMatchObject({
    request_id: idOf(ofBob),
    subject: hash.body.data?.['hash'],
    role: '',
    reason: 'password_wrong',
    check: 'password',
    remote_address: '127.0.0.1',
  })
  const { request_id, time, subject, ...same } = bob ?? {}
  expect(unknown).toMatchObject({ ...same, subject: expect.stringMatching(/^hmac-sha256:/) })
  for (const refused of [ofBob, ofNobody])
    expect((await reader.read(`${at.path}/explain?request_id=${idOf(refused)}`)).status).toBe(403)
})

test('a name is shown to who may read the user, and that nobody has one to who may list them', async () => {
  const { mount } = await servers()
  const at = await mount()
  const rights = { failures: 'read', explain: 'update' }
  const reads = await operatorOf(at.path, { ...rights, 'users/bob': 'read' })
  const lists = await operatorOf(at.path, { ...rights, users: 'list', 'users/eve': 'read' })
  await at.login('x', 'BOB')
  await at.login('x', 'nobody')

  const shown = async (by: typeof reads) =>
    failuresOf(await by.read(`${at.path}/failures`)).map(({ subject, cause }) => [subject, cause])

  expect(await shown(reads)).toEqual([
    [expect.stringMatching(/^hmac-sha256:/), ''],
    ['bob', 'the user has another password'],
  ])
  expect(await shown(lists)).toEqual([
    [expect.stringMatching(/^hmac-sha256:/), 'nobody has this name'],
    [expect.stringMatching(/^hmac-sha256:/), ''],
  ])
})

test('a stranger makes the server keep so many failures, each of a bounded size', async () => {
  const { mount, root, anonymous } = await servers()
  const at = await mount()
  for (let sent = 0; sent < 8; sent++) await at.login('x'.repeat(5000), 'n'.repeat(3000 + sent))

  const kept = await root.read(`${at.path}/failures`)

  expect(kept.body.data).toMatchObject({ kept: 5, dropped: 3 })
  expect(failuresOf(kept)).toHaveLength(5)
  expect(kept.text.length).toBeLessThan(5 * 1024)
  for (const path of ['failures', 'explain?request_id=x'])
    expect((await anonymous.read(`${at.path}/${path}`)).status).toBe(403)
  expect((await root.delete(`${at.path}/failures`)).status).toBe(204)
  expect(failuresOf(await root.read(`${at.path}/failures`))).toEqual([])
  expect((await root.read(`${at.path}/explain?request_id=x`)).status).toBe(404)
})
