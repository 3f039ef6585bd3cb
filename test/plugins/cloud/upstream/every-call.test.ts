import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Operation } from '../../../../simulators/directory/operations.ts'
import { callerError, classify } from '../../../../src/plugins/cloud/upstream/index.ts'
import { type Aimed, aim, failureOf } from './aimed.ts'
import { everyCall, objectsFor, withoutBody } from './calls.ts'

/** All tests share a stand-in. */
let aimed: Aimed
let prepare: ReturnType<typeof objectsFor>
beforeAll(async () => {
  aimed = await aim()
  prepare = objectsFor(aimed)
})
afterAll(() => aimed[Symbol.asyncDispose]())

const requestsOf = (operation: Operation) => aimed.directory.journal.entries({ operation })

/** Prepares the objects that the calls need. The journal and the pauses start empty. */
async function begin(operation: Operation) {
  aimed.directory.clearFaults()
  const prepared = await prepare(operation)
  aimed.directory.journal.clear()
  aimed.clock.pauses.length = 0
  return prepared
}

describe.each(everyCall)('$name', ({ run, operation, service, creates }) => {
  test('succeeds, with one request that has a token and the correlation id', async () => {
    const prepared = await begin(operation)
    const call = aimed.call()

    await run(aimed.upstream, prepared, call)

    const requests = requestsOf(operation)
    expect(requests).toHaveLength(1)
    expect(requests[0]).toMatchObject({ hasToken: true, clientRequestId: call.correlationId })
  })

  test('waits exactly as long as 429 with Retry-After: 2 says', async () => {
    const prepared = await begin(operation)
    aimed.directory.fault({ kind: 'throttled', retryAfterSeconds: 2, operation })

    await run(aimed.upstream, prepared, aimed.call())

    const [first, second] = requestsOf(operation)
    expect(requestsOf(operation)).toHaveLength(2)
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(2_000)
  })

  test('fails at once after 429 with Retry-After: 600, and reports the wait', async () => {
    const prepared = await begin(operation)
    aimed.directory.fault({ kind: 'throttled', retryAfterSeconds: 600, operation })

    const error = await failureOf(run(aimed.upstream, prepared, aimed.call()))

    const told = callerError(error, 'x')
    expect({ pauses: aimed.clock.pauses, kind: told.kind, retryAfter: told.retryAfterSeconds }).toEqual({
      pauses: [],
      kind: 'upstream',
      retryAfter: 600,
    })
    expect(told.message).toMatch(/throttled by the/)
    expect(requestsOf(operation)).toHaveLength(1)
  })

  test('does not follow a redirect', async () => {
    const prepared = await begin(operation)
    const elsewhere =
      service === 'directory' ? aimed.directory.resourceManagerUrl : aimed.directory.directoryUrl
    aimed.directory.fault({ kind: 'redirect', url: `${elsewhere}/leak`, operation })

    const error = await failureOf(run(aimed.upstream, prepared, aimed.call()))

    expect(error).toMatchObject({ status: 307, code: 'redirect_refused', lost: false })
    expect(aimed.directory.journal.entries().map((entry) => entry.operation)).toEqual([operation])
  })

  test('is retried after a dropped connection, unless that could create a second object', async () => {
    const prepared = await begin(operation)
    aimed.directory.fault({ kind: 'dropped', operation })

    const outcome = run(aimed.upstream, prepared, aimed.call())

    if (creates === true) expect(await failureOf(outcome)).toMatchObject({ lost: true, status: 0 })
    else await outcome
    expect(requestsOf(operation)).toHaveLength(creates === true ? 1 : 2)
  })

  test('succeeds after a lost answer, unless it is a creation', async () => {
    const prepared = await begin(operation)
    aimed.directory.fault({ kind: 'lost', operation })

    const outcome = await run(aimed.upstream, prepared, aimed.call()).then(
      () => 'succeeded',
      (error: unknown) => error,
    )

    // a repeated deletion finds nothing: its caller counts that as done
    if (creates === true) expect(outcome).toMatchObject({ lost: true })
    else
      expect(
        outcome === 'succeeded' ||
          (outcome instanceof Error && 'status' in outcome && outcome.status === 404),
      ).toBe(true)
  })

  test.each([500, 502, 504])(
    'is retried after status %i, unless that could create a second object',
    async (status) => {
      const prepared = await begin(operation)
      aimed.directory.fault({ kind: 'status', status, operation })

      const outcome = run(aimed.upstream, prepared, aimed.call())

      if (creates === true) expect(await failureOf(outcome)).toMatchObject({ lost: true, status })
      else await outcome
      expect(requestsOf(operation)).toHaveLength(creates === true ? 1 : 2)
    },
  )

  test('is always retried after 503 with Retry-After, which has no effect', async () => {
    const prepared = await begin(operation)
    aimed.directory.fault({ kind: 'status', status: 503, retryAfterSeconds: 3, operation })

    await run(aimed.upstream, prepared, aimed.call())

    expect(requestsOf(operation)).toHaveLength(2)
    expect(aimed.clock.pauses).toEqual([3_000])
  })

  test('replaces a refused token once', async () => {
    const prepared = await begin(operation)
    aimed.directory.fault({
      kind: 'status',
      status: 401,
      code: 'InvalidAuthenticationToken',
      message: 'x',
      operation,
    })

    await run(aimed.upstream, prepared, aimed.call())

    expect([requestsOf(operation).length, requestsOf('token').length]).toEqual([2, 1])
  })

  const denial = {
    kind: 'status',
    status: 403,
    code: service === 'directory' ? 'Authorization_RequestDenied' : 'AuthorizationFailed',
    operation,
  } as const

  test('names the missing permission and is not retried', async () => {
    const prepared = await begin(operation)
    aimed.directory.fault(denial)

    const error = await failureOf(run(aimed.upstream, prepared, aimed.call()))

    expect(classify(error, error.operation, { isOver: true })).toMatchObject({
      kind: 'denied',
      permission: expect.stringMatching(
        /^(?:AppRoleAssignment|Application|GroupMember|Organization|Microsoft)\./,
      ),
    })
    expect([requestsOf(operation).length, requestsOf('token').length]).toEqual([1, 0])
  })

  test('uses a new token after a refusal, with the permissions granted since', async () => {
    const prepared = await begin(operation)
    aimed.directory.fault(denial)
    await failureOf(run(aimed.upstream, prepared, aimed.call()))

    await run(aimed.upstream, prepared, aimed.call())

    expect([requestsOf(operation).length, requestsOf('token').length]).toEqual([2, 1])
  })

  test('ends at the deadline without an answer', async () => {
    const prepared = await begin(operation)
    aimed.directory.fault({ kind: 'silent', operation, times: null })

    const error = await failureOf(run(aimed.upstream, prepared, aimed.call(0.05)))

    expect(error).toMatchObject({ status: 0, lost: creates === true })
    expect(error.message).toMatch(/time limit exceeded/)
  })

  test('sends nothing after the deadline', async () => {
    const prepared = await begin(operation)

    const error = await failureOf(run(aimed.upstream, prepared, aimed.call(0)))

    expect(error).toMatchObject({ status: 0, code: 'deadline_exceeded', lost: false })
    expect(requestsOf(operation)).toEqual([])
  })

  test('sends nothing for a caller that has disconnected', async () => {
    const prepared = await begin(operation)

    const error = await failureOf(
      run(aimed.upstream, prepared, { ...aimed.call(), signal: AbortSignal.abort() }),
    )

    expect(error).toMatchObject({ code: 'cancelled', lost: false })
    expect(requestsOf(operation)).toEqual([])
  })
})

