import { describe, expect, test } from 'vitest'
import { StorageFaults } from '../../../src/storage/faults.ts'
import type { Client } from '../../support/client.ts'
import { startCredentialProvider } from '../../support/credential-provider.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { type PracticeRole, practiceType } from '../../support/practice-type.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer } from '../../support/start-server.ts'
import { aLoginMount } from '../identity/login-mount.ts'

/** A server with the practice engine at `engine/`, and its provider. */
async function openServer({ roleTtl = 3600, maxTtl = 7200, faults = new StorageFaults() } = {}) {
  const opened = new AsyncDisposableStack()
  const provider = opened.use(await startCredentialProvider())
  const roles = new Map<string, PracticeRole>([['ci', { ttl: roleTtl, maxTtl, renewable: true }]])
  const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5))
  const server = opened.use(
    await startTestServer({ clock, faults, plugins: [practiceType({ providerUrl: provider.url, roles })] }),
  )
  const { root, as, anonymous } = server
  expect((await root.write('sys/mounts/engine', { type: 'practice' })).status).toBe(204)
  const issue = async (client: Client = root, path = 'engine/creds/ci') => {
    const answer = await client.read(path)
    return { answer, id: String(answer.body?.lease_id), credential: String(answer.body?.data?.credential) }
  }
  const tokenWith = async (policy: string, fields: object = {}) => {
    await root.write('sys/policies/acl/p', { policy })
    const answer = await root.write('auth/token/create', { policies: ['p'], ttl: '10h', ...fields })
    return { client: as(String(answer.body.auth?.client_token)), id: String(answer.body.auth?.client_token) }
  }
  return {
    provider,
    roles,
    clock,
    root,
    as,
    anonymous,
    issue,
    tokenWith,
    put: (path: string, body: object = {}, client = root) => client.call('PUT', path, body),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** For tests that issue nothing and change nothing of the engine. */
const unchanged = shared(() => openServer())
/** For tests that look at their own leases only, of the role as it is. */
const issuing = shared(() => openServer())

const namesBelow = async (client: Client, path: string): Promise<string[]> =>
  Object.values((await client.list(`sys/leases/lookup/${path}`)).body.data?.keys ?? {}).map(String)

const refusal = (text: string) => ({ errors: [text] })
const wrapped = (text: string) => refusal(`1 error occurred:\n\t* ${text}\n\n`)
const capped = (wanted: string, most: string) =>
  `TTL of "${wanted}" exceeded the effective max_ttl of "${most}"; TTL value is capped accordingly`

describe('an issued secret', () => {
  test('has a lease with the TTL of its role', async () => {
    const server = await issuing()

    const { answer } = await server.issue()

    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      renewable: true,
      lease_duration: 3600,
      warnings: null,
      auth: null,
      mount_type: 'practice',
    })
    expect(String(answer.body.lease_id)).toMatch(/^engine\/creds\/ci\/[0-9A-Za-z]{24}$/)
    expect(Object.keys(answer.body.data ?? {})).toEqual(['credential'])
  })

  test("has the system's TTL if its role has none", async () => {
    await using server = await openServer({ roleTtl: 0, maxTtl: 0 })

    expect((await server.issue()).answer.body.lease_duration).toBe(2_764_800)
  })

  test("is capped at the mount's maximum TTL, with a warning", async () => {
    await using server = await openServer()
    await server.root.write('sys/mounts/engine/tune', { max_lease_ttl: '30m' })

    const { body } = (await server.issue()).answer

    expect(body.lease_duration).toBe(1800)
    expect(body.warnings).toEqual([capped('1h', '30m')])
  })

  test('is wrapped with its lease', async () => {
    const server = await issuing()

    const answer = await server.root.read('engine/creds/ci', { headers: { 'X-Vault-Wrap-TTL': '60' } })
    expect(answer.body).toMatchObject({ lease_id: '', wrap_info: { ttl: 60 } })

    const inner = await server.as(String(answer.body.wrap_info?.token)).write('sys/wrapping/unwrap')
    expect(String(inner.body.lease_id)).toMatch(/^engine\/creds\/ci\//)
  })

  test('is revoked if its response cannot be wrapped', async () => {
    const faults = new StorageFaults()
    await using server = await openServer({ faults })
    // the lease is stored, but the response is not
    faults.arm('storage.before-commit', 'full', 1)

    const answer = await server.root.read('engine/creds/ci', { headers: { 'X-Vault-Wrap-TTL': '60' } })

    expect(answer.status).toBe(503)
    expect([server.provider.alive.size, await namesBelow(server.root, 'engine/creds/ci/')]).toEqual([0, []])
  })

  test.each(['0', '60'])('is revoked if it took the last use of its token (wrap TTL %s)', async (wish) => {
    const server = await issuing()
    const { client } = await server.tokenWith('path "engine/creds/ci" { capabilities = ["read"] }', {
      num_uses: 1,
    })
    const before = [...server.provider.alive]

    const answer = await client.read('engine/creds/ci', { headers: { 'X-Vault-Wrap-TTL': wish } })

    expect(answer.status).toBe(400)
    expect(answer.body).toEqual(
      refusal(
        'Secret cannot be returned; token had one use left, so leased credentials were immediately revoked.',
      ),
    )
    expect([...server.provider.alive]).toEqual(before)
  })

  test('is not issued for a role that does not exist', async () => {
    const server = await unchanged()

    expect((await server.root.read('engine/creds/none')).body).toEqual(refusal('role "none" does not exist'))
  })
})

