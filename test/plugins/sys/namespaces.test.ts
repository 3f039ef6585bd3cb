import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, type Client, inside } from '../../support/client.ts'
import { caused, errors, invalidToken, notAccepted, notAllowed } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { aSigner } from '../jwt-auth/signer.ts'

/** The refusal of a namespace that does not exist. */
const unknown = (route: string) => errors(`no handler for route "${route}". route entry not found.`)

let server: TestServer
let root: Client
let made = 0

beforeAll(async () => {
  server = await startTestServer()
  root = server.root
})
afterAll(() => server[Symbol.asyncDispose]())

/** Creates a namespace, optionally below another one; returns its full path without the trailing slash. */
async function fresh(parent = ''): Promise<string> {
  const name = `n${++made}`
  expect((await root.write(`sys/namespaces/${name}`, {}, inside(parent))).status).toBe(200)
  return parent === '' ? name : `${parent}/${name}`
}

/** A token of a namespace that holds one policy of that namespace. */
async function tokenIn(
  namespace: string,
  rules: string,
): Promise<{ id: string; accessor: string; client: Client }> {
  const name = `p${++made}`
  await root.write(`sys/policies/acl/${name}`, { policy: rules }, inside(namespace))
  const { body } = await root.write('auth/token/create', { policies: [name], ttl: '1h' }, inside(namespace))
  const id = String(body['auth']?.['client_token'])
  return { id, accessor: String(body['auth']?.['accessor']), client: server.as(id) }
}

/** Resolves once the namespace is deleted. */
async function gone(name: string, parent = ''): Promise<void> {
  while ((await root.read(`sys/namespaces/${name}`, inside(parent))).status !== 404);
}

const everything =
  'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo", "patch", "scan"] }'

