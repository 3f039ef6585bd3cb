import { expect, test } from 'vitest'
import { Periodic } from '../../src/core/jobs/background.ts'

test('a periodic job runs again after a failure, and disposing it waits for the run in progress', async () => {
  const failures: unknown[] = []
  const reached = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<void>()
  let runs = 0
  let isFinished = false
  const run = async () => {
    runs++
    if (runs === 1) throw new Error('storage is away')
    reached.resolve()
    await finish.promise
    isFinished = true
  }
  const job = new Periodic({ run, intervalMs: 1, onError: (error) => failures.push(error) })
  job.start()
  // the timer alone keeps no process alive
  const alive = setInterval(() => {}, 1000)
  await reached.promise
  clearInterval(alive)

  const disposed = job[Symbol.asyncDispose]()
  finish.resolve()
  await disposed

  expect({ isFinished, runs, failures: failures.map(String) }).toEqual({
    isFinished: true,
    runs: 2,
    failures: ['Error: storage is away'],
  })
})
