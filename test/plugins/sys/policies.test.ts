import { describe, expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import type { Answer } from '../../support/client.ts'
import { errors, errorText } from '../../support/error-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

/** For the tests that leave behind nothing that others would notice. */
const sharedServer = shared(() => startTestServer())
/** For those that store nothing. */
const untouchedServer = shared(() => startTestServer())

const text = 'path "a" { capabilities = ["read"] }'
const acl = 'sys/policies/acl'
const old = 'sys/policy'

const told = ({ status, body }: Answer): string => (status === 204 ? '204' : `${status} ${errorText(body)}`)

describe.each([acl, old])('the end and the version of a policy at %s', (base) => {
  const at = `${base}/p`
  const write = async (server: TestServer, fields: object) =>
    told(await server.root.write(at, { policy: text, ...fields }))

  test('a policy ends at the moment that a write names, for its holders too', async () => {
    const clock = new FakeClock()
    await using server = await startTestServer({ clock })
    await server.root.write(at, { policy: 'path "zz/a" { capabilities = ["list"] }', ttl: '60s' })
    const { body } = await server.root.write('auth/token/create', { policies: ['p'] })
    const holder = server.as(String(body.auth?.client_token))
    const may = async () =>
      (await holder.write('sys/capabilities-self', { paths: ['zz/a'] })).body.data?.['capabilities']

    expect((await server.root.read(at)).body.data).toMatchObject({ version: 1, cas_required: false })
    expect((await server.root.read(at)).body.data).toHaveProperty('expiration')
    clock.advance(59.999)
    expect((await server.root.read(at)).status).toBe(200)
    const before = await may()
    clock.advance(0.001)
    expect((await server.root.read(at)).status).toBe(404)
    expect((await server.root.list(base)).body.data?.keys).toEqual(['default', 'root'])
    expect([before, await may()]).toEqual([['list'], ['deny']])
    expect(await write(server, { cas: -1 })).toBe('204')
    expect((await server.root.read(at)).body.data).toMatchObject({ version: 1 })
  })

  test.each([
    [{ ttl: 0 }, 'refusing to update policy as expiration time has already elapsed'],
    [
      { expiration: '2001-01-01T00:00:00Z' },
      'refusing to update policy as expiration time has already elapsed',
    ],
    [
      { ttl: '1h', expiration: '2101-01-01T00:00:00Z' },
      "cannot supply both 'expiration' and 'ttl' for policies",
    ],
    [{ cas: 99 }, 'check-and-set parameter 99 did not match the current version 0'],
    [{ cas_required: true }, 'check-and-set parameter required for this call'],
    [{ ttl: 0, policy: '{' }, 'refusing to update policy as expiration time has already elapsed'],
    [{ ttl: 0, cas: 9 }, 'refusing to update policy as expiration time has already elapsed'],
    [{ expiration: 1000 }, 'refusing to update policy as expiration time has already elapsed'],
    [{ policy: '{', cas: 99 }, 'failed to parse policy: At 1:2: not a JSON key'],
    ...['zz', ''].map((expiration): [object, string] => [
      { expiration, ttl: 1 },
      'Field validation failed: error converting input for field "expiration": could not parse string as date and time',
    ]),
    [
      { ttl: -1 },
      'Field validation failed: error converting input for field "ttl": cannot provide negative value \'-1\'',
    ],
  ])('%j is refused, and nothing is stored', async (fields, expected) => {
    const server = await untouchedServer()

    expect(await write(server, fields)).toBe(`400 ${expected}`)
    expect((await server.root.read(at)).status).toBe(404)
  })

  test('a write may name the version that it replaces, and a policy may demand it', async () => {
    await using server = await borrowServer()

    expect(await write(server, { cas: -1, cas_required: true })).toBe('204')
    expect(await write(server, { cas: -1 })).toMatch(/set to -1 on existing entry/)
    expect(await write(server, {})).toMatch(/parameter required for this call/)
    const both = await Promise.all([write(server, { cas: 1 }), write(server, { cas: 1 })])
    expect(both.filter((answer) => answer === '204')).toHaveLength(1)
    expect((await server.root.read(at)).body.data).toMatchObject({ version: 2, cas_required: false })
    expect(await write(server, {})).toBe('204')
    expect((await server.root.delete(`${at}?cas=99`)).status).toBe(204)
  })

  test('a policy that has ended is none for the next write, which names version 0', async () => {
    const clock = new FakeClock()
    await using server = await startTestServer({ clock })
    const first = [await write(server, {}), await write(server, { ttl: '1s' })]
    clock.advance(1)

    expect([...first, await write(server, { cas: 2 }), await write(server, { cas: 0 })]).toEqual([
      '204',
      '204',
      '400 check-and-set parameter 2 did not match the current version 0',
      '204',
    ])
    expect((await server.root.read(at)).body.data).toMatchObject({ version: 1 })
  })

  test('an end may be in seconds since 1970, and fields that are unknown are ignored', async () => {
    await using server = await borrowServer()

    expect(await write(server, { expiration: 4_102_444_800, unknown: 1 })).toBe('204')
    expect((await server.root.read(at)).body.data).toMatchObject({ expiration: '2100-01-01T00:00:00Z' })
  })

  test('root cannot end', async () => {
    const server = await untouchedServer()

    expect(told(await server.root.write(`${base}/root`, { policy: text, ttl: '1h' }))).toBe(
      '400 cannot update "root" policy',
    )
  })

  test('default cannot end, and a write without an end removes it', async () => {
    const server = await sharedServer()

    expect(told(await server.root.write(`${base}/default`, { policy: text, ttl: '1h' }))).toBe(
      '400 cannot set an expiration on the "default" policy',
    )
    expect(await write(server, { expiration: '2101-01-01T00:00:00Z' })).toBe('204')
    expect((await server.root.read(at)).body.data).toMatchObject({ expiration: '2101-01-01T00:00:00Z' })
    expect(await write(server, {})).toBe('204')
    expect((await server.root.read(at)).body.data).not.toHaveProperty('expiration')
  })
})

test('the linter of a login mount counts a policy that has ended as missing', async () => {
  const clock = new FakeClock()
  await using server = await startTestServer({ clock })
  await server.root.write(`${acl}/p`, { policy: text, ttl: '60s' })
  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'a', token_policies: ['p'] }
  await server.root.write('auth/jwt/role/r', role)
  const missing = async () => {
    const { body } = await server.root.read('auth/jwt/lint')
    const findings = (body.data?.['findings'] ?? []) as unknown as { code: string; text: string }[]
    return findings.filter(({ code }) => code === 'policy_missing').map((one) => one.text)
  }
  const before = await missing()
  clock.advance(60)

  expect([before, await missing()]).toEqual([[], ['token policies [p] do not exist']])
})

