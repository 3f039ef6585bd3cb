import { expect, test } from 'vitest'
import { readSummary } from '../../bench/wrk.ts'

test('the summary line of the script becomes a result', () => {
  const output =
    'Running 2s test\n  1000 requests in 2.00s\n\nsummary 1000 2000000 1500.000000 9000.000000 12000.000000 3 1\n'

  expect(readSummary(output)).toEqual({
    requests: 1000,
    seconds: 2,
    p50Ms: 1.5,
    p99Ms: 9,
    maxMs: 12,
    failures: { 400: 3, 0: 1 },
  })
})

test('wrk has failed if that line is missing', () => {
  expect(() => readSummary('unable to connect')).toThrow('wrk gave no summary')
})
