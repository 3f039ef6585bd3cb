import { describe, expect, test } from 'vitest'
import type { Quota } from '../../../src/core/quotas/quota.ts'
import { openSharedCores } from '../../support/shared-cores.ts'

const aRule = (name: string, fields: Partial<Quota> = {}): Quota => ({
  name,
  namespace: 'root',
  mount: '',
  suffix: '',
  role: '',
  rate: 1,
  interval: 60,
  blockInterval: 0,
  inheritable: true,
  groupBy: 'ip',
  ...fields,
})
const target = { lineage: ['root'], mount: undefined, below: '', role: undefined }

describe('rate limits', () => {
  test('apply on every server, which counts for itself', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.quotas.rules.put(() => aRule('all'))
    await other.hear()

    const taken = [one, other, other].map(({ quotas }) => quotas.take(target, '192.0.2.1')?.verdict.isAllowed)

    expect(taken).toEqual([true, true, false])
  })

  test('keep their counters while other rules change', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.quotas.rules.put(() => aRule('all'))
    one.quotas.take(target, '192.0.2.1')

    await other.quotas.rules.put(() => aRule('mount', { namespace: '', mount: 'some' }))
    await one.hear()

    expect(one.quotas.rules.names).toEqual(['all', 'mount'])
    expect(one.quotas.take(target, '192.0.2.1')?.verdict.isAllowed).toBe(false)
  })

  test('that limit the same requests are not both stored by two servers', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers

    const made = await Promise.allSettled([
      one.quotas.rules.put(() => aRule('a')),
      other.quotas.rules.put(() => aRule('b')),
    ])
    await one.hear()
    await other.hear()

    expect(made.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(one.quotas.rules.names).toHaveLength(1)
    expect(other.quotas.rules.names).toEqual(one.quotas.rules.names)
  })

  test('are not stored for a mount that another server removes at the same moment', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    const { copies } = one.storage.shared
    const { confirm } = copies
    let isRemoved = false
    // after the moment at which the rule was checked against what other servers have written
    const removedMeanwhile = async () => {
      await confirm()
      if (isRemoved) return
      isRemoved = true
      await other.quotas.rules.removeRulesOn(['some'])
    }
    Object.assign(copies, { confirm: removedMeanwhile })
    const seen: boolean[] = []

    const putting = one.quotas.rules.put(() => {
      seen.push(isRemoved)
      if (seen.length > 1) throw new Error('no such mount')
      return aRule('late', { namespace: '', mount: 'some' })
    })

    await expect(putting).rejects.toThrow('no such mount')
    await other.hear()
    expect([one.quotas.rules.names, other.quotas.rules.names]).toEqual([[], []])
  })

  test('and their settings end on every server', async () => {
    await using servers = await openSharedCores()
    const { one, other } = servers
    await one.quotas.rules.put(() => aRule('all'))
    await one.quotas.configure({
      exemptPaths: ['a'],
      absoluteExemptPaths: [],
      auditsRefusals: true,
      showsHeaders: true,
    })
    await other.hear()
    expect(other.quotas.config.exemptPaths).toEqual(['a'])

    await other.quotas.rules.delete('all')
    await one.hear()

    expect(one.quotas.isOn).toBe(false)
  })
})

test('CORS settings apply on every server', async () => {
  await using servers = await openSharedCores()
  const { one, other } = servers
  const settings = { origins: ['https://a.example'], headers: [], credentials: false }
  await one.cors.put(settings)
  await other.hear()
  expect(other.cors.current).toEqual(settings)

  await other.cors.put(undefined)
  await one.hear()

  expect(one.cors.current).toBeUndefined()
})

test('headers of the web UI apply on every server, and servers that write at the same time lose none', async () => {
  await using servers = await openSharedCores()
  const { one, other } = servers

  await Promise.all([
    one.uiHeaders.change((headers) => ({ ...headers, 'X-One': ['1'] })),
    other.uiHeaders.change((headers) => ({ ...headers, 'X-Other': ['2'] })),
  ])
  await one.hear()
  await other.hear()

  const both = { 'X-One': ['1'], 'X-Other': ['2'] }
  expect([one.uiHeaders.current, other.uiHeaders.current]).toEqual([both, both])
})

test('a policy that another server has changed is compiled again', async () => {
  await using servers = await openSharedCores()
  const { one, other } = servers
  const mayRead = async () => (await other.policies.aclFor('root', ['p'], { now: 0 })).capabilities('a')
  await one.policies.put('root', 'p', 'path "a" { capabilities = ["read"] }')
  await other.hear()
  expect(await mayRead()).toEqual(['read'])

  await one.policies.put('root', 'p', 'path "a" { capabilities = ["deny"] }')
  await other.hear()

  expect(await mayRead()).toEqual(['deny'])
})
