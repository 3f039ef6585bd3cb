import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../support/start-server.ts'

const ids = { subscription_id: 'sub-1', tenant_id: 'tenant-1' }
const withSecret = { ...ids, client_id: 'testClientId', client_secret: 'testClientSecret' }
const zeros = {
  client_id: '',
  disable_automated_rotation: false,
  environment: '',
  identity_token_audience: '',
  identity_token_ttl: 0,
  root_password_ttl: 0,
  rotation_period: 0,
  rotation_policy: '',
  rotation_schedule: '',
  rotation_window: 0,
  subscription_id: '',
  tenant_id: '',
}
const created = { ...zeros, ...ids, client_id: 'testClientId', root_password_ttl: 15_724_800 }

let server: TestServer

beforeAll(async () => {
  server = await startTestServer({ settings: { DEFAULT_MOUNTS: '' } })
})
afterAll(() => server[Symbol.asyncDispose]())

let count = 0

/** Creates a mount for one case and returns its path. */
async function newMount(type = 'cloud'): Promise<string> {
  const path = `m${++count}`
  expect((await server.root.write(`sys/mounts/${path}`, { type })).status).toBe(204)
  return path
}

const written = (...writes: object[]) => ({ writes })

describe("a mount of type azure shows later fields of Vault's engine only once they were sent", () => {
  const { subscription_id, tenant_id, client_id, environment, root_password_ttl } = created
  const plain = { subscription_id, tenant_id, client_id, environment, root_password_ttl }

  test.each([
    { set: 'none of them', ...written(withSecret), read: plain },
    {
      set: 'a period',
      ...written({ ...withSecret, rotation_period: '30d' }),
      read: { ...plain, rotation_period: 2_592_000 },
    },
    {
      set: 'a period that was cleared, and others with their default values',
      ...written(
        { ...withSecret, rotation_period: 10 },
        { rotation_period: 0, identity_token_ttl: 0, disable_automated_rotation: false, rotation_policy: '' },
      ),
      read: {
        ...plain,
        rotation_period: 0,
        identity_token_ttl: 0,
        disable_automated_rotation: false,
        rotation_policy: '',
      },
    },
    {
      set: 'a schedule that a later write keeps',
      ...written(
        { ...withSecret, rotation_schedule: '0 3 * * 0', rotation_window: 3600 },
        { tenant_id: 'tenant-2' },
      ),
      read: { ...plain, tenant_id: 'tenant-2', rotation_schedule: '0 3 * * 0', rotation_window: 3600 },
    },
  ])('after writes of $set', async ({ writes, read }) => {
    const mount = await newMount('azure')
    for (const body of writes) expect((await server.root.write(`${mount}/config`, body)).status).toBe(204)

    expect((await server.root.read(`${mount}/config`)).body.data).toEqual(read)
  })

  test('and shows none without a configuration or after its deletion', async () => {
    const mount = await newMount('azure')
    const empty = { subscription_id: '', tenant_id: '', client_id: '', environment: '', root_password_ttl: 0 }
    expect((await server.root.read(`${mount}/config`)).body.data).toEqual(empty)
    await server.root.write(`${mount}/config`, { ...withSecret, rotation_period: 10 })
    await server.root.delete(`${mount}/config`)

    expect((await server.root.read(`${mount}/config`)).body.data).toEqual(empty)
  })
})

