import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { type Answer, type Client, inside } from '../support/client.ts'
import { startCredentialProvider } from '../support/credential-provider.ts'
import { errors } from '../support/error-bodies.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startInFolder } from '../support/folder-server.ts'
import { practiceType } from '../support/practice-type.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const stack = new AsyncDisposableStack()
const clock = new FakeClock()
const rules = 'sys/quotas/lease-count'
const signer = aSigner('ES256', { kid: 'a' })
let server: TestServer
let provider: Awaited<ReturnType<typeof startCredentialProvider>>
let number = 0

beforeAll(async () => {
  provider = stack.use(await startCredentialProvider())
  const roles = new Map([['ci', { ttl: 60, maxTtl: 0, renewable: true }]])
  const plugins = [practiceType({ providerUrl: provider.url, roles })]
  server = stack.use(await startTestServer({ clock, plugins }))
  await server.root.write('sys/namespaces/ns1')
  await server.root.write('sys/namespaces/below', {}, inside('ns1'))
})
afterAll(() => stack.disposeAsync())
afterEach(async () => {
  const { body } = await server.root.list(rules)
  for (const name of (body['data']?.['keys'] ?? []) as unknown as string[])
    await server.root.delete(`${rules}/${name}`)
})

const over = (path: string) => ({
  status: 429,
  body: errors(`request path "${path}": lease count quota exceeded`),
})
const limit = async (name: string, rule: object) =>
  expect(await server.root.write(`${rules}/${name}`, rule)).toMatchObject({ status: 204 })
const counter = async (name: string) => (await server.root.read(`${rules}/${name}`)).body.data?.['counter']

/** A new mount for logins with the roles `r` and `s`; `batch` is a role for batch tokens. */
async function aLoginMount(namespace = '', root: Client = server.root, at = inside(namespace)) {
  const name = `jwt${++number}`
  await root.write(`sys/auth/${name}`, { type: 'jwt' }, at)
  await root.write(`auth/${name}/config`, { jwt_validation_pubkeys: [signer.pem] }, at)
  const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'alice', token_ttl: 600 }
  for (const one of ['r', 's']) await root.write(`auth/${name}/role/${one}`, role, at)
  await root.write(`auth/${name}/role/batch`, { ...role, token_type: 'batch' }, at)
  return `auth/${name}`
}
const jwtAt = (ms: number) =>
  signer.sign({ iss: 'https://ci', sub: 'alice', iat: ms / 1000, exp: ms / 1000 + 3600 })
const logIn = (mount: string, { role = 'r', namespace = '', client = server.anonymous } = {}) =>
  client.write(`${mount}/login`, { role, jwt: jwtAt(clock.now()) }, inside(namespace))
const revoke = ({ body }: Answer) =>
  server.root.write('auth/token/revoke', { token: body.auth?.client_token })