describe('management', () => {
  test('a namespace can be created, read, changed and deleted', async () => {
    const parent = await fresh()
    expect((await root.list('sys/namespaces', inside(parent))).body).toEqual(errors())
    expect((await root.call('SCAN', 'sys/namespaces', undefined, inside(parent))).status).toBe(204)

    const created = await root.write('sys/namespaces/a', { custom_metadata: { k: 'v' } }, inside(parent))
    expect(created.body['data']).toEqual({
      id: expect.stringMatching(/^[0-9A-Za-z]{6}$/),
      uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      path: `${parent}/a/`,
      tainted: false,
      locked: false,
      custom_metadata: { k: 'v' },
    })
    expect((await root.read('sys/namespaces/a/', inside(parent))).body['data']).toEqual(created.body['data'])
    const replaced = await root.call('PUT', 'sys/namespaces/a', {}, inside(parent))
    expect(replaced.body['data']).toEqual({ ...created.body['data'], custom_metadata: {} })

    await root.write('sys/namespaces/deep', {}, inside(`${parent}/a`))
    expect((await root.list('sys/namespaces', inside(parent))).body['data']).toMatchObject({
      keys: ['a/'],
      key_info: { 'a/': { path: `${parent}/a/` } },
    })
    expect(
      (await root.call('SCAN', 'sys/namespaces', undefined, inside(parent))).body['data']?.['keys'],
    ).toEqual(['a/', 'a/deep/'])
    expect((await root.read(`${parent}/sys/namespaces?scan=true`)).body['data']?.['keys']).toEqual([
      'a/',
      'a/deep/',
    ])
    expect((await root.read('sys/namespaces', inside(parent))).status).toBe(405)

    expect((await root.delete('sys/namespaces/a', inside(parent))).body).toEqual(
      errors('unable to delete namespace containing child namespaces'),
    )
    await root.delete('sys/namespaces/deep', inside(`${parent}/a`))
    await gone('deep', `${parent}/a`)
    expect((await root.delete('sys/namespaces/a', inside(parent))).body['data']).toEqual({
      status: 'in-progress',
    })
    await gone('a', parent)

    const again = await root.write('sys/namespaces/a', {}, inside(parent))
    expect(again.body['data']?.['id']).not.toBe(created.body['data']?.['id'])
    const none = await root.delete('sys/namespaces/none', inside(parent))
    expect(none.body).toMatchObject({ data: null, warnings: ['requested namespace does not exist'] })
  })

  const reserved = (name: string) => `"${name}/" is a reserved path and cannot be used as a namespace name`
  test.each([
    ...[
      'root',
      'sys',
      'audit',
      'auth',
      'cubbyhole',
      'identity',
      'ui',
      'v1',
      'docs',
      'robots.txt',
      '.well-known',
      'metrics',
      'health',
    ].map((name) => ({ name, text: reserved(name) })),
    { name: 'a/b', text: 'namespace name cannot contain /' },
    { name: 'a%2Fb', text: 'namespace name cannot contain /' },
    { name: 'a%20b', text: '"a b" contains space characters that cannot be used in a namespace name' },
    { name: 'a+', text: `"a+" contains wildcard characters that cannot be used in a namespace name: '+'` },
    { name: '%2A', text: `"*" contains wildcard characters that cannot be used in a namespace name: '*'` },
    { name: '%2e', text: 'relative paths not supported' },
    { name: '%2e%2e', text: 'relative paths not supported' },
    { name: 'cloud', text: 'new namespace conflicts with existing mount: cloud/' },
  ])('no namespace is named $name', async ({ name, text }) => {
    expect((await root.write(`sys/namespaces/${name}`)).body).toEqual(errors(text))
  })

  test('names that only look special are accepted', async () => {
    const parent = await fresh()
    const answers = await Promise.all(
      ['...', '..a', 'a..', 'roots', 'ns%C3%A4', 'a@b', 'api-lock', 'docs', '%25x'].map((name) =>
        root.write(`sys/namespaces/${name}`, {}, inside(parent)),
      ),
    )

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(
      (await root.read('sys/auth', inside(Buffer.from(`${parent}/nsä`).toString('latin1')))).status,
    ).toBe(200)
    expect((await root.read(`${parent}/%25x/sys/auth`)).status).toBe(200)
    expect((await root.call('GET', `/v1/${parent}//sys/auth`)).status).toBe(307)
    expect((await root.call('GET', `/v1/${parent}/%2e%2e/sys/auth`)).body).toEqual(
      errors('relative paths not supported'),
    )
  })

  test('concurrent calls that create the same namespace all get it', async () => {
    const parent = await fresh()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => root.write('sys/namespaces/same', {}, inside(parent))),
    )

    expect(new Set(answers.map(({ body }) => body['data']?.['id'])).size).toBe(1)
    expect((await root.read('sys/auth', inside(`${parent}/same`))).body['data']).toMatchObject({
      'token/': { type: 'ns_token' },
    })
  })

  test('a patch merges metadata', async () => {
    const name = await fresh()
    const patch = (custom_metadata: unknown) =>
      root.call(
        'PATCH',
        `sys/namespaces/${name}`,
        { custom_metadata },
        { headers: { 'Content-Type': 'application/merge-patch+json' } },
      )
    await root.write(`sys/namespaces/${name}`, { custom_metadata: { a: '1', b: '2' } })

    expect((await patch({ a: null, c: '3' })).body['data']?.['custom_metadata']).toEqual({ b: '2', c: '3' })
    expect((await patch({ a: 1 })).text).toContain('metadata patch can only have string or null values')
    expect((await patch(null)).body['data']?.['custom_metadata']).toEqual({})
    const unknown = await root.call(
      'PATCH',
      'sys/namespaces/none',
      {},
      { headers: { 'Content-Type': 'application/merge-patch+json' } },
    )
    expect(unknown.body).toEqual(errors('namespace not found'))
  })

  test('concurrent patches all take effect', async () => {
    const name = await fresh()
    const patch = (n: number) =>
      root.call(
        'PATCH',
        `sys/namespaces/${name}`,
        { custom_metadata: { [`k${n}`]: `${n}` } },
        { headers: { 'Content-Type': 'application/merge-patch+json' } },
      )

    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => patch(n)))

    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
    const { custom_metadata } = (await root.read(`sys/namespaces/${name}`)).body['data'] ?? {}
    expect(Object.keys(custom_metadata ?? {}).toSorted()).toEqual(
      Array.from({ length: 20 }, (_, n) => `k${n}`).toSorted(),
    )
  })

  test('a deletion concurrent with creations inside has a consistent outcome', async () => {
    const name = await fresh()
    const calls = await Promise.all([
      root.write('sys/namespaces/first', {}, inside(name)),
      root.delete(`sys/namespaces/${name}`),
      root.write('sys/namespaces/second', {}, inside(name)),
      root.write(`sys/namespaces/${name}`, { custom_metadata: { a: 'b' } }),
    ])

    const [first, deleted, second] = calls
    if (deleted.status === 200) {
      expect([first.status, second.status].filter((status) => status === 200)).toEqual([])
      await gone(name)
    } else {
      expect(deleted.body).toEqual(errors('unable to delete namespace containing child namespaces'))
      expect([first.status, second.status]).toContain(200)
    }
    expect(calls.filter(({ status }) => status >= 500)).toEqual([])
  })

  test('mounts and namespaces cannot have the same path', async () => {
    const name = await fresh()

    expect((await root.write(`sys/mounts/${name}`, { type: 'cloud' })).body).toEqual(
      errors(`existing mount at ${name}/`),
    )
    expect((await root.write(`sys/mounts/${name}/x`, { type: 'cloud' })).body).toEqual(
      errors(`existing mount at ${name}/`),
    )
    expect((await root.write('sys/remount', { from: 'cloud', to: `${name}` })).body).toEqual(
      errors(`path already in use at "${name}/"`),
    )
    expect((await root.write(`sys/auth/${name}`, { type: 'jwt' })).status).toBe(204)
    expect((await root.write('sys/mounts/x/deep', { type: 'cloud' }, inside(name))).status).toBe(204)
    expect((await root.write('sys/namespaces/x', {}, inside(name))).body).toEqual(
      errors('new namespace conflicts with existing mount: x/deep/'),
    )
  })

  test('a token sees the namespaces in which it has rights', async () => {
    const parent = await fresh()
    const [seen] = [await fresh(parent), await fresh(parent)]
    const below = String(seen).slice(parent.length + 1)
    const { client } = await tokenIn(parent, `path "${below}/sys/auth" { capabilities = ["read"] }`)

    expect((await client.read('sys/internal/ui/namespaces', inside(parent))).body['data']).toEqual({
      keys: [`${below}/`],
    })
    expect((await server.anonymous.read('sys/internal/ui/namespaces', inside(parent))).body).toEqual(
      notAccepted,
    )
  })

  test('a token sees the way to its own namespace, and none beside it', async () => {
    const parent = await fresh()
    const own = await fresh(parent)
    await fresh(parent)
    const { client } = await tokenIn(own, everything)
    const seen = async (place: string) =>
      (await client.read('sys/internal/ui/namespaces', inside(place))).body['data']

    expect(await seen('')).toEqual({ keys: [`${parent}/`] })
    expect(await seen(parent)).toEqual({ keys: [`${own.slice(parent.length + 1)}/`] })
    expect(await seen(own)).toEqual({ keys: [] })
  })
})

