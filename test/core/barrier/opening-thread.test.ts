import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { OpeningThread } from '../../../src/core/barrier/opening-thread.ts'

test('an answer that cannot be read leaves no page waiting, and ends the thread', async () => {
  const thread = new OpeningThread()
  const started = once(process, 'worker') as Promise<[Worker]>
  const pages = [thread.open([], new Map()), thread.open([], new Map())]
  const [worker] = await started
  const ended = once(worker, 'exit')

  worker.emit('messageerror', new Error('unreadable'))

  expect(await Promise.all(pages)).toEqual([undefined, undefined])
  expect(await thread.open([], new Map())).toBeUndefined()
  await ended
})
