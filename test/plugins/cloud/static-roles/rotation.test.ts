import { pino } from 'pino'
import { expect, test } from 'vitest'
import { cleared, debris, status, until } from '../credential-steps.ts'
import { renewedFixture } from '../renewed-fixture.ts'
import {
  anApplication,
  aStaticRole,
  day,
  errorOf,
  hour,
  keysOn,
  passwordOf,
  passwordsOn,
  roleOf,
  roleWorks,
  startStaticFixture,
  succeed,
} from './static-role-steps.ts'

const renewed = renewedFixture(startStaticFixture)

const seconds = (time: unknown) => Date.parse(String(time)) / 1000

test('a password is rotated when its period is over, once, and works again', async () => {
  const fixture = renewed()
  const application = await aStaticRole(fixture, 'period', { rotation_period: '24h' })
  const first = await passwordOf(fixture.root, 'period')
  fixture.clock.advance(day - 1)
  await fixture.root.read('cloud/static-roles/period')
  expect(await passwordOf(fixture.root, 'period')).toMatchObject({ secret_id: first.secret_id, ttl: 1 })
  fixture.clock.advance(1)

  await until(async () => (await passwordOf(fixture.root, 'period')).secret_id !== first.secret_id)

  const second = await passwordOf(fixture.root, 'period')
  expect(second).toMatchObject({ ttl: day, previous_secret_id: first.secret_id })
  expect(keysOn(fixture, application)).toHaveLength(2)
  expect(seconds(second.expiration) * 1000 - fixture.clock.now()).toBe((day + 300 + day) * 1000)
  expect(await roleWorks(fixture, 'period')).toBe(true)
})

test('a schedule rotates in its window only; what was missed waits for the next time', async () => {
  await using fixture = await startStaticFixture()
  // it is 06:07:08 on 2026-05-05
  await aStaticRole(fixture, 'nightly', { rotation_schedule: '0 2 * * *', rotation_window: '1h' })
  expect(await roleOf(fixture.root, 'nightly')).toMatchObject({
    next_vault_rotation: '2026-05-06T02:00:00Z',
    rotation_period: 0,
    ttl: 0,
  })
  const first = await passwordOf(fixture.root, 'nightly')
  fixture.clock.advance(day)

  await until(
    async () =>
      String((await roleOf(fixture.root, 'nightly')).next_vault_rotation) === '2026-05-07T02:00:00Z',
  )
  expect((await passwordOf(fixture.root, 'nightly')).secret_id).toBe(first.secret_id)
  fixture.clock.advance(20 * hour)

  await until(async () => (await passwordOf(fixture.root, 'nightly')).secret_id !== first.secret_id)
  expect(await roleOf(fixture.root, 'nightly')).toMatchObject({ next_vault_rotation: '2026-05-08T02:00:00Z' })
})

test('a rotation that fails is tried again within the window only', async () => {
  await using fixture = await startStaticFixture()
  // it is 06:07:08 on 2026-05-05
  const schedule = { rotation_schedule: '0 6 * * *', rotation_window: '1h' }
  const application = await aStaticRole(fixture, 'windowed', schedule)
  fixture.directory.fault(status('addApplicationPassword', 403, { times: null }))
  const next = async () => String((await roleOf(fixture.root, 'windowed')).next_vault_rotation)
  fixture.clock.advance(day)

  await until(async () => (await next()) === '2026-05-06T06:07:23Z')
  fixture.clock.advance(hour)
  await until(async () => (await next()) === '2026-05-07T06:00:00Z')

  expect(String((await roleOf(fixture.root, 'windowed')).last_error)).toContain('error updating credentials')
  expect(keysOn(fixture, application)).toHaveLength(1)
})

test('with automatic rotation disabled, only a request rotates', async () => {
  const fixture = renewed()
  await aStaticRole(fixture, 'manual', { rotation_period: '1h', disable_automated_rotation: true })
  const first = await passwordOf(fixture.root, 'manual')
  await aStaticRole(fixture, 'beside', { rotation_period: '1h' })
  const beside = await passwordOf(fixture.root, 'beside')
  fixture.clock.advance(2 * hour)

  await until(async () => (await passwordOf(fixture.root, 'beside')).secret_id !== beside.secret_id)

  expect(await passwordOf(fixture.root, 'manual')).toMatchObject({ secret_id: first.secret_id, ttl: 0 })
  expect((await roleOf(fixture.root, 'manual')).next_vault_rotation).toBe('')
  succeed(await fixture.root.write('cloud/rotate-role/manual', {}), 204)
  expect((await passwordOf(fixture.root, 'manual')).secret_id).not.toBe(first.secret_id)
})

