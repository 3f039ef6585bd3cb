import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { shared } from '../../support/shared.ts'
import { startMachines, told } from './machines.ts'

/** Many of these tests send more wrong pairs than a role id may have. */
const settings = { TRUSTED_PROXIES: '127.0.0.1', USER_LOCKOUT: 'off' }
const machines = shared(() => startMachines({ settings }))
const mount = async () => (await machines()).mount()
const wrong = '400 invalid role or secret ID'

describe('a login', () => {
  test('gives a token of the role, with the metadata of the secret id', async () => {
    const at = await mount()
    await at.role('r', { token_policies: 'b,a', token_ttl: 600 })
    const { secretId } = await at.secretId('r', { metadata: '{"team":"shop","role_name":"x"}' })

    const first = await at.login({ roleId: 'r-id', secretId })
    const second = await at.login({ roleId: ' r-id\t', secretId: `${secretId}\n` })

    const metadata = { team: 'shop', role_name: 'r' }
    expect(first.body.auth).toMatchObject({
      metadata,
      policies: ['a', 'b', 'default'],
      token_policies: ['a', 'b', 'default'],
      lease_duration: 600,
      renewable: true,
      token_type: 'service',
      orphan: true,
      num_uses: 0,
    })
    expect(second.body.auth?.['entity_id']).toBe(first.body.auth?.['entity_id'])
    const { server } = await machines()
    const looked = await server.as(String(first.body.auth?.['client_token'])).read('auth/token/lookup-self')
    expect(looked.body.data).toMatchObject({
      display_name: at.path.replace('auth/', ''),
      path: `${at.path}/login`,
      meta: metadata,
    })
    const entity = await server.root.read(`identity/entity/id/${String(first.body.auth?.['entity_id'])}`)
    expect(entity.body.data?.['aliases']).toMatchObject([{ name: 'r-id', metadata, mount_type: 'approle' }])
  })

  test('is refused alike for every wrong pair', async () => {
    const at = await mount()
    await at.role('r')
    await at.role('two')
    const { secretId, accessor } = await at.secretId('r')
    const spent = await at.secretId('r', { num_uses: 1 })
    await at.login({ roleId: 'r-id', secretId: spent.secretId })
    const destroyed = await at.secretId('r')
    await at.at('role/r/secret-id/destroy').write({ secret_id: destroyed.secretId })
    const elsewhere = await mount()
    await elsewhere.role('r')

    const pairs = [
      { roleId: 'no', secretId },
      { roleId: 'no', secretId: 'x' },
      { roleId: 'no' },
      { roleId: 'r-id', secretId: 'x' },
      { roleId: 'R-ID', secretId },
      { roleId: 'r', secretId },
      { roleId: 'r-id', secretId: secretId.toUpperCase() },
      { roleId: 'r-id', secretId: accessor },
      { roleId: 'two-id', secretId },
      { roleId: 'r-id', secretId: spent.secretId },
      { roleId: 'r-id', secretId: destroyed.secretId },
      { roleId: 'r-id', secretId: 'x'.repeat(4096) },
      { roleId: 'r'.repeat(5000), secretId },
    ]
    for (const pair of pairs)
      expect({ ...pair, told: told(await at.login(pair)) }).toEqual({ ...pair, told: wrong })
    expect(told(await elsewhere.login({ roleId: 'r-id', secretId }))).toBe(wrong)
    expect(told(await at.login({ roleId: 'r-id', secretId }))).toBe('200 ok')
  })

  test('says what is missing', async () => {
    const at = await mount()
    await at.role('r')

    expect(told(await at.at('login').write({}))).toBe('400 missing role_id')
    expect(told(await at.login({ roleId: '  ', secretId: 'x' }))).toBe('400 missing role_id')
    expect(told(await at.login({ roleId: 'r-id' }))).toBe('400 missing secret_id')
    expect(told(await at.login({ roleId: 'r-id', secretId: ' \n' }))).toBe('400 missing secret_id')
  })

  // openbao#512: such a body ended the connection
  test.each([
    { body: { role_id: ['a'], secret_id: 'b' }, field: 'role_id' },
    { body: { role_id: { a: 1 }, secret_id: 'b' }, field: 'role_id' },
    { body: { role_id: 'r-id', secret_id: ['b'] }, field: 'secret_id' },
  ])('of $body is refused for its type', async ({ body, field }) => {
    const at = await mount()
    const { server } = await machines()

    const answer = await server.anonymous.write(`${at.path}/login`, body)

    expect(told(answer)).toMatch(
      new RegExp(`^400 Field validation failed: error converting input for field "${field}": `),
    )
  })

  test('takes a secret id that is too long for one that does not exist, only by its text', async () => {
    const at = await mount()
    await at.role('r')

    expect(told(await at.login({ roleId: 'r-id', secretId: 'x'.repeat(4097) }))).toBe(
      '400 failed to create HMAC of secret_id: value is longer than maximum of 4096 bytes',
    )
  })

  test('is a POST or PUT without a slash', async () => {
    const at = await mount()
    const { server } = await machines()
    const path = `${at.path}/login`

    expect(told(await server.anonymous.read(`${path}?role_id=r-id`))).toBe('405 unsupported operation')
    expect(told(await server.anonymous.delete(path))).toBe('405 unsupported operation')
    expect(told(await server.anonymous.list(path))).toBe('403 permission denied')
    expect(told(await server.anonymous.write(`${path}/`, {}))).toBe(
      "400 cannot write to a path ending in '/'",
    )
    expect((await server.anonymous.read(`${path}?help=1`)).status).toBe(200)
  })

  test('can be wrapped', async () => {
    const at = await mount()
    await at.role('r')
    const { secretId } = await at.secretId('r')
    const { server } = await machines()
    const pair = { role_id: 'r-id', secret_id: secretId }

    const wrapped = await server.anonymous.write(`${at.path}/login`, pair, {
      headers: { 'X-Vault-Wrap-TTL': '60' },
    })

    const token = wrapped.body.wrap_info?.['token']
    const { auth } = (await server.as(String(token)).write('sys/wrapping/unwrap')).body
    expect(auth).toMatchObject({ metadata: { role_name: 'r' } })
    expect(wrapped.body.wrap_info?.['wrapped_accessor']).toEqual(auth?.['accessor'])
  })

  test('with a role that needs no secret id does not look at one', async () => {
    const at = await mount()
    await at.role('r', { bind_secret_id: false, secret_id_bound_cidrs: '127.0.0.0/8' })

    expect(told(await at.login({ roleId: 'r-id' }))).toBe('200 ok')
    expect(told(await at.login({ roleId: 'r-id', secretId: 'junk' }))).toBe('200 ok')
  })

  test('never gives a root token, which uses up nothing', async () => {
    const at = await mount()
    await at.role('r', { token_policies: 'Root', secret_id_num_uses: 1 })
    const { secretId } = await at.secretId('r')

    const refused = await at.login({ roleId: 'r-id', secretId })
    await at.role('r', { token_policies: 'p' })

    expect(told(refused)).toBe('400 auth methods cannot create root tokens')
    expect(told(await at.login({ roleId: 'r-id', secretId }))).toBe('200 ok')
  })

  test('of a disabled entity is refused and uses up nothing', async () => {
    const at = await mount()
    await at.role('r', { secret_id_num_uses: 2 })
    const { secretId } = await at.secretId('r')
    const { root } = (await machines()).server
    const entity = (await at.login({ roleId: 'r-id', secretId })).body.auth?.['entity_id']

    await root.write(`identity/entity/id/${String(entity)}`, { disabled: true })
    const refused = await at.login({ roleId: 'r-id', secretId })
    await root.write(`identity/entity/id/${String(entity)}`, { disabled: false })

    expect(told(refused)).toBe('403 permission denied')
    expect(told(await at.login({ roleId: 'r-id', secretId }))).toBe('200 ok')
  })

  test('with a new role id gives another entity; secret ids and tokens stay', async () => {
    const at = await mount()
    await at.role('r')
    const { secretId } = await at.secretId('r')
    const before = (await at.login({ roleId: 'r-id', secretId })).body.auth

    await at.at('role/r/role-id').write({ role_id: 'other' })

    const after = (await at.login({ roleId: 'other', secretId })).body.auth
    expect(after?.['entity_id']).not.toBe(before?.['entity_id'])
    expect(told(await at.login({ roleId: 'r-id', secretId }))).toBe(wrong)
    const { server } = await machines()
    expect(told(await server.as(String(before?.['client_token'])).read('auth/token/lookup-self'))).toBe(
      '200 ok',
    )
  })

  // vault#3746
  test('makes one entity, whatever the number of first logins at once', async () => {
    const at = await mount()
    await at.role('r')
    const { secretId } = await at.secretId('r')

    const logins = await Promise.all(Array.from({ length: 50 }, () => at.login({ roleId: 'r-id', secretId })))

    expect(logins.map(told)).toEqual(Array(50).fill('200 ok'))
    expect(new Set(logins.map(({ body }) => body.auth?.['entity_id'])).size).toBe(1)
  })

  // CVE-2026-5006
  test.each(['a/b', '*', '+', 'a/../b', '..'])(
    'with the metadata %s opens no templated path',
    async (scope) => {
      const at = await mount()
      const { server } = await machines()
      const accessor = String((await server.root.read(`sys/${at.path}`)).body.data?.['accessor'])
      const path = `cubbyhole/{{identity.entity.aliases.${accessor}.metadata.scope}}/x`
      await server.root.write('sys/policies/acl/scoped', {
        policy: `path "${path}" { capabilities = ["create", "update"] }`,
      })
      await at.role('r', { token_policies: 'scoped', token_no_default_policy: true })
      const tokenOf = async (metadata: object) => {
        const { secretId } = await at.secretId('r', { metadata: JSON.stringify(metadata) })
        return server.as(String((await at.login({ roleId: 'r-id', secretId })).body.auth?.['client_token']))
      }

      expect(told(await (await tokenOf({ scope: 'a' })).write('cubbyhole/a/x', { k: 'v' }))).toBe('204 ok')
      const token = await tokenOf({ scope })
      for (const target of ['a', 'a/b', 'b', '*', '+'])
        expect(told(await token.write(`cubbyhole/${target}/x`, { k: 'v' }))).toBe('403 permission denied')
    },
  )
})

