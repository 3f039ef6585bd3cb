import { expect, test } from 'vitest'
import { failureOf, retryAfter } from '../../../../src/plugins/cloud/upstream/answer.ts'

const now = Date.parse('2026-11-21T12:00:00Z')
const kind = { service: 'directory', operation: 'createApplication', repeatable: true } as const
const answered = (status: number, body: string, headers: Record<string, string> = {}) => ({
  status,
  headers,
  body: Buffer.from(body),
})

test.each([
  { header: '2', ms: 2_000 },
  { header: '0', ms: 0 },
  { header: 'Sat, 21 Nov 2026 12:00:30 GMT', ms: 30_000 },
  { header: 'Sat, 21 Nov 2026 11:00:00 GMT', ms: 0 },
  { header: undefined, ms: undefined },
  { header: '', ms: undefined },
  { header: '-1', ms: undefined },
  { header: '1.5', ms: undefined },
  { header: 'soon', ms: undefined },
  { header: '99999999999', ms: 999_999_999_000 },
  { header: '9'.repeat(400), ms: 999_999_999_000 },
  { header: 'Sat, never', ms: undefined },
])('Retry-After: $header is $ms ms', ({ header, ms }) => {
  expect(retryAfter(header, now)).toBe(ms)
})

test.each([
  { name: 'nothing', body: '' },
  { name: 'a page', body: '<html><body>Bad gateway</body></html>' },
  { name: 'half a document', body: '{"error":{"code":"X"' },
  { name: 'no object', body: '[]' },
  { name: 'null', body: 'null' },
  {
    name: 'members of other types',
    body: '{"error":{"code":5,"message":{"a":1},"details":"x","innerError":7}}',
  },
  { name: 'an error that is a text', body: '{"error":"x"}' },
])('an error answer with $name in it has a text all the same', ({ body }) => {
  const error = failureOf(kind, answered(503, body), now)

  expect({ code: error.code, message: error.message, status: error.status }).toEqual({
    code: '',
    message: 'answered with status 503',
    status: 503,
  })
})

test('code, text, details and ids are read', () => {
  const body = JSON.stringify({
    error: {
      code: 'C',
      message: 'M',
      details: [{ code: 'D', target: 't' }],
      innerError: { 'request-id': 'from-body' },
    },
  })

  expect(failureOf(kind, answered(400, body), now)).toMatchObject({
    message: 'C: M',
    details: ['D'],
    requestId: 'from-body',
  })
  expect(failureOf(kind, answered(400, body, { 'request-id': 'from-head' }), now).requestId).toBe('from-head')
  expect(failureOf(kind, answered(400, body, { 'x-ms-request-id': 'arm' }), now).requestId).toBe('arm')
})

test('texts from outside are cut and hold no control characters', () => {
  const body = JSON.stringify({
    error: { code: 'C\r\nX', message: `a\u0000b\n\u001b[31m${'x'.repeat(10_000)}` },
  })

  const { code, text } = failureOf(kind, answered(400, body), now)

  expect(code).toBe('C X')
  expect(text.length).toBeLessThanOrEqual(500)
  expect(text).toMatch(/^a b \[31mx+$/)
})

test('a login error is known by its number and says only what went wrong', () => {
  const body = JSON.stringify({
    error: 'invalid_client',
    error_description:
      'AADSTS7000215: Invalid client secret provided. Trace ID: 1 Correlation ID: 2 Timestamp: 3',
    error_codes: [7000215],
  })

  const error = failureOf({ ...kind, service: 'login', operation: 'token' }, answered(401, body), now)

  expect(error.message).toBe('AADSTS7000215: Invalid client secret provided.')
})

test.each(['directory', 'resource-manager'] as const)(
  'a token that the %s repeats is shown to nobody',
  (service) => {
    const token = `${Buffer.from('{"typ":"JWT","alg":"RS256"}').toString('base64url')}.${Buffer.from('{"appid":"root"}').toString('base64url')}.c2lnbmF0dXJl-_`
    const body = JSON.stringify({
      error: { code: 'InvalidAuthenticationToken', message: `Bearer ${token} is none.` },
    })

    const error = failureOf({ ...kind, service }, answered(401, body), now)

    expect(error.message).toBe('InvalidAuthenticationToken: Bearer … is none.')
  },
)

// RFC 9110: what answers with a failure may have done it, unless it says when to come again
test.each([
  { status: 500, retryAfter: undefined, lost: true },
  { status: 502, retryAfter: undefined, lost: true },
  { status: 503, retryAfter: undefined, lost: true },
  { status: 504, retryAfter: undefined, lost: true },
  { status: 408, retryAfter: undefined, lost: true },
  { status: 504, retryAfter: '1', lost: true },
  { status: 503, retryAfter: '1', lost: false },
  { status: 429, retryAfter: undefined, lost: false },
  { status: 400, retryAfter: undefined, lost: false },
  { status: 409, retryAfter: undefined, lost: false },
  { status: 307, retryAfter: undefined, lost: false },
])(
  'status $status with Retry-After $retryAfter to a creation: lost $lost',
  ({ status, retryAfter: header, lost }) => {
    const answer = answered(status, '', header === undefined ? {} : { 'retry-after': header })

    expect(failureOf({ ...kind, repeatable: false }, answer, now).lost).toBe(lost)
    expect(failureOf(kind, answer, now).lost).toBe(false)
  },
)
