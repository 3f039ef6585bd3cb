import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../support/client.ts'
import { notAllowed } from '../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

let server: TestServer
let made = 0

beforeAll(async () => {
  server = await startTestServer()
  await server.root.write('sys/namespaces/ns')
})
afterAll(() => server[Symbol.asyncDispose]())

async function holder(
  capabilities: readonly string[],
  namespace: string,
  ...paths: string[]
): Promise<Client> {
  const options = namespace === '' ? {} : { headers: { 'X-Vault-Namespace': namespace } }
  const name = `p${++made}`
  const policy = paths
    .map((path) => `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }`)
    .join('\n')
  expect((await server.root.write(`sys/policies/acl/${name}`, { policy }, options)).status).toBe(204)
  return server.as(
    String(
      (await server.root.write('auth/token/create', { policies: [name], no_default_policy: true }, options))
        .body.auth?.client_token,
    ),
  )
}

const plain = ['create', 'read', 'update', 'delete', 'list', 'patch', 'scan']
const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'a' }

describe('what sudo is for', () => {
  test.each([
    { verb: 'LIST', path: 'auth/token/accessors' },
    { verb: 'LIST', path: 'auth/token/accessors/' },
    ...['GET', 'POST', 'DELETE'].flatMap((verb) =>
      ['new', 'new/deep'].map((name) => ({ verb, path: `sys/auth/${name}` })),
    ),
    { verb: 'GET', path: 'sys/auth/jwt/' },
    { verb: 'GET', path: 'sys/auth/jwt/tune' },
    { verb: 'POST', path: 'sys/auth/jwt/tune' },
    { verb: 'GET', path: 'sys/leases' },
    { verb: 'LIST', path: 'sys/leases/lookup/cloud' },
    { verb: 'LIST', path: 'sys/leases/lookup/cloud/creds/' },
    ...['leases/revoke-prefix', 'leases/revoke-force', 'revoke-prefix', 'revoke-force'].map((path) => ({
      verb: 'POST',
      path: `sys/${path}/cloud/none`,
    })),
    { verb: 'POST', path: 'sys/remount' },
  ])('$verb $path needs sudo, in the root and below', async ({ verb, path }) => {
    for (const namespace of ['', 'ns']) {
      const at = namespace === '' ? path : `${namespace}/${path}`
      const without = await holder(plain, namespace, '*')
      const exactly = await holder(plain, namespace, path, `${path}/`.replace('//', '/'))
      const holding = await holder([...plain, 'sudo'], namespace, '*')

      for (const client of [without, exactly])
        expect((await client.call(verb, at, verb === 'POST' ? {} : undefined)).body).toEqual(notAllowed)
      expect((await holding.call(verb, at, verb === 'POST' ? {} : undefined)).status).not.toBe(403)
      // on its own it grants nothing
      expect(
        (await (await holder(['sudo'], namespace, '*')).call(verb, at, verb === 'POST' ? {} : undefined))
          .body,
      ).toEqual(notAllowed)
    }
  })

  test.each([
    { verb: 'POST', path: 'sys/rotate' },
    { verb: 'POST', path: 'sys/rotate/keyring' },
    { verb: 'POST', path: 'sys/rotate/root' },
    { verb: 'GET', path: 'sys/config/cors' },
    { verb: 'POST', path: 'sys/config/cors' },
  ])('$verb $path needs sudo', async ({ verb, path }) => {
    expect((await (await holder(plain, '', '*')).call(verb, path)).body).toEqual(notAllowed)
    expect((await (await holder([...plain, 'sudo'], '', '*')).call(verb, path)).status).not.toBe(403)
  })

  test.each([
    { verb: 'GET', path: 'sys/auth' },
    { verb: 'GET', path: 'sys/mounts' },
    { verb: 'GET', path: 'sys/mounts/auth/jwt' },
    { verb: 'POST', path: 'sys/mounts/free' },
    { verb: 'POST', path: 'sys/leases/lookup' },
    { verb: 'POST', path: 'sys/leases/revoke' },
    { verb: 'GET', path: 'sys/leases/count?type=irrevocable' },
    { verb: 'LIST', path: 'sys/policies/acl' },
    { verb: 'GET', path: 'sys/policies/acl/default' },
    { verb: 'LIST', path: 'sys/namespaces' },
    { verb: 'POST', path: 'sys/namespaces/api-lock/lock/none' },
    { verb: 'POST', path: 'sys/capabilities' },
    { verb: 'LIST', path: 'auth/token/roles' },
    { verb: 'LIST', path: 'identity/entity/id' },
  ])('$verb $path needs no sudo', async ({ verb, path }) => {
    const client = await holder(plain, '', '*')

    expect((await client.call(verb, path, verb === 'POST' ? {} : undefined)).status).not.toBe(403)
  })
})

