import { expect, test } from 'vitest'
import { Disconnected } from '../../../../src/lib/concurrency/channel.ts'
import { Thread } from '../../../../src/lib/concurrency/thread.ts'
import type { CelAnswers } from '../../../../src/plugins/jwt-auth/cel/cel-worker.ts'
import { CelEvaluator, type Evaluation } from '../../../../src/plugins/jwt-auth/cel/evaluator.ts'
import type { Evaluated } from '../../../../src/plugins/jwt-auth/cel/program.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const clock = new FakeClock(1_800_000_000_000)
const client = (address: string) => ({ address, name: 'mount/role', whenSilent: () => () => {} })
const evaluation = (expression: string): Evaluation => ({
  program: { variables: [], expression },
  input: { claims: {}, now: clock.now(), operation: 'update' },
})
const asked = (expression: string) => async () => evaluation(expression)

/** Threads whose evaluations end one by one. */
function heldThreads() {
  const running: { expression: string; end(): void }[] = []
  const ask = (_question: string, { expression }: Evaluation['program']): Promise<Evaluated> => {
    const { promise, resolve } = Promise.withResolvers<Evaluated>()
    running.push({ expression, end: () => resolve({ variables: [], outcome: { kind: 'denied' } }) })
    return promise
  }
  const begun = () => running.map(({ expression }) => expression)
  return { evaluator: new CelEvaluator(clock, { ask: ask as Thread<CelAnswers>['ask'] }), running, begun }
}

test.each(['evaluate', 'trace'] as const)(
  'a thread that cannot start is no fault of the program (%s)',
  async (how) => {
    const threads = new Thread<CelAnswers>({
      program: new URL('./there-is-no-such-worker.ts', import.meta.url),
      name: 'cel',
    })
    const evaluator = new CelEvaluator(clock, threads)

    await expect(evaluator[how](client('192.0.2.1'), asked('false'))).rejects.toBeInstanceOf(Disconnected)
  },
)

test('a program that was accepted by an earlier version is not repeated to the caller', async () => {
  const { outcome } = await new CelEvaluator(clock).evaluate(client('192.0.2.1'), asked('secret_name(1)'))

  expect(outcome).toEqual({ kind: 'error', variable: '', text: 'the program is not valid' })
})

test.each(['evaluate', 'trace'] as const)('addresses take turns, two at a time (%s)', async (how) => {
  const { evaluator, running, begun } = heldThreads()
  const all = ['a1', 'a2', 'a3', 'a4', 'b1'].map((name) =>
    evaluator[how](client(`192.0.2.${name.startsWith('a') ? 1 : 2}`), asked(name)),
  )
  await Promise.resolve()

  expect(begun()).toEqual(['a1', 'a2'])
  for (const each of running) {
    each.end()
    await new Promise(setImmediate)
  }
  await Promise.all(all)
  expect(begun().indexOf('b1')).toBeLessThan(begun().indexOf('a4'))
})

test.each(['evaluate', 'trace'] as const)('an address has a limited number of places (%s)', async (how) => {
  const { evaluator, running } = heldThreads()
  const all = Array.from({ length: 502 }, (_, at) => evaluator[how](client('192.0.2.1'), asked(`a${at}`)))
  const refused = { kind: 'throttled', message: 'too many logins are waiting' }

  await expect(evaluator[how](client('192.0.2.1'), asked('beyond'))).rejects.toMatchObject(refused)
  const other = evaluator[how](client('192.0.2.2'), asked('other'))
  for (const each of running) {
    each.end()
    await new Promise(setImmediate)
  }
  await Promise.all([...all, other])
  expect(running).toHaveLength(503)
})

test('what is evaluated is decided when it is its turn', async () => {
  const { evaluator, running, begun } = heldThreads()
  let expression = 'before'
  const all = ['a', 'b'].map((name) => evaluator.evaluate(client('192.0.2.1'), asked(name)))
  all.push(evaluator.evaluate(client('192.0.2.1'), async () => evaluation(expression)))
  expression = 'after'
  await Promise.resolve()
  for (const each of running) {
    each.end()
    await new Promise(setImmediate)
  }
  await Promise.all(all)

  expect(begun()).toEqual(['a', 'b', 'after'])
})
