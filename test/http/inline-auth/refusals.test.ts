import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Headers,
  inlineLogin,
  type JwtDesk,
  openJwtDesk,
  outcomeOf,
  parameter,
  parameterOf,
  written,
} from '../../support/jwt-desk.ts'

const prefix = 'failed to perform inline authentication: '
const x = 'X-Vault-Inline-Auth-'
const other = `${x}Parameter-other`

let desk: JwtDesk
beforeAll(async () => {
  desk = await openJwtDesk()
  await written(desk.root, 'sys/namespaces/team', {})
})
afterAll(() => desk[Symbol.asyncDispose]())

const asked = async (headers: Headers, path = 'kv/x', how = {}) =>
  outcomeOf(await desk.ask(path, headers, how))
const served = [200, '', false]

test('a request is served with the rights of the login in its headers', async () => {
  expect((await desk.ask('kv/x')).body).toMatchObject({ data: { a: '1' } })
})

describe('before the login', () => {
  type Before = { method?: string; body?: unknown; status?: number }
  test.each<[string, Headers, Before]>([
    ['a body that is no object', {}, { method: 'POST', body: 5 }],
    ['an unknown namespace', { 'X-Vault-Namespace': 'nope' }, { status: 404 }],
    ['a negative wrap TTL', { 'X-Vault-Wrap-TTL': '-5' }, {}],
  ])(
    '%s refuses the request: the login is not run',
    async (_, more, { method = 'GET', body, status = 400 }: Before) => {
      const answer = await desk.ask('kv/x', desk.head({ jwt: 'bad' }, more), { method, body })

      expect(answer.status).toBe(status)
      expect(answer.headers['x-vault-inline-auth-failed']).toBeUndefined()
    },
  )

  test.each(['sys/health', 'sys/seal-status', 'sys/init'])('%s ignores the headers', async (path) => {
    expect(await asked({ [`${x}Path`]: ['a', 'b'] }, path)).toEqual(served)
  })
})