describe('a rule on a mount', () => {
  test('refuses a login when there are as many live tokens of it, until one of them ends', async () => {
    const mount = await aLoginMount()
    const earlier = await logIn(mount)
    await limit('a', { path: mount, max_leases: 2 })

    expect((await logIn(mount)).status).toBe(200)
    expect(await logIn(mount)).toMatchObject(over(`${mount}/login`))
    expect(await counter('a')).toBe(2)
    expect((await revoke(earlier)).status).toBe(204)
    expect(await counter('a')).toBe(1)
    expect((await logIn(mount)).status).toBe(200)
    expect((await logIn(mount)).status).toBe(429)
  })

  test('admits no more logins at once than there is room for', async () => {
    await using alone = await startTestServer({ clock, settings: { STORAGE: 'memory:' } })
    const mount = await aLoginMount('', alone.root)
    await alone.root.write(`${rules}/a`, { path: mount, max_leases: 3 })

    const answers = await Promise.all(
      Array.from({ length: 10 }, () => logIn(mount, { client: alone.anonymous })),
    )

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(7)
    expect((await alone.root.read(`${rules}/a`)).body.data).toMatchObject({ counter: 3 })
  })

  test('counts an expired token no more', async () => {
    const mount = await aLoginMount()
    await limit('a', { path: mount, max_leases: 1 })
    await logIn(mount)

    clock.advance(600)

    expect(await counter('a')).toBe(0)
    expect((await logIn(mount)).status).toBe(200)
  })

  test('does not count batch tokens, and refuses none', async () => {
    const mount = await aLoginMount()
    await limit('a', { path: mount, max_leases: 1 })

    expect((await logIn(mount, { role: 'batch' })).status).toBe(200)
    expect((await logIn(mount)).status).toBe(200)
    expect((await logIn(mount, { role: 'batch' })).status).toBe(200)
    expect(await counter('a')).toBe(1)
  })

  test('does not count refused logins', async () => {
    const mount = await aLoginMount()
    await limit('a', { path: mount, max_leases: 1 })

    expect((await logIn(mount, { role: 'none' })).status).toBe(400)
    expect(await counter('a')).toBe(0)
    expect((await logIn(mount)).status).toBe(200)
  })

  test('counts created tokens, but neither root tokens nor those that hold a wrapped response', async () => {
    await limit('a', { path: 'auth/token', max_leases: 1_000 })
    const before = Number(await counter('a'))
    await limit('a', { path: 'auth/token', max_leases: before + 1 })

    const create = (fields: object) => server.root.write('auth/token/create', fields)
    expect((await create({ policies: ['root'] })).status).toBe(200)
    const wrapped = await server.root.read('sys/mounts', { headers: { 'X-Vault-Wrap-TTL': '60' } })
    expect(wrapped.status).toBe(200)
    expect((await create({ policies: ['a'] })).status).toBe(200)
    expect(await create({ policies: ['a'] })).toMatchObject(over('auth/token/create'))
    expect((await create({ policies: ['a'], type: 'batch' })).status).toBe(200)
    expect(await counter('a')).toBe(before + 1)
  })

  test('refuses a secret before it is made, until a lease is revoked', async () => {
    await server.root.write('sys/mounts/engine', { type: 'practice' })
    await limit('a', { path: 'engine', max_leases: 1 })
    const first = await server.root.read('engine/creds/ci')
    expect(first.status).toBe(200)

    expect(await server.root.read('engine/creds/ci')).toMatchObject(over('engine/creds/ci'))

    // the one that had no lease is gone
    await expect.poll(() => provider.alive.size).toBe(1)
    expect(await counter('a')).toBe(1)
    expect((await server.root.read('engine/notes/none')).status).toBe(404)
    await server.root.write('sys/leases/revoke', { lease_id: first.body.lease_id, sync: true })
    expect((await server.root.read('engine/creds/ci')).status).toBe(200)
  })

  test('ends with the mount', async () => {
    const mount = await aLoginMount()
    await limit('a', { path: mount, max_leases: 1 })

    await server.root.delete(`sys/${mount}`)

    await expect.poll(async () => (await server.root.read(`${rules}/a`)).status).toBe(404)
  })
})

describe('the most specific rule decides', () => {
  test('a role, a glob, the mount, then the namespace', async () => {
    const mount = await aLoginMount('ns1')
    await limit('namespace', { path: 'ns1', max_leases: 1 })
    await limit('mount', { path: `ns1/${mount}`, max_leases: 2 })
    await limit('glob', { path: `ns1/${mount}/log*`, max_leases: 3 })
    await limit('role', { path: `ns1/${mount}`, role: 's', max_leases: 4 })
    const made = async (role: string, namespace = 'ns1', at = mount) => {
      const answers = []
      for (let sent = 0; sent < 6; sent += 1) answers.push((await logIn(at, { role, namespace })).status)
      return answers.filter((status) => status === 200).length
    }

    expect(await made('s')).toBe(4)
    expect(await made('r')).toBe(3)
    expect(await made('r', 'ns1', await aLoginMount('ns1'))).toBe(1)
    expect(await Promise.all(['role', 'glob', 'mount', 'namespace'].map(counter))).toEqual([4, 3, 0, 1])
    // what a rule counted counts under the next one
    await server.root.delete(`${rules}/glob`)
    expect(await counter('mount')).toBe(3)
  })

  test('a rule on a namespace applies below it only if it is inheritable', async () => {
    const mount = await aLoginMount('ns1/below')
    const inBelow = () => logIn(mount, { namespace: 'ns1/below' })
    await limit('a', { path: 'ns1', max_leases: 1_000 })
    const before = Number(await counter('a'))
    await limit('a', { path: 'ns1', max_leases: before + 1 })
    expect((await inBelow()).status).toBe(200)
    expect((await inBelow()).status).toBe(200)
    expect(await counter('a')).toBe(before)

    await limit('a', { path: 'ns1', max_leases: before + 3, inheritable: true })

    expect(await counter('a')).toBe(before + 2)
    expect((await inBelow()).status).toBe(200)
    expect(await inBelow()).toMatchObject(over(`${mount}/login`))
  })

  test('a rule without a path counts everything, and spares its own removal', async () => {
    const mount = await aLoginMount('ns1/below')
    await limit('all', { max_leases: 1 })

    expect((await logIn(mount, { namespace: 'ns1/below' })).status).toBe(429)
    expect((await server.root.delete(`${rules}/all`)).status).toBe(204)
    expect((await logIn(mount, { namespace: 'ns1/below' })).status).toBe(200)
  })
})