describe('the address of a login', () => {
  const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
  const login = async (path: string, secretId: string, address: string) => {
    const { server } = await machines()
    return told(
      await server.anonymous.write(`${path}/login`, { role_id: 'r-id', secret_id: secretId }, from(address)),
    )
  }

  test.each([
    { uses: 0, how: 'through' },
    { uses: 1, how: 'by' },
  ])('must be in the networks of a secret id with $uses uses, and costs none', async ({ uses, how }) => {
    const at = await mount()
    await at.role('r')
    const { secretId } = await at.secretId('r', { cidr_list: '10.1.0.0/16,fd00::/8', num_uses: uses })

    expect(await login(at.path, secretId, '10.2.0.1')).toBe(
      `400 source address "10.2.0.1" unauthorized ${how} CIDR restrictions on the secret ID`,
    )
    expect(await login(at.path, secretId, '10.1.2.3')).toBe('200 ok')
  })

  test('must be in the networks of the role', async () => {
    const at = await mount()
    await at.role('r', { secret_id_bound_cidrs: '10.0.0.0/8' })
    const { secretId } = await at.secretId('r')

    expect(await login(at.path, secretId, '11.0.0.1')).toBe(
      '400 source address "11.0.0.1" unauthorized by CIDR restrictions on the role',
    )
    expect(await login(at.path, secretId, '10.9.9.9')).toBe('200 ok')
  })

  test('does not help if the role was narrowed below the networks of the secret id', async () => {
    const at = await mount()
    await at.role('r', { secret_id_bound_cidrs: '10.0.0.0/8' })
    const { secretId } = await at.secretId('r', { cidr_list: '10.0.0.0/9' })
    await at.role('r', { secret_id_bound_cidrs: '10.0.0.0/16' })

    // also from an address outside of both
    for (const address of ['10.0.0.1', '11.0.0.1'])
      expect(await login(at.path, secretId, address)).toBe(
        '400 failed to verify subset relationship between CIDR blocks on the role ["10.0.0.0/16"] and CIDR blocks on the secret ID ["10.0.0.0/9"]',
      )
  })

  test("is not bound by the networks of its token; those of the secret id replace the role's", async () => {
    const at = await mount()
    await at.role('r', { token_bound_cidrs: '10.0.0.0/8' })
    const { server } = await machines()
    const tokenOf = async (secretId: string) =>
      server.as(String((await at.login({ roleId: 'r-id', secretId })).body.auth?.['client_token']))
    const plain = await tokenOf((await at.secretId('r')).secretId)
    const own = await tokenOf(
      (await at.secretId('r', { token_bound_cidrs: '10.1.0.0/16,10.2.0.1/32' })).secretId,
    )

    const lookup = (token: typeof own, address: string) => token.read('auth/token/lookup-self', from(address))
    expect(told(await lookup(plain, '127.0.0.1'))).toBe('403 permission denied')
    expect((await lookup(plain, '10.9.0.1')).body.data?.['bound_cidrs']).toEqual(['10.0.0.0/8'])
    expect(told(await lookup(own, '10.9.0.1'))).toBe('403 permission denied')
    expect((await lookup(own, '10.2.0.1')).body.data?.['bound_cidrs']).toEqual(['10.1.0.0/16', '10.2.0.1'])
  })
})