describe('create or update', () => {
  test.each([
    { path: 'auth/jwt/role/new', body: role },
    { path: 'auth/token/roles/new', body: {} },
    { path: 'cubbyhole/new', body: { a: '1' } },
    { path: 'identity/oidc/key/new', body: {} },
    { path: 'identity/oidc/role/new', body: { key: 'default' } },
    { path: 'ns/auth/token/roles/new', body: {} },
  ])('$path is created, then updated', async ({ path, body }) => {
    const creator = await holder(['create', 'read'], '', path)
    const updater = await holder(['update'], '', path)
    const both = await holder(['create', 'update'], '', path)

    // each token has its own store, so for another token the entry is always new
    const own = path.startsWith('cubbyhole/')
    expect((await updater.write(path, body)).body).toEqual(notAllowed)
    expect((await creator.write(path, body)).status).toBeLessThan(300)
    expect((await creator.call('PUT', path, body)).body).toEqual(notAllowed)
    expect((await updater.call('PUT', path, body)).status < 300).toBe(!own)
    for (let time = 0; time < 2; time++) expect((await both.write(path, body)).status).toBeLessThan(300)
  })

  test.each([
    { path: 'auth/jwt/config', body: { jwks_url: 'http://127.0.0.1:1/' } },
    { path: 'auth/token/create', body: {} },
    { path: 'identity/entity', body: { name: 'someone' } },
    { path: 'identity/entity/name/someone-else', body: {} },
    { path: 'identity/group', body: { name: 'some' } },
    { path: 'identity/entity-alias', body: {} },
    { path: 'sys/policies/acl/new', body: { policy: 'path "x" {}' } },
    { path: 'sys/policy/new', body: { policy: 'path "x" {}' } },
    { path: 'sys/mounts/made', body: { type: 'cloud' } },
    { path: 'sys/namespaces/made', body: {} },
    { path: 'sys/capabilities-self', body: { paths: 'a' } },
    { path: 'sys/leases/renew', body: { lease_id: 'none' } },
    { path: 'sys/tools/random', body: {} },
    { path: 'sys/wrapping/wrap', body: { a: '1' } },
  ])('$path is an update, whether it exists or not', async ({ path, body }) => {
    const creator = await holder(['create', 'read', 'delete', 'list', 'patch', 'sudo'], '', path)
    const updater = await holder(['update'], '', path)

    expect((await creator.write(path, body)).body).toEqual(notAllowed)
    expect((await updater.write(path, body)).status).not.toBe(403)
  })
})