describe('lock', () => {
  const locked = (path: string) =>
    errors(
      `API access to this namespace has been locked by an administrator - "${path}/" must be unlocked to gain access.`,
    )

  test('a lock closes a namespace and everything below until it is unlocked with its key', async () => {
    const name = await fresh()
    const child = await fresh(name)
    const { client } = await tokenIn(name, everything)
    const lock = await root.write(`sys/namespaces/api-lock/lock/${name}`)
    const key = String(lock.body['data']?.['unlock_key'])

    expect(key).toMatch(/^[0-9A-Za-z]{24}$/)
    for (const place of [name, child]) {
      const { status, body } = await server.anonymous.read('sys/auth', inside(place))
      expect({ status, body }).toEqual({ status: 503, body: locked(name) })
    }
    expect((await client.read('auth/token/lookup-self')).body).toEqual(locked(name))
    expect((await root.read(`sys/namespaces/${name}`)).body['data']).toMatchObject({ locked: true })
    expect((await root.write(`sys/namespaces/api-lock/lock/${name}`)).body).toEqual(
      errors(`cannot lock namespace "${name}/": is already locked`),
    )
    expect(
      (await root.write(`sys/namespaces/api-lock/unlock/${name}`, { unlock_key: 'wrong' })).body,
    ).toEqual(errors('incorrect unlock key'))
    expect(
      (await client.write('sys/namespaces/api-lock/unlock', { unlock_key: key }, inside(name))).status,
    ).toBe(204)
    expect((await root.read('sys/auth', inside(child))).status).toBe(200)
    expect((await root.write(`sys/namespaces/api-lock/unlock/${name}`, { unlock_key: key })).body).toEqual(
      errors(`namespace "${name}/" is not locked`),
    )
  })

  test('of concurrent locks one gets a key, and that key unlocks the namespace', async () => {
    const name = await fresh()

    const answers = await Promise.all(
      Array.from({ length: 10 }, () => root.write(`sys/namespaces/api-lock/lock/${name}`)),
    )

    const keys = answers.flatMap(({ status, body }) =>
      status === 200 ? [String(body['data']?.['unlock_key'])] : [],
    )
    expect(keys).toHaveLength(1)
    const unlocks = await Promise.all(
      Array.from({ length: 10 }, () =>
        root.write(`sys/namespaces/api-lock/unlock/${name}`, { unlock_key: keys[0] }),
      ),
    )
    expect(unlocks.map(({ status }) => status).toSorted()).toEqual([
      204,
      ...Array.from({ length: 9 }, () => 400),
    ])
  })

  test('sudo unlocks without the key, and nothing less does', async () => {
    const name = await fresh()
    const { client } = await tokenIn(name, 'path "sys/namespaces/api-lock/*" { capabilities = ["update"] }')
    await root.write('sys/namespaces/api-lock/lock', {}, inside(name))

    expect((await client.write('sys/namespaces/api-lock/unlock', {}, inside(name))).body).toEqual(
      errors('incorrect unlock key'),
    )
    const { body } = await root.write('sys/namespaces/api-lock/unlock', {}, inside(name))
    expect(body['warnings']).toEqual(['Namespace unlocked using sudo capabilities'])
  })

  test('the root and unknown namespaces cannot be locked', async () => {
    expect((await root.write('sys/namespaces/api-lock/lock')).status).toBe(400)
    expect((await root.write('sys/namespaces/api-lock/lock/none')).body).toEqual(
      errors('requested namespace does not exist'),
    )
    expect((await root.read('sys/auth')).status).toBe(200)
  })
})