describe('lookup', () => {
  test('shows a lease, and nothing of the secret', async () => {
    const server = await issuing()
    const { id } = await server.issue()

    const { body } = await server.put('sys/leases/lookup', { lease_id: id })

    expect(body.data).toEqual({
      id,
      path: 'engine/creds/ci',
      issue_time: '2026-01-02T03:04:05Z',
      expire_time: '2026-01-02T04:04:05Z',
      last_renewal: null,
      renewable: true,
      ttl: 3600,
    })
  })

  test.each([
    { name: 'nothing', body: {}, text: 'lease_id must be specified' },
    { name: 'null', body: { lease_id: null }, text: 'lease_id must be specified' },
    { name: 'an empty text', body: { lease_id: '' }, text: 'lease_id must be specified' },
    { name: 'an unknown id', body: { lease_id: 'nope' }, text: 'invalid lease' },
    { name: 'a number', body: { lease_id: 5 }, text: 'invalid lease ID' },
    { name: 'a list', body: { lease_id: ['x'] }, text: 'invalid lease ID' },
    { name: 'an object', body: { lease_id: {} }, text: 'invalid lease ID' },
    { name: 'another field', body: { lease: 'x' }, text: 'lease_id must be specified' },
  ])('of $name is refused', async ({ body, text }) => {
    const server = await unchanged()

    const answer = await server.put('sys/leases/lookup', body)

    expect([answer.status, answer.body]).toEqual([400, refusal(text)])
  })

  test('uses an id exactly as it was sent', async () => {
    const server = await issuing()
    const { id } = await server.issue()

    for (const spelling of [
      `/${id}`,
      `${id}/`,
      ` ${id}`,
      id.split('/').at(-1),
      'engine/creds/ci',
      id.toLowerCase() === id ? 'x' : id.toLowerCase(),
    ]) {
      expect((await server.put('sys/leases/lookup', { lease_id: spelling })).body).toEqual(
        refusal('invalid lease'),
      )
    }
    expect((await server.put(`sys/leases/lookup/${id}`)).status).toBe(405)
  })

  test('shows the lease of a token, while the initial root token and batch tokens have none', async () => {
    await using server = await openServer()
    const created = await server.root.write('auth/token/create-orphan', { policies: ['default'], ttl: '1h' })
    const [name] = await namesBelow(server.root, 'auth/token/create-orphan')
    const id = `auth/token/create-orphan/${name}`
    expect(name).toMatch(/^h[0-9a-f]{64}$/)

    expect((await server.put('sys/leases/lookup', { lease_id: id })).body.data).toMatchObject({
      id,
      path: 'auth/token/create-orphan',
      ttl: 3600,
    })

    await server.root.write('auth/token/create-orphan', { policies: ['default'], type: 'batch' })
    expect((await server.root.list('sys/leases/lookup/auth/token/create-orphan')).body.data?.keys).toEqual([
      name,
    ])
    await server.root.write('auth/token/revoke', { token: created.body.auth?.client_token })
    expect((await server.put('sys/leases/lookup', { lease_id: id })).body).toEqual(refusal('invalid lease'))
  })
})

test('a lookup tells whose a lease is to those who may list the leases of its path', async () => {
  await using server = await openServer()
  const { root } = server
  await root.write('sys/policies/acl/reads', { policy: 'path "engine/creds/*" { capabilities = ["read"] }' })
  const rule = (capabilities: string) =>
    `path "sys/leases/lookup/engine/*" { capabilities = [${capabilities}] }`
  await root.write('sys/policies/acl/lists', { policy: rule('"list", "sudo"') })
  await root.write('sys/policies/acl/nearly', { policy: rule('"list"') })
  const people = await aLoginMount(server, 'people', { policies: 'reads' })
  const { client, entityId } = await people.login('lee')
  const { id: secret } = await server.issue(client)
  const { id: none } = await server.issue()
  const [login] = await namesBelow(root, 'auth/people/login')

  const seenBy = async (policy: string, id: string) => {
    const made = await root.write('auth/token/create', { policies: [policy] })
    const other = server.as(String(made.body.auth?.client_token))
    const answer = await other.write('sys/leases/lookup', { lease_id: id })
    return [answer.status, answer.body.data?.['entity_id']]
  }

  expect(await seenBy('root', secret)).toEqual([200, entityId])
  expect(await seenBy('lists', secret)).toEqual([200, entityId])
  expect(await seenBy('nearly', secret)).toEqual([200, undefined])
  expect(await seenBy('default', secret)).toEqual([200, undefined])
  expect(await seenBy('root', none)).toEqual([200, undefined])
  const jwtRole = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate', token_policies: 'reads' }
  await root.write('auth/people/role/r', { ...jwtRole, token_type: 'batch' })
  const { id: ofBatch } = await server.issue((await people.login('lee')).client)
  expect(await seenBy('lists', ofBatch)).toEqual([200, entityId])
  expect(await seenBy('root', `auth/people/login/${login}`)).toEqual([200, entityId])
  expect(await seenBy('lists', `auth/people/login/${login}`)).toEqual([200, undefined])
})

