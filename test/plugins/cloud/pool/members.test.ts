import { beforeEach, describe, expect, test } from 'vitest'
import type { CloudFixture } from '../cloud-fixture.ts'
import { aCredential, aRole, cleared, debris, living, reader, status } from '../credential-steps.ts'
import { renewedFixture } from '../renewed-fixture.ts'
import { aPool, applications, creations, filled, poolsAt, startPoolFixture } from './pool-steps.ts'

const renewed = renewedFixture(startPoolFixture)
let fixture: CloudFixture
beforeEach(() => {
  fixture = renewed()
})

const day = 86_400
const write = (body: object, role = 'ci') => fixture.root.write(`cloud/roles/${role}`, body)

describe('the pool is emptied, and nothing of it is handed out', () => {
  test.each([
    { what: 'other rights', change: () => write({ cloud_roles: reader(fixture, 'data') }) },
    { what: 'a longer life', change: () => write({ max_ttl: 7200 }) },
    { what: 'other tags', change: () => write({ tags: 'team:a' }) },
    {
      what: 'an option of the mount',
      change: () => fixture.root.write('sys/mounts/cloud/tune', { options: { secret_lifetime: '48h' } }),
    },
    {
      what: 'another subscription',
      change: () =>
        fixture.root.write('cloud/config', { subscription_id: '5f0f7a0c-4c4e-4c4e-8f6e-2b1d8d9c0a11' }),
    },
  ])('after a change to $what', async ({ change }) => {
    await aPool(fixture, 'ci', 2)
    const before = applications(fixture, 'ci')

    expect((await change()).status).toBeLessThan(300)

    await expect.poll(() => applications(fixture, 'ci').filter((id) => before.includes(id))).toEqual([])
    await filled(fixture.root, 'ci', 2)
    expect(before).not.toContain((await aCredential(fixture, 'ci')).clientId)
  })

  test('at once: a credential is made on demand before the old ones are gone', async () => {
    await aPool(fixture, 'ci', 1)
    const [before] = applications(fixture, 'ci')
    fixture.directory.fault({ ...status('deleteApplication', 503), times: null })
    await write({ cloud_roles: reader(fixture, 'data') })

    expect((await aCredential(fixture, 'ci')).clientId).not.toBe(before)
  })

  test('when the role is deleted', async () => {
    await aPool(fixture, 'ci', 2)

    expect((await fixture.root.delete('cloud/roles/ci')).status).toBe(204)

    await expect.poll(async () => (await poolsAt(fixture.root)).idle).toBe(0)
    await cleared(fixture)
    expect(living(fixture)).toEqual([])
  })

  test('when the configuration is deleted: its members are debris until the mount can sign in again', async () => {
    await aPool(fixture, 'ci', 1)

    expect((await fixture.root.delete('cloud/config')).status).toBe(204)

    await expect
      .poll(async () => (await debris(fixture)).map(({ kind }) => kind))
      .toEqual(['app', 'roleAssignments'])
    await fixture.root.delete('cloud/roles/ci')
    await fixture.root.write('cloud/config', fixture.config())
    await cleared(fixture)
    expect(living(fixture)).toEqual([])
  })

  test('when the mount is moved', async () => {
    await aPool(fixture, 'ci', 1)
    const before = applications(fixture, 'ci')

    const moved = await fixture.root.write('sys/remount', { from: 'cloud', to: 'elsewhere' })

    expect(moved.status).toBe(200)
    await expect.poll(() => applications(fixture, 'ci')).not.toEqual(before)
    await expect.poll(async () => (await poolsAt(fixture.root, 'elsewhere')).roles[0]?.ready).toBe(1)
    expect(before).not.toContain((await aCredential(fixture, 'elsewhere/creds/ci')).clientId)
  })

  test('when the mount is disabled', async () => {
    await aPool(fixture, 'ci', 2)

    const disabled = await fixture.root.delete('sys/mounts/cloud')

    expect([disabled.status, living(fixture)]).toEqual([204, []])
  })

  test('when the namespace of the mount is deleted', async () => {
    const { root } = fixture
    await root.write('sys/namespaces/team', {})
    await root.write('team/sys/mounts/clouds', { type: 'cloud' })
    await root.write('team/clouds/config', fixture.config())
    await root.write('team/clouds/roles/ci', { cloud_roles: reader(fixture, 'data'), pool: 2 })
    await expect.poll(async () => (await poolsAt(root, 'team/clouds')).idle).toBe(2)

    expect((await root.delete('sys/namespaces/team')).status).toBeLessThan(300)

    await expect.poll(async () => (await root.read('sys/namespaces/team')).status).toBe(404)
    expect(living(fixture)).toEqual([])
  })

  test('a window for no new credentials hands nothing out, and the pool fills', async () => {
    const message = await fixture.root.write('sys/config/ui/custom-messages', {
      title: 'audit',
      message: 'aGk=',
      effect: 'no_new_credentials',
      start_time: '2020-01-01T00:00:00Z',
    })
    expect(message.status, message.text).toBe(200)
    await aPool(fixture, 'ci', 2)

    const refused = await fixture.root.read('cloud/creds/ci')

    expect([refused.status, refused.body.errors]).toEqual([503, ['maintenance: audit']])
    expect((await poolsAt(fixture.root)).idle).toBe(2)
    await fixture.root.delete(`sys/config/ui/custom-messages/${String(message.body.data?.['id'])}`)
    expect((await fixture.root.read('cloud/creds/ci')).status).toBe(200)
  })
})

