import { describe, expect, test } from 'vitest'
import { UpstreamError, type UpstreamFailure } from '../../../../src/plugins/cloud/upstream/index.ts'
import { pauseBefore, untilReplicated, withRetries } from '../../../../src/plugins/cloud/upstream/retry.ts'
import { failureOf, PausingClock } from './aimed.ts'

const failed = (failure: Partial<UpstreamFailure>) =>
  new UpstreamError({
    service: 'resource-manager',
    operation: 'putRoleAssignment',
    status: 400,
    code: '',
    text: '',
    ...failure,
  })
const notYet = () => failed({ code: 'PrincipalNotFound', text: 'service principal not replicated' })

/** Fails with each of these errors in turn, then succeeds. Counts its calls. */
function failing(...errors: Error[]) {
  const operation = async () => {
    const error = errors[operation.calls++]
    if (error !== undefined) throw error
    return 'made'
  }
  operation.calls = 0
  return operation
}

/** Always fails. */
function never(error: () => Error) {
  const operation = async () => {
    operation.calls++
    throw error()
  }
  operation.calls = 0
  return operation
}

function waiting(random = 0.5) {
  const clock = new PausingClock()
  const started = clock.now()
  return {
    waiting: { clock, pause: clock.pause, random: () => random },
    pauses: clock.pauses,
    elapsed: () => (clock.now() - started) / 1000,
    call: (seconds: number, signal?: AbortSignal) => ({
      deadline: started + seconds * 1000,
      correlationId: 'c',
      signal,
    }),
  }
}

// docs/contract/cloud.md#ready-when-returned
describe('retries until replication', () => {
  const step = 'putRoleAssignment'

  test('an operation that succeeds at once runs once', async () => {
    const time = waiting()
    const operation = failing()

    await expect(untilReplicated(time.waiting, step, time.call(90), operation)).resolves.toBe('made')

    expect([operation.calls, time.elapsed()]).toEqual([1, 0])
  })

  test('an operation that succeeds at the third try runs three times', async () => {
    const time = waiting()
    const operation = failing(notYet(), notYet())

    await expect(untilReplicated(time.waiting, step, time.call(90), operation)).resolves.toBe('made')

    expect(operation.calls).toBe(3)
  })

  test('a final error is returned unchanged after one try', async () => {
    const time = waiting()
    const error = failed({ status: 403, code: 'AuthorizationFailed', text: 'Insufficient privileges' })
    const operation = failing(error)

    await expect(untilReplicated(time.waiting, step, time.call(90), operation)).rejects.toBe(error)

    expect([operation.calls, time.pauses]).toEqual([1, []])
  })

  test.each([10, 5, 1])(
    'an operation that never succeeds ends at its deadline after %i s with the last message',
    async (seconds) => {
      const time = waiting()
      const operation = never(notYet)

      const error = await failureOf(untilReplicated(time.waiting, step, time.call(seconds), operation))

      expect(error.message).toBe(
        'retry failed: PrincipalNotFound: service principal not replicated: context deadline exceeded',
      )
      expect([time.elapsed(), error.code, operation.calls > 0]).toEqual([seconds, 'PrincipalNotFound', true])
    },
  )

  test('a caller that disconnects ends the retries, with the reason as the cause', async () => {
    const time = waiting()
    const caller = new AbortController()
    const reason = new Error('the client hung up')
    const pause = async () => caller.abort(reason)

    const error = await failureOf(
      untilReplicated({ ...time.waiting, pause }, step, time.call(90, caller.signal), never(notYet)),
    )

    expect(error.message).toMatch(/service principal not replicated: context canceled$/)
    expect(error.cause).toBe(reason)
  })

  test('retries continue for 80 s without an earlier deadline', async () => {
    const time = waiting()

    await failureOf(untilReplicated(time.waiting, step, time.call(3600), never(notYet)))

    expect(time.elapsed()).toBe(80)
  })

  test.each([
    { random: 0, pause: 2_000 },
    { random: 0.5, pause: 5_000 },
    { random: 0.999, pause: 7_000 },
  ])('a pause is 2 to 7 whole seconds: $pause', async ({ random, pause }) => {
    const time = waiting(random)

    await untilReplicated(time.waiting, step, time.call(90), failing(notYet()))

    expect(time.pauses).toEqual([pause])
  })

  test('each try gets the rest of the window', async () => {
    const time = waiting()
    const deadlines: number[] = []

    await untilReplicated(
      time.waiting,
      step,
      time.call(3600),
      async ({ deadline }) => void deadlines.push(deadline),
    )

    expect(deadlines).toEqual([time.waiting.clock.now() + 80_000])
  })

  test('the last try may have taken effect if the deadline cuts it off', async () => {
    const time = waiting()
    const cut = failed({ status: 0, code: 'no_answer', text: 'time limit exceeded', lost: true })
    const operation = failing(notYet(), cut)
    const late = async () => {
      const attempt = operation()
      if (operation.calls === 2) await time.waiting.pause(90_000)
      return attempt
    }

    const error = await failureOf(untilReplicated(time.waiting, step, time.call(90), late))

    expect(error.message).toBe(
      'retry failed: PrincipalNotFound: service principal not replicated: context deadline exceeded',
    )
    expect(error).toMatchObject({ status: 0, code: 'no_answer', lost: true })
  })

  test('the last upstream message is kept if the last try runs out of time', async () => {
    const time = waiting()
    const timedOut = failed({ status: 0, code: 'deadline_exceeded', text: 'context deadline exceeded' })

    const error = await failureOf(
      untilReplicated(time.waiting, step, time.call(90), failing(notYet(), timedOut)),
    )

    expect(error.message).toBe(
      'retry failed: PrincipalNotFound: service principal not replicated: context deadline exceeded',
    )
  })

  test('an error of another step ends the retries, even if that step would retry it', async () => {
    const time = waiting()
    const error = failed({ service: 'directory', operation: 'createServicePrincipal', status: 404 })

    await expect(untilReplicated(time.waiting, step, time.call(90), failing(error))).rejects.toBe(error)
  })
})

