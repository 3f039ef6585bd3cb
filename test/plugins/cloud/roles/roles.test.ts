import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../../../support/client.ts'
import { type CloudFixture, guids, startCloudFixture } from '../cloud-fixture.ts'

let fixture: CloudFixture

beforeAll(async () => {
  fixture = await startCloudFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

let count = 0
const newName = () => `r${++count}`
const write = (name: string, body: object) => fixture.root.write(`cloud/roles/${name}`, body)
const read = async (name: string) => (await fixture.root.read(`cloud/roles/${name}`)).body['data']
const granted = (...roles: object[]) => JSON.stringify(roles)
const refusal = (text: string) => ({ status: 400, body: { errors: [text] } })
const owner = (resourceGroup?: string) => ({
  role_name: 'Owner',
  role_id: fixture.definition(guids.owner),
  scope: fixture.scope(resourceGroup),
})
const contributor = (resourceGroup?: string) => ({
  role_name: 'Contributor',
  role_id: fixture.definition(guids.contributor),
  scope: fixture.scope(resourceGroup),
})
const group = (name: string) => ({ group_name: name, object_id: fixture.directory.groupIds[name] })

const empty = {
  application_object_id: '',
  cloud_groups: null,
  cloud_roles: null,
  explicit_max_ttl: 0,
  max_ttl: 0,
  permanently_delete: false,
  persist_app: false,
  sign_in_audience: '',
  tags: null,
  ttl: 0,
}

describe('a role is read as written', () => {
  test('all fields can be written repeatedly', async () => {
    const name = newName()
    const first = {
      cloud_roles: [owner('web'), contributor('data')],
      cloud_groups: [group('foo'), group('bar')],
    }
    const more = { permanently_delete: true, sign_in_audience: 'CloudADMyOrg', tags: ['project:vault_test'] }
    const texts = {
      cloud_roles: JSON.stringify(first.cloud_roles),
      cloud_groups: JSON.stringify(first.cloud_groups),
    }
    expect(await write(name, { ...texts, ...more, ttl: 0, max_ttl: 0, explicit_max_ttl: 0 })).toMatchObject({
      status: 204,
      text: '',
    })
    expect(await read(name)).toEqual({ ...empty, ...first, ...more })

    const second = { cloud_roles: [owner('data'), contributor('data')], cloud_groups: [group('bar')] }
    const ttls = { ttl: 300, max_ttl: 3000, explicit_max_ttl: 3000, sign_in_audience: 'CloudADMultipleOrgs' }
    await write(name, {
      cloud_roles: JSON.stringify(second.cloud_roles),
      cloud_groups: JSON.stringify(second.cloud_groups),
      ...ttls,
    })

    expect(await read(name)).toEqual({ ...empty, ...more, ...second, ...ttls })
  })

  test('an existing application needs no rights', async () => {
    const { id } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
    const name = newName()
    const body = {
      application_object_id: id,
      ttl: 300,
      max_ttl: 3000,
      explicit_max_ttl: 3000,
      sign_in_audience: 'PersonalVendorAccount',
      tags: ['a:b'],
    }

    expect((await write(name, { ...body, cloud_roles: '[]', cloud_groups: '[]' })).status).toBe(204)

    expect(await read(name)).toEqual({ ...empty, ...body, cloud_roles: [], cloud_groups: [] })
  })

  test('one Cloud role is enough', async () => {
    const name = newName()

    expect((await write(name, { cloud_roles: granted(owner()) })).status).toBe(204)

    expect(await read(name)).toEqual({ ...empty, cloud_roles: [owner()] })
  })

  test('missing names and ids are filled in from upstream', async () => {
    const name = newName()
    const cloud_roles = granted(
      { ...owner(), role_id: '' },
      { ...contributor(), role_name: 'will be replaced' },
    )
    const cloud_groups = JSON.stringify([
      { group_name: 'foo' },
      { group_name: 'will be replaced', object_id: fixture.directory.groupIds['bar'] },
    ])

    expect((await write(name, { cloud_roles, cloud_groups })).status).toBe(204)

    expect(await read(name)).toEqual({
      ...empty,
      cloud_roles: [owner(), contributor()],
      cloud_groups: [group('foo'), group('bar')],
    })
  })

  test('a Cloud role can be listed for two scopes', async () => {
    const name = newName()

    expect((await write(name, { cloud_roles: granted(owner('web'), owner('data')) })).status).toBe(204)
  })

  test('groups alone are enough', async () => {
    const name = newName()

    expect((await write(name, { cloud_groups: JSON.stringify([{ group_name: 'foo' }]) })).status).toBe(204)

    expect(await read(name)).toEqual({ ...empty, cloud_groups: [group('foo')] })
  })

  test('null counts as no list, and unknown fields of items are ignored', async () => {
    const name = newName()

    expect(
      (
        await write(name, {
          cloud_roles: 'null',
          cloud_groups: '[{"group_name":"foo","object_id":null,"colour":7}]',
        })
      ).status,
    ).toBe(204)

    expect(await read(name)).toEqual({ ...empty, cloud_groups: [group('foo')] })
  })

  test('the names of members have any letter case, and blanks around a scope or an id do not count', async () => {
    const name = newName()
    const cloud_roles = granted(
      { Role_Name: 'Owner', Scope: ` ${fixture.scope('web')} ` },
      { ROLE_ID: ` ${fixture.definition(guids.contributor)} `, SCOPE: fixture.scope('data') },
    )
    const cloud_groups = granted(
      { Group_Name: 'foo' },
      { OBJECT_ID: fixture.directory.groupIds['bar'] ?? '' },
    )

    expect((await write(name, { cloud_roles, cloud_groups })).status).toBe(204)

    expect(await read(name)).toEqual({
      ...empty,
      cloud_roles: [owner('web'), contributor('data')],
      cloud_groups: [group('foo'), group('bar')],
    })
  })

  test('absent fields keep their value, even permanently_delete', async () => {
    const name = newName()
    const body = {
      cloud_roles: granted(owner()),
      ttl: 60,
      max_ttl: 600,
      permanently_delete: true,
      tags: 'b,a',
      sign_in_audience: 'CloudADMyOrg',
    }
    await write(name, body)

    expect((await write(name, { explicit_max_ttl: '1h' })).status).toBe(204)

    expect(await read(name)).toEqual({
      ...empty,
      ...body,
      cloud_roles: [owner()],
      tags: ['a', 'b'],
      explicit_max_ttl: 3600,
    })
  })

  test('metadata is kept and shown once it was written, and null clears it', async () => {
    const name = newName()
    await write(name, { cloud_roles: granted(owner()) })
    expect(await read(name)).not.toHaveProperty('metadata')

    await write(name, { metadata: { team: 'billing', cost_centre: '7' } })
    await write(name, { ttl: 60 })
    expect(await read(name)).toMatchObject({ metadata: { team: 'billing', cost_centre: '7' }, ttl: 60 })

    await write(name, { metadata: null })
    expect(await read(name)).toMatchObject({ metadata: null })
    expect((await write(name, { metadata: [1] })).status).toBe(400)
  })

  test('a role name with an apostrophe and an ampersand is found', async () => {
    const roleName = "Bob's R&D #1 + 100 %"
    const { id } = fixture.directory.admin.addRoleDefinition({ roleName })
    const { id: object_id } = fixture.directory.admin.addGroup(roleName)
    const name = newName()

    const answer = await write(name, {
      cloud_roles: granted({ role_name: roleName, scope: fixture.scope() }),
      cloud_groups: JSON.stringify([{ group_name: roleName }]),
    })

    expect(answer.status).toBe(204)
    expect(await read(name)).toEqual({
      ...empty,
      cloud_roles: [{ role_name: roleName, role_id: id, scope: fixture.scope() }],
      cloud_groups: [{ group_name: roleName, object_id }],
    })
  })

  test('role names are case-insensitive', async () => {
    const name = newName()
    await write(name.toUpperCase(), { cloud_roles: granted(owner()) })

    expect(await read(name)).toMatchObject({ cloud_roles: [owner()] })
    expect((await fixture.root.list('cloud/roles')).body['data']?.['keys']).toContain(name)
    await fixture.root.delete(`cloud/roles/${name.toUpperCase()}`)
    expect((await fixture.root.read(`cloud/roles/${name}`)).status).toBe(404)
  })
})

describe('ttls', () => {
  test.each([
    { ttls: { ttl: 5, max_ttl: 10 } },
    { ttls: { ttl: 5 } },
    { ttls: { max_ttl: 10 } },
    { ttls: { ttl: 100, max_ttl: 100 } },
    { ttls: { ttl: 101, max_ttl: 100 }, text: 'ttl cannot be greater than max_ttl' },
    { ttls: { ttl: 101, max_ttl: 0 } },
    { ttls: { ttl: 5, max_ttl: 10, explicit_max_ttl: 10 } },
    { ttls: { ttl: 10, explicit_max_ttl: 5 }, text: 'ttl cannot be greater than explicit_max_ttl' },
    {
      ttls: { ttl: 10, max_ttl: 10, explicit_max_ttl: 5 },
      text: 'ttl cannot be greater than explicit_max_ttl',
    },
    { ttls: { max_ttl: 10, explicit_max_ttl: 5 }, text: 'max_ttl cannot be greater than explicit_max_ttl' },
    { ttls: { explicit_max_ttl: 10 } },
    { ttls: { ttl: '1h', max_ttl: '2d' }, shown: { ttl: 3600, max_ttl: 172_800 } },
  ])('are checked against each other: $ttls', async ({ ttls, text, shown = ttls }) => {
    const name = newName()

    const answer = await write(name, { cloud_roles: granted(owner()), ...ttls })

    if (text === undefined)
      expect([answer.status, await read(name)]).toEqual([204, { ...empty, cloud_roles: [owner()], ...shown }])
    else expect(answer).toMatchObject(refusal(text))
  })

  test('are checked against stored ones', async () => {
    const name = newName()
    await write(name, { cloud_roles: granted(owner()), max_ttl: 10 })

    expect(await write(name, { ttl: 11 })).toMatchObject(refusal('ttl cannot be greater than max_ttl'))
  })
})

const noTarget =
  'either Cloud role definitions, group definitions, or an Application Object ID must be provided'
const audiences =
  'Invalid value for sign_in_audience field. Valid values are: CloudADMyOrg, CloudADMultipleOrgs, CloudADandPersonalVendorAccount, PersonalVendorAccount'

type Refused = { row: string; body: () => object; text: () => string; isPart?: boolean }

describe('a refused write stores nothing', () => {
  const notThere = '11111111-2222-3333-4444-555555555555'
  test.each<Refused>([
    {
      row: 'a role twice on one scope',
      body: () => ({ cloud_roles: granted(owner(), { role_name: 'Owner', scope: fixture.scope() }) }),
      text: (): string =>
        `duplicate role_id and scope: '${fixture.definition(guids.owner)}', '${fixture.scope()}'`,
    },
    ...[
      { row: 'in capitals', change: (scope: string) => ({ scope: scope.toUpperCase() }) },
      { row: 'with blanks', change: (scope: string) => ({ scope: ` ${scope}\t` }) },
      { row: 'with a final slash', change: (scope: string) => ({ scope: `${scope}/` }) },
      {
        row: 'by its id in capitals',
        change: () => ({ role_id: ` ${fixture.definition(guids.owner).toUpperCase()}/ ` }),
      },
      {
        row: 'by its id without a subscription',
        change: () => ({ role_id: `/providers/Microsoft.Authorization/roleDefinitions/${guids.owner}` }),
      },
    ].map(({ row, change }) => ({
      row: `a role twice on one scope, once ${row}`,
      body: () => ({
        cloud_roles: granted(owner('web'), {
          role_name: 'owner',
          scope: fixture.scope('web'),
          ...change(fixture.scope('web')),
        }),
      }),
      text: (): string => 'duplicate role_id and scope: ',
      isPart: true,
    })),
    ...['{}', '{"scope":null}', '{"scope":""}', '{"scope":" \\t"}', '{"scope":"/"}', '{"scope":"a/b"}'].map(
      (scope) => ({
        row: `a role with the scope ${scope}`,
        body: () => ({ cloud_roles: granted({ role_name: 'Owner', ...(JSON.parse(scope) as object) }) }),
        text: (): string => 'cloud_roles[0]: scope is required and begins with "/"',
      }),
    ),
    {
      row: 'one member twice, in other letters',
      body: () => ({ cloud_roles: granted({ role_name: 'Owner', scope: fixture.scope('web'), Scope: '/' }) }),
      text: (): string => 'cloud_roles[0]: "scope" is given twice',
    },
    {
      row: 'an unknown member in the second entry',
      body: () => ({ cloud_roles: granted(owner(), { ...owner('web'), zone: 'x' }) }),
      text: (): string => 'cloud_roles[1]: unknown member "zone"',
    },
    {
      row: 'a role without name and id',
      body: () => ({ cloud_roles: granted({ scope: fixture.scope() }) }),
      text: (): string => "no role found for role_name: ''",
    },
    {
      row: 'a group without name and id',
      body: () => ({ cloud_groups: granted({ groupName: 'foo' }) }),
      text: (): string => "no group found for group_name: ''",
    },
    {
      row: 'a group twice',
      body: () => ({ cloud_groups: granted(group('foo'), { group_name: 'foo' }) }),
      text: (): string => `duplicate object_id '${fixture.directory.groupIds['foo']}'`,
    },
    {
      row: 'an ambiguous role name',
      body: () => ({ cloud_roles: granted({ role_name: 'multiple', scope: fixture.scope() }) }),
      text: (): string => "multiple matches found for role_name: 'multiple'. Specify role by ID instead.",
    },
    {
      row: 'an ambiguous group name',
      body: () => ({ cloud_groups: granted({ group_name: 'multiple' }) }),
      text: (): string =>
        "multiple matches found for group_name: 'multiple'. Specify group by ObjectID instead.",
    },
    { row: 'neither an application nor roles nor groups', body: () => ({}), text: (): string => noTarget },
    {
      row: 'empty lists',
      body: () => ({ cloud_roles: '[]', cloud_groups: '[]' }),
      text: (): string => noTarget,
    },
    { row: 'persist_app without rights', body: () => ({ persist_app: true }), text: (): string => noTarget },
    {
      row: 'an unknown audience',
      body: () => ({ sign_in_audience: 'asdfg' }),
      text: (): string => audiences,
    },
    { row: 'an empty audience', body: () => ({ sign_in_audience: '' }), text: (): string => audiences },
    {
      row: "Azure's own audience",
      body: () => ({ sign_in_audience: 'AzureADMyOrg' }),
      text: (): string => audiences,
    },
    {
      row: 'a space in a tag',
      body: () => ({ tags: 'environment development' }),
      text: (): string => 'whitespaces are not allowed in tags',
    },
    {
      row: 'a long tag',
      body: () => ({ tags: ['t'.repeat(257)] }),
      text: (): string => 'individual tag size must be between 1 and 256 characters (inclusive)',
    },
    {
      row: 'a tag with too many bytes',
      body: () => ({ tags: ['ä'.repeat(129)] }),
      text: (): string => 'individual tag size must be between 1 and 256 characters (inclusive)',
    },
    {
      row: 'too many tags',
      body: () => ({ tags: Array.from({ length: 201 }, (_, index) => `t${index}`).join() }),
      text: (): string => 'at most 200 tags are allowed',
    },
    {
      row: "a tag with the engine's prefix",
      body: () => ({ tags: ['gatehouse:cloud_1:2'] }),
      text: (): string => "tags must not begin with 'gatehouse:'",
    },
    {
      row: 'an unknown role name',
      body: () => ({ cloud_roles: granted({ role_name: 'Nobody', scope: fixture.scope() }) }),
      text: (): string => "no role found for role_name: 'Nobody'",
    },
    {
      row: 'an unknown role id',
      body: () => ({
        cloud_roles: granted({ role_id: fixture.definition(notThere), scope: fixture.scope() }),
      }),
      text: (): string => `no role found for role_id: '${fixture.definition(notThere)}'`,
    },
    {
      row: 'an unknown group name',
      body: () => ({ cloud_groups: granted({ group_name: 'nobody' }) }),
      text: (): string => "no group found for group_name: 'nobody'",
    },
    {
      row: 'an unknown group id',
      body: () => ({ cloud_groups: granted({ object_id: notThere }) }),
      text: (): string => `no group found for object_id: '${notThere}'`,
    },
    {
      row: 'several mistakes, of which the first is reported',
      body: () => ({ ttl: 2, max_ttl: 1, tags: 'a b', sign_in_audience: 'x' }),
      text: (): string => 'ttl cannot be greater than max_ttl',
    },
    {
      row: 'permanently_delete for an existing application',
      body: () => ({
        application_object_id: fixture.directory.admin.addApplication({ displayName: 'p' }).id,
        permanently_delete: true,
        cloud_roles: 'asdf',
      }),
      text: (): string => 'permanently_delete must be false if application_object_id is provided',
    },
    {
      row: 'an existing application and persist_app',
      body: () => ({ application_object_id: notThere, persist_app: true, cloud_roles: granted(owner()) }),
      text: (): string => 'application_object_id cannot be set together with persist_app',
    },
    {
      row: "the engine's own application",
      body: () => ({ application_object_id: fixture.directory.rootApplicationId }),
      text: (): string => 'application_object_id must not refer to the application used by this engine',
    },
    ...[
      '',
      ' ',
      'asdf',
      '{',
      '{}',
      '"x"',
      '7',
      '[null]',
      '[[]]',
      '["x"]',
      '[{"role_name":7}]',
      '[{"scope":{}}]',
      '[] x',
      '[]]',
    ].flatMap((raw) => [
      {
        row: `roles ${raw}`,
        body: () => ({ cloud_roles: raw }),
        text: (): string => `error parsing Cloud roles '${raw}': `,
        isPart: true,
      },
      {
        row: `groups ${raw.replaceAll('role', 'group')}`,
        body: () => ({ cloud_groups: raw.replaceAll('role', 'group').replace('scope', 'object_id') }),
        text: (): string => "error parsing Cloud groups '",
        isPart: true,
      },
    ]),
    ...['//', '/a//b', '/subscriptions/', '/Subscriptions', '/a%b'].map((scope) => ({
      row: `scope ${scope}`,
      body: () => ({ cloud_roles: granted({ role_name: 'Owner', scope }) }),
      text: (): string => `cloud_roles[0]: invalid scope "${scope}"`,
    })),
    ...['/a?b', '/a#b', '/a/../b', '/./a', '/..', '/a/%2E%2e/b', '/a\\..\\b', '/a\u0000b', '/a\nb'].flatMap(
      (path) => [
        {
          row: `scope ${JSON.stringify(path)}`,
          body: () => ({ cloud_roles: granted({ role_name: 'Owner', scope: path }) }),
          text: (): string =>
            `cloud_roles[0]: invalid scope ${JSON.stringify(path).replace('\\u0000', '\\x00')}`,
        },
        {
          row: `role id ${JSON.stringify(path)}`,
          body: () => ({
            cloud_roles: granted({
              role_id: `/providers/Microsoft.Authorization/roleDefinitions${path}`,
              scope: fixture.scope(),
            }),
          }),
          text: (): string =>
            `no role found for role_id: '/providers/Microsoft.Authorization/roleDefinitions${path}'`,
        },
      ],
    ),
    {
      row: 'the id of another resource as a role id',
      body: () => ({ cloud_roles: granted({ role_id: fixture.scope(), scope: fixture.scope() }) }),
      text: (): string => `no role found for role_id: '${fixture.scope()}'`,
    },
    {
      row: 'too many roles',
      body: () => ({ cloud_roles: JSON.stringify(Array.from({ length: 201 }, () => owner())) }),
      text: (): string => 'expected at most 200 elements',
      isPart: true,
    },
    {
      row: 'a TTL that is not a duration',
      body: () => ({ ttl: 'soon' }),
      text: (): string => 'error converting input for field "ttl"',
      isPart: true,
    },
  ])('a role is refused with $row', async ({ body, text, isPart = false }) => {
    const name = newName()

    const answer = await write(name, body())

    expect(answer.status).toBe(400)
    if (isPart) expect(String(answer.body['errors']?.[0])).toContain(text())
    else expect(answer.body['errors']).toEqual([text()])
    expect((await fixture.root.read(`cloud/roles/${name}`)).status).toBe(404)
  })

  test('a mount of type azure names its own field, and the right on a whole tenant is that of its management group', async () => {
    const azure = (entry: object) =>
      fixture.root.write('azure/roles/tenant', { azure_roles: JSON.stringify([entry]) })
    const scope = '/providers/Microsoft.Management/managementGroups/root'

    expect((await azure({ role_name: 'Owner', scope, zone: 1 })).body['errors']).toEqual([
      'azure_roles[0]: unknown member "zone"',
    ])
    expect((await azure({ role_name: 'Owner', scope: `${scope}/` })).status).toBe(204)
    expect((await fixture.root.read('azure/roles/tenant')).body.data?.['azure_roles']?.['0']).toMatchObject({
      role_name: 'Owner',
      scope,
    })
  })

  test('the application is checked before the lists are parsed', async () => {
    const { id } = fixture.directory.admin.addApplication({ displayName: 'known' })
    const name = newName()

    const known = await write(name, { application_object_id: id, cloud_roles: 'asdf' })
    const unknown = await write(name, {
      application_object_id: '11111111-2222-3333-4444-555555555555',
      cloud_roles: 'asdf',
    })
    const noId = await write(name, { application_object_id: 'abc', cloud_roles: 'asdf' })

    expect(String(known.body['errors']?.[0])).toContain("error parsing Cloud roles 'asdf'")
    for (const answer of [unknown, noId]) {
      expect(answer.status).toBe(400)
      expect(String(answer.body['errors']?.[0])).toContain('error loading Application: ')
    }
  })

  test('a refused update leaves the stored role unchanged', async () => {
    const name = newName()
    await write(name, { cloud_roles: granted(owner()), ttl: 5 })

    expect((await write(name, { ttl: 6, cloud_roles: granted({ role_name: 'multiple' }) })).status).toBe(400)

    expect(await read(name)).toEqual({ ...empty, cloud_roles: [owner()], ttl: 5 })
  })
})

describe('tags', () => {
  test.each([
    {
      row: 'two tags',
      tags: ['project:vault_test', 'team:engineering'],
      shown: ['project:vault_test', 'team:engineering'],
    },
    { row: 'no tags', tags: [], shown: [] },
    { row: 'an empty string', tags: '', shown: [] },
    { row: 'a tag twice', tags: ['team:a', 'team:a'], shown: ['team:a'] },
    { row: 'tags to trim and sort', tags: ' b , a,,B, ä ', shown: ['B', 'a', 'b', 'ä'] },
    { row: 'the longest tag', tags: ['t'.repeat(256)], shown: ['t'.repeat(256)] },
  ])('tags are stored: $row', async ({ tags, shown }) => {
    const name = newName()

    expect((await write(name, { cloud_roles: granted(owner()), tags })).status).toBe(204)

    expect(await read(name)).toMatchObject({ tags: shown })
  })
})

describe('a mount of type azure', () => {
  test("uses Azure's names", async () => {
    const name = newName()
    const body = {
      azure_roles: granted(owner()),
      azure_groups: granted(group('foo')),
      sign_in_audience: 'AzureADandPersonalMicrosoftAccount',
    }

    expect((await fixture.root.write(`azure/roles/${name}`, body)).status).toBe(204)

    const { cloud_roles: _roles, cloud_groups: _groups, ...shared } = empty
    const shown = {
      ...shared,
      azure_roles: [owner()],
      azure_groups: [group('foo')],
      sign_in_audience: body.sign_in_audience,
    }
    expect((await fixture.root.read(`azure/roles/${name}`)).body['data']).toEqual(shown)
  })

  test.each([
    { body: () => ({ azure_roles: 'x' }), text: "error parsing Azure roles 'x': " },
    { body: () => ({ azure_groups: 'x' }), text: "error parsing Azure groups 'x': " },
    { body: () => ({ cloud_roles: granted(owner()) }), text: noTarget.replace('Cloud', 'Azure') },
    {
      body: () => ({ sign_in_audience: 'CloudADMyOrg' }),
      text: 'Valid values are: AzureADMyOrg, AzureADMultipleOrgs, AzureADandPersonalMicrosoftAccount, PersonalMicrosoftAccount',
    },
  ])('$text', async ({ body, text }) => {
    const answer = await fixture.root.write(`azure/roles/${newName()}`, body())

    expect(answer.status).toBe(400)
    expect(String(answer.body['errors']?.[0])).toContain(text)
  })

  test('a mount of type cloud does not accept the names of Azure', async () => {
    expect(await write(newName(), { azure_roles: granted(owner()) })).toMatchObject(refusal(noTarget))
  })
})

test('roles are listed and deleted', async () => {
  await using other = await startCloudFixture()
  const roles = (method: 'list' | 'delete' | 'read', name?: string): Promise<Answer> =>
    other.root[method](`cloud/roles${name === undefined ? '' : `/${name}`}`)
  expect(await roles('list')).toMatchObject({ status: 404, body: { errors: [] } })
  for (const name of ['r2', 'r1', 'r3']) {
    await other.root.write(`cloud/roles/${name}`, { cloud_groups: '[{"group_name":"foo"}]' })
  }
  expect((await roles('list')).body['data']).toEqual({ keys: ['r1', 'r2', 'r3'] })

  expect(await roles('delete', 'r2')).toMatchObject({ status: 204, text: '' })

  expect((await roles('list')).body['data']).toEqual({ keys: ['r1', 'r3'] })
  expect((await roles('read', 'r2')).status).toBe(404)
  expect((await roles('read', 'r1')).status).toBe(200)
  expect((await roles('delete', 'r2')).status).toBe(204)
  expect((await roles('delete', 'never')).status).toBe(204)
})

describe('without a configuration', () => {
  test('roles can be listed and deleted, but neither read nor written', async () => {
    await using other = await startCloudFixture()
    await other.root.write('cloud/roles/a', { cloud_groups: '[{"group_name":"foo"}]' })
    await other.root.delete('cloud/config')

    expect(await other.root.read('cloud/roles/a')).toMatchObject(refusal('config is nil'))
    expect(await other.root.write('cloud/roles/a', { ttl: 7 })).toMatchObject(refusal('config is nil'))
    expect((await other.root.list('cloud/roles')).body['data']).toEqual({ keys: ['a'] })
    expect((await other.root.delete('cloud/roles/a')).status).toBe(204)
  })

  test.each([
    { missing: 'client_id', text: 'client_id is required' },
    {
      missing: 'client_secret',
      text: 'unable to lookup Cloud group: no credential is configured: set client_secret, client_certificate or identity_token_audience',
    },
  ])('a role write names the missing $missing', async ({ missing, text }) => {
    await using other = await startCloudFixture()
    await other.root.write('cloud/config', { [missing]: '' })

    expect(await other.root.write('cloud/roles/a', { cloud_groups: '[{"group_name":"foo"}]' })).toMatchObject(
      refusal(text),
    )
  })
})

test('settings of the environment apply, and stored ones are shown', async () => {
  await using other = await startCloudFixture({ configured: false })
  const {
    tenantId,
    subscriptionId,
    rootClientId,
    rootClientSecret,
    authorityUrl,
    directoryUrl,
    resourceManagerUrl,
    caFile,
  } = other.directory
  await using server = await startCloudFixture({
    configured: false,
    environment: {
      CLOUD_TENANT_ID: tenantId,
      CLOUD_SUBSCRIPTION_ID: subscriptionId,
      CLOUD_CLIENT_ID: rootClientId,
      CLOUD_CLIENT_SECRET: rootClientSecret,
      CLOUD_AUTHORITY_HOST: authorityUrl,
      CLOUD_DIRECTORY_ENDPOINT: directoryUrl,
      CLOUD_RESOURCE_MANAGER_ENDPOINT: resourceManagerUrl,
      CLOUD_CA_FILE: caFile,
    },
  })
  await server.root.write('cloud/config', {
    tenant_id: 'stored-tenant',
    subscription_id: 'stored-subscription',
    client_id: 'c',
    client_secret: 's',
  })

  const answer = await server.root.write('cloud/roles/a', {
    cloud_roles: '[{"role_name":"Owner","scope":"/providers/Microsoft.Management/managementGroups/root"}]',
  })

  expect(answer.status).toBe(204)
  expect((await server.root.read('cloud/config')).body['data']).toMatchObject({
    tenant_id: 'stored-tenant',
    client_id: 'c',
  })
  expect((await server.root.read('cloud/roles/a')).body['data']?.['cloud_roles']?.['0']).toMatchObject({
    role_id: `/subscriptions/${subscriptionId}/providers/Microsoft.Authorization/roleDefinitions/${guids.owner}`,
  })
})

describe('when upstream refuses', () => {
  test.each([
    {
      operation: 'listRoleDefinitions',
      body: {
        cloud_roles:
          '[{"role_name":"Owner","scope":"/providers/Microsoft.Management/managementGroups/root"}]',
      },
      text: 'unable to lookup Cloud role by name: ',
    },
    {
      operation: 'listGroups',
      body: { cloud_groups: '[{"group_name":"foo"}]' },
      text: 'unable to lookup Cloud group: ',
    },
    {
      operation: 'getApplication',
      body: { application_object_id: '11111111-2222-3333-4444-555555555555' },
      text: 'error loading Application: ',
    },
  ] as const)(
    '$operation: 403 names the missing permission, and any other status is 502',
    async ({ operation, body, text }) => {
      fixture.directory.fault({
        kind: 'status',
        status: 403,
        code: 'Authorization_RequestDenied',
        message: 'Insufficient privileges to complete the operation.',
        operation,
      })
      const denied = await write(newName(), body)
      fixture.directory.fault({ kind: 'status', status: 501, code: 'Odd', message: 'odd', operation })
      const odd = await write(newName(), body)

      expect(denied.status).toBe(400)
      expect(String(denied.body['errors']?.[0])).toMatch(/^[^\n]*; missing permission: \S+(?: and \S+)*$/)
      expect(String(denied.body['errors']?.[0])).toContain(text)
      expect(odd.status).toBe(502)
      expect(String(odd.body['errors']?.[0])).toContain(text)
    },
  )

  test('a wrong secret is refused with the text of the login service', async () => {
    await using other = await startCloudFixture()
    await other.root.write('cloud/config', { client_secret: 'wrong' })

    const answer = await other.root.write('cloud/roles/a', { cloud_groups: '[{"group_name":"foo"}]' })

    expect(answer.status).toBe(400)
    expect(String(answer.body['errors']?.[0])).toContain('7000215')
    expect(answer.text).not.toContain('wrong')
  })
})