describe('LIST sys/leases/lookup', () => {
  test('lists one level at a time', async () => {
    await using server = await openServer()
    server.roles.set('cj', { ttl: 60, maxTtl: 0, renewable: true })
    const leaf = (id: string) => id.split('/').at(-1) ?? ''
    const ids = [(await server.issue()).id, (await server.issue()).id].map(leaf).sort()
    await server.issue(server.root, 'engine/creds/cj')
    const keys = async (path: string) => (await server.root.list(path)).body.data?.keys

    expect(await keys('sys/leases/lookup')).toEqual(['auth/', 'engine/'])
    expect(await keys('sys/leases/lookup/')).toEqual(['auth/', 'engine/'])
    expect(await keys('sys/leases/lookup/engine')).toEqual(['creds/'])
    expect(await keys('sys/leases/lookup/engine/creds/')).toEqual(['ci/', 'cj/'])
    expect(await keys('sys/leases/lookup/engine/creds/ci')).toEqual(ids)
    expect(await keys('sys/leases/lookup/auth')).toEqual(['token/'])
  })

  test('supports `after` and `limit`', async () => {
    await using server = await openServer()
    for (const role of ['a', 'b', 'c', 'd']) {
      server.roles.set(role, { ttl: 60, maxTtl: 0, renewable: true })
      for (let count = 0; count < 3; count += 1) await server.issue(server.root, `engine/creds/${role}`)
    }
    const leaves = await namesBelow(server.root, 'engine/creds/c')
    const below = async (query: string) => namesBelow(server.root, `engine/creds${query}`)

    expect(await below('?limit=2')).toEqual(['a/', 'b/'])
    expect(await below('?after=b/')).toEqual(['c/', 'd/'])
    expect(await below('?after=a/&limit=2')).toEqual(['b/', 'c/'])
    expect(await below('/c?limit=2')).toEqual(leaves.slice(0, 2))
    expect(await below(`/c?after=${leaves[0]}`)).toEqual(leaves.slice(1))
    expect((await namesBelow(server.root, '?limit=1')).length).toBe(1)
  })

  test('is 404 if there is nothing, also inside a segment', async () => {
    const server = await issuing()
    await server.issue()

    for (const path of ['nope', 'engine/creds/c', 'engine/cred', 'auth/nope']) {
      const answer = await server.root.list(`sys/leases/lookup/${path}`)
      expect([answer.status, answer.body]).toEqual([404, { errors: [] }])
    }
  })

  test('requires list and sudo', async () => {
    const server = await issuing()
    await server.issue()
    const { client: lister } = await server.tokenWith(
      'path "sys/leases/lookup/*" { capabilities = ["list"] }',
    )
    expect([
      (await lister.list('sys/leases/lookup/engine')).status,
      (await lister.list('sys/leases/lookup/engine')).body,
    ]).toEqual([403, wrapped('permission denied')])

    const { client: both } = await server.tokenWith(
      'path "sys/leases/lookup/*" { capabilities = ["list", "sudo"] }',
    )
    expect((await both.list('sys/leases/lookup/engine')).status).toBe(200)
  })
})

