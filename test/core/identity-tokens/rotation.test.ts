import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openBarrier } from '../../../src/core/barrier/barrier.ts'
import type { Entity } from '../../../src/core/identity/entities/entity.ts'
import { IdentityTokens } from '../../../src/core/identity-tokens/identity-tokens.ts'
import { dueRotations } from '../../../src/core/identity-tokens/issuer-keys.ts'
import { keyRotator } from '../../../src/core/identity-tokens/key-rotator.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { openSqlite } from '../../../src/storage/sqlite/sqlite.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { noMounts } from './no-mounts.ts'

const mount = 'mount-uuid'
const place = { mount, namespace: { id: 'root', path: '' } }
const hour = 3600

const entity: Entity = {
  id: 'entity-1',
  name: 'bob',
  namespace_id: 'root',
  metadata: null,
  policies: [],
  disabled: false,
  merged_entity_ids: null,
  aliases: [],
  creation_time: '',
  last_update_time: '',
}

/**
 * An issuer over a file, with a key `k` (ES256, rotated hourly, published for two hours) and a role `r`;
 * `restarted` opens it again.
 */
async function anIssuer() {
  const folder = await temporaryFolder()
  const clock = new FakeClock(Date.UTC(2026, 0, 2))
  const sealKey = randomBytes(32)
  const problems: unknown[] = []
  const open = async () => {
    const storage = await openSqlite({ path: folder.file('gatehouse.db'), allowNetworkDisk: true })
    const barrier = await openBarrier({
      storage,
      sealKey,
      clock,
      random: systemRandom,
      log: { error: () => {} },
    })
    const root = barrier.view('')
    const identityOf = async () => ({ entity, policies: [], groups: [], policiesByNamespace: [] })
    const tokens = new IdentityTokens({
      root,
      clock,
      random: systemRandom,
      apiAddr: 'https://gate',
      identityOf,
      keyMounts: noMounts(root),
    })
    const rotator = keyRotator({
      root,
      keys: tokens.keys,
      clock,
      intervalMs: 1000,
      onError: (error) => problems.push(error),
    })
    return { storage, root, tokens, rotator }
  }
  let current = await open()
  await current.tokens.keys.write(mount, 'k', {
    algorithm: 'ES256',
    rotation_period: hour,
    verification_ttl: 2 * hour,
    allowed_client_ids: ['*'],
  })
  await current.tokens.roles.write(mount, 'r', { key: 'k', ttl: 2 * hour })
  return {
    clock,
    problems,
    get root() {
      return current.root
    },
    get rotator() {
      return current.rotator
    },
    get tokens() {
      return current.tokens
    },
    async restarted() {
      await current.storage[Symbol.asyncDispose]()
      current = await open()
    },
    token: async () => (await current.tokens.issue(place, 'r', 'entity-1')).token,
    problemOf: (token: string) => current.tokens.problemOf(place, token, ''),
    publishedIds: async () => [...(await current.tokens.published.of(mount)).byId.keys()],
    dueRows: async () => (await current.root.listKeys(dueRotations)).length,
    async [Symbol.asyncDispose]() {
      await current.storage[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const kidOf = (token: string): unknown =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString('utf8')).kid

test('a key rotates once per period, and the new signing pair was published before', async () => {
  await using issuer = await anIssuer()
  const [signing, next] = await issuer.publishedIds()

  expect(await issuer.rotator.run()).toBe(0)
  issuer.clock.advance(hour - 1)
  expect(await issuer.rotator.run()).toBe(0)
  expect(kidOf(await issuer.token())).toBe(signing)
  issuer.clock.advance(1)
  expect(await issuer.rotator.run()).toBe(1)
  expect(await issuer.rotator.run()).toBe(0)
  expect(kidOf(await issuer.token())).toBe(next)
  issuer.clock.advance(hour)
  expect([await issuer.rotator.run(), await issuer.dueRows(), issuer.problems]).toEqual([1, 1, []])
})

test('tokens of the former key are valid as long as it is published', async () => {
  await using issuer = await anIssuer()
  issuer.clock.advance(hour)
  const token = await issuer.token()
  await issuer.rotator.run()

  issuer.clock.advance(2 * hour - 1)
  expect(await issuer.problemOf(token)).toBeUndefined()
  issuer.clock.advance(1)
  expect(await issuer.problemOf(token)).toBe('unable to validate the token signature')
  expect((await issuer.publishedIds()).length).toBe(2)
})

test('a manual rotation uses the grace of the key or of the request, and the next period begins now', async () => {
  await using issuer = await anIssuer()
  const first = await issuer.token()
  issuer.clock.advance(hour / 2)
  await issuer.tokens.keys.rotate(mount, 'k', undefined)
  const second = await issuer.token()
  await issuer.tokens.keys.rotate(mount, 'k', 0)
  const third = await issuer.token()

  expect([await issuer.problemOf(first), await issuer.problemOf(third)]).toEqual([undefined, undefined])
  expect(await issuer.problemOf(second)).toBe('unable to validate the token signature')
  issuer.clock.advance(hour / 2)
  expect(await issuer.rotator.run()).toBe(0)
  issuer.clock.advance(hour / 2)
  expect(await issuer.rotator.run()).toBe(1)
})

test('after a week of downtime each key rotates once, and older tokens fail only because they have expired', async () => {
  await using issuer = await anIssuer()
  const token = await issuer.token()
  await issuer.restarted()

  expect(await issuer.problemOf(token)).toBeUndefined()
  await issuer.restarted()
  issuer.clock.advance(7 * 24 * hour)
  expect(await issuer.rotator.run()).toBe(1)
  expect(await issuer.rotator.run()).toBe(0)
  expect(await issuer.problemOf(token)).toMatch(/^error validating claims: /)
  expect((await issuer.publishedIds()).length).toBe(3)
})

test('of several concurrent rotations, one takes effect', async () => {
  await using issuer = await anIssuer()
  const rotators = [1, 2, 3].map(() =>
    keyRotator({
      root: issuer.root,
      keys: issuer.tokens.keys,
      clock: issuer.clock,
      intervalMs: 1,
      onError: () => {},
    }),
  )
  issuer.clock.advance(hour)

  const counts = await Promise.all(rotators.map((rotator) => rotator.run()))

  expect(counts.reduce<number>((sum, count) => sum + (count ?? 0), 0)).toBe(1)
})

test('two processes over one store rotate a key once', async () => {
  await using issuer = await anIssuer()
  const identityOf = async () => undefined
  const other = new IdentityTokens({
    root: issuer.root,
    clock: issuer.clock,
    random: systemRandom,
    apiAddr: '',
    identityOf,
    keyMounts: noMounts(issuer.root),
  })
  const due = async () => {
    const [key = ''] = await issuer.root.listKeys(dueRotations)
    const [at = '', , name = ''] = key.slice(dueRotations.length).split('/')
    return { at: Number(at), mount, name }
  }
  issuer.clock.advance(hour)
  const row = await due()

  const did = await Promise.all([issuer.tokens.keys.rotateDue(row), other.keys.rotateDue(row)])

  expect(did.filter(Boolean).length).toBe(1)
  expect(await issuer.dueRows()).toBe(1)
})

test('a changed period moves the rotation, and a removed key is no longer rotated', async () => {
  await using issuer = await anIssuer()
  await issuer.tokens.roles.write(mount, 'r', { ttl: 60 })
  await issuer.tokens.keys.write(mount, 'k', { rotation_period: 60, verification_ttl: 60 })
  issuer.clock.advance(60)

  expect([await issuer.rotator.run(), await issuer.dueRows()]).toEqual([1, 1])
  await issuer.tokens.roles.remove(mount, 'r')
  await issuer.tokens.keys.remove(mount, 'k')
  expect(await issuer.dueRows()).toBe(0)
})

test('the keys of a removed namespace are no longer rotated', async () => {
  await using issuer = await anIssuer()
  await issuer.root.deletePrefix(`mount/${mount}/`)
  issuer.clock.advance(hour)

  expect([await issuer.rotator.run(), await issuer.dueRows(), issuer.problems]).toEqual([0, 0, []])
  expect(await issuer.root.listKeys(`mount/${mount}/`)).toEqual([])
})

test('a key that cannot be read does not stop the others from rotating', async () => {
  await using issuer = await anIssuer()
  await issuer.tokens.keys.write(mount, 'l', {
    algorithm: 'EdDSA',
    rotation_period: hour,
    verification_ttl: hour,
  })
  await issuer.root.write([{ key: `mount/${mount}/oidc/key/k`, value: 'damaged' }])
  issuer.clock.advance(hour)

  expect([await issuer.rotator.run(), issuer.problems.length]).toEqual([1, 1])
})

test('a role written while its key is removed either keeps its key or is refused', async () => {
  await using issuer = await anIssuer()
  const identityOf = async () => undefined
  const other = new IdentityTokens({
    root: issuer.root,
    clock: issuer.clock,
    random: systemRandom,
    apiAddr: '',
    identityOf,
    keyMounts: noMounts(issuer.root),
  })
  for (let round = 0; round < 5; round++) {
    await issuer.tokens.keys.write(mount, `x${round}`, { algorithm: 'EdDSA' })
    const [written, removed] = await Promise.allSettled([
      issuer.tokens.roles.write(mount, `x${round}`, { key: `x${round}` }),
      other.keys.remove(mount, `x${round}`),
    ])
    expect([written.status, removed.status].sort()).toEqual(['fulfilled', 'rejected'])
  }
})