test.each([
  ['path "a\0b" {}', 'At 1:8: literal not terminated'],
  ['# \0', 'At 1:3: unexpected null character (0x00)'],
  ['path "a" {}\n \0', 'At 2:2: unexpected null character (0x00)'],
  ['{"path": {"a\0": {}}}', 'At 1:13: unexpected null character (0x00)'],
  ['path "a\\u0000b" {}', 'path "a\\u0000b" contains a null character'],
  ['{"path": {"a\\u0000b": {}}}', 'path "a\\u0000b" contains a null character'],
  ...['mfa_methods = ["x"]', 'pagination_limit = 5', 'list_scan_response_keys_filter_path = "y"'].map(
    (limit) => [
      `path "a" { capabilities = ["list"] ${limit} }`,
      `path "a": "${limit.split(' ')[0]}" would limit what it grants, and is not supported`,
    ],
  ),
])('a policy %j is refused', async (policy, expected) => {
  const server = await sharedServer()

  expect(told(await server.root.write(`${acl}/p`, { policy }))).toBe(
    `400 failed to parse policy: ${expected}`,
  )
  expect((await server.root.write(`${acl}/q`, { policy: 'path "a" { mfa_methods = [] }' })).status).toBe(204)
})

test('a field that limits something in another server is refused where it would be dropped', async () => {
  const server = await sharedServer()
  const write = async (path: string, fields: object) => told(await server.root.write(path, fields))

  expect(await write('auth/token/roles/r', { token_strictly_bind_ip: true })).toMatch(
    /^400 field "token_strictly_bind_ip" would limit/,
  )
  expect((await server.root.write('auth/token/roles/r', { unheard_of: true })).status).toBeLessThan(300)
})

