import { expect, test } from 'vitest'
import { startTestServer } from '../support/start-server.ts'
import { aSigner } from './jwt-auth/signer.ts'

const signer = aSigner('ES256')
const now = Math.floor(Date.now() / 1000)
const jwt = signer.sign({ sub: 'a', aud: 'gate', iat: now, exp: now + 600 })

const roles = [
  { role: 'auth/approle/role/r', more: {}, login: 'auth/approle/login' },
  {
    role: 'auth/jwt/role/r',
    more: { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' },
    login: 'auth/jwt/login',
  },
  { role: 'auth/userpass/users/u', more: { password: 'p' }, login: 'auth/userpass/login/u' },
]

async function started() {
  const server = await startTestServer({ settings: { TRUSTED_PROXIES: '127.0.0.1' } })
  for (const type of ['approle', 'userpass']) await server.root.write(`sys/auth/${type}`, { type })
  await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
  return server
}

test.each(roles.flatMap((row) => ['service', 'batch'].map((token_type) => ({ ...row, token_type }))))(
  'a $token_type token of $role is bound to the address that logs in',
  async ({ role, more, login, token_type }) => {
    await using server = await started()
    const { root, anonymous } = server
    const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
    expect((await root.write(role, { ...more, token_type, token_strictly_bind_ip: true })).status).toBe(204)
    const sent = {
      role: 'r',
      jwt,
      password: 'p',
      role_id: (await root.read(`${role}/role-id`)).body.data?.['role_id'],
      secret_id: (await root.write(`${role}/secret-id`)).body.data?.['secret_id'],
    }

    const { body } = await anonymous.write(login, sent, from('10.1.2.3'))

    const holder = server.as(String(body.auth?.client_token))
    const looked = await holder.read('auth/token/lookup-self', from('10.1.2.3'))
    expect(looked.body.data?.['bound_cidrs']).toEqual(['10.1.2.3'])
    expect((await holder.read('auth/token/lookup-self', from('10.1.2.4'))).status).toBe(403)
    expect((await root.read(role)).body.data).toMatchObject({ token_strictly_bind_ip: true })
  },
)

test.each(roles)('$role binds an address once', async ({ role, more }) => {
  await using server = await started()
  const text = "'token_strictly_bind_ip' conflicts with 'token_bound_cidrs'; set only one"
  const conflict = { status: 400, body: { errors: [text] } }
  const write = (fields: object) => server.root.write(role, { ...more, ...fields })

  expect(await write({ token_strictly_bind_ip: true, token_bound_cidrs: '10.0.0.0/8' })).toMatchObject(
    conflict,
  )
  expect((await write({ token_bound_cidrs: '10.0.0.0/8' })).status).toBe(204)
  expect(await write({ token_strictly_bind_ip: true })).toMatchObject(conflict)
  expect((await server.root.read(role)).body.data).toMatchObject({ token_strictly_bind_ip: false })
  expect((await write({ token_strictly_bind_ip: true, token_bound_cidrs: '' })).status).toBe(204)
  expect(await write({ token_bound_cidrs: '10.0.0.0/8' })).toMatchObject(conflict)
})

test('both the addresses of a SecretID and the address of the login bind a token', async () => {
  await using server = await started()
  const { root, anonymous } = server
  await root.write('auth/approle/role/r', { token_strictly_bind_ip: true })
  const { body } = await root.write('auth/approle/role/r/secret-id', { token_bound_cidrs: '10.0.0.0/8' })
  const role_id = (await root.read('auth/approle/role/r/role-id')).body.data?.['role_id']
  const logIn = (address: string) =>
    anonymous.write(
      'auth/approle/login',
      { role_id, secret_id: body.data?.['secret_id'] },
      { headers: { 'X-Forwarded-For': address } },
    )

  expect((await logIn('192.0.2.1')).status).toBe(400)
  expect((await logIn('10.1.1.1')).status).toBe(200)
})