describe('the calls', () => {
  test('read shows the rule and its counter, list the names', async () => {
    const mount = await aLoginMount()
    await limit('b', { path: mount, role: 'r', max_leases: '5' })
    await limit('a', { max_leases: 100_000 })

    expect((await server.root.read(`${rules}/b`)).body.data).toEqual({
      type: 'lease-count',
      name: 'b',
      path: `${mount}/`,
      role: 'r',
      max_leases: 5,
      counter: 0,
      inheritable: false,
    })
    expect((await server.root.read(`${rules}/a`)).body.data).toMatchObject({ path: '', inheritable: true })
    expect((await server.root.list(rules)).body.data).toEqual({ keys: ['a', 'b'] })
    expect((await server.root.delete(`${rules}/b`)).status).toBe(204)
    expect(await server.root.read(`${rules}/b`)).toMatchObject({ status: 404, body: errors() })
  })

  test.each([
    { rule: {}, text: "'max_leases' is invalid" },
    { rule: { max_leases: -1 }, text: "'max_leases' is invalid" },
    { rule: { max_leases: 1, path: 'nope' }, text: 'invalid mount path "nope/"' },
    {
      rule: { max_leases: 1, path: 'auth/token', role: 'r' },
      text: 'Mount path "auth/token/" does not support use with role-based quotas',
    },
    {
      rule: { max_leases: 1, path: 'auth/jwt', inheritable: true },
      text: 'only namespace quotas can be configured as inheritable',
    },
    { rule: { max_leases: 1, inheritable: false }, text: 'all global quotas must be inheritable' },
  ])('$rule is refused', async ({ rule, text }) => {
    expect(await server.root.write(`${rules}/a`, rule)).toMatchObject({ status: 400, body: errors(text) })
  })

  test('a rule like another one of its kind is refused, one like a rate limit is not', async () => {
    await limit('a', { path: 'cubbyhole', max_leases: 1 })

    expect(await server.root.write(`${rules}/b`, { path: 'cubbyhole', max_leases: 1 })).toMatchObject({
      status: 400,
      body: errors('quota rule with similar properties exists under the name "a"'),
    })
    const rate = await server.root.write('sys/quotas/rate-limit/a', { path: 'cubbyhole', rate: 1000 })
    expect(rate.status).toBe(204)
    await server.root.delete('sys/quotas/rate-limit/a')
  })
})

test('rules and what they count survive a restart', async () => {
  await using folder = await temporaryFolder()
  const first = await startInFolder({ folder: folder.path })
  const root = first.as(first.rootToken)
  const mount = await aLoginMount('', root)
  const now = Math.floor(Date.now() / 1000)
  const jwt = jwtAt(now * 1000)
  await root.write(`${rules}/a`, { path: mount, max_leases: 2 })
  await first.anonymous.write(`${mount}/login`, { role: 'r', jwt })
  await first.stop()
  await using second = await startInFolder({ folder: folder.path })

  const statuses = []
  for (let sent = 0; sent < 2; sent += 1)
    statuses.push((await second.anonymous.write(`${mount}/login`, { role: 'r', jwt })).status)

  expect(statuses).toEqual([200, 429])
  expect((await second.as(first.rootToken).read(`${rules}/a`)).body.data).toMatchObject({ counter: 2 })
})
