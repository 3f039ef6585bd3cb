import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  clientWith,
  type MessageFixture,
  made,
  messagesPath,
  plain,
  startMessageFixture,
} from './message-fixture.ts'

let fixture: MessageFixture
beforeEach(async () => {
  fixture = await startMessageFixture()
})
afterEach(() => fixture[Symbol.asyncDispose]())

const end_time = '2024-06-01T13:30:00Z'
const readOnly = { title: 'Moving to new disks', effect: 'read_only', end_time }
const override = { 'X-Gatehouse-Override': 'maintenance' }
const moveTo = (time: string) => {
  fixture.clock.advance((Date.parse(time) - fixture.clock.now()) / 1000)
}
const put = ({ root }: MessageFixture, headers = {}) =>
  root.write('sys/policies/acl/probe', { policy: 'path "a" { capabilities = ["read"] }' }, { headers })

describe('a read-only window', () => {
  test('refuses a write with its title and with when to try again, which is its end when less than an hour is left', async () => {
    await made(fixture, readOnly)

    const refused = await put(fixture)

    expect(refused.status).toBe(503)
    expect(refused.body.errors).toEqual(['maintenance: Moving to new disks'])
    expect(refused.headers['retry-after']).toBe('3600')
    fixture.clock.advance(3600)

    expect((await put(fixture)).headers['retry-after']).toBe('1800')
  })

  test('without an end asks for an hour', async () => {
    await made(fixture, { effect: 'read_only' })

    expect((await put(fixture)).headers['retry-after']).toBe('3600')
  })

  test('ends with its message, by time or by hand', async () => {
    const id = await made(fixture, readOnly)
    expect((await put(fixture)).status).toBe(503)

    await fixture.root.delete(`${messagesPath}/${id}`)
    expect((await put(fixture)).status).toBe(204)

    await made(fixture, readOnly)
    moveTo(end_time)
    expect((await put(fixture)).status).toBe(204)
  })

  test('lets reads, tokens, leases, lookups and tools pass', async () => {
    const { root, as } = fixture
    await made(fixture, readOnly)

    const created = await root.write('auth/token/create', { ttl: '1h' })
    const own = as(String(created.body.auth?.['client_token']))
    const answers = [
      created,
      await root.read('sys/mounts'),
      await own.write('auth/token/renew-self', {}),
      await root.write('auth/token/lookup', { token: String(created.body.auth?.['client_token']) }),
      await root.write('sys/capabilities-self', { paths: ['a'] }),
      await root.write('sys/tools/hash', { input: 'YQ==' }),
      await own.write('auth/token/revoke-self', {}),
      await root.write('sys/leases/revoke-prefix/cloud', {}),
    ]

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 204, 204])
  })

  test('holds in its namespace and below, not beside and not above', async () => {
    const { root } = fixture
    const write = (namespace: string) => put(fixture, { 'X-Vault-Namespace': namespace })
    await root.write('sys/namespaces/one', {})
    await root.write('sys/namespaces/other', {})
    await root.write('sys/namespaces/below', {}, { headers: { 'X-Vault-Namespace': 'one' } })
    await made(fixture, readOnly, { 'X-Vault-Namespace': 'one' })

    const statuses = [await write('one'), await write('one/below'), await write('other'), await write('')]

    expect(statuses.map(({ status }) => status)).toEqual([503, 503, 204, 204])
  })

  test('says nothing to callers whom the policies refuse', async () => {
    const nobody = await clientWith(fixture, 'elsewhere', 'read')
    await made(fixture, readOnly)

    expect((await nobody.write('sys/policies/acl/p', { policy: '' })).status).toBe(403)
    expect((await fixture.anonymous.write('sys/policies/acl/p', { policy: '' })).status).toBe(403)
  })

  test('lets a caller with sudo pass who asks for it, and nobody without', async () => {
    const { root } = fixture
    const writer = await clientWith(fixture, 'sys/policies/acl/*', 'create', 'update')
    await made(fixture, readOnly)

    expect((await put(fixture, override)).status).toBe(204)
    expect((await put(fixture, { 'X-Gatehouse-Override': 'true' })).status).toBe(503)
    expect((await root.read('sys/policies/acl/probe')).status).toBe(200)
    expect((await writer.write('sys/policies/acl/p', { policy: '' }, { headers: override })).status).toBe(503)
  })

  test('of a namespace above lets pass who also has sudo on the messages there', async () => {
    const { root, as } = fixture
    const below = { headers: { 'X-Vault-Namespace': 'one' } }
    await root.write('sys/namespaces/one', {})
    const tokenWith = async (policy: string, options = {}) => {
      const name = `passes${policy.length}`
      await root.write(`sys/policies/acl/${name}`, { policy }, options)
      const { body } = await root.write('auth/token/create', { policies: [name] }, options)
      return as(String(body.auth?.['client_token']))
    }
    const all = (path: string) => `path "${path}" { capabilities = ["create", "update", "sudo"] }`
    const ofChild = await tokenWith(all('*'), below)
    const ofRoot = await tokenWith(all('one/*'))
    const ofRootMessages = await tokenWith(all('one/*') + all(messagesPath))
    const tries = async () => {
      const statuses: number[] = []
      for (const client of [ofChild, ofRoot, ofRootMessages])
        statuses.push(
          (
            await client.write(
              'sys/policies/acl/probe',
              { policy: 'path "a" { capabilities = ["read"] }' },
              { headers: { ...override, ...below.headers } },
            )
          ).status,
        )
      return statuses
    }

    const own = await made(fixture, { title: 'own', effect: 'read_only' }, below.headers)
    const withOwn = await tries()
    await made(fixture, { ...readOnly, title: 'above' })
    const withBoth = await tries()
    await root.delete(`${messagesPath}/${own}`, below)

    expect(withOwn).toEqual([204, 204, 204])
    expect(withBoth).toEqual([503, 503, 204])
    expect(await tries()).toEqual([503, 503, 204])
  })

  test('shows no control characters and no endless title', async () => {
    await made(fixture, { ...readOnly, title: `\u001b[2J‮${'x'.repeat(1000)}` })

    const text = String((await put(fixture)).body.errors)

    expect(text).toMatch(/^maintenance: \[2J x+…$/)
    expect(text.length).toBeLessThan(300)
  })
})

