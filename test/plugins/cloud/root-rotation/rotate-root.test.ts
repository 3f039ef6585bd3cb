import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { emptyConfig } from '../../../../src/plugins/cloud/config/config-record.ts'
import { isRotationDue } from '../../../../src/plugins/cloud/root-rotation/next-step.ts'
import { supersededPasswords } from '../../../../src/plugins/cloud/root-rotation/root-passwords.ts'
import { rotateRoot } from '../../../../src/plugins/cloud/root-rotation/rotate-root.ts'
import { startCloudFixture } from '../cloud-fixture.ts'
import { type EngineFixture, openEngineFixture } from '../engine-fixture.ts'

const rotate = (fixture: EngineFixture) =>
  rotateRoot(fixture.engine.work(fixture.mount, 'c0ffee00-0000-4000-8000-000000000000'))
const look = (fixture: EngineFixture) => fixture.engine.rotation.looks.look()
const untilNothingIsLeft = (fixture: EngineFixture) =>
  expect.poll(() => fixture.state.intents.undoAll(), { timeout: 20_000 }).toEqual([])
const names = async (fixture: EngineFixture) =>
  (await fixture.rootPasswords()).map(({ displayName }) => displayName)
const ownName = expect.stringMatching(/^gatehouse-root-cloud_1234abcd-[0-9a-f-]{36}$/)

test('a rotation stores the new secret as pending and keeps the current one', async () => {
  await using fixture = await openEngineFixture({ config: { root_password_ttl: 3600 } })

  await rotate(fixture)

  const { client_secret, pending } = await fixture.config()
  expect(client_secret).toBe(fixture.directory.rootClientSecret)
  expect(pending).toMatchObject({
    created: fixture.clock.now(),
    application_object_id: fixture.directory.rootApplicationId,
  })
  expect([pending?.client_secret, pending?.key_id]).not.toContain('')
  expect(pending?.client_secret).not.toBe(client_secret)
  expect(Date.parse(pending?.expiration_date ?? '')).toBe(fixture.clock.now() + 3_600_000)
  expect(await names(fixture)).toEqual(['typed in by an operator', ownName])
  expect(await fixture.state.intents.all()).toEqual([])
})

describe('a write while a rotation is in progress', () => {
  const discarded = ['a rotation of the root credential was in progress, which this write discards']
  async function aRotation() {
    const fixture = await startCloudFixture({ cloudTimes: { rotationTimes: { lookMs: 20 } } })
    expect((await fixture.root.write('cloud/rotate-root')).status).toBe(204)
    return fixture
  }

  test.each([
    { name: 'the default environment', body: { environment: 'CloudPublicCloud' } },
    { name: 'the same environment in the other spelling', body: { environment: 'azurePUBLICcloud' } },
    { name: 'another field', body: { root_password_ttl: 3600 } },
  ])('keeps it if it names $name', async ({ body }) => {
    await using fixture = await aRotation()

    expect((await fixture.root.write('cloud/config', body)).status).toBe(204)
    fixture.clock.advance(61)

    await expect
      .poll(async () => {
        fixture.clock.advance(15)
        return (await fixture.root.read('cloud/config')).body.data
      })
      .toHaveProperty('root_password_expiration_date')
  })

  test('keeps it if it spells the ids otherwise', async () => {
    await using fixture = await aRotation()
    const { rootClientId, tenantId } = fixture.directory
    const body = { client_id: rootClientId.toUpperCase(), tenant_id: tenantId.toUpperCase() }

    expect((await fixture.root.write('cloud/config', body)).status).toBe(204)
  })

  test.each([
    { name: 'another secret', write: { client_secret: 'other' } },
    { name: 'another environment', write: { environment: 'CloudChinaCloud' } },
    { name: 'nothing any more', write: undefined },
  ])('warns that it is discarded if it configures $name', async ({ write }) => {
    await using fixture = await aRotation()

    const answer =
      write === undefined
        ? await fixture.root.delete('cloud/config')
        : await fixture.root.write('cloud/config', write)

    expect(answer).toMatchObject({ status: 200, body: { data: null, warnings: discarded } })
  })

  test('warns that it is discarded if it begins another one', async () => {
    await using fixture = await aRotation()

    const answer = await fixture.root.write('cloud/rotate-root')

    expect(answer).toMatchObject({ status: 200, body: { warnings: discarded } })
  })
})