test('a rotation that fails is tried again after 15 s, then 30 s; reads say so once the password has ended', async () => {
  const fixture = renewed()
  const application = await aStaticRole(fixture, 'failing', { rotation_period: '1h' })
  fixture.directory.fault(
    status('addApplicationPassword', 403, { code: 'Authorization_RequestDenied', times: null }),
  )
  const next = async () => seconds((await roleOf(fixture.root, 'failing')).next_vault_rotation)
  const due = await next()
  fixture.clock.advance(hour)

  for (const pause of [15, 30, 60]) {
    const at = fixture.clock.now() / 1000
    await until(async () => (await next()) > due && (await next()) > at)
    expect((await next()) - at).toBe(pause)
    fixture.clock.advance(pause)
  }

  fixture.clock.advance(2 * day)
  const read = await fixture.root.read('cloud/static-creds/failing')
  expect(String(read.body.warnings)).toMatch(
    /^the password of this role has ended: error updating credentials: Authorization_RequestDenied/,
  )
  const metrics = await fixture.root.read('sys/metrics?format=prometheus')
  expect(metrics.text).toMatch(/gatehouse_cloud_static_roles_failing\{mount="cloud\/"\} 1/)
  expect(metrics.text).toMatch(/gatehouse_cloud_static_roles_ended\{mount="cloud\/"\} 1/)
  expect(keysOn(fixture, application)).toHaveLength(1)
  fixture.directory.clearFaults()

  await until(() => {
    fixture.clock.advance(60)
    return roleWorks(fixture, 'failing')
  })
})

test('a new password is in use only once the login service has accepted it', async () => {
  const fixture = renewed()
  const application = await aStaticRole(fixture, 'slow')
  const first = await passwordOf(fixture.root, 'slow')
  fixture.directory.change({ delaySeconds: { secretToToken: 90 }, replicas: 3 })
  const begun = fixture.clock.now()

  succeed(await fixture.root.write('cloud/rotate-role/slow', {}), 204)

  expect((fixture.clock.now() - begun) / 1000).toBeGreaterThanOrEqual(30)
  expect((await passwordOf(fixture.root, 'slow')).secret_id).not.toBe(first.secret_id)
  expect(keysOn(fixture, application)).toHaveLength(2)
})

test('a password that is never accepted is removed after ten minutes, and the current one stays', async () => {
  const fixture = renewed()
  const application = await aStaticRole(fixture, 'never')
  const first = await passwordOf(fixture.root, 'never')
  fixture.directory.change({ delaySeconds: { secretToToken: 3600 } })

  const answer = await fixture.root.write('cloud/rotate-role/never', {})

  expect(errorOf(answer)).toMatch(/^400 the new password does not work: AADSTS7000215/)
  await cleared(fixture)
  expect(keysOn(fixture, application)).toEqual([first.secret_id])
  expect((await roleOf(fixture.root, 'never')).last_error).toContain('AADSTS7000215')
})

test('a refusal of the application, not of its password, counts after ten minutes and is told', async () => {
  const fixture = renewed()
  const application = await aStaticRole(fixture, 'barred')
  const first = await passwordOf(fixture.root, 'barred')
  fixture.directory.admin.remove(application.servicePrincipalId)
  const begun = fixture.clock.now()

  succeed(await fixture.root.write('cloud/rotate-role/barred', {}), 204)

  expect((fixture.clock.now() - begun) / 1000).toBeGreaterThanOrEqual(595)
  expect((await passwordOf(fixture.root, 'barred')).secret_id).not.toBe(first.secret_id)
  expect((await roleOf(fixture.root, 'barred')).last_error).toMatch(/^AADSTS7000229/)
})

test('a request for a rotation is answered while its proof goes on', async () => {
  await using fixture = await startStaticFixture({ cloudTimes: { staticTimes: { lookMs: 20, replyMs: 1 } } })
  await aStaticRole(fixture, 'patient')
  const first = await passwordOf(fixture.root, 'patient')
  fixture.directory.journal.clear()
  fixture.directory.fault({ kind: 'held', operation: 'token' })

  succeed(await fixture.root.write('cloud/rotate-role/patient', {}), 204)
  await fixture.directory.journal.arrived('token')

  expect((await passwordOf(fixture.root, 'patient')).secret_id).toBe(first.secret_id)
  fixture.directory.release()
  await until(async () => (await passwordOf(fixture.root, 'patient')).secret_id !== first.secret_id)
})

