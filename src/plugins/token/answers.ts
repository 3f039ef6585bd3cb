import { z } from 'zod'
import type { DocumentedAnswer } from '../../http/resource/resource.ts'

/**
 * Schemas and examples of the responses of `auth/token/…`, for the OpenAPI document.
 * docs/contract/tokens-and-policies.md#tokens
 */

const text = z.string()
const texts = z.array(text)
const notes = z.record(text, text)
const time = z.iso.datetime()

const lookup = z.object({
  id: text,
  accessor: text,
  policies: texts,
  path: text,
  meta: notes.nullable(),
  display_name: text,
  num_uses: z.int(),
  orphan: z.boolean(),
  creation_time: z.int(),
  creation_ttl: z.int(),
  expire_time: time.nullable(),
  ttl: z.int(),
  explicit_max_ttl: z.int(),
  entity_id: text,
  type: z.enum(['service', 'batch']),
  role: text.optional(),
  period: z.int().optional(),
  bound_cidrs: texts.optional(),
  login_metadata: notes.optional(),
  login_accessor: text.optional(),
  issue_time: time.optional(),
  renewable: z.boolean().optional(),
  last_renewal: time.optional(),
  last_renewal_time: z.int().optional(),
  identity_policies: texts.optional(),
  external_namespace_policies: z.record(text, texts).optional(),
  namespace_path: text.optional(),
})

/** With `detailed`. */
const listed = lookup.pick({
  accessor: true,
  display_name: true,
  path: true,
  policies: true,
  entity_id: true,
  orphan: true,
  creation_time: true,
  expire_time: true,
  ttl: true,
  num_uses: true,
})

const role = z.object({
  name: text,
  allowed_policies: texts,
  disallowed_policies: texts,
  allowed_policies_glob: texts,
  disallowed_policies_glob: texts,
  orphan: z.boolean(),
  renewable: z.boolean(),
  path_suffix: text,
  token_type: text,
  allowed_entity_aliases: texts.nullable(),
  period: z.int(),
  token_period: z.int(),
  explicit_max_ttl: z.int(),
  token_explicit_max_ttl: z.int(),
  token_no_default_policy: z.boolean(),
  token_bound_cidrs: texts.optional(),
  bound_cidrs: texts.optional(),
  token_num_uses: z.int().optional(),
})

export const answers = {
  auth: { form: 'auth' },
  lookup: {
    output: lookup,
    example: {
      id: 'hvs.CAESIExampleExampleExample',
      accessor: 'hmac8Xn2s7Lq0vYpTr4KdE1b',
      policies: ['default', 'deploy'],
      path: 'auth/jwt/login',
      meta: { role: 'ci' },
      display_name: 'jwt-build-7',
      num_uses: 0,
      orphan: true,
      creation_time: 1767268800,
      creation_ttl: 3600,
      expire_time: '2026-01-01T13:00:00Z',
      ttl: 3000,
      explicit_max_ttl: 0,
      entity_id: 'c1f5bd07-3c0a-4b52-8e5e-7b3b0f6b1f7d',
      type: 'service',
      issue_time: '2026-01-01T12:00:00Z',
      renewable: true,
    },
  },
  role: {
    output: role,
    example: {
      name: 'ci',
      allowed_policies: ['deploy'],
      disallowed_policies: [],
      allowed_policies_glob: [],
      disallowed_policies_glob: [],
      orphan: true,
      renewable: true,
      path_suffix: '',
      token_type: 'default-service',
      allowed_entity_aliases: null,
      period: 0,
      token_period: 0,
      explicit_max_ttl: 0,
      token_explicit_max_ttl: 0,
      token_no_default_policy: false,
    },
  },
  accessors: {
    output: z.object({ keys: texts, tokens: z.array(listed).optional() }),
    example: { keys: ['hmac8Xn2s7Lq0vYpTr4KdE1b'] },
  },
  inBackground: { statuses: [202, 200] },
  maybeWarned: { statuses: [204, 200] },
} as const satisfies Record<string, DocumentedAnswer>