test('a look that has ended begins no rotation', async () => {
  await using fixture = await openEngineFixture({ config: { rotation_period: 600 } })
  fixture.clock.advance(600)

  await fixture.engine.rotation.looks.look(AbortSignal.abort())
  const after = await fixture.config()
  await look(fixture)

  expect(after.pending).toBeUndefined()
  expect((await fixture.config()).pending).toBeDefined()
  expect(fixture.lines).toEqual([])
})

test('a new secret lasts 182 days by default', async () => {
  await using fixture = await openEngineFixture()

  await rotate(fixture)

  expect(Date.parse((await fixture.config()).pending?.expiration_date ?? '')).toBe(
    fixture.clock.now() + 15_724_800_000,
  )
})

test.each([{ age: 1 }, { age: 5 }, { age: 30 }, { age: 50 }, { age: 59.999 }])(
  'after $age s the pending secret is not promoted',
  async ({ age }) => {
    await using fixture = await openEngineFixture()
    await rotate(fixture)
    const before = await fixture.config()
    fixture.clock.advance(age)

    await look(fixture)

    expect(await fixture.config()).toEqual(before)
    expect(fixture.lines).toEqual([])
  },
)

test('after 60 s the pending secret is promoted, the configured one is removed, and the expiration is shown', async () => {
  await using fixture = await openEngineFixture()
  await rotate(fixture)
  const { pending } = await fixture.config()
  fixture.clock.advance(60)

  await look(fixture)

  const { pending: left, ...config } = await fixture.config()
  expect(left).toBeUndefined()
  expect(config).toMatchObject({
    client_secret: pending?.client_secret,
    client_secret_key_id: pending?.key_id,
    root_password_expiration_date: pending?.expiration_date,
  })
  expect(await fixture.rootPasswords()).toEqual([{ keyId: pending?.key_id, displayName: ownName }])
  expect(await fixture.state.intents.all()).toEqual([])
  await look(fixture)
  expect(JSON.stringify(fixture.lines)).not.toContain(pending?.client_secret)
})

test('the next rotation removes the previous secret and keeps the passwords of others', async () => {
  await using fixture = await openEngineFixture()
  const stranger = fixture.directory.admin.addPassword(fixture.directory.rootApplicationId, {
    displayName: 'gatehouse-root-cloud_other-1',
  })
  for (let turn = 0; turn < 3; turn++) {
    await rotate(fixture)
    fixture.clock.advance(60)
    await look(fixture)
  }

  const { client_secret_key_id } = await fixture.config()
  expect((await fixture.rootPasswords()).map(({ keyId }) => keyId).sort()).toEqual(
    [stranger.keyId, client_secret_key_id].sort(),
  )
})

test('a secret that an operator gave to two mounts stays until both have rotated', async () => {
  await using fixture = await openEngineFixture({ neighbour: {} })
  const { client_id, client_secret: typed } = await fixture.config()
  const works = async (secret: string) => {
    const { tokens } = await fixture.state.upstream()
    return tokens.prove(client_id, { secret }, 'directory', {
      deadline: fixture.clock.now() + 60_000,
      correlationId: randomUUID(),
    })
  }
  for (const { mount, isLast } of [
    { mount: fixture.mount, isLast: false },
    { mount: fixture.neighbour, isLast: true },
  ]) {
    await rotateRoot(fixture.engine.work(mount, randomUUID()))
    fixture.clock.advance(60)
    await fixture.engine.rotation.looks.look()
    expect(await works(typed)).toBe(!isLast)
    expect(
      fixture.lines.filter(({ fields }) => 'event' in fields && fields.event === 'root_secret_shared'),
    ).toHaveLength(1)
  }
  expect(await works((await fixture.config()).client_secret)).toBe(true)
  expect(await fixture.rootPasswords()).toHaveLength(2)
})

test('a second rotation removes the first pending secret at once', async () => {
  await using fixture = await openEngineFixture()
  await rotate(fixture)
  const first = (await fixture.config()).pending

  await rotate(fixture)

  await untilNothingIsLeft(fixture)
  const second = (await fixture.config()).pending
  const keys = (await fixture.rootPasswords()).map(({ keyId }) => keyId)
  expect(keys).toContain(second?.key_id)
  expect(keys).not.toContain(first?.key_id)
})