test('an application without room for a password loses those of the engine that have ended', async () => {
  const fixture = renewed()
  const application = await aStaticRole(fixture, 'full', { rotation_grace_period: -1 })
  const ended = fixture.directory.admin.addPassword(application.id, {
    displayName: 'gatehouse-old-1',
    lifetimeSeconds: -1,
  })
  fixture.directory.change({ quotas: { passwordsPerApplication: 2 } })

  succeed(await fixture.root.write('cloud/rotate-role/full', {}), 204)

  await cleared(fixture)
  expect(passwordsOn(fixture, application).map(({ id }) => id)).not.toContain(ended.keyId)
  expect(await roleWorks(fixture, 'full')).toBe(true)
})

test('an application for personal accounts, which has room for two passwords, is rotated again and again', async () => {
  const fixture = renewed()
  const application = fixture.directory.admin.addApplication({
    displayName: 'personal',
    signInAudience: 'AzureADandPersonalMicrosoftAccount',
  })
  const write = { application_object_id: application.id, rotation_grace_period: 600 }
  succeed(await fixture.root.write('cloud/static-roles/personal', write), 204)

  for (let turn = 0; turn < 3; turn++) {
    succeed(await fixture.root.write('cloud/rotate-role/personal', {}), 204)
    expect(keysOn(fixture, application)).toHaveLength(2)
  }
  expect(await roleWorks(fixture, 'personal')).toBe(true)
})

test('no more than four passwords of a mount are made at a time, and all roles get theirs', async () => {
  const fixture = renewed()
  const names = Array.from({ length: 12 }, (_, at) => `many-${at}`)
  const applications = await Promise.all(
    names.map((name) => aStaticRole(fixture, name, { rotation_period: '1h', rotation_grace_period: -1 })),
  )
  const first = applications.map((application) => keysOn(fixture, application)[0])
  fixture.directory.fault({ kind: 'held', operation: 'addApplicationPassword', times: 4 })
  fixture.directory.journal.clear()
  fixture.clock.advance(hour)

  await fixture.directory.journal.arrived('addApplicationPassword', 4)
  const others = anApplication(fixture)
  succeed(await fixture.root.write('cloud/static-roles/beside', { application_object_id: others.id }), 204)
  // that of the new role is the fifth
  expect(fixture.directory.journal.entries({ operation: 'addApplicationPassword' })).toHaveLength(5)
  fixture.directory.release()

  await until(() =>
    applications.every((application, at) => {
      const keys = keysOn(fixture, application)
      return keys.length === 1 && keys[0] !== first[at]
    }),
  )
  expect(await Promise.all(names.map((name) => roleWorks(fixture, name)))).toEqual(names.map(() => true))
})

test('no more than four rotations of a mount run at a time, also those that are asked for', async () => {
  await using fixture = await startStaticFixture({
    cloudTimes: { staticTimes: { lookMs: 20, restMs: 0, turnMs: 50 } },
  })
  const { root, directory } = fixture
  const [late = '', ...names] = Array.from({ length: 5 }, (_, at) => `asked-${at}`)
  for (const name of [late, ...names]) await aStaticRole(fixture, name)
  const { id } = directory.admin.addApplication({ displayName: 'imported' })
  const { keyId, secretText } = directory.admin.addPassword(id, { displayName: 'by hand' })
  directory.fault({ kind: 'held', operation: 'addApplicationPassword', times: 4 })
  directory.journal.clear()
  const running = names.map((name) => root.write(`cloud/rotate-role/${name}`, {}))
  await directory.journal.arrived('addApplicationPassword', 4)

  const refused = [
    await root.write(`cloud/rotate-role/${late}`, {}),
    await root.write('cloud/static-roles/imported/import', {
      application_object_id: id,
      secret_id: keyId,
      client_secret: secretText,
    }),
  ]
  directory.release()

  expect((await Promise.all(running)).map((answer) => answer.status)).toEqual([204, 204, 204, 204])
  expect(refused.map((answer) => errorOf(answer))).toEqual(
    refused.map(
      () => '429 1 error occurred:\n\t* at most 4 rotations of a mount run at a time; try again\n\n',
    ),
  )
  expect((await root.read('cloud/static-roles/imported')).status).toBe(404)
  succeed(await root.write(`cloud/rotate-role/${late}`, {}), 204)
})

