import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ViewEntry } from '../../../src/core/barrier/view.ts'
import { putEntity } from '../../../src/core/identity/entities/entity-changes.ts'
import type { Token } from '../../../src/core/tokens/store/token.ts'
import { changedTokenRole } from '../../../src/core/tokens/store/token-role.ts'
import { Client } from '../../support/client.ts'
import { newDatabase } from '../../support/postgres.ts'
import { openPostgresCores, type SharedCore } from '../../support/postgres-cores.ts'
import { startTestServer } from '../../support/start-server.ts'

/** What a call needs that another one has made. */
type Made = { token: Token; name: string; entity: string; lease: string }

let servers: Awaited<ReturnType<typeof openPostgresCores>>
let one: SharedCore
let group: string
let made: Made
let names = 0

beforeAll(async () => {
  servers = await openPostgresCores()
  one = servers.one
  const made = await one.groups.put({ namespace: 'root', fields: { type: 'external' } })
  group = made.group.id
  const mountAccessor = one.mount('auth/jwt/').accessor
  await one.groups.putAlias({ namespace: 'root', name: 'team', mountAccessor, canonicalId: group })
})
afterAll(async () => {
  await servers[Symbol.asyncDispose]()
})

const lookup = async (id: string): Promise<Token> => {
  const token = await one.tokens.lookup(id)
  if (token === undefined) throw new Error('the token is not valid')
  return token
}
const aliasOf = (name: string, team = 'a') => ({ name, metadata: { team } })
const newName = () => `user-${names++}`
const issueLease = async (token: Token, alongside?: () => ViewEntry[]) =>
  (
    await one.leases.issue({
      caller: { token },
      mount: one.mount('practice/'),
      path: 'practice/creds/ci',
      secret: { ttl: 60, maxTtl: 600, renewable: true, internal: {}, ...(alongside && { alongside }) },
    })
  ).id
const wrap = async () =>
  (
    await one.wrapper.wrap({
      namespace: 'root',
      path: 'p',
      ttl: 60,
      body: 'b',
      status: 200,
      wrappedAccessor: '',
    })
  ).token
const wrapping = async () => {
  const token = await one.wrapper.find(await wrap())
  if (token === undefined) throw new Error('not a wrapping token')
  return token
}
const counted = async () =>
  lookup((await one.login({ alias: aliasOf(made.name), numUses: 2 })).auth.client_token)

async function prepare(): Promise<Made> {
  const name = newName()
  const { auth } = await one.login({ alias: aliasOf(name) })
  const token = await lookup(auth.client_token)
  const lease = await issueLease(token)
  return { token, name, entity: auth.entity_id, lease }
}

describe('other servers hear nothing of', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['a login of a known subject', () => one.login({ alias: aliasOf(made.name) })],
    [
      'the first login of a day',
      async () => {
        servers.clock.advance(86_400)
        await one.login({ alias: aliasOf(made.name) })
      },
    ],
    ['a first login', () => one.login({ alias: aliasOf(newName()) })],
    ['a first login with a group', () => one.login({ alias: aliasOf(newName()), groupNames: ['team'] })],
    [
      'a login with a one-time proof',
      () => one.login({ alias: aliasOf(made.name), proof: { of: newName(), endsAt: servers.clock.now() } }),
    ],
    ['a child token', () => one.create({}, made.token)],
    [
      'a use of a token, and the last one',
      async () => {
        const token = await counted()
        const left = await one.tokens.spendUse(token)
        if (left !== undefined) await one.tokens.spendUse(left)
      },
    ],
    [
      'the removal of a spent token',
      async () => {
        const { accessor } = await counted()
        await one.revoker.revoke(accessor)
      },
    ],
    ['a wrapped response', wrap],
    ['an unwrapping', async () => one.wrapper.unwrap(await wrapping())],
    ['a wrapped response that is moved', async () => one.wrapper.rewrap(await wrapping(), 0)],
    [
      'an entry of a cubbyhole',
      async () => {
        const cubbyhole = one.cubbyholes.of(made.token, 'root')
        await cubbyhole?.view.write([{ key: cubbyhole.cipher.keyOf('a'), value: { a: 1 } }])
        await one.cubbyholes.empty(made.token)
      },
    ],
    ['a lease', () => issueLease(made.token)],
    ['the renewal of a lease', () => one.leases.renew({ namespace: 'root', id: made.lease }, 0)],
    ['the end of a lease', () => one.leases.revoke({ namespace: 'root', id: made.lease }, { sync: true })],
    ['a sweep of leases', () => one.leases.owners.sweep()],
    [
      'the removal of expired tokens',
      async () => {
        servers.clock.advance(7_200)
        await one.revoker.sweep()
      },
    ],
  ])('%s', async (_, call) => {
    made = await prepare()
    const before = await servers.version()

    await call()

    expect(await servers.version()).toBe(before)
  })
})

