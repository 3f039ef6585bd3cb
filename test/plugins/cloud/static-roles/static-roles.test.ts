import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CloudFixture } from '../cloud-fixture.ts'
import { cleared, debris, status, until, works } from '../credential-steps.ts'
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

let fixture: CloudFixture
beforeAll(async () => {
  fixture = await startStaticFixture()
  // roles that are made after the start are in no backup: the first look at the mount does not ask for their passwords
  fixture.clock.advance(1)
})
afterAll(() => fixture[Symbol.asyncDispose]())

const write = (name: string, body: object, path = '') =>
  fixture.root.write(`cloud/static-roles/${name}${path}`, body)
const time = (seconds: number) => new Date(fixture.clock.now() + seconds * 1000).toISOString()
const withoutFraction = (text: unknown) => String(text).replace(/\.\d+/, '')
const rotate = (name: string) => fixture.root.write(`cloud/rotate-role/${name}`, {})

describe('writing a role', () => {
  test('a new role gets a password at once, which reads return without a lease and without a call upstream', async () => {
    const application = await aStaticRole(fixture, 'fresh', { metadata: { team: 'a' } })
    fixture.directory.journal.clear()

    const answer = await fixture.root.read('cloud/static-creds/fresh?metadata=team%3Db&metadata=on%3Dcall')

    const [password] = passwordsOn(fixture, application)
    const period = 17_520 * hour
    expect(answer.body).toMatchObject({ lease_id: '', renewable: false, lease_duration: 0, warnings: null })
    expect(succeed(answer)).toEqual({
      client_id: application.appId,
      client_secret: password?.secret,
      secret_id: password?.id,
      expiration: expect.any(String),
      metadata: { team: 'a', on: 'call' },
      ttl: period,
      last_vault_rotation: withoutFraction(time(0)),
    })
    expect(password?.name).toMatch(/^gatehouse-fresh-[0-9a-f-]{36}$/)
    expect(Date.parse(String(answer.body.data?.['expiration'])) - fixture.clock.now()).toBe(
      (period + 300 + day) * 1000,
    )
    expect(fixture.directory.journal.entries()).toEqual([])
    expect(await roleWorks(fixture, 'fresh')).toBe(true)
  })

  test('metadata may have any key', async () => {
    const sent = '{"metadata":{"__proto__":"a","constructor":"b"}}'
    await aStaticRole(fixture, 'odd', JSON.parse(sent))

    const role = await fixture.root.read('cloud/static-roles/odd')
    const credential = await fixture.root.read('cloud/static-creds/odd?metadata=__proto__%3Dc')

    for (const { text } of [role, credential])
      expect(text).toContain('"metadata":{"__proto__":"a","constructor":"b"}')
  })

  test('a read shows the fields with their defaults, in any case of the name', async () => {
    const { id } = await aStaticRole(fixture, 'shown')

    expect(await roleOf(fixture.root, 'SHOWN')).toEqual({
      allowed_scopes: [],
      application_object_id: id,
      disable_automated_rotation: false,
      last_error: '',
      last_vault_rotation: withoutFraction(time(0)),
      metadata: null,
      next_vault_rotation: withoutFraction(time(17_520 * hour)),
      rotation_grace_period: 300,
      rotation_period: 17_520 * hour,
      rotation_schedule: '',
      rotation_window: 0,
      seamless_rotation: true,
      ttl: 17_520 * hour,
    })
  })

  test.each([
    { body: { application_object_id: undefined }, text: "missing required field 'application_object_id'" },
    { body: { application_object_id: '' }, text: "missing required field 'application_object_id'" },
    { body: { rotation_period: 3599 }, text: 'rotation_period must be at least 3600 seconds' },
    { body: { ttl: '59m' }, text: 'rotation_period must be at least 3600 seconds' },
    {
      body: { rotation_period: '5h', rotation_grace_period: 7201 },
      text: 'rotation_grace_period cannot exceed 7200 seconds',
    },
    {
      body: { rotation_period: 3600, rotation_grace_period: 1 },
      text: 'rotation_grace_period cannot exceed 0 seconds',
    },
    {
      body: { rotation_schedule: '0 0 * * *', rotation_grace_period: '721h' },
      text: 'rotation_grace_period cannot exceed 2592000 seconds',
    },
    { body: { rotation_grace_period: -2 }, text: 'rotation_grace_period must be -1 or a positive duration' },
    {
      body: { rotation_schedule: '0 0 * * *', rotation_period: 7200 },
      text: 'mutually exclusive fields rotation_schedule and rotation_period were both specified; only one of them can be provided',
    },
    {
      body: { rotation_schedule: 'daily' },
      text: 'failed to parse provided rotation_schedule: expected exactly 5 fields, found 1',
    },
    { body: { rotation_window: 3600 }, text: 'cannot use rotation_window without rotation_schedule' },
    {
      body: { rotation_schedule: '0 0 * * *', rotation_window: 60 },
      text: 'error registering rotation job: rotation_window must be 3600 seconds or more',
    },
    {
      body: { rotation_period: 7200, rotation_window: 3600 },
      text: 'rotation_window does not apply to period',
    },
  ])('$body is refused: $text', async ({ body, text }) => {
    const answer = await write('refused', { application_object_id: anApplication(fixture).id, ...body })

    expect(errorOf(answer)).toBe(`400 ${text}`)
    expect((await fixture.root.read('cloud/static-roles/refused')).status).toBe(404)
  })

  test.each([
    { body: { rotation_period: 3600 }, grace: 0 },
    { body: { rotation_period: 3800 }, grace: 100 },
    { body: { rotation_period: 3800, rotation_grace_period: -1 }, grace: -1 },
    { body: { rotation_period: '5h', rotation_grace_period: 7200 }, grace: 7200 },
    { body: { rotation_schedule: '0 0 * * *', rotation_grace_period: '720h' }, grace: 30 * day },
  ])('$body has the grace period $grace', async ({ body, grace }) => {
    await aStaticRole(fixture, 'graceful', { ...body, defer_initial_creds: true })

    expect(await roleOf(fixture.root, 'graceful')).toMatchObject({ rotation_grace_period: grace })
    await fixture.root.delete('cloud/static-roles/graceful')
  })

  test('a password that no rotation is planned for lasts as long as the longest period', async () => {
    await aStaticRole(fixture, 'unplanned', { rotation_period: '2h', disable_automated_rotation: true })

    const { expiration, ttl } = await passwordOf(fixture.root, 'unplanned')

    expect([Date.parse(String(expiration)) - fixture.clock.now(), ttl]).toEqual([
      (17_520 * hour + 300 + day) * 1000,
      0,
    ])
  })

  test('an unknown application and that of the engine are refused, and nothing is stored', async () => {
    const unknown = await write('nothing', { application_object_id: 'b1f0a3de-3b0c-44f7-8c1c-6f4b8d7a2f10' })
    const { rootApplicationId, rootSecretKeyId, rootClientSecret } = fixture.directory
    const body = { application_object_id: rootApplicationId }
    const taken = { ...body, secret_id: rootSecretKeyId, client_secret: rootClientSecret }
    const own = [
      await write('nothing', body),
      await write('nothing', { application_object_id: rootApplicationId.toUpperCase() }),
      await write('nothing', { ...body, defer_initial_creds: true }),
      await write('nothing', taken, '/import'),
      await write('nothing', { ...taken, skip_import_rotation: true }),
    ]

    expect(errorOf(unknown)).toMatch(/^400 error loading Application: Request_ResourceNotFound/)
    expect(own.map((answer) => errorOf(answer))).toEqual(
      own.map(() => '400 application_object_id must not refer to the application used by this engine'),
    )
    expect((await fixture.root.read('cloud/static-roles/nothing')).status).toBe(404)
  })

  test('a role whose first password is refused is not stored', async () => {
    const application = anApplication(fixture)
    fixture.directory.fault(status('addApplicationPassword', 403, { code: 'Authorization_RequestDenied' }))

    const answer = await write('denied', { application_object_id: application.id })

    expect(errorOf(answer)).toMatch(/^400 error updating credentials: .*Application\.ReadWrite/)
    expect((await fixture.root.read('cloud/static-roles/denied')).status).toBe(404)
    expect(keysOn(fixture, application)).toEqual([])
  })

  test.each(['defer_initial_creds', 'skip_import_rotation'])(
    'with %s there is no password until the first rotation',
    async (field) => {
      await fixture.root.delete('cloud/static-roles/deferred')
      const application = await aStaticRole(fixture, 'deferred', { [field]: true })

      expect(keysOn(fixture, application)).toEqual([])
      expect(await roleOf(fixture.root, 'deferred')).toMatchObject({
        last_vault_rotation: '',
        next_vault_rotation: withoutFraction(time(17_520 * hour)),
      })
      expect(errorOf(await fixture.root.read('cloud/static-creds/deferred'))).toBe(
        "400 no client_secret is stored for role 'deferred'; rotate the role first",
      )
      expect((await rotate('deferred')).status).toBe(204)
      expect(await roleWorks(fixture, 'deferred')).toBe(true)
    },
  )

  test('an update keeps the password and what it does not mention; a new period counts from now', async () => {
    await aStaticRole(fixture, 'updated', { metadata: { a: '1' }, rotation_period: '720h' })
    const before = await passwordOf(fixture.root, 'updated')
    fixture.clock.advance(10 * day)
    succeed(await write('updated', { metadata: { b: '2' } }), 204)
    expect(await roleOf(fixture.root, 'updated')).toMatchObject({
      metadata: { b: '2' },
      next_vault_rotation: withoutFraction(time(20 * day)),
    })

    succeed(await write('updated', { rotation_period: '240h', allowed_scopes: 'a/.default,b/.default' }), 204)

    expect(await roleOf(fixture.root, 'updated')).toMatchObject({
      metadata: { b: '2' },
      rotation_period: 10 * day,
      ttl: 10 * day,
      allowed_scopes: ['a/.default', 'b/.default'],
      next_vault_rotation: withoutFraction(time(10 * day)),
    })
    expect((await passwordOf(fixture.root, 'updated')).secret_id).toBe(before.secret_id)
  })

  test('another application starts anew; the old password stays until its end', async () => {
    const first = await aStaticRole(fixture, 'moved')
    const kept = keysOn(fixture, first)
    const second = anApplication(fixture, 'second')

    succeed(await write('moved', { application_object_id: second.id }), 204)

    expect(await passwordOf(fixture.root, 'moved')).toMatchObject({
      client_id: second.appId,
      secret_id: keysOn(fixture, second)[0],
    })
    expect(keysOn(fixture, first)).toEqual(kept)
  })

  test('Terraform finds what it has written, with and without seamless rotation', async () => {
    const application_object_id = anApplication(fixture).id
    const path = 'azure/static-roles/terraform'
    const created = { application_object_id, ttl: 31_536_000, seamless_rotation: false, metadata: { a: 'b' } }
    succeed(await fixture.root.write(path, created), 204)
    // not sent: 0 is no difference for Terraform
    expect(succeed(await fixture.root.read(path))).toMatchObject({ ...created, rotation_grace_period: 0 })

    const changed = {
      application_object_id,
      ttl: 63_072_000,
      rotation_period: 63_072_000,
      seamless_rotation: true,
      rotation_grace_period: 300,
      metadata: { a: 'b', c: 'd' },
    }
    succeed(await fixture.root.write(path, changed), 204)

    expect(succeed(await fixture.root.read(path))).toMatchObject(changed)
    succeed(await fixture.root.delete(path), 204)
  })

  test('Terraform finds no metadata where it has written none, and an empty map where it has', async () => {
    const { id: application_object_id } = await aStaticRole(fixture, 'bare')
    const metadata = async () => (await roleOf(fixture.root, 'bare')).metadata
    const change = async (sent: object) => {
      succeed(await write('bare', { application_object_id, ...sent }), 204)
      return metadata()
    }

    expect(await metadata()).toBeNull()
    expect(await change({ ttl: 31_536_000 })).toBeNull()
    expect((await passwordOf(fixture.root, 'bare')).metadata).toEqual({})
    expect(await change({ metadata: {} })).toEqual({})
    expect(await change({ metadata: { a: 'b' } })).toEqual({ a: 'b' })
    expect(await change({ metadata: null })).toBeNull()
  })

  test('roles are listed, deleted twice, and gone', async () => {
    const names = async () => {
      const { keys } = succeed(await fixture.root.list('cloud/static-roles')) as { keys?: unknown }
      return (keys as string[]).filter((name) => name.startsWith('list-'))
    }
    for (const name of ['list-a', 'list-b', 'list-c']) await aStaticRole(fixture, name)
    const listed = await names()

    succeed(await fixture.root.delete('cloud/static-roles/list-b'), 204)
    succeed(await fixture.root.delete('cloud/static-roles/list-b'), 204)

    expect(listed).toEqual(['list-a', 'list-b', 'list-c'])
    expect(await names()).toEqual(['list-a', 'list-c'])
    const unknown = await fixture.root.read('cloud/static-creds/list-b')
    expect([unknown.status, unknown.text.trim()]).toEqual([404, '{"errors":[]}'])
    expect((await fixture.root.list('azure/static-roles')).status).toBe(404)
  })
})