test('a mount has a limited number of static roles', async () => {
  await using fixture = await startStaticFixture({ cloudTimes: { limits: { staticRoles: 2 } } })
  const [first] = await Promise.all([aStaticRole(fixture, 'one'), aStaticRole(fixture, 'two')])
  const body = { application_object_id: first.id, defer_initial_creds: true }

  const refused = [
    await fixture.root.write('cloud/static-roles/three', body),
    await fixture.root.write('cloud/static-roles/three/import', { ...body, secret_id: 'x' }),
  ]

  expect(refused.map((answer) => errorOf(answer))).toEqual(
    refused.map(() => '400 a mount can have at most 2 static roles'),
  )
  succeed(await fixture.root.write('cloud/static-roles/two', { metadata: { team: 'a' } }), 204)
  succeed(await fixture.root.delete('cloud/static-roles/two'), 204)
  succeed(await fixture.root.write('cloud/static-roles/three', body), 204)
})

test('a mount that is removed takes its passwords in their grace period along, and undoes its rotations', async () => {
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  await using fixture = await startStaticFixture({ log })
  const application = await aStaticRole(fixture, 'ending', { rotation_grace_period: 600 })
  succeed(await fixture.root.write('cloud/rotate-role/ending', {}), 204)
  const { secret_id: current } = await passwordOf(fixture.root, 'ending')
  const running = await aStaticRole(fixture, 'running', { rotation_schedule: '8 6 * * *' })
  const kept = keysOn(fixture, running)
  fixture.directory.fault({ kind: 'held', operation: 'token', times: null })
  fixture.directory.journal.clear()
  fixture.clock.advance(60)
  await fixture.directory.journal.arrived('token')
  expect(keysOn(fixture, running)).toHaveLength(2)
  fixture.directory.clearFaults()

  succeed(await fixture.root.delete('sys/mounts/cloud'), 204)

  expect([keysOn(fixture, application), keysOn(fixture, running)]).toEqual([[current], kept])
  expect(lines.filter(({ event }) => event === 'static_password_left')).toMatchObject([
    {
      mount: 'cloud/',
      count: 2,
      passwords: [
        { role: 'ending', application: application.id, key_id: current },
        { role: 'running', application: running.id, key_id: kept[0] },
      ],
    },
  ])
  fixture.directory.release()
})

test('the application of the engine is out of reach, also if it becomes that later', async () => {
  const fixture = renewed()
  const { appId } = await aStaticRole(fixture, 'grown')
  const { client_secret } = await passwordOf(fixture.root, 'grown')
  succeed(await fixture.root.write('cloud/config', { client_id: appId, client_secret }), 204)

  const refused = await Promise.all([
    fixture.root.read('cloud/static-creds/grown'),
    fixture.root.write('cloud/static-creds/grown/token', { scope: 'https://graph.microsoft.com/.default' }),
    fixture.root.write('cloud/rotate-role/grown', {}),
  ])

  expect(refused.map((answer) => errorOf(answer))).toEqual(
    refused.map(() => '400 application_object_id must not refer to the application used by this engine'),
  )
})

test('whois finds the static role of a client id', async () => {
  const fixture = renewed()
  const { appId } = await aStaticRole(fixture, 'known')
  const { expiration } = await passwordOf(fixture.root, 'known')

  const found = await fixture.root.read(`cloud/whois/${appId}`)

  expect(succeed(found)).toEqual({
    lease_id: '',
    role: 'known',
    entity_id: '',
    display_name: 'token',
    issue_time: (await roleOf(fixture.root, 'known')).last_vault_rotation,
    expire_time: expiration,
  })
  expect(await debris(fixture)).toEqual([])
})

// docs/monitoring.md#metrics
test('a gauge counts the roles that are due', async () => {
  // no look finds them meanwhile
  await using fixture = await startStaticFixture({ cloudTimes: { staticTimes: { lookMs: 3_600_000 } } })
  for (const name of ['one', 'two']) await aStaticRole(fixture, name, { rotation_period: '1h' })
  await aStaticRole(fixture, 'later', { rotation_period: '3h' })
  const due = async () => {
    const { text } = await fixture.root.read('sys/metrics?format=prometheus')
    return /gatehouse_cloud_static_roles_due\{mount="cloud\/"\} (\d+)/.exec(text)?.[1]
  }

  const before = await due()
  fixture.clock.advance(2 * hour)

  expect([before, await due()]).toEqual(['0', '2'])
})