describe('a window without new credentials', () => {
  beforeEach(() => made(fixture, { effect: 'no_new_credentials', title: 'Directory frozen' }))

  test('refuses to wrap, and lets writes pass', async () => {
    const wrapped = await fixture.root.write(
      'sys/wrapping/wrap',
      { a: 'b' },
      { headers: { 'X-Vault-Wrap-TTL': '60' } },
    )

    expect(wrapped.status).toBe(503)
    expect(wrapped.body.errors).toEqual(['maintenance: Directory frozen'])
    expect((await put(fixture)).status).toBe(204)
  })

  test('refuses credentials of the cloud, and lets its configuration be read', async () => {
    for (const [method, path] of [
      ['GET', 'cloud/creds/role'],
      ['GET', 'cloud/token/role'],
      ['POST', 'cloud/token/role'],
      ['POST', 'cloud/rotate-role/role'],
      ['POST', 'cloud/static-creds/role/token'],
    ] as const)
      expect((await fixture.root.call(method, path)).status, `${method} ${path}`).toBe(503)

    expect((await fixture.root.read('cloud/config')).status).not.toBe(503)
  })
})

describe('rights', () => {
  const effects = async (capabilities: readonly string[]) => {
    const client = await clientWith(fixture, `${messagesPath}*`, ...capabilities)
    const id = await made(fixture, readOnly)
    const patch = { headers: { 'content-type': 'application/merge-patch+json' } }
    return [
      (await client.write(messagesPath, { ...plain, ...readOnly })).status,
      (await client.write(`${messagesPath}/${id}`, plain)).status,
      (await client.call('PATCH', `${messagesPath}/${id}`, { title: 'x' }, patch)).status,
      (await client.delete(`${messagesPath}/${id}`)).status,
    ]
  }
  const all = ['create', 'update', 'patch', 'delete']

  test('without sudo, nobody gives a message an effect, or changes or deletes one that has an effect', async () => {
    expect(await effects(all)).toEqual([403, 403, 403, 403])
  })

  test('with sudo, all of it works', async () => {
    expect(await effects([...all, 'sudo'])).toEqual([200, 200, 200, 204])
  })

  test('without sudo, history brings no effect back', async () => {
    const client = await clientWith(fixture, `${messagesPath}*`, ...all)
    const id = await made(fixture, { title: 'v', effect: 'read_only' })
    await fixture.root.write(`${messagesPath}/${id}`, plain)
    const item = `${messagesPath}/${id}?revert=1`

    expect((await client.write(item, {})).status).toBe(403)
    await fixture.root.delete(`${messagesPath}/${id}`)
    expect((await client.write(item, {})).status).toBe(403)
    expect((await fixture.root.write(item, {})).status).toBe(200)
    expect((await fixture.root.read(`${messagesPath}/${id}`)).body.data).toMatchObject({
      effect: 'read_only',
    })
  })

  test('without sudo, messages without an effect work as before, but none can be given one', async () => {
    const id = await made(fixture)
    const client = await clientWith(fixture, `${messagesPath}*`, ...all)

    expect((await client.write(`${messagesPath}/${id}`, { ...plain, title: 'x' })).status).toBe(200)
    expect((await client.write(`${messagesPath}/${id}`, { ...plain, ...readOnly })).status).toBe(403)
    expect((await client.delete(`${messagesPath}/${id}`)).status).toBe(204)
  })
})

