import { Buffer } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { openValue, sealValue } from '../../src/core/barrier/sealed-value.ts'
import { usedCiphers } from '../../src/lib/garbage.ts'
import { LongWork } from '../../src/lib/long-work.ts'
import { systemRandom } from '../../src/lib/random.ts'

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

test('long work collects the ciphers that it has used before there are thousands', async () => {
  const key = systemRandom.bytes(32)
  const sealed = sealValue({ term: 1, key, random: systemRandom }, 'place', Buffer.from('text'))
  const openedUntilCollected = () => {
    let opened = 0
    do {
      openValue(key, 'place', sealed)
      opened += 1
    } while (!usedCiphers.collectMany())
    return opened
  }
  openedUntilCollected()

  expect(openedUntilCollected()).toBe(300)
})