test('a change of its TTL or of its notes leaves the pool as it is', async () => {
  await aPool(fixture, 'ci', 1)
  const before = applications(fixture, 'ci')

  await aRole(fixture, 'ci', { ttl: 60, metadata: { team: 'a' } })
  const { clientId, duration } = await aCredential(fixture, 'ci')

  expect([clientId, duration]).toEqual([before[0], 60])
})

test('the root secret may rotate: the pool stays as it is', async () => {
  await aPool(fixture, 'ci', 1)
  const before = applications(fixture, 'ci')

  expect((await fixture.root.write('cloud/rotate-root')).status).toBe(204)

  expect(before).toContain((await aCredential(fixture, 'ci')).clientId)
})

test('a smaller pool removes the oldest, and a larger one is filled', async () => {
  await aPool(fixture, 'ci', 3)
  await write({ pool: 1 })
  await filled(fixture.root, 'ci', 1)
  await cleared(fixture)
  expect(applications(fixture, 'ci')).toHaveLength(1)

  await write({ pool: 2 })

  await filled(fixture.root, 'ci', 2)
})

test('a member is replaced before it is too old to be handed out', async () => {
  await aPool(fixture, 'ci', 1)
  const before = applications(fixture, 'ci')

  fixture.clock.advance(0.8 * day)

  await expect.poll(() => applications(fixture, 'ci').filter((id) => before.includes(id))).toEqual([])
  await filled(fixture.root, 'ci', 1)
})

test('a member that could not be replaced is not handed out once it is too old', async () => {
  await aPool(fixture, 'ci', 1)
  const before = applications(fixture, 'ci')
  fixture.directory.fault({
    ...status('createApplication', 400, { code: 'Request_BadRequest' }),
    times: null,
  })
  fixture.clock.advance(0.8 * day)
  await expect.poll(async () => (await poolsAt(fixture.root)).roles[0]?.error).toContain('Request_BadRequest')
  expect((await poolsAt(fixture.root)).roles[0]?.ready).toBe(1)

  fixture.clock.advance(0.3 * day)

  expect((await fixture.root.read('cloud/creds/ci')).status).toBe(400)
  await expect.poll(() => applications(fixture, 'ci').filter((id) => before.includes(id))).toEqual([])
})