describe('which namespace a request is in', () => {
  test('header and path form name the same namespace, and the response repeats the header', async () => {
    const name = await fresh()
    const forms = [`/${name}`, `${name}/`, name]
    const answers = await Promise.all(forms.map((form) => root.read('sys/auth', inside(form))))

    expect(answers.map(({ headers }) => headers['x-vault-namespace'])).toEqual(forms)
    expect(answers.map(({ body }) => body['data'])).toEqual(forms.map(() => answers[0]?.body['data']))
    const inPath = await root.read(`${name}/sys/auth`)
    expect(inPath.body['data']).toEqual(answers[0]?.body['data'])
    expect([answers[0]?.body['token/'], inPath.body['token/']]).toEqual([expect.anything(), undefined])
  })

  test.each([
    { path: 'any/path', namespace: 'nope', status: 404, body: unknown('nope/any/path') },
    {
      path: 'sys/health',
      namespace: 'root',
      status: 400,
      body: errors('operation unavailable in namespaces'),
    },
    { path: 'sys/auth', namespace: '..', status: 404, body: unknown('../sys/auth') },
    { path: 'sys/auth', namespace: '/root/x/', status: 404, body: unknown('root/x/sys/auth') },
  ])('$path in $namespace is $status', async ({ path, namespace, status, body }) => {
    expect(await server.anonymous.read(path, inside(namespace))).toMatchObject({ status, body })
  })

  test.each([
    'audit',
    'config/cors',
    'quotas/rate-limit/x',
    'host-info',
    'replication/status',
    'internal/counters/activity/monthly',
    'mfa/method/x',
    'rotate',
  ])('sys/%s works only in the root', async (path) => {
    const name = await fresh()

    expect((await server.anonymous.read(`sys/${path}`, inside(name))).body).toEqual(
      errors('operation only available in root namespace'),
    )
    expect((await server.anonymous.read(`${name}/sys/${path}`)).body).toEqual(
      errors('operation only available in root namespace'),
    )
  })

  test.each(['rotate', 'rotate/keyring', 'rotate/config'])(
    'a child namespace cannot POST sys/%s',
    async (path) => {
      const name = await fresh()
      const { client } = await tokenIn(name, everything)
      const before = (await root.read('sys/key-status')).body.data

      for (const answer of [
        await client.write(`sys/${path}`, {}, inside(name)),
        await root.write(`sys/${path}`, {}, inside(name)),
        await root.write(`${name}/sys/${path}`),
      ]) {
        expect(answer).toMatchObject({
          status: 400,
          body: errors('operation only available in root namespace'),
        })
      }

      expect((await root.read('sys/key-status')).body.data).toMatchObject({ term: before?.['term'] })
    },
  )

  test('public node state is available there too, and an unrouted path is named without its namespace', async () => {
    const name = await fresh()

    expect((await server.anonymous.read(`${name}/sys/seal-status`)).status).toBe(200)
    expect((await server.anonymous.read(`${name}/sys/health`)).body).toEqual(
      errors('operation only available in root namespace'),
    )
    expect((await root.read(`${name}/nope`)).body).toEqual(
      errors('no handler for route "nope". route entry not found.'),
    )
  })
})