test('a pending secret that does not work yet is checked every 15 s', async () => {
  await using fixture = await openEngineFixture({
    directory: { settings: { delaySeconds: { secretToToken: 100 } } },
  })
  await rotate(fixture)
  const old = fixture.directory.rootClientSecret
  fixture.clock.advance(60)
  await look(fixture)
  expect((await fixture.config()).client_secret).toBe(old)
  const asked = fixture.directory.journal.entries({ operation: 'token' }).length

  fixture.clock.advance(14)
  await look(fixture)
  expect(fixture.directory.journal.entries({ operation: 'token' }).length).toBe(asked)
  fixture.clock.advance(1)
  await look(fixture)
  expect(fixture.directory.journal.entries({ operation: 'token' }).length).toBeGreaterThan(asked)
  expect((await fixture.config()).client_secret).toBe(old)
  expect(await names(fixture)).toHaveLength(2)

  fixture.clock.advance(40)
  await look(fixture)
  expect((await fixture.config()).client_secret).not.toBe(old)
})

test('a pending secret is promoted after it worked twice in a row', async () => {
  await using fixture = await openEngineFixture()
  await rotate(fixture)
  fixture.clock.advance(60)
  fixture.directory.fault({
    kind: 'status',
    status: 401,
    body: { error: 'invalid_client', error_description: 'AADSTS7000215: Invalid.', error_codes: [7000215] },
    operation: 'token',
    skip: 1,
  })

  await look(fixture)

  expect((await fixture.config()).pending).toBeDefined()
})

test('the pending secret takes over if an operator removes the old one', async () => {
  await using fixture = await openEngineFixture()
  await rotate(fixture)
  fixture.directory.admin.remove(fixture.directory.rootSecretKeyId)
  fixture.restart()
  fixture.clock.advance(60)

  await look(fixture)

  expect(await fixture.config()).not.toHaveProperty('pending')
  expect(await names(fixture)).toEqual([ownName])
})

test('a secret that could not be removed after the promotion is removed after a restart', async () => {
  await using fixture = await openEngineFixture()
  await rotate(fixture)
  fixture.clock.advance(60)
  fixture.directory.fault({ kind: 'dropped', operation: 'removeApplicationPassword', times: null })
  await look(fixture)
  const { pending, client_secret_key_id } = await fixture.config()
  expect(pending).toBeUndefined()
  expect(await names(fixture)).toHaveLength(2)

  fixture.restart()
  fixture.directory.clearFaults()
  await untilNothingIsLeft(fixture)

  expect(await fixture.rootPasswords()).toEqual([{ keyId: client_secret_key_id, displayName: ownName }])
})

test('no password is left after a lost answer', async () => {
  await using fixture = await openEngineFixture()
  fixture.directory.fault({ kind: 'lost', operation: 'addApplicationPassword' })

  await expect(rotate(fixture)).rejects.toMatchObject({
    message: expect.stringContaining('failed to add new password: '),
  })

  expect(await fixture.config()).not.toHaveProperty('pending')
  await untilNothingIsLeft(fixture)
  expect(await names(fixture)).toEqual(['typed in by an operator'])
})

test('nothing is left to undo if upstream refuses the password', async () => {
  await using fixture = await openEngineFixture()
  fixture.directory.change({ directoryPermissions: ['Application.Read.All'] })

  await expect(rotate(fixture)).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('missing permission: Application.ReadWrite.All'),
  })

  expect(await fixture.state.intents.all()).toEqual([])
})

test.each([
  { name: 'another secret', change: { client_secret: 'entered-again' } },
  { name: 'another application', change: { client_id: 'another' } },
])('the pending secret is dropped if an operator writes $name meanwhile', async ({ change }) => {
  await using fixture = await openEngineFixture({
    config: { client_secret_key_id: 'old', root_password_expiration_date: '2027-01-01T00:00:00Z' },
  })
  await rotate(fixture)

  await fixture.engine.putConfig(fixture.mount, change)

  const config = await fixture.config()
  expect(config).not.toHaveProperty('pending')
  expect(config).not.toHaveProperty('root_password_expiration_date')
  expect(config.client_secret_key_id).toBe('')
  fixture.clock.advance(60)
  await look(fixture)
  expect((await fixture.config()).client_secret).toBe(
    change.client_secret ?? fixture.directory.rootClientSecret,
  )
})