describe('a schedule', () => {
  // midday of the fixture is a Saturday, 14:00 in Berlin
  const weekly = { cron: '0 14 * * sat', duration: '2h', time_zone: 'Europe/Berlin' }

  test('is active in its occurrences only', async () => {
    await made(fixture, { schedule: weekly, effect: 'read_only' })
    const statuses: number[] = []
    for (const time of ['12:00:00.001', '13:59:59', '14:00:00']) {
      moveTo(`2024-06-01T${time}Z`)
      statuses.push((await put(fixture)).status)
    }
    moveTo('2024-06-08T13:00:00Z')
    statuses.push((await put(fixture)).status)

    expect(statuses).toEqual([503, 503, 204, 503])
  })

  test('is stored and shown, with its duration in seconds, and absent from other messages', async () => {
    const id = await made(fixture, { schedule: weekly })
    const other = await made(fixture)

    expect((await fixture.root.read(`${messagesPath}/${id}`)).body.data?.['schedule']).toEqual({
      ...weekly,
      duration: 7200,
    })
    expect((await fixture.root.read(`${messagesPath}/${other}`)).text).not.toMatch(/schedule|effect|notice/)
  })

  test('keeps its fields when others are patched', async () => {
    const id = await made(fixture, { schedule: weekly, effect: 'read_only' })
    const headers = { 'content-type': 'application/merge-patch+json' }

    const { body } = await fixture.root.call('PATCH', `${messagesPath}/${id}`, { title: 'x' }, { headers })

    expect(body.data).toMatchObject({
      title: 'x',
      effect: 'read_only',
      schedule: { ...weekly, duration: 7200 },
    })
  })

  test('shows front ends the bounds of the occurrence, and the next change', async () => {
    const id = await made(fixture, { schedule: weekly, effect: 'read_only' })
    fixture.clock.advance(60)

    const shown = await fixture.root.read('sys/internal/ui/authenticated-messages')

    expect(shown.body.data?.['key_info']).toMatchObject({
      [id]: {
        start_time: '2024-06-01T12:00:00Z',
        end_time: '2024-06-01T14:00:00Z',
        notice: 'Writes resume at 16:00 Europe/Berlin',
      },
    })
    expect(shown.headers['x-next-change-at']).toBe('2024-06-01T14:00:00Z')
    moveTo('2024-06-01T15:00:00Z')
    const later = await fixture.root.read('sys/internal/ui/authenticated-messages')
    expect(later.body.data).toEqual({})
    expect(later.headers['x-next-change-at']).toBe('2024-06-08T12:00:00Z')
  })

  test('is previewed as front ends get its next occurrence, and has none behind the year 9999', async () => {
    const schedule = { ...weekly, cron: '0 9 * * sun' }
    const { body } = await fixture.root.write(`${messagesPath}/preview`, {
      ...plain,
      ...readOnly,
      end_time: null,
      schedule,
    })

    expect(body.data).toMatchObject({
      start_time: '2024-06-02T07:00:00Z',
      end_time: '2024-06-02T09:00:00Z',
      notice: 'Writes resume at 11:00 Europe/Berlin',
      active: false,
    })
    const at = '9999-12-24T23:00:00Z'
    const last = await fixture.root.write(`${messagesPath}/preview`, { ...plain, schedule: weekly, at })
    expect(last.body.data?.['windows']).toEqual([
      { start_time: '9999-12-25T13:00:00Z', end_time: '9999-12-25T15:00:00Z' },
    ])
  })

  test('ends with its message', async () => {
    await made(fixture, { schedule: weekly, end_time: '2024-06-08T12:30:00Z' })

    const { body } = await fixture.root.write(`${messagesPath}/preview`, {
      ...plain,
      schedule: weekly,
      end_time: '2024-06-08T12:30:00Z',
    })

    expect(body.data?.['windows']).toEqual([
      { start_time: '2024-06-01T12:00:00Z', end_time: '2024-06-01T14:00:00Z' },
      { start_time: '2024-06-08T12:00:00Z', end_time: '2024-06-08T12:30:00Z' },
    ])
  })

  const bad = [
    { row: 'no such day', schedule: { ...weekly, cron: '0 0 30 2 *' }, says: 'there is no such day' },
    { row: 'no cron', schedule: { duration: '1h' }, says: 'expected exactly 5 fields' },
    { row: 'a short duration', schedule: { ...weekly, duration: '59s' }, says: 'one minute and seven days' },
    { row: 'a long duration', schedule: { ...weekly, duration: '169h' }, says: 'one minute and seven days' },
    { row: 'an unknown zone', schedule: { ...weekly, time_zone: 'Mars' }, says: 'time zone' },
    { row: 'another field', schedule: { ...weekly, until: 1 }, says: 'only' },
    { row: 'a list as cron', schedule: { ...weekly, cron: [] }, says: 'cron' },
  ]

  test('that cannot be is refused, as an unknown effect is', async () => {
    const { root } = fixture
    for (const { row, schedule, says } of bad) {
      const { status, body } = await root.write(messagesPath, { ...plain, schedule })
      expect(status, row).toBe(400)
      expect(body.errors?.[0], row).toContain('invalid schedule parameter value')
      expect(body.errors?.[0], row).toContain(says)
    }

    const { status, body } = await root.write(messagesPath, { ...plain, effect: 'panic' })
    expect([status, body.errors]).toEqual([
      400,
      ['invalid effect parameter value, must be one of read_only, no_new_credentials'],
    ])
  })
})

