import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Token } from '../../../src/core/tokens/store/token.ts'
import { changedTokenRole } from '../../../src/core/tokens/store/token-role.ts'
import { openPostgresCores, type SharedCore } from '../../support/postgres-cores.ts'

let servers: Awaited<ReturnType<typeof openPostgresCores>>
let one: SharedCore
let other: SharedCore
let root: Token
let names = 0

beforeAll(async () => {
  servers = await openPostgresCores()
  ;({ one, other } = servers)
  root = await valid(one, 'root')
})
afterAll(async () => {
  await servers[Symbol.asyncDispose]()
})

async function valid({ tokens }: SharedCore, id: string): Promise<Token> {
  const token = await tokens.lookup(id)
  if (token === undefined) throw new Error('the token is not valid')
  return token
}
const isValid = async ({ tokens }: SharedCore, id: string) => (await tokens.lookup(id)) !== undefined
const newName = () => ({ name: `user-${names++}`, metadata: {} })
const login = async (server: SharedCore, auth: Parameters<SharedCore['login']>[0] = {}) =>
  (await server.login({ alias: newName(), ...auth })).auth
const isStored = async ({ tokens }: SharedCore, accessor: string) =>
  (await tokens.tokenByHash(tokens.keys.hashOf(accessor))) !== undefined
const succeeded = (results: PromiseSettledResult<unknown>[]) =>
  results.filter(({ status }) => status === 'fulfilled')
/** Calls at one server and the other in turn, all at once. */
const everywhere = <T>(count: number, call: (server: SharedCore, at: number) => Promise<T>) =>
  Promise.allSettled(Array.from({ length: count }, (_, at) => call(at % 2 === 0 ? one : other, at)))

describe('a token', () => {
  test('is valid on every server until one of them revokes it', async () => {
    const { client_token: id, accessor } = await login(one)
    expect(await isValid(other, id)).toBe(true)

    await one.revoker.revoke(accessor)
    await other.hear()

    expect(await isValid(other, id)).toBe(false)
  })

  test('is shown on every server as another one has renewed it', async () => {
    const { client_token: id, accessor } = await login(one)
    await valid(other, id)

    await one.tokens.change(one.tokens.keys.hashOf(accessor), (token) => ({ ...token, last_renewal: 7 }))
    await other.hear()

    expect((await valid(other, id)).last_renewal).toBe(7)
  })

  test('that was revoked before its issuer caches it is not valid on any server', async () => {
    const { accessor: _, ...draft } = root
    const minted = one.tokens.mint({ ...draft, path: 'auth/token/create', ttl: 60, policies: ['web'] })
    await one.view.write(minted.entries)
    await other.revoker.revoke(minted.token.accessor)
    await one.hear()

    one.tokens.remember(minted)

    expect(await isValid(one, minted.id)).toBe(false)
  })

  test('with a chosen id is made by one of two servers', async () => {
    const made = await everywhere(8, (server) => server.create({ id: 'one-of-many' }, root))

    expect(succeeded(made)).toHaveLength(1)
  })

  test('with the chosen id of a former one is valid where the former one is cached', async () => {
    await one.create({ id: 'again', policies: ['web'], ttl: '1m' }, root)
    await valid(other, 'again')
    servers.clock.advance(120)
    await one.revoker.sweep()
    await one.create({ id: 'again', policies: ['db'] }, root)
    await other.hear()

    expect((await valid(other, 'again')).policies).toContain('db')
  })
})

