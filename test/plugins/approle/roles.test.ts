import { describe, expect, test } from 'vitest'
import { shared } from '../../support/shared.ts'
import { startMachines, told } from './machines.ts'

const machines = shared(() => startMachines())
const mount = async () => (await machines()).mount()

const fresh = {
  bind_secret_id: true,
  local_secret_ids: false,
  secret_id_bound_cidrs: null,
  secret_id_num_uses: 0,
  secret_id_ttl: 0,
  token_bound_cidrs: [],
  token_explicit_max_ttl: 0,
  token_max_ttl: 0,
  token_no_default_policy: false,
  token_num_uses: 0,
  token_period: 0,
  token_strictly_bind_ip: false,
  token_policies: [],
  token_ttl: 0,
  token_type: 'default',
}

describe('a role', () => {
  test('shows every field after an empty write, and nothing else', async () => {
    const at = await mount()

    expect(told(await at.at('role/r').write({}))).toBe('204 ok')

    expect((await at.at('role/r').read()).body.data).toEqual(fresh)
  })

  test('ignores fields that it does not know, without a warning', async () => {
    const at = await mount()

    expect(told(await at.at('role/r').write({ zzz: 1 }))).toBe('204 ok')

    expect((await at.at('role/r').read()).body.data).toEqual(fresh)
  })

  test('is listed by name, page by page', async () => {
    const at = await mount()
    const { root } = (await machines()).server
    for (const name of ['C', 'a', 'b']) await root.call('PUT', `${at.path}/role/${name}`, {})
    const keys = async (query: string) => (await at.at(`role?${query}`).list()).body.data?.['keys']

    expect([await keys(''), await keys('limit=2'), await keys('after=a'), await keys('after=c')]).toEqual([
      ...[['a', 'b', 'c'], ['a', 'b'], ['b', 'c'], undefined],
    ])
  })

  test('belongs to a mount whose accessor names the type', async () => {
    const at = await mount()
    const { root } = (await machines()).server

    expect((await root.read(`sys/${at.path}`)).body.data?.['accessor']).toMatch(/^auth_approle_[0-9a-f]{8}$/)
  })

  test('that is unknown is 404, in a list too, and its deletion 204', async () => {
    const at = await mount()

    expect(told(await at.at('role/r').read())).toBe('404 ')
    expect(told(await at.at('role').list())).toBe('404 ')
    expect(told(await at.at('role/r').delete())).toBe('204 ok')
  })

  test('has one name, in any spelling, on every path', async () => {
    const at = await mount()
    await at.at('role/MyRole').write({ role_id: 'rid' })

    await at.at('role/MYROLE').write({ token_ttl: 60 })

    expect((await at.at('role').list()).body.data).toEqual({ keys: ['myrole'] })
    expect((await at.at('role/myRole/token-ttl').read()).body.data).toEqual({ token_ttl: 60 })
    expect((await at.at('role/MyRole/role-id').read()).body.data).toEqual({ role_id: 'rid' })
    const { secretId } = await at.secretId('MYrole')
    const login = await at.login({ roleId: 'rid', secretId })
    expect(login.body.auth?.['metadata']).toEqual({ role_name: 'myrole' })
  })

  test('keeps the rules of its name in other spellings of a path', async () => {
    const at = await mount()
    await at.role('r')
    const { root, as } = (await machines()).server
    const policy = `path "${at.path}/*" { capabilities = ["read"] }\npath "${at.path}/role/r/role-id" { capabilities = ["deny"] }`
    await root.write('sys/policies/acl/all-but-one', { policy })
    const { body } = await root.write('auth/token/create', { policies: ['all-but-one'] })

    const asked = as(String(body.auth?.['client_token']))

    expect(told(await asked.read(`${at.path}/role/r/role-id`))).toBe('403 permission denied')
    expect(told(await asked.read(`${at.path}/role/R/role-id`))).toBe('403 permission denied')
    expect(told(await asked.read(`${at.path}/role/R`))).toBe('200 ok')
  })

  test('needs create for a new role and update for all that exists, below it too', async () => {
    const at = await mount()
    await at.role('r')
    const { root, as } = (await machines()).server
    const holder = async (capability: string) => {
      const policy = `path "${at.path}/*" { capabilities = ["${capability}"] }`
      await root.write(`sys/policies/acl/can-${capability}`, { policy })
      const { body } = await root.write('auth/token/create', { policies: [`can-${capability}`] })
      return as(String(body.auth?.['client_token']))
    }
    const statuses = async (capability: string) => {
      const caller = await holder(capability)
      const below = ['role/r', 'role/r/token-ttl', 'role/r/secret-id', 'tidy/secret-id', `role/${capability}`]
      const answers = []
      for (const path of below) answers.push(await caller.write(`${at.path}/${path}`, { token_ttl: 60 }))
      return answers.map(({ status }) => (status === 200 || status === 202 ? 204 : status))
    }

    expect(await statuses('create')).toEqual([403, 403, 403, 403, 204])
    expect(await statuses('update')).toEqual([204, 204, 204, 204, 403])
    expect((await (await holder('update')).list(`${at.path}/role`)).status).toBe(403)
    expect((await (await holder('list')).list(`${at.path}/role`)).status).toBe(200)
    expect((await (await holder('update')).delete(`${at.path}/role/r`)).status).toBe(403)
    expect((await (await holder('delete')).delete(`${at.path}/role/r`)).status).toBe(204)
  })

  test.each(['a.b', 'a-b', 'A_B', '0', 'a..b'])('can be called %s', async (name) => {
    const at = await mount()

    expect(told(await at.at(`role/${name}`).write({}))).toBe('204 ok')
  })

  test.each(['-a', 'a-', '.a', 'a.', 'a%20b', 'a/b', '%C3%BC', 'a@b'])(
    'cannot be called %s',
    async (name) => {
      const at = await mount()

      expect(told(await at.at(`role/${name}`).write({}))).toBe('404 unsupported path')
    },
  )

  test('with a name of 4096 bytes is listed, changed and deleted', async () => {
    const at = await mount()
    const [one, two] = ['a', 'b'].map((end) => 'a'.repeat(4095) + end)
    for (const name of [one, two, 'short'])
      await at.at(`role/${name}`).write({ role_id: `id-${name?.at(-1)}` })

    await at.at(`role/${two}`).write({ token_ttl: 60 })

    expect((await at.at('role').list()).body.data).toEqual({ keys: [one, two, 'short'] })
    expect((await at.at(`role/${one}/token-ttl`).read()).body.data).toEqual({ token_ttl: 0 })
    expect((await at.at(`role/${two}`).read()).body.data).toEqual({ ...fresh, token_ttl: 60 })
    expect((await at.at(`role/${two}/role-id`).read()).body.data).toEqual({ role_id: 'id-b' })
    await at.at(`role/${one}`).delete()
    expect((await at.at('role').list()).body.data).toEqual({ keys: [two, 'short'] })
  })

  test('cannot have a name of more than 4096 bytes', async () => {
    const at = await mount()
    const text = '400 role_name is longer than maximum of 4096 bytes'

    expect(told(await at.at(`role/${'a'.repeat(4097)}`).write({}))).toBe(text)
    expect(told(await at.at(`role/${'a'.repeat(4096)}`).write({}))).toBe('204 ok')
  })

  test('keeps policies as they are written, unless the older name is used', async () => {
    const at = await mount()
    await at.at('role/r').write({ policies: 'Zed,aa,Aa', period: '1h' })
    const before = (await at.at('role/r').read()).body.data

    await at.at('role/r').write({ token_policies: 'Z, y ,', token_period: '3h' })

    const old = { policies: ['aa', 'zed'], period: 3600 }
    expect(before).toMatchObject({ ...old, token_policies: ['aa', 'zed'], token_period: 3600 })
    const { policies, period, ...after } = (await at.at('role/r').read()).body.data ?? {}
    expect({ policies, period, after }).toMatchObject({
      policies: undefined,
      period: undefined,
      after: { token_policies: ['Z', 'y', ''], token_period: 10_800 },
    })
  })

  test('takes the value of the new name for both', async () => {
    const at = await mount()

    await at
      .at('role/r')
      .write({
        policies: 'x',
        token_policies: 'y',
        period: '1h',
        token_period: '2h',
        bound_cidr_list: '10.0.0.0/8',
        secret_id_bound_cidrs: '11.0.0.0/8',
      })

    expect((await at.at('role/r').read()).body.data).toEqual({
      ...fresh,
      policies: ['y'],
      token_policies: ['y'],
      period: 7200,
      token_period: 7200,
      secret_id_bound_cidrs: ['11.0.0.0/8'],
    })
  })

  test('changes only what a write names; null is the empty value, but for durations', async () => {
    const at = await mount()
    await at
      .at('role/r')
      .write({ token_ttl: 60, token_policies: 'a', secret_id_num_uses: 4, token_type: 'batch' })

    await at.at('role/r').write({})
    const kept = (await at.at('role/r').read()).body.data
    const empty = { secret_id_num_uses: null, token_policies: null, token_ttl: null, token_type: null }
    await at.at('role/r').write(empty)

    const set = { token_ttl: 60, token_policies: ['a'], secret_id_num_uses: 4, token_type: 'batch' }
    expect(kept).toEqual({ ...fresh, ...set })
    expect((await at.at('role/r').read()).body.data).toEqual({ ...fresh, token_ttl: 60 })
  })

  test('keeps networks as they are written, and addresses of tokens without a full mask', async () => {
    const at = await mount()
    const blocks = ['1.2.3.4/8', '127.0.0.1/32', '::1/128', '10.0.0.0/8', '10.0.0.0/8']

    await at.at('role/r').write({ secret_id_bound_cidrs: blocks.join(', '), token_bound_cidrs: blocks })

    expect((await at.at('role/r').read()).body.data).toMatchObject({
      secret_id_bound_cidrs: blocks,
      token_bound_cidrs: ['1.2.3.4/8', '127.0.0.1', '::1', '10.0.0.0/8', '10.0.0.0/8'],
    })
    await at.at('role/r').write({ secret_id_bound_cidrs: '', token_bound_cidrs: [] })
    expect((await at.at('role/r').read()).body.data).toMatchObject({
      secret_id_bound_cidrs: [],
      token_bound_cidrs: [],
    })
  })

  test.each([
    { sent: 'default-service', kept: 'service' },
    { sent: 'default-batch', kept: 'batch' },
  ])('takes the token type $sent as $kept, with a warning', async ({ sent, kept }) => {
    const at = await mount()

    const { status, body } = await at.at('role/r').write({ token_type: sent })

    expect({ status, warnings: body.warnings }).toEqual({
      status: 200,
      warnings: [`${sent} has no useful meaning; adjusting to ${kept}`],
    })
    expect((await at.at('role/r').read()).body.data?.['token_type']).toBe(kept)
  })

  test('above the maximum of its mount is taken with a warning, but for an old period', async () => {
    const at = await mount()
    await (await machines()).server.root.write(`sys/${at.path}/tune`, {
      max_lease_ttl: '2h',
      default_lease_ttl: '1h',
    })
    const warning =
      "token_max_ttl is greater than the backend mount's maximum TTL value; issued tokens' max TTL value will be truncated"

    const { status, body } = await at.at('role/r').write({ token_max_ttl: '3h', token_period: '3h' })
    const again = await at.at('role/r').write({})

    expect({ status, warnings: body.warnings, again: again.body.warnings }).toEqual({
      status: 200,
      warnings: [warning],
      again: [warning],
    })
    const text = '400 period of "3h0m0s" is greater than the backend\'s maximum lease TTL of "2h0m0s"'
    expect(told(await at.at('role/r').write({ period: '3h' }))).toBe(text)
    expect(told(await at.at('role/r/period').write({ period: '3h' }))).toBe(text)
  })

  test('without anything that binds it is refused on every path', async () => {
    const at = await mount()
    const text = '400 at least one constraint should be enabled on the role'

    expect(told(await at.at('role/new').write({ bind_secret_id: false }))).toBe(text)
    expect(told(await at.at('role/new').read())).toBe('404 ')
    const bound = { bind_secret_id: false, secret_id_bound_cidrs: '127.0.0.1/32' }
    expect(told(await at.at('role/r').write(bound))).toBe('204 ok')
    expect(told(await at.at('role/r').write({ secret_id_bound_cidrs: [] }))).toBe(text)
    expect(told(await at.at('role/R/secret-id-bound-cidrs').delete())).toBe(text)
    const other = { token_bound_cidrs: '127.0.0.1/32', secret_id_bound_cidrs: [] }
    expect(told(await at.at('role/r').write(other))).toBe('204 ok')
    expect(told(await at.at('role/R/token-bound-cidrs').delete())).toBe(text)
    expect(told(await at.at('role/r/token-bound-cidrs').write({ token_bound_cidrs: '' }))).toBe(text)
    expect(told(await at.at('role/r/bind-secret-id').delete())).toBe('204 ok')
    expect(told(await at.at('role/r/token-bound-cidrs').delete())).toBe('204 ok')
  })
})