describe('renew', () => {
  test('grants the increment, under the same id, without data', async () => {
    const server = await issuing()
    const { id } = await server.issue()

    const { status, body } = await server.put('sys/leases/renew', { lease_id: id, increment: 600 })

    expect(status).toBe(200)
    expect(body).toMatchObject({
      lease_id: id,
      renewable: true,
      lease_duration: 600,
      data: null,
      warnings: null,
    })
    const looked = (await server.put('sys/leases/lookup', { lease_id: id })).body.data
    expect(looked).toMatchObject({ last_renewal: '2026-01-02T03:04:05Z', ttl: 600 })
  })

  test("uses the role's current TTL", async () => {
    await using server = await openServer()
    const { id } = await server.issue()
    server.roles.set('ci', { ttl: 1200, maxTtl: 0, renewable: true })

    expect((await server.put('sys/leases/renew', { lease_id: id })).body.lease_duration).toBe(1200)
  })

  test('is 204 if the role was deleted, and changes nothing', async () => {
    await using server = await openServer()
    const { id } = await server.issue()
    server.roles.delete('ci')
    server.clock.advance(60)

    const answer = await server.put('sys/leases/renew', { lease_id: id, increment: 7000 })

    expect([answer.status, answer.text]).toEqual([204, ''])
    expect((await server.put('sys/leases/lookup', { lease_id: id })).body.data).toMatchObject({
      ttl: 3540,
      last_renewal: null,
    })
  })

  test('never exceeds the hard limit, which counts from the issue', async () => {
    await using server = await openServer()
    const { id } = await server.issue()
    server.clock.advance(3000)
    await server.put('sys/leases/renew', { lease_id: id })
    server.clock.advance(3000)

    const { body } = await server.put('sys/leases/renew', { lease_id: id, increment: '2h' })
    expect(body).toMatchObject({ lease_duration: 1200, warnings: [capped('2h', '20m')] })

    server.roles.set('ci', { ttl: 60, maxTtl: 100, renewable: true })
    expect((await server.put('sys/leases/renew', { lease_id: id })).body).toEqual(
      refusal('past the max TTL, cannot renew'),
    )
  })

  test.each([
    { name: 'no id', body: {}, text: 'lease_id must be specified' },
    { name: 'an unknown id', body: { lease_id: 'nope' }, text: 'lease not found' },
    { name: 'a number', body: { lease_id: 5 }, text: 'invalid lease ID' },
    {
      name: 'an increment that is none',
      body: { lease_id: 'nope', increment: 'x' },
      text: 'Field validation failed: error converting input for field "increment": time: invalid duration "x"',
    },
  ])('refuses $name', async ({ body, text }) => {
    const server = await unchanged()

    for (const path of ['sys/leases/renew', 'sys/renew']) {
      const answer = await server.put(path, body)
      expect([answer.status, answer.body]).toEqual([400, refusal(text)])
    }
  })

  test.each(['renew', 'revoke'])(
    '%s with an id in the path refuses a lease_id in the body that is not a text',
    async (verb) => {
      const server = await unchanged()

      for (const path of [`sys/leases/${verb}/nope`, `sys/${verb}/nope`]) {
        for (const lease_id of [5, true, ['x'], {}]) {
          const answer = await server.put(path, { lease_id })
          expect([answer.status, answer.body]).toEqual([400, refusal('invalid lease ID')])
        }
      }
    },
  )

  test('refuses tokens', async () => {
    const server = await issuing()
    await server.root.write('auth/token/create-orphan', { policies: ['default'], ttl: '1h' })
    const [name] = await namesBelow(server.root, 'auth/token/create-orphan')

    const answer = await server.put('sys/leases/renew', { lease_id: `auth/token/create-orphan/${name}` })

    expect(answer.body).toEqual(refusal('tokens cannot be renewed through this endpoint'))
  })

  test('refuses leases that are not renewable or have ended', async () => {
    await using server = await openServer()
    server.roles.set('fixed', { ttl: 60, maxTtl: 0, renewable: false })
    const { id, answer } = await server.issue(server.root, 'engine/creds/fixed')
    expect(answer.body.renewable).toBe(false)
    expect((await server.put('sys/leases/renew', { lease_id: id })).body).toEqual(
      refusal('lease is not renewable'),
    )

    server.clock.advance(60)
    expect((await server.put('sys/leases/renew', { lease_id: id })).body).toEqual(refusal('lease expired'))
  })

  test('prefers the id in the body to that in the path', async () => {
    const server = await issuing()
    const { id } = await server.issue()

    expect((await server.put('sys/leases/renew/nope', { lease_id: id })).status).toBe(200)
    expect((await server.put(`sys/leases/renew/${id}`, { lease_id: 'nope' })).body).toEqual(
      refusal('lease not found'),
    )
    expect((await server.put(`sys/leases/renew/${id}`, { lease_id: '' })).status).toBe(200)
    expect((await server.put(`sys/renew/${id}`)).status).toBe(200)
  })

  test('is allowed by the policy default only with the id in the body', async () => {
    const server = await issuing()
    const { id } = await server.issue()
    const token = (await server.root.write('auth/token/create', { policies: ['default'] })).body.auth
      ?.client_token
    const client = server.as(String(token))

    const inPath = await server.put(`sys/leases/renew/${id}`, {}, client)
    expect([inPath.status, inPath.body]).toEqual([403, wrapped('permission denied')])
    expect((await server.put('sys/leases/renew', { lease_id: id }, client)).status).toBe(200)
  })
})

