import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Client } from '../../support/client.ts'
import {
  caused,
  errors,
  errorText,
  invalidToken,
  notAccepted,
  notAllowed,
} from '../../support/error-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

const clock = new FakeClock(Date.UTC(2026, 10, 21))
let server: TestServer
const wrapFor = (ttl: string) => ({ headers: { 'X-Vault-Wrap-TTL': ttl } })

beforeAll(async () => {
  server = await startTestServer({ clock })
  await server.root.write('sys/policies/acl/nothing', { policy: 'path "x" { capabilities = ["read"] }' })
})
afterAll(() => server[Symbol.asyncDispose]())

const tokenIn = (answer: Answer): string => String(answer.body.wrap_info?.token)

async function wrapped(data: object = { a: 'b' }, ttl = '300'): Promise<string> {
  const answer = await server.root.write('sys/wrapping/wrap', data, wrapFor(ttl))
  expect(answer.status).toBe(200)
  return tokenIn(answer)
}

async function caller(fields: object = {}): Promise<Client> {
  const created = await server.root.write('auth/token/create', { policies: ['default'], ...fields })
  return server.as(String(created.body.auth?.client_token))
}

const invalid = errors('wrapping token is not valid or does not exist')
const unchecked = (why: string) => errors(`error validating wrapping token: ${why}`)
const unwrapped = (token: string) => server.root.write('sys/wrapping/unwrap', { token })

describe('the response that replaces a wrapped one', () => {
  test('a wrapped response has a token, and nothing of the original', async () => {
    const { status, text, body, headers } = await server.root.read('auth/token/lookup-self', wrapFor('60'))

    expect([status, headers['content-type']]).toEqual([200, 'application/json'])
    expect(body).toEqual({
      request_id: '',
      lease_id: '',
      renewable: false,
      lease_duration: 0,
      data: null,
      wrap_info: {
        token: expect.stringMatching(/^hvs\.\w{24}$/),
        accessor: expect.stringMatching(/^\w{24}$/),
        ttl: 60,
        creation_time: '2026-11-21T00:00:00Z',
        creation_path: 'auth/token/lookup-self',
      },
      warnings: null,
      auth: null,
      mount_type: '',
    })
    expect(text.endsWith('\n')).toBe(true)
  })

  test('the token has one use and one policy, and expires with its TTL', async () => {
    const answer = await server.root.read('sys/mounts', wrapFor('1000h'))
    const { body } = await server.root.write('auth/token/lookup', { token: tokenIn(answer) })

    expect(body.data).toMatchObject({
      policies: ['response-wrapping'],
      num_uses: 1,
      ttl: 3_600_000,
      creation_ttl: 3_600_000,
      explicit_max_ttl: 3_600_000,
      renewable: false,
      orphan: true,
      display_name: '',
      path: 'sys/mounts',
      type: 'service',
      entity_id: '',
      meta: null,
    })
  })

  test("a list's path ends in a slash", async () => {
    const answer = await server.root.list('sys/policies/acl', wrapFor('60'))

    expect(answer.body.wrap_info?.creation_path).toBe('sys/policies/acl/')
  })

  test('a wrapped response with a token names its accessor', async () => {
    const answer = await server.root.write('auth/token/create', { policies: ['default'] }, wrapFor('60'))
    const inner = await unwrapped(tokenIn(answer))

    expect(inner.body.auth?.accessor).toBe(answer.body.wrap_info?.wrapped_accessor)
    expect(
      (await server.as(String(inner.body.auth?.client_token)).read('auth/token/lookup-self')).status,
    ).toBe(200)
  })

  test('the wrapping token can be revoked by its accessor, and does not end with the requesting token', async () => {
    const asking = await caller()
    const kept = await asking.read('auth/token/lookup-self', wrapFor('60'))
    const revoked = await asking.read('auth/token/lookup-self', wrapFor('60'))
    await asking.write('auth/token/revoke-self')
    await server.root.write('auth/token/revoke-accessor', { accessor: revoked.body.wrap_info?.accessor })

    expect((await unwrapped(tokenIn(kept))).body.data?.policies).toEqual(['default'])
    expect(await unwrapped(tokenIn(revoked))).toMatchObject({ status: 400, body: invalid })
  })

  test.each([
    { ttl: '500ms', shown: 0 },
    { ttl: '1500ms', shown: 1 },
    { ttl: '1h30m', shown: 5400 },
    { ttl: '2d', shown: 172_800 },
  ])('a wrap TTL of $ttl shows $shown', async ({ ttl, shown }) => {
    const answer = await server.root.read('auth/token/lookup-self', wrapFor(ttl))

    expect(answer.body.wrap_info?.ttl).toBe(shown)
    expect((await unwrapped(tokenIn(answer))).status).toBe(200)
  })

  test('the response is gone after its TTL', async () => {
    const [whole, part] = [await wrapped({}, '2s'), await wrapped({}, '10ms')]
    clock.advance(1)
    expect(await unwrapped(part)).toMatchObject({ status: 400, body: invalid })
    expect((await server.anonymous.write('sys/wrapping/lookup', { token: whole })).status).toBe(200)
    clock.advance(1)

    expect(await unwrapped(whole)).toMatchObject({ status: 400, body: invalid })
    expect(await server.anonymous.write('sys/wrapping/lookup', { token: whole })).toMatchObject({
      status: 400,
      body: invalid,
    })
  })
})

