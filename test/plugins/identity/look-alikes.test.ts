import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { aLoginMount, type LoginMount, verdict } from './login-mount.ts'

let server: TestServer
let mount: LoginMount
let admin: string
const lines: string[] = []

beforeAll(async () => {
  server = await startTestServer({ log: pino({}, { write: (line) => void lines.push(line) }) })
  mount = await aLoginMount(server, 'm')
  const made = await server.root.write('identity/entity', { name: 'admin', policies: ['powerful'] })
  admin = String(made.body.data?.['id'])
  await server.root.write('identity/entity-alias', {
    name: 'admin',
    canonical_id: admin,
    mount_accessor: mount.accessor,
  })
  const group = await server.root.write('identity/group', {
    name: 'admins',
    type: 'external',
    policies: ['of-group'],
  })
  await server.root.write('identity/group-alias', {
    name: 'admins',
    canonical_id: group.body.data?.['id'],
    mount_accessor: mount.accessor,
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const warnings = () =>
  lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'login_lookalike')

async function counted(): Promise<number> {
  const { text } = await server.root.read('sys/metrics?format=prometheus')
  return Number(/lookalike_logins_total\{mount="auth\/m\/"\} (\d+)/.exec(text)?.[1] ?? 0)
}

const alike = [
  'ａｄｍｉｎ',
  'ad\u200bmin',
  'admin\u00ad',
  'ⓐdmin',
  ' admin',
  'admin ',
  'ªdmin',
  'ad\u{e0001}min',
  '𝐚dmin',
]

describe('a login with a name that looks like another', () => {
  test.each(alike)('%j is another person, and each login logs a warning', async (name) => {
    const [before, warned] = [await counted(), warnings().length]

    const first = await mount.login(name)
    const second = await mount.login(name)

    expect(verdict(first.answer)).toBe('200')
    expect(first.entityId).not.toBe(admin)
    expect(second.entityId).toBe(first.entityId)
    expect(first.answer.body.auth?.['policies']).toEqual(['default'])
    expect(await counted()).toBe(before + 2)
    expect(warnings().slice(warned)).toEqual(
      Array(2).fill(
        expect.objectContaining({
          level: 40,
          mount: 'auth/m/',
          entity_id: first.entityId,
          resembled_entity_id: admin,
        }),
      ),
    )
    expect(lines.some((line) => line.includes(name))).toBe(false)
  })

  test.each(['admin', 'ADMIN', 'aDmIn'])('%j is the same person, and no warning is logged', async (name) => {
    const warned = warnings().length

    expect((await mount.login(name)).entityId).toBe(admin)

    expect(warnings()).toHaveLength(warned)
  })

  test('the second of two look-alike names logs a warning, in whatever form it comes', async () => {
    const odd = await mount.login('ｂｏｂ')
    const warned = warnings().length

    const plain = await mount.login('bob')
    const other = await mount.login('BO\u200bB')

    expect(new Set([odd.entityId, plain.entityId, other.entityId]).size).toBe(3)
    expect(warnings().slice(warned)).toEqual([
      expect.objectContaining({ entity_id: plain.entityId, resembled_entity_id: odd.entityId }),
      expect.objectContaining({ entity_id: other.entityId, resembled_entity_id: plain.entityId }),
    ])
  })

  test('a look-alike of a name that an operator wrote logs a warning, until that name is changed', async () => {
    await mount.login('carol')
    const made = await server.root.write('identity/entity-alias', {
      name: 'ｃarol',
      mount_accessor: mount.accessor,
    })
    const id = String(made.body.data?.['id'])
    const warned = warnings().length

    await mount.login('ｃarol')
    expect(warnings()).toHaveLength(warned + 1)
    await server.root.write(`identity/entity-alias/id/${id}`, { name: 'ｄora' })
    await mount.login('ｄora')

    expect(warnings()).toHaveLength(warned + 1)
    await mount.login('dora')
    expect(warnings()).toHaveLength(warned + 2)
  })

  test('a look-alike of a deleted name logs no warning', async () => {
    const { entityId } = await mount.login('ｅve')
    await server.root.delete(`identity/entity/id/${entityId}`)
    const warned = warnings().length

    await mount.login('eve')

    expect(warnings()).toHaveLength(warned)
  })

  test('a look-alike at another mount logs no warning', async () => {
    const other = await aLoginMount(server, 'other')
    const warned = warnings().length

    await other.login('ａｄｍｉｎ')

    expect(warnings()).toHaveLength(warned)
  })
})

describe('names that grant rights', () => {
  test.each(['ａｄｍｉｎｓ', 'admin\u200bs', ' admins', 'adminſ\u0307'])(
    'a group claim %j is not the group admins',
    async (name) => {
      const { answer } = await mount.login('someone', { groups: [name] })

      expect(answer.body.auth?.['policies']).toEqual(['default'])
    },
  )

  test.each(['admins', 'ADMINS', 'admin\u017f'])('a group claim %j is the group admins', async (name) => {
    const { answer } = await mount.login('someone', { groups: [name] })

    expect(answer.body.auth?.['policies']).toEqual(['default', 'of-group'])
  })

  test.each(['ａｄｍｉｎ', 'admin\u00b9', ' admin'])('no entity is called %j', async (name) => {
    expect((await server.root.read(`identity/entity/name/${encodeURIComponent(name)}`)).status).toBe(404)
    expect((await server.root.read('identity/entity/name/ADMIN')).body.data?.['id']).toBe(admin)
  })

  test('a look-alike of an entity or a group can be created, and is a different one', async () => {
    const entity = await server.root.write('identity/entity', { name: 'ａｄｍｉｎ' })
    const group = await server.root.write('identity/group', { name: 'ａｄｍｉｎｓ' })

    expect([entity.status, group.status]).toEqual([200, 200])
    expect(entity.body.data?.['id']).not.toBe(admin)
    expect(
      (await server.root.write('identity/entity', { name: 'ADMIN', policies: ['powerful'] })).status,
    ).toBe(204)
  })

  test('a token role allows a name, not its look-alikes', async () => {
    await server.root.write('auth/token/roles/r', {
      allowed_entity_aliases: 'admin',
      allowed_policies: 'default',
    })

    const asked = (name: string) =>
      server.root.write('auth/token/create/r', { entity_alias: name, policies: ['default'] })

    expect(verdict(await asked('ａｄｍｉｎ'))).toBe("400 invalid 'entity_alias' value")
    expect(verdict(await asked('ADMIN'))).toBe('200')
  })
})

describe('rules that withhold rights compare widely', () => {
  test.each(['ｒｏｏｔ', 'ro\u200bot', ' ROOT '])('no entity gets the policy %j', async (policy) => {
    expect(verdict(await server.root.write('identity/entity', { name: 'x', policies: [policy] }))).toBe(
      '400 policies cannot contain root',
    )
  })

  test('a rule that denies a name denies its look-alikes', async () => {
    const policy =
      'path "identity/entity/name/*" { capabilities = ["read"] }\npath "identity/entity/name/admin" { capabilities = ["deny"] }'
    await server.root.write('sys/policies/acl/p', { policy })
    const { body } = await server.root.write('auth/token/create', { policies: ['p'] })
    const client = server.as(String(body.auth?.['client_token']))

    for (const name of ['admin', 'ADMIN', 'ａｄｍｉｎ', 'ⓐdmin', ' admin']) {
      expect((await client.read(`identity/entity/name/${encodeURIComponent(name)}`)).status).toBe(403)
    }
    expect((await client.read('identity/entity/name/nobody')).status).toBe(404)
  })

  test.each(['Admin', 'ａｄｍｉｎ', 'Adm*'])(
    'a rule that denies %s denies every spelling of the name',
    async (denied) => {
      const policy = `path "identity/entity/*" { capabilities = ["read"] }\npath "identity/entity/name/${denied}" { capabilities = ["deny"] }`
      await server.root.write('sys/policies/acl/p', { policy })
      const { body } = await server.root.write('auth/token/create', { policies: ['p'] })
      const client = server.as(String(body.auth?.['client_token']))

      for (const name of ['admin', 'ADMIN', 'aDmin', 'ａｄｍｉｎ']) {
        expect((await client.read(`identity/entity/name/${encodeURIComponent(name)}`)).status, name).toBe(403)
      }
      expect((await client.read('identity/entity/name/nobody')).status).toBe(404)
    },
  )

  test('a rule that denies one spelling affects neither other kinds of names nor nearer rules', async () => {
    await server.root.write('identity/group', { name: 'admin' })
    const policy = `path "identity/*" { capabilities = ["read"] }
path "identity/entity/name/ADM*" { capabilities = ["deny"] }
path "identity/entity/name/admin" { capabilities = ["read"] }`
    await server.root.write('sys/policies/acl/p', { policy })
    const { body } = await server.root.write('auth/token/create', { policies: ['p'] })
    const client = server.as(String(body.auth?.['client_token']))

    expect((await client.read('identity/group/name/admin')).status).toBe(200)
    expect((await client.read('identity/entity/name/admin')).status).toBe(200)
    expect((await client.read('identity/entity/name/Admin')).status).toBe(403)
  })

  test('a rule of the namespace above, or with a name from a template, denies look-alikes too', async () => {
    await server.root.write('sys/namespaces/team', {})
    await server.root.write('team/identity/entity', { name: 'Owner' })
    const policy = `path "team/identity/entity/name/*" { capabilities = ["read"] }
path "team/identity/entity/name/Owner" { capabilities = ["deny"] }
path "identity/entity/name/*" { capabilities = ["read"] }
path "identity/entity/name/{{identity.entity.name}}" { capabilities = ["deny"] }`
    await server.root.write('sys/policies/acl/p', { policy })
    await server.root.write('identity/entity', { name: 'Straße', policies: ['p'] })
    const { body: straße } = await server.root.read(`identity/entity/name/${encodeURIComponent('Straße')}`)
    await server.root.write('identity/entity-alias', {
      name: 'Straße',
      canonical_id: straße.data?.['id'],
      mount_accessor: mount.accessor,
    })
    const { answer } = await mount.login('Straße')
    const client = server.as(String(answer.body.auth?.['client_token']))

    expect((await client.read('team/identity/entity/name/owner')).status).toBe(403)
    expect((await client.read('team/identity/entity/name/nobody')).status).toBe(404)
    expect((await client.read(`identity/entity/name/${encodeURIComponent('STRAßE')}`)).status).toBe(403)
    expect((await client.read('identity/entity/name/admin')).status).toBe(200)
  })

  test('a rule that denies a role or policy denies its look-alikes', async () => {
    const policy = `path "auth/m/role/*" { capabilities = ["read"] }
path "auth/m/role/PROD" { capabilities = ["deny"] }
path "sys/policies/acl/*" { capabilities = ["read"] }
path "sys/policies/acl/P" { capabilities = ["deny"] }`
    await server.root.write('sys/policies/acl/p', { policy })
    const { body } = await server.root.write('auth/token/create', { policies: ['p'] })
    const client = server.as(String(body.auth?.['client_token']))

    expect((await client.read('auth/m/role/prod')).status).toBe(403)
    expect((await client.read('auth/m/role/other')).status).toBe(404)
    expect((await client.read('sys/policies/acl/p')).status).toBe(403)
    expect((await client.read('sys/policies/acl/default')).status).toBe(200)
  })
})

test('group names from a provider keep their spaces', async () => {
  const { accessor, login } = await aLoginMount(server, 'secure')
  const { body: config } = await server.root.read('auth/secure/config')
  const { jwt_validation_pubkeys } = config.data ?? {}
  await server.root.write('auth/secure/config', {
    jwt_validation_pubkeys,
    provider_config: { provider: 'secureauth' },
  })
  for (const name of ['b', ' b', 'a']) {
    const { body } = await server.root.write('identity/group', {
      name: `of "${name}"`,
      type: 'external',
      policies: [`p-${name.length}-${name.trim()}`],
    })
    await server.root.write('identity/group-alias', {
      name,
      mount_accessor: accessor,
      canonical_id: body.data?.['id'],
    })
  }

  const { answer } = await login('person', { groups: 'a, b' })

  expect(answer.body.auth?.['identity_policies']).toEqual(['p-1-a', 'p-2-b'])
})

test('role ids and users that look like another name are other ones too, and their logins log a warning', async () => {
  const { root, anonymous } = server
  for (const type of ['approle', 'userpass']) await root.write(`sys/auth/${type}`, { type })
  const ids = ['machine', 'ｍａｃｈｉｎｅ']
  for (const [index, role_id] of ids.entries())
    await root.write(`auth/approle/role/r${index}`, {
      role_id,
      bind_secret_id: false,
      secret_id_bound_cidrs: '0.0.0.0/0,::/0',
    })
  await root.write('auth/userpass/users/bob', { password: 'pw' })
  const other = await root.write('identity/entity', { name: 'other' })
  await root.write('identity/entity-alias', {
    name: 'ｂｏｂ',
    canonical_id: other.body.data?.['id'],
    mount_accessor: (await root.read('sys/auth/userpass')).body.data?.['accessor'],
  })
  const warned = warnings().length

  const logins = [
    await anonymous.write('auth/approle/login', { role_id: ids[0] }),
    await anonymous.write('auth/approle/login', { role_id: ids[1] }),
    await anonymous.write('auth/userpass/login/bob', { password: 'pw' }),
  ]

  const entities = logins.map(({ body }) => body.auth?.['entity_id'])
  expect(new Set([...entities, other.body.data?.['id']]).size).toBe(4)
  expect(warnings().slice(warned)).toMatchObject([
    { mount: 'auth/approle/', entity_id: entities[1], resembled_entity_id: entities[0] },
    { mount: 'auth/userpass/', entity_id: entities[2], resembled_entity_id: other.body.data?.['id'] },
  ])
})