describe('isolation', () => {
  test('ids end in the id of their namespace, and are unknown elsewhere', async () => {
    const [a, b] = [await fresh(), await fresh()]
    const id = String((await root.read(`sys/namespaces/${a}`)).body['data']?.['id'])
    const mine = await tokenIn(a, everything)
    const { client: other } = await tokenIn(b, everything)

    expect(mine.id.endsWith(`.${id}`)).toBe(true)
    expect(mine.accessor.endsWith(`.${id}`)).toBe(true)
    const asked: Promise<Answer>[] = [
      other.write('auth/token/lookup-accessor', { accessor: mine.accessor }, inside(b)),
      other.write('auth/token/renew-accessor', { accessor: mine.accessor }, inside(b)),
      other.write('sys/capabilities-accessor', { accessor: mine.accessor, paths: 'x' }, inside(b)),
    ]
    for (const { body } of await Promise.all(asked)) expect(body).toEqual(errors(caused('invalid accessor')))
    expect(
      (await other.write('auth/token/revoke-accessor', { accessor: mine.accessor }, inside(b))).body[
        'warnings'
      ],
    ).toEqual(['No token found with this accessor'])
    expect((await other.write('auth/token/lookup', { token: mine.id }, inside(b))).body).toEqual(notAllowed)
    expect((await other.write('auth/token/revoke', { token: mine.id }, inside(b))).body).toEqual(notAllowed)
    expect((await other.write('sys/capabilities', { token: mine.id, paths: 'x' }, inside(b))).body).toEqual(
      errors(caused('invalid token')),
    )
    expect((await mine.client.read('auth/token/lookup-self', inside(a))).status).toBe(200)
  })

  test('a token acts in its namespace and below, never above or beside', async () => {
    const [a, b] = [await fresh(), await fresh()]
    const child = await fresh(a)
    const { client } = await tokenIn(a, everything)

    expect((await client.read('sys/auth', inside(a))).status).toBe(200)
    expect((await client.read('sys/auth', inside(child))).status).toBe(200)
    expect((await client.read(`${child}/sys/auth`)).status).toBe(200)
    for (const namespace of [b, 'root']) {
      expect((await client.read('sys/auth', inside(namespace))).body).toEqual(notAllowed)
      expect(
        (await client.write('sys/policies/acl/x', { policy: everything }, inside(namespace))).body,
      ).toEqual(notAllowed)
    }
    expect((await client.read('auth/token/lookup-self')).body['data']).toMatchObject({
      namespace_path: `${a}/`,
    })
    expect((await client.read('auth/token/lookup-self', inside(b))).body['data']).toMatchObject({
      namespace_path: `${a}/`,
    })
    expect((await client.read('sys/internal/ui/resultant-acl', inside(b))).body).toEqual(notAllowed)
  })

  test('policies of the root name the namespace, and its default policy does not apply inside', async () => {
    const name = await fresh()
    await root.write('sys/policies/acl/into', {
      policy: `path "${name}/sys/auth" { capabilities = ["read"] }`,
    })
    const { body } = await root.write('auth/token/create', { policies: ['into'], ttl: '1h' })
    const client = server.as(String(body['auth']?.['client_token']))

    expect((await client.read('sys/auth', inside(name))).status).toBe(200)
    expect((await client.read('sys/auth')).body).toEqual(notAllowed)
    expect((await client.read('sys/mounts', inside(name))).body).toEqual(notAllowed)
    expect((await client.read('cubbyhole/x', inside(name))).body).toEqual(notAllowed)
    expect((await client.write('sys/capabilities-self', { paths: 'x' }, inside(name))).body).toEqual(
      notAllowed,
    )
    expect((await client.read('auth/token/lookup-self', inside(name))).status).toBe(200)
  })

  test('policies of one name are different policies in different namespaces, and child namespaces have no root policy', async () => {
    const [a, b] = [await fresh(), await fresh()]
    await root.write('sys/policies/acl/p', { policy: everything }, inside(a))
    const { body } = await root.write('auth/token/create', { policies: ['p'], ttl: '1h' }, inside(b))

    expect(
      (await server.as(String(body['auth']?.['client_token'])).read('sys/auth', inside(b))).body,
    ).toEqual(notAllowed)
    expect((await root.read('sys/policies/acl/root', inside(a))).status).toBe(404)
    expect((await root.list('sys/policies/acl', inside(a))).body['data']).toEqual({ keys: ['default', 'p'] })
    expect((await root.write('sys/policies/acl/root', { policy: everything }, inside(a))).body).toEqual(
      errors('cannot update "root" policy'),
    )
  })

  test('a root policy of an entity does not apply to its token in a namespace, even if a policy there has the same name', async () => {
    const name = await fresh()
    await root.write('sys/policies/acl/shared', {
      policy: `path "${name}/auth/token/create" { capabilities = ["update", "sudo"] }`,
    })
    await root.write('sys/policies/acl/shared', { policy: everything }, inside(name))
    const person = await loginAt(server, '', 'erin')
    await root.write(`identity/entity/id/${person.entity}`, { policies: ['shared'] })

    const below = await person.client.write(
      'auth/token/create',
      { policies: ['default'], ttl: '1h' },
      inside(name),
    )

    expect(below.status).toBe(200)
    expect(
      (await server.as(String(below.body['auth']?.['client_token'])).read('sys/auth', inside(name))).body,
    ).toEqual(notAllowed)
  })

  test('a group of a namespace gives its members from above rights in it, and nowhere else', async () => {
    const name = await fresh()
    const person = await loginAt(server, '', 'frank')
    await root.write(
      'sys/policies/acl/members',
      { policy: 'path "sys/auth" { capabilities = ["read"] }' },
      inside(name),
    )
    await root.write(
      'identity/group',
      { name: 'g', policies: ['members'], member_entity_ids: [person.entity] },
      inside(name),
    )

    expect((await person.client.read('sys/auth', inside(name))).status).toBe(200)
    expect((await person.client.read('sys/auth')).body).toEqual(notAllowed)
    expect((await person.client.read('sys/mounts', inside(name))).body).toEqual(notAllowed)
    expect((await person.client.read('sys/auth', inside(await fresh()))).body).toEqual(notAllowed)
  })

  test('a mount of the same name is another mount, with its own data', async () => {
    const name = await fresh()
    await root.write('sys/auth/jwt', { type: 'jwt' }, inside(name))
    const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'x' }
    await root.write('auth/jwt/role/r124', role, inside(name))

    expect((await root.read('auth/jwt/role/r124')).status).toBe(404)
    expect((await root.read(`${name}/auth/jwt/role/r124`)).status).toBe(200)
    expect((await root.delete('sys/auth/jwt', inside(name))).status).toBe(204)
    expect((await root.read('sys/auth/jwt')).status).toBe(200)
    expect((await root.read(`${name}/auth/jwt/role/r124`)).status).toBe(404)
  })
})