describe('sys/wrapping/wrap', () => {
  test.each([
    '{"zip":"zap","n":1}',
    '{"token":"abc","ttl":"1h","data":{"x":1},"wrap_ttl":5,"request_id":"r","auth":null}',
    '{"big":123456789012345678901234567890,"exact":1.10,"power":1e3}',
    '{"__proto__":{"a":1},"text":"\\u0000\\u2028\\ud83d\\ude00 <>&"}',
    '{}',
    '',
  ])('sys/wrapping/wrap returns what was sent: %s', async (raw) => {
    const answer = await server.root.write('sys/wrapping/wrap', undefined, { raw, ...wrapFor('60') })
    const { text, body } = await unwrapped(tokenIn(answer))

    expect(JSON.parse(text).data).toEqual(JSON.parse(raw || '{}'))
    for (const number of raw.match(/(?<=:)-?\d[\d.e]*/g) ?? []) expect(text).toContain(`:${number}`)
    expect(body.warnings).toBeNull()
  })

  test('the fields are only inside `data`', async () => {
    const answer = await server.root.write('sys/wrapping/wrap', { zip: 'zap', errors: ['x'] }, wrapFor('60'))
    const { body } = await unwrapped(tokenIn(answer))

    expect(Object.keys(body).sort()).toEqual([
      'auth',
      'data',
      'lease_duration',
      'lease_id',
      'mount_type',
      'renewable',
      'request_id',
      'warnings',
      'wrap_info',
    ])
  })

  test.each([{}, wrapFor('0'), wrapFor('')])('it is refused without a wrap TTL (%j)', async (options) => {
    expect(await server.root.write('sys/wrapping/wrap', { a: 1 }, options)).toMatchObject({
      status: 400,
      body: errors('endpoint requires response wrapping to be used'),
    })
  })

  test('only POST and PUT work, and only for a permitted caller', async () => {
    const nobody = await caller({ policies: ['nothing'], no_default_policy: true })

    expect(await server.root.read('sys/wrapping/wrap', wrapFor('60'))).toMatchObject({
      status: 405,
      body: errors(caused('unsupported operation')),
    })
    expect(await nobody.write('sys/wrapping/wrap', { a: 1 }, wrapFor('60'))).toMatchObject({
      status: 403,
      body: notAllowed,
    })
    expect(await server.anonymous.write('sys/wrapping/wrap', { a: 1 }, wrapFor('60'))).toMatchObject({
      status: 403,
      body: notAccepted,
    })
  })

  test('content larger than 16 MiB is refused', async () => {
    const answer = await server.root.write(
      'sys/wrapping/wrap',
      { a: 'x'.repeat(16 * 1024 * 1024) },
      wrapFor('60'),
    )

    expect([answer.status, errorText(answer.body)]).toEqual([
      400,
      expect.stringContaining('too large to wrap'),
    ])
  })
})