describe('the uses of a secret id', () => {
  test('are counted, and a lookup shows what is left', async () => {
    const at = await mount()
    await at.role('r', { secret_id_num_uses: 2 })
    const { secretId, accessor } = await at.secretId('r')
    await at.role('r', { secret_id_num_uses: 9 })
    const lookup = async () =>
      (await at.at('role/r/secret-id/lookup').write({ secret_id: secretId })).body?.data?.[
        'secret_id_num_uses'
      ]

    expect([await lookup(), told(await at.login({ roleId: 'r-id', secretId })), await lookup()]).toEqual([
      ...[2, '200 ok', 1],
    ])
    expect(told(await at.login({ roleId: 'r-id', secretId }))).toBe('200 ok')
    expect(told(await at.login({ roleId: 'r-id', secretId }))).toBe(wrong)
    expect(await lookup()).toBeUndefined()
    expect(
      (await at.at('role/r/secret-id-accessor/lookup').write({ secret_id_accessor: accessor })).status,
    ).toBe(404)
    expect(told(await at.at('role/r/secret-id').list())).toBe('404 ')
  })

  test.each([1, 20])('give exactly as many tokens, of 60 logins at once with %s', async (uses) => {
    const at = await mount()
    await at.role('r')
    const { secretId } = await at.secretId('r', { num_uses: uses })

    const logins = await Promise.all(Array.from({ length: 60 }, () => at.login({ roleId: 'r-id', secretId })))

    const counts = Map.groupBy(logins, told)
    expect(Object.fromEntries([...counts].map(([text, of]) => [text, of.length]))).toEqual({
      '200 ok': uses,
      [wrong]: 60 - uses,
    })
    expect(new Set(counts.get('200 ok')?.map(({ body }) => body.auth?.['client_token'])).size).toBe(uses)
  })

  test('give batch tokens in the same way', async () => {
    const at = await mount()
    await at.role('r', { token_type: 'batch' })
    const { secretId } = await at.secretId('r', { num_uses: 3 })

    const logins = await Promise.all(Array.from({ length: 10 }, () => at.login({ roleId: 'r-id', secretId })))

    expect(logins.filter(({ status }) => status === 200)).toHaveLength(3)
  })
})

