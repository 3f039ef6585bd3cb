import { expect, test } from 'vitest'
import { shared } from '../../support/shared.ts'
import { startMachines, told } from './machines.ts'

const machines = shared(() => startMachines())
const mount = async () => (await machines()).mount()

type Row = {
  field: string
  /** What a read shows before the first write. */
  unset: object
  /** The text of a write without the field. */
  missing?: string
  turns: { sent: object; shown: object }[]
}

const rows: Row[] = [
  {
    field: 'policies',
    unset: { token_policies: [] },
    missing: 'token_policies',
    turns: [
      { sent: { policies: 'A,b,b' }, shown: { policies: ['a', 'b'], token_policies: ['a', 'b'] } },
      { sent: { token_policies: 'C, d ,' }, shown: { token_policies: ['c', 'd'] } },
      { sent: { policies: 'e', token_policies: 'f' }, shown: { policies: ['f'], token_policies: ['f'] } },
      { sent: { token_policies: 'root,a' }, shown: { token_policies: ['root'] } },
      { sent: { token_policies: '' }, shown: { token_policies: [] } },
    ],
  },
  {
    field: 'secret-id-bound-cidrs',
    unset: { secret_id_bound_cidrs: null },
    turns: [
      { sent: { secret_id_bound_cidrs: '1.2.3.4/8' }, shown: { secret_id_bound_cidrs: ['1.2.3.4/8'] } },
    ],
  },
  {
    field: 'token-bound-cidrs',
    unset: { token_bound_cidrs: null },
    turns: [
      {
        sent: { token_bound_cidrs: '10.0.0.0/8,1.2.3.4/32' },
        shown: { token_bound_cidrs: ['10.0.0.0/8', '1.2.3.4'] },
      },
      { sent: { token_bound_cidrs: '' }, shown: { token_bound_cidrs: [] } },
    ],
  },
  {
    field: 'bind-secret-id',
    unset: { bind_secret_id: true },
    missing: 'bind_secret_id',
    turns: [{ sent: { bind_secret_id: 'true' }, shown: { bind_secret_id: true } }],
  },
  {
    field: 'secret-id-num-uses',
    unset: { secret_id_num_uses: 0 },
    missing: 'secret_id_num_uses',
    turns: [{ sent: { secret_id_num_uses: '7' }, shown: { secret_id_num_uses: 7 } }],
  },
  {
    field: 'secret-id-ttl',
    unset: { secret_id_ttl: 0 },
    missing: 'secret_id_ttl',
    turns: [{ sent: { secret_id_ttl: '9000h' }, shown: { secret_id_ttl: 32_400_000 } }],
  },
  {
    field: 'period',
    unset: { token_period: 0 },
    missing: 'period',
    turns: [
      { sent: { period: '1h' }, shown: { period: 3600, token_period: 3600 } },
      { sent: { token_period: '2h' }, shown: { token_period: 7200 } },
      { sent: { period: '1h', token_period: '3h' }, shown: { period: 10_800, token_period: 10_800 } },
      { sent: { period: 0 }, shown: { token_period: 0 } },
    ],
  },
  {
    field: 'token-num-uses',
    unset: { token_num_uses: 0 },
    missing: 'token_num_uses',
    turns: [{ sent: { token_num_uses: 5 }, shown: { token_num_uses: 5 } }],
  },
  {
    field: 'token-ttl',
    unset: { token_ttl: 0 },
    missing: 'token_ttl',
    turns: [{ sent: { token_ttl: '1h' }, shown: { token_ttl: 3600 } }],
  },
  {
    field: 'token-max-ttl',
    unset: { token_max_ttl: 0 },
    missing: 'token_max_ttl',
    turns: [{ sent: { token_max_ttl: '30m' }, shown: { token_max_ttl: 1800 } }],
  },
]

test.each(rows)(
  'role/<name>/$field is read, changed and set back',
  async ({ field, unset, missing, turns }) => {
    const at = await mount()
    await at.role('r')
    const own = at.at(`role/R/${field}`)

    expect((await own.read()).body.data).toEqual(unset)
    expect(told(await own.list())).toBe('404 unsupported path')
    expect(told(await own.write({}))).toBe(missing === undefined ? '204 ok' : `400 missing ${missing}`)
    for (const { sent, shown } of turns) {
      expect(told(await own.write(sent))).toBe('204 ok')
      expect((await own.read()).body.data).toEqual(shown)
    }
    expect(told(await own.delete())).toBe('204 ok')
    expect((await own.read()).body.data).toEqual(unset)
  },
)