describe('the end of a token', () => {
  /** A parent with a child, both cached on the other server, and a revocation that stops after its first write. */
  async function brokenCascade() {
    const parent = await login(one)
    const { auth: child } = await one.create({}, await valid(one, parent.client_token))
    await valid(other, child.client_token)
    const { keys } = one.tokens
    await one.tokens.change(keys.hashOf(parent.accessor), (token) => ({ ...token, expire_time: 1 }))
    return { parent, child }
  }

  test('ends its children on every server before their records are gone', async () => {
    const { child } = await brokenCascade()
    await other.hear()

    expect(await isStored(other, child.accessor)).toBe(true)
    expect(await isValid(other, child.client_token)).toBe(false)
  })

  test('ends 500 children everywhere at once, before any of their records is removed', async () => {
    const parent = await valid(one, (await login(one)).client_token)
    const { accessor: _, ...draft } = { ...parent, parent: parent.accessor, ttl: 600 }
    const children = Array.from({ length: 500 }, () => one.tokens.mint(draft))
    await one.view.write(children.flatMap(({ entries }) => entries))
    for (const { id } of children) await valid(other, id)
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    one.revoker.onRevoked(() => released)

    const revoking = one.revoker.revoke(parent.accessor)
    while ((await one.tokens.lookupByAccessor(parent.accessor)) !== undefined) await one.hear()
    await other.hear()
    const areValid = await Promise.all(children.map(({ id }) => isValid(other, id)))
    const areStored = await Promise.all(children.map(({ token }) => isStored(other, token.accessor)))
    release()
    await revoking

    expect(areValid).not.toContain(true)
    expect(areStored).not.toContain(false)
    expect(await one.tokens.childrenOf(one.tokens.keys.hashOf(parent.accessor), 1)).toEqual([])
  })

  test('is completed by another server if the first one was killed', async () => {
    const { parent, child } = await brokenCascade()

    await other.revoker.sweep()

    expect(await isStored(one, child.accessor)).toBe(false)
    expect(await isStored(one, parent.accessor)).toBe(false)
  })

  test('ends a lease that another server issues meanwhile', async () => {
    const { client_token: id, accessor } = await login(one)
    const token = await valid(other, id)
    await one.revoker.revoke(accessor)

    const issued = other.leases.issue({
      caller: { token },
      mount: other.mount('practice/'),
      path: 'practice/creds/ci',
      secret: { ttl: 60, maxTtl: 60, renewable: true, internal: {} },
    })

    await expect(issued).rejects.toThrow('permission denied')
    expect(await one.leases.list('root', 'practice/creds/')).toEqual([])
  })

  test('refuses a child that another server makes meanwhile', async () => {
    const { client_token: id, accessor } = await login(one)
    const parent = await valid(other, id)
    await one.revoker.revoke(accessor)

    await expect(other.create({}, parent)).rejects.toThrow('parent token not found')
  })

  test('of an entity ends all its tokens on every server, also batch tokens, but none issued later', async () => {
    const alias = newName()
    const service = await login(one, { alias })
    const batch = await login(one, { alias, tokenType: 'batch' })
    for (const { client_token: id } of [service, batch]) await valid(other, id)

    await one.tokens.cutOffs.set([service.entity_id])
    await other.hear()

    for (const { client_token: id } of [service, batch]) expect(await isValid(other, id)).toBe(false)
    const later = await login(other, { alias })
    for (const server of [one, other]) expect(await isValid(server, later.client_token)).toBe(true)
  })

  test('counts each cut-off of an entity that two servers make at once', async () => {
    const { entity_id } = await login(one)

    await everywhere(10, (server) => server.tokens.cutOffs.set([entity_id]))
    await Promise.all([one.hear(), other.hear()])

    expect([one, other].map(({ tokens }) => tokens.cutOffs.of(entity_id))).toEqual([10, 10])
  })

  test('is completed by tidies on two servers at once', async () => {
    const alias = newName()
    const made = await Promise.all(Array.from({ length: 30 }, () => login(one, { alias })))
    await one.tokens.cutOffs.set([made[0]?.entity_id ?? ''])
    await other.hear()

    for (const { tidy } of [one, other]) tidy.start()
    await Promise.all([one.tidy.idle(), other.tidy.idle()])

    const areStored = await Promise.all(made.map(({ accessor }) => isStored(one, accessor)))
    expect(areStored).not.toContain(true)
    expect(one.tokens.cutOffs.unswept().size).toBe(0)
  })

  test('is not decided by a tidy that has an old copy of its parent', async () => {
    const parent = await login(one, { ttl: 60 })
    const { auth: child } = await one.create({ ttl: '1h' }, await valid(one, parent.client_token))
    await valid(other, child.client_token)
    const now = servers.clock.now()
    const renewed = (token: Token) => ({ ...token, expire_time: now + 3_600_000 })
    await one.tokens.change(one.tokens.keys.hashOf(parent.accessor), renewed)
    servers.clock.advance(120)

    other.tidy.start()
    await other.tidy.idle()

    expect(await isStored(one, child.accessor)).toBe(true)
  })
})

describe('exactly as often as allowed, on two servers together', () => {
  test('a token is used', async () => {
    const { client_token: id } = await login(one, { numUses: 15 })

    const used = await everywhere(40, async (server) => {
      const token = await server.tokens.spendUse(await valid(server, id))
      if (token === undefined) throw new Error('no use is left')
      return token.num_uses
    })

    const left = succeeded(used).map((result) => 'value' in result && result.value)
    expect(left.toSorted((a, b) => Number(b) - Number(a))).toEqual([
      ...Array.from({ length: 14 }, (_, at) => 14 - at),
      -1,
    ])
    expect(await isValid(other, id)).toBe(false)
  })

  test('a wrapped response is unwrapped or moved', async () => {
    const { token: id } = await one.wrapper.wrap({
      namespace: 'root',
      path: 'p',
      ttl: 60,
      body: 'secret',
      status: 200,
      wrappedAccessor: '',
    })

    const results = await everywhere(10, async (server, at) => {
      const token = await server.wrapper.find(id)
      if (token === undefined) throw new Error('not a wrapping token')
      return at % 3 === 0 ? server.wrapper.rewrap(token, 0) : server.wrapper.unwrap(token)
    })

    expect(succeeded(results)).toHaveLength(1)
  })

  test('a one-time proof is accepted', async () => {
    const proof = { of: 'jti-1', endsAt: servers.clock.now() + 60_000 }

    const logins = await everywhere(10, (server) => login(server, { proof }))

    expect(succeeded(logins)).toHaveLength(1)
  })
})

describe('a token role', () => {
  test('is the same on every server', async () => {
    const write = (policies: string[]) =>
      one.tokenRoles.change('root', 'ci', (before) =>
        changedTokenRole(before, { allowed_policies: policies }),
      )
    await write(['a'])
    await other.tokenRoles.find('root', 'ci')

    await write(['b'])
    await other.hear()
    const changed = await other.tokenRoles.find('root', 'ci')
    await one.tokenRoles.remove('root', 'ci')
    await other.hear()

    expect(changed?.record.allowed_policies).toEqual(['b'])
    expect(await other.tokenRoles.find('root', 'ci')).toBeUndefined()
  })
})
