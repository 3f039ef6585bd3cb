import { expect, test } from 'vitest'
import { AuditChainKeys } from '../../../src/core/audit/chain-keys.ts'
import { openCoreView } from '../../support/core-view.ts'

const head = {
  id: 'a'.repeat(32),
  seq: 7,
  hash: 'b'.repeat(64),
  time: '2026-01-02T03:04:05.250Z',
  is_final: false,
}

test('there is no key before the first device, and the same one after a restart', async () => {
  await using core = await openCoreView()
  const keys = await AuditChainKeys.open({ ...core, onUnreadable: () => {} })
  const before = keys.keys

  await keys.headOf('file/', 'one')
  const again = await AuditChainKeys.open({ ...core, onUnreadable: () => {} })

  expect(before).toEqual([])
  expect(keys.keys).toHaveLength(1)
  expect(again.keys).toEqual(keys.keys)
  expect(again.sign('text')).toEqual(keys.sign('text'))
})

test('a rotation keeps the former public keys, but not their private keys', async () => {
  await using core = await openCoreView()
  const keys = await AuditChainKeys.open({ ...core, onUnreadable: () => {} })
  await keys.rotate()
  const [first] = keys.keys
  core.clock.advance(60)

  await keys.rotate()
  const stored = JSON.stringify(await core.view.get('chain-keys'))

  expect(keys.keys).toMatchObject([
    { ...first, retired_time: '2026-01-02T03:05:05.250Z' },
    { created_time: '2026-01-02T03:05:05.250Z', retired_time: '' },
  ])
  expect(keys.sign('text').key_id).toBe(keys.keys[1]?.key_id)
  expect(stored.match(/private_key/g)).toHaveLength(1)
})

test('heads are kept for each device and replica, and forgotten with the device', async () => {
  await using core = await openCoreView()
  const keys = await AuditChainKeys.open({ ...core, onUnreadable: () => {} })
  await keys.storeHead('a/', 'one', head)
  await keys.storeHead('a/', 'two/%', { ...head, seq: 8 })
  await keys.storeHead('a/b/', 'one', head)

  const found = await keys.headOf('a/', 'two/%')
  await keys.forget('a/')

  expect(found).toEqual({ ...head, device: 'a/', replica: 'two/%', seq: 8 })
  expect(await keys.heads()).toEqual([{ ...head, device: 'a/b/', replica: 'one' }])
})