describe('parameters over the wire', () => {
  const judged = async (rules: string, raw: string) => {
    const name = `p${++made}`
    expect(
      (
        await server.root.write(`sys/policies/acl/${name}`, {
          policy: `path "cubbyhole/*" { capabilities = ["create", "update", "read"] ${rules} }`,
        })
      ).status,
      // 200 with a warning of rules that are got around
    ).toBeOneOf([200, 204])
    const client = server.as(
      String(
        (await server.root.write('auth/token/create', { policies: [name], no_default_policy: true })).body
          .auth?.client_token,
      ),
    )
    return (await client.write('cubbyhole/x', undefined, { raw })).status
  }

  test.each([
    ['{"a":1}', 204],
    ['{"a":1.0}', 204],
    ['{"a":10e-1}', 204],
    ['{"a":"1"}', 403],
    ['{"a":1.0000000000000001}', 204],
    ['{"a":1e308}', 403],
    ['{"a":1e400}', 400],
    ['{"b":[{"c":-1e309}]}', 400],
    ['{"a":[1,2]}', 204],
    ['{"a":[1.0,2]}', 204],
    ['{"a":[2,1]}', 403],
    ['{"a":[1,2,2]}', 403],
    ['{"a":{"k":{"n":[]}}}', 204],
    ['{"a":{"k":{"n":[1]}}}', 403],
    ['{"a":{"K":{"n":[]}}}', 403],
    ['{"a":{"k":{"n":[]},"j":1}}', 403],
    ['{"a":true}', 204],
    ['{"a":"true"}', 403],
    ['{"a":"xyz"}', 204],
    ['{"a":["xyz"]}', 204],
    ['{"a":["xyz","no"]}', 403],
    ['{"a":[["xyz"]]}', 403],
    ['{"a":null}', 403],
    ['{"A":"xyz"}', 204],
    ['{"A":"xyz","a":"no"}', 403],
    ['{"a":"no","a":"xyz"}', 204],
    ['{"a":"xyz","a":"no"}', 403],
    ['{"b":1}', 403],
    ['{"__proto__":1}', 403],
    ['{"":1}', 403],
  ])('allowed_parameters: %s gets %i', async (raw, status) => {
    expect(
      await judged('allowed_parameters = { A = [1, [1, 2], { k = { n = [] } }, true, "x*"] }', raw),
    ).toBe(status)
  })

  test.each([
    ['{"a":{"k":{"n":[null]}}}', 204],
    ['{"a":{"k":{"n":[]}}}', 403],
    ['{"a":{"k":{"n":[null],"m":1}}}', 403],
    ['{"a":null}', 204],
    ['{"a":"null"}', 403],
  ])('allowed_parameters of a policy in JSON: %s gets %i', async (raw, status) => {
    const name = `p${++made}`
    const policy = JSON.stringify({
      path: {
        'cubbyhole/*': {
          capabilities: ['create', 'update'],
          allowed_parameters: { a: [null, { k: { n: [null] } }] },
        },
      },
    })
    await server.root.write(`sys/policies/acl/${name}`, { policy })
    const client = server.as(
      String(
        (await server.root.write('auth/token/create', { policies: [name], no_default_policy: true })).body
          .auth?.client_token,
      ),
    )

    expect((await client.write('cubbyhole/x', undefined, { raw })).status).toBe(status)
  })

  test.each([
    ['{"a":"bad"}', 403],
    ['{"A":"bad"}', 403],
    ['{"a":"really bad"}', 403],
    ['{"a":"bad or good"}', 204],
    ['{"a":5}', 403],
    ['{"a":5.0}', 403],
    ['{"a":50e-1}', 403],
    ['{"a":"5"}', 204],
    ['{"b":"anything"}', 403],
    ['{"B":null}', 403],
    ['{"c":"bad"}', 204],
    ['{"c":"x","a":"bad"}', 403],
    ['{"a":"x","A":"bad"}', 403],
  ])('denied_parameters: %s gets %i', async (raw, status) => {
    expect(await judged('denied_parameters = { a = ["*bad", 5] B = [] }', raw)).toBe(status)
  })

  test('the parameters of a query are checked too, in each spelling', async () => {
    const name = `p${++made}`
    await server.root.write(`sys/policies/acl/${name}`, {
      policy:
        'path "sys/leases/count" { capabilities = ["read"] denied_parameters = { include_child_namespaces = [] } required_parameters = ["Type"] }',
    })
    const client = server.as(
      String((await server.root.write('auth/token/create', { policies: [name] })).body.auth?.client_token),
    )

    const statuses = await Promise.all(
      [
        'type=irrevocable',
        '',
        'Type=irrevocable',
        'type=irrevocable&include_child_namespaces=true',
        'type=irrevocable&INCLUDE_child_namespaces=true',
        'type=irrevocable&include%5Fchild_namespaces=true',
        'type=irrevocable&list=false&include_child_namespaces=',
      ].map(async (query) => (await client.read(`sys/leases/count?${query}`)).status),
    )

    expect(statuses).toEqual([200, 403, 403, 403, 403, 403, 403])
  })
})

test.each([
  { verb: 'LIST', path: 'auth/jwt/role' },
  { verb: 'LIST', path: 'auth/jwt/role/' },
  { verb: 'GET', path: 'auth/jwt/role?list=true' },
  { verb: 'GET', path: 'auth/jwt/role/?list=true' },
])(
  'a rule that denies any segment below a path also denies its list: $verb $path',
  async ({ verb, path }) => {
    expect((await server.root.write('auth/jwt/role/listed', role)).status).toBe(204)
    const policy = 'path "auth/jwt/*" { capabilities = ["list"] }'
    const token = async (text: string) => {
      const name = `p${++made}`
      expect((await server.root.write(`sys/policies/acl/${name}`, { policy: text })).status).toBe(204)
      return String(
        (await server.root.write('auth/token/create', { policies: [name], no_default_policy: true })).body
          .auth?.client_token,
      )
    }

    const listing = server.as(await token(policy))
    const denied = server.as(await token(`${policy}\npath "auth/jwt/+" { capabilities = ["deny"] }`))

    expect((await listing.call(verb, path)).status).toBe(200)
    expect(await denied.call(verb, path)).toMatchObject({ status: 403, body: notAllowed })
  },
)