test.each([...rows.map(({ field }) => field), 'bound-cidr-list'])(
  'role/<name>/%s of an unknown role is 404, and its deletion 204',
  async (field) => {
    const at = await mount()
    const own = at.at(`role/no/${field}`)

    expect([await own.read(), await own.write({}), await own.delete()].map(told)).toEqual([
      ...['404 ', '404 unsupported path', '204 ok'],
    ])
  },
)

test('role/<name>/bound-cidr-list shows nothing, warns, and sets the networks that may log in', async () => {
  const at = await mount()
  await at.role('r')
  const own = at.at('role/r/bound-cidr-list')

  await own.write({ bound_cidr_list: '10.0.0.0/8' })
  await own.delete()

  expect((await own.read()).body).toMatchObject({
    data: { bound_cidr_list: null },
    warnings: [
      'The "bound_cidr_list" field is deprecated and will be removed. Please use "secret_id_bound_cidrs" instead.',
    ],
  })
  expect((await at.at('role/r/secret-id-bound-cidrs').read()).body.data).toEqual({
    secret_id_bound_cidrs: ['10.0.0.0/8'],
  })
})

test.each([
  { path: 'secret-id-bound-cidrs', body: { bound_cidr_list: '10.0.0.0/8' } },
  { path: 'bound-cidr-list', body: { secret_id_bound_cidrs: 'bad' } },
])('role/<name>/$path ignores the field of the other path', async ({ path, body }) => {
  const at = await mount()
  await at.role('r')

  expect(told(await at.at(`role/r/${path}`).write(body))).toBe('204 ok')

  expect((await at.at('role/r').read()).body.data?.['secret_id_bound_cidrs']).toBeNull()
})

test.each([
  { path: 'secret-id-bound-cidrs', body: { secret_id_bound_cidrs: '' }, text: 'missing bound_cidr_list' },
  { path: 'bound-cidr-list', body: { bound_cidr_list: '' }, text: 'missing bound_cidr_list' },
  {
    path: 'secret-id-bound-cidrs',
    body: { secret_id_bound_cidrs: '1.2.3.4' },
    text: 'failed to validate CIDR blocks: invalid CIDR address: 1.2.3.4',
  },
  {
    path: 'token-bound-cidrs',
    body: { token_bound_cidrs: 'bad' },
    text: 'failed to parse token_bound_cidrs: error parsing address "bad": Unable to convert "bad" to an IPv4 or IPv6 address, or a UNIX Socket',
  },
  {
    path: 'token-ttl',
    body: { token_ttl: '3h' },
    text: 'token_ttl should not be greater than token_max_ttl',
  },
  {
    path: 'token-max-ttl',
    body: { token_max_ttl: '30m' },
    text: 'token_max_ttl should be greater than or equal to token_ttl',
  },
  { path: 'token-num-uses', body: { token_num_uses: -1 }, text: "'token_num_uses' cannot be negative" },
  {
    path: 'secret-id-num-uses',
    body: { secret_id_num_uses: -1 },
    text: 'secret_id_num_uses cannot be negative',
  },
])('role/<name>/$path refuses $body', async ({ path, body, text }) => {
  const at = await mount()
  await at.role('r', { token_ttl: '1h', token_max_ttl: '2h' })

  expect(told(await at.at(`role/r/${path}`).write(body))).toBe(`400 ${text}`)
})

test.each([
  { path: 'period', body: { period: '1h' }, kind: 'periodic tokens' },
  { path: 'period', body: { token_period: '1h' }, kind: 'periodic tokens' },
  { path: 'token-num-uses', body: { token_num_uses: 1 }, kind: 'tokens with limited use count' },
])('role/<name>/$path refuses $body for batch tokens', async ({ path, body, kind }) => {
  const at = await mount()
  await at.role('r', { token_type: 'batch' })

  expect(told(await at.at(`role/r/${path}`).write(body))).toBe(
    `400 'token_type' cannot be 'batch' or 'default_batch' when set to generate ${kind}`,
  )
})

test('role/<name>/local-secret-ids can only be read', async () => {
  const at = await mount()
  await at.role('r', { local_secret_ids: true })
  const own = at.at('role/r/local-secret-ids')

  expect((await own.read()).body.data).toEqual({ local_secret_ids: true })
  expect([await own.write({}), await own.delete()].map(told)).toEqual([
    ...['405 unsupported operation', '405 unsupported operation'],
  ])
  expect(told(await at.at('role/no/local-secret-ids').read())).toBe('404 ')
})
