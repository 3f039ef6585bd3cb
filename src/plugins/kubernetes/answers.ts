import { z } from 'zod'
import { exampleSettings } from '../../core/tokens/store/token-fields.ts'
import type { DocumentedAnswer } from '../../http/resource/resource.ts'
import { explainAnswers } from '../../logins/explain/explain-answers.ts'
import { configFields } from './config/config.ts'
import { roleFields, shownRole } from './config/role.ts'

const text = z.string()
const time = '2026-03-01T09:30:00Z'

/** The responses of `auth/kubernetes/…`, for the API document. docs/contract/kubernetes.md */
export const answers = {
  ...explainAnswers,
  config: {
    output: configFields
      .omit({ token_reviewer_jwt: true })
      .extend({ token_reviewer_jwt_set: z.boolean(), allowed_key_thumbprints: z.array(text).optional() }),
    example: {
      kubernetes_host: 'https://10.0.0.1:6443',
      kubernetes_ca_cert: '',
      pem_keys: [],
      issuer: 'https://kubernetes.default.svc.cluster.local',
      disable_iss_validation: true,
      disable_local_ca_jwt: false,
      use_annotations_as_alias_metadata: false,
      verification: 'keys',
      token_max_lifetime: 86_400,
      allowed_key_thumbprints: ['NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'],
      token_reviewer_jwt_set: true,
    },
  },
  role: {
    output: roleFields.extend({ bound_service_account_namespaces: z.array(text).nullable() }),
    example: shownRole({
      record: {
        bound_service_account_names: ['web'],
        bound_service_account_namespaces: ['dev'],
        audience: 'gatehouse',
        ...exampleSettings,
      },
    }),
  },
  status: {
    output: z.object({
      ok: z.boolean(),
      type: text,
      verification: text,
      host: text,
      reviewer: text,
      ca: text,
      problems: z.array(text),
      last_review: z.object({ time: text, ok: z.boolean(), reason: text, text }).nullable(),
      keys: z.array(text),
      clock_offset_seconds: z.int().nullable(),
    }),
    example: {
      ok: true,
      type: 'kubernetes',
      verification: 'review',
      host: 'https://10.0.0.1:6443',
      reviewer: 'configured',
      ca: 'configured',
      problems: [],
      last_review: { time, ok: true, reason: '', text: '' },
      keys: [],
      clock_offset_seconds: null,
    },
  },
} as const satisfies Record<string, DocumentedAnswer>
