import { setImmediate as nextTurn } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { letOthersRun, type PageRange, pageSize, pagesOf, readPages } from '../../../src/lib/data/pages.ts'

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

test.each([0, 1, pageSize, pageSize + 1, 3 * pageSize])(
  'the pages of %i items are all of them',
  async (count) => {
    const pages = await Array.fromAsync(pagesOf(numbers(count)))

    expect(pages.flat()).toEqual(numbers(count))
    expect(pages.map(({ length }) => length).filter((length) => length === 0 || length > pageSize)).toEqual(
      [],
    )
  },
)

test.each([0, 1, 10, 11, 30])(
  '%i items are read page by page, each behind the last of the one before',
  async (count) => {
    const reads: PageRange[] = []
    const read = async (range: PageRange) => {
      reads.push(range)
      const from = range.after === undefined ? 0 : Number(range.after) + 1
      return numbers(count).slice(from, from + range.limit)
    }

    const pages = await Array.fromAsync(readPages(read, String, { size: 10 }))

    expect(pages.flat()).toEqual(numbers(count))
    expect(reads.map(({ after }) => after)).toEqual([undefined, '9', '19', '29'].slice(0, reads.length))
  },
)

test('between two pages, others have their turn', async () => {
  const order: string[] = []
  const walk = async (name: string) => {
    for await (const [at] of pagesOf(numbers(3), 1)) order.push(`${name}${at}`)
  }

  await Promise.all([walk('a'), walk('b'), nextTurn().then(() => order.push('other'))])

  expect(order.slice(0, 2)).toEqual(['a0', 'b0'])
  expect(order.indexOf('other')).toBeLessThan(order.indexOf('a1'))
  expect(order.slice(3)).toEqual(['a1', 'b1', 'a2', 'b2'])
})

test('each of several walks waits for a turn of its own', async () => {
  let turn = 0
  let isOver = false
  const others = (async () => {
    for (; !isOver; turn += 1) await nextTurn()
  })()
  const turns: number[] = []

  await Promise.all(numbers(5).map(() => letOthersRun().then(() => turns.push(turn))))
  isOver = true
  await others

  expect(new Set(turns).size).toBe(5)
})

test('the response to a request that came during a page is written before the next page', async () => {
  const { port1, port2 } = new MessageChannel()
  const order: string[] = []
  // as a request does: it is read in one phase of a turn, and its response is written at the end of that turn
  port2.on('message', () => void setImmediate(() => order.push('response')))
  // a loop over pages runs where responses are written
  await nextTurn()
  port1.postMessage('request')

  await letOthersRun()
  order.push('next page')

  expect(order).toEqual(['response', 'next page'])
  port1.close()
})
