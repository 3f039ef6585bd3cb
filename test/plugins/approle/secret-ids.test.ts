import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startMachines, told } from './machines.ts'

const machines = shared(() => startMachines())
const mount = async () => (await machines()).mount()

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const noAccessor = (accessor: string) => `failed to find accessor entry for secret_id_accessor: "${accessor}"`

describe('a new secret id', () => {
  test('is a UUID with an accessor, and a lookup shows all but the secret', async () => {
    const at = await mount()
    await at.role('r')
    const fields = {
      metadata: '{"a":"b","n":"1"}',
      cidr_list: '127.0.0.1/32,10.0.0.0/8',
      token_bound_cidrs: ['127.0.0.1/32'],
      num_uses: 5,
      ttl: '1h',
    }

    const { data } = (await at.at('role/r/secret-id').write(fields)).body

    expect(data).toEqual({
      secret_id: expect.stringMatching(uuid),
      secret_id_accessor: expect.stringMatching(uuid),
      secret_id_num_uses: 5,
      secret_id_ttl: 3600,
    })
    const { secret_id, secret_id_accessor } = data ?? {}
    const shown = (await at.at('role/r/secret-id/lookup').write({ secret_id })).body.data
    const { creation_time, expiration_time, last_updated_time, ...rest } = shown ?? {}
    expect(rest).toEqual({
      secret_id_accessor,
      secret_id_num_uses: 5,
      secret_id_ttl: 3600,
      metadata: { a: 'b', n: '1' },
      cidr_list: ['127.0.0.1/32', '10.0.0.0/8'],
      token_bound_cidrs: ['127.0.0.1/32'],
    })
    expect(Date.parse(String(expiration_time)) - Date.parse(String(creation_time))).toBe(3_600_000)
    expect(last_updated_time).toEqual(creation_time)
    const byAccessor = await at.at('role/r/secret-id-accessor/lookup').write({ secret_id_accessor })
    expect(byAccessor.body.data).toEqual(shown)
  })

  test('keeps metadata with the key __proto__', async () => {
    const at = await mount()
    await at.role('r')
    const metadata = '{"__proto__":"a","b":"c"}'
    const { secretId } = await at.secretId('r', { metadata })

    const { data } = (await at.at('role/r/secret-id/lookup').write({ secret_id: secretId })).body

    expect(JSON.stringify(data?.['metadata'])).toBe(metadata)
  })

  test('without limits never ends, and has empty metadata', async () => {
    const at = await mount()
    await at.role('r')
    const { secretId } = await at.secretId('r')

    const { data } = (await at.at('role/r/secret-id/lookup').write({ secret_id: secretId })).body

    expect(data).toMatchObject({
      expiration_time: '0001-01-01T00:00:00Z',
      metadata: {},
      cidr_list: [],
      token_bound_cidrs: [],
      secret_id_num_uses: 0,
      secret_id_ttl: 0,
    })
  })

  test.each([
    { fields: {}, uses: 3, ttl: 3600 },
    { fields: { num_uses: 1, ttl: '30m' }, uses: 1, ttl: 1800 },
    { fields: { num_uses: 3, ttl: 3600 }, uses: 3, ttl: 3600 },
    { fields: { ttl: null }, uses: 3, ttl: 3600 },
  ])('takes $fields within the limits of its role', async ({ fields, uses, ttl }) => {
    const at = await mount()
    await at.role('r', { secret_id_num_uses: 3, secret_id_ttl: '1h' })

    const { data } = (await at.at('role/r/secret-id').write(fields)).body

    expect(data).toMatchObject({ secret_id_num_uses: uses, secret_id_ttl: ttl })
  })

  test.each([
    { fields: { num_uses: 0 }, text: "num_uses cannot be higher than the role's secret_id_num_uses" },
    { fields: { num_uses: 4 }, text: "num_uses cannot be higher than the role's secret_id_num_uses" },
    { fields: { num_uses: null }, text: "num_uses cannot be higher than the role's secret_id_num_uses" },
    { fields: { num_uses: -1 }, text: 'num_uses cannot be negative' },
    { fields: { ttl: 0 }, text: "ttl cannot be longer than the role's secret_id_ttl" },
    { fields: { ttl: '' }, text: "ttl cannot be longer than the role's secret_id_ttl" },
    { fields: { ttl: '2h' }, text: "ttl cannot be longer than the role's secret_id_ttl" },
    {
      fields: { cidr_list: '1.2.3.4' },
      text: 'failed to validate CIDR blocks: invalid CIDR address: 1.2.3.4',
    },
    {
      fields: { token_bound_cidrs: 'x' },
      text: 'failed to validate token CIDR blocks: invalid CIDR address: x',
    },
    {
      fields: { cidr_list: '10.0.0.0/8' },
      text: 'failed to verify subset relationship between CIDR blocks on the role ["127.0.0.0/8" "10.1.0.0/16"] and CIDR blocks on the secret ID ["10.0.0.0/8"]',
    },
    {
      fields: { cidr_list: 'fe80::1%eth0/64' },
      text: 'failed to validate CIDR blocks: invalid CIDR address: fe80::1%eth0/64',
    },
    {
      fields: { token_bound_cidrs: '127.0.0.2/32' },
      text: 'failed to verify subset relationship between CIDR blocks on the role ["127.0.0.1/32"] and CIDR blocks on the secret ID ["127.0.0.2/32"]',
    },
    {
      fields: { metadata: 'x' },
      text: 'failed to parse metadata: failed to parse the input: invalid <key,value> format',
    },
    // of several, the first in the order of the contract
    {
      fields: { cidr_list: 'x', token_bound_cidrs: 'x', num_uses: -1, ttl: 0, metadata: 'x' },
      text: 'failed to validate CIDR blocks: invalid CIDR address: x',
    },
    {
      fields: { cidr_list: '10.0.0.0/8', token_bound_cidrs: 'x', num_uses: -1 },
      text: 'failed to verify subset relationship between CIDR blocks on the role ["127.0.0.0/8" "10.1.0.0/16"] and CIDR blocks on the secret ID ["10.0.0.0/8"]',
    },
    {
      fields: { token_bound_cidrs: 'x', num_uses: -1, ttl: 0, metadata: 'x' },
      text: 'failed to validate token CIDR blocks: invalid CIDR address: x',
    },
    { fields: { num_uses: -1, ttl: 0, metadata: 'x' }, text: 'num_uses cannot be negative' },
    { fields: { ttl: 0, metadata: 'x' }, text: "ttl cannot be longer than the role's secret_id_ttl" },
  ])('refuses $fields', async ({ fields, text }) => {
    const at = await mount()
    await at.role('r', {
      secret_id_num_uses: 3,
      secret_id_ttl: '1h',
      token_bound_cidrs: '127.0.0.1/32',
      secret_id_bound_cidrs: '127.0.0.0/8,10.1.0.0/16',
    })

    expect(told(await at.at('role/r/secret-id').write(fields))).toBe(`400 ${text}`)
    expect(told(await at.at('role/r/secret-id').list())).toBe('404 ')
  })

  test('lives no longer than the maximum of its mount', async () => {
    const at = await mount()
    await (await machines()).server.root.write(`sys/${at.path}/tune`, {
      max_lease_ttl: '2h',
      default_lease_ttl: '1h',
    })
    await at.role('r')

    const { data } = (await at.at('role/r/secret-id').write({ ttl: '9h' })).body

    expect(data).toMatchObject({ secret_id_ttl: 7200 })
    const shown = (await at.at('role/r/secret-id/lookup').write({ secret_id: data?.['secret_id'] })).body.data
    const { creation_time, expiration_time, secret_id_ttl } = shown ?? {}
    expect(secret_id_ttl).toBe(32_400)
    expect(Date.parse(String(expiration_time)) - Date.parse(String(creation_time))).toBe(7_200_000)
  })

  test.each<{ metadata: unknown; kept: object }>([
    ...['', '{}', null, 'e30='].map((metadata) => ({ metadata, kept: {} })),
    { metadata: 'a=b,c = d', kept: { a: 'b', c: 'd' } },
    { metadata: '{"a":"b"}', kept: { a: 'b' } },
    { metadata: Buffer.from('{"a":"b"}').toString('base64'), kept: { a: 'b' } },
    { metadata: Buffer.from('a=b').toString('base64'), kept: { a: 'b' } },
  ])('reads the metadata $metadata', async ({ metadata, kept }) => {
    const at = await mount()
    await at.role('r')
    const { secretId } = await at.secretId('r', { metadata })

    expect(
      (await at.at('role/r/secret-id/lookup').write({ secret_id: secretId })).body.data?.['metadata'],
    ).toEqual(kept)
  })

  test.each([
    ...['x', 'a=b=c', '{"a":1}', '["a"]'].map((metadata) => ({
      metadata,
      text: 'failed to parse metadata: failed to parse the input: invalid <key,value> format',
    })),
    {
      metadata: 'a=',
      text: 'failed to parse metadata: failed to parse the input: invalid <key,value> pair: key: "a" value: ""',
    },
    { metadata: '{"a":""}', text: 'failed to parse metadata: invalid value for key "a"' },
    {
      metadata: { a: 'b' },
      text: `Field validation failed: error converting input for field "metadata": '' expected type 'string', got unconvertible type 'map[string]interface {}'`,
    },
  ])('refuses the metadata $metadata', async ({ metadata, text }) => {
    const at = await mount()
    await at.role('r')

    expect(told(await at.at('role/r/secret-id').write({ metadata }))).toBe(`400 ${text}`)
  })

  test('ignores unknown fields and a role name in the body, with warnings', async () => {
    const at = await mount()
    await at.role('r')

    const { status, body } = await at.at('role/r/secret-id').write({ role_name: 'x', zzz: 1, secret_id: 's' })

    expect(status).toBe(200)
    expect(body.warnings).toEqual([
      'Endpoint ignored these unrecognized parameters: [secret_id zzz]',
      "Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [role_name]",
    ])
  })

  test('is not made for a role that needs none, or that does not exist', async () => {
    const at = await mount()
    await at.role('r', { bind_secret_id: false, secret_id_bound_cidrs: '127.0.0.0/8' })

    for (const path of ['secret-id', 'custom-secret-id']) {
      const body = { secret_id: 's', cidr_list: 'x' }
      expect(told(await at.at(`role/r/${path}`).write(body))).toBe(
        '400 bind_secret_id is not set on the role',
      )
      expect(told(await at.at(`role/no/${path}`).write(body))).toBe('404 role "no" does not exist')
    }
  })

  test('may be chosen, once in each role', async () => {
    const at = await mount()
    await at.role('r')
    await at.role('two')
    const custom = (role: string, secret_id: unknown, fields: object = {}) =>
      at.at(`role/${role}/custom-secret-id`).write({ secret_id, ...fields })

    expect((await custom('r', 'mine')).body.data?.['secret_id']).toBe('mine')

    expect(told(await custom('r', 'mine'))).toBe(
      '400 failed to store secret_id: SecretID is already registered',
    )
    expect(told(await custom('two', 'mine'))).toBe('200 ok')
    expect(told(await custom('r', ''))).toBe('400 missing secret_id')
    expect(told(await custom('r', ' mine'))).toBe('400 secret_id cannot begin or end with white space')
    expect(told(await custom('r', 'c'.repeat(4096)))).toBe('200 ok')
    const tooLong = 'failed to create HMAC of secret ID: value is longer than maximum of 4096 bytes'
    expect(told(await custom('r', 'c'.repeat(4097)))).toBe(`400 failed to store secret_id: ${tooLong}`)
    expect(told(await custom('r', 'c'.repeat(4097), { num_uses: -1 }))).toBe(
      '400 num_uses cannot be negative',
    )
    expect(told(await at.login({ roleId: 'r-id', secretId: 'mine' }))).toBe('200 ok')
  })

  test('is stored once by several requests that choose the same', async () => {
    const at = await mount()
    await at.role('r')

    const answers = await Promise.all(
      Array.from({ length: 5 }, () => at.at('role/r/custom-secret-id').write({ secret_id: 'same' })),
    )

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400])
    expect((await at.at('role/r/secret-id').list()).body.data?.['keys']).toHaveLength(1)
  })

  test('in a wrapped response shows its accessor beside the wrapping token', async () => {
    const at = await mount()
    await at.role('r')
    const { root } = (await machines()).server
    const headers = { 'X-Vault-Wrap-TTL': '120' }

    const { body } = await root.write(`${at.path}/role/r/secret-id`, {}, { headers })
    const plain = await root.read(`${at.path}/role/r/role-id`, { headers })

    const accessor = body.wrap_info?.['wrapped_accessor']
    const unwrapped = await root.write('sys/wrapping/unwrap', { token: body.wrap_info?.['token'] })
    expect(unwrapped.body.data?.['secret_id_accessor']).toBe(accessor)
    expect(accessor).toMatch(uuid)
    expect(Object.keys(plain.body.wrap_info ?? {})).not.toContain('wrapped_accessor')
    expect(
      told(await at.at('role/r/secret-id-accessor/lookup').write({ secret_id_accessor: accessor })),
    ).toBe('200 ok')
  })
})

