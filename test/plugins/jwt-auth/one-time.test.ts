import { expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import type { Answer } from '../../support/client.ts'
import { copyAsIfKilled, startInFolder } from '../../support/folder-server.ts'
import type { TestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { logIn, startSmallProvider, verdict, withFlow } from './oidc/small-provider.ts'
import { aSigner } from './signer.ts'

const signer = aSigner('ES256')
const used = '400 error validating token: token has been used already'
const now = () => Math.floor(Date.now() / 1000)
const someClaims = (given: object = {}) => ({
  iss: 'https://ci',
  sub: 'alice',
  aud: 'gate',
  iat: now(),
  exp: now() + 600,
  ...given,
})
const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate', token_replay_protection: true }

async function withOneTimeRole(given: object = {}): Promise<TestServer> {
  const server = await borrowServer()
  await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
  await server.root.write('auth/jwt/role/r', { ...role, ...given })
  return server
}

const login = async (server: Pick<TestServer, 'anonymous'>, jwt: string, name = 'r', mount = 'jwt') =>
  verdict(await server.anonymous.write(`auth/${mount}/login`, { role: name, jwt }))

test('the field is always read back, and kept by a write that leaves it out', async () => {
  await using server = await withOneTimeRole()
  const read = async (): Promise<unknown> =>
    (await server.root.read('auth/jwt/role/r')).body.data?.['token_replay_protection']

  expect(await read()).toBe(true)
  await server.root.write('auth/jwt/role/r', { role_type: 'jwt', bound_subject: 'alice' })
  expect(await read()).toBe(true)
  await server.root.write('auth/jwt/role/r', { role_type: 'jwt', token_replay_protection: 'false' })
  expect(await read()).toBe(false)
  expect(
    (await server.root.write('auth/jwt/role/r', { role_type: 'jwt', token_replay_protection: 'x' })).status,
  ).toBe(400)
})

test.each(['service', 'batch'])(
  'a token logs in once if the role says so, and yields a %s token',
  async (token_type) => {
    await using server = await withOneTimeRole({ token_type })
    const jwt = signer.sign(someClaims({ jti: 'a' }))
    const first: Answer = await server.anonymous.write('auth/jwt/login', { role: 'r', jwt })

    expect(first.status).toBe(200)
    expect(await login(server, jwt)).toBe(used)
    expect(await login(server, ` ${jwt}\n`)).toBe(used)
    expect(
      (await server.as(String(first.body.auth?.client_token)).read('auth/token/lookup-self')).status,
    ).toBe(200)
  },
)

test('only issuer and id distinguish tokens', async () => {
  await using server = await withOneTimeRole()
  const go = (claims: object) => login(server, signer.sign(someClaims(claims)))

  expect(await go({ jti: 'a' })).toBe('ok')
  expect(await go({ jti: 'a', iat: now() - 30, extra: 1 })).toBe(used)
  expect(await go({ jti: 'b' })).toBe('ok')
  expect(await go({ jti: 'a', iss: 'https://other' })).toBe('ok')
  expect(await go({ jti: 'a', iss: undefined })).toBe('ok')
  expect(await go({ jti: 'a', iss: '' })).toBe(used)
})

test('without an id, the signed text counts, so another signature of it is the same token', async () => {
  await using server = await withOneTimeRole()
  const [one, other] = [signer.sign(someClaims()), signer.sign(someClaims({ jti: '' }))]
  const again = signer.sign(JSON.stringify(someClaims({ iat: 5, n: 1 })))

  expect(await login(server, one)).toBe('ok')
  expect(await login(server, one)).toBe(used)
  // ES256 signs differently each time, and every signature has a twin
  expect(await login(server, mirrored(one))).toBe(used)
  expect(await login(server, other)).toBe('ok')
  expect(await login(server, again)).toBe('ok')
  expect(await login(server, mirrored(again))).toBe(used)
})

/** The other signature that ECDSA has for the same text: s becomes n − s. */
function mirrored(jwt: string): string {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const [header, payload, signature = ''] = jwt.split('.')
  const bytes = Buffer.from(signature, 'base64url')
  const s = order - BigInt(`0x${bytes.subarray(32).toString('hex')}`)
  bytes.write(s.toString(16).padStart(64, '0'), 32, 'hex')
  return `${header}.${payload}.${bytes.toString('base64url')}`
}

test('without an id, the same text with white space is the same token, however often it is sent', async () => {
  await using server = await withOneTimeRole()
  const jwt = signer.sign(someClaims())
  const spaced = [` ${jwt}`, jwt.replace('.', '\n.'), jwt.replace(/\.(?=[^.]*$)/, ' .'), `${jwt}\n`]

  expect(await login(server, jwt)).toBe('ok')
  for (const sent of spaced)
    for (let count = 0; count < 3; count += 1) expect(await login(server, sent)).toBe(used)
})

test('a refused login spends nothing, whatever the reason', async () => {
  await using server = await withOneTimeRole({ bound_claims: { env: 'prod' } })
  const jwt = signer.sign(someClaims({ jti: 'a', env: 'test' }))
  const change = (given: object) =>
    server.root.write('auth/jwt/role/r', { ...role, bound_claims: { env: 'test' }, ...given })

  expect(await login(server, jwt)).toMatch(/does not match any associated bound claim values/)
  await change({ token_policies: 'root' })
  expect(await login(server, jwt)).toBe('400 auth methods cannot create root tokens')
  await change({ token_policies: '', groups_claim: 'groups' })
  expect(await login(server, jwt)).toMatch(/claim not found in token/)
  await change({ groups_claim: '', user_claim: 'nobody' })
  expect(await login(server, jwt)).toMatch(/not found in token/)
  await change({ groups_claim: '' })
  expect(await login(server, jwt)).toBe('ok')
  expect(await login(server, jwt)).toBe(used)
})

test('protected roles of a mount share the spent tokens, other roles ignore them, and other mounts have their own', async () => {
  await using server = await withOneTimeRole()
  await server.root.write('auth/jwt/role/s', role)
  await server.root.write('auth/jwt/role/open', { ...role, token_replay_protection: false })
  await server.root.write('sys/auth/jwt2', { type: 'jwt' })
  await server.root.write('auth/jwt2/config', { jwt_validation_pubkeys: [signer.pem] })
  await server.root.write('auth/jwt2/role/r', role)
  const jwt = signer.sign(someClaims({ jti: 'a' }))

  expect(await login(server, jwt, 'open')).toBe('ok')
  expect(await login(server, jwt, 'r')).toBe('ok')
  expect(await login(server, jwt, 's')).toBe(used)
  expect(await login(server, jwt, 'open')).toBe('ok')
  expect(await login(server, jwt, 'r', 'jwt2')).toBe('ok')
  await server.root.write('sys/remount', { from: 'auth/jwt2', to: 'auth/jwt3' })
  await expect.poll(() => login(server, jwt, 'r', 'jwt3')).toBe(used)
})

test.each(['service', 'batch'])(
  'of 64 concurrent uses of one token, one yields a %s token',
  async (token_type) => {
    await using server = await withOneTimeRole({ token_type })
    const jwt = signer.sign(someClaims({ jti: 'a' }))

    const verdicts = await Promise.all(Array.from({ length: 64 }, () => login(server, jwt)))

    expect(verdicts.filter((one) => one === 'ok')).toHaveLength(1)
    expect(verdicts.filter((one) => one === used)).toHaveLength(63)
  },
)

test('spent tokens survive a restart and a crash', async () => {
  await using folder = await temporaryFolder()
  await using left = await temporaryFolder()
  const jwt = signer.sign(someClaims({ jti: 'a' }))
  await using server = await startInFolder({ folder: folder.path })
  const root = server.as(server.rootToken)
  await root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
  await root.write('auth/jwt/role/r', role)
  expect(await login(server, jwt)).toBe('ok')

  copyAsIfKilled(folder.path, left.path)
  await using next = await startInFolder({ folder: left.path })

  expect(await login(next, jwt)).toBe(used)
  expect((await next.as(server.rootToken).read('auth/jwt/role/r')).status).toBe(200)
})

test('a browser login is not affected', async () => {
  await using provider = await startSmallProvider()
  await using server = await withFlow(provider, { role: { token_replay_protection: true } })

  for (const _ of [1, 2]) expect(verdict(await logIn(server, provider, { jti: 'the same' }))).toBe('ok')
})

test('ids belong to the issuer, whichever of its keys signs', async () => {
  const stranger = aSigner('ES256')
  await using server = await withOneTimeRole()
  await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem, stranger.pem] })

  expect(await login(server, signer.sign(someClaims({ jti: 'a' })))).toBe('ok')
  expect(await login(server, stranger.sign(someClaims({ jti: 'a' })))).toBe(used)
  const same = someClaims({ iat: now() - 7 })
  expect(await login(server, signer.sign(same))).toBe('ok')
  expect(await login(server, signer.sign(same, { kid: 'x' }))).toBe('ok')
})

test('explain says that a token is spent, and does not spend one', async () => {
  await using server = await withOneTimeRole()
  const jwt = signer.sign(someClaims({ jti: 'a' }))
  const explain = async () => {
    const { body } = await server.root.write('auth/jwt/explain', { role: 'r', jwt })
    const checks: unknown = body.data?.['checks']
    const verdicts = Array.isArray(checks)
      ? checks.slice(-3).map(({ name, verdict: said }) => `${name} ${said}`)
      : []
    return [body.data?.['allowed'], body.data?.['reason'], body.data?.['error'], ...verdicts]
  }
  const free = [true, '', '', 'entity pass', 'policies pass', 'replay pass']

  expect(await explain()).toEqual(free)
  expect(await explain()).toEqual(free)
  expect(await login(server, jwt)).toBe('ok')
  expect(await explain()).toEqual([
    false,
    'token_replayed',
    used.slice(4),
    'entity pass',
    'policies pass',
    'replay fail',
  ])
})