/** Logs in by a JWT mount `j` of a namespace, which is created if necessary. */
async function loginAt({ root, anonymous, as }: TestServer, namespace: string, sub: string) {
  await root.write('sys/auth/j', { type: 'jwt' }, inside(namespace))
  await root.write('auth/j/config', { jwt_validation_pubkeys: [signer.pem] }, inside(namespace))
  await root.write(
    'auth/j/role/r',
    { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'g' },
    inside(namespace),
  )
  const now = Math.floor(Date.now() / 1000)
  const jwt = signer.sign({ sub, aud: 'g', iat: now, exp: now + 600 })
  const { body } = await anonymous.write('auth/j/login', { role: 'r', jwt }, inside(namespace))
  const id = String(body['auth']?.['client_token'])
  return { id, entity: String(body['auth']?.['entity_id']), client: as(id) }
}

const signer = aSigner()

describe('logins', () => {
  test('a JWT mount of a namespace logs callers in, and its tokens carry the namespace', async () => {
    const name = await fresh()
    const { client, entity } = await loginAt(server, name, 'alice')
    const id = String((await root.read(`sys/namespaces/${name}`)).body['data']?.['id'])

    expect(entity.endsWith(`.${id}`)).toBe(true)
    expect((await client.read('auth/token/lookup-self', inside(name))).body['data']).toMatchObject({
      display_name: `${name}-auth-j-alice`,
      path: 'auth/j/login',
      namespace_path: `${name}/`,
    })
    expect((await client.write('auth/token/renew-self', {}, inside(name))).status).toBe(200)
    expect((await client.write('auth/token/renew-self')).status).toBe(200)
  })
})