describe('a write is refused', () => {
  const batch = "'token_type' cannot be 'batch' or 'default_batch' when set to generate"
  const rules: { body: object; text: string }[] = [
    {
      body: { secret_id_ttl: '-1h' },
      text: `error converting input for field "secret_id_ttl": cannot provide negative value '-3600'`,
    },
    {
      body: { token_bound_cidrs: 'bad' },
      text: 'error parsing address "bad": Unable to convert "bad" to an IPv4 or IPv6 address, or a UNIX Socket',
    },
    { body: { token_type: 'x' }, text: `invalid 'token_type' value "x"` },
    { body: { token_type: 5 }, text: `invalid 'token_type' value "5"` },
    { body: { token_type: true }, text: `invalid 'token_type' value "1"` },
    { body: { token_num_uses: -1 }, text: "'token_num_uses' cannot be negative" },
    { body: { token_type: 'batch', token_period: 5 }, text: `${batch} periodic tokens` },
    { body: { token_type: 'batch', period: 5 }, text: `${batch} periodic tokens` },
    { body: { token_type: 'batch', token_num_uses: 5 }, text: `${batch} tokens with limited use count` },
    {
      body: { token_ttl: '2h', token_max_ttl: '1h' },
      text: "'token_ttl' cannot be greater than 'token_max_ttl'",
    },
    { body: { local_secret_ids: false }, text: 'local_secret_ids can only be modified during role creation' },
    { body: { role_id: '' }, text: 'invalid role_id supplied, or failed to generate a role_id' },
    { body: { role_id: ' a' }, text: 'role_id cannot begin or end with white space' },
    { body: { role_id: 'a'.repeat(4097) }, text: 'role_id is longer than maximum of 4096 bytes' },
    {
      body: { secret_id_bound_cidrs: 'bad' },
      text: 'failed to validate CIDR blocks: invalid CIDR address: bad',
    },
    {
      body: { secret_id_bound_cidrs: '10.0.0.0/8,1.2.3.4' },
      text: 'failed to validate CIDR blocks: invalid CIDR address: 1.2.3.4',
    },
    { body: { secret_id_num_uses: -1 }, text: 'secret_id_num_uses cannot be negative' },
    {
      body: { period: '9000h' },
      text: 'period of "9000h0m0s" is greater than the backend\'s maximum lease TTL of "768h0m0s"',
    },
    { body: { bind_secret_id: false }, text: 'at least one constraint should be enabled on the role' },
    { body: { role_id: 'TAKEN' }, text: 'role_id already in use' },
  ]
  const scene = shared(async () => {
    const own = await startMachines()
    const at = await own.mount()
    await at.at('role/other').write({ role_id: 'taken' })
    await at.at('role/r').write({ role_id: 'own' })
    return { at, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() }
  })

  test.each(rules)('for $body', async ({ body, text }) => {
    const { at } = await scene()

    expect(told(await at.at('role/r').write(body))).toBe(`400 ${text}`)

    expect((await at.at('role/r').read()).body.data).toEqual(fresh)
    expect((await at.at('role/r/role-id').read()).body.data).toEqual({ role_id: 'own' })
  })

  const pairs = rules.slice(1).map((second, index) => ({ first: rules[index] ?? second, second }))
  test.each(pairs)('for $first.body before $second.body', async ({ first, second }) => {
    const { at } = await scene()

    // a field of both has the value that comes first
    expect(told(await at.at('role/r').write({ ...second.body, ...first.body }))).toBe(`400 ${first.text}`)
  })

  test('before the policies are asked, if the caller may write there', async () => {
    const { at } = await scene()

    expect(told(await at.at('role/r').write({ secret_id_num_uses: 'x' }))).toMatch(
      /^400 error converting input for field "secret_id_num_uses": /,
    )
  })
})