describe('a configuration is read as written', () => {
  test.each([
    { row: 'a new configuration', ...written(withSecret), read: created },
    {
      row: 'a lifetime of the root password',
      ...written({ ...withSecret, root_password_ttl: '1m' }),
      read: { ...created, root_password_ttl: 60 },
    },
    {
      row: 'an environment',
      ...written({ ...withSecret, environment: 'AZURECHINACLOUD' }),
      read: { ...created, environment: 'AZURECHINACLOUD' },
    },
    {
      row: 'another tenant',
      ...written(withSecret, { tenant_id: 'tenant-2' }),
      read: { ...created, tenant_id: 'tenant-2' },
    },
    {
      row: 'another tenant and the stored lifetime',
      ...written({ ...withSecret, root_password_ttl: '1m' }, { tenant_id: 'tenant-2' }),
      read: { ...created, tenant_id: 'tenant-2', root_password_ttl: 60 },
    },
    {
      row: 'null as the environment, which keeps it',
      ...written({ ...withSecret, environment: 'AZURECHINACLOUD' }, { environment: null }),
      read: { ...created, environment: 'AZURECHINACLOUD' },
    },
    {
      row: 'another tenant and the stored environment',
      ...written({ ...withSecret, environment: 'AZURECHINACLOUD' }, { tenant_id: 'tenant-2' }),
      read: { ...created, tenant_id: 'tenant-2', environment: 'AZURECHINACLOUD' },
    },
    {
      row: 'an empty schedule and a window',
      ...written({ ...withSecret, root_password_ttl: 86_400, rotation_window: '1h', rotation_schedule: '' }),
      read: { ...created, root_password_ttl: 86_400, rotation_window: 3600 },
    },
    {
      row: 'a rotation period',
      ...written({ ...withSecret, rotation_period: '30d' }),
      read: { ...created, rotation_period: 2_592_000 },
    },
    {
      row: 'a rotation schedule',
      ...written({ ...withSecret, rotation_schedule: '0 3 * * sun', rotation_window: 7200 }),
      read: { ...created, rotation_schedule: '0 3 * * sun', rotation_window: 7200 },
    },
    {
      row: 'a period in place of a schedule',
      ...written(
        { ...withSecret, rotation_schedule: '0 3 * * 0' },
        { rotation_schedule: '', rotation_period: 10 },
      ),
      read: { ...created, rotation_period: 10 },
    },
    {
      row: 'a stored zero',
      ...written({ ...withSecret, root_password_ttl: 0 }),
      read: { ...created, root_password_ttl: 0 },
    },
    {
      row: 'a field cleared by an empty string',
      ...written(withSecret, { client_id: '' }),
      read: { ...created, client_id: '' },
    },
    {
      row: 'unknown fields, which are ignored',
      ...written({ ...withSecret, password_policy: 'x', use_microsoft_graph_api: true }),
      read: created,
    },
    {
      row: 'a rotation policy',
      ...written({ ...withSecret, rotation_policy: 'p', disable_automated_rotation: 'true' }),
      read: { ...created, rotation_policy: 'p', disable_automated_rotation: true },
    },
    {
      row: 'a lifetime of identity tokens',
      ...written({ ...withSecret, identity_token_ttl: '500' }),
      read: { ...created, identity_token_ttl: 500 },
    },
    {
      row: 'an audience of identity tokens, kept by a later write',
      ...written(
        {
          ...withSecret,
          client_id: '',
          client_secret: '',
          identity_token_audience: 'aud',
          identity_token_ttl: 500,
        },
        { tenant_id: withSecret.tenant_id },
      ),
      read: { ...created, client_id: '', identity_token_audience: 'aud', identity_token_ttl: 500 },
    },
    ...[
      'azurepubliccloud',
      'CloudUSGovernmentCloud',
      'AzureUSGovernmentCloud',
      'CLOUDCHINACLOUD',
      'CloudPublicCloud',
    ].map((environment) => ({
      row: environment,
      ...written({ ...withSecret, environment }),
      read: { ...created, environment },
    })),
  ])('with $row', async ({ writes, read }) => {
    const mount = await newMount()
    for (const body of writes)
      expect(await server.root.write(`${mount}/config`, body)).toMatchObject({ status: 204, text: '' })

    const answer = await server.root.read(`${mount}/config`)

    expect(answer.status).toBe(200)
    expect(answer.body['data']).toEqual(read)
  })

  test('a deleted or missing configuration is read as zero values', async () => {
    const mount = await newMount()
    expect((await server.root.read(`${mount}/config`)).body['data']).toEqual(zeros)
    expect((await server.root.delete(`${mount}/config`)).status).toBe(204)
    await server.root.write(`${mount}/config`, withSecret)

    expect((await server.root.delete(`${mount}/config`)).status).toBe(204)

    expect(await server.root.read(`${mount}/config`)).toMatchObject({ status: 200, body: { data: zeros } })
  })

  test('the configuration is deleted with the mount', async () => {
    const mount = await newMount()
    await server.root.write(`${mount}/config`, withSecret)
    await server.root.delete(`sys/mounts/${mount}`)
    await server.root.write(`sys/mounts/${mount}`, { type: 'cloud' })

    expect((await server.root.read(`${mount}/config`)).body['data']).toEqual(zeros)
  })

  test('the configuration is deleted with its namespace', async () => {
    for (let life = 0; life < 2; life++) {
      expect((await server.root.write('sys/namespaces/team', {})).status).toBe(200)
      expect((await server.root.write('team/sys/mounts/cloud', { type: 'cloud' })).status).toBe(204)
      expect((await server.root.read('team/cloud/config')).body['data']).toEqual(zeros)
      expect((await server.root.write('team/cloud/config', withSecret)).status).toBe(204)
      expect((await server.root.read('team/cloud/config')).body['data']).toEqual(created)
      await server.root.delete('sys/namespaces/team')
      await expect.poll(async () => (await server.root.read('sys/namespaces/team')).status).toBe(404)
    }
  })
})