describe('revoke', () => {
  test.each(['sys/leases/revoke', 'sys/revoke'])('%s waits for the provider', async (path) => {
    const server = await issuing()
    const { id, credential } = await server.issue()
    const before = server.provider.alive.size

    const answer = await server.put(path, { lease_id: id })

    expect([answer.status, answer.text]).toEqual([204, ''])
    expect([server.provider.alive.has(credential), server.provider.alive.size]).toEqual([false, before - 1])
    expect((await server.put('sys/leases/lookup', { lease_id: id })).body).toEqual(refusal('invalid lease'))
  })

  test('with sync false is 202 without a body, and completes shortly after', async () => {
    const server = await issuing()
    const { id, credential } = await server.issue()

    const answer = await server.put(`sys/leases/revoke/${id}`, { sync: false })

    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([
      202,
      '',
      'application/json',
    ])
    await server.provider.gone(credential)
  })

  test.each([
    { name: 'unknown', body: { lease_id: 'nope' }, status: 204, text: '' },
    { name: 'unknown, not waited for', body: { lease_id: 'nope', sync: false }, status: 202, text: '' },
  ])('$name', async ({ body, status, text }) => {
    const server = await unchanged()

    const answer = await server.put('sys/leases/revoke', body)

    expect([answer.status, answer.text]).toEqual([status, text])
  })

  test.each([
    { name: 'no id', body: {}, text: 'lease_id must be specified' },
    { name: 'a number', body: { lease_id: 5 }, text: 'invalid lease ID' },
  ])('refuses $name', async ({ body, text }) => {
    const server = await unchanged()

    expect((await server.put('sys/leases/revoke', body)).body).toEqual(refusal(text))
  })

  test('says why it failed, and leaves the lease unchanged', async () => {
    await using server = await openServer()
    const { id } = await server.issue()
    server.provider.mood = 'down'

    const answer = await server.put('sys/leases/revoke', { lease_id: id })

    expect([answer.status, answer.body]).toEqual([
      400,
      refusal('failed to revoke entry: the provider answered 503'),
    ])
    expect((await server.put('sys/leases/lookup', { lease_id: id })).body.data).toMatchObject({
      renewable: true,
      ttl: 3600,
    })
    expect((await server.put('sys/leases/renew', { lease_id: id })).status).toBe(200)
  })

  test.each([true, false])('ends the token if the lease is that of a token (sync %s)', async (sync) => {
    await using server = await openServer()
    const { client, id: token } = await server.tokenWith(
      'path "auth/token/create" { capabilities = ["update"] }',
    )
    const child = server.as(
      String((await client.write('auth/token/create', { ttl: '1h' })).body.auth?.client_token),
    )
    expect(token).not.toBe('')
    const keys = await namesBelow(server.root, 'auth/token/create')

    for (const name of keys)
      await server.put('sys/leases/revoke', { lease_id: `auth/token/create/${name}`, sync })

    expect((await client.read('auth/token/lookup-self')).status).toBe(403)
    expect((await child.read('auth/token/lookup-self')).status).toBe(403)
  })
})

describe('revoke-prefix', () => {
  test.each([
    'sys/leases/revoke-prefix/engine',
    'sys/revoke-prefix/engine',
    'sys/leases/revoke-prefix/engine/creds/ci',
  ])('%s revokes everything below', async (path) => {
    await using server = await openServer()
    await server.issue()
    await server.issue()

    expect((await server.put(path)).status).toBe(204)

    expect(server.provider.alive.size).toBe(0)
  })

  test('revokes a lease with exactly this id and no other', async () => {
    const server = await issuing()
    const { id, credential } = await server.issue()
    const { alive } = server.provider
    const others = [...alive].filter((one) => one !== credential)
    const { credential: later } = await server.issue()

    expect((await server.put(`sys/leases/revoke-prefix/${id}`)).status).toBe(204)

    expect([...alive]).toEqual([...others, later])
  })

  test('ends whole families of tokens, and no others', async () => {
    await using server = await openServer()
    await server.root.write('sys/policies/acl/p', {
      policy: 'path "auth/token/create/kin" { capabilities = ["update", "sudo"] }',
    })
    for (const role of ['kin', 'others'])
      await server.root.write(`auth/token/roles/${role}`, { allowed_policies: ['p'] })
    const create = async (client: Client, role = 'kin') =>
      server.as(String((await client.write(`auth/token/create/${role}`)).body.auth?.client_token))
    const parents = await Promise.all(Array.from({ length: 12 }, () => create(server.root)))
    const children = await Promise.all(
      parents.flatMap((parent) => [create(parent), create(parent), create(parent)]),
    )
    const other = await create(server.root, 'others')
    const statuses = (clients: Client[]) =>
      Promise.all(clients.map(async (client) => (await client.read('auth/token/lookup-self')).status))
    expect(new Set(await statuses([...parents, ...children]))).toEqual(new Set([200]))

    expect((await server.put('sys/leases/revoke-prefix/auth/token/create/kin')).status).toBe(204)

    expect(new Set(await statuses([...parents, ...children]))).toEqual(new Set([403]))
    expect(await statuses([other])).toEqual([200])
    expect((await server.root.list('sys/leases/lookup/auth/token/create/kin')).status).toBe(404)
  })

  test('is a path even if it looks like the lease of a token', async () => {
    await using server = await openServer()
    const name = `h${'0123456789abcdef'.repeat(4)}`
    server.roles.set(name, { ttl: 60, maxTtl: 0, renewable: true })
    await server.issue(server.root, `engine/creds/${name}`)

    expect((await server.put(`sys/leases/revoke-prefix/engine/creds/${name}`)).status).toBe(204)

    expect(server.provider.alive.size).toBe(0)
  })

  test('ends at a slash', async () => {
    const server = await issuing()
    const { id } = await server.issue()
    const before = [...server.provider.alive]

    for (const part of ['engine/creds/c', 'engin', id.slice(0, -1)])
      expect((await server.put(`sys/leases/revoke-prefix/${part}`)).status).toBe(204)

    expect([...server.provider.alive]).toEqual(before)
  })

  test('can run in the background', async () => {
    await using server = await openServer()
    await server.issue()

    const answer = await server.put('sys/leases/revoke-prefix/engine', { sync: false })

    expect([answer.status, answer.text]).toEqual([202, ''])
    await server.provider.gone()
    expect((await server.put('sys/leases/revoke-prefix/no/such', { sync: false })).status).toBe(202)
  })

  test('says how far it got', async () => {
    await using server = await openServer()
    const ids = [(await server.issue()).id, (await server.issue()).id].sort()
    server.provider.mood = 'down'

    const answer = await server.put('sys/leases/revoke-prefix/engine')

    expect(answer.status).toBe(400)
    expect(answer.body).toEqual(
      refusal(`failed to revoke "${ids[0]}" (1 / 2): failed to revoke entry: the provider answered 503`),
    )
  })

  test.each([
    { path: 'sys/leases/revoke-prefix', status: 404, body: wrapped('unsupported path') },
    { path: 'sys/leases/revoke-force', status: 404, body: wrapped('unsupported path') },
    { path: 'sys/leases/revoke-prefix/', status: 400, body: refusal("cannot write to a path ending in '/'") },
    {
      path: 'sys/leases/revoke-force/engine/',
      status: 400,
      body: refusal("cannot write to a path ending in '/'"),
    },
  ])('$path', async ({ path, status, body }) => {
    const server = await unchanged()

    const answer = await server.put(path)

    expect([answer.status, answer.body]).toEqual([status, body])
  })

  test.each(['leases/revoke-prefix', 'leases/revoke-force', 'revoke-prefix', 'revoke-force'])(
    'sys/%s needs sudo',
    async (path) => {
      const server = await unchanged()
      const { client } = await server.tokenWith(`path "sys/${path}/*" { capabilities = ["update"] }`)

      const answer = await server.put(`sys/${path}/engine`, {}, client)

      expect([answer.status, answer.body]).toEqual([403, wrapped('permission denied')])
    },
  )

  test('revoke-force drops what cannot be revoked', async () => {
    await using server = await openServer()
    const { id } = await server.issue()
    server.provider.mood = 'down'

    expect((await server.put('sys/leases/revoke-force/engine')).status).toBe(204)

    expect((await server.put('sys/leases/lookup', { lease_id: id })).body).toEqual(refusal('invalid lease'))
  })
})