describe('a secret id that is not there', () => {
  test('is looked up and destroyed without a complaint, but not by its accessor', async () => {
    const at = await mount()
    await at.role('r')
    const sid = { secret_id: 'no' }
    const accessor = { secret_id_accessor: 'no' }
    const { root } = (await machines()).server

    expect(told(await at.at('role/r/secret-id/lookup').write(sid))).toBe('204 ok')
    expect(told(await at.at('role/r/secret-id/destroy').write(sid))).toBe('204 ok')
    expect(told(await root.delete(`${at.path}/role/r/secret-id/destroy?secret_id=no`))).toBe('204 ok')
    const { status, body } = await at.at('role/r/secret-id-accessor/lookup').write(accessor)
    expect({ status, error: body.data?.['error'], keys: Object.keys(body).includes('errors') }).toEqual({
      status: 404,
      error: noAccessor('no'),
      keys: false,
    })
    expect(told(await at.at('role/r/secret-id-accessor/destroy').write(accessor))).toBe(
      `400 ${noAccessor('no')}`,
    )
    const tooLong = { secret_id: 'x'.repeat(4097) }
    const text = '400 failed to create HMAC of secret_id: value is longer than maximum of 4096 bytes'
    expect(told(await at.at('role/r/secret-id/lookup').write(tooLong))).toBe(text)
    expect(told(await at.at('role/r/secret-id/destroy').write(tooLong))).toBe(text)
  })

  test.each([
    { path: 'secret-id/lookup', field: 'secret_id', unknown: '400 role "no" does not exist' },
    { path: 'secret-id/destroy', field: 'secret_id', unknown: '400 role "no" does not exist' },
    {
      path: 'secret-id-accessor/lookup',
      field: 'secret_id_accessor',
      unknown: '500 role "no" does not exist',
    },
    {
      path: 'secret-id-accessor/destroy',
      field: 'secret_id_accessor',
      unknown: '400 role "no" does not exist',
    },
  ])('$path wants its field first, then the role', async ({ path, field, unknown }) => {
    const at = await mount()

    expect(told(await at.at(`role/no/${path}`).write({}))).toBe(`400 missing ${field}`)
    expect(told(await at.at(`role/no/${path}`).write({ [field]: 'x' }))).toBe(unknown)
    expect(told(await at.at(`role/no/${path}`).list())).toBe('405 unsupported operation')
  })

  test('below an unknown role is a 500 that nobody has to look at', async () => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
    await using server = await startTestServer({ log })
    await server.root.write('sys/auth/approle', { type: 'approle' })
    const before = lines.length

    const { status } = await server.root.write('auth/approle/role/no/secret-id-accessor/lookup', {
      secret_id_accessor: 'x',
    })

    expect(status).toBe(500)
    expect(lines.slice(before)).toEqual([])
  })

  test('below an unknown role has no list', async () => {
    const at = await mount()

    expect(told(await at.at('role/no/secret-id').list())).toBe('400 role "no" does not exist')
  })

  test('nothing is trimmed, and an accessor is no secret id', async () => {
    const at = await mount()
    await at.role('r')
    const { secretId, accessor } = await at.secretId('r')

    const lookup = async (secret_id: string) =>
      told(await at.at('role/r/secret-id/lookup').write({ secret_id }))
    expect([await lookup(secretId), await lookup(` ${secretId}`), await lookup(accessor)]).toEqual([
      ...['200 ok', '204 ok', '204 ok'],
    ])
  })
})