test('a preview tells whether a message is active at a time, and a list computes active for it', async () => {
  const fields = { ...plain, start_time: '2024-12-24T10:00:00Z', end_time: '2024-12-24T12:00:00Z' }
  const id = await made(fixture, fields)
  const at = '2024-12-24T11:00:00Z'

  const { body } = await fixture.root.write(`${messagesPath}/preview`, { ...fields, at })
  const listed = await fixture.root.read(`${messagesPath}?list=true&at=${at}&active=true`)

  expect(body.data).toMatchObject({ active: true, windows: [{ end_time: fields.end_time }] })
  expect(listed.body.data?.['keys']).toEqual([id])
  expect((await fixture.root.read(`${messagesPath}?list=true&active=true`)).status).toBe(404)
})

test('a banner without an end says so', async () => {
  await made(fixture, { effect: 'no_new_credentials' })

  expect((await fixture.root.read('sys/internal/ui/authenticated-messages')).text).toContain(
    '"notice":"New credentials are suspended until further notice"',
  )
})

test('sys/health shows the windows of the root namespace while they are in force, without titles', async () => {
  const before = await fixture.anonymous.read('sys/health')
  await made(fixture, readOnly)

  const during = await fixture.anonymous.read('sys/health')

  expect(before.text).not.toContain('maintenance')
  expect(JSON.parse(during.text)).toMatchObject({ maintenance: [{ effect: 'read_only', until: end_time }] })
  expect(during.status).toBe(200)
  expect(during.text).not.toContain('disks')
})

test('metrics count what windows refuse', async () => {
  await made(fixture, readOnly)
  await put(fixture)

  const { text } = await fixture.root.read('sys/metrics?format=prometheus')

  expect(text).toContain('gatehouse_window_active{effect="read_only"} 1')
  expect(text).toContain('gatehouse_window_active{effect="no_new_credentials"} 0')
  expect(text).toContain('gatehouse_window_refused_total{effect="read_only"} 1')
})

test('without messages there are no windows', async () => {
  await using other = await startMessageFixture({ settings: { EDITION: 'community' } })

  expect((await put(other)).status).toBe(204)
})