describe('irrevocable leases', () => {
  async function openWithIrrevocable(count = 1) {
    const server = await openServer()
    server.provider.mood = 'refusing'
    const ids: string[] = []
    for (let made = 0; made < count; made += 1) {
      const { id, credential } = await server.issue()
      ids.push(id)
      await server.put('sys/leases/revoke', { lease_id: id, sync: false })
      while ((server.provider.asked.get(credential) ?? 0) === 0) await server.provider.deletions(made + 1)
      // the failure is being written
      while ((await server.put('sys/leases/lookup', { lease_id: id })).body.data?.revoke_error === undefined)
        await new Promise(setImmediate)
      server.clock.advance(1)
    }
    const accessor = String((await server.root.read('sys/mounts/engine')).body.data?.accessor)
    return { server, ids, accessor }
  }

  test('are counted for each mount', async () => {
    const { server, accessor } = await openWithIrrevocable(2)
    await using _ = server

    for (const type of ['irrevocable', 'IRREVOCABLE']) {
      expect((await server.root.read(`sys/leases/count?type=${type}`)).body.data).toEqual({
        lease_count: 2,
        counts: { [accessor]: 2 },
      })
    }
  })

  test('are listed by the time they ended, up to the limit', async () => {
    const { server, ids, accessor } = await openWithIrrevocable(2)
    await using _ = server
    const all = ids.map((lease_id) => ({ lease_id, mount_id: accessor, error: 'the provider refuses' }))

    for (const query of ['', '&limit=none', '&limit=2', '&limit=10']) {
      const { body } = await server.root.read(`sys/leases?type=irrevocable${query}`)
      expect(body.data).toEqual({ lease_count: 2, leases: all })
      expect(body.warnings).toBeNull()
    }
    const cut = await server.root.read('sys/leases?type=irrevocable&limit=1')
    expect(cut.body.data).toEqual({ lease_count: 1, leases: all.slice(0, 1) })
    expect(cut.body.warnings).toEqual([
      'Command halted because many irrevocable leases were found. To emit the entire list, re-run the command with force set true.',
    ])
  })

  test('cannot be renewed, and end with a revocation once the provider is repaired', async () => {
    const { server, ids } = await openWithIrrevocable()
    await using _ = server
    expect((await server.put('sys/leases/renew', { lease_id: ids[0] })).body).toEqual(
      refusal('lease is expired and has failed previous revocation attempts'),
    )
    server.provider.mood = 'up'

    expect((await server.put('sys/leases/revoke', { lease_id: ids[0] })).status).toBe(204)

    expect((await server.root.read('sys/leases/count?type=irrevocable')).body.data).toEqual({
      lease_count: 0,
      counts: {},
    })
  })

  test.each([
    { path: 'sys/leases/count', status: 404, errors: [] },
    { path: 'sys/leases', status: 404, errors: [] },
    { path: 'sys/leases/count?type=live', status: 404, errors: [] },
    {
      path: 'sys/leases?type=irrevocable&limit=0',
      status: 400,
      errors: ["limit must be 'none' or a positive integer"],
    },
    {
      path: 'sys/leases?type=irrevocable&limit=-1',
      status: 400,
      errors: ["limit must be 'none' or a positive integer"],
    },
  ])('$path is $status', async ({ path, status, errors }) => {
    const server = await unchanged()

    const answer = await server.root.read(path)

    expect([answer.status, answer.body]).toEqual([status, { errors }])
  })

  test('a limit that is not a number is refused', async () => {
    const server = await unchanged()

    const answer = await server.root.read('sys/leases?type=irrevocable&limit=abc')

    expect(answer.status).toBe(400)
    expect(answer.text).toContain("invalid 'limit' provided: ")
  })

  test('only the list requires sudo', async () => {
    const server = await unchanged()
    const { client } = await server.tokenWith('path "sys/leases*" { capabilities = ["read", "update"] }')

    expect((await client.read('sys/leases?type=irrevocable')).status).toBe(403)
    expect((await client.read('sys/leases/count?type=irrevocable')).status).toBe(200)
    expect((await client.write('sys/leases/tidy')).status).toBe(202)
  })
})

