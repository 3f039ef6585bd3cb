import { describe, expect, test } from 'vitest'
import { emptyConfig } from '../../../src/plugins/cloud/config/config-record.ts'
import { effectiveSettings } from '../../../src/plugins/cloud/config/effective-settings.ts'
import { fieldNames } from '../../../src/plugins/cloud/field-names.ts'
import { emptyRole } from '../../../src/plugins/cloud/roles/role-record.ts'
import { writeRole } from '../../../src/plugins/cloud/roles/write-role.ts'
import { rotateRoot } from '../../../src/plugins/cloud/root-rotation/rotate-root.ts'
import { openEngineFixture } from './engine-fixture.ts'

describe('the upstream client', () => {
  test('is reused for 30 minutes', async () => {
    await using fixture = await openEngineFixture()
    const first = await fixture.state.upstream()
    fixture.clock.advance(1799)
    expect(await fixture.state.upstream()).toBe(first)
    fixture.clock.advance(1)
    expect(await fixture.state.upstream()).not.toBe(first)
  })

  test.each([
    {
      name: 'a written configuration',
      change: (fixture: Awaited<ReturnType<typeof openEngineFixture>>) =>
        fixture.engine.putConfig(fixture.mount, { root_password_ttl: 1 }),
    },
    {
      name: 'a completed rotation',
      change: async (fixture: Awaited<ReturnType<typeof openEngineFixture>>) => {
        await rotateRoot(fixture.engine.work(fixture.mount, 'c0ffee00-0000-4000-8000-000000000000'))
        fixture.clock.advance(60)
        await fixture.engine.rotation.looks.look()
      },
    },
  ])('is created again after $name', async ({ change }) => {
    await using fixture = await openEngineFixture()
    const first = await fixture.state.upstream()

    await change(fixture)

    expect(await fixture.state.upstream()).not.toBe(first)
  })

  test('is refused after the configuration was deleted', async () => {
    await using fixture = await openEngineFixture()
    await fixture.state.upstream()

    await fixture.engine.deleteConfig(fixture.mount)

    await expect(fixture.state.upstream()).rejects.toMatchObject({
      kind: 'invalid',
      message: 'subscription_id is required',
    })
  })

  test('can be opened with settings of the environment alone', async () => {
    const operator = { subscriptionId: 's', tenantId: 't', clientId: 'c', clientSecret: 'x' }
    await using fixture = await openEngineFixture({ operator })
    await fixture.engine.deleteConfig(fixture.mount)
    fixture.clock.advance(3600)

    expect((await fixture.state.upstream()).settings).toMatchObject({
      subscriptionId: 's',
      tenantId: 't',
      clientId: 'c',
      credential: { type: 'root_creds', clientId: 'c', secret: 'x' },
    })
  })
})

describe('records', () => {
  test('fields of later versions survive writes', async () => {
    await using fixture = await openEngineFixture()
    await fixture.view.write([
      { key: 'config', value: { ...(await fixture.config()), later: 1 } },
      {
        key: 'role/a',
        value: {
          ...emptyRole,
          groups: [{ group_name: 'foo', object_id: fixture.directory.groupIds['foo'] }],
          later: [2],
        },
      },
    ])

    await fixture.engine.putConfig(fixture.mount, { root_password_ttl: 1 })
    await writeRole(
      'a',
      { ttl: 7 },
      fixture.engine.work(fixture.mount, 'c0ffee00-0000-4000-8000-000000000000'),
    )

    expect(await fixture.view.get('config')).toMatchObject({ later: 1, root_password_ttl: 1 })
    expect(await fixture.view.get('role/a')).toMatchObject({ later: [2], ttl: 7 })
  })

  test.each(['config', 'role/a'])(
    'a damaged %s is an internal error and does not count as absent',
    async (key) => {
      await using fixture = await openEngineFixture()
      await fixture.view.write([{ key, value: { broken: true } }])
      const reading = key === 'config' ? fixture.state.findConfig() : fixture.state.findRole('a')

      await expect(reading).rejects.toMatchObject({ kind: 'internal', message: 'internal error' })
    },
  )

  test('a failed read is not cached', async () => {
    await using fixture = await openEngineFixture()
    const good = await fixture.config()
    await fixture.view.write([{ key: 'config', value: 7 }])
    await expect(fixture.state.findConfig()).rejects.toMatchObject({ kind: 'internal' })
    await fixture.view.write([{ key: 'config', value: good }])

    expect(await fixture.state.findConfig()).toEqual(good)
  })

  test('concurrent changes of the configuration all take effect', async () => {
    await using fixture = await openEngineFixture()
    const changes = [
      { tenant_id: 'a' },
      { subscription_id: 'b' },
      { rotation_policy: 'c' },
      { root_password_ttl: 4 },
      { environment: 'CloudChinaCloud' },
    ]

    await Promise.all(changes.map((change) => fixture.engine.putConfig(fixture.mount, change)))

    expect(await fixture.state.findConfig()).toMatchObject(Object.assign({}, ...changes))
  })
})

