import { expect, test } from 'vitest'
import type { LeaseQuota } from '../../../src/core/quotas/quota.ts'
import { openSharedCores, type SharedCore } from '../../support/shared-cores.ts'

const all: LeaseQuota = {
  name: 'all',
  namespace: 'root',
  mount: '',
  suffix: '',
  role: '',
  inheritable: true,
  maxLeases: 3,
}

/** Stores a token; false if there are too many. */
async function aToken({ tokens, view, mounts }: SharedCore): Promise<boolean> {
  const mount = mounts.table.at('root', 'auth/token/')
  if (mount === undefined) throw new Error('there is no token mount')
  const minted = tokens.mint({
    parent: '',
    namespace: 'root',
    policies: ['a'],
    path: 'auth/token/create',
    meta: null,
    display_name: 'token',
    num_uses: 0,
    ttl: 60,
    explicit_max_ttl: 0,
    period: 0,
    entity_id: '',
    bound_cidrs: [],
    type: 'service',
    renewable: true,
    mount_accessor: mount.accessor,
    internal: {},
  })
  return minted.within(() => view.write(minted.entries)).catch(() => false)
}

test('several servers count the tokens of all', async () => {
  await using servers = await openSharedCores()
  const { one, other } = servers
  await one.leaseQuotas.rules.put(() => all)
  await other.hear()

  const stored = []
  for (const server of [one, other, one, other, one]) stored.push(await aToken(server))

  expect(stored).toEqual([true, true, true, false, false])
  expect(await one.leaseQuotas.countOf('all')).toBe(3)
  expect(await other.leaseQuotas.countOf('all')).toBe(3)
})

test('a token whose write fails does not count', async () => {
  await using servers = await openSharedCores()
  const { one } = servers
  await one.leaseQuotas.rules.put(() => ({ ...all, maxLeases: 1 }))
  const lease = { ref: 'a', namespace: 'root', mountAccessor: '', path: 'a', role: undefined }

  expect(await one.leaseQuotas.within(lease, () => Promise.resolve(false))).toBe(false)
  await expect(one.leaseQuotas.within(lease, () => Promise.reject(new Error('full')))).rejects.toThrow('full')

  expect(await aToken(one)).toBe(true)
  expect(await aToken(one)).toBe(false)
})

test('a token that is written while the stored ones are counted counts once', async () => {
  await using servers = await openSharedCores()
  const { one } = servers
  await one.leaseQuotas.rules.put(() => all)

  const [count] = await Promise.all([one.leaseQuotas.countOf('all'), aToken(one), aToken(one)])

  expect(count).toBeLessThanOrEqual(2)
  expect(await one.leaseQuotas.countOf('all')).toBe(2)
  expect([await aToken(one), await aToken(one)]).toEqual([true, false])
})
