import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, inside, type Json } from '../../support/client.ts'
import { caused, errors, notAccepted } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

let server: TestServer
let user: Client
let auth: Json | undefined

const rules = `
path "auth/jwt/role/*" { capabilities = ["read"] }
path "all/*" { capabilities = ["update", "create", "sudo", "delete", "list", "patch", "read", "scan"] }
path "all/denied" { capabilities = ["deny"] }
path "exact" { capabilities = ["delete", "create"] }`

beforeAll(async () => {
  server = await startTestServer()
  await server.root.write('sys/policies/acl/u', { policy: rules })
  auth = (await server.root.write('auth/token/create', { policies: ['u'] })).body.auth
  user = server.as(String(auth?.client_token))
})
afterAll(() => server[Symbol.asyncDispose]())

const everything = ['create', 'delete', 'list', 'patch', 'read', 'scan', 'sudo', 'update']

describe('the capabilities of the caller', () => {
  test('very many paths in one request are refused', async () => {
    const asked = (count: number) => ({ paths: Array.from({ length: count }, (_, at) => `p${at}`).join(',') })

    expect((await user.write('sys/capabilities-self', asked(10_000))).status).toBe(200)
    expect(await user.write('sys/capabilities-self', asked(10_001))).toMatchObject({
      status: 400,
      body: errors('too many paths: at most 10000 at a time'),
    })
  })

  test.each([
    {
      name: 'several paths',
      sent: { paths: ['auth/jwt/role/a', 'cloud/config'] },
      data: { 'auth/jwt/role/a': ['read'], 'cloud/config': ['deny'] },
    },
    {
      name: 'one path, old field',
      sent: { path: 'exact' },
      data: { exact: ['create', 'delete'], capabilities: ['create', 'delete'] },
    },
    {
      name: 'two paths in one text',
      sent: { paths: 'exact, all/x' },
      data: { exact: ['create', 'delete'], 'all/x': everything },
    },
    {
      name: 'paths win over path',
      sent: { paths: 'exact', path: 'all/x' },
      data: { exact: ['create', 'delete'], capabilities: ['create', 'delete'] },
    },
    {
      name: 'an empty list does not',
      sent: { paths: [], path: 'exact' },
      data: { exact: ['create', 'delete'], capabilities: ['create', 'delete'] },
    },
    {
      name: 'the same path twice',
      sent: { paths: ['exact', 'exact'] },
      data: { exact: ['create', 'delete'] },
    },
    {
      name: 'a slash before it stays in the key',
      sent: { paths: ['/exact'] },
      data: { '/exact': ['create', 'delete'], capabilities: ['create', 'delete'] },
    },
    { name: 'deny', sent: { paths: 'all/denied' }, data: { 'all/denied': ['deny'], capabilities: ['deny'] } },
    {
      name: 'a token field is not looked at',
      sent: { paths: 'exact', token: 'root' },
      data: { exact: ['create', 'delete'], capabilities: ['create', 'delete'] },
    },
  ])('$name', async ({ sent, data }) => {
    const { status, body } = await user.write('sys/capabilities-self', sent)

    expect(status).toBe(200)
    expect(body.data).toEqual(data)
    expect(body).toMatchObject(data)
  })

  // as `vault token capabilities Auth` asks; Go fills the field `auth` from every key that equals `auth` in
  // any case, and fails on a list
  test.each(['auth', 'Auth', 'DATA', 'Renewable', 'lease_Duration', 'lea\u017Fe_id'])(
    'a path with a name of the envelope, %j, does not appear at the top level',
    async (path) => {
      const { status, body } = await user.write('sys/capabilities-self', {
        token: String(auth?.client_token),
        path,
      })

      expect(status).toBe(200)
      expect(body.data).toEqual({ [path]: ['deny'], capabilities: ['deny'] })
      const keys = Object.keys(body).map((key) => key.toUpperCase())
      expect(keys).toEqual([...new Set(keys)])
    },
  )

  test('root has the capability root', async () => {
    expect((await server.root.write('sys/capabilities-self', { paths: 'anything' })).body.data).toEqual({
      anything: ['root'],
      capabilities: ['root'],
    })
  })

  test.each(['__proto__', 'constructor', 'hasOwnProperty', 'capabilities', 'request_id', 'data'])(
    'a path may be called %s',
    async (path) => {
      const { text } = await server.root.write('sys/capabilities-self', { paths: [path, 'other'] })

      expect(Object.entries(JSON.parse(text).data)).toContainEqual([path, ['root']])
      expect(JSON.parse(text).request_id).toMatch(/^[0-9a-f-]{36}$/)
    },
  )

  test.each([
    { name: 'none', sent: {}, body: errors('paths must be supplied') },
    { name: 'an empty text', sent: { paths: '' }, body: errors('paths must be supplied') },
    { name: 'an empty path', sent: { paths: [''] }, body: errors(caused('missing path')) },
    { name: 'one empty among others', sent: { paths: ['a', null] }, body: errors(caused('missing path')) },
  ])('$name is refused', async ({ sent, body }) => {
    expect(await user.write('sys/capabilities-self', sent)).toMatchObject({ status: 400, body })
  })

  test.each(['GET', 'DELETE'])('%s is 405', async (verb) => {
    expect(await server.root.call(verb, 'sys/capabilities-self')).toMatchObject({
      status: 405,
      body: errors(caused('unsupported operation')),
    })
  })
})

