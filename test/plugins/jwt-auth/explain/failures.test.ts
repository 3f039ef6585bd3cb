import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Json } from '../../../support/client.ts'
import { type LoginFixture, openLoginFixture, readerOf } from './fixture.ts'

const failuresOf = (body: Json) => body['data']?.['failures'] as unknown as Record<string, unknown>[]

describe('failures', () => {
  let fixture: LoginFixture
  beforeAll(async () => {
    fixture = await openLoginFixture({ settings: { LOGIN_FAILURES_KEPT: '5' } })
  })
  afterAll(() => fixture[Symbol.asyncDispose]())

  test('a refused login is found by the request id of its response, with its claims as hashes', async () => {
    const mount = await fixture.mount()
    const refused = await fixture.login(mount, {
      jwt: await fixture.sign({ aud: 'other', secret: 'hunter2' }),
    })
    const id = String(refused.body['request_id'])

    const reader = await readerOf(fixture, mount, ['failures', 'config', 'role/ci'])
    const { text, body } = await reader.read(`auth/${mount}/failures?request_id=${id}`)

    expect(refused.headers['x-gatehouse-request-id']).toBe(id)
    expect(body['data']).toMatchObject({ kept: 5, dropped: 0, since: expect.stringMatching(/Z$/) })
    const [failure, ...others] = failuresOf(body)
    expect(others).toEqual([])
    expect(failure).toMatchObject({
      request_id: id,
      path: 'login',
      role: 'ci',
      reason: 'audience_mismatch',
      check: 'audience',
      status: 400,
      remote_address: '127.0.0.1',
      alg: 'RS256',
      verified: true,
    })
    for (const clear of ['hunter2', 'repo:acme/shop', 'other']) expect(text).not.toContain(clear)
    const hash = await fixture.root.write(`auth/${mount}/failures/hash`, { input: 'hunter2' })
    expect(failure?.['claims']).toMatchObject({ secret: hash.body['data']?.['hash'] })
  })

  test('who may explain a refused login sees its subject and the claims that the role looks at', async () => {
    const mount = await fixture.mount()
    const jwt = await fixture.sign({ repository: 'acme/tool', secret: 'hunter2' })
    const unsigned = `${jwt.slice(0, jwt.lastIndexOf('.'))}.AAAA`
    await fixture.login(mount, { jwt })
    await fixture.login(mount, { jwt: unsigned })
    await fixture.login(mount, { jwt, role: 'nobody' })
    const rights = ['failures', 'config', 'role/ci']
    const explains = await readerOf(fixture, mount, [...rights, 'explain'])
    const lists = await readerOf(fixture, mount, rights)

    const seen = await explains.read(`auth/${mount}/failures`)
    const [unknown, forged, refused] = failuresOf(seen.body)
    const [, , hidden] = failuresOf((await lists.read(`auth/${mount}/failures`)).body)

    const looked = { sub: 'repo:acme/shop', repository: 'acme/tool', aud: 'gatehouse' }
    expect(refused).toMatchObject({ subject: 'repo:acme/shop', looked_at: looked, verified: true })
    expect(forged).toMatchObject({ subject: 'repo:acme/shop', looked_at: looked, verified: false })
    expect(unknown).toMatchObject({ subject: 'repo:acme/shop', looked_at: {} })
    expect(seen.text).not.toContain('hunter2')
    const hash = await fixture.root.write(`auth/${mount}/failures/hash`, { input: 'repo:acme/shop' })
    expect(hidden).toMatchObject({ subject: hash.body['data']?.['hash'], looked_at: {} })
  })

  test('of the claims that a role looks at twelve are kept in clear, each by its beginning', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `claim${index}`)
    const mount = await fixture.mount({
      role: { bound_claims: Object.fromEntries(names.map((name) => [name, 'x'])), bound_subject: 'y' },
    })
    await fixture.login(mount, {
      jwt: await fixture.sign({
        ...Object.fromEntries(names.map((name) => [name, 'z'.repeat(1000)])),
        sub: 's'.repeat(1000),
      }),
    })

    const [failure] = failuresOf((await fixture.root.read(`auth/${mount}/failures`)).body)

    const values = Object.values(failure?.['looked_at'] as object)
    expect(values).toHaveLength(12)
    expect(new Set([failure?.['subject'], ...values])).toEqual(
      new Set([`${'s'.repeat(256)}…`, `${'z'.repeat(256)}…`]),
    )
  })

  test('each mount hashes with its own key', async () => {
    const hashes = await Promise.all(
      [await fixture.mount(), await fixture.mount()].map(
        async (mount) =>
          (await fixture.root.write(`auth/${mount}/failures/hash`, { input: 'x' })).body['data'],
      ),
    )

    expect(hashes[0]?.['hash']).toMatch(/^hmac-sha256:[0-9a-f]{64}$/)
    expect(hashes[0]?.['hash']).not.toBe(hashes[1]?.['hash'])
  })

  test('failures are listed newest first, filtered by reason and role and limited, and the oldest are dropped', async () => {
    const mount = await fixture.mount()
    await fixture.root.write(`auth/${mount}/role/other`, {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_subject: 'x',
    })
    const nameOf = async (role: string, jwt: string) =>
      String((await fixture.login(mount, { role, jwt })).body['request_id'])
    const names = [
      await nameOf('ci', ''),
      await nameOf('ci', 'x'),
      await nameOf('other', 'x'),
      await nameOf('Nobody', 'x'),
      await nameOf('ci', 'x'),
    ]
    names.push(await nameOf('ci', ''), await nameOf('ci', 'x'))
    const read = async (query = '') => (await fixture.root.read(`auth/${mount}/failures${query}`)).body

    expect(failuresOf(await read()).map((one) => one['request_id'])).toEqual(names.slice(-5).reverse())
    expect((await read())['data']).toMatchObject({ dropped: 2 })
    expect(failuresOf(await read('?limit=2')).map((one) => one['request_id'])).toEqual(
      names.slice(-2).reverse(),
    )
    expect(failuresOf(await read('?reason=token_missing')).map((one) => one['request_id'])).toEqual([
      names[5],
    ])
    expect(failuresOf(await read('?role=other')).map((one) => one['request_id'])).toEqual([names[2]])
    const unknown = failuresOf(await read('?reason=role_unknown'))[0]
    expect(unknown?.['role']).toBe(
      (await fixture.root.write(`auth/${mount}/failures/hash`, { input: 'nobody' })).body['data']?.['hash'],
    )
  })

  test('DELETE removes all failures', async () => {
    const mount = await fixture.mount()
    await fixture.login(mount, { jwt: 'x' })

    expect((await fixture.root.delete(`auth/${mount}/failures`)).status).toBe(204)

    expect((await fixture.root.read(`auth/${mount}/failures`)).body['data']).toMatchObject({
      failures: [],
      dropped: 0,
    })
  })

  test('at most 32 claims are kept, with truncated names, and nothing of a token that is too long', async () => {
    const mount = await fixture.mount()
    const many = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`${index}${'n'.repeat(100)}`, index]),
    )
    await fixture.login(mount, {
      jwt: await fixture.sign({ ...many, aud: 'x' }, { header: { kid: 'k'.repeat(200) } }),
    })
    await fixture.login(mount, {
      jwt: await fixture.sign({ aud: 'x', long: 'x'.repeat(100_000) }, { header: { kid: 'k' } }),
    })

    const [long, first] = failuresOf((await fixture.root.read(`auth/${mount}/failures`)).body)

    const names = Object.keys(first?.['claims'] ?? {})
    expect(names).toHaveLength(32)
    expect(Math.max(...names.map((name) => name.length))).toBe(64)
    expect(first?.['kid']).toBe('k'.repeat(64))
    expect(long).toMatchObject({ claims: {} })
  })
})