test('tidy is 202 with a warning', async () => {
  const server = await unchanged()

  const { status, body } = await server.root.write('sys/leases/tidy')

  expect(status).toBe(202)
  expect(body.data).toBeNull()
  expect(String(body.warnings)).toMatch(/^Tidy operation successfully started\./)
})

describe('leases end with', () => {
  test('their token, whose revocation does not wait for the provider', async () => {
    await using server = await openServer()
    const { client } = await server.tokenWith('path "engine/creds/ci" { capabilities = ["read"] }')
    const { credential } = await server.issue(client)
    server.provider.mood = 'down'

    expect((await client.write('auth/token/revoke-self')).status).toBe(204)

    await server.provider.deletions(1)
    expect(server.provider.alive.has(credential)).toBe(true)
  })

  test('their batch token', async () => {
    const server = await issuing()
    const { client } = await server.tokenWith('path "engine/creds/ci" { capabilities = ["read"] }', {
      type: 'batch',
      ttl: '5m',
    })

    const { body } = (await server.issue(client)).answer

    expect(body).toMatchObject({ lease_duration: 300, warnings: null })
  })

  test('the parent of their batch token, which is then refused', async () => {
    await using server = await openServer()
    const policy =
      'path "engine/creds/ci" { capabilities = ["read"] } path "auth/token/create" { capabilities = ["update"] }'
    const { client: parent } = await server.tokenWith(policy)
    const batch = server.as(
      String((await parent.write('auth/token/create', { type: 'batch', ttl: '5m' })).body.auth?.client_token),
    )
    const { credential } = await server.issue(batch)

    await parent.write('auth/token/revoke-self')

    await server.provider.gone(credential)
    expect((await batch.read('engine/creds/ci')).status).toBe(403)
  })

  test('all tokens of their entity, if those are revoked', async () => {
    await using server = await openServer()
    await server.root.write('sys/policies/acl/p', {
      policy: 'path "engine/creds/ci" { capabilities = ["read"] }',
    })
    await server.root.write('auth/token/roles/people', {
      allowed_policies: ['p'],
      allowed_entity_aliases: ['alice'],
    })
    const { body } = await server.root.write('auth/token/create/people', {
      policies: ['p'],
      entity_alias: 'alice',
    })
    const { credential } = await server.issue(server.as(String(body.auth?.client_token)))
    const { credential: others } = await server.issue()

    expect((await server.root.write(`identity/entity/id/${body.auth?.entity_id}/revoke-tokens`)).status).toBe(
      204,
    )

    await server.provider.gone(credential)
    expect([...server.provider.alive]).toEqual([others])
  })

  test('batch tokens of their entity, which are not stored, while later leases stay', async () => {
    await using server = await openServer()
    await server.root.write('sys/policies/acl/p', {
      policy: 'path "engine/creds/ci" { capabilities = ["read"] }',
    })
    const role = {
      allowed_policies: ['p'],
      allowed_entity_aliases: ['alice'],
      token_type: 'batch',
      orphan: true,
      renewable: false,
    }
    await server.root.write('auth/token/roles/people', role)
    const create = async () =>
      (await server.root.write('auth/token/create/people', { policies: ['p'], entity_alias: 'alice' })).body
        .auth
    const before = await create()
    const { id, credential } = await server.issue(server.as(String(before?.client_token)))
    expect(credential).toMatch(/^credential-/)

    expect((await server.root.write(`identity/entity/id/${before?.entity_id}/revoke-tokens`)).status).toBe(
      204,
    )

    expect((await server.put('sys/leases/renew', { lease_id: id })).status).toBe(400)
    const { credential: later } = await server.issue(server.as(String((await create())?.client_token)))
    await server.provider.gone(credential)
    expect([...server.provider.alive]).toEqual([later])
  })

  test.each([
    { name: 'deleted', end: (root: Client, path: string) => root.delete(path) },
    { name: 'disabled', end: (root: Client, path: string) => root.write(path, { disabled: true }) },
  ])('not with an entity that is $name', async ({ end }) => {
    const server = await issuing()
    await server.root.write('auth/token/roles/people', {
      allowed_policies: ['p'],
      allowed_entity_aliases: ['alice'],
    })
    await server.root.write('sys/policies/acl/p', {
      policy: 'path "engine/creds/ci" { capabilities = ["read"] }',
    })
    const { body } = await server.root.write('auth/token/create/people', {
      policies: ['p'],
      entity_alias: 'alice',
    })
    const { id } = await server.issue(server.as(String(body.auth?.client_token)))

    expect((await end(server.root, `identity/entity/id/${body.auth?.entity_id}`)).status).toBeLessThan(300)

    expect((await server.put('sys/leases/lookup', { lease_id: id })).body.data).toMatchObject({
      renewable: true,
      ttl: 3600,
    })
  })

  test('their mount, which stays while one of them cannot be revoked', async () => {
    await using server = await openServer()
    const { id } = await server.issue()
    server.provider.mood = 'down'

    const disabled = await server.root.delete('sys/mounts/engine')
    expect([disabled.status, disabled.body]).toEqual([
      400,
      refusal(`failed to revoke "${id}" (1 / 1): failed to revoke entry: the provider answered 503`),
    ])
    expect((await server.root.read('engine/creds/ci')).body).toEqual(
      refusal('no handler for route "engine/creds/ci" on namespace "". route entry or namespace is tainted.'),
    )
    expect((await server.root.read('sys/mounts')).body.data).toHaveProperty('engine/')
    expect((await server.put('sys/leases/renew', { lease_id: id })).body).toEqual(
      refusal('failed to renew entry: unsupported path'),
    )

    expect((await server.put('sys/leases/revoke-force/engine')).status).toBe(204)
    expect((await server.root.delete('sys/mounts/engine')).status).toBe(204)
    expect((await server.root.read('sys/mounts')).body.data).not.toHaveProperty('engine/')
  })

  test('their mount, once the provider is back and it is disabled again', async () => {
    await using server = await openServer()
    await server.issue()
    server.provider.mood = 'down'
    await server.root.delete('sys/mounts/engine')
    server.provider.mood = 'up'

    expect((await server.root.delete('sys/mounts/engine')).status).toBe(204)

    expect(server.provider.alive.size).toBe(0)
  })

  test('the move of their mount', async () => {
    await using server = await openServer()
    const { credential } = await server.issue()

    await server.root.write('sys/remount', { from: 'engine', to: 'moved' })

    await server.provider.gone(credential)
  })
})

