import * as v from 'valibot'
import { defineCall } from './client.ts'

const texts = v.array(v.string())

const check = v.object({
  name: v.string(),
  verdict: v.picklist(['pass', 'fail', 'skipped']),
  expected: v.array(v.unknown()),
  seen: v.unknown(),
  reason: v.string(),
  hint: v.string(),
  detail: v.string(),
})

export type Check = v.InferOutput<typeof check>

const login = v.object({
  display_name: v.string(),
  alias: v.nullish(v.object({ name: v.string(), entity_id: v.string() })),
  groups: v.object({ claimed: texts, matched: v.array(v.object({ id: v.string(), name: v.string() })) }),
  policies: texts,
  token_type: v.string(),
  lease_duration: v.number(),
  renewable: v.boolean(),
  warnings: texts,
})

const explanation = v.object({
  data: v.object({
    allowed: v.boolean(),
    status: v.number(),
    error: v.string(),
    cause: v.string(),
    reason: v.string(),
    role: v.string(),
    clock: v.nullish(v.object({ offset_seconds: v.number(), estimated: v.boolean(), source: v.string() })),
    checks: v.array(check),
    login: v.nullish(login),
    now: v.optional(v.picklist(['allowed', 'refused', 'unknown'])),
    now_checks: v.optional(
      v.array(
        v.object({ name: v.string(), verdict: v.picklist(['pass', 'fail', 'unknown']), reason: v.string() }),
      ),
    ),
    proposals: v.optional(
      v.array(
        v.object({
          path: v.string(),
          fields: v.record(v.string(), v.unknown()),
          unverified: v.optional(v.literal(true)),
        }),
      ),
    ),
    request_id: v.optional(v.string()),
    time: v.optional(v.string()),
    path: v.optional(v.string()),
    remote_address: v.optional(v.string()),
    report: v.string(),
  }),
})

export type Explanation = v.InferOutput<typeof explanation>['data']

export const explain = defineCall('post', '/auth/{jwt_mount_path}/explain', explanation)
export const explainRefusal = defineCall('get', '/auth/{jwt_mount_path}/explain', explanation)

const failure = v.object({
  request_id: v.string(),
  time: v.string(),
  path: v.string(),
  role: v.string(),
  subject: v.string(),
  looked_at: v.record(v.string(), v.string()),
  reason: v.string(),
  check: v.string(),
  status: v.number(),
  cause: v.string(),
  hint: v.string(),
  detail: v.string(),
  verified: v.boolean(),
  remote_address: v.string(),
})

export type LoginFailure = v.InferOutput<typeof failure>

export const loginFailures = defineCall(
  'get',
  '/auth/{jwt_mount_path}/failures',
  v.object({
    data: v.object({ kept: v.number(), dropped: v.number(), since: v.string(), failures: v.array(failure) }),
  }),
)

export const clearFailures = defineCall('delete', '/auth/{jwt_mount_path}/failures', v.undefined())

export const loginStatus = defineCall(
  'get',
  '/auth/{jwt_mount_path}/status',
  v.object({
    data: v.object({
      ok: v.boolean(),
      type: v.string(),
      sources: v.array(
        v.object({
          kind: v.string(),
          url: v.string(),
          reachable: v.nullable(v.boolean()),
          kids: texts,
          algorithms: texts,
          skipped_keys: v.array(v.object({ kid: v.string(), text: v.string() })),
          fetched_at: v.nullable(v.string()),
          clock_offset_seconds: v.nullable(v.number()),
          last_error: v.nullish(v.object({ time: v.string(), text: v.string() })),
        }),
      ),
      pending_logins: v.number(),
      last_login_at: v.nullable(v.string()),
      last_refusal_at: v.nullable(v.string()),
      last_refused_config: v.nullish(v.object({ time: v.string(), text: v.string() })),
    }),
  }),
)

export const loginConfig = defineCall(
  'get',
  '/auth/{jwt_mount_path}/config',
  v.object({ data: v.record(v.string(), v.unknown()) }),
)

export const writeLoginConfig = defineCall(
  'post',
  '/auth/{jwt_mount_path}/config',
  v.union([v.undefined(), v.object({ warnings: v.nullable(texts) })]),
)

export const loginRoles = defineCall(
  'list',
  '/auth/{jwt_mount_path}/role',
  v.object({ data: v.object({ keys: texts }) }),
)

export const loginRole = defineCall(
  'get',
  '/auth/{jwt_mount_path}/role/{name}',
  v.object({ data: v.record(v.string(), v.unknown()) }),
)

const finding = v.object({ role: v.string(), code: v.string(), field: v.string(), text: v.string() })

export type Finding = v.InferOutput<typeof finding>

export const lintFindings = defineCall(
  'get',
  '/auth/{jwt_mount_path}/lint',
  v.object({ data: v.object({ findings: v.array(finding) }) }),
)

const maybe = v.nullable(v.string())

export const loginKeys = defineCall(
  'get',
  '/auth/{jwt_mount_path}/keys',
  v.object({
    data: v.object({
      allowed_key_thumbprints: texts,
      sources: v.array(
        v.object({
          kind: v.string(),
          url: v.string(),
          keys: v.array(
            v.object({
              thumbprint: v.string(),
              kid: v.string(),
              type: v.string(),
              algorithms: texts,
              size: v.number(),
              current: v.boolean(),
              allowed: v.boolean(),
              first_seen: v.string(),
              gone_since: maybe,
              last_login: maybe,
            }),
          ),
          fetches: v.array(
            v.object({
              time: v.string(),
              of: v.string(),
              ok: v.boolean(),
              milliseconds: v.number(),
              error: v.string(),
            }),
          ),
          alerts: v.array(v.object({ time: v.string(), kind: v.string(), text: v.string() })),
        }),
      ),
    }),
  }),
)

export const authTuning = defineCall(
  'get',
  '/sys/auth/{path}/tune',
  v.object({ data: v.object({ options: v.optional(v.record(v.string(), v.string())) }) }),
)

export const tuneAuth = defineCall('post', '/sys/auth/{path}/tune', v.unknown())
