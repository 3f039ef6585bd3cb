import { z } from 'zod'
import type { DocumentedAnswer } from '../../http/resource/resource.ts'
import type { JsonValue } from '../../lib/text/json.ts'

const text = z.string()
const texts = z.array(text)
const count = z.int()
const anything = z.custom<JsonValue>()

const check = z.object({
  name: text,
  verdict: z.enum(['pass', 'fail', 'skipped']),
  expected: z.array(anything),
  seen: anything,
  reason: text,
  hint: text,
  detail: text,
})
const clock = z.object({ offset_seconds: count, estimated: z.boolean(), source: text, measured_at: text })
const login = z.object({
  display_name: text,
  alias: z
    .object({ name: text, mount_accessor: text, metadata: z.record(text, text), entity_id: text })
    .nullable(),
  groups: z.object({ claimed: texts, matched: z.array(z.object({ id: text, name: text })) }),
  token_policies: texts,
  identity_policies: texts,
  policies: texts,
  /** Only of a login with a scope. */
  scope_policies: texts.optional(),
  scope_paths: texts.optional(),
  scope_expire_time: text.optional(),
  token_type: text,
  lease_duration: count,
  renewable: z.boolean(),
  num_uses: count,
  period: count,
  explicit_max_ttl: count,
  bound_cidrs: texts,
  warnings: texts,
})
/** A refused login as recorded. Nothing of the token is legible except how it was signed. docs/explain.md */
export const loginFailure = z.object({
  request_id: text,
  time: text,
  path: z.enum(['login', 'cel/login', 'oidc/auth_url', 'oidc/callback', 'oidc/poll', 'renew']),
  /** Another request carried the login. docs/contract/inline-login.md */
  inline: z.boolean(),
  /** The JWT was the token of that request. */
  as_token: z.boolean(),
  /** In clear only if the role exists. */
  role: text,
  /** The subject of the login: `sub`, the user, the role id. In clear for callers who may explain the login. */
  subject: text,
  /** Claims that the role looks at, in clear; empty for callers who may not explain the login. */
  looked_at: z.record(text, text),
  reason: text,
  check: text,
  status: count,
  /** What the caller was not told; usually "". */
  cause: text,
  remote_address: text,
  alg: text,
  kid: text,
  /** Whether the claims come from a token with a valid signature. */
  verified: z.boolean(),
  claims: z.record(text, text),
  /** Shown for browser logins. Not shown for logins by JWT, because it may repeat what the token says. */
  error: text,
  /** What the refusing check expected and saw; for a login by JWT, only `explain` shows `seen`. */
  expected: z.array(anything),
  seen: anything,
  hint: text,
  detail: text,
})
const source = z.object({
  kind: z.enum(['static', 'jwks', 'discovery']),
  url: text,
  reachable: z.boolean().nullable(),
  keys: count,
  kids: texts,
  algorithms: texts,
  skipped_keys: z.array(z.object({ kid: text, text })),
  fetched_at: text.nullable(),
  age_seconds: count.nullable(),
  fetches: count,
  clock_offset_seconds: count.nullable(),
  clock_offset_estimated: z.boolean(),
  last_error: z.object({ time: text, text }).nullable(),
})
const finding = z.object({ role: text, code: text, field: text, text })

const time = '2026-03-01T09:30:00Z'

/** Whether a login is allowed, with its checks. */
export const explanation = z.object({
  allowed: z.boolean(),
  status: count,
  error: text,
  /** What the caller was not told. */
  cause: text,
  reason: text,
  role: text,
  clock: clock.nullable(),
  checks: z.array(check),
  login: login.nullable(),
  /** Of a refused login: how it would go with the role and the configuration as they are. */
  now: z.enum(['allowed', 'refused', 'unknown']).optional(),
  /** The checks that `now` follows from: those that could be made with what is kept, and those that could not. */
  now_checks: z
    .array(z.object({ name: text, verdict: z.enum(['pass', 'fail', 'unknown']), reason: text }))
    .optional(),
  /** Of mounts of type `jwt`, `oidc` and `kubernetes`. */
  proposals: z
    .array(
      z.object({
        path: text,
        fields: z.record(text, z.unknown()),
        /** Nobody vouches for the values: whoever sent the login may have made them up. */
        unverified: z.literal(true).optional(),
      }),
    )
    .optional(),
  /** Set for a refused login, not for one that is only tried. */
  request_id: text.optional(),
  time: text.optional(),
  path: text.optional(),
  remote_address: text.optional(),
  report: text,
})

