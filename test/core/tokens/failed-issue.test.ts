import { expect, test } from 'vitest'
import { StorageFaults } from '../../../src/storage/faults.ts'
import { aSigner } from '../../plugins/jwt-auth/signer.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

const signer = aSigner()
const jwt = signer.sign({ sub: 'alice', exp: 4_000_000_000, iat: 1 })

async function startWithRole(faults: StorageFaults) {
  const server = await startTestServer({ faults })
  await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
  await server.root.write('auth/jwt/role/dev', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_subject: 'alice',
  })
  return server
}

const tokensOf = async (server: TestServer) =>
  (await server.root.list('auth/token/accessors')).body.data?.keys
const login = (server: TestServer, headers: Record<string, string> = {}) =>
  server.anonymous.write('auth/jwt/login', { role: 'dev', jwt }, { headers })

test.each(['storage.before-commit', 'storage.after-commit'] as const)(
  'a login whose commit fails at %s leaves no token behind',
  async (point) => {
    const faults = new StorageFaults()
    await using server = await startWithRole(faults)
    const before = await tokensOf(server)

    for (const name of ['new', 'known']) {
      faults.arm(point, 'io')
      expect((await login(server)).status, name).toBe(503)
      expect(await tokensOf(server), name).toEqual(before)
      await login(server).then(({ body }) =>
        server.root.write('auth/token/revoke', { token: body.auth?.client_token }),
      )
    }
  },
)

const wish = { 'X-Vault-Wrap-TTL': '60s' }
const wrappedWays: [string, (server: TestServer) => Promise<{ status: number }>][] = [
  ['login', (server) => login(server, wish)],
  [
    'creation',
    (server) => server.root.write('auth/token/create', { policies: ['default'] }, { headers: wish }),
  ],
]

test.each(wrappedWays)('a %s whose answer cannot be wrapped leaves no token behind', async (_way, issue) => {
  const faults = new StorageFaults()
  await using server = await startWithRole(faults)
  const before = await tokensOf(server)

  // the first commit is that of the new token
  faults.arm('storage.before-commit', 'io', 1)
  expect((await issue(server)).status).toBe(503)

  await expect.poll(() => tokensOf(server)).toEqual(before)
})

test.each(['storage.before-commit', 'storage.after-commit'] as const)(
  'a creation that fails at %s leaves no token behind',
  async (point) => {
    const faults = new StorageFaults()
    await using server = await startWithRole(faults)
    const before = await tokensOf(server)

    faults.arm(point, 'io')
    expect((await server.root.write('auth/token/create', { policies: ['default'] })).status).toBe(503)

    expect(await tokensOf(server)).toEqual(before)
  },
)

test('a failed creation under a taken id removes nothing', async () => {
  const faults = new StorageFaults()
  await using server = await startWithRole(faults)
  await server.root.write('auth/token/create', { id: 'mine', policies: ['default'] })

  faults.arm('storage.after-commit', 'io')
  expect(
    (await server.root.write('auth/token/create', { id: 'mine', policies: ['default'] })).status,
  ).toBeGreaterThanOrEqual(400)

  expect((await server.as('mine').read('auth/token/lookup-self')).status).toBe(200)
})