describe('a move from one namespace to another', () => {
  test('uses full paths, keeps the data and ends the tokens', async () => {
    const [a, b] = [await fresh(), await fresh()]
    const { client } = await loginAt(server, a, 'bob')
    const queued = await root.write('sys/remount', { from: `${a}/auth/j`, to: `${b}/auth/there` })
    const id = String(queued.body['data']?.['migration_id'])
    const status = async () => (await root.read(`sys/remount/status/${id}`)).body['data']?.['migration_info']
    while (String((await status())?.['status']) === 'in-progress');

    expect(await status()).toEqual({
      source_mount: `${a}/auth/j/`,
      status: 'success',
      target_mount: `${b}/auth/there/`,
    })
    expect((await root.read('auth/there/role/r', inside(b))).status).toBe(200)
    expect((await root.read('auth/j/role/r', inside(a))).status).toBe(404)
    expect((await client.read('auth/token/lookup-self')).body).toEqual(invalidToken)
    expect((await root.read(`sys/remount/status/${id}`, inside(await fresh()))).status).toBe(404)
  })
})

describe('deletion', () => {
  test('a deletion removes everything, and a later namespace of that name starts empty', async () => {
    const name = await fresh()
    const held = await loginAt(server, name, 'carol')
    const mine = await tokenIn(name, everything)
    await mine.client.write('cubbyhole/x', { a: 'b' }, inside(name))

    expect((await root.delete(`sys/namespaces/${name}`)).body['data']).toEqual({ status: 'in-progress' })
    // from the first moment, done or not
    expect((await mine.client.read('auth/token/lookup-self')).status).not.toBe(200)
    expect((await root.read('sys/auth', inside(name))).status).toBe(404)
    await gone(name)

    expect((await root.read('sys/auth', inside(name))).body).toEqual(unknown(`${name}/sys/auth`))
    expect((await root.read(`${name}/sys/auth`)).body).toEqual(
      errors(`no handler for route "${name}/sys/auth". route entry not found.`),
    )
    expect((await mine.client.read('auth/token/lookup-self')).body).toEqual(invalidToken)
    await root.write(`sys/namespaces/${name}`)
    for (const client of [mine.client, held.client]) {
      expect((await client.read('auth/token/lookup-self', inside(name))).body).toEqual(invalidToken)
    }
    expect(Object.keys((await root.read('sys/auth', inside(name))).body['data'] ?? {})).toEqual(['token/'])
    expect((await root.list('sys/policies/acl', inside(name))).body['data']).toEqual({ keys: ['default'] })
    expect((await root.read('auth/j/role/r', inside(name))).status).toBe(404)
  })
})
