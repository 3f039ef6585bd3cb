import { expect, test } from 'vitest'
import { fail, refuse } from '../../src/errors.ts'
import { errorReply } from '../../src/http/exchange/error-reply.ts'

test.each([
  { name: 'what may pass says when', error: fail('overloaded', 'x'), retryAfter: '1' },
  { name: 'throttling of ours', error: refuse('throttled', 'x'), retryAfter: '10' },
  {
    name: 'throttling upstream, for as long as upstream says',
    error: fail('upstream', 'x', { retryAfterSeconds: 42 }),
    retryAfter: '42',
  },
  {
    name: 'what is known better than the kind',
    error: refuse('throttled', 'x', { retryAfterSeconds: 3 }),
    retryAfter: '3',
  },
  { name: 'a failure upstream does not', error: fail('upstream', 'x'), retryAfter: undefined },
  { name: 'a refusal does not', error: refuse('invalid', 'x'), retryAfter: undefined },
])('sends Retry-After: $name', ({ error, retryAfter }) => {
  expect(errorReply(error, false).retryAfter).toBe(retryAfter)
})

test('a refusal has no stack, and other errors keep theirs', () => {
  expect(refuse('denied', 'permission denied').stack).toBe('ServiceError: permission denied')
  expect(new Error('a bug').stack).toContain('error-reply.test.ts')
})
