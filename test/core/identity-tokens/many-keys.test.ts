import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  IdentityTokens,
  type IdentityTokensParts,
} from '../../../src/core/identity-tokens/identity-tokens.ts'
import { type Random, systemRandom } from '../../../src/lib/system/random.ts'
import { type CoreView, openCoreView } from '../../support/core-view.ts'
import { noMounts } from './no-mounts.ts'

let core: CoreView
beforeAll(async () => {
  core = await openCoreView()
})
afterAll(() => core[Symbol.asyncDispose]())

/** Issuers over one store; the mounts of a test are its own. */
function openIssuers({
  random = systemRandom,
  keyMounts = {},
}: {
  readonly random?: Random
  readonly keyMounts?: Partial<IdentityTokensParts['keyMounts']>
} = {}) {
  const root = core.barrier.view('')
  return new IdentityTokens({
    root,
    clock: core.clock,
    random,
    apiAddr: 'https://gate',
    identityOf: async () => undefined,
    keyMounts: { ...noMounts(root), ...keyMounts },
  })
}
const elliptic = { algorithm: 'ES256' }

test('key pairs that a mount waits for hold up no other mount', async () => {
  const { keys, roles } = openIssuers()
  let made = 0
  const busy = Array.from({ length: 6 }, async (_, number) => {
    await keys.write('busy', `k${number}`, { algorithm: 'RS256' })
    made += 1
  })

  const role = roles.write('other', 'r', { key: 'default' }).then(() => made)
  const key = keys.write('other', 'small', elliptic).then(() => made)
  const sameRole = keys
    .write('busy', 'small', elliptic)
    .then(() => roles.write('busy', 'r', { key: 'small' }))

  expect(await key).toBeLessThan(4)
  expect(await role).toBeLessThan(6)
  await Promise.all([...busy, sameRole])
  expect(await roles.names('other')).toEqual(['r'])
  expect(await keys.names('other')).toEqual(['default', 'small'])
})

test('a key that is being changed holds up no role of another mount', async () => {
  const isChecking = Promise.withResolvers<void>()
  const maySettle = Promise.withResolvers<void>()
  const { keys, roles } = openIssuers({
    keyMounts: {
      checkSettings: async (_mount, name) => {
        if (name !== 'slow') return
        isChecking.resolve()
        await maySettle.promise
      },
    },
  })
  for (const mount of ['held', 'free']) await keys.write(mount, 'k', elliptic)
  const slow = keys.write('held', 'slow', elliptic)
  await isChecking.promise
  const behind = roles.write('held', 'r', { key: 'k' })

  await roles.write('free', 'r', { key: 'k' })

  expect([await roles.names('held'), await roles.names('free')]).toEqual([[], ['r']])
  maySettle.resolve()
  await Promise.all([slow, behind])
  expect(await roles.names('held')).toEqual(['r'])
})

test('first roles at the same time make the key pairs of `default` once', async () => {
  let made = 0
  const uuid = () => {
    made += 1
    return systemRandom.uuid()
  }
  const { roles } = openIssuers({ random: { ...systemRandom, uuid } })

  await Promise.all(['a', 'b', 'c'].map((name) => roles.write('first', name, { key: 'default' })))

  expect(await roles.names('first')).toEqual(['a', 'b', 'c'])
  // a pair that signs and the next one
  expect(made).toBe(2)
})

test('more new keys than may wait are refused', async () => {
  const { keys } = openIssuers()

  const outcomes = await Promise.allSettled(
    Array.from({ length: 200 }, (_, number) => keys.write('many', `k${number}`, elliptic)),
  )

  const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
  expect(refused.length).toBeGreaterThan(0)
  for (const { reason } of refused) expect(reason).toMatchObject({ kind: 'overloaded' })
  expect(await keys.names('many')).toHaveLength(200 - refused.length + 1)
  await keys.write('many', 'later', elliptic)
})