describe('the secret ids of a role', () => {
  // CVE-2023-24999
  test('cannot be seen or destroyed below another role', async () => {
    const at = await mount()
    await at.role('r')
    await at.role('other')
    const { secretId, accessor } = await at.secretId('r')
    const { root } = (await machines()).server
    const other = (path: string, body: object) => at.at(`role/other/${path}`).write(body)
    const bySecret = { secret_id: secretId }
    const byAccessor = { secret_id_accessor: accessor }

    expect(told(await other('secret-id/lookup', bySecret))).toBe('204 ok')
    expect(told(await other('secret-id/destroy', bySecret))).toBe('204 ok')
    expect(told(await other('secret-id-accessor/lookup', byAccessor))).toBe('204 ok')
    const foreign = '403 invalid secret id accessor'
    expect(told(await other('secret-id-accessor/destroy', byAccessor))).toBe(foreign)
    const query = `role/other/secret-id-accessor/destroy?secret_id_accessor=${accessor}`
    expect(told(await root.delete(`${at.path}/${query}`))).toBe(foreign)
    expect(told(await at.login({ roleId: 'r-id', secretId }))).toBe('200 ok')
  })

  test('are listed by accessor, page by page, also after one that is gone', async () => {
    const at = await mount()
    await at.role('r')
    const made: string[] = []
    for (let count = 0; count < 7; count++) made.push((await at.secretId('r')).accessor)

    const list = async (query: string) =>
      ((await at.at(`role/r/secret-id?${query}`).list()).body.data?.['keys'] ?? []) as unknown as string[]
    const all = await list('')
    const first = await list('limit=3')
    await at.at('role/r/secret-id-accessor/destroy').write({ secret_id_accessor: first[2] })
    const rest = await list(`after=${first[2]}`)

    expect(all.toSorted()).toEqual(made.toSorted())
    expect([...first, ...rest]).toEqual(all)
  })

  test.each(['memory', 'sqlite'])('are listed once each if there are many, stored in %s', async (kind) => {
    await using folder = await temporaryFolder()
    const file = folder.file('store.db')
    const settings: Record<string, string> =
      kind === 'memory' ? {} : { STORAGE: `sqlite:${file}`, SEAL_KEY_FILE: `${file}.key` }
    await using many = await startMachines({ settings })
    const at = await many.mount()
    await at.role('r')
    const made: string[] = []
    for (let left = 700; left > 0; left -= 100)
      made.push(
        ...(await Promise.all(Array.from({ length: 100 }, async () => (await at.secretId('r')).accessor))),
      )

    const list = async (query: string) =>
      ((await at.at(`role/r/secret-id${query}`).list()).body.data?.['keys'] ?? []) as unknown as string[]
    const all = await list('')

    expect(all.toSorted()).toEqual(made.toSorted())
    expect(await list('?limit=650')).toEqual(all.slice(0, 650))
    expect(await list(`?after=${all[20]}`)).toEqual(all.slice(21))
  })

  test('end with their role; one of the same name and role id has none of them', async () => {
    const at = await mount()
    await at.role('r')
    const { secretId, accessor } = await at.secretId('r')
    const token = String((await at.login({ roleId: 'r-id', secretId })).body.auth?.['client_token'])

    await at.at('role/R').delete()
    await at.role('r')

    expect(told(await at.login({ roleId: 'r-id', secretId }))).toBe('400 invalid role or secret ID')
    expect(told(await at.at('role/r/secret-id').list())).toBe('404 ')
    expect(told(await at.at('role/r/secret-id/lookup').write({ secret_id: secretId }))).toBe('204 ok')
    expect(
      told(await at.at('role/r/secret-id-accessor/lookup').write({ secret_id_accessor: accessor })),
    ).toBe('204 ok')
    const { as } = (await machines()).server
    expect(told(await as(token).read('auth/token/lookup-self'))).toBe('200 ok')
    expect(told(await at.at('role/r/custom-secret-id').write({ secret_id: secretId }))).toBe('200 ok')
  })
})