const wrapped = (text: string) => `1 error occurred:\n\t* ${text}\n\n`
const both =
  'mutually exclusive fields rotation_schedule and rotation_period were both specified; only one of them can be provided'

describe('a refused write changes nothing', () => {
  test.each([
    {
      row: 'a secret and an audience',
      body: { environment: 'AZURECHINACLOUD', identity_token_audience: 'aud' },
      text: "only one of 'client_secret' or 'identity_token_audience' can be set",
    },
    {
      row: 'an audience that is too long',
      body: { client_secret: '', identity_token_audience: 'a'.repeat(601) },
      text: 'identity_token_audience must have at most 600 characters',
    },
    {
      row: 'identity tokens that live longer than their key is published',
      body: { client_secret: '', identity_token_audience: 'aud', identity_token_ttl: 86_401 },
      text: 'identity_token_ttl cannot be longer than the verification_ttl of key "default"',
    },
    {
      row: 'an unknown environment',
      body: { environment: 'invalidEnv' },
      text: wrapped('err: no cloud configuration matching the name "invalidEnv"'),
    },
    {
      row: 'an empty environment',
      body: { environment: '' },
      text: wrapped('err: no cloud configuration matching the name ""'),
    },
    {
      row: 'a cloud that no longer exists',
      body: { environment: 'AzureGermanCloud' },
      text: wrapped('err: no cloud configuration matching the name "AzureGermanCloud"'),
    },
    {
      row: 'a wrong schedule, reported before the environment',
      body: { environment: 'x', rotation_schedule: 'x' },
      text: 'failed to parse provided rotation_schedule: expected exactly 5 fields, found 1',
    },
    {
      row: 'a schedule and a period',
      body: { rotation_schedule: '0 0 * * *', rotation_period: 10 },
      text: both,
    },
    {
      row: 'a wrong schedule and a period',
      body: { rotation_schedule: 'x', rotation_period: 10 },
      text: both,
    },
    {
      row: 'a schedule without any date',
      body: { rotation_schedule: '0 0 31 2 *' },
      text: 'failed to parse provided rotation_schedule: there is no such day',
    },
    {
      row: 'a window and a period',
      body: { rotation_window: 3600, rotation_period: 10 },
      text: 'rotation_window does not apply to period',
    },
    {
      row: 'a window and a period, with an empty schedule',
      body: { rotation_window: 3600, rotation_period: 10, rotation_schedule: '' },
      text: 'rotation_window does not apply to period',
    },
    {
      row: 'a window alone',
      body: { rotation_window: 3600 },
      text: 'cannot use rotation_window without rotation_schedule',
    },
    {
      row: 'a window below an hour',
      body: { rotation_window: 3599, rotation_schedule: '0 0 * * *' },
      text: 'error registering rotation job: rotation_window must be 3600 seconds or more',
    },
    {
      row: 'a negative lifetime',
      body: { root_password_ttl: -1 },
      text: `error converting input for field "root_password_ttl": cannot provide negative value '-1'`,
    },
    {
      row: 'a switch that is not a boolean',
      body: { disable_automated_rotation: 'maybe' },
      text: 'error converting input for field "disable_automated_rotation"',
      isPart: true,
    },
    {
      row: 'an id that is a list',
      body: { tenant_id: ['a'] },
      text: 'error converting input for field "tenant_id"',
      isPart: true,
    },
    { row: 'an empty subscription', body: { subscription_id: '' }, text: 'subscription_id is required' },
    { row: 'an empty tenant', body: { tenant_id: '' }, text: 'tenant_id is required' },
  ])('a configuration is refused with $row', async ({ body, text, isPart = false }) => {
    const mount = await newMount()
    await server.root.write(`${mount}/config`, withSecret)

    const answer = await server.root.write(`${mount}/config`, { ...body, rotation_policy: 'other' })

    expect(answer.status).toBe(400)
    if (isPart) expect(String(answer.body['errors']?.[0])).toContain(text)
    else expect(answer.body['errors']).toEqual([text])
    expect((await server.root.read(`${mount}/config`)).body['data']).toEqual(created)
  })

  test('a period is refused together with a stored schedule', async () => {
    const mount = await newMount()
    await server.root.write(`${mount}/config`, { ...withSecret, rotation_schedule: '0 0 * * *' })

    expect(await server.root.write(`${mount}/config`, { rotation_period: 10 })).toMatchObject({
      status: 400,
      body: { errors: [both] },
    })
  })

  test.each([
    { body: {}, text: 'subscription_id is required' },
    { body: { subscription_id: 'a' }, text: 'tenant_id is required' },
  ])('a new configuration needs both ids, else: $text', async ({ body, text }) => {
    const mount = await newMount()

    expect(await server.root.write(`${mount}/config`, body)).toMatchObject({
      status: 400,
      body: { errors: [text] },
    })
  })
})