test('the pending secret is promoted if other settings change meanwhile', async () => {
  await using fixture = await openEngineFixture()
  await rotate(fixture)

  await fixture.engine.putConfig(fixture.mount, { root_password_ttl: 5 })
  fixture.clock.advance(60)
  await look(fixture)

  expect(await fixture.config()).toMatchObject({
    root_password_ttl: 5,
    client_secret_key_id: expect.stringMatching(/./),
  })
})

type Refused = {
  name: string
  config: Record<string, unknown> | undefined
  environment?: Record<string, string>
  text: string
}

describe('rotate-root over HTTP', () => {
  test.each<Refused>([
    { name: 'no configuration', config: undefined, text: 'config is nil' },
    {
      name: 'no secret',
      config: { client_secret: '' },
      text: 'cannot rotate root: no client secret is configured',
    },
    {
      name: 'an unknown application',
      config: { client_id: '11111111-2222-3333-4444-555555555555' },
      text: 'AADSTS700016',
    },
    {
      name: 'a client id from the environment',
      config: {},
      environment: { CLOUD_CLIENT_ID: 'x' },
      text: 'cannot rotate root: client credentials are provided by the environment',
    },
    {
      name: 'a client secret from the environment',
      config: {},
      environment: { CLOUD_CLIENT_SECRET: 'x' },
      text: 'cannot rotate root: client credentials are provided by the environment',
    },
  ])('$name', async ({ config, environment = {}, text }) => {
    await using fixture = await startCloudFixture({ configured: false, environment })
    if (config !== undefined) await fixture.root.write('cloud/config', fixture.config(config))

    const answer = await fixture.root.write('cloud/rotate-root')

    expect(answer.status).toBe(400)
    expect(String(answer.body['errors']?.[0])).toContain(text)
  })

  test('refuses an application that is not found, or found twice', async () => {
    await using fixture = await startCloudFixture()
    const rotated = () => fixture.root.write('cloud/rotate-root')
    fixture.directory.fault({
      kind: 'status',
      status: 200,
      body: { value: [] },
      operation: 'listApplications',
    })
    expect(await rotated()).toMatchObject({ status: 400, body: { errors: ['no application found'] } })

    const one = {
      id: 'a',
      appId: fixture.directory.rootClientId,
      displayName: 'x',
      tags: [],
      passwordCredentials: [],
    }
    fixture.directory.fault({
      kind: 'status',
      status: 200,
      body: { value: [one, { ...one, id: 'b' }] },
      operation: 'listApplications',
    })
    expect(await rotated()).toMatchObject({
      status: 400,
      body: { errors: ['multiple applications found - double check your client_id'] },
    })
  })

  test('returns 204, and the configuration does not show the rotation yet', async () => {
    await using fixture = await startCloudFixture()
    const before = (await fixture.root.read('cloud/config')).body['data']

    expect(await fixture.root.write('cloud/rotate-root')).toMatchObject({ status: 204, text: '' })

    expect((await fixture.root.read('cloud/config')).body['data']).toEqual(before)
  })
})

