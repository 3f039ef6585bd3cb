import { expect, test } from 'vitest'
import { ClientWindows } from '../../../src/core/quotas/client-windows.ts'

const most = 10_000
const fill = (windows: ClientWindows, now: number) => {
  for (let client = 0; client < most; client += 1) windows.take(`client ${client}`, now)
}

test('clients beyond the limit count as one, and memory stays bounded', () => {
  const windows = new ClientWindows({ rate: 1, interval: 60, blockInterval: 0 })
  fill(windows, 0)

  expect(windows.take('one', 1).isAllowed).toBe(true)
  expect(windows.take('two', 1).isAllowed).toBe(false)
  expect(windows.take('client 5', 1).isAllowed).toBe(false)
  expect(windows.size).toBe(most + 1)
  expect(windows.take('two', 60_000).isAllowed).toBe(true)
  expect(windows.size).toBeLessThanOrEqual(2)
})

test('clients beyond the limit are never blocked, so that none shuts out the others', () => {
  const windows = new ClientWindows({ rate: 1, interval: 1, blockInterval: 60 })
  fill(windows, 0)
  for (let client = 0; client < most; client += 1) windows.take(`client ${client}`, 0)

  expect(windows.take('one', 0).isAllowed).toBe(true)
  expect(windows.take('two', 0)).toMatchObject({ isAllowed: false, retryIn: 1 })
  expect(windows.take('two', 1000).isAllowed).toBe(true)
  expect(windows.take('client 1', 1000).isBlocked).toBe(true)
})

test('a clock that is set back ends the intervals that began later', () => {
  const windows = new ClientWindows({ rate: 1, interval: 60, blockInterval: 60 })
  windows.take('one', 1_000_000)
  windows.take('one', 1_000_000)

  expect(windows.take('one', 1_000_001)).toMatchObject({ isAllowed: false, isBlocked: true, retryIn: 60 })
  expect(windows.take('one', 0)).toMatchObject({ isAllowed: true, resetsIn: 60 })
})