describe('sys/wrapping/lookup', () => {
  test.each([
    { name: 'POST', ask: (client: Client, token: string) => client.write('sys/wrapping/lookup', { token }) },
    {
      name: 'PUT',
      ask: (client: Client, token: string) => client.call('PUT', 'sys/wrapping/lookup', { token }),
    },
    {
      name: 'GET',
      ask: (client: Client, token: string) => client.read(`sys/wrapping/lookup?token=${token}`),
    },
  ])('$name shows time and path to any caller, and does not spend the token', async ({ ask }) => {
    const token = await wrapped({}, '77')

    for (const client of [server.anonymous, server.root, server.as('nope'), server.as(token)]) {
      const { status, body } = await ask(client, token)
      expect(status).toBe(200)
      expect(body.data).toEqual({
        creation_ttl: 77,
        creation_time: expect.stringMatching(/Z$/),
        creation_path: 'sys/wrapping/wrap',
      })
    }
    expect((await unwrapped(token)).status).toBe(200)
  })

  test('the token may be the calling one', async () => {
    const client = server.as(await wrapped())

    expect([
      (await client.read('sys/wrapping/lookup')).status,
      (await client.write('sys/wrapping/lookup')).status,
    ]).toEqual([200, 200])
  })
})

describe('sys/wrapping/unwrap', () => {
  test('the response is byte for byte the stored one, except for its own request id', async () => {
    const answer = await server.root.write(
      'auth/token/create',
      { policies: ['unknown-x'], zz: 1 },
      wrapFor('60'),
    )
    const { status, text, headers, body } = await unwrapped(tokenIn(answer))

    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'application/json',
      'no-store',
    ])
    expect(body.request_id).toMatch(/^[0-9a-f-]{36}$/)
    expect(body.warnings).toHaveLength(2)
    expect(text).toBe(`${JSON.stringify(body)}\n`)
  })

  test.each([
    { name: 'no body', raw: '' },
    { name: 'an empty body', raw: '{}' },
    { name: 'null', raw: 'null' },
    { name: 'a token that is null', raw: '{"token":null}' },
  ])('the wrapping token may be the caller, with $name', async ({ raw }) => {
    const client = server.as(await wrapped({ kept: true }))

    expect((await client.write('sys/wrapping/unwrap', undefined, { raw })).body.data).toEqual({ kept: true })
    expect(await client.write('sys/wrapping/unwrap', undefined, { raw })).toMatchObject({
      status: 400,
      body: invalid,
    })
  })

  test('a wrapping token that is both caller and in the body counts as the caller', async () => {
    const token = await wrapped({ kept: true })
    const client = server.as(token)

    expect((await client.write('sys/wrapping/unwrap', { token })).body.data).toEqual({ kept: true })
    expect(await client.write('sys/wrapping/unwrap', { token })).toMatchObject({ status: 400, body: invalid })
  })

  test('of two wrapping tokens the one in the body is unwrapped, and the calling one is spent', async () => {
    const [calling, meant] = [await wrapped({ which: 'calling' }), await wrapped({ which: 'body' })]

    expect((await server.as(calling).write('sys/wrapping/unwrap', { token: meant })).body.data).toEqual({
      which: 'body',
    })
    expect(await server.anonymous.write('sys/wrapping/lookup', { token: calling })).toMatchObject({
      status: 400,
      body: invalid,
    })
  })

  test('with a wrap TTL, the content is wrapped again', async () => {
    const again = await server.root.write(
      'sys/wrapping/unwrap',
      { token: await wrapped({ kept: true }) },
      wrapFor('40'),
    )

    expect(again.body).toMatchObject({
      data: null,
      wrap_info: { ttl: 40, creation_path: 'sys/wrapping/unwrap' },
    })
    expect((await unwrapped(tokenIn(again))).body).toMatchObject({ data: { kept: true }, wrap_info: null })
  })

  test.each([50, 2])(
    'of %i concurrent callers exactly one gets the response, and the others get 400',
    async (count) => {
      const clients = await Promise.all(Array.from({ length: 3 }, () => caller()))
      const token = await wrapped({ secret: 'once' })

      const answers = await Promise.all(
        Array.from({ length: count }, (_, at) =>
          at % 2 === 0
            ? (clients[at % 3] ?? server.root).write('sys/wrapping/unwrap', { token })
            : server.as(token).write('sys/wrapping/unwrap', at % 4 === 1 ? undefined : { token }),
        ),
      )

      expect(answers.filter(({ status }) => status === 200).map(({ body }) => body.data)).toEqual([
        { secret: 'once' },
      ])
      for (const { status, body } of answers.filter((answer) => answer.status !== 200))
        expect({ status, body }).toEqual({ status: 400, body: invalid })
    },
  )

  test('of a concurrent unwrap, rewrap and read of cubbyhole/response, one succeeds', async () => {
    for (let round = 0; round < 10; round += 1) {
      const token = await wrapped({ secret: 'once' })
      const answers = await Promise.all([
        server.root.write('sys/wrapping/unwrap', { token }),
        server.root.write('sys/wrapping/rewrap', { token }),
        server.as(token).read('cubbyhole/response'),
        server.as(token).write('sys/wrapping/unwrap'),
      ])

      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      for (const { status } of answers) expect([200, 400, 403]).toContain(status)
    }
  })
})

