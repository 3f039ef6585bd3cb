import { setImmediate as nextTurn } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { LongWork } from '../../../src/lib/concurrency/long-work.ts'

test('the response to a request that came during a step of long work is written before the next step', async () => {
  const { port1, port2 } = new MessageChannel()
  const order: string[] = []
  // as a request does: it is read in one phase of a turn, and its response is written at the end of that turn
  port2.on('message', () => void setImmediate(() => order.push('response')))
  const work = new LongWork()
  // a step of long work runs where responses are written
  await nextTurn()
  port1.postMessage('request')

  await work.giveWay()
  order.push('next step')

  expect(order).toEqual(['response', 'next step'])
  port1.close()
})
