import { expect, test } from 'vitest'
import { StorageFaults } from '../../src/storage/faults.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

const signer = aSigner()
const other = aSigner()
const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'alice', token_policies: ['old'] }
const policy = (capability: string) => ({ policy: `path "x" { capabilities = ["${capability}"] }` })

const login = (server: TestServer) =>
  server.anonymous.write('auth/jwt/login', {
    role: 'dev',
    jwt: signer.sign({ sub: 'alice', exp: 4_000_000_000, iat: 1 }),
  })
const tokenOf = async (server: TestServer) => server.as(String((await login(server)).body.auth?.client_token))

/** A write, and what a reader sees of it that has a copy from before in memory. */
type Row = {
  what: string
  write(server: TestServer): Promise<unknown>
  see(server: TestServer): Promise<unknown>
  before: unknown
  after: unknown
}

const rows: Row[] = [
  {
    what: 'a role',
    write: (server) => server.root.write('auth/jwt/role/dev', { ...role, token_policies: ['new'] }),
    see: async (server) => (await login(server)).body.auth?.token_policies,
    before: ['default', 'old'],
    after: ['default', 'new'],
  },
  {
    what: 'a role that goes',
    write: (server) => server.root.delete('auth/jwt/role/dev'),
    see: async (server) => (await login(server)).status,
    before: 200,
    after: 400,
  },
  {
    what: 'the keys of a mount',
    write: (server) => server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [other.pem] }),
    see: async (server) => (await login(server)).status,
    before: 200,
    after: 400,
  },
  {
    what: 'a policy',
    write: (server) => server.root.write('sys/policies/acl/old', policy('deny')),
    see: async (server) =>
      (await (await tokenOf(server)).write('sys/capabilities-self', { path: 'x' })).body.data?.capabilities,
    before: ['read'],
    after: ['deny'],
  },
  {
    what: 'a policy that goes',
    write: (server) => server.root.delete('sys/policies/acl/old'),
    see: async (server) =>
      (await (await tokenOf(server)).write('sys/capabilities-self', { path: 'x' })).body.data?.capabilities,
    before: ['read'],
    after: ['deny'],
  },
  {
    what: 'a new mount',
    write: (server) => server.root.write('sys/auth/second', { type: 'jwt' }),
    see: async (server) => (await server.root.read('sys/auth/second')).status,
    before: 400,
    after: 200,
  },
  {
    what: 'a mount that goes',
    write: (server) => server.root.delete('sys/auth/jwt'),
    see: async (server) => (await login(server)).status,
    before: 200,
    after: 404,
  },
  {
    what: 'the tuning of a mount',
    write: (server) => server.root.write('sys/auth/jwt/tune', { description: 'new' }),
    see: async (server) => (await server.root.read('sys/auth/jwt')).body.data?.description,
    before: '',
    after: 'new',
  },
]

test.each(rows)(
  '$what: a commit that failed after it was durable is visible as stored',
  async ({ write, see, before, after }) => {
    const faults = new StorageFaults()
    await using server = await startTestServer({ faults })
    await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
    await server.root.write('auth/jwt/role/dev', role)
    await server.root.write('sys/policies/acl/old', policy('read'))
    expect(await see(server)).toEqual(before)

    faults.arm('storage.after-commit', 'io')
    expect(await write(server)).toMatchObject({ status: 503 })

    expect(await see(server)).toEqual(after)
  },
)

test('a token whose revocation failed after it was durable is refused', async () => {
  const faults = new StorageFaults()
  await using server = await startTestServer({ faults })
  const { auth } = (await server.root.write('auth/token/create', { policies: ['default'] })).body
  const caller = server.as(String(auth?.client_token))
  expect(await caller.read('auth/token/lookup-self')).toMatchObject({ status: 200 })

  faults.arm('storage.after-commit', 'io')
  expect(await caller.write('auth/token/revoke-self')).toMatchObject({ status: 503 })

  expect(await caller.read('auth/token/lookup-self')).toMatchObject({ status: 403 })
})

test.each(['storage.before-commit', 'storage.after-commit'] as const)(
  'with a failure at %s, a change and its earlier form are both stored, or neither is',
  async (point) => {
    const faults = new StorageFaults()
    await using server = await startTestServer({ faults })
    await server.root.write('auth/jwt/role/dev', role)

    faults.arm(point, 'io')
    expect(await server.root.write('auth/jwt/role/dev', { ...role, token_ttl: 60 })).toMatchObject({
      status: 503,
    })

    const isStored = (await server.root.read('auth/jwt/role/dev')).body.data?.token_ttl === (60 as unknown)
    const { versions } = (await server.root.read('auth/jwt/role/dev?history=true')).body.data ?? {}
    expect(isStored).toBe(point === 'storage.after-commit')
    expect(versions).toHaveLength(isStored ? 2 : 1)
  },
)