describe('the capabilities of another token', () => {
  test('a token is found by its id and by its accessor', async () => {
    for (const [path, field] of [
      ['sys/capabilities', { token: auth?.client_token }],
      ['sys/capabilities-accessor', { accessor: auth?.accessor }],
    ] as const) {
      const { status, body } = await server.root.call('PUT', path, { ...field, paths: ['exact', 'no'] })
      expect(status).toBe(200)
      expect(body.data).toEqual({ exact: ['create', 'delete'], no: ['deny'] })
      expect(body).toMatchObject({ exact: ['create', 'delete'] })
    }
  })

  test.each([
    { name: 'no token', path: 'sys/capabilities', sent: { paths: 'x' }, body: errors('no token found') },
    { name: 'no token, no paths', path: 'sys/capabilities', sent: {}, body: errors('no token found') },
    {
      name: 'no paths',
      path: 'sys/capabilities',
      sent: { token: 'nope' },
      body: errors('paths must be supplied'),
    },
    {
      name: 'an unknown token',
      path: 'sys/capabilities',
      sent: { token: 'nope', paths: 'x' },
      body: errors(caused('invalid token')),
    },
    {
      name: 'no accessor',
      path: 'sys/capabilities-accessor',
      sent: { paths: 'x' },
      body: errors('missing accessor'),
    },
    {
      name: 'an unknown accessor',
      path: 'sys/capabilities-accessor',
      sent: { accessor: 'nope', paths: 'x' },
      body: errors(caused('invalid accessor')),
    },
  ])('$name is refused', async ({ path, sent, body }) => {
    expect(await server.root.write(path, sent)).toMatchObject({ status: 400, body })
  })

  test('asking about another token requires its own capability', async () => {
    expect((await user.write('sys/capabilities', { token: 'root', paths: 'x' })).status).toBe(403)
    expect(await server.anonymous.write('sys/capabilities-self', { paths: 'x' })).toMatchObject({
      status: 403,
      body: notAccepted,
    })
  })
})

