import { expect, test } from 'vitest'
import { shared } from '../../support/shared.ts'
import { startTestServer } from '../../support/start-server.ts'

/** Each test has roles, policies and namespaces of its own. */
const sharedServer = shared(() => startTestServer())

const wrapped = (text: string) => ({ errors: [`1 error occurred:\n\t* ${text}\n\n`] })

test('a role can be written, read, listed and deleted', async () => {
  await using server = await startTestServer()
  expect((await server.root.list('auth/token/roles')).status).toBe(404)

  expect((await server.root.write('auth/token/roles/b.x', { allowed_policies: 'web,Db' })).status).toBe(204)
  await server.root.write('auth/token/roles/a-1', {})

  expect((await server.root.read('auth/token/roles/b.x')).body.data).toMatchObject({
    name: 'b.x',
    allowed_policies: ['db', 'web'],
    renewable: true,
  })
  expect((await server.root.list('auth/token/roles')).body.data).toEqual({ keys: ['a-1', 'b.x'] })
  expect((await server.root.list('auth/token/roles/?limit=1&after=a-1')).body.data).toEqual({ keys: ['b.x'] })
  for (let time = 0; time < 2; time += 1)
    expect((await server.root.delete('auth/token/roles/b.x')).status).toBe(204)
  expect(await server.root.read('auth/token/roles/b.x')).toMatchObject({ status: 404, body: { errors: [] } })
  expect(await server.root.write('auth/token/create/b.x')).toMatchObject({
    status: 400,
    body: { errors: ['unknown role b.x'] },
  })
})

test('a new role requires create, and an existing one update', async () => {
  const server = await sharedServer()
  const { root } = server
  const asWith = async (capability: string) => {
    await root.write(`sys/policies/acl/${capability}`, {
      policy: `path "auth/token/roles/*" { capabilities = ["${capability}"] }`,
    })
    return server.as(
      String((await root.write('auth/token/create', { policies: [capability] })).body.auth?.client_token),
    )
  }
  const creator = await asWith('create')
  const updater = await asWith('update')

  expect(await updater.write('auth/token/roles/rights', {})).toMatchObject({
    status: 403,
    body: wrapped('permission denied'),
  })
  expect((await creator.write('auth/token/roles/rights', {})).status).toBe(204)
  expect((await creator.write('auth/token/roles/rights', {})).status).toBe(403)
  expect((await updater.write('auth/token/roles/rights', {})).status).toBe(204)
})

test.each([
  { path: 'refused', body: { token_type: null }, text: "Invalid 'token_type' value: null" },
  {
    path: 'refused',
    body: { token_period: -1 },
    text: `error converting input for field "token_period": cannot provide negative value '-1'`,
  },
  {
    path: 'refused',
    body: { token_type: 'batch' },
    text: "'token_type' cannot be 'batch' when role is set to generate non-orphan tokens",
  },
])('a write of $body is refused and leaves no role', async ({ path, body, text }) => {
  const server = await sharedServer()

  expect(await server.root.write(`auth/token/roles/${path}`, body)).toMatchObject({
    status: 400,
    body: { errors: [text] },
  })

  expect((await server.root.read(`auth/token/roles/${path}`)).status).toBe(404)
})

test('an invalid name is an unknown path', async () => {
  const server = await sharedServer()

  for (const name of ['-x', 'x-', 'a%20b', 'a/b']) {
    expect(await server.root.write(`auth/token/roles/${name}`, {})).toMatchObject({
      status: 404,
      body: wrapped('unsupported path'),
    })
    expect(await server.root.write(`auth/token/create/${name}`, {})).toMatchObject({
      status: 404,
      body: wrapped('unsupported path'),
    })
  }
})

test('an invalid field costs a use, and a path that nobody can write to does not', async () => {
  const server = await sharedServer()
  await server.root.write('sys/policies/acl/p', {
    policy: 'path "auth/token/roles/*" { capabilities = ["create", "update"] }',
  })
  const { body } = await server.root.write('auth/token/create', { policies: ['default', 'p'], num_uses: 3 })
  const caller = server.as(String(body.auth?.client_token))

  expect((await caller.write('auth/token/roles/x', { orphan: 'maybe' })).status).toBe(400)
  expect((await caller.write('cubbyhole/a/', { b: 'c' })).status).toBe(400)

  expect((await caller.read('auth/token/lookup-self')).body.data?.num_uses).toBe(1)
})

test('warnings make the status 200, and unknown fields are named', async () => {
  const server = await sharedServer()

  const { status, body } = await server.root.write('auth/token/roles/warned', {
    token_period: 60,
    period: 70,
    token_ttl: 5,
  })

  expect(status).toBe(200)
  expect(body.warnings).toEqual([
    "Both 'token_period' and deprecated 'period' value supplied, ignoring the deprecated value",
    'Endpoint ignored these unrecognized parameters: [token_ttl]',
  ])
})