test.each([
  { name: 'its longest TTL', body: { max_ttl: 7200 }, most: 7200 },
  { name: 'an explicit longest TTL', body: { explicit_max_ttl: 3600 }, most: 3600 },
])('a secret that waited in the pool lasts for $name', async ({ body, most }) => {
  await aPool(fixture, 'ci', 1, body)
  fixture.clock.advance(0.5 * 3600)

  const { lease } = await aCredential(fixture, 'ci')

  const renewed = await fixture.root.write('sys/leases/renew', { lease_id: lease, increment: most })
  expect(renewed.body.lease_duration).toBe(most)
})

describe('the role field', () => {
  test.each([
    [-1, 'pool must be between 0 and 50'],
    [51, 'pool must be between 0 and 50'],
    ['many', 'pool'],
  ])('%j is refused', async (pool, text) => {
    const answer = await write({ cloud_roles: reader(fixture), pool })

    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(text)])
  })

  test('is shown once it is more than 0', async () => {
    await aRole(fixture, 'ci')
    expect((await fixture.root.read('cloud/roles/ci')).body.data).not.toHaveProperty('pool')

    await write({ pool: 1 })
    expect((await fixture.root.read('cloud/roles/ci')).body.data).toHaveProperty('pool', 1)

    await write({ pool: 0 })
    expect((await fixture.root.read('cloud/roles/ci')).body.data).not.toHaveProperty('pool')
  })

  test('is refused for federated roles, for which nothing is made', async () => {
    const { id } = fixture.directory.admin.addApplication({ displayName: 'shared' })

    const answers = [
      await write({ credential_type: 'federated', application_object_id: id, pool: 1 }),
      await write({ credential_type: 'federated', federated_client_id: 'a-client', pool: 1 }),
    ]

    const text = 'pool cannot be used with credential_type federated: nothing is made upstream for its tokens'
    expect(answers.map(({ status: code, body }) => [code, body.errors])).toEqual([
      [400, [text]],
      [400, [text]],
    ])
  })

  test('adds up to at most 500 in a mount', async () => {
    fixture.directory.fault({ ...status('createApplication', 503), times: null })
    for (let at = 0; at < 10; at++) await aRole(fixture, `full${at}`, { pool: 50 })

    const refused = await write({ cloud_roles: reader(fixture), pool: 1 }, 'more')

    expect([refused.status, refused.body.errors]).toEqual([
      400,
      ['the pools of a mount can have at most 500 credentials'],
    ])
    expect((await write({ ttl: 60 }, 'full0')).status).toBe(204)
    expect((await write({ pool: 49 }, 'full0')).status).toBe(204)
    expect((await write({ cloud_roles: reader(fixture), pool: 1 }, 'more')).status).toBe(204)
  })
})

describe('a refill that fails', () => {
  test('leaves nothing upstream, says why, and is repeated later and later', async () => {
    fixture.directory.fault({
      ...status('createServicePrincipal', 400, { code: 'Request_BadRequest' }),
      times: null,
    })
    await aRole(fixture, 'ci', { pool: 3 })
    await expect
      .poll(async () => (await poolsAt(fixture.root)).roles[0]?.error)
      .toContain('service principal')
    await cleared(fixture)
    const [first] = (await poolsAt(fixture.root)).roles
    const tried = creations(fixture)
    expect(Date.parse(String(first?.retry_at)) - fixture.clock.now()).toBeLessThanOrEqual(15_000)

    fixture.clock.advance(16)
    await expect.poll(() => creations(fixture)).toBe(tried + 1)
    await expect
      .poll(
        async () =>
          Date.parse(String((await poolsAt(fixture.root)).roles[0]?.retry_at)) - fixture.clock.now(),
      )
      .toBeGreaterThan(15_000)

    await cleared(fixture)
    expect(living(fixture)).toEqual([])
    fixture.directory.clearFaults()
    fixture.clock.advance(31)
    await filled(fixture.root, 'ci', 3)
    expect((await poolsAt(fixture.root)).roles[0]).toMatchObject({ error: '', retry_at: null })
  })

  test('is forgotten once the pool is full, also because it became smaller', async () => {
    await aPool(fixture, 'ci', 1)
    const refusal = status('createApplication', 400, { code: 'Request_BadRequest' })
    fixture.directory.fault({ ...refusal, times: null })
    await write({ pool: 2 })
    await expect.poll(async () => (await poolsAt(fixture.root)).roles[0]?.error).not.toBe('')

    await write({ pool: 1 })

    await expect
      .poll(async () => (await poolsAt(fixture.root)).roles[0])
      .toMatchObject({ ready: 1, error: '' })
  })

  test('because the secret is never accepted: the credential is undone', async () => {
    fixture.directory.change({ delaySeconds: { secretToToken: 10_000 } })

    await aRole(fixture, 'ci', { pool: 1 })

    await expect
      .poll(async () => (await poolsAt(fixture.root)).roles[0]?.error)
      .toBe('the login service does not accept the new credential')
    await cleared(fixture)
    expect([living(fixture), (await poolsAt(fixture.root)).idle]).toEqual([[], 0])
  })

  test('does not keep another role from being filled', async () => {
    const refusal = status('addGroupMember', 400, { code: 'Request_BadRequest' })
    fixture.directory.fault({ ...refusal, times: null })
    await aRole(fixture, 'bad', { pool: 50, cloud_groups: '[{"group_name":"foo"}]' })

    await aPool(fixture, 'good', 2)

    const bad = (await poolsAt(fixture.root)).roles.find(({ role }) => role === 'bad')
    expect(bad).toMatchObject({ ready: 0, error: expect.stringContaining('Request_BadRequest') })
  })
})