describe('sys/wrapping/rewrap', () => {
  test.each([
    { wish: undefined, ttl: 400 },
    { wish: '60', ttl: 60 },
    { wish: '1h', ttl: 400 },
  ])(
    'returns another token for the same content, for $ttl seconds if $wish is requested',
    async ({ wish, ttl }) => {
      const before = await server.root.write('auth/token/create', { policies: ['default'] }, wrapFor('400'))
      const after = await server.root.write(
        'sys/wrapping/rewrap',
        { token: tokenIn(before) },
        wish === undefined ? {} : wrapFor(wish),
      )

      expect(after.status).toBe(200)
      expect(after.body).toMatchObject({
        request_id: '',
        data: null,
        wrap_info: { ttl, creation_path: 'auth/token/create' },
      })
      expect(after.body.wrap_info).not.toHaveProperty('wrapped_accessor')
      expect(await unwrapped(tokenIn(before))).toMatchObject({ status: 400, body: invalid })
      expect(
        (await server.root.write('auth/token/lookup', { token: tokenIn(after) })).body.data,
      ).toMatchObject({ creation_ttl: ttl, num_uses: 1 })
      expect((await unwrapped(tokenIn(after))).body.auth?.accessor).toBe(
        before.body.wrap_info?.wrapped_accessor,
      )
    },
  )

  test('requires more than the default policy or the wrapping token itself', async () => {
    const token = await wrapped()

    expect(await (await caller()).write('sys/wrapping/rewrap', { token })).toMatchObject({
      status: 403,
      body: notAllowed,
    })
    expect(await server.as(token).write('sys/wrapping/rewrap')).toMatchObject({
      status: 403,
      body: notAllowed,
    })
    expect(await unwrapped(token)).toMatchObject({ status: 400, body: invalid })
  })

  test('gives the new token to one of ten concurrent callers', async () => {
    const token = await wrapped({ kept: true })
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => server.root.write('sys/wrapping/rewrap', { token })),
    )

    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      200,
      ...Array.from({ length: 9 }, () => 400),
    ])
  })
})