describe('a renewal', () => {
  test('follows the role as it is now, with the policies of the login', async () => {
    const at = await mount()
    await at.role('r', { token_ttl: 600, token_policies: 'p1' })
    const { secretId } = await at.secretId('r')
    const { server } = await machines()
    const token = server.as(
      String((await at.login({ roleId: 'r-id', secretId })).body.auth?.['client_token']),
    )
    const renewed = async () => {
      const { auth } = (await token.write('auth/token/renew-self', {})).body
      return { ttl: auth?.['lease_duration'], policies: auth?.['policies'] }
    }

    await at.role('r', { token_ttl: 300, token_policies: 'p2' })
    const shorter = await renewed()
    await at.role('r', { token_period: '20m', role_id: 'other' })
    await at.at('role/r/secret-id/destroy').write({ secret_id: secretId })
    const periodic = await renewed()

    const policies = ['default', 'p1']
    expect([shorter, periodic]).toEqual([
      { ttl: 300, policies },
      { ttl: 1200, policies },
    ])
  })

  test('needs a role of that name', async () => {
    const at = await mount()
    await at.role('r', { token_ttl: 600 })
    const { secretId } = await at.secretId('r')
    const { server } = await machines()
    const token = server.as(
      String((await at.login({ roleId: 'r-id', secretId })).body.auth?.['client_token']),
    )
    await at.at('role/r').delete()

    expect(told(await token.write('auth/token/renew-self', {}))).toBe(
      '400 failed to renew entry: role "r" does not exist during renewal',
    )
    await at.role('r', { token_ttl: 60 })
    expect((await token.write('auth/token/renew-self', {})).body.auth?.['lease_duration']).toBe(60)
  })
})