describe('other servers hear of', () => {
  test.each<[string, () => Promise<unknown>]>([
    [
      'what an engine stores with a lease',
      () => {
        const view = one.mounts.viewOf(one.mount('practice/'))
        return issueLease(made.token, () => [view.fromRoot({ key: 'role', value: 1 })])
      },
    ],
    ['a revocation', () => one.revoker.revoke(made.token.accessor)],
    [
      'a renewal of a token',
      () =>
        one.tokens.change(one.tokens.keys.hashOf(made.token.accessor), (token) => ({
          ...token,
          last_renewal: 1,
        })),
    ],
    ['a token with a chosen id', async () => one.create({ id: newName() }, await lookup('root'))],
    [
      'a token that becomes an orphan',
      async () => {
        await one.create({}, made.token)
        await one.revoker.revokeOrphan(made.token.accessor)
      },
    ],
    ['a cut-off', () => one.tokens.cutOffs.set([made.entity])],
    ['a token role', () => one.tokenRoles.change('root', 'r', (before) => changedTokenRole(before, {}))],
    [
      'a change of an entity',
      () =>
        putEntity(one.identities, {
          namespace: 'root',
          id: made.entity,
          name: '',
          fields: { policies: ['p'] },
        }),
    ],
    ['a login that changes the metadata of an alias', () => one.login({ alias: aliasOf(made.name, 'b') })],
    ['a login that joins a group', () => one.login({ alias: aliasOf(made.name), groupNames: ['team'] })],
    [
      'a change of a group',
      () => one.groups.put({ namespace: 'root', id: group, fields: { policies: ['p'] } }),
    ],
  ])('%s', async (_, call) => {
    made = await prepare()
    const before = await servers.version()

    await call()

    expect(await servers.version()).not.toBe(before)
  })
})

test('a lookup of a token whose copy is current reads nothing from the database', async () => {
  const settings = {
    STORAGE: await newDatabase(),
    SEAL_KEY: '5e'.repeat(32),
    METRICS_LISTEN: '127.0.0.1:0',
    BACKGROUND: 'off',
  }
  await using server = await startTestServer({ settings })
  const watcher = new Client(`http://127.0.0.1:${server.server.metricsPort}`)
  /** Operations on the database until now, those of this scrape included. */
  const operations = async () =>
    (await watcher.read('/metrics')).text
      .split('\n')
      .filter((line) => line.startsWith('gatehouse_storage_operation_duration_seconds_count'))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  await server.root.write('auth/token/roles/ci', { allowed_entity_aliases: ['job'] })
  const made = await server.root.write('auth/token/create/ci', { entity_alias: 'job' })
  const client = server.as(String(made.body.auth?.client_token))
  await client.read('auth/token/lookup-self')
  // the first scrape counts what is stored
  await operations()
  const first = await operations()
  const ofAScrape = (await operations()) - first

  const found = await Promise.all(Array.from({ length: 20 }, () => client.read('auth/token/lookup-self')))

  expect(found.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
  expect(found[0]?.body.data?.entity_id).not.toBe('')
  expect(await operations()).toBe(first + 2 * ofAScrape)
})