describe('what is refused', () => {
  const own = 'the token of the caller'
  test.each([
    { raw: '{}', by: undefined, status: 403, body: unchecked('token is empty') },
    { raw: '{"token":null}', by: undefined, status: 403, body: unchecked('token is empty') },
    { raw: '{"token":""}', by: undefined, status: 403, body: unchecked('empty token in request body') },
    { raw: '{"token":""}', by: own, status: 403, body: unchecked('empty token in request body') },
    { raw: '{"token":5}', by: own, status: 403, body: unchecked('could not decode token in request body') },
    {
      raw: '{"token":["x"]}',
      by: own,
      status: 403,
      body: unchecked('could not decode token in request body'),
    },
    { raw: '{"token":"nope"}', by: undefined, status: 400, body: invalid },
    { raw: '{"token":"nope"}', by: own, status: 400, body: invalid },
    { raw: '{"token":"root"}', by: own, status: 400, body: invalid },
    { raw: '{}', by: own, status: 400, body: invalid },
    { raw: '{}', by: 'nope', status: 400, body: invalid },
  ])('$raw by $by is $status $body.errors', async ({ raw, by, status, body }) => {
    const client = by === undefined ? server.anonymous : by === own ? await caller() : server.as(by)

    for (const path of ['lookup', 'unwrap', 'rewrap']) {
      expect(await client.write(`sys/wrapping/${path}`, undefined, { raw }), path).toMatchObject({
        status,
        body,
      })
    }
  })

  test('an invalid caller, or one without the right, does not spend a valid wrapping token', async () => {
    const nobody = await caller({ policies: ['nothing'], no_default_policy: true })
    const token = await wrapped()

    for (const path of ['unwrap', 'rewrap']) {
      expect(await nobody.write(`sys/wrapping/${path}`, { token }), path).toMatchObject({
        status: 403,
        body: notAllowed,
      })
      expect(await server.anonymous.write(`sys/wrapping/${path}`, { token }), path).toMatchObject({
        status: 403,
        body: notAccepted,
      })
      expect(await server.as('nope').write(`sys/wrapping/${path}`, { token }), path).toMatchObject({
        status: 403,
        body: invalidToken,
      })
    }
    expect((await unwrapped(token)).status).toBe(200)
  })

  test('for other verbs, the token is checked first, then the right, then the verb', async () => {
    const token = await wrapped()
    const nobody = await caller({ policies: ['nothing'], no_default_policy: true })
    const patch = { headers: { 'Content-Type': 'application/merge-patch+json' } }
    const unsupported = errors(caused('unsupported operation'))

    for (const path of ['sys/wrapping/unwrap', 'sys/wrapping/rewrap']) {
      expect(await server.root.read(`${path}?token=nope`)).toMatchObject({ status: 400, body: invalid })
      expect(await server.anonymous.read(path)).toMatchObject({
        status: 403,
        body: unchecked('token is empty'),
      })
      expect(await nobody.read(`${path}?token=${token}`)).toMatchObject({ status: 403, body: notAllowed })
      expect(await server.root.read(`${path}?token=${token}`)).toMatchObject({
        status: 405,
        body: unsupported,
      })
      expect(await server.root.delete(`${path}?token=${token}`)).toMatchObject({
        status: 405,
        body: unsupported,
      })
      expect(await server.root.call('PATCH', path, { token }, patch)).toMatchObject({
        status: 405,
        body: unsupported,
      })
    }
    expect(await server.anonymous.delete(`sys/wrapping/lookup?token=${token}`)).toMatchObject({
      status: 405,
      body: errors('unsupported operation'),
    })
    expect(await server.root.call('LIST', 'sys/wrapping/lookup')).toMatchObject({
      status: 404,
      body: errors(caused('unsupported path')),
    })
    expect((await server.anonymous.write('sys/wrapping/lookup', { token })).status).toBe(200)
    expect(await server.as(token).read('sys/wrapping/unwrap')).toMatchObject({
      status: 403,
      body: notAllowed,
    })
    expect(await unwrapped(token)).toMatchObject({ status: 400, body: invalid })
  })

  test.each(['auth/token/lookup-self', 'sys/mounts', 'cubbyhole/wrapinfo', 'cubbyhole/other', 'nope/x'])(
    'the wrapping token gets 403 at %s, and its use is spent',
    async (path) => {
      const token = await wrapped()

      expect(await server.as(token).read(path)).toMatchObject({ status: 403, body: notAllowed })
      expect(await unwrapped(token)).toMatchObject({ status: 400, body: invalid })
    },
  )

  test('the wrapping token can read cubbyhole/response, the old way, once', async () => {
    const token = await wrapped({ kept: true })
    const { status, body } = await server.as(token).read('cubbyhole/response')

    expect(status).toBe(200)
    expect(JSON.parse(String(body.data?.response)).data).toEqual({ kept: true })
    expect(body.warnings).toEqual([
      expect.stringMatching(/^Reading from 'cubbyhole\/response' is deprecated/),
    ])
    expect(await server.as(token).read('cubbyhole/response')).toMatchObject({
      status: 403,
      body: invalidToken,
    })
    expect(await unwrapped(token)).toMatchObject({ status: 400, body: invalid })
  })

  test('the wrapping token cannot replace the wrapped response', async () => {
    const token = await wrapped({ kept: true })

    expect(await server.as(token).write('cubbyhole/response', { response: 'forged' })).toMatchObject({
      status: 403,
      body: notAllowed,
    })
    expect(await unwrapped(token)).toMatchObject({ status: 400, body: invalid })
  })
})