test('a token bound to other addresses is refused, and so is its child', async () => {
  const server = await sharedServer()
  const create = async (role: string, cidrs: string[]) => {
    await server.root.write(`auth/token/roles/${role}`, { token_bound_cidrs: cidrs })
    const { body } = await server.root.write(`auth/token/create/${role}`, { policies: ['default', 'maker'] })
    return server.as(String(body.auth?.client_token))
  }
  await server.root.write('sys/policies/acl/maker', {
    policy: 'path "auth/token/create" { capabilities = ["update"] }',
  })
  const elsewhere = await create('elsewhere', ['1.2.3.4/8'])
  const here = await create('here', ['127.0.0.1/32', '1.2.3.4/8'])

  expect(await elsewhere.read('auth/token/lookup-self')).toMatchObject({
    status: 403,
    body: { errors: ['permission denied'] },
  })
  const child = await here.write('auth/token/create', {})
  const shown = await server.as(String(child.body.auth?.client_token)).read('auth/token/lookup-self')
  expect(shown.body.data?.bound_cidrs).toEqual(['127.0.0.1', '1.2.3.4/8'])
})

test('the renewal of a token without its role is refused over HTTP, by accessor too', async () => {
  const server = await sharedServer()
  await server.root.write('auth/token/roles/deleted', {})
  const { auth } = (await server.root.write('auth/token/create/deleted', { policies: ['default'] })).body
  await server.root.delete('auth/token/roles/deleted')
  const refusal = {
    status: 400,
    body: {
      errors: ['failed to renew entry: original token role "deleted" could not be found, not renewing'],
    },
  }

  expect(await server.as(String(auth?.client_token)).write('auth/token/renew-self')).toMatchObject(refusal)
  expect(await server.root.write('auth/token/renew-accessor', { accessor: auth?.accessor })).toMatchObject(
    refusal,
  )
})

test('a token for an entity alias has its entity, and a disabled entity gets none', async () => {
  const server = await sharedServer()
  await server.root.write('auth/token/roles/aliases', { allowed_entity_aliases: 'al*' })
  const make = (entity_alias: string) =>
    server.root.write('auth/token/create/aliases', { policies: ['default'], entity_alias })
  const first = await make('Alice')
  const entityId = String(first.body.auth?.entity_id)

  expect((await make('alice')).body.auth?.entity_id).toBe(entityId)
  expect(await make('bob')).toMatchObject({ status: 400, body: { errors: ["invalid 'entity_alias' value"] } })
  await server.root.write(`identity/entity/id/${entityId}`, { disabled: true })
  expect(await make('alice')).toMatchObject({
    status: 403,
    body: { errors: ['entity from given entity alias is disabled'] },
  })
  expect((await server.as(String(first.body.auth?.client_token)).read('auth/token/lookup-self')).status).toBe(
    403,
  )
})

test('roles and tokens belong to one namespace', async () => {
  const server = await sharedServer()
  const { root } = server
  for (const name of ['one', 'two']) await root.write(`sys/namespaces/${name}`)
  await root.write('one/auth/token/roles/r', { token_period: 60 })
  const made = (await root.write('one/auth/token/create/r', { policies: ['default'] })).body.auth
  const outer = (await root.write('auth/token/create', { policies: ['default'] })).body.auth
  const accessors = async (namespace: string) =>
    (await root.list(`${namespace}auth/token/accessors`)).body.data?.keys ?? []

  expect(made).toMatchObject({ lease_duration: 60, policies: ['default'], orphan: false })
  for (const elsewhere of ['', 'two/']) {
    expect((await root.read(`${elsewhere}auth/token/roles/r`)).status).toBe(404)
    expect((await root.write(`${elsewhere}auth/token/create/r`)).body.errors).toEqual(['unknown role r'])
    for (const call of ['lookup', 'renew']) {
      expect(
        (await root.write(`${elsewhere}auth/token/${call}-accessor`, { accessor: made?.accessor })).status,
        call,
      ).toBe(400)
    }
    expect(
      (await root.write(`${elsewhere}auth/token/revoke-accessor`, { accessor: made?.accessor })).body
        .warnings,
    ).toHaveLength(1)
    expect(await accessors(elsewhere)).not.toContainEqual(made?.accessor)
  }
  expect((await root.write('two/auth/token/lookup-accessor', { accessor: outer?.accessor })).status).toBe(400)
  expect(await accessors('one/')).toEqual([made?.accessor])
  expect(
    (await root.write('one/auth/token/lookup-accessor', { accessor: made?.accessor })).body.data,
  ).toMatchObject({ namespace_path: 'one/', role: 'r' })
  expect((await root.read('auth/token/lookup-self')).status).toBe(200)
})

test.each(['disallowed_policies', 'disallowed_policies_glob'])(
  'with a role that has only %s, a caller of a parent namespace passes none of its own policies down',
  async (field) => {
    const server = await sharedServer()
    const { root } = server
    await root.write(`sys/namespaces/${field}`)
    await root.write(`${field}/auth/token/roles/r`, { [field]: 'x' })
    await root.write('sys/policies/acl/admin', {
      policy: `path "${field}/auth/token/create/r" { capabilities = ["update", "sudo"] }`,
    })
    const admin = server.as(
      String((await root.write('auth/token/create', { policies: ['admin'] })).body.auth?.client_token),
    )

    for (const caller of [root, admin]) {
      expect((await caller.write(`${field}/auth/token/create/r`, {})).body.auth).toMatchObject({
        policies: ['default'],
      })
    }
  },
)