describe('a secret id that has ended', () => {
  const timed = shared(async () => {
    const clock = new FakeClock()
    const own = await startMachines({ clock, settings: { BACKGROUND: 'off' } })
    return { ...own, clock, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() }
  })

  test('is as if it had been destroyed, from that moment on', async () => {
    const { mount: own, clock } = await timed()
    const at = await own()
    await at.role('r')
    const { accessor } = await at.secretId('r', { ttl: '1m' })
    await at.at('role/r/custom-secret-id').write({ secret_id: 'mine', ttl: '1m', num_uses: 1 })
    const login = () => at.login({ roleId: 'r-id', secretId: 'mine' })

    clock.advance(59.999)
    expect((await at.at('role/r/secret-id').list()).body.data?.['keys']).toHaveLength(2)
    clock.advance(0.001)

    expect(told(await login())).toBe('400 invalid role or secret ID')
    expect(told(await at.at('role/r/secret-id').list())).toBe('404 ')
    expect(told(await at.at('role/r/secret-id/lookup').write({ secret_id: 'mine' }))).toBe('204 ok')
    expect(
      (await at.at('role/r/secret-id-accessor/lookup').write({ secret_id_accessor: accessor })).status,
    ).toBe(404)
    expect(told(await at.at('role/r/custom-secret-id').write({ secret_id: 'mine', ttl: '1m' }))).toBe(
      '200 ok',
    )
    expect(told(await login())).toBe('200 ok')
    expect((await at.at('role/r/secret-id').list()).body.data?.['keys']).toHaveLength(1)
  })

  test('is removed by a tidy, which runs in the background', async () => {
    const { mount: own } = await timed()
    const at = await own()

    const { status, body } = await at.at('tidy/secret-id').write()

    expect({ status, warnings: body.warnings }).toEqual({
      status: 202,
      warnings: [
        "Tidy operation successfully started. Any information from the operation will be printed to Gatehouse's server logs.",
      ],
    })
  })
})