describe('the pause before another try', () => {
  test.each([408, 429, 500, 502, 503, 504])('grows after status %i', (status) => {
    const pauses = [1, 2, 3, 4].map((tries) => pauseBefore(failed({ status }), tries, 0.4))

    expect(pauses).toEqual([800, 2_400, 5_600, 12_000])
  })

  test.each([
    { random: 0, pause: 640 },
    { random: 1, pause: 1_040 },
  ])('is random: $pause ms', ({ random, pause }) => {
    expect(pauseBefore(failed({ status: 500 }), 1, random)).toBe(pause)
  })

  test('is exactly as long as Retry-After says', () => {
    expect(
      [1, 2, 15].map((tries) => pauseBefore(failed({ status: 429, retryAfterMs: 2_000 }), tries, 0.9)),
    ).toEqual([2_000, 2_000, 2_000])
  })

  test('is not zero after Retry-After: 0', () => {
    expect(pauseBefore(failed({ status: 429, retryAfterMs: 0 }), 1, 0)).toBe(200)
  })

  test.each([
    { name: 'a lost answer', error: failed({ status: 500, lost: true }), tries: 1 },
    { name: 'more than a minute', error: failed({ status: 429, retryAfterMs: 61_000 }), tries: 1 },
    { name: 'the fifth failure', error: failed({ status: 500 }), tries: 5 },
    { name: 'the twentieth throttling', error: failed({ status: 429, retryAfterMs: 1_000 }), tries: 20 },
    { name: 'a refusal', error: failed({ status: 403 }), tries: 1 },
    { name: 'a bad request', error: failed({ status: 400 }), tries: 1 },
    { name: 'a missing object', error: failed({ status: 404 }), tries: 1 },
    { name: 'a conflict', error: failed({ status: 409, code: 'RoleAssignmentExists' }), tries: 1 },
    {
      name: 'a certificate that is not trusted',
      error: failed({ status: 0, code: 'no_connection' }),
      tries: 1,
    },
    { name: 'no time left', error: failed({ status: 0, code: 'deadline_exceeded' }), tries: 1 },
  ])('does not exist after $name', ({ error, tries }) => {
    expect(pauseBefore(error, tries, 0.5)).toBeUndefined()
  })

  test.each([
    { name: 'no answer', error: failed({ status: 0, code: 'no_answer' }) },
    { name: 'an answer that is cut off', error: failed({ status: 200, code: 'unusable_answer' }) },
    { name: 'concurrent changes', error: failed({ status: 409, code: 'Directory_ConcurrencyViolation' }) },
  ])('exists after $name', ({ error }) => {
    expect(pauseBefore(error, 1, 0.4)).toBe(800)
  })
})

