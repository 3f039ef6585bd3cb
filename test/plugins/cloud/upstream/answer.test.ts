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
  { name: 'empty', body: '' },
  { name: 'a web page', body: '<html><body>Bad gateway</body></html>' },
  { name: 'half a document', body: '{"error":{"code":"X"' },
  { name: 'not an object', body: '[]' },
  { name: 'null', body: 'null' },
  {
    name: 'an object with fields of other types',
    body: '{"error":{"code":5,"message":{"a":1},"details":"x","innerError":7}}',
  },
  { name: 'an error as a string', body: '{"error":"x"}' },
])('a failure has a text even if the body is $name', ({ body }) => {
  const error = failureOf(kind, answered(503, body), now)

  expect({ code: error.code, message: error.message, status: error.status }).toEqual({
    code: '',
    message: 'answered with status 503',
    status: 503,
  })
})

test('a failure has the code, text, details and ids of the body', () => {
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

test('texts of services are shortened and stripped of control characters', () => {
  const body = JSON.stringify({
    error: { code: 'C\r\nX', message: `a\u0000b\n\u001b[31m${'x'.repeat(10_000)}` },
  })

  const { code, text } = failureOf(kind, answered(400, body), now)

  expect(code).toBe('C X')
  expect(text.length).toBeLessThanOrEqual(500)
  expect(text).toMatch(/^a b \[31mx+$/)
})

test('a login error has its number as the code, and only the cause as its text', () => {
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
  'a token that the %s repeats is removed from the text',
  (service) => {
    const token = `${Buffer.from('{"typ":"JWT","alg":"RS256"}').toString('base64url')}.${Buffer.from('{"appid":"root"}').toString('base64url')}.c2lnbmF0dXJl-_`
    const body = JSON.stringify({
      error: { code: 'InvalidAuthenticationToken', message: `Bearer ${token} is none.` },
    })

    const error = failureOf({ ...kind, service }, answered(401, body), now)

    expect(error.message).toBe('InvalidAuthenticationToken: Bearer … is none.')
  },
)

// RFC 9110: a failed request may have taken effect, unless the answer has Retry-After
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
  'a creation with status $status and Retry-After $retryAfter is lost: $lost',
  ({ status, retryAfter: header, lost }) => {
    const answer = answered(status, '', header === undefined ? {} : { 'retry-after': header })

    expect(failureOf({ ...kind, repeatable: false }, answer, now).lost).toBe(lost)
    expect(failureOf(kind, answer, now).lost).toBe(false)
  },
)