describe('the namespace of the wrapping token decides', () => {
  const inside = (name: string, options: { headers?: Record<string, string> } = {}) => ({
    headers: { ...options.headers, 'X-Vault-Namespace': name },
  })
  const wrapInside = async (name: string, data: object): Promise<string> =>
    tokenIn(await server.root.write('sys/wrapping/wrap', data, inside(name, wrapFor('60'))))

  beforeAll(async () => {
    for (const name of ['here', 'there']) await server.root.write(`sys/namespaces/${name}`)
  })

  test('a token that ends in its namespace can be looked up and unwrapped from anywhere', async () => {
    const [first, second, third] = [
      await wrapInside('here', { a: 1 }),
      await wrapInside('here', { a: 2 }),
      await wrapInside('here', { a: 3 }),
    ]

    expect(first).toMatch(/^hvs\.\w{24}\.\w{6}$/)
    for (const options of [{}, inside('here'), inside('there')]) {
      expect((await server.anonymous.write('sys/wrapping/lookup', { token: first }, options)).status).toBe(
        200,
      )
    }
    expect((await server.root.write('sys/wrapping/unwrap', { token: first })).body.data).toEqual({ a: 1 })
    expect(
      (await server.root.write('sys/wrapping/unwrap', { token: second }, inside('there'))).body.data,
    ).toEqual({ a: 2 })
    expect((await server.as(third).write('sys/wrapping/unwrap')).body.data).toEqual({ a: 3 })
  })

  test('a rewrapped token belongs to the same namespace', async () => {
    const again = await server.root.write('sys/wrapping/rewrap', {
      token: await wrapInside('here', { a: 1 }),
    })

    expect(tokenIn(again)).toMatch(/\.\w{6}$/)
    expect((await unwrapped(tokenIn(again))).body.data).toEqual({ a: 1 })
  })

  test('a caller of one namespace has no rights on a wrapping token of another', async () => {
    const created = await server.root.write('auth/token/create', { policies: ['default'] }, inside('here'))
    const stranger = server.as(String(created.body.auth?.client_token))
    const token = await wrapInside('there', { a: 1 })

    expect(await stranger.write('sys/wrapping/unwrap', { token }, inside('here'))).toMatchObject({
      status: 403,
      body: notAllowed,
    })
    expect((await unwrapped(token)).body.data).toEqual({ a: 1 })
  })
})

test('a wrapped response can be looked up twice and unwrapped once', async () => {
  const answer = await server.root.read('auth/token/lookup-self', wrapFor('60'))
  expect(answer).toMatchObject({ status: 200, body: { request_id: '', data: null } })
  expect(answer.body.wrap_info).toMatchObject({ ttl: 60, creation_path: 'auth/token/lookup-self' })

  for (let time = 0; time < 2; time += 1) {
    const lookup = await server.anonymous.write('sys/wrapping/lookup', { token: tokenIn(answer) })
    expect(lookup).toMatchObject({ status: 200, body: { data: { creation_ttl: 60 } } })
  }

  const holder = server.as(tokenIn(answer))
  const inner = await holder.write('sys/wrapping/unwrap')
  expect(inner.status).toBe(200)
  expect(inner.body.request_id).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
  expect(await holder.write('sys/wrapping/unwrap')).toMatchObject({ status: 400, body: invalid })

  expect(await server.anonymous.write('sys/wrapping/unwrap')).toMatchObject({
    status: 403,
    body: unchecked('token is empty'),
  })
  expect((await server.root.write('sys/wrapping/wrap', { a: 1 })).status).toBe(400)
  expect(await server.root.delete('auth/token/roles/x', wrapFor('60'))).toMatchObject({
    status: 204,
    text: '',
  })
})