/** Creations that may be repeated, because the directory refuses a second object. */
const conflicting = new Set(['createServicePrincipal', 'assignAppRole'])

describe.each(everyCall.filter(({ name }) => !withoutBody.has(name)))(
  'the answer to $name',
  ({ run, operation, creates, name }) => {
    test.each(['empty', 'html', 'cut'] as const)('is not accepted if it is %s', async (kind) => {
      const prepared = await begin(operation)
      aimed.directory.fault({ kind, operation, times: null })
      if (conflicting.has(name) && kind === 'empty') {
        // the retry conflicts with what the first try created, which is found
        await run(aimed.upstream, prepared, aimed.call())
        expect(requestsOf(operation).length).toBe(2)
        return
      }

      const error = await failureOf(run(aimed.upstream, prepared, aimed.call()))

      expect(error.lost).toBe(creates === true)
      expect(requestsOf(operation).length).toBe(creates === true ? 1 : 5)
    })

    test('is not read to the end if it is endless', async () => {
      const prepared = await begin(operation)
      aimed.directory.fault({ kind: 'huge', bytes: 5 * 1024 ** 2, operation, times: null })

      const error = await failureOf(run(aimed.upstream, prepared, aimed.call()))

      expect(error).toMatchObject({ code: 'answer_too_large', lost: creates === true })
      expect(error.message).toMatch(/larger than 4194304 bytes/)
      expect(requestsOf(operation)).toHaveLength(1)
    })
  },
)