testOfOneServer('a rate limit on a role counts the logins with its role id', async () => {
  const at = await mount()
  await at.role('r')
  await at.role('two')
  const { root } = (await machines()).server
  const rule = { path: at.path, role: 'r', rate: 2, interval: '1h' }

  expect(told(await root.write('sys/quotas/rate-limit/machines', rule))).toBe('204 ok')

  const login = async (roleId: string) => (await at.login({ roleId, secretId: 'x' })).status
  expect([await login('r-id'), await login(' r-id'), await login('r-id')]).toEqual([400, 400, 429])
  expect([await login('two-id'), await login('no'), await login('')]).toEqual([400, 400, 400])
  await root.delete('sys/quotas/rate-limit/machines')
})

testOfOneServer('a refused login is logged with its reason, without any id, and counted', async () => {
  const lines: { event?: string; reason?: string; role?: string }[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  await using own = await startMachines({ log, settings: { LOGIN_FAILURES: '3/1m' } })
  const at = await own.mount()
  await at.role('r')

  const refused = [
    { roleId: 'no-such-role-id', secretId: 'no-such-secret-id' },
    { roleId: 'r-id', secretId: 'no-such-secret-id' },
    { roleId: 'r-id' },
  ]
  for (const pair of refused) await at.login(pair)

  expect((await at.login({ roleId: 'r-id', secretId: 'x' })).status).toBe(429)
  const reasons = lines.flatMap(({ event, reason, role }) =>
    event === 'login_refused' ? [{ reason, role }] : [],
  )
  expect(reasons).toEqual([
    { reason: 'role_unknown', role: '' },
    { reason: 'secret_id_unknown', role: 'r' },
    { reason: 'secret_id_missing', role: 'r' },
  ])
  expect(JSON.stringify(lines)).not.toMatch(/no-such|r-id/)
  const metrics = (await own.server.root.read('/metrics')).text
  expect(metrics).toMatch(
    /gatehouse_logins_total\{mount="auth\/machines1\/",method="approle",kind="login",result="refused",reason="role_unknown"\} 1/,
  )
})

describe('a role id', () => {
  const locking = shared(() => startMachines())

  testOfOneServer.each([
    { who: 'of a role', roleId: 'r-id' },
    { who: 'that no role has', roleId: 'nobody' },
  ])('$who is locked after five wrong pairs, other ids are not', async ({ roleId }) => {
    const at = await (await locking()).mount()
    await at.role('r')
    await at.role('two')
    const { secretId } = await at.secretId('r')
    const other = await at.secretId('two')

    const answers: string[] = []
    for (let tries = 0; tries < 8; tries++) answers.push(told(await at.login({ roleId, secretId: 'x' })))

    expect(answers).toEqual([...Array(5).fill(wrong), ...Array(3).fill('403 permission denied')])
    expect(told(await at.login({ roleId: ` ${roleId}`, secretId }))).toBe('403 permission denied')
    expect(told(await at.login({ roleId }))).toBe('403 permission denied')
    expect(told(await at.login({ roleId: 'two-id', secretId: other.secretId }))).toBe('200 ok')
  })

  test('is not locked by missing ids, refused addresses and wrong types', async () => {
    const at = await (await locking()).mount()
    await at.role('r')
    const { secretId } = await at.secretId('r')
    const far = await at.secretId('r', { cidr_list: '10.0.0.0/8' })

    for (let tries = 0; tries < 6; tries++) {
      await at.login({ roleId: 'r-id' })
      await at.login({ roleId: 'r-id', secretId: far.secretId })
      await at.at('login').write({ role_id: 'r-id', secret_id: {} })
    }

    expect(told(await at.login({ roleId: 'r-id', secretId }))).toBe('200 ok')
  })

  testOfOneServer('is locked by secret ids that were right once', async () => {
    const at = await (await locking()).mount()
    await at.role('r')
    const { secretId } = await at.secretId('r')
    const spent = (await at.secretId('r', { num_uses: 1 })).secretId
    await at.login({ roleId: 'r-id', secretId: spent })

    for (let tries = 0; tries < 5; tries++)
      expect(told(await at.login({ roleId: 'r-id', secretId: spent }))).toBe(wrong)

    expect(told(await at.login({ roleId: 'r-id', secretId }))).toBe('403 permission denied')
  })

  test('begins anew after a login', async () => {
    const at = await (await locking()).mount()
    await at.role('r', { token_type: 'batch' })
    const { secretId } = await at.secretId('r')

    for (let round = 0; round < 3; round++) {
      for (let tries = 0; tries < 4; tries++) await at.login({ roleId: 'r-id', secretId: 'x' })
      expect(told(await at.login({ roleId: 'r-id', secretId }))).toBe('200 ok')
    }
  })

  testOfOneServer('is listed while it is locked, and can be unlocked', async () => {
    const { server, mount: newMount } = await locking()
    const at = await newMount()
    await at.at('role/r').write({ role_id: 'a/b' })
    const { secretId } = await at.secretId('r')
    for (let tries = 0; tries < 5; tries++) await at.login({ roleId: 'a/b', secretId: 'x' })
    const accessor = String((await server.root.read(`sys/${at.path}`)).body.data?.['accessor'])

    const listed = await server.root.read(`sys/locked-users?mount_accessor=${accessor}`)
    await server.root.write(`sys/locked-users/${accessor}/unlock/a/b`)

    expect(listed.body.data?.['by_namespace']).toMatchObject([
      { mount_accessors: [{ mount_accessor: accessor, counts: 1, alias_identifiers: ['a/b'] }] },
    ])
    expect(told(await at.login({ roleId: 'a/b', secretId }))).toBe('200 ok')
  })
})