describe('effective settings', () => {
  const config = { ...emptyConfig, subscription_id: 's', tenant_id: 't', client_id: 'c', client_secret: 'x' }

  test.each([
    { environment: '', directoryBase: 'https://graph.microsoft.com' },
    { environment: 'AZURECHINACLOUD', directoryBase: 'https://microsoftgraph.chinacloudapi.cn' },
    { environment: 'AZUREPUBLICCLOUD', directoryBase: 'https://graph.microsoft.com' },
    { environment: 'AZUREUSGOVERNMENTCLOUD', directoryBase: 'https://graph.microsoft.us' },
    { environment: 'cloudUSGovernmentCloud', directoryBase: 'https://graph.microsoft.us' },
  ])(
    'the environment "$environment" sets the directory address $directoryBase',
    ({ environment, directoryBase }) => {
      expect(effectiveSettings({ ...config, environment }, {}, false).environment).toMatchObject({
        directoryBase,
        directoryScope: `${directoryBase}/.default`,
      })
    },
  )

  test('settings of the environment take precedence', () => {
    const operator = {
      subscriptionId: 'S',
      tenantId: 'T',
      clientId: 'C',
      clientSecret: 'X',
      environment: 'AzureChinaCloud',
    }

    expect(effectiveSettings({ ...config, environment: 'AzurePublicCloud' }, operator, false)).toMatchObject({
      subscriptionId: 'S',
      tenantId: 'T',
      clientId: 'C',
      credential: { type: 'root_creds', clientId: 'C', secret: 'X' },
      environment: { name: 'china' },
    })
  })

  test.each([
    { missing: { subscription_id: '' }, text: 'subscription_id is required', kind: 'invalid' },
    { missing: { tenant_id: '' }, text: 'tenant_id is required', kind: 'invalid' },
    { missing: { client_id: '' }, text: 'client_id is required', kind: 'invalid' },
    {
      missing: { client_secret: '' },
      text: 'no credential is configured: set client_secret, client_certificate or identity_token_audience',
      kind: 'invalid',
    },
  ])('a missing setting is refused: $text', ({ missing, text, kind }) => {
    expect(() => effectiveSettings({ ...config, ...missing }, {}, false)).toThrow(
      expect.objectContaining({ message: text, kind }),
    )
  })

  test('an unknown cloud in the environment is an internal error', () => {
    const text = 'err: no cloud configuration matching the name "x"'
    expect(() => effectiveSettings(config, { environment: 'x' }, false)).toThrow(
      expect.objectContaining({ message: text, kind: 'internal' }),
    )
  })
})

test('both mount types have the same values under their own names', () => {
  expect([...fieldNames.cloud.audiences]).toEqual([
    ['CloudADMyOrg', 'AzureADMyOrg'],
    ['CloudADMultipleOrgs', 'AzureADMultipleOrgs'],
    ['CloudADandPersonalVendorAccount', 'AzureADandPersonalMicrosoftAccount'],
    ['PersonalVendorAccount', 'PersonalMicrosoftAccount'],
  ])
  expect([...fieldNames.azure.audiences.keys()]).toEqual([...fieldNames.cloud.audiences.values()])
})
