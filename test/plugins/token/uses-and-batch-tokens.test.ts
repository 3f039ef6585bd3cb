import { expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import type { TestServer } from '../../support/start-server.ts'
import { aSigner } from '../jwt-auth/signer.ts'

/*
 * Batch tokens have no uses and no period: whoever asks for both is refused, or gets a service token where batch
 * was only a default. docs/contract/tokens-and-policies.md#batch-tokens
 */

const limited = 'batch tokens cannot have "num_uses" set'
const periodic = 'batch tokens cannot be periodic'
const limitedRole =
  "'token_type' cannot be 'batch' or 'default_batch' when set to generate tokens with limited use count"

test('a batch token with uses is refused, by a request and by a token role', async () => {
  await using server = await borrowServer()
  const { root } = server
  await root.write('auth/token/roles/limited', { token_num_uses: 1, orphan: true })

  for (const path of ['create', 'create/limited'])
    expect(await root.write(`auth/token/${path}`, { type: 'batch', num_uses: 1 })).toMatchObject({
      status: 400,
      body: { errors: [limited] },
    })
  expect((await root.write('auth/token/create/limited', { type: 'batch' })).body['errors']).toEqual([limited])
  expect((await root.write('auth/token/create/limited', {})).body.auth?.num_uses).toBe(1)
})

test('a token role of type default-batch cannot limit uses', async () => {
  await using server = await borrowServer()
  const role = { token_type: 'default-batch', orphan: true }

  const written = await server.root.write('auth/token/roles/mixed', { ...role, token_num_uses: 1 })

  expect(written).toMatchObject({ status: 400, body: { errors: [limitedRole] } })
  expect((await server.root.read('auth/token/roles/mixed')).status).toBe(404)
})

const signer = aSigner('ES256')
const claims = { sub: 's', aud: 'a', nbf: 1, exp: 4_102_444_800 }

/** The login methods: how a role is written and used. */
const methods = {
  userpass: {
    role: 'users/dev',
    least: { password: 'secret' },
    login: async ({ anonymous }: TestServer, mount: string) =>
      anonymous.write(`${mount}/login/dev`, { password: 'secret' }),
  },
  approle: {
    role: 'role/dev',
    least: { bind_secret_id: false, token_bound_cidrs: '127.0.0.1/32' },
    login: async ({ root, anonymous }: TestServer, mount: string) =>
      anonymous.write(`${mount}/login`, {
        role_id: (await root.read(`${mount}/role/dev/role-id`)).body.data?.['role_id'],
      }),
  },
  jwt: {
    role: 'role/dev',
    least: { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'a' },
    login: async ({ anonymous }: TestServer, mount: string) =>
      anonymous.write(`${mount}/login`, { role: 'dev', jwt: signer.sign(claims) }),
  },
} as const

const rows = (['userpass', 'approle', 'jwt'] as const).flatMap((type) => [
  { type, field: 'token_num_uses', settings: { token_num_uses: 2 }, text: limited },
  { type, field: 'token_period', settings: { token_period: '10m' }, text: periodic },
])

async function aMethod(server: TestServer, type: keyof typeof methods) {
  const { role, least, login } = methods[type]
  const { root } = server
  const mount = `auth/${type}-b`
  await root.write(`sys/${mount}`, { type })
  if (type === 'jwt') await root.write(`${mount}/config`, { jwt_validation_pubkeys: [signer.pem] })
  return {
    write: (settings: object) => root.write(`${mount}/${role}`, { ...least, ...settings }),
    tune: (token_type: string) => root.write(`sys/${mount}/tune`, { token_type }),
    login: () => login(server, mount),
    lint: async () => (await root.read(`${mount}/lint`)).body.data?.['findings'],
  }
}

test.each(rows)('$type: a role of type batch cannot have $field', async ({ type, settings, field }) => {
  await using server = await borrowServer()
  const { write } = await aMethod(server, type)

  const written = await write({ ...settings, token_type: 'batch' })

  const periodicRole = limitedRole.replace('tokens with limited use count', 'periodic tokens')
  expect(written.body['errors']).toEqual([field === 'token_period' ? periodicRole : limitedRole])
})

test.each(rows)('$type: a default of batch tokens gives way to $field', async ({ type, settings, field }) => {
  await using server = await borrowServer()
  const { write, tune, login } = await aMethod(server, type)
  await write(settings)

  expect((await tune('default-batch')).status).toBe(204)
  const { auth, warnings } = (await login()).body

  const uses = field === 'token_num_uses' ? 2 : 0
  expect({ auth, warnings }).toMatchObject({
    auth: { token_type: 'service', num_uses: uses },
    warnings: null,
  })
  await write({ token_num_uses: 0, token_period: 0 })
  expect((await login()).body.auth?.token_type).toBe('batch')
})

test.each(rows)(
  '$type: a mount of batch tokens refuses logins with $field, and says so before',
  async (row) => {
    await using server = await borrowServer()
    const { write, tune, login, lint } = await aMethod(server, row.type)
    await write(row.settings)

    const tuned = await tune('batch')
    const written = await write(row.settings)

    const name = '"dev"'
    expect(tuned).toMatchObject({
      status: 200,
      body: {
        warnings: [
          `logins are refused, because batch tokens cannot have token_num_uses or token_period: ${name}`,
        ],
      },
    })
    expect(written.body['warnings']).toEqual([
      `logins are refused: the token_type of the mount makes batch tokens, which cannot have ${row.field}`,
    ])
    expect(await login()).toMatchObject({ status: 400, body: { errors: [row.text] } })
    if (row.type !== 'userpass')
      expect(await lint()).toContainEqual(
        expect.objectContaining({ role: 'dev', code: 'uses_without_effect', field: row.field }),
      )
    // nothing changes for the mount
    expect((await tune('batch')).status).toBe(204)
  },
)

test('a refused login with uses names its reason', async () => {
  await using server = await borrowServer()
  const { write, tune, login } = await aMethod(server, 'jwt')
  await write({ token_num_uses: 2 })
  await tune('batch')

  await login()

  expect((await server.root.read('auth/jwt-b/failures')).body.data).toMatchObject({
    failures: [{ reason: 'uses_need_service', check: 'token_type' }],
  })
})