describe('the tries of one call', () => {
  test('end early instead of waiting past the deadline', async () => {
    const time = waiting()
    const error = failed({ status: 429, retryAfterMs: 5_000 })
    const operation = failing(error)

    await expect(withRetries(time.waiting, time.call(5), 'putRoleAssignment', operation)).rejects.toBe(error)

    expect([operation.calls, time.pauses]).toEqual([1, []])
  })

  test('end after a failed request for a token, which had its own retries', async () => {
    const time = waiting()
    const error = failed({ service: 'login', operation: 'token', status: 503 })
    const operation = failing(error)

    await expect(withRetries(time.waiting, time.call(90), 'putRoleAssignment', operation)).rejects.toBe(error)

    expect(operation.calls).toBe(1)
  })

  const refused = () => failed({ status: 403, code: 'AuthorizationFailed', text: 'no' })
  test.each([
    { name: 'a refusal', errors: [refused()], inDoubt: false },
    { name: 'a refusal after an error', errors: [failed({ status: 503 }), refused()], inDoubt: true },
    {
      name: 'a refusal after no answer',
      errors: [failed({ status: 0, code: 'no_answer' }), refused()],
      inDoubt: true,
    },
    { name: 'a refusal after throttling', errors: [failed({ status: 429 }), refused()], inDoubt: false },
    {
      name: 'a refusal after a conflict',
      errors: [failed({ status: 409, code: 'Directory_ConcurrencyViolation' }), refused()],
      inDoubt: false,
    },
    {
      name: 'a refusal of the token after an error',
      errors: [failed({ status: 500 }), failed({ service: 'login', operation: 'token' })],
      inDoubt: true,
    },
  ])('may have taken effect after $name: $inDoubt', async ({ errors, inDoubt }) => {
    const time = waiting()

    const failure = await failureOf(
      withRetries(time.waiting, time.call(90), 'putRoleAssignment', failing(...errors)),
    )

    const last = errors.at(-1)
    expect(failure).toMatchObject({ status: last?.status, code: last?.code, message: last?.message, inDoubt })
  })

  test('end when the caller disconnects during a pause', async () => {
    const time = waiting()
    const caller = new AbortController()
    const operation = failing(failed({ status: 503 }))

    const calling = withRetries(
      { ...time.waiting, pause: async () => caller.abort() },
      time.call(90, caller.signal),
      'putRoleAssignment',
      operation,
    )

    await expect(calling).rejects.toMatchObject({ status: 503 })
    expect(operation.calls).toBe(1)
  })

  test('end after a programming error', async () => {
    const time = waiting()
    const operation = failing(new TypeError('a bug'))

    await expect(withRetries(time.waiting, time.call(90), 'putRoleAssignment', operation)).rejects.toThrow(
      'a bug',
    )

    expect(operation.calls).toBe(1)
  })
})