describe('a rotation', () => {
  test('puts a new password in place, and the former one ends after its grace period', async () => {
    const application = await aStaticRole(fixture, 'turned', { rotation_grace_period: 600 })
    const before = await passwordOf(fixture.root, 'turned')

    succeed(await rotate('turned'), 204)

    const after = await passwordOf(fixture.root, 'turned')
    expect(after.secret_id).not.toBe(before.secret_id)
    expect(after.client_secret).not.toBe(before.client_secret)
    expect(after).toMatchObject({
      previous_secret_id: before.secret_id,
      previous_expiration: withoutFraction(time(600)),
    })
    expect(keysOn(fixture, application).sort()).toEqual([before.secret_id, after.secret_id].sort())
    expect(await roleWorks(fixture, 'turned')).toBe(true)
    fixture.clock.advance(600)

    await until(() => keysOn(fixture, application).length === 1)
    expect(keysOn(fixture, application)).toEqual([after.secret_id])
    expect(await passwordOf(fixture.root, 'turned')).not.toHaveProperty('previous_secret_id')
    await cleared(fixture)
  })

  test.each([{ rotation_grace_period: -1 }, { seamless_rotation: false }])(
    'with %o removes the former password at once',
    async (body) => {
      const application = await aStaticRole(fixture, 'hasty', body)
      fixture.directory.journal.clear()

      succeed(await rotate('hasty'), 204)

      await cleared(fixture)
      const calls = fixture.directory.journal.entries().map(({ operation }) => operation)
      // the first sign-in of a client looks the login service up
      expect(calls.filter((operation) => operation !== 'discovery')).toEqual([
        ...['addApplicationPassword', 'token', 'token', 'removeApplicationPassword'],
      ])
      const { secret_id: key, ...rest } = await passwordOf(fixture.root, 'hasty')
      expect(keysOn(fixture, application)).toEqual([key])
      expect(rest).not.toHaveProperty('previous_secret_id')
      expect(await roleOf(fixture.root, 'hasty')).toMatchObject(body)
      await fixture.root.delete('cloud/static-roles/hasty')
    },
  )

  test('removes a password that is still in its grace period first: there are never three', async () => {
    const application = await aStaticRole(fixture, 'twice', { rotation_grace_period: 600 })
    const first = await passwordOf(fixture.root, 'twice')
    succeed(await rotate('twice'), 204)
    fixture.directory.journal.clear()

    succeed(await rotate('twice'), 204)

    const changes = fixture.directory.journal
      .entries()
      .map(({ operation }) => operation)
      .filter((operation) => operation?.endsWith('ApplicationPassword') === true)
    expect(changes).toEqual(['removeApplicationPassword', 'addApplicationPassword'])
    expect(keysOn(fixture, application)).toHaveLength(2)
    expect(keysOn(fixture, application)).not.toContain(first.secret_id)
  })

  test('two at once run one after the other', async () => {
    const application = await aStaticRole(fixture, 'both', { rotation_grace_period: -1 })
    const answers = await Promise.all([rotate('both'), rotate('both')])

    expect(answers.map((answer) => answer.status)).toEqual([204, 204])
    await cleared(fixture)
    expect(keysOn(fixture, application)).toEqual([(await passwordOf(fixture.root, 'both')).secret_id])
  })

  test('of an unknown role is refused', async () => {
    expect(errorOf(await rotate('nobody'))).toBe('400 role not found in storage')
  })

  test('whose password is refused leaves the current one, and says why', async () => {
    const application = await aStaticRole(fixture, 'failing')
    const before = await passwordOf(fixture.root, 'failing')
    fixture.directory.fault(status('addApplicationPassword', 403, { code: 'Authorization_RequestDenied' }))

    const answer = await rotate('failing')

    expect(errorOf(answer)).toMatch(/^400 error updating credentials: Authorization_RequestDenied/)
    expect((await roleOf(fixture.root, 'failing')).last_error).toContain('Authorization_RequestDenied')
    expect(await passwordOf(fixture.root, 'failing')).toMatchObject({ secret_id: before.secret_id })
    expect(keysOn(fixture, application)).toEqual([before.secret_id])
    succeed(await rotate('failing'), 204)
    expect((await roleOf(fixture.root, 'failing')).last_error).toBe('')
  })

  test('of an application that is gone is not tried again until the role is written', async () => {
    const application = await aStaticRole(fixture, 'gone')
    fixture.directory.admin.remove(application.id)

    expect((await rotate('gone')).status).toBe(400)

    expect(errorOf(await fixture.root.read('cloud/static-creds/gone'))).toBe(
      "400 the application of role 'gone' no longer exists",
    )
    expect(await roleOf(fixture.root, 'gone')).toMatchObject({ next_vault_rotation: '' })
    expect(errorOf(await write('gone', { metadata: {} }))).toMatch(/^400 error loading Application/)
    const other = anApplication(fixture)
    succeed(await write('gone', { application_object_id: other.id }), 204)
    expect(await roleWorks(fixture, 'gone')).toBe(true)
  })

  test('several roles on one application know their own passwords', async () => {
    const { id, appId } = await aStaticRole(fixture, 'one', { rotation_grace_period: -1 })
    succeed(await write('other', { application_object_id: id, rotation_grace_period: -1 }), 204)

    succeed(await rotate('one'), 204)

    await cleared(fixture)
    const keys = await Promise.all(
      ['one', 'other'].map(async (name) => (await passwordOf(fixture.root, name)).secret_id),
    )
    const there = fixture.directory
      .inventory()
      .filter(({ clientId, kind }) => clientId === appId && kind === 'password')
    expect(there.map((password) => password.id).sort()).toEqual(keys.sort())
  })
})