test('a limit of 0 keeps nothing', async () => {
  await using fixture = await openLoginFixture({ settings: { LOGIN_FAILURES_KEPT: '0' } })
  const mount = await fixture.mount()
  await fixture.login(mount, { jwt: 'x' })

  expect((await fixture.root.read(`auth/${mount}/failures`)).body['data']).toMatchObject({
    kept: 0,
    failures: [],
  })
})

test('every response has its request id: granted, refused, empty, early', async () => {
  await using fixture = await openLoginFixture()
  const id = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  const { anonymous } = fixture.server
  const answers = [
    await fixture.root.read('sys/auth'),
    await fixture.root.read('nowhere'),
    await anonymous.read('sys/auth'),
    await anonymous.read('/health'),
    await anonymous.call('GET', '/v1'),
    await anonymous.call('GET', '/v1/a/../b'),
    await anonymous.call('BREW', 'x'),
    await fixture.root.write('sys/policies/acl/x', { policy: '' }),
    await anonymous.call('GET', `/v1/${'x'.repeat(70_000)}`),
  ]

  for (const { headers } of answers) expect(headers).toMatchObject({ 'x-gatehouse-request-id': id })
  expect(answers[0]?.headers['x-gatehouse-request-id']).toBe(answers[0]?.body['request_id'])
  expect(new Set(answers.map(({ headers }) => headers['x-gatehouse-request-id'])).size).toBe(answers.length)
})

test('no response to a login contains a reason', async () => {
  await using fixture = await openLoginFixture()
  const mount = await fixture.mount()

  const { text } = await fixture.login(mount, { jwt: await fixture.sign({ aud: 'x' }) })

  expect(text).not.toContain('audience_mismatch')
})
