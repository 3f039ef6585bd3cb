import { expect, test } from 'vitest'
import { PendingSweeper } from '../../../../src/plugins/jwt-auth/oidc/pending-sweeper.ts'

test('it sweeps again and again, whatever fails, and disposing waits for the sweep at hand', async () => {
  const failures: unknown[] = []
  const reached = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<void>()
  let sweeps = 0
  let isFinished = false
  const sweep = async () => {
    sweeps++
    if (sweeps === 1) throw new Error('storage is away')
    reached.resolve()
    await finish.promise
    isFinished = true
  }
  const sweeper = new PendingSweeper({ sweep, intervalMs: 1, onError: (error) => failures.push(error) })
  sweeper.start()
  // the timer alone keeps no process alive
  const alive = setInterval(() => {}, 1000)
  await reached.promise
  clearInterval(alive)

  const disposed = sweeper[Symbol.asyncDispose]()
  finish.resolve()
  await disposed

  expect({ isFinished, sweeps, failures: failures.map(String) }).toEqual({
    isFinished: true,
    sweeps: 2,
    failures: ['Error: storage is away'],
  })
})