describe('which rights are visible where', () => {
  test('a token of a child namespace has capabilities on the paths that lead into it', async () => {
    await server.root.write('sys/namespaces/up')
    await server.root.write('sys/namespaces/down', {}, inside('up'))
    const policy = { policy: 'path "x/*" { capabilities = ["read"] }' }
    await server.root.write('sys/policies/acl/p', policy, inside('up/down'))
    const { body } = await server.root.write('auth/token/create', { policies: ['p'] }, inside('up/down'))
    const { client_token: token, accessor } = body.auth ?? {}
    const asked = async (namespace: string, paths: string) => {
      const options = namespace === '' ? {} : inside(namespace)
      const answers = [
        await server.root.write('sys/capabilities', { token, paths }, options),
        await server.root.write('sys/capabilities-accessor', { accessor, paths }, options),
      ]
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      expect(answers[0]?.body.data).toEqual(answers[1]?.body.data)
      return answers[0]?.body.data?.['capabilities']
    }

    expect(await asked('', 'up/down/x/a')).toEqual(['read'])
    expect(await asked('up', '/down/x/a')).toEqual(['read'])
    expect(await asked('up/down', 'x/a')).toEqual(['read'])
    for (const path of ['x/a', 'up/x/a', 'up/downx/a', 'sys/health', 'up/down'])
      expect(await asked('', path)).toEqual(['deny'])
  })

  test('a token of a sibling namespace is unknown by id and by accessor', async () => {
    for (const name of ['one', 'two']) await server.root.write(`sys/namespaces/${name}`)
    const { body } = await server.root.write('auth/token/create', { policies: ['default'] }, inside('one'))
    const { client_token: token, accessor } = body.auth ?? {}

    for (const options of [inside('two')]) {
      expect(await server.root.write('sys/capabilities', { token, paths: 'x' }, options)).toMatchObject({
        status: 400,
        body: errors(caused('invalid token')),
      })
      expect(
        await server.root.write('sys/capabilities-accessor', { accessor, paths: 'x' }, options),
      ).toMatchObject({ status: 400, body: errors(caused('invalid accessor')) })
    }
    expect(
      (await server.root.write('sys/capabilities', { token, paths: 'cubbyhole/a' }, inside('one'))).status,
    ).toBe(200)
  })

  test('a token whose entity is disabled is not valid', async () => {
    const entity = await server.root.write('identity/entity', { name: 'gone' })
    const jwt = await server.root.read('sys/auth/token')
    await server.root.write('identity/entity-alias', {
      name: 'gone',
      canonical_id: entity.body.data?.id,
      mount_accessor: jwt.body.data?.accessor,
    })
    await server.root.write('auth/token/roles/named', {
      allowed_entity_aliases: 'gone',
      allowed_policies: 'default',
    })
    const { body } = await server.root.write('auth/token/create/named', {
      entity_alias: 'gone',
      policies: ['default'],
    })
    const { client_token: token, accessor } = body.auth ?? {}
    expect((await server.root.write('sys/capabilities', { token, paths: 'x' })).status).toBe(200)

    await server.root.write('identity/entity/name/gone', { disabled: true })

    expect(await server.root.write('sys/capabilities', { token, paths: 'x' })).toMatchObject({
      status: 400,
      body: errors(caused('invalid token')),
    })
    expect(await server.root.write('sys/capabilities-accessor', { accessor, paths: 'x' })).toMatchObject({
      status: 400,
      body: errors(caused('invalid token')),
    })
  })

  test('the response for a UI names no path of a sibling or parent namespace', async () => {
    await server.root.write('sys/policies/acl/some', {
      policy: 'path "three/a" { capabilities = ["read"] }\npath "four/b" { capabilities = ["read"] }',
    })
    for (const name of ['three', 'four']) await server.root.write(`sys/namespaces/${name}`)
    const policy = 'path "three/sys/internal/ui/resultant-acl" { capabilities = ["read"] }'
    await server.root.write('sys/policies/acl/see', { policy })
    const { body } = await server.root.write('auth/token/create', {
      policies: ['some', 'see'],
      no_default_policy: true,
    })

    const told = await server.as(String(body.auth?.client_token)).read('three/sys/internal/ui/resultant-acl')

    expect(Object.keys(told.body.data?.exact_paths ?? {}).toSorted()).toEqual([
      'a',
      'sys/internal/ui/resultant-acl',
    ])
    expect(told.text).not.toContain('four')
  })
})

describe('resultant-acl', () => {
  test('the resultant ACL of root is root', async () => {
    expect((await server.root.read('sys/internal/ui/resultant-acl')).body.data).toEqual({ root: true })
  })

  test('the resultant ACL of other tokens lists their rules', async () => {
    const { body } = await user.read('sys/internal/ui/resultant-acl')

    expect(body.data?.root).toBe(false)
    expect(body.data?.exact_paths).toMatchObject({
      exact: { capabilities: ['create', 'delete'] },
      'all/denied': { capabilities: ['deny'] },
    })
    expect(body.data?.glob_paths).toMatchObject({ 'auth/jwt/role/': { capabilities: ['read'] } })
  })
})