describe('sys/policies/acl and sys/policy', () => {
  test('policies are listed, in both forms', async () => {
    await using server = await borrowServer()
    expect((await server.root.call('LIST', acl)).body.data).toEqual({ keys: ['default', 'root'] })
    await server.root.write(`${acl}/zoo`, { policy: text })
    await server.root.write(`${acl}/web`, { policy: text })

    const keys = ['default', 'web', 'zoo', 'root']
    expect((await server.root.list(acl)).body.data).toEqual({ keys })
    for (const { body } of [await server.root.read(old), await server.root.list(old)]) {
      expect(body.data).toEqual({ keys, policies: keys })
      expect(body).toMatchObject({ keys, policies: keys })
    }
    expect((await server.root.read(acl)).status).toBe(405)
  })

  test('a paged list is complete, including root at its end', async () => {
    await using server = await borrowServer()
    for (const name of ['zoo', 'web', 'sort']) await server.root.write(`${acl}/${name}`, { policy: text })
    const pages: string[] = []

    for (let answer = await server.root.list(`${acl}?limit=1`); answer.status === 200; ) {
      pages.push(String(answer.body.data?.keys?.[0]))
      answer = await server.root.list(`${acl}?limit=1&after=${pages.at(-1)}`)
    }

    expect(pages).toEqual(['default', 'sort', 'web', 'zoo', 'root'])
    expect((await server.root.list(`${acl}?after=t`)).body.data?.keys).toEqual(['web', 'zoo'])
  })

  test('root reads as empty, a missing policy as 404', async () => {
    const server = await sharedServer()

    expect((await server.root.read(`${acl}/root`)).body.data).toEqual({ name: 'root', policy: '' })
    expect(await server.root.read(`${acl}/none`)).toMatchObject({ status: 404, body: errors() })
    expect(await server.root.read(`${old}/none`)).toMatchObject({ status: 404, body: errors() })
  })

  test.each([
    { name: 'Web', stored: 'web', warnings: ['policy name was converted to web'] },
    { name: '%20web%20', stored: 'web', warnings: undefined },
    { name: '%20Web%20', stored: 'web', warnings: ['policy name was converted to web'] },
    { name: 'team/a', stored: 'team/a', warnings: undefined },
    { name: '__proto__', stored: '__proto__', warnings: undefined },
    { name: 'constructor', stored: 'constructor', warnings: undefined },
  ])('$name is stored as $stored', async ({ name, stored, warnings }) => {
    const server = await sharedServer()

    const written = await server.root.call('PUT', `${acl}/${name}`, { policy: text })

    expect(written.status).toBe(warnings === undefined ? 204 : 200)
    if (warnings !== undefined) expect(written.body.warnings).toEqual(warnings)
    expect((await server.root.read(`${acl}/${name}`)).body.data).toMatchObject({ name: stored, policy: text })
    expect((await server.root.list(acl)).body.data?.keys).toEqual(expect.arrayContaining([stored]))
    expect((await server.root.delete(`${acl}/${name}`)).status).toBe(204)
    expect((await server.root.read(`${acl}/${stored}`)).status).toBe(404)
  })

  test('a base64 policy is stored decoded', async () => {
    const server = await sharedServer()
    await server.root.write(`${acl}/web`, { policy: Buffer.from(text).toString('base64') })

    expect((await server.root.read(`${acl}/web`)).body.data?.policy).toBe(text)
  })

  test.each([
    {
      row: 'no text',
      verb: 'PUT',
      path: 'web',
      sent: { policy: '' },
      refused: "'policy' parameter not supplied or empty",
    },
    {
      row: 'no body',
      verb: 'PUT',
      path: 'web',
      sent: undefined,
      refused: "'policy' parameter not supplied or empty",
    },
    {
      row: 'a built-in name',
      verb: 'PUT',
      path: 'response-wrapping',
      sent: { policy: text },
      refused: 'cannot update "response-wrapping" policy',
    },
    {
      row: 'root',
      verb: 'PUT',
      path: 'root',
      sent: { policy: text },
      refused: 'cannot update "root" policy',
    },
    {
      row: 'root in capitals, without a text',
      verb: 'PUT',
      path: 'ROOT',
      sent: {},
      refused: 'cannot update "root" policy',
    },
    {
      row: 'the default policy',
      verb: 'DELETE',
      path: 'default',
      sent: undefined,
      refused: 'cannot delete default policy',
    },
    { row: 'root', verb: 'DELETE', path: 'root', sent: undefined, refused: 'cannot delete "root" policy' },
    {
      row: 'response-wrapping',
      verb: 'DELETE',
      path: 'response-wrapping',
      sent: undefined,
      refused: 'cannot delete "response-wrapping" policy',
    },
    {
      row: 'an unknown capability',
      verb: 'PUT',
      path: 'web',
      sent: { policy: 'path "/" { capabilities = ["read","banana"] }' },
      refused: 'failed to parse policy: path "/": invalid capability "banana"',
    },
    {
      row: 'an unknown capability for another path',
      verb: 'PUT',
      path: 'b',
      sent: { policy: 'path "x" { capabilities = ["foo"] }' },
      refused: 'failed to parse policy: path "x": invalid capability "foo"',
    },
    {
      row: 'text that is no HCL',
      verb: 'PUT',
      path: 'b',
      sent: { policy: '}{' },
      refused: 'failed to parse policy: ',
    },
    {
      row: 'unknown word',
      verb: 'PUT',
      path: 'b',
      sent: { policy: 'foo "x" {}' },
      refused: 'failed to parse policy: ',
    },
    {
      row: 'not a text',
      verb: 'PUT',
      path: 'b',
      sent: { policy: { a: 1 } },
      refused: 'Field validation failed: error converting input for field "policy": ',
    },
  ])('$verb $path is refused, in both forms: $row', async ({ verb, path, sent, refused }) => {
    const server = await untouchedServer()

    for (const form of [acl, old]) {
      const answer = await server.root.call(verb, `${form}/${path}`, sent)
      expect(answer.status).toBe(400)
      expect(errorText(answer.body).startsWith(refused)).toBe(true)
    }
    expect((await server.root.list(acl)).body.data).toEqual({ keys: ['default', 'root'] })
  })

  test('deleting a missing policy is 204', async () => {
    const server = await sharedServer()

    expect(await server.root.delete(`${acl}/nothing`)).toMatchObject({ status: 204, text: '' })
  })

  test('the older form reads, writes and deletes the same policies', async () => {
    const server = await sharedServer()

    expect(await server.root.write(`${old}/foo`, { rules: text })).toMatchObject({
      status: 200,
      body: { warnings: ["'rules' is deprecated, please use 'policy' instead"] },
    })
    expect((await server.root.write(`${old}/foo`, { policy: text, rules: 'no HCL' })).status).toBe(204)
    const { body } = await server.root.read(`${old}/foo`)
    expect(body.data).toEqual({
      name: 'foo',
      rules: text,
      version: 2,
      cas_required: false,
      modified: expect.any(String),
    })
    expect(body).toMatchObject({ name: 'foo', rules: text })
    expect((await server.root.write(`${acl}/foo`, { rules: text })).status).toBe(400)
    expect((await server.root.delete(`${old}/foo`)).status).toBe(204)
  })

  test('a token without an entity gets nothing from the templates of the default policy', async () => {
    const server = await sharedServer()
    const created = await server.root.write('auth/token/create', { policies: ['default'] })
    const client = server.as(String(created.body.auth?.client_token))

    expect((await client.read('identity/entity/id/x')).body).toEqual(
      errors('1 error occurred:\n\t* permission denied\n\n'),
    )
  })

  test('shorthand and capabilities of one stanza add up', async () => {
    const server = await sharedServer()
    await server.root.write(`${acl}/both`, {
      policy: 'path "a" { policy = "read" capabilities = ["update"] }',
    })
    const created = await server.root.write('auth/token/create', { policies: ['both'] })

    const { body } = await server.root.write('sys/capabilities', {
      token: created.body.auth?.client_token,
      path: 'a',
    })

    expect(body.data?.capabilities).toEqual(['list', 'read', 'update'])
  })

  test('a folder lists the full names below it', async () => {
    const server = await sharedServer()
    for (const name of ['team/a', 'team/sub/b', 'teams'])
      await server.root.write(`${acl}/${name}`, { policy: text })

    for (const form of [acl, old])
      expect((await server.root.call('LIST', `${form}/team`)).body.data?.keys).toEqual([
        'team/a',
        'team/sub/b',
      ])
    expect((await server.root.call('LIST', `${acl}/nobody`)).status).toBe(404)
  })

  test('a change takes effect on the next request of every token', async () => {
    const server = await sharedServer()
    await server.root.write(`${acl}/web`, { policy: 'path "sys/mounts" { capabilities = ["read"] }' })
    const created = await server.root.write('auth/token/create', { policies: ['web'] })
    const client = server.as(String(created.body.auth?.client_token))

    expect((await client.read('sys/mounts')).status).toBe(200)
    await server.root.write(`${acl}/web`, { policy: 'path "sys/mounts" { capabilities = ["deny"] }' })
    expect((await client.read('sys/mounts')).status).toBe(403)
    await server.root.write(`${acl}/web`, { policy: 'path "sys/*" { capabilities = ["read"] }' })
    expect((await client.read('sys/mounts')).status).toBe(200)
    await server.root.delete(`${acl}/web`)
    expect((await client.read('sys/mounts')).status).toBe(403)
  })
})