test('ids can come from the environment, and are not shown', async () => {
  const environment = {
    CLOUD_SUBSCRIPTION_ID: 'sub-e',
    CLOUD_TENANT_ID: 'tenant-e',
    CLOUD_CLIENT_ID: 'client-e',
    CLOUD_CLIENT_SECRET: 'secret-e',
  }
  await using other = await startTestServer({ environment })

  expect((await other.root.write('cloud/config', {})).status).toBe(204)

  expect((await other.root.read('cloud/config')).body['data']).toEqual({
    ...zeros,
    root_password_ttl: 15_724_800,
  })
})

test('no response contains the secret', async () => {
  const mount = await newMount()
  const secret = 'never-to-be-seen-again'
  const answers = [
    await server.root.write(`${mount}/config`, { ...withSecret, client_secret: secret }),
    await server.root.read(`${mount}/config`),
    await server.root.write(`${mount}/config`, { client_secret: secret, environment: 'x' }),
    await server.root.write(`${mount}/config`, { client_secret: secret, identity_token_audience: 'x' }),
  ]

  for (const { text } of answers) expect(text).not.toContain(secret)
})

test.each([
  ['GET', 'rotate-root'],
  ['DELETE', 'rotate-root'],
  ['GET', 'roles'],
  ['POST', 'roles'],
])('%s %s is an unsupported operation', async (method, path) => {
  const mount = await newMount()

  expect(await server.root.call(method, `${mount}/${path}`)).toMatchObject({
    status: 405,
    body: { errors: [wrapped('unsupported operation')] },
  })
})

test.each(['static-roles/-x', 'static-creds/x-', 'roles/-x', 'roles/x-', 'configs'])(
  '%s is an unsupported path',
  async (path) => {
    const mount = await newMount()

    expect(await server.root.read(`${mount}/${path}`)).toMatchObject({
      status: 404,
      body: { errors: [wrapped('unsupported path')] },
    })
  },
)
