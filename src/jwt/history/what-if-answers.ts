import { z } from 'zod'
import type { DocumentedAnswer } from '../../http/resource/resource.ts'
import type { JsonValue } from '../../lib/text/json.ts'

const text = z.string()
const count = z.int()
const anything = z.custom<JsonValue>()
const finding = z.object({ role: text, code: text, field: text, text })
const time = '2026-03-01T09:30:00Z'

/** docs/contract/what-if.md#the-report */
export const report = z.object({
  history_days: count,
  since: text,
  /** Those who logged in with the role; the next five are their parts. */
  subjects: count,
  succeed: count,
  lose: count,
  /** Of whom it cannot be said. */
  unknown: count,
  regain: count,
  refused_before: count,
  losers: z.array(
    z.object({
      role: text,
      subject: text,
      entity_id: text,
      path: text,
      last_login_at: text,
      logins: count,
      check: text,
      reason: text,
      expected: z.array(anything),
      seen: anything,
      hint: text,
      detail: text,
    }),
  ),
  cannot_be_judged: z.array(z.object({ check: text, subjects: count, text })),
  refusals: z.object({ tried: count, would_succeed: count, unknown: count, request_ids: z.array(text) }),
  admits_more: z.array(z.object({ field: text, text })),
  changes: z.array(z.object({ field: text, before: anything, after: anything })),
  lint: z.object({ before: z.array(finding), after: z.array(finding) }),
})

/** The response to a what-if, for the API document. docs/contract/what-if.md#the-report */
export const whatIfAnswer = {
  statuses: [200],
  output: report,
  example: {
    history_days: 30,
    since: time,
    subjects: 14,
    succeed: 12,
    lose: 1,
    unknown: 1,
    regain: 0,
    refused_before: 0,
    losers: [
      {
        role: 'ci',
        subject: `hmac-sha256:${'5f'.repeat(32)}`,
        entity_id: '7d2e3179-f69b-450c-7179-ac8ee8bd8ca9',
        path: 'login',
        last_login_at: time,
        logins: 12,
        check: 'bound_claims',
        reason: 'bound_claim_mismatch',
        expected: ['acme/shop'],
        seen: `hmac-sha256:${'0a'.repeat(32)}`,
        hint: '',
        detail: 'repository',
      },
    ],
    cannot_be_judged: [{ check: 'bound_claims', subjects: 1, text: 'the claim was not remembered' }],
    refusals: {
      tried: 3,
      would_succeed: 2,
      unknown: 0,
      request_ids: ['6f7b9d4e-7b0a-4a51-8a54-0f6a3f0c9f11'],
    },
    admits_more: [{ field: 'bound_audiences', text: 'tokens for audience "gate"' }],
    changes: [{ field: 'token_ttl', before: 900, after: 600 }],
    lint: { before: [], after: [] },
  },
} as const satisfies DocumentedAnswer