describe('an import', () => {
  const aPassword = (name: string) => {
    const application = anApplication(fixture, name)
    return {
      application,
      ...fixture.directory.admin.addPassword(application.id, { lifetimeSeconds: 90 * day }),
    }
  }

  test('that keeps the password returns it from then on', async () => {
    const { application, keyId, secretText } = aPassword('kept')

    const answer = await write(
      'kept',
      {
        application_object_id: application.id,
        secret_id: keyId,
        client_secret: secretText,
        skip_import_rotation: true,
      },
      '/import',
    )

    succeed(answer, 204)
    expect(await passwordOf(fixture.root, 'kept')).toMatchObject({
      client_id: application.appId,
      client_secret: secretText,
      secret_id: keyId,
      expiration: new Date(fixture.clock.now() + 90 * day * 1000).toISOString(),
    })
    expect(keysOn(fixture, application)).toEqual([])
  })

  test('rotates at once, and the imported password gets the grace', async () => {
    const { application, keyId, secretText } = aPassword('imported')

    const answer = await write('imported', {
      application_object_id: application.id,
      secret_id: keyId,
      client_secret: secretText,
    })

    succeed(answer, 204)
    const now = await passwordOf(fixture.root, 'imported')
    expect(now).toMatchObject({ previous_secret_id: keyId })
    expect(now.secret_id).not.toBe(keyId)
    expect(await works(fixture, { clientId: application.appId, secret: secretText })).toBe(true)
    fixture.clock.advance(300)
    await until(async () => !(await works(fixture, { clientId: application.appId, secret: secretText })))
    expect(await roleWorks(fixture, 'imported')).toBe(true)
  })

  test('that a later write repeats, as those of Terraform do, imports nothing again', async () => {
    const { application, keyId, secretText } = aPassword('repeated')
    const imported = {
      application_object_id: application.id,
      secret_id: keyId,
      client_secret: secretText,
      expiration: time(day),
    }
    for (const [name, first] of Object.entries({
      repeated: imported,
      'repeated-kept': { ...imported, skip_import_rotation: true },
    })) {
      succeed(await write(name, first), 204)
      const before = await passwordOf(fixture.root, name)

      succeed(await write(name, { ...imported, metadata: { a: 'b' } }), 204)

      expect(await passwordOf(fixture.root, name)).toEqual({ ...before, metadata: { a: 'b' } })
      succeed(await fixture.root.delete(`cloud/static-roles/${name}`), 204)
    }
    succeed(await write('repeated', { ...imported, skip_import_rotation: true }), 204)
    succeed(await rotate('repeated'), 204)
    const { secret_id } = await passwordOf(fixture.root, 'repeated')
    fixture.clock.advance(2 * day)
    await until(async () => !(await works(fixture, { clientId: application.appId, secret: secretText })))

    // the imported password is gone, and its end is over
    succeed(await write('repeated', { ...imported, metadata: { c: 'd' } }), 204)

    expect(await passwordOf(fixture.root, 'repeated')).toMatchObject({ secret_id, metadata: { c: 'd' } })
    const again = await write('repeated', { ...imported, secret_id: 'another' }, '')
    expect(errorOf(again)).toBe('400 expiration must be in the future')
  })

  test('that is repeated with the text that was missing returns it', async () => {
    const { application, keyId, secretText } = aPassword('completed')
    const body = { application_object_id: application.id, secret_id: keyId, skip_import_rotation: true }
    succeed(await write('completed', body), 204)

    succeed(await write('completed', { ...body, client_secret: secretText }), 204)

    expect(await passwordOf(fixture.root, 'completed')).toMatchObject({
      secret_id: keyId,
      client_secret: secretText,
    })
  })

  test('without the text of the password has none to return until a rotation', async () => {
    const { application, keyId } = aPassword('textless')
    const body = { application_object_id: application.id, secret_id: keyId, skip_import_rotation: true }

    succeed(await write('textless', body, '/import'), 204)

    expect(errorOf(await fixture.root.read('cloud/static-creds/textless'))).toBe(
      "400 no client_secret is stored for role 'textless'; rotate the role first",
    )
    succeed(await rotate('textless'), 204)
    expect(await passwordOf(fixture.root, 'textless')).toMatchObject({ previous_secret_id: keyId })
  })

  test.each([
    { change: { secret_id: '' }, text: "no password credential with secret_id ''" },
    { change: { secret_id: 'x' }, text: "no password credential with secret_id 'x'" },
    { change: { client_secret: 'wrong' }, text: 'client_secret does not match secret_id' },
    { change: { expiration: '2020-01-01T00:00:00Z' }, text: 'expiration must be in the future' },
  ])('with $change is refused: $text', async ({ change, text }) => {
    const { application, keyId, secretText } = aPassword('wrong')
    const body = { application_object_id: application.id, secret_id: keyId, client_secret: secretText }

    const answer = await write('wrong', { ...body, ...change }, '/import')

    expect(errorOf(answer)).toBe(`400 ${text}`)
    expect((await fixture.root.read('cloud/static-roles/wrong')).status).toBe(404)
  })

  test('of a password that is being removed is refused, and it is removed', async () => {
    const application = await aStaticRole(fixture, 'stuck')
    const { secret_id, client_secret } = await passwordOf(fixture.root, 'stuck')
    fixture.directory.fault(status('removeApplicationPassword', 403, { times: null }))
    await fixture.root.delete('cloud/static-roles/stuck?revoke=true')
    const body = { application_object_id: application.id, secret_id, client_secret }

    const refused = [
      await write('taken', body, '/import'),
      await write('taken', { ...body, skip_import_rotation: true }),
    ]
    const added = keysOn(fixture, application)
    fixture.directory.clearFaults()

    expect(refused.map((answer) => errorOf(answer))).toEqual(
      refused.map(() => `400 the password '${String(secret_id)}' is being removed; see debris`),
    )
    expect(added).toEqual([secret_id])
    expect((await fixture.root.read('cloud/static-roles/taken')).status).toBe(404)
    await cleared(fixture)
    expect(keysOn(fixture, application)).toEqual([])
  })

  test('of a password that is about to leave keeps it', async () => {
    const application = await aStaticRole(fixture, 'left', { rotation_grace_period: 600 })
    const { secret_id, client_secret } = await passwordOf(fixture.root, 'left')
    succeed(await rotate('left'), 204)
    succeed(await fixture.root.delete('cloud/static-roles/left'), 204)
    const body = { application_object_id: application.id, secret_id, client_secret }

    succeed(await write('keeper', { ...body, skip_import_rotation: true }, '/import'), 204)
    fixture.clock.advance(601)
    const other = await aStaticRole(fixture, 'later', { rotation_grace_period: -1 })
    const [first] = keysOn(fixture, other)
    succeed(await rotate('later'), 204)
    await until(async () => !keysOn(fixture, other).includes(first ?? ''))

    expect(await roleWorks(fixture, 'keeper')).toBe(true)
    expect(await passwordOf(fixture.root, 'keeper')).toMatchObject({ secret_id })
  })

  test('of a password that another role has is refused', async () => {
    const application = await aStaticRole(fixture, 'owner')
    const secret_id = (await passwordOf(fixture.root, 'owner')).secret_id

    const answer = await write('thief', { application_object_id: application.id, secret_id }, '/import')

    expect(errorOf(answer)).toBe(`400 the password '${secret_id}' belongs to static role 'owner'`)
  })

  test('of a password that another mount has is refused, also if it is about to leave there', async () => {
    const application = await aStaticRole(fixture, 'theirs', { rotation_grace_period: 600 })
    succeed(await fixture.root.write('cloud/roles/theirs', { application_object_id: application.id }), 204)
    const { lease_id, data } = (await fixture.root.read('cloud/creds/theirs')).body
    const leased = passwordsOn(fixture, application).find(({ secret }) => secret === data?.['client_secret'])
    const { secret_id: former } = await passwordOf(fixture.root, 'theirs')
    succeed(await rotate('theirs'), 204)
    const { secret_id: current } = await passwordOf(fixture.root, 'theirs')
    const imported = (secret_id: unknown) =>
      fixture.root.write('azure/static-roles/thief/import', {
        application_object_id: application.id,
        secret_id,
        skip_import_rotation: true,
      })

    const refused = [await imported(current), await imported(former), await imported(leased?.id)]
    succeed(await fixture.root.delete('cloud/static-roles/theirs'), 204)
    const leaving = await imported(former)
    const left = await imported(current)

    expect([...refused, leaving].map((answer) => errorOf(answer))).toEqual(
      [current, former, leased?.id, former].map((id) => `400 the password '${id}' belongs to another mount`),
    )
    expect(left.status).toBe(204)
    succeed(await fixture.root.write('sys/leases/revoke', { lease_id }), 204)
    succeed(await fixture.root.delete('azure/static-roles/thief'), 204)
  })

  test('of one password at two mounts at once: one of them gets it', async () => {
    const { application, keyId } = aPassword('contested')
    const body = { application_object_id: application.id, secret_id: keyId, skip_import_rotation: true }
    const paths = ['cloud', 'azure', 'cloud'].map((mount, at) => `${mount}/static-roles/contested-${at}`)

    const answers = await Promise.all(paths.map((path) => fixture.root.write(`${path}/import`, body)))

    const refused = answers.filter(({ status }) => status !== 204)
    expect(refused.map((answer) => errorOf(answer))).toEqual([
      expect.stringMatching(/^400 the password '.*' belongs to /),
      expect.stringMatching(/^400 the password '.*' belongs to /),
    ])
    const stored = await Promise.all(paths.map((path) => fixture.root.read(path)))
    expect(stored.map(({ status }) => status).toSorted()).toEqual([200, 404, 404])
    for (const path of paths) succeed(await fixture.root.delete(path), 204)
  })

  test('of a password that a lease has is refused, until the lease has ended', async () => {
    const application = anApplication(fixture, 'leased')
    succeed(await fixture.root.write('cloud/roles/leased', { application_object_id: application.id }), 204)
    const { lease_id, data } = (await fixture.root.read('cloud/creds/leased')).body
    const [secret_id] = keysOn(fixture, application)
    const body = { application_object_id: application.id, secret_id, client_secret: data?.client_secret }

    const refused = [
      await write('lessee', body, '/import'),
      await write('lessee', { ...body, skip_import_rotation: true }),
    ]
    const left = keysOn(fixture, application)
    succeed(await fixture.root.write('sys/leases/revoke', { lease_id }), 204)
    const ended = await write('lessee', body, '/import')

    expect(refused.map((answer) => errorOf(answer))).toEqual(
      refused.map(
        () =>
          `400 the password '${secret_id}' belongs to a lease of role 'leased', which removes it when it ends`,
      ),
    )
    expect(left).toEqual([secret_id])
    expect((await fixture.root.read('cloud/static-roles/lessee')).status).toBe(404)
    expect(errorOf(ended)).toBe(`400 no password credential with secret_id '${secret_id}'`)
  })
})

