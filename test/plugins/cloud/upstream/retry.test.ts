import { describe, expect, test } from 'vitest'
import { type UpstreamFailure, UpstreamError } from '../../../../src/plugins/cloud/upstream/index.ts'
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

/** Fails with these one after the other, then succeeds; counts. */
function failing(...errors: Error[]) {
  const operation = async () => {
    const error = errors[operation.calls++]
    if (error !== undefined) throw error
    return 'made'
  }
  operation.calls = 0
  return operation
}

/** Fails for ever. */
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

  test('what succeeds at once is done once', async () => {
    const time = waiting()
    const operation = failing()

    await expect(untilReplicated(time.waiting, step, time.call(90), operation)).resolves.toBe('made')

    expect([operation.calls, time.elapsed()]).toEqual([1, 0])
  })

  test('what succeeds the third time is tried three times', async () => {
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
    'what never succeeds ends at its deadline after %i s with the last message',
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

  test('without a near deadline retries go on for 80 s', async () => {
    const time = waiting()

    await failureOf(untilReplicated(time.waiting, step, time.call(3600), never(notYet)))

    expect(time.elapsed()).toBe(80)
  })

  test.each([
    { random: 0, pause: 2_000 },
    { random: 0.5, pause: 5_000 },
    { random: 0.999, pause: 7_000 },
  ])('a pause is whole seconds from 2 to 7: $pause', async ({ random, pause }) => {
    const time = waiting(random)

    await untilReplicated(time.waiting, step, time.call(90), failing(notYet()))

    expect(time.pauses).toEqual([pause])
  })

  test('each try has what is left of the window', async () => {
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

  test('the last try may have succeeded when the deadline cuts it off', async () => {
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

  test('the last upstream message stays when the last try runs out of time', async () => {
    const time = waiting()
    const timedOut = failed({ status: 0, code: 'deadline_exceeded', text: 'context deadline exceeded' })

    const error = await failureOf(
      untilReplicated(time.waiting, step, time.call(90), failing(notYet(), timedOut)),
    )

    expect(error.message).toBe(
      'retry failed: PrincipalNotFound: service principal not replicated: context deadline exceeded',
    )
  })

  test('an error of another step ends the retries, even one that is retried there', async () => {
    const time = waiting()
    const error = failed({ service: 'directory', operation: 'createServicePrincipal', status: 404 })

    await expect(untilReplicated(time.waiting, step, time.call(90), failing(error))).rejects.toBe(error)
  })
})

describe('the pause before another try', () => {
  test.each([408, 429, 500, 502, 503, 504])('status %i: one that grows', (status) => {
    const pauses = [1, 2, 3, 4].map((tries) => pauseBefore(failed({ status }), tries, 0.4))

    expect(pauses).toEqual([800, 2_400, 5_600, 12_000])
  })

  test.each([
    { random: 0, pause: 640 },
    { random: 1, pause: 1_040 },
  ])('it differs from one caller to the next: $pause ms', ({ random, pause }) => {
    expect(pauseBefore(failed({ status: 500 }), 1, random)).toBe(pause)
  })

  test('Retry-After is kept to exactly', () => {
    expect(
      [1, 2, 15].map((tries) => pauseBefore(failed({ status: 429, retryAfterMs: 2_000 }), tries, 0.9)),
    ).toEqual([2_000, 2_000, 2_000])
  })

  test('a Retry-After of 0 does not cause a busy loop', () => {
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
  ])('none after $name', ({ error, tries }) => {
    expect(pauseBefore(error, tries, 0.5)).toBeUndefined()
  })

  test.each([
    { name: 'no answer', error: failed({ status: 0, code: 'no_answer' }) },
    { name: 'an answer that is cut off', error: failed({ status: 200, code: 'unusable_answer' }) },
    { name: 'concurrent changes', error: failed({ status: 409, code: 'Directory_ConcurrencyViolation' }) },
  ])('one after $name', ({ error }) => {
    expect(pauseBefore(error, 1, 0.4)).toBe(800)
  })
})

describe('tries of one call', () => {
  test('nothing is waited for past the deadline: it fails early', async () => {
    const time = waiting()
    const error = failed({ status: 429, retryAfterMs: 5_000 })
    const operation = failing(error)

    await expect(withRetries(time.waiting, time.call(5), 'putRoleAssignment', operation)).rejects.toBe(error)

    expect([operation.calls, time.pauses]).toEqual([1, []])
  })

  test('an error of its token is not tried again: it has been', async () => {
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
  ])('$name: may it have happened all the same? $inDoubt', async ({ errors, inDoubt }) => {
    const time = waiting()

    const failure = await failureOf(
      withRetries(time.waiting, time.call(90), 'putRoleAssignment', failing(...errors)),
    )

    const last = errors.at(-1)
    expect(failure).toMatchObject({ status: last?.status, code: last?.code, message: last?.message, inDoubt })
  })

  test('a caller that goes away while it waits is not served', async () => {
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

  test('a bug is not retried', async () => {
    const time = waiting()
    const operation = failing(new TypeError('a bug'))

    await expect(withRetries(time.waiting, time.call(90), 'putRoleAssignment', operation)).rejects.toThrow(
      'a bug',
    )

    expect(operation.calls).toBe(1)
  })
})