describe('headers that describe no login', () => {
  test.each<[string, (head: Headers) => Headers, string]>([
    [
      'two paths',
      (head) => ({ ...head, [`${x}Path`]: ['auth/jwt/login', 'auth/jwt/login'] }),
      'expected exactly one value for X-Vault-Inline-Auth-Path',
    ],
    [
      'a token',
      (head) => ({ ...head, 'X-Vault-Token': 'root' }),
      'cannot layer inline authentication with token authentication',
    ],
    [
      'an unknown token',
      (head) => ({ ...head, 'X-Vault-Token': 'nope' }),
      'cannot layer inline authentication with token authentication',
    ],
    [
      'a bearer',
      (head) => ({ ...head, Authorization: 'Bearer nope' }),
      'cannot layer inline authentication with token authentication',
    ],
    [
      'two operations',
      (head) => ({ ...head, [`${x}Operation`]: ['update', 'update'] }),
      'expected exactly one value for X-Vault-Inline-Auth-Operation',
    ],
    [
      'an empty operation',
      (head) => ({ ...head, [`${x}Operation`]: '' }),
      'expected a valid login operation in X-Vault-Inline-Auth-Operation',
    ],
    [
      'a verb',
      (head) => ({ ...head, [`${x}Operation`]: 'POST' }),
      'expected a valid login operation in X-Vault-Inline-Auth-Operation',
    ],
    [
      'another operation',
      (head) => ({ ...head, [`${x}Operation`]: 'renew' }),
      'expected a valid login operation in X-Vault-Inline-Auth-Operation',
    ],
    [
      'two namespaces',
      (head) => ({ ...head, [`${x}Namespace`]: ['', ''] }),
      'expected at most one value for X-Vault-Inline-Auth-Namespace',
    ],
    [
      'an unknown namespace',
      (head) => ({ ...head, [`${x}Namespace`]: 'TEAM' }),
      'inline auth namespace was not found',
    ],
    [
      'padding',
      (head) => ({ ...head, [other]: `${parameterOf('{"key":"x","value":"y"}')}=` }),
      'failed raw url-safe base64 decoding header value',
    ],
    [
      'the other alphabet',
      (head) => ({ ...head, [other]: 'eyJrZXkiOiJ4IiwidmFsdWUiOiI/Pz8+Pj5+fn4ifQ' }),
      'failed raw url-safe base64 decoding header value',
    ],
    [
      'a blank inside',
      (head) => ({ ...head, [other]: 'eyJ rZXk' }),
      'failed raw url-safe base64 decoding header value',
    ],
    ['nothing', (head) => ({ ...head, [other]: '' }), 'failed json decoding header value'],
    ['a list', (head) => ({ ...head, [other]: parameterOf('[1]') }), 'failed json decoding header value'],
    ['a text', (head) => ({ ...head, [other]: parameterOf('"x"') }), 'failed json decoding header value'],
    [
      'bytes that are no text',
      (head) => ({
        ...head,
        [other]: Buffer.from('{"key":"x","value":"\xff"}', 'latin1').toString('base64url'),
      }),
      'failed json decoding header value',
    ],
    [
      'text after the object',
      (head) => ({ ...head, [other]: parameterOf('{"key":"x","value":1} 5') }),
      'failed json decoding header value',
    ],
    ['null', (head) => ({ ...head, [other]: parameterOf('null') }), 'decoded header lacked `key` field'],
    [
      'no key',
      (head) => ({ ...head, [other]: parameterOf('{"value":1}') }),
      'decoded header lacked `key` field',
    ],
    [
      'members in capitals',
      (head) => ({ ...head, [other]: parameterOf('{"Key":"x","Value":1}') }),
      'decoded header lacked `key` field',
    ],
    [
      'a key that is no text',
      (head) => ({ ...head, [other]: parameterOf('{"key":null,"value":1}') }),
      'decoded header had incorrect type for `key` field',
    ],
    [
      'no value',
      (head) => ({ ...head, [other]: parameterOf('{"key":"x"}') }),
      'decoded header lacked `value` field',
    ],
    [
      'a third member',
      (head) => ({ ...head, [other]: parameterOf('{"key":"x","value":1,"z":1}') }),
      'unexpected field in decoded request parameter',
    ],
    [
      'the same header twice',
      (head) => ({ ...head, [other]: [parameter('a', 1), parameter('b', 1)] }),
      'expected exactly one value for each auth header parameter',
    ],
    [
      'two values for one key',
      (head) => ({ ...head, [other]: parameter('role', 'nope') }),
      'expected exactly one value for each auth header parameter',
    ],
  ])('%s: 400', async (_, change, text) => {
    expect(await asked(change(desk.head()))).toEqual([400, prefix + text, true])
  })

  test('the first of several mistakes is the answer', async () => {
    const head = desk.head()
    const mistakes: Headers[] = [
      { [`${x}Path`]: ['a', 'b'] },
      { 'X-Vault-Token': 'nope' },
      { [`${x}Operation`]: 'x' },
      { [`${x}Namespace`]: 'nope' },
      { [other]: '!' },
      { [`${x}Path`]: 'nope' },
    ]
    const texts = [
      'X-Vault-Inline-Auth-Path',
      'layer',
      'operation',
      'namespace',
      'base64',
      'permission denied',
    ]

    for (const [first, text] of texts.entries()) {
      const made = Object.assign({}, head, ...mistakes.slice(first).toReversed())
      expect(outcomeOf(await desk.ask('kv/x', made))[1], text).toContain(text)
    }
  })

  test('an empty token, another scheme and a cookie are no tokens', async () => {
    const harmless: Headers[] = [
      { 'X-Vault-Token': '' },
      { Authorization: 'Bearer ' },
      { Authorization: 'Basic eDp5' },
      { Cookie: 'token=root' },
    ]

    for (const more of harmless) expect(await asked({ ...desk.head(), ...more })).toEqual(served)
  })

  test('without a path, the other headers mean nothing', async () => {
    const { [`${x}Path`]: _path, ...rest } = desk.head(
      {},
      { [`${x}Operation`]: 'nope', 'X-Vault-Token': 'root' },
    )

    expect(await asked(rest)).toEqual(served)
  })

  test('the answer has the request id beside the errors', async () => {
    const { body } = await desk.ask('kv/x', desk.head({ role: 'nope' }))

    expect(body).toEqual({
      errors: ['role "nope" could not be found'],
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
  })
})

describe('parameters', () => {
  const path = { [`${x}Path`]: 'auth/jwt/login' }

  test('the key counts, not what stands behind the dash', async () => {
    const named = {
      [`${x}Parameter-role`]: parameter('jwt', desk.jwt()),
      [`${x}Parameter-`]: parameter('role', 'dev'),
    }

    expect(await asked({ ...path, ...named })).toEqual(served)
    expect(await asked({ ...path, [`${x}Parameter`]: parameter('jwt', desk.jwt()) })).toEqual([
      400,
      'missing token',
      true,
    ])
  })

  test('names of headers may be in any case', async () => {
    const lower = Object.entries(desk.head()).map(([name, value]) => [name.toLowerCase(), value])

    expect(await asked(Object.fromEntries(lower))).toEqual(served)
  })

  test('the same value twice, an unknown key and an empty key do no harm', async () => {
    for (const value of [parameter('role', 'dev'), parameter('other', { a: [1] }), parameter('', 'x')])
      expect(await asked({ ...desk.head(), [other]: value })).toEqual(served)
  })

  test('the last of two members counts', async () => {
    const role = parameterOf('{"key":"role","value":"nope","value":"dev"}')

    expect(await asked({ ...desk.head({ role: undefined }), [`${x}Parameter-r`]: role })).toEqual(served)
  })

  test('unused bits of the last sextet do not matter', async () => {
    expect(await asked({ ...desk.head(), [other]: 'eyJrZXkiOiJ4IiwidmFsdWUiOiJ5In1' })).toEqual(served)
  })

  test('values have the types of the login', async () => {
    expect(await asked(desk.head({ role: null }))).toEqual(served)
    expect(await asked(desk.head({ role: 5 }))).toEqual([400, 'role "5" could not be found', true])
    const [status, text, failed] = await asked(desk.head({ role: { a: 1 } }))
    expect([status, failed]).toEqual([400, true])
    expect(text).toMatch(/^Field validation failed: error converting input for field "role": /)
  })

  test('one of 80,000 characters is accepted', async () => {
    const long = parameter('other', 'y'.repeat(59_960))

    expect(long.length).toBeGreaterThanOrEqual(79_900)
    expect(await asked({ ...desk.head(), [other]: long })).toEqual(served)
  })
})

describe('the login', () => {
  test.each([
    ['a role that does not exist', { role: 'nope' }, 'role "nope" could not be found'],
    ['no token', { jwt: undefined }, 'missing token'],
  ])('%s: its own refusal, without a prefix', async (_, fields, text) => {
    expect(await asked(desk.head(fields))).toEqual([400, text, true])
  })

  test('a bad signature has its own text', async () => {
    const [status, text, failed] = await asked(desk.head({ jwt: 'x' }))

    expect([status, failed]).toEqual([400, true])
    expect(text).toMatch(/^error validating token: error verifying token signature: /)
  })

  test('403 and what Vault takes for a failure have the prefix', async () => {
    await desk.role('far', { token_bound_cidrs: ['10.1.2.3'] })
    await written(desk.root, 'sys/auth/approle', { type: 'approle' })

    expect(await asked(desk.head({ role: 'far' }))).toEqual([403, `${prefix}permission denied`, true])
    expect(await asked(inlineLogin('auth/approle/login', { secret_id: 'x' }))).toEqual([
      400,
      `${prefix}missing role_id`,
      true,
    ])
    expect(await asked(desk.head({ jwt: desk.jwt({ sub: '' }) }))).toEqual([
      400,
      `${prefix}missing name in alias`,
      true,
    ])
  })

  test('a disabled entity is 403 with the prefix', async () => {
    const head = () => desk.head({ jwt: desk.jwt({ sub: 'off' }) })
    const own = await desk.root.write('auth/jwt/login', { role: 'dev', jwt: desk.jwt({ sub: 'off' }) })
    await written(desk.root, `identity/entity/id/${own.body.auth?.entity_id}`, { disabled: true })

    expect(await asked(head())).toEqual([403, `${prefix}permission denied`, true])
  })

  test('an operation that is not offered there is 405', async () => {
    expect(await asked(desk.head({}, { [`${x}Operation`]: 'read' }))).toEqual([
      405,
      `${prefix}unsupported operation`,
      true,
    ])
    expect(await asked(desk.head({}, { [`${x}Operation`]: 'create' }))).toEqual(served)
  })

  test('a role that would hand out root is refused', async () => {
    await desk.role('top', { token_policies: ['root'] })

    expect(await asked(desk.head({ role: 'top' }))).toEqual([
      400,
      'auth methods cannot create root tokens',
      true,
    ])
  })

  test('its refusal is the answer, also where the request would be refused', async () => {
    expect((await asked(desk.head({ role: 'nope' }), 'sys/mounts'))[0]).toBe(400)
    expect(await asked(desk.head(), 'sys/mounts')).toEqual([
      403,
      '1 error occurred:\n\t* permission denied\n\n',
      false,
    ])
    expect(await asked(desk.head(), 'kv/none')).toEqual([404, '', false])
  })

  test('its refusal is never wrapped', async () => {
    expect(await asked(desk.head({ role: 'nope' }, { 'X-Vault-Wrap-TTL': '60' }))).toEqual([
      400,
      'role "nope" could not be found',
      true,
    ])
  })

  test('in a locked namespace it is refused like any login there', async () => {
    const { body } = await desk.root.write('sys/namespaces/api-lock/lock/team', {})
    try {
      const [status, text, failed] = await asked(desk.head({}, { [`${x}Namespace`]: 'team' }))
      expect([status, failed]).toEqual([503, true])
      expect(text).toContain('has been locked by an administrator')
    } finally {
      await desk.root.write('sys/namespaces/api-lock/unlock/team', { unlock_key: body.data?.unlock_key })
    }
  })
})

describe('the path', () => {
  test.each([
    'jwt/login',
    '/auth/jwt/login',
    'v1/auth/jwt/login',
    'AUTH/jwt/login',
    'auth/jwt%2Flogin',
    'auth/jwt/login?x=1',
    'auth/foo/../jwt/login',
    '',
    'auth/nope/login',
    'auth/jwt/nope',
    'kv/x',
    'auth/token/create',
    'auth/jwt/config',
    'sys/internal/ui/mounts',
    'auth/jwt/oidc/auth_url',
    'sys/wrapping/unwrap',
    'sys/health',
  ])('%j is no login: 403', async (path) => {
    for (const operation of ['update', 'read'])
      expect(await asked({ ...desk.head({}, { [`${x}Operation`]: operation }), [`${x}Path`]: path })).toEqual(
        [403, 'permission denied', true],
      )
  })

  test('a slash at its end is refused as in any write', async () => {
    expect(await asked({ ...desk.head(), [`${x}Path`]: 'auth/jwt/login/' })).toEqual([
      400,
      "cannot write to a path ending in '/'",
      true,
    ])
  })

  test('blanks at its ends are cut', async () => {
    expect(await asked({ ...desk.head(), [`${x}Path`]: '  auth/jwt/login ' })).toEqual(served)
  })
})

test('what describes no login is logged without what was sent', async () => {
  const written: string[] = []
  await using logged = await openJwtDesk({
    log: pino({}, { write: (line: string) => void written.push(line) }),
  })

  await logged.ask('kv/x', { ...logged.head(), [other]: 'c2VjcmV0LXRleHQ' })

  const line = written.find((one) => one.includes('inline_auth_refused')) ?? ''
  expect(JSON.parse(line)).toMatchObject({
    error: `${prefix}failed json decoding header value`,
    remote_address: '127.0.0.1',
  })
  expect(written.join()).not.toContain('c2VjcmV0')
})

test('a JWT whose issuer no mount knows is logged without what was sent', async () => {
  const written: string[] = []
  await using logged = await openJwtDesk({
    log: pino({}, { write: (line: string) => void written.push(line) }),
  })

  const refused = await logged.ask('kv/x', { 'X-Vault-Token': logged.jwt({ iss: 'https://c2VjcmV0' }) })

  expect(outcomeOf(refused)).toEqual([403, 'permission denied', false])
  const line = written.find((one) => one.includes('inline_auth_refused')) ?? ''
  expect(JSON.parse(line)).toMatchObject({ error: expect.stringContaining('no mount takes the JWTs') })
  expect(written.join()).not.toContain('c2VjcmV0')
})