describe('automatic rotations', () => {
  test('count the period from the last rotation, manual or automatic', async () => {
    await using fixture = await openEngineFixture({ config: { rotation_period: 600 } })
    fixture.clock.advance(599)
    await look(fixture)
    expect(await fixture.config()).not.toHaveProperty('pending')
    fixture.clock.advance(1)
    await look(fixture)
    expect(await fixture.config()).toHaveProperty('pending')
    fixture.clock.advance(60)
    await look(fixture)
    const { client_secret_key_id: first } = await fixture.config()
    fixture.clock.advance(539)
    await look(fixture)
    expect((await fixture.config()).client_secret_key_id).toBe(first)
    expect(await fixture.config()).not.toHaveProperty('pending')
    fixture.clock.advance(1)
    await look(fixture)
    expect(await fixture.config()).toHaveProperty('pending')
  })

  test('are retried after a failure, but not at every check', async () => {
    await using fixture = await openEngineFixture({ config: { rotation_period: 600 } })
    fixture.directory.change({ directoryPermissions: 'None' })
    fixture.clock.advance(600)
    await look(fixture)
    await look(fixture)
    expect(fixture.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
    fixture.directory.change({ directoryPermissions: 'All' })
    fixture.clock.advance(3600)

    await look(fixture)

    expect(await fixture.config()).toHaveProperty('pending')
  })

  test('replace a pending secret that never works when the next one is due', async () => {
    await using fixture = await openEngineFixture({ config: { rotation_period: 7200 } })
    await rotate(fixture)
    const { pending } = await fixture.config()
    fixture.directory.admin.remove(pending?.key_id ?? '')
    fixture.clock.advance(7199)
    await look(fixture)
    expect((await fixture.config()).pending).toEqual(pending)
    fixture.clock.advance(15)

    await look(fixture)

    expect((await fixture.config()).pending?.key_id).not.toBe(pending?.key_id)
    fixture.clock.advance(60)
    await look(fixture)
    expect(await fixture.config()).not.toHaveProperty('pending')
  })

  test('wait for the promotion of a pending secret, even if the period is shorter', async () => {
    await using fixture = await openEngineFixture({ config: { rotation_period: 10 } })
    for (let second = 0; second < 75; second += 5) {
      fixture.clock.advance(5)
      await look(fixture)
    }

    expect((await fixture.config()).client_secret_key_id).not.toBe('')
  })

  test('are not delayed by a clock that was set back', async () => {
    await using fixture = await openEngineFixture()
    await rotate(fixture)
    fixture.clock.advance(-86_400)
    fixture.directory.advance(86_400)

    await look(fixture)

    expect(await fixture.config()).not.toHaveProperty('pending')
  })

  test('start only once for a mount that waits for its cloud', async () => {
    await using fixture = await openEngineFixture()
    await rotate(fixture)
    fixture.clock.advance(60)
    fixture.directory.fault({ kind: 'held', operation: 'token' })
    fixture.directory.journal.clear()
    const first = look(fixture)
    await fixture.directory.journal.arrived('token')
    fixture.clock.advance(20)
    const second = look(fixture)
    fixture.directory.release()

    await Promise.all([first, second])

    expect(
      fixture.lines.filter(({ fields }) => 'event' in fields && fields.event === 'root_rotated'),
    ).toHaveLength(1)
  })

  const hour = 3600
  const from = Date.UTC(2026, 4, 5, 6)
  test.each([
    { name: 'a period that has passed', config: { rotation_period: hour }, after: hour, due: true },
    { name: 'a period that has not passed', config: { rotation_period: hour }, after: hour - 1, due: false },
    { name: 'no period or schedule', config: {}, after: 1e9, due: false },
    {
      name: 'rotation disabled',
      config: { rotation_period: hour, disable_automated_rotation: true },
      after: 1e9,
      due: false,
    },
    {
      name: 'a schedule before its time',
      config: { rotation_schedule: '30 6 * * *' },
      after: hour / 2 - 1,
      due: false,
    },
    {
      name: 'a schedule at its time',
      config: { rotation_schedule: '30 6 * * *' },
      after: hour / 2,
      due: true,
    },
    {
      name: 'a schedule without a window at any later time',
      config: { rotation_schedule: '30 6 * * *' },
      after: 20 * hour,
      due: true,
    },
    {
      name: 'a schedule in its window',
      config: { rotation_schedule: '30 6 * * *', rotation_window: hour },
      after: 1.5 * hour,
      due: true,
    },
    {
      name: 'a schedule after its window',
      config: { rotation_schedule: '30 6 * * *', rotation_window: hour },
      after: 1.5 * hour + 1,
      due: false,
    },
    {
      name: 'a schedule on the next day',
      config: { rotation_schedule: '30 6 * * *', rotation_window: hour },
      after: 24.5 * hour,
      due: true,
    },
    {
      name: 'a schedule years later',
      config: { rotation_schedule: '* * * * *', rotation_window: hour },
      after: 1e8,
      due: true,
    },
  ])('are due with $name: $due', ({ config, after, due }) => {
    expect(
      isRotationDue({ ...emptyConfig, ...config, rotation_counts_from: from }, from + after * 1000),
    ).toBe(due)
  })

  test.each([
    { name: 'the period', change: { rotation_period: 700 }, restarts: true },
    { name: 'the period to its own value', change: { rotation_period: 600 }, restarts: false },
    { name: 'another field', change: { root_password_ttl: 5 }, restarts: false },
    {
      name: 'the period to a schedule',
      change: { rotation_period: 0, rotation_schedule: '0 0 * * *' },
      restarts: true,
    },
  ])('restart the period after a change of $name: $restarts', async ({ change, restarts }) => {
    await using fixture = await openEngineFixture({ config: { rotation_period: 600 } })
    const { rotation_counts_from: before } = await fixture.config()
    fixture.clock.advance(100)

    await fixture.engine.putConfig(fixture.mount, change)

    expect((await fixture.config()).rotation_counts_from).toBe(restarts ? fixture.clock.now() : before)
  })

  test('restart the period when turned off and on', async () => {
    await using fixture = await openEngineFixture({ config: { rotation_period: 600 } })
    fixture.clock.advance(500)
    await fixture.engine.putConfig(fixture.mount, { disable_automated_rotation: true })
    fixture.clock.advance(500)
    await look(fixture)
    await fixture.engine.putConfig(fixture.mount, { disable_automated_rotation: false })
    fixture.clock.advance(599)
    await look(fixture)
    expect(await fixture.config()).not.toHaveProperty('pending')
    fixture.clock.advance(1)
    await look(fixture)
    expect(await fixture.config()).toHaveProperty('pending')
  })
})

describe('a promotion supersedes', () => {
  const password = (keyId: string, displayName: string | undefined, hint: string, principalId?: string) => ({
    keyId,
    displayName,
    hint,
    endDateTime: undefined,
    principalId,
  })
  const pending = {
    client_secret: 'new',
    key_id: 'next',
    created: 0,
    expiration_date: '',
    application_object_id: 'app',
  }
  const next = password('next', 'gatehouse-root-cloud_1-b', 'new')
  test.each([
    {
      name: 'the secret it added before',
      key: 'k',
      passwords: [password('k', 'gatehouse-root-cloud_1-a', 'abc'), password('x', 'theirs', 'abc')],
      superseded: ['k'],
      unknown: [],
    },
    {
      name: 'a secret by its key id, whatever its name',
      key: 'k',
      passwords: [password('k', undefined, 'abc')],
      superseded: ['k'],
      unknown: [],
    },
    {
      name: 'all secrets it added',
      key: 'k',
      passwords: [
        password('a', 'gatehouse-root-cloud_1-a', 'q'),
        password('k', 'gatehouse-root-cloud_1-c', 'r'),
      ],
      superseded: ['a', 'k'],
      unknown: [],
    },
    {
      name: 'no secret of another mount',
      key: 'k',
      passwords: [password('a', 'gatehouse-root-cloud_12-a', 'q')],
      superseded: [],
      unknown: [],
    },
    {
      name: "an operator's secret by its hint",
      key: '',
      passwords: [password('t', 'mine', 'abc'), password('x', 'theirs', 'xyz')],
      superseded: ['t'],
      unknown: [],
    },
    {
      name: 'no secret if two have the hint',
      key: '',
      passwords: [password('t', 'mine', 'abc'), password('u', 'mine', 'abc'), password('x', 'y', 'z')],
      superseded: [],
      unknown: ['t', 'u'],
    },
    {
      name: 'no secret of another mount that has the same hint',
      key: '',
      passwords: [password('a', 'gatehouse-root-cloud_12-a', 'abc')],
      superseded: [],
      unknown: [],
    },
    {
      name: "an operator's secret on the service principal by its hint",
      key: '',
      passwords: [password('t', 'mine', 'abc', 'sp'), password('x', 'theirs', 'xyz')],
      superseded: ['t'],
      unknown: [],
    },
    {
      name: 'no secret if one on the application and one on the service principal have the hint',
      key: '',
      passwords: [password('t', 'mine', 'abc', 'sp'), password('u', 'mine', 'abc')],
      superseded: [],
      unknown: ['t', 'u'],
    },
    {
      name: 'no secret if no hint matches',
      key: '',
      passwords: [password('x', 'theirs', 'xyz')],
      superseded: [],
      unknown: ['x'],
    },
  ])('$name', ({ key, passwords, superseded, unknown }) => {
    const config = { ...emptyConfig, client_secret: 'abcdef', client_secret_key_id: key, pending }

    const found = supersededPasswords([...passwords, next], config, 'cloud_1')

    expect(
      [...found.own, ...(found.typed === undefined ? [] : [found.typed])].map(({ keyId }) => keyId),
    ).toEqual(superseded)
    expect(found.unknown.map(({ keyId }) => keyId)).toEqual(unknown)
  })
})