/** The responses of `auth/jwt/explain` and its siblings, for the API document. docs/explain.md */
export const explainAnswers = {
  explanation: {
    statuses: [200],
    output: explanation,
    example: {
      allowed: false,
      status: 400,
      error:
        'error validating token: invalid audience (aud) claim: audience claim does not match any expected audience',
      cause: '',
      reason: 'audience_mismatch',
      role: 'ci',
      clock: { offset_seconds: 0, estimated: false, source: 'https://ci.example.com', measured_at: time },
      checks: [
        {
          name: 'audience',
          verdict: 'fail',
          expected: ['gatehouse'],
          seen: ['Gatehouse'],
          reason: 'audience_mismatch',
          hint: 'differs_in_case',
          detail: 'aud',
        },
      ],
      login: null,
      proposals: [{ path: 'role/ci', fields: { bound_audiences: ['gatehouse', 'Gatehouse'] } }],
      report: 'auth/jwt/: the login of role "ci" is refused\n',
    },
  },
  failures: {
    output: z.object({ kept: count, dropped: count, since: text, failures: z.array(loginFailure) }),
    example: {
      kept: 200,
      dropped: 0,
      since: time,
      failures: [
        {
          request_id: '6f7b9d4e-7b0a-4a51-8a54-0f6a3f0c9f11',
          time,
          path: 'login',
          inline: false,
          as_token: false,
          role: 'ci',
          subject: 'repo:acme/shop:ref:refs/heads/main',
          looked_at: { repository: 'acme/shop' },
          reason: 'expired',
          check: 'times',
          status: 400,
          cause: '',
          remote_address: '10.1.2.3',
          alg: 'RS256',
          kid: 'key-1',
          verified: true,
          claims: { sub: `hmac-sha256:${'5f'.repeat(32)}` },
          error: '',
          expected: [`now ${time}`],
          seen: null,
          hint: '',
          detail: 'exp',
        },
      ],
    },
  },
  hash: {
    statuses: [200],
    output: z.object({ hash: text }),
    example: { hash: `hmac-sha256:${'5f'.repeat(32)}` },
  },
  status: {
    output: z.object({
      ok: z.boolean(),
      type: z.enum(['none', 'static', 'jwks', 'multi_jwks', 'discovery', 'oidc']),
      sources: z.array(source),
      pending_logins: count,
      last_login_at: text.nullable(),
      last_refusal_at: text.nullable(),
      last_refused_config: z.object({ time: text, text }).nullable(),
    }),
    example: {
      ok: true,
      type: 'discovery',
      sources: [
        {
          kind: 'discovery',
          url: 'https://ci.example.com',
          reachable: true,
          keys: 2,
          kids: ['key-1', 'key-2'],
          algorithms: ['RS256'],
          skipped_keys: [{ kid: 'key-0', text: 'the RSA modulus has 1024 bits, fewer than 2048' }],
          fetched_at: time,
          age_seconds: 12,
          fetches: 2,
          clock_offset_seconds: 0,
          clock_offset_estimated: false,
          last_error: null,
        },
      ],
      pending_logins: 0,
      last_login_at: time,
      last_refusal_at: null,
      last_refused_config: null,
    },
  },
  findings: {
    output: z.object({ findings: z.array(finding) }),
    example: {
      findings: [
        {
          role: 'ci',
          code: 'policy_missing',
          field: 'token_policies',
          text: 'token policies [deploy] do not exist',
        },
      ],
    },
  },
} as const satisfies Record<string, DocumentedAnswer>