describe('a deletion', () => {
  test('leaves the current password, and one in its grace period ends at its time', async () => {
    const application = await aStaticRole(fixture, 'left', { rotation_grace_period: 600 })
    succeed(await rotate('left'), 204)
    const { secret_id: key } = await passwordOf(fixture.root, 'left')

    succeed(await fixture.root.delete('cloud/static-roles/left'), 204)

    expect(keysOn(fixture, application)).toHaveLength(2)
    expect(await debris(fixture)).toEqual([])
    fixture.clock.advance(600)
    await until(() => keysOn(fixture, application).length === 1)
    expect(keysOn(fixture, application)).toEqual([key])
    await cleared(fixture)
  })

  test('with revoke removes both now', async () => {
    const application = await aStaticRole(fixture, 'revoked', { rotation_grace_period: 600 })
    succeed(await rotate('revoked'), 204)

    succeed(await fixture.root.delete('cloud/static-roles/revoked?revoke=true'), 204)

    expect(keysOn(fixture, application)).toEqual([])
    expect(await debris(fixture)).toEqual([])
  })

  test('with revoke does not believe at once that a new password does not exist', async () => {
    const application = await aStaticRole(fixture, 'just-made')
    fixture.directory.fault(
      status('removeApplicationPassword', 404, { code: 'Request_ResourceNotFound', times: 1 }),
    )

    await fixture.root.delete('cloud/static-roles/just-made?revoke=true')

    await cleared(fixture)
    expect(keysOn(fixture, application)).toEqual([])
  })

  test('whose passwords cannot be removed yet warns, and they become debris', async () => {
    const application = await aStaticRole(fixture, 'stuck')
    fixture.directory.fault(
      status('removeApplicationPassword', 403, { code: 'Authorization_RequestDenied', times: null }),
    )

    const answer = await fixture.root.delete('cloud/static-roles/stuck?revoke=true')

    expect([answer.status, answer.body.warnings]).toEqual([
      200,
      ['1 of the passwords could not be removed yet; debris lists them, and they are retried'],
    ])
    expect(await debris(fixture)).toMatchObject([
      { kind: 'retirePassword', id: keysOn(fixture, application)[0], name: 'stuck' },
    ])
    fixture.directory.clearFaults()
    await fixture.root.write('cloud/reap', { dry_run: false })
    await cleared(fixture)
    expect(keysOn(fixture, application)).toEqual([])
  })
})
