import { expect, test } from 'vitest'
import { openJwtDesk } from '../support/jwt-desk.ts'
import { startTestServer } from '../support/start-server.ts'
import { begin, confirmed, withDirect } from './jwt-auth/oidc/polled-login.ts'
import * as browser from './jwt-auth/oidc/small-provider.ts'
import { aSigner } from './jwt-auth/signer.ts'
import { startPods } from './kubernetes/pods.ts'

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
  for (const type of ['approle', 'kubernetes', 'userpass'])
    await server.root.write(`sys/auth/${type}`, { type })
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
    expect((await holder.write('auth/token/renew-self', {}, from('10.1.2.4'))).status).toBe(403)
    expect((await root.read(role)).body.data).toMatchObject({ token_strictly_bind_ip: true })
  },
)

const conflictText = "'token_strictly_bind_ip' conflicts with 'token_bound_cidrs'; set only one"
const accounts = { bound_service_account_names: 'a', bound_service_account_namespaces: 'b' }
const withPods = [...roles, { role: 'auth/kubernetes/role/r', more: accounts }]

test.each(withPods)('$role binds an address once', async ({ role, more }) => {
  await using server = await started()
  const conflict = { status: 400, body: { errors: [conflictText] } }
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

test.each(withPods)('whether $role binds the address is a bool', async ({ role, more }) => {
  await using server = await started()

  const { status, body } = await server.root.write(role, { ...more, token_strictly_bind_ip: 'zz' })

  expect([status, body.errors?.[0]]).toEqual([
    400,
    expect.stringContaining('error converting input for field "token_strictly_bind_ip": '),
  ])
})

test('the path of token_bound_cidrs refuses them too', async () => {
  await using server = await started()
  await server.root.write('auth/approle/role/r', { token_strictly_bind_ip: true })

  const { status, body } = await server.root.write('auth/approle/role/r/token-bound-cidrs', {
    token_bound_cidrs: '10.0.0.0/8',
  })

  expect([status, body.errors]).toEqual([400, [conflictText]])
})

test('a token is bound to a whole IPv6 address, and so are its children', async () => {
  await using server = await started()
  const { root, anonymous } = server
  const from = { headers: { 'X-Forwarded-For': '2001:db8::1' } }
  const policy = 'path "auth/token/create" { capabilities = ["update"] }'
  await root.write('sys/policies/acl/makes', { policy })
  await root.write('auth/userpass/users/u', {
    password: 'p',
    token_policies: 'makes',
    token_strictly_bind_ip: true,
  })
  const login = await anonymous.write('auth/userpass/login/u', { password: 'p' }, from)
  const parent = server.as(String(login.body.auth?.client_token))
  const made = await parent.write('auth/token/create', {}, from)
  const child = server.as(String(made.body.auth?.client_token))

  for (const holder of [parent, child]) {
    const { body } = await holder.read('auth/token/lookup-self', from)
    expect(body.data?.['bound_cidrs']).toEqual(['2001:db8::1'])
    expect((await holder.read('auth/token/lookup-self')).status).toBe(403)
  }
})

test('a login in the headers of a request serves that request', async () => {
  await using desk = await openJwtDesk()
  await desk.role('dev', { token_strictly_bind_ip: true })

  expect((await desk.ask('kv/x')).status).toBe(200)
})

test('a pod is bound to its address', async () => {
  await using pods = await startPods()
  const mount = await pods.mount()
  await mount.role('r', { token_strictly_bind_ip: true })
  const pod = pods.server.as(String((await mount.login()).body.auth?.client_token))
  const from = (localAddress: string) => pod.read('auth/token/lookup-self', { localAddress })

  expect((await from('127.0.0.1')).body.data?.['bound_cidrs']).toEqual(['127.0.0.1'])
  expect((await from('127.0.0.42')).status).toBe(403)
})

test('a login in the browser binds the address of the callback', async () => {
  await using provider = await browser.startSmallProvider()
  await using server = await browser.withFlow(provider, { role: { token_strictly_bind_ip: true } })
  const login = await browser.begin(server.anonymous)
  const query = { state: login.get('state'), code: provider.codeFor(login) }

  const { body } = await browser.callback(server.anonymous, query, { localAddress: '127.0.0.42' })

  const { data } = (await server.root.write('auth/token/lookup', { token: body.auth?.client_token })).body
  expect(data?.['bound_cidrs']).toEqual(['127.0.0.42'])
})

test('a login in the browser whose token is polled for binds the address of the poll', async () => {
  await using provider = await browser.startSmallProvider()
  await using server = await withDirect(provider, { token_strictly_bind_ip: true })
  const { anonymous } = server
  const { login, state } = await begin(anonymous)
  await confirmed(anonymous, state, provider.codeFor(login))

  const sent = { state, client_nonce: 'cn' }
  const { body } = await anonymous.write('auth/oidc/oidc/poll', sent, { localAddress: '127.0.0.42' })

  const { data } = (await server.root.write('auth/token/lookup', { token: body.auth?.client_token })).body
  expect(data?.['bound_cidrs']).toEqual(['127.0.0.42'])
})
