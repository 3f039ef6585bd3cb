import { expect, test } from 'vitest'
import { isLinearizable, type Model, type Operation } from '../../bench/history/linearize.ts'
import { runHistory } from '../../bench/history/run.ts'
import { startTestServer } from '../support/start-server.ts'

type Input = number | 'read'
const register: Model<number, Input, number> = {
  initial: 0,
  next: (value, input, output) => {
    if (input !== 'read') return input
    return output === undefined || output === value ? value : undefined
  },
}
const write = (start: number, end: number, value: number): Operation<Input, number> => ({
  start,
  end,
  input: value,
  output: value,
})
const lostWrite = (start: number, value: number): Operation<Input, number> => ({
  start,
  end: start,
  input: value,
  output: undefined,
})
const read = (start: number, end: number, output: number): Operation<Input, number> => ({
  start,
  end,
  input: 'read',
  output,
})

test.each<{ name: string; history: Operation<Input, number>[] }>([
  { name: 'nothing', history: [] },
  { name: 'one after the other', history: [write(0, 1, 5), read(2, 3, 5), write(4, 5, 6), read(6, 7, 6)] },
  {
    name: 'reads that disagree during a write',
    history: [write(0, 9, 5), read(1, 2, 0), read(3, 4, 5), read(5, 6, 5)],
  },
  {
    name: 'an unknown write that happens late',
    history: [lostWrite(0, 5), read(1, 2, 0), read(8, 9, 0), read(10, 11, 5)],
  },
  { name: 'an unknown write that never happens', history: [lostWrite(0, 5), read(1, 2, 0)] },
  {
    name: 'two writes in the order of their reads',
    history: [write(0, 9, 5), write(0, 9, 6), read(10, 11, 5), read(12, 13, 5)],
  },
])('a lawful history is found to be one: $name', ({ history }) => {
  expect(isLinearizable(register, history)).toBe(true)
})

test.each<{ name: string; history: Operation<Input, number>[] }>([
  { name: 'a lost write', history: [write(0, 1, 5), read(2, 3, 0)] },
  { name: 'a value from nowhere', history: [write(0, 1, 5), read(2, 3, 7)] },
  { name: 'a read that goes back', history: [write(0, 9, 5), read(1, 2, 5), read(3, 4, 0)] },
  {
    name: 'a write that two clients see in different orders',
    history: [write(0, 1, 5), write(2, 3, 6), read(4, 5, 6), read(6, 7, 5)],
  },
  {
    name: 'an unknown write that happens twice',
    history: [lostWrite(0, 5), read(1, 2, 5), write(3, 4, 6), read(5, 6, 5)],
  },
])('an unlawful history is found to be one: $name', ({ history }) => {
  expect(isLinearizable(register, history)).toBe(false)
})

test('a server alone is linearizable, its reads too', async () => {
  await using server = await startTestServer()
  const replicas = { urls: [server.url], rootToken: 'root' }

  const counts = await runHistory({ replicas, seed: 1, times: 1, copiesMs: 0 })

  expect(counts.operations).toBeGreaterThan(100)
  expect(counts).toMatchObject({ unknown: 0, lost: 0, doubled: 0, problems: [] })
})