describe('a role id', () => {
  test('is a UUID unless a write sets it, and can be changed but not deleted', async () => {
    const at = await mount()
    await at.at('role/r').write({})
    const first = (await at.at('role/r/role-id').read()).body.data?.['role_id']

    expect(told(await at.at('role/r/role-id').write({ role_id: 'my id/7' }))).toBe('204 ok')

    expect(first).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    expect((await at.at('role/r/role-id').read()).body.data).toEqual({ role_id: 'my id/7' })
    expect(told(await at.at('role/r/role-id').delete())).toBe('405 unsupported operation')
    expect(told(await at.at('role/r/role-id').write({}))).toBe('400 missing role_id')
    expect(told(await at.at('role/r/role-id').write({ role_id: '' }))).toBe('400 missing role_id')
    const blank = '400 role_id cannot begin or end with white space'
    expect(told(await at.at('role/r/role-id').write({ role_id: 'a ' }))).toBe(blank)
  })

  test('belongs to one role, whatever its case, until that is changed or deleted', async () => {
    const at = await mount()
    await at.at('role/a').write({ role_id: 'Straße' })
    const taken = '400 role_id already in use'

    expect(told(await at.at('role/b').write({ role_id: 'STRAßE' }))).toBe(taken)
    expect(told(await at.at('role/b').read())).toBe('404 ')
    await at.at('role/b').write({ role_id: 'b' })
    expect(told(await at.at('role/b/role-id').write({ role_id: 'sTRAßE' }))).toBe(taken)
    expect(told(await at.at('role/a').write({ role_id: 'straße' }))).toBe('204 ok')
    expect((await at.at('role/a/role-id').read()).body.data).toEqual({ role_id: 'straße' })
    await at.at('role/a').write({ role_id: 'a' })
    expect(told(await at.at('role/b').write({ role_id: 'Straße' }))).toBe('204 ok')
    await at.at('role/b').delete()
    expect(told(await at.at('role/c').write({ role_id: 'straße' }))).toBe('204 ok')
  })

  test('is given to one of two roles that want it at the same time', async () => {
    const at = await mount()

    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => at.at(`role/${name}`).write({ role_id: 'one' })),
    )

    expect(answers.map(told).sort()).toEqual(['204 ok', ...Array(3).fill('400 role_id already in use')])
  })
})