test('no more are made at a time than the mount allows', async () => {
  await fixture.root.write('sys/mounts/cloud/tune', { options: { max_in_flight: '1' } })
  fixture.directory.fault({ kind: 'held', operation: 'createApplication' })
  await aRole(fixture, 'ci', { pool: 4 })
  await fixture.directory.journal.arrived('createApplication')
  const answer = fixture.root.read('cloud/creds/ci')
  await poolsAt(fixture.root)
  expect(creations(fixture)).toBe(1)

  fixture.directory.release()

  expect((await answer).status).toBe(200)
})

test('reap leaves the pool alone', async () => {
  await aPool(fixture, 'ci', 2)

  const { body } = await fixture.root.write('cloud/reap', { dry_run: false })

  expect(body.data).toEqual({ objects: [], deleted: 0 })
  expect(applications(fixture, 'ci')).toHaveLength(2)
})

test('what reads the pool needs the capability, and shows no id', async () => {
  await aPool(fixture, 'ci', 1)
  const [clientId] = applications(fixture, 'ci')

  const answer = await fixture.root.read('cloud/pool')

  expect(answer.body.data).toMatchObject({
    idle: 1,
    wanted: 1,
    roles: [{ role: 'ci', size: 1, ready: 1, error: '', retry_at: null }],
  })
  expect(answer.text).not.toContain(clientId)
  expect((await fixture.server.anonymous.read('cloud/pool')).status).toBe(403)
})

test('metrics count what waits in pools and what is wanted', async () => {
  await aPool(fixture, 'ci', 2)

  const { text } = await fixture.root.read('sys/metrics?format=prometheus')

  expect(text).toMatch(/gatehouse_cloud_pool_idle\{mount="cloud\/"\} 2/)
  expect(text).toMatch(/gatehouse_cloud_pool_wanted\{mount="cloud\/"\} 2/)
})

test('members with app roles that may no longer be given are removed', async () => {
  await fixture.root.write('sys/mounts/cloud/tune', { options: { allow_privileged_app_roles: 'true' } })
  const role = {
    cloud_app_roles: JSON.stringify([
      { app_id: '00000003-0000-0000-c000-000000000000', role_name: 'Application.ReadWrite.All' },
    ]),
  }
  await aPool(fixture, 'strong', 1, role)

  await fixture.root.write('sys/mounts/cloud/tune', { options: { allow_privileged_app_roles: 'false' } })

  await expect.poll(async () => (await poolsAt(fixture.root)).idle).toBe(0)
  await cleared(fixture)
  expect(living(fixture)).toEqual([])
})
