import { describe, expect, test } from 'vitest'
import { emptyConfig } from '../../../src/plugins/cloud/config-record.ts'
import { fieldNames } from '../../../src/plugins/cloud/field-names.ts'
import { emptyRole } from '../../../src/plugins/cloud/role-record.ts'
import { effectiveSettings } from '../../../src/plugins/cloud/settings.ts'
import { openEngineHouse } from './engine-house.ts'

describe('the client of upstream', () => {
  test('is kept for 30 minutes', async () => {
    await using house = await openEngineHouse()
    const first = await house.state.upstream()
    house.clock.advance(1799)
    expect(await house.state.upstream()).toBe(first)
    house.clock.advance(1)
    expect(await house.state.upstream()).not.toBe(first)
  })

  test.each([
    {
      name: 'a written configuration',
      change: (house: Awaited<ReturnType<typeof openEngineHouse>>) => house.engine.putConfig(house.mount, { root_password_ttl: 1 }),
    },
    {
      name: 'a completed rotation',
      change: async (house: Awaited<ReturnType<typeof openEngineHouse>>) => {
        await house.engine.rotateRoot(house.mount, 'c0ffee00-0000-4000-8000-000000000000')
        house.clock.advance(60)
        await house.engine.rotation.look()
      },
    },
  ])('is created again after $name', async ({ change }) => {
    await using house = await openEngineHouse()
    const first = await house.state.upstream()

    await change(house)

    expect(await house.state.upstream()).not.toBe(first)
  })

  test('is missing after the configuration is deleted', async () => {
    await using house = await openEngineHouse()
    await house.state.upstream()

    await house.engine.deleteConfig(house.mount)

    await expect(house.state.upstream()).rejects.toMatchObject({ kind: 'invalid', message: 'subscription_id is required' })
  })

  test('works with settings of the environment alone', async () => {
    const operator = { subscriptionId: 's', tenantId: 't', clientId: 'c', clientSecret: 'x' }
    await using house = await openEngineHouse({ operator })
    await house.engine.deleteConfig(house.mount)
    house.clock.advance(3600)

    expect((await house.state.upstream()).settings).toMatchObject(operator)
  })
})

describe('records', () => {
  test('fields of a later version survive writes', async () => {
    await using house = await openEngineHouse()
    await house.view.write([
      { key: 'config', value: { ...(await house.config()), later: 1 } },
      { key: 'role/a', value: { ...emptyRole, groups: [{ group_name: 'foo', object_id: house.directory.groupIds['foo'] }], later: [2] } },
    ])

    await house.engine.putConfig(house.mount, { root_password_ttl: 1 })
    await house.engine.putRole(house.mount, 'a', { ttl: 7 }, 'c0ffee00-0000-4000-8000-000000000000')

    expect(await house.view.get('config')).toMatchObject({ later: 1, root_password_ttl: 1 })
    expect(await house.view.get('role/a')).toMatchObject({ later: [2], ttl: 7 })
  })

  test.each(['config', 'role/a'])('a damaged %s is an internal error, never treated as absent', async (key) => {
    await using house = await openEngineHouse()
    await house.view.write([{ key, value: { broken: true } }])
    const reading = key === 'config' ? house.state.findConfig() : house.state.findRole('a')

    await expect(reading).rejects.toMatchObject({ kind: 'internal', message: 'internal error' })
  })

  test('a failed read is not cached', async () => {
    await using house = await openEngineHouse()
    const good = await house.config()
    await house.view.write([{ key: 'config', value: 7 }])
    await expect(house.state.findConfig()).rejects.toMatchObject({ kind: 'internal' })
    await house.view.write([{ key: 'config', value: good }])

    expect(await house.state.findConfig()).toEqual(good)
  })

  test('concurrent changes of the configuration all take effect', async () => {
    await using house = await openEngineHouse()
    const changes = [
      { tenant_id: 'a' },
      { subscription_id: 'b' },
      { rotation_policy: 'c' },
      { root_password_ttl: 4 },
      { environment: 'CloudChinaCloud' },
    ]

    await Promise.all(changes.map((change) => house.engine.putConfig(house.mount, change)))

    expect(await house.state.findConfig()).toMatchObject(Object.assign({}, ...changes))
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
  ])('the environment "$environment" has its directory at $directoryBase', ({ environment, directoryBase }) => {
    expect(effectiveSettings({ ...config, environment }, {}).environment).toMatchObject({
      directoryBase,
      directoryScope: `${directoryBase}/.default`,
    })
  })

  test('the environment takes precedence', () => {
    const operator = { subscriptionId: 'S', tenantId: 'T', clientId: 'C', clientSecret: 'X', environment: 'AzureChinaCloud' }

    expect(effectiveSettings({ ...config, environment: 'AzurePublicCloud' }, operator)).toMatchObject({
      ...{ subscriptionId: 'S', tenantId: 'T', clientId: 'C', clientSecret: 'X' },
      environment: { name: 'china' },
    })
  })

  test.each([
    { missing: { subscription_id: '' }, text: 'subscription_id is required', kind: 'invalid' },
    { missing: { tenant_id: '' }, text: 'tenant_id is required', kind: 'invalid' },
    { missing: { client_id: '' }, text: 'client_id is required', kind: 'invalid' },
    { missing: { client_secret: '' }, text: 'client_secret is required', kind: 'invalid' },
  ])('$text', ({ missing, text, kind }) => {
    expect(() => effectiveSettings({ ...config, ...missing }, {})).toThrow(expect.objectContaining({ message: text, kind }))
  })

  test('an unknown cloud in the environment is the operator’s mistake', () => {
    const text = 'err: no cloud configuration matching the name "x"'
    expect(() => effectiveSettings(config, { environment: 'x' })).toThrow(expect.objectContaining({ message: text, kind: 'internal' }))
  })
})

test('both types have the same values, each under its own names', () => {
  expect([...fieldNames.cloud.audiences]).toEqual([
    ['CloudADMyOrg', 'AzureADMyOrg'],
    ['CloudADMultipleOrgs', 'AzureADMultipleOrgs'],
    ['CloudADandPersonalVendorAccount', 'AzureADandPersonalMicrosoftAccount'],
    ['PersonalVendorAccount', 'PersonalMicrosoftAccount'],
  ])
  expect([...fieldNames.azure.audiences.keys()]).toEqual([...fieldNames.cloud.audiences.values()])
})