describe('namespaces', () => {
  test('an id of another namespace is unknown in a path, and followed in a body', async () => {
    await using server = await openServer()
    for (const name of ['a', 'b']) await server.root.write(`sys/namespaces/${name}`)
    const inside = { headers: { 'X-Vault-Namespace': 'a' } }
    await server.root.write('sys/mounts/engine', { type: 'practice' }, inside)
    const issued = await server.root.read('engine/creds/ci', inside)
    const id = String(issued.body.lease_id)
    expect(id).toMatch(/^engine\/creds\/ci\/[0-9A-Za-z]{24}\.[0-9A-Za-z]{6}$/)

    expect((await server.root.list('sys/leases/lookup/engine')).status).toBe(404)
    expect((await server.put(`sys/leases/renew/${id}`)).body).toEqual(refusal('lease not found'))
    expect((await server.put('sys/leases/revoke-prefix/engine')).status).toBe(204)
    expect((await server.put(`sys/leases/revoke-prefix/${id}`)).status).toBe(204)
    expect((await server.put(`sys/leases/revoke-force/${id}`)).status).toBe(204)
    expect(server.provider.alive.size).toBe(1)
    expect((await server.put('sys/leases/lookup', { lease_id: id })).body.data).toMatchObject({
      id,
      path: 'engine/creds/ci',
      namespace_path: 'a/',
    })
    expect((await server.put('sys/leases/revoke', { lease_id: id })).status).toBe(204)
    expect(server.provider.alive.size).toBe(0)
  })

  test('a deleted namespace ends its leases', async () => {
    await using server = await openServer()
    await server.root.write('sys/namespaces/a')
    const inside = { headers: { 'X-Vault-Namespace': 'a' } }
    await server.root.write('sys/mounts/engine', { type: 'practice' }, inside)
    await server.root.read('engine/creds/ci', inside)
    const { credential } = await server.issue()

    await server.root.delete('sys/namespaces/a')

    await server.provider.deletions(1)
    expect([...server.provider.alive]).toEqual([credential])
  })
})
