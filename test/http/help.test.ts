import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors, notAccepted } from '../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await server.root.write('sys/namespaces/ns')
  await server.root.write('sys/auth/up', { type: 'userpass' })
  await server.root.write('sys/auth/ar', { type: 'approle' })
})
afterAll(() => server[Symbol.asyncDispose]())

const helpOf = async (path: string) => {
  const { status, body } = await server.root.read(`${path}?help=1`)
  expect(status, path).toBe(200)
  return { text: String(body.help), openapi: body.openapi, body }
}

describe('help', () => {
  test('help is a bare object with three members', async () => {
    const { body } = await helpOf('auth/jwt/role/x')

    expect(Object.keys(body)).toEqual(['help', 'see_also', 'openapi'])
    expect(body.see_also).toBeNull()
  })

  test("the text describes the path's purpose, its verbs and their fields", async () => {
    const { text } = await helpOf('auth/token/create')

    expect(text.split('\n')[0]).toBe('auth/token/create')
    expect(text).toContain('POST or PUT: Create a token')
    expect(text).toContain('    policies (list): Policies of the token')
    expect(text).toContain('    renewable (boolean, default true): Whether the token can be renewed')
    expect(text).toContain('Needs a token')
  })

  test.each([
    'sys',
    'auth/token',
    'identity',
    'cubbyhole',
    'auth/jwt',
    'secret',
    'cloud',
    'auth/up',
    'auth/ar',
  ])('the help of the mount %s begins with its purpose, before its paths', async (path) => {
    expect((await helpOf(path)).text).toMatch(/^## DESCRIPTION\n\n[A-Z][^\n]+\.\n\n## PATHS\n\n/)
  })

  test.each([
    { path: 'auth/jwt/login', says: 'Needs no token.' },
    { path: 'sys/auth/x', says: 'sudo' },
    { path: 'cubbyhole/some/where', says: 'cubbyhole/:path' },
    { path: 'sys/tools/random/7', says: 'sys/tools/random/:urlbytes' },
    { path: 'sys/policies/acl', says: 'LIST, or GET with list=true' },
    { path: 'sys/health', says: 'standbyok' },
    { path: 'sys/seal', says: 'sudo' },
    { path: 'ns/auth/token/lookup-self', says: 'auth/token/lookup-self' },
  ])('the help of $path says $says', async ({ path, says }) => {
    expect((await helpOf(path)).text).toContain(says)
  })

  test.each([
    { path: 'auth/jwt/role/x', shown: '/auth/jwt/role/{name}', verb: 'post' },
    { path: 'cubbyhole/a', shown: '/cubbyhole/{path}', verb: 'get' },
    { path: 'sys/health', shown: '/sys/health', verb: 'get' },
  ])(
    'the OpenAPI document of $path has only that path, and everything it refers to',
    async ({ path, shown, verb }) => {
      const { openapi } = await helpOf(path)

      expect(openapi).toMatchObject({
        openapi: '3.1.0',
        paths: { [shown]: { [verb]: { operationId: expect.any(String) } } },
      })
      expect(Object.keys(openapi?.paths ?? {})).toEqual([shown])
      for (const [, kind = '', name = ''] of JSON.stringify(openapi).matchAll(
        /"#\/components\/(\w+)\/([^"]+)"/g,
      )) {
        expect(openapi?.components?.[kind]?.[name], name).toBeTypeOf('object')
      }
    },
  )

  test.each(['sys', 'auth/token', 'auth/jwt', 'identity', 'cubbyhole'])(
    '%s lists its paths',
    async (mount) => {
      const { text } = await helpOf(mount)

      expect(text).toMatch(new RegExp(`\\n\\nThe paths of ${mount}/`))
      expect(text).toContain(`\n\n${mount}/`)
    },
  )

  test('the verb HELP returns the same, with any token, and without one on open paths', async () => {
    const created = await server.root.write('auth/token/create', { policies: ['default'] })
    const plain = server.as(String(created.body.auth?.client_token))

    expect((await plain.call('HELP', 'sys/mounts')).status).toBe(200)
    expect((await server.anonymous.read('auth/jwt/login?help=1')).status).toBe(200)
    expect((await server.anonymous.read('sys/health?help=1')).status).toBe(200)
    for (const path of ['sys/mounts?help=1', 'sys/seal?help=1', 'sys?help=1']) {
      expect(await server.anonymous.read(path)).toMatchObject({ status: 403, body: notAccepted })
    }
  })

  test('help is refused for an unmounted path, and for an unknown path of a mount', async () => {
    expect(await server.root.read('nope?help=1')).toMatchObject({
      status: 404,
      body: errors('no handler for route "nope". route entry not found.'),
    })
    expect((await server.root.read('auth/jwt/nope?help=1')).status).toBe(404)
  })

  test('a wrap TTL has no effect on help, and a wrapping path returns help without a wrapping token', async () => {
    const wish = { headers: { 'X-Vault-Wrap-TTL': '60' } }

    expect((await server.root.read('sys/wrapping/unwrap?help=1', wish)).body.help).toContain(
      'Unwrap a response',
    )
    expect((await server.root.read('sys/mounts?help=', wish)).body.wrap_info).not.toBeNull()
  })
})
